"""A schema of Connect becomes one of JSON Schema, as Confluent's JsonSchemaConverter makes it.

https://json-schema.org/draft-07
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from connector.envelope.registered.connect_schema import ConnectSchema

_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
# The type, and the name that the converter keeps where several types have the same one.
_TYPES: Final = {
    "boolean": ("boolean", ""),
    "int16": ("integer", "int16"),
    "int32": ("integer", "int32"),
    "int64": ("integer", "int64"),
    "float": ("number", "float32"),
    "double": ("number", "float64"),
    "string": ("string", ""),
    "bytes": ("string", "bytes"),
}


def json_schema(schema: ConnectSchema) -> str:
    """Return the text of the JSON Schema of a struct."""
    found = {"$schema": _DRAFT, **_required(schema)}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _required(schema: ConnectSchema) -> dict[str, Any]:
    """Return the schema of a value that is not NULL."""
    kind = schema["type"]
    found: dict[str, Any]
    if kind == "struct":
        properties = {
            each["field"]: _field(each, index) for index, each in enumerate(schema["fields"])
        }
        found = {"type": "object", "properties": properties}
    elif kind == "array":
        found = {"type": "array", "items": _required(schema["items"])}
    else:
        name, connect_type = _TYPES[kind]
        found = {"type": "number" if schema.get("name") == _DECIMAL else name}
        if connect_type:
            found["connect.type"] = connect_type
    for key, known_as in (
        ("name", "title"),
        ("version", "connect.version"),
        ("doc", "description"),
        ("parameters", "connect.parameters"),
        ("default", "default"),
    ):
        if key in schema:
            found[known_as] = schema[key]
    return found


def _field(schema: ConnectSchema, index: int) -> dict[str, Any]:
    found = _required(schema)
    if schema["optional"]:
        found = {"oneOf": [{"type": "null"}, found]}
    return {**found, "connect.index": index}
