"""How a record differs from what the log says; the time of encoding and the version do not count.

Values with schemas of a registry are read before they are compared. The ids are remembered with
their schemas when the expected records are made, so the registry is not asked again.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any, Final, final

from connector.foundation.kafka_records import decode_headers, read_varint
from connector.foundation.record_formats import read_document
from connector.stream.envelope.debezium import registry_schemas

# What comes before the letter of the operation in the envelope of a row.
_OPERATION: Final = b',"transaction":null,"op":"'
# The start of a key or value that begins with its schema.
_WITH_SCHEMA: Final = b'{"schema":'
# In the envelope of a row, the time of encoding follows, which is another one at each encoding.
_TIMES: Final = b'","ts_ms":'
_TIME_FIELDS: Final = ("ts_ms", "ts_us", "ts_ns")


def difference(
    record: Any,
    key: bytes | None,
    value: bytes | None,
    headers: bytes,
    values: "RegistryValues",
) -> str:
    """Return what of a record is not as expected; "" if nothing."""
    if record.key != key:
        return "its key"
    if record.headers != decode_headers(headers):
        return "its headers"
    actual = record.value
    if actual is None or value is None:
        return ""
    end = value.rfind(_TIMES)
    is_envelope = value[:end].endswith(_OPERATION, 0, end - 1)
    if is_envelope and actual[: actual.rfind(_TIMES)] == value[:end]:
        return ""
    same = _without_times(actual, values) == _without_times(value, values)
    return "" if same else "its value"


def _without_times(value: bytes, values: "RegistryValues") -> object:
    """Return an envelope without the time of encoding and the version that encoded it."""
    try:
        record = values.read(value)
        envelope = record["payload"] if value.startswith(_WITH_SCHEMA) else record
        if "source" not in envelope:
            return _flat_without_times(record, envelope)
        for name in _TIME_FIELDS:
            envelope.pop(name, None)
        envelope["source"].pop("version", None)
    except (ValueError, TypeError, LookupError, AttributeError, struct.error):
        return value
    return record


def _flat_without_times(record: object, row: dict[str, object]) -> object:
    """Return a row without an envelope, or a CloudEvent, without its time and its version."""
    row.pop("iodebeziumversion", None)
    for name in (*_TIME_FIELDS, "version", "source_version"):
        row.pop(f"__{name}", None)
    return record


@final
class RegistryValues(registry_schemas.SchemaIds):
    """Remembers the schemas of the expected records, and reads values."""

    def __init__(self, registry: registry_schemas.SchemaIds | None) -> None:
        """Ask `registry` for ids; None if no record has one."""
        self._registry = registry
        # By id; None for JSON Schema, whose values are JSON.
        self._schemas: dict[int, Any] = {}

    def id_of(self, subject: str, schema_type: registry_schemas.SchemaType, schema: str) -> int:
        """Return the id of a schema, as the registry."""
        assert self._registry is not None
        schema_id = self._registry.id_of(subject, schema_type, schema)
        self._schemas[schema_id] = json.loads(schema) if schema_type == "AVRO" else None
        return schema_id

    def read(self, value: bytes) -> Any:
        """Return a value as objects of JSON; bytes of Avro stay bytes.

        Raises ValueError, IndexError, KeyError or struct.error for a value that cannot be read.
        """
        number = registry_schemas.prefix_id(value)
        if number is None:
            return read_document(value)
        schema = self._schemas[number]
        if schema is None:
            return read_document(value[registry_schemas.PREFIX_BYTES :])
        content, at = _Reader(value, schema).read(schema, registry_schemas.PREFIX_BYTES)
        if at != len(value):
            raise ValueError(at)
        return content


class _Reader:
    """Reads one value of Avro, with the schema with which it was written."""

    def __init__(self, data: bytes, schema: Any) -> None:
        self._data = data
        # A record that comes again is named, and its first one may be NULL here.
        self._records = dict(_records(schema, ""))

    def read(self, schema: Any, at: int) -> tuple[Any, int]:
        """Return the value at `at`, and the position after it."""
        if isinstance(schema, list):
            branch, at = read_varint(self._data, at)
            return self.read(schema[branch], at)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if kind in ("int", "long"):
            return read_varint(self._data, at)
        if kind in ("string", "bytes"):
            length, at = read_varint(self._data, at)
            content = self._data[at : at + length]
            return (content.decode() if kind == "string" else content), at + length
        if kind == "null":
            return None, at
        if kind == "boolean":
            return self._data[at] != 0, at + 1
        if kind in _PACKED:
            form, length = _PACKED[kind]
            return struct.unpack_from(form, self._data, at)[0], at + length
        if kind == "array":
            return self._array(schema["items"], at)
        if kind != "record":
            schema = self._records[kind]
        values = {}
        for field in schema["fields"]:
            values[field["name"]], at = self.read(field["type"], at)
        return values, at

    def _array(self, items: Any, at: int) -> tuple[list[Any], int]:
        array: list[Any] = []
        while True:
            count, at = read_varint(self._data, at)
            if not count:
                return array, at
            for _ in range(count):
                item, at = self.read(items, at)
                array.append(item)


def _records(schema: Any, space: str) -> Iterator[tuple[str, Any]]:
    """Yield the records of a schema by the names that its other parts have for them."""
    for part in schema if isinstance(schema, list) else [schema]:
        if isinstance(part, dict) and part["type"] == "record":
            inside = part.get("namespace", space)
            yield part["name"], part
            yield f"{inside}.{part['name']}", part
            for field in part["fields"]:
                yield from _records(field["type"], inside)


_PACKED: Final = {"float": ("<f", 4), "double": ("<d", 8)}
