"""Sequences of MariaDB, whose state the log has as rows of a table.

The server keeps a sequence as a table of one row, and logs each new state as an INSERT. `CREATE
SEQUENCE` and the statements after it do not say more. No other table has these columns.

https://mariadb.com/docs/server/reference/sql-structure/sequences/sequence-overview
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from connector.binlog.events.table_map import TableMapEvent

_COLUMNS: Final = (
    "next_not_cached_value", "minimum_value", "maximum_value", "start_value", "increment",
    "cache_size", "cycle_option", "cycle_count",
)  # fmt: skip


def is_sequence(table_map: TableMapEvent) -> bool:
    """Return whether the log names the columns of a sequence, in their order."""
    columns = table_map.columns
    return len(columns) == len(_COLUMNS) and all(
        column.name == name and not column.nullable and not column.primary_key
        for column, name in zip(columns, _COLUMNS, strict=True)
    )
