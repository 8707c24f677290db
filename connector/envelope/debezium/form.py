"""The choices of the profile `debezium`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from connector.contract import OP_TRUNCATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.contract.record_formats import KeyFormat, ValueFormat
    from connector.envelope.filters.row_filter import RowFilters


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
    # schema.name.adjustment.mode
    schema_names: Literal["none", "avro", "avro_unicode"] = "none"
    # Connect's JsonConverter, without and with schemas.enable; Confluent's converters
    key_format: KeyFormat = "json"
    value_format: ValueFormat = "json"
    shape: Literal["envelope", "flat"] = "envelope"  # flat: ExtractNewRecordState
    # delete.tombstone.handling.mode
    flat_deletes: Literal[
        "tombstone", "drop", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"
    ] = "tombstone"
    flat_fields: tuple[str, ...] = ()  # add.fields
    skipped_operations: tuple[str, ...] = (OP_TRUNCATE,)  # skipped.operations
    message_keys: tuple[str, ...] = ()  # message.key.columns
    # column.propagate.source.type, as database.table.column
    source_types: tuple[str, ...] = ()
    # datatype.propagate.source.type, as database.table.TYPE
    source_types_by_type: tuple[str, ...] = ()
    filters: RowFilters | None = None  # the transformation Filter

    @property
    def is_flat(self) -> bool:
        """Whether values are rows, without an envelope."""
        return self.shape == "flat"

    @property
    def tells_deletes(self) -> bool:
        """Whether rows without an envelope say in a field that they are deleted."""
        return self.flat_deletes in ("rewrite", "rewrite-with-tombstone")

    @property
    def key_has_schema(self) -> bool:
        """Whether each key begins with its schema, or with the id of its schema."""
        return self.key_format != "json"

    @property
    def value_has_schema(self) -> bool:
        """Whether each value begins with its schema, or with the id of its schema."""
        return self.value_format not in ("json", "cloudevents")

    @property
    def is_cloud_event(self) -> bool:
        """Whether values are CloudEvents, with the envelope as their data."""
        return self.value_format == "cloudevents"

    @property
    def value_close(self) -> bytes:
        """What ends a value: a value beside its schema is an object in an object."""
        return b"}}" if self.value_format == "json_with_schema" else b"}"

    @classmethod
    def of_options(cls, options: Mapping[str, Any] | None) -> DebeziumForm | None:
        """Return the form with the values of its fields; None for `exact`, which has no options."""
        return None if options is None else cls(**options)
