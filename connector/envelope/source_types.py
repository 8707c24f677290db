"""The parameters that tell the type of a column at the source, in the schemas of records.

::

    "parameters":{"__debezium.source.column.type":"DECIMAL UNSIGNED",
                  "__debezium.source.column.length":"10","__debezium.source.column.scale":"2",
                  "__debezium.source.column.name":"price"}

Debezium takes them from SHOW CREATE TABLE, or from the words of DDL; here they are those of the
log.

https://debezium.io/documentation/reference/stable/connectors/mysql.html#mysql-property-column-propagate-source-type
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.envelope.columns.choice import ColumnPattern, characters

if TYPE_CHECKING:
    from connector.contract import SchemaColumn
    from connector.envelope.debezium.form import DebeziumForm
    from connector.envelope.schemas.table_schema import TableSchema

_PARAMETER: Final = "__debezium.source.column."


def source_type(column: SchemaColumn, schema: TableSchema, form: DebeziumForm) -> dict[str, str]:
    """Return the parameters of a column; {} for one that the settings do not choose."""
    if not (form.source_types or form.source_types_by_type):
        return {}
    name, length = _name(column, schema), _length(column, schema)
    if not (
        _matches(form.source_types, schema, column["name"])
        or _matches(form.source_types_by_type, schema, name)
    ):
        return {}
    found = {"type": name}
    if length:
        found["length"] = str(length)
    if "scale" in column:
        found["scale"] = str(column["scale"])
    found["name"] = column["name"]
    return {f"{_PARAMETER}{key}": value for key, value in found.items()}


def _matches(patterns: tuple[str, ...], schema: TableSchema, name: str) -> bool:
    return any(
        pattern.names_table(schema.database, schema.table) and pattern.matches(name)
        for pattern in map(ColumnPattern.parse, patterns)
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
