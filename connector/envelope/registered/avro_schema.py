"""A schema of Connect becomes one of Avro, as Confluent's AvroConverter makes it.

The text is that of Avro's own printer, so that a registry finds the schema that Debezium has
registered.

https://avro.apache.org/docs/1.12.0/specification/
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from connector.errors import UnsupportedChange, table_columns

if TYPE_CHECKING:
    from connector.envelope.registered.connect_schema import ConnectSchema

_PRIMITIVES: Final = {
    "boolean": "boolean",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "bytes",
}
_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
_LOGICAL: Final = {
    _DECIMAL: "decimal",
    "org.apache.kafka.connect.data.Date": "date",
    "org.apache.kafka.connect.data.Time": "time-millis",
    "org.apache.kafka.connect.data.Timestamp": "timestamp-millis",
}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def avro_schema(schema: ConnectSchema) -> str:
    """Return the text of the Avro schema of a struct.

    Raises UnsupportedChange for a name that Avro does not allow.
    """
    return json.dumps(_record(schema, set(), ""), ensure_ascii=False, separators=(",", ":"))


def _record(schema: ConnectSchema, known: set[str], inside: str) -> object:
    """Return a record, or its name if `known` has it; `inside` is the namespace around it."""
    full_name = schema["name"]
    space, _, name = full_name.rpartition(".")
    if full_name in known:
        return name if space == inside else full_name
    for part in full_name.split("."):
        _require_name(part, full_name)
    known.add(full_name)
    found: dict[str, Any] = {"type": "record", "name": name}
    if space != inside:
        found["namespace"] = space
    found["fields"] = [_field(each, known, space) for each in schema["fields"]]
    return {**found, **_properties(schema)}


def _field(schema: ConnectSchema, known: set[str], inside: str) -> dict[str, Any]:
    name = schema["field"]
    _require_name(name, name)
    kind = _record(schema, known, inside) if schema["type"] == "struct" else _plain(schema)
    if "default" in schema:
        return {"name": name, "type": [kind, "null"], "default": schema["default"]}
    if schema["optional"]:
        return {"name": name, "type": ["null", kind], "default": None}
    return {"name": name, "type": kind}


def _plain(schema: ConnectSchema) -> object:
    if schema["type"] == "array":
        found: dict[str, Any] = {"type": "array", "items": _plain(schema["items"])}
    else:
        found = {"type": _PRIMITIVES[schema["type"]]}
    found |= _properties(schema)
    return found if len(found) > 1 else found["type"]


def _properties(schema: ConnectSchema) -> dict[str, Any]:
    """Return what Connect's reader needs, in the order of the converter."""
    name = schema.get("name")
    found: dict[str, Any] = {}
    if name == _DECIMAL:
        parameters = schema["parameters"]
        found["scale"] = int(parameters["scale"])
        found["precision"] = int(parameters["connect.decimal.precision"])
    for key in ("doc", "version", "parameters", "default", "name"):
        if key in schema:
            found[f"connect.{key}"] = schema[key]
    if schema["type"] == "int16":
        found["connect.type"] = "int16"
    if name in _LOGICAL:
        found["logicalType"] = _LOGICAL[name]
    return found


def _require_name(part: str, name: str) -> None:
    if not _NAME.fullmatch(part):
        raise UnsupportedChange(table_columns.NO_AVRO_NAME, name=name)
