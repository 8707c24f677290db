"""The values of records whose schemas a registry has, in a form that can be compared.

The ids are remembered with their schemas when the expected records are made, so the registry is not
asked again.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final, final

from connector.contract.documents import read_document
from connector.envelope.registered.schema_ids import PREFIX_BYTES, SchemaIds, prefix_id
from connector.records.varint import read_varint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.envelope.registered.schema_ids import SchemaType


@final
class ReadableValues(SchemaIds):
    """Remembers the schemas of the expected records, and reads values."""

    def __init__(self, registry: SchemaIds | None) -> None:
        """Ask `registry` for ids; None if no record has one."""
        self._registry = registry
        # By id; None for JSON Schema, whose values are JSON.
        self._schemas: dict[int, Any] = {}

    def id_of(self, subject: str, schema_type: SchemaType, schema: str) -> int:
        """Return the id of a schema, as the registry."""
        assert self._registry is not None
        found = self._registry.id_of(subject, schema_type, schema)
        self._schemas[found] = json.loads(schema) if schema_type == "AVRO" else None
        return found

    def read(self, value: bytes) -> Any:
        """Return a value as objects of JSON; bytes of Avro stay bytes.

        Raises ValueError, IndexError, KeyError or struct.error for a value that cannot be read.
        """
        number = prefix_id(value)
        if number is None:
            return read_document(value)
        schema = self._schemas[number]
        if schema is None:
            return read_document(value[PREFIX_BYTES:])
        found, at = _Reader(value, schema).read(schema, PREFIX_BYTES)
        if at != len(value):
            raise ValueError(at)
        return found


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
            found = self._data[at : at + length]
            return (found.decode() if kind == "string" else found), at + length
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
        found: list[Any] = []
        while True:
            count, at = read_varint(self._data, at)
            if not count:
                return found, at
            for _ in range(count):
                item, at = self.read(items, at)
                found.append(item)


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
