"""The choices of the profile `debezium`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from connector.contract import OP_TRUNCATE

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class DebeziumForm:
    """What is chosen for the profile `debezium`, each with the option of its connectors."""

    decimals: Literal["precise", "string", "double"] = "precise"  # decimal.handling.mode
    # time.precision.mode
    times: Literal[
        "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"
    ] = "adaptive_time_microseconds"
    # binary.handling.mode
    binary: Literal["bytes", "base64", "base64-url-safe", "hex"] = "bytes"
    # bigint.unsigned.handling.mode
    unsigned_bigints: Literal["long", "precise"] = "long"
    # event.converting.failure.handling.mode; "null" is warn and skip
    conversion_failures: Literal["fail", "null"] = "fail"
    # field.name.adjustment.mode
    field_names: Literal["none", "avro", "avro_unicode"] = "none"
    skipped_operations: tuple[str, ...] = (OP_TRUNCATE,)  # skipped.operations
    message_keys: tuple[str, ...] = ()  # message.key.columns

    @classmethod
    def of_options(cls, options: Mapping[str, Any] | None) -> DebeziumForm | None:
        """Return the form with the values of its fields; None for `exact`, which has no options."""
        return None if options is None else cls(**options)
