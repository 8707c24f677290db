"""Schemas in a schema registry: Connect's schema as Avro and as JSON Schema, and its id in records.

The texts are those of Confluent's AvroConverter and JsonSchemaConverter, the Avro schema as Avro's
own printer has it, so that a registry finds the schema that Debezium has registered.

https://avro.apache.org/docs/1.12.0/specification/
https://json-schema.org/draft-07
"""

import json
import re
from typing import Any, Final, Literal, TypeAlias

from mypy_extensions import i64, mypyc_attr

from connector.foundation.errors import UnsupportedChange
from connector.foundation.record_formats import SubjectStrategy
from connector.stream.envelope import record_errors

SchemaType: TypeAlias = Literal["AVRO", "JSON"]

# A record begins with it, and with the id in four bytes.
_MAGIC: Final = b"\x00"
_ID_BYTES: Final = 4
PREFIX_BYTES: Final = 5


@mypyc_attr(allow_interpreted_subclasses=True)
class SchemaIds:
    """Gives the ids of schemas."""

    def id_of(self, subject: str, schema_type: SchemaType, schema: str) -> i64:
        """Return the id of `schema` under `subject`, registering it if it is new.

        Raises SinkUnavailable if the registry does not answer, SinkRefused if it refuses the
        login, and UnsupportedChange if it refuses the schema.
        """
        raise NotImplementedError


def subject_name(strategy: SubjectStrategy, topic: str, record_name: str, *, is_key: bool) -> str:
    """Return the subject of a schema, as Confluent's strategies of these names do."""
    if strategy == "record":
        return record_name
    if strategy == "topic_record":
        return f"{topic}-{record_name}"
    return f"{topic}-{'key' if is_key else 'value'}"


def id_prefix(schema_id: i64) -> bytes:
    """Return what each record with this schema begins with."""
    return _MAGIC + int(schema_id).to_bytes(_ID_BYTES, "big")


def prefix_id(record: bytes) -> int | None:
    """Return the id of the schema of a record; None if it does not begin with one."""
    if not record.startswith(_MAGIC):
        return None
    return int.from_bytes(record[len(_MAGIC) : PREFIX_BYTES], "big")


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


def avro_schema(schema: "ConnectSchema") -> str:
    """Return the text of the Avro schema of a struct.

    Raises UnsupportedChange for a name that Avro does not allow.
    """
    return json.dumps(_record(schema, set(), ""), ensure_ascii=False, separators=(",", ":"))


def _record(schema: "ConnectSchema", known: set[str], inside: str) -> object:
    """Return a record, or its name if `known` has it; `inside` is the namespace around it."""
    full_name = schema["name"]
    space, _, name = full_name.rpartition(".")
    if full_name in known:
        return name if space == inside else full_name
    for part in full_name.split("."):
        _require_name(part, full_name)
    known.add(full_name)
    record: dict[str, Any] = {"type": "record", "name": name}
    if space != inside:
        record["namespace"] = space
    record["fields"] = [_field(field, known, space) for field in schema["fields"]]
    return {**record, **_properties(schema)}


def _field(schema: "ConnectSchema", known: set[str], inside: str) -> dict[str, Any]:
    name = schema["field"]
    _require_name(name, name)
    kind = _record(schema, known, inside) if schema["type"] == "struct" else _plain(schema)
    if "default" in schema:
        return {"name": name, "type": [kind, "null"], "default": schema["default"]}
    if schema["optional"]:
        return {"name": name, "type": ["null", kind], "default": None}
    return {"name": name, "type": kind}


def _plain(schema: "ConnectSchema") -> object:
    if schema["type"] == "array":
        avro: dict[str, Any] = {"type": "array", "items": _plain(schema["items"])}
    else:
        avro = {"type": _PRIMITIVES[schema["type"]]}
    avro |= _properties(schema)
    return avro if len(avro) > 1 else avro["type"]


def _properties(schema: "ConnectSchema") -> dict[str, Any]:
    """Return what Connect's reader needs, in the order of the converter."""
    name = schema.get("name")
    properties: dict[str, Any] = {}
    if name == _DECIMAL:
        parameters = schema["parameters"]
        properties["scale"] = int(parameters["scale"])
        properties["precision"] = int(parameters["connect.decimal.precision"])
    for key in ("doc", "version", "parameters", "default", "name"):
        if key in schema:
            properties[f"connect.{key}"] = schema[key]
    if schema["type"] == "int16":
        properties["connect.type"] = "int16"
    if name in _LOGICAL:
        properties["logicalType"] = _LOGICAL[name]
    return properties


def _require_name(part: str, name: str) -> None:
    if not _NAME.fullmatch(part):
        raise UnsupportedChange(record_errors.NO_AVRO_NAME, name=name)


_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
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


def json_schema(schema: "ConnectSchema") -> str:
    """Return the text of the JSON Schema of a struct."""
    document = {"$schema": _DRAFT, **_required(schema)}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _required(schema: "ConnectSchema") -> dict[str, Any]:
    """Return the schema of a value that is not NULL."""
    kind = schema["type"]
    json_schema: dict[str, Any]
    if kind == "struct":
        properties = {
            field["field"]: _json_field(field, index)
            for index, field in enumerate(schema["fields"])
        }
        json_schema = {"type": "object", "properties": properties}
    elif kind == "array":
        json_schema = {"type": "array", "items": _required(schema["items"])}
    else:
        name, connect_type = _TYPES[kind]
        json_schema = {"type": "number" if schema.get("name") == _DECIMAL else name}
        if connect_type:
            json_schema["connect.type"] = connect_type
    for key, known_as in (
        ("name", "title"),
        ("version", "connect.version"),
        ("doc", "description"),
        ("parameters", "connect.parameters"),
        ("default", "default"),
    ):
        if key in schema:
            json_schema[known_as] = schema[key]
    return json_schema


def _json_field(schema: "ConnectSchema", index: int) -> dict[str, Any]:
    json_schema = _required(schema)
    if schema["optional"]:
        json_schema = {"oneOf": [{"type": "null"}, json_schema]}
    return {**json_schema, "connect.index": index}


# Members in the order of the converter.
ConnectSchema: TypeAlias = dict[str, Any]


def field(name: str, kind: str, *, optional: bool, **others: object) -> ConnectSchema:
    """Return a field of a struct."""
    return {"type": kind, "optional": optional, **others, "field": name}
