"""The Kafka Connect schema of a column, in the form of its JsonConverter.

On request, it has parameters that tell the type of the column at the source::

    "parameters":{"__debezium.source.column.type":"DECIMAL UNSIGNED",
                  "__debezium.source.column.length":"10","__debezium.source.column.scale":"2",
                  "__debezium.source.column.name":"price"}

Debezium takes them from SHOW CREATE TABLE, or from the words of DDL; here they are those of the
log.

https://debezium.io/documentation/reference/stable/connectors/mysql.html#mysql-data-types
https://debezium.io/documentation/reference/stable/connectors/mysql.html#mysql-property-column-propagate-source-type
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from connector.binlog.columns.column import BINARIES, CHARACTERS, INTEGERS, PRINTED, Family
from connector.foundation.contract import SchemaColumn
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.debezium.registry_schemas import ConnectSchema, field
from connector.stream.envelope.schemas.column_masks import TextTransform, TextTruncation
from connector.stream.envelope.schemas.column_rules import ColumnPattern, characters
from connector.stream.envelope.schemas.table_schema import TableSchema

_PARAMETER: Final = "__debezium.source.column."


def source_type(column: SchemaColumn, schema: TableSchema, form: DebeziumProfile) -> dict[str, str]:
    """Return the parameters of a column; {} for one that the settings do not choose."""
    if not (form.source_types or form.source_types_by_type):
        return {}
    name, length = _name(column, schema), _length(column, schema)
    if not (
        _matches(form, form.source_types, schema, column["name"])
        or _matches(form, form.source_types_by_type, schema, name)
    ):
        return {}
    facts = {"type": name}
    if length:
        facts["length"] = str(length)
    if "scale" in column:
        facts["scale"] = str(column["scale"])
    facts["name"] = column["name"]
    return {f"{_PARAMETER}{key}": value for key, value in facts.items()}


def _matches(
    form: DebeziumProfile, patterns: tuple[str, ...], schema: TableSchema, name: str
) -> bool:
    found = (ColumnPattern.parse(text, form.ignores_case) for text in patterns)
    return any(
        pattern.names_table(schema.database, schema.table) and pattern.matches(name)
        for pattern in found
    )


def _name(column: SchemaColumn, schema: TableSchema) -> str:
    kind = schema.kinds.get(column["name"], column["type"]).partition("(")[0]
    return f"{kind} UNSIGNED".upper() if column.get("unsigned") else kind.upper()


def _length(column: SchemaColumn, schema: TableSchema) -> int:
    """Return the length that SHOW CREATE TABLE has in parentheses; 0 without one."""
    kind = column["type"]
    if kind == "vector":
        return int(schema.kinds[column["name"]].removeprefix("vector(").rstrip(")"))
    if kind in ("binary", "varbinary", "bit"):
        return column.get("length", 0)
    return column.get("precision", 0) or column.get("fraction", 0) or characters(column)


# Without and with UNSIGNED.
_INTEGERS: Final = {
    "tinyint": ("int16", "int16"),
    "smallint": ("int16", "int32"),
    "mediumint": ("int32", "int32"),
    "int": ("int32", "int64"),
    "bigint": ("int64", "int64"),
}
# Members before `optional`.
_FIRST: Final = ("type", "fields", "items")
_BOOLEAN: Final = {"type": "boolean"}
_UNSIGNED_DIGITS: Final = 20
_MILLIS_DIGITS: Final = 3
# What each form of times makes of DATE, DATETIME and TIME; without a name, the fraction decides.
_TIMES: Final = {
    "adaptive_time_microseconds": ("Date", "", "MicroTime"),
    "microseconds": ("Date", "MicroTimestamp", "MicroTime"),
    "nanoseconds": ("Date", "NanoTimestamp", "NanoTime"),
    "isostring": ("IsoDate", "IsoTimestamp", "IsoTime"),
}
_INT32_TIMES: Final = ("Date",)


def column_field(
    name: str, column: SchemaColumn, schema: TableSchema, form: DebeziumProfile
) -> ConnectSchema:
    """Return the field `name` for `column` of a table."""
    described = {**_described(column, form, point=column["name"] in schema.points)}
    field: ConnectSchema = {}
    for key in _FIRST:
        if key in described:
            field[key] = described.pop(key)
    field["optional"] = column["nullable"]
    parameters = {**described.pop("parameters", {}), **_of_mapping(schema, column, form)}
    field.update(described)
    if parameters:
        field["parameters"] = parameters
    field["field"] = name
    return field


def _of_mapping(schema: TableSchema, column: SchemaColumn, form: DebeziumProfile) -> dict[str, str]:
    """Return what Debezium tells about a text that is another one, or else of the source's type."""
    change: TextTransform | None = schema.changes.get(column["name"])
    if change is None:
        return source_type(column, schema, form)
    if isinstance(change, TextTruncation):
        return {"truncateLength": str(change.length)}
    return {"masked": "true"}


def _described(column: SchemaColumn, form: DebeziumProfile, *, point: bool) -> ConnectSchema:
    """Return the schema without what each field has."""
    return _shape(point=True) if point else CONNECT[column["type"]](column, form)


def _integer(column: SchemaColumn, _: DebeziumProfile) -> ConnectSchema:
    return {"type": _INTEGERS[column["type"]][column.get("unsigned", False)]}


def _bigint(column: SchemaColumn, form: DebeziumProfile) -> ConnectSchema:
    if column.get("unsigned") and form.unsigned_bigints == "precise":
        return _decimal(0, _UNSIGNED_DIGITS)
    return _integer(column, form)


def _exact_number(column: SchemaColumn, form: DebeziumProfile) -> ConnectSchema:
    if form.decimals == "precise":
        return _decimal(column["scale"], column["precision"])
    return {"type": form.decimals}


def _bytes(_: SchemaColumn, form: DebeziumProfile) -> ConnectSchema:
    return {"type": "bytes" if form.binary == "bytes" else "string"}


def _labels(column: SchemaColumn, _: DebeziumProfile) -> ConnectSchema:
    name = "Enum" if column["type"] == Family.ENUM else "EnumSet"
    labels = [label.replace(",", "\\,") for label in column.get("labels", ())]
    return _named("string", f"data.{name}", allowed=",".join(labels))


def _bits(column: SchemaColumn, _: DebeziumProfile) -> ConnectSchema:
    length = column.get("length", 1)
    return _named("bytes", "data.Bits", length=str(length)) if length > 1 else _BOOLEAN


def _vector(_: SchemaColumn, __: DebeziumProfile) -> ConnectSchema:
    items = {"type": "float", "optional": False}
    return {"items": items, **_named("array", "data.FloatVector")}


def _time(column: SchemaColumn, form: DebeziumProfile) -> ConnectSchema:
    place = ("date", "datetime", "time").index(column["type"])
    if form.times == "connect":
        name = ("Date", "Timestamp", "Time")[place]
        kind = "int64" if name == "Timestamp" else "int32"
        return {"type": kind, "name": f"org.apache.kafka.connect.data.{name}", "version": 1}
    name = _TIMES[form.times][place]
    if not name:
        is_short = column.get("fraction", 0) <= _MILLIS_DIGITS
        name = "Timestamp" if is_short else "MicroTimestamp"
    if form.times == "isostring":
        return _named("string", f"time.{name}")
    return _named("int32" if name in _INT32_TIMES else "int64", f"time.{name}")


def _decimal(scale: int, precision: int) -> ConnectSchema:
    return {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "version": 1,
        "parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
    }


def _shape(*, point: bool) -> ConnectSchema:
    coordinates = [field("x", "double", optional=False), field("y", "double", optional=False)]
    fields = [
        *(coordinates if point else ()),
        field("wkb", "bytes", optional=point),
        field("srid", "int32", optional=True),
    ]
    name = "Point" if point else "Geometry"
    doc = "Geometry (POINT)" if point else "Geometry"
    return {"fields": fields, **_named("struct", f"data.geometry.{name}"), "doc": doc}


def _named(kind: str, name: str, **parameters: str) -> ConnectSchema:
    schema: ConnectSchema = {"type": kind, "name": f"io.debezium.{name}", "version": 1}
    if parameters:
        schema["parameters"] = parameters
    return schema


_Choice: TypeAlias = Callable[[SchemaColumn, DebeziumProfile], ConnectSchema]
CONNECT: Final[dict[str, _Choice]] = {
    **dict.fromkeys((*CHARACTERS, *PRINTED), lambda _, __: {"type": "string"}),
    **dict.fromkeys(
        BINARIES, lambda _, form: {"type": "bytes" if form.binary == "bytes" else "string"}
    ),
    **dict.fromkeys(INTEGERS, _integer),
    Family.BIGINT: _bigint,
    Family.DECIMAL: _exact_number,
    Family.FLOAT: lambda _, __: {"type": "float"},
    Family.DOUBLE: lambda _, __: {"type": "double"},
    Family.BIT: _bits,
    Family.ENUM: _labels,
    Family.SET: _labels,
    Family.DATE: _time,
    Family.DATETIME: _time,
    Family.TIME: _time,
    Family.TIMESTAMP: lambda _, __: _named("string", "time.ZonedTimestamp"),
    Family.YEAR: lambda _, __: _named("int32", "time.Year"),
    Family.JSON: lambda _, __: _named("string", "data.Json"),
    Family.GEOMETRY: lambda _, __: _shape(point=False),
    Family.VECTOR: _vector,
}
