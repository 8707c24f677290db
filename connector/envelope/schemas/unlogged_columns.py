"""Columns of the log that records leave out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

if TYPE_CHECKING:
    from connector.binlog.events.table_map import TableMapEvent

# How servers call the columns that no SELECT shows. MariaDB keeps the hash of each long unique key
# in the last columns; MySQL 8.0.13 and some releases after it log the columns of functional keys.
_HIDDEN_NAME: Final = re.compile(r"DB_ROW_HASH_\d+|[0-9a-f]{32}|!hidden!.*", re.DOTALL)


@mypyc_attr(allow_interpreted_subclasses=True)
class UnloggedColumns:
    """Knows these columns.

    The log does not always have the value of a generated column, or the server hides a column.
    """

    # Whether the log of the server lacks the values of generated columns.
    leaves_out_generated = False

    def of(self, database: str, table: str, suspects: frozenset[str]) -> frozenset[str]:
        """Return the names of these columns of a table.

        `suspects` are the columns in the log that have the name of a hidden one. Raises
        SourceUnavailable or SourceRefused.
        """
        raise NotImplementedError


def hidden_names(table_map: TableMapEvent) -> frozenset[str]:
    """Return the names of columns that may be hidden ones, mostly none."""
    return frozenset(
        column.name
        for column in table_map.columns
        if column.name is not None and _HIDDEN_NAME.fullmatch(column.name) is not None
    )
