"""Keys of records that are not those of rows: the option `message.key.columns`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from connector.errors import UnsupportedChange, table_columns

if TYPE_CHECKING:
    from connector.envelope.debezium.form import DebeziumForm
    from connector.envelope.schemas.table_schema import TableSchema


def record_key_indexes(schema: TableSchema, form: DebeziumForm | None) -> tuple[int, ...]:
    """Return the columns of a table's record keys, in key order; mostly those of its own key.

    Raises UnsupportedChange for a column that records do not have, or that is masked in them.
    """
    if form is None or not has_message_key(schema, form):
        return schema.key_indexes
    places = {column["name"].lower(): n for n, column in enumerate(schema.columns)}
    found: list[int] = []
    for database, table, names in map(_parts, form.message_keys):
        if not (fnmatchcase(schema.database, database) and fnmatchcase(schema.table, table)):
            continue
        for name in names:
            place = places.get(name.lower())
            if place is None:
                raise UnsupportedChange(table_columns.NOT_IN_TABLE, column=f"{schema.name}.{name}")
            if schema.columns[place]["name"] in schema.changes:
                raise UnsupportedChange(table_columns.IN_KEY, column=f"{schema.name}.{name}")
            if place not in found:
                found.append(place)
    return tuple(found)


def has_message_key(schema: TableSchema, form: DebeziumForm) -> bool:
    """Return whether the settings choose the key of a table's records."""
    return any(
        fnmatchcase(schema.database, database) and fnmatchcase(schema.table, table)
        for database, table, _ in map(_parts, form.message_keys)
    )


def _parts(text: str) -> tuple[str, str, list[str]]:
    """Return the database, the table and the columns of `database.table:column,column`."""
    place, _, columns = text.partition(":")
    database, _, table = place.partition(".")
    return database, table, [name.strip() for name in columns.split(",")]
