"""The options of the profile `debezium`, and the resulting names of fields and schemas.

`field.name.adjustment.mode` and `schema.name.adjustment.mode` give names that Avro can have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from connector.foundation.contract import OP_TRUNCATE, SchemaColumn
from connector.foundation.errors import UnsupportedChange
from connector.foundation.record_formats import KeyFormat, ValueFormat
from connector.stream.envelope import record_errors
from connector.stream.envelope.debezium.row_filter import RowFilters


@dataclass(frozen=True, slots=True)
class DebeziumProfile:
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
    # Whether the server takes names of tables for the same that differ in case.
    ignores_case: bool = False

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
    def of_options(cls, options: Mapping[str, Any] | None) -> "DebeziumProfile | None":
        """Return the form with the values of its fields; None for `exact`, which has no options."""
        return None if options is None else cls(**options)


_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset("0123456789")
_UNITS_OF_TWO_DIGITS = 0x100


def field_names(columns: Sequence[SchemaColumn], form: DebeziumProfile | None) -> list[str]:
    """Return the name that each column has in records.

    Raises UnsupportedChange if two have the same.
    """
    if form is None or form.field_names == "none":
        return [column["name"] for column in columns]
    valid = _LETTERS | _DIGITS
    names: dict[str, str] = {}
    for column in columns:
        field = _adjusted(column["name"], form.field_names, valid)
        other = names.setdefault(field, column["name"])
        if other != column["name"]:
            raise UnsupportedChange(
                record_errors.FIELD_SHARED, one=other, other=column["name"], field=field
            )
    return list(names)


def schema_name(name: str, form: DebeziumProfile) -> str:
    """Return the name of a schema whose parts are separated by dots."""
    if form.schema_names == "none":
        return name
    return _adjusted(name, form.schema_names, _LETTERS | _DIGITS | {"."})


def _adjusted(name: str, mode: str, valid: frozenset[str]) -> str:
    return _with_underscores(name, valid) if mode == "avro" else _with_numbers(name, valid)


def _with_underscores(name: str, valid: frozenset[str]) -> str:
    """Return `name` with `_` for each character that Avro does not allow."""
    valid |= {"_"}
    # A character beyond 16 bits is two of Java.
    kept = "".join(
        character if character in valid else "_" * len(_units(character)) for character in name
    )
    return f"_{kept}" if kept[0] in _DIGITS else kept


def _with_numbers(name: str, valid: frozenset[str]) -> str:
    """Return `name` with `_u0020` for a character that Avro does not allow, and for `_`."""
    parts = []
    for place, character in enumerate(name):
        if character in (_LETTERS if place == 0 else valid):
            parts.append(character)
        else:
            parts += [f"_u{_java_hex(unit)}" for unit in _units(character)]
    return "".join(parts)


def _units(character: str) -> list[int]:
    encoded = character.encode("utf-16-be")
    return [int.from_bytes(encoded[at : at + 2], "big") for at in range(0, len(encoded), 2)]


def _java_hex(unit: int) -> str:
    return f"00{unit:x}" if unit < _UNITS_OF_TWO_DIGITS else f"{unit:x}"
