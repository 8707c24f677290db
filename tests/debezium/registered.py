"""Records whose schemas a registry has, as JSON with their schemas, so that they can be compared.

They are read by fastavro, with the schema of their id::

    {"schema":{"type":"record","name":"Envelope",…},"payload":{"before":null,…}}
"""

from __future__ import annotations

import io
import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import fastavro

from connector.stream.envelope.debezium.registry_schemas import PREFIX_BYTES, SchemaIds, prefix_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.stream.envelope.debezium.registry_schemas import SchemaType


class NumberedSchemas(SchemaIds):
    """Numbers schemas, as a registry does; a test reads their texts."""

    def __init__(self) -> None:
        self.subjects: list[tuple[str, str]] = []
        self._texts: list[str] = []

    def id_of(self, subject: str, schema_type: SchemaType, schema: str) -> int:
        """Return the position of a schema."""
        if schema not in self._texts:
            self._texts.append(schema)
            self.subjects.append((subject, schema_type))
        return self._texts.index(schema)

    def text(self, number: int) -> str:
        """Return the schema with the id `number`."""
        return self._texts[number]


def readable(record: bytes, text_of: Callable[[int], str]) -> bytes:
    """Return a key or value in Avro as JSON; `text_of` returns the schema of an id."""
    number = prefix_id(record)
    assert number is not None
    schema = json.loads(text_of(number))
    # Logical types would become objects of Python.
    parsed = fastavro.parse_schema(_plain(schema))
    data = io.BytesIO(record[PREFIX_BYTES:])
    payload = fastavro.schemaless_reader(data, parsed, None)
    assert not data.read()
    return json.dumps(
        {"schema": schema, "payload": payload},
        ensure_ascii=False,
        separators=(",", ":"),
        default=lambda each: b64encode(each).decode(),
    ).encode()


def _plain(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if isinstance(schema, dict):
        return {key: _plain(each) for key, each in schema.items() if key != "logicalType"}
    return schema
