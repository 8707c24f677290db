"""When the rows that foreign keys have changed are copied, and which.

Cascades of the same table are joined: one copy brings the rows of all of them. After a copy, the
next one waits for `schema.cascade_seconds`, and for nine times the time in which the copy read and
wrote, up to 15 minutes. So copies take a tenth of the time, however often rows of a parent are
deleted; those of a table that takes longer than 100 seconds take more. The time in which a copy
waits for others or for the stream costs nobody anything, and does not count. With 0, none waits.

A copy begins only when no other copy of the table is under way. A chunk of the other one may have
been read before the cascade, and its rows must not follow those of this copy. If a copy of all rows
waits and has not read any, it brings the changed rows too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.changes.foreign_keys import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from connector.changes.cascaded_rows import CascadedRows
    from connector.changes.table_names import TableName

_PAUSE_FACTOR = 9
# Consumers have rows that are gone meanwhile.
_PAUSE_SECONDS_MAX = 900.0


class CascadedCopies:
    """Decides for each table when to copy its changed rows."""

    def __init__(
        self, rows: CascadedRows, pause_seconds: float, is_fenced: Callable[[str, str], bool]
    ) -> None:
        """Copy `rows`; `is_fenced` says whether changes of a table are in quarantine."""
        self._rows = rows
        self._pause_seconds = pause_seconds
        self._is_fenced = is_fenced
        # The seconds that each copy has cost so far.
        self._begun: dict[TableName, float] = {}
        self._not_before: dict[TableName, float] = {}
        # When the rows that are still to be copied were first seen.
        self._since: dict[TableName, float] = {}

    @property
    def idle(self) -> bool:
        """Whether there is nothing to copy, and nothing was begun."""
        return not self._begun and not self._rows.count()

    def due(self, seconds: float, copying: Collection[TableName]) -> list[tuple[str, str, str]]:
        """Return database, table and condition of each copy to begin now; "" copies all rows.

        `seconds` is the time of a clock that never goes back; `copying` are the tables that are
        being copied.
        """
        for table in [table for table in self._begun if table not in copying]:
            cost = self._begun.pop(table)
            if self._pause_seconds:
                pause = max(self._pause_seconds, min(cost * _PAUSE_FACTOR, _PAUSE_SECONDS_MAX))
                self._not_before[table] = seconds + pause
        found: list[tuple[str, str, str]] = []
        tables = self._rows.tables
        self._since = {table: self._since.get(table, seconds) for table in tables}
        for table in tables:
            if table in copying or seconds < self._not_before.get(table, seconds):
                continue
            where = self._take(table)
            if self._is_fenced(*table):
                # A replay writes older states of the fenced rows, and no copy after it.
                where = WHOLE
            self._begun[table] = 0.0
            found.append((*table, where))
        return found

    def note_cost(self, table: TableName, seconds: float) -> None:
        """Note in how many seconds the copy of a table has read and written."""
        if table in self._begun:
            self._begun[table] = seconds

    def waiting(self) -> dict[TableName, float]:
        """Return since when the rows of each table wait, on the clock of `due`.

        Any thread may ask.
        """
        return self._since.copy()

    def met(self, table: TableName) -> bool:
        """Drop the rows of a table that is to be read as a whole from now on.

        Returns whether rows of it are gone, or have other keys.
        """
        return table in self._rows.tables and self._take(table) == WHOLE

    def want_all(self, database: str, table: str) -> None:
        """Have all rows of a table copied, because a condition did not find the changed ones."""
        self._rows.add((database, table), {WHOLE})

    def _take(self, table: TableName) -> str:
        self._since.pop(table, None)
        return self._rows.take(table)
