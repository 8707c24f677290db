"""Rows of the source, and what a client made of them."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from local_stack import connect
from tests.debezium.clients import workload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from local_stack import Endpoint

# A row by the names of its columns.
Row = dict[str, Any]
_SHOWN = 8


def select(endpoint: Endpoint, database: str, table: str) -> list[Row]:
    """Return all rows of a table, as PyMySQL reads them; times are in UTC."""
    with closing(connect(endpoint, database)) as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"SHOW COLUMNS FROM `{table}`")
        types = {column[0]: column[1] for column in cursor.fetchall()}
        cells = [
            # PyMySQL does not know the type.
            f"CAST(`{name}` AS BINARY)" if kind.startswith("vector") else f"`{name}`"
            for name, kind in types.items()
        ]
        cursor.execute(f"SELECT {', '.join(cells)} FROM `{table}`")
        return [dict(zip(types, row, strict=True)) for row in cursor.fetchall()]


def source_rows(endpoint: Endpoint, table: str) -> list[Row]:
    """Return the rows of a table of the workload."""
    return select(endpoint, workload.DATABASE, table)


def by_key(table: str, rows: Iterable[Row]) -> dict[tuple[Any, ...], Row]:
    """Return rows by the values of the columns of the key; each key is there once."""
    keys = workload.TABLES[table][0]
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        assert key not in found, f"{table} has two rows with the key {key}"
        found[key] = row
    return found


def differences(table: str, wanted: Iterable[Row], found: Iterable[Row]) -> list[str]:
    """Return a line for each row that is missing or too many, and each value that differs.

    Records from before a column was added do not have it: it is NULL.
    """
    source, client = by_key(table, wanted), by_key(table, found)
    lines = [f"{table} {key}: missing" for key in source.keys() - client.keys()]
    lines += [f"{table} {key}: deleted in the source" for key in client.keys() - source.keys()]
    for key in source.keys() & client.keys():
        lines += [
            f"{table} {key} {name}: {value!r} became {client[key].get(name)!r}"
            for name, value in source[key].items()
            if not _is_same(value, client[key].get(name))
        ]
    return lines[:_SHOWN]


def _is_same(one: Any, other: Any) -> bool:
    """Return whether a client has the value of the source, which may be of another type.

    A BIT(1) becomes a number, and the texts of documents have their members in some order.
    """
    if isinstance(one, bytes) and isinstance(other, int):
        return int.from_bytes(one, "big") == other
    if isinstance(one, str) and isinstance(other, str) and one[:1] in "[{" and one:
        return bool(json.loads(one) == json.loads(other))
    return bool(one == other)
