"""The backlog of copies: tables that wait to be copied again.

Nobody asks for these copies: a transaction changes rows without row events (`CopyQueue`), foreign
keys change rows (`CascadeCopies`), or the topic of a table is lost (`LostTopics`).

Cascades of the same table are joined: one copy brings the rows of all of them. After a copy, the
next one waits for `schema.cascade_seconds`, and for nine times the time in which the copy read
and wrote, up to 15 minutes. So copies take a tenth of the time, however often rows of a parent
are deleted; copies of a table that take longer than 100 seconds take more. The time in which a
copy waits for others or for the stream costs nobody anything, and does not count. With 0, none
waits.

A copy of cascades begins only when no other copy of the table is under way. A chunk of the other
one may have been read before the cascade, and its rows must not follow the rows of this copy. If
a copy of all rows waits and has not read any, it brings the changed rows too.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import final

from connector.binlog.sql_text import TableName
from connector.binlog.table_filter import TableFilter
from connector.stream.changes.cascades import CascadedRows
from connector.stream.changes.foreign_keys import WHOLE
from connector.stream.envelope.options import EnvelopeOptions

_PAUSE_FACTOR = 9
# Consumers have rows that are gone meanwhile.
_PAUSE_SECONDS_MAX = 900.0


class CascadeCopies:
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
        due: list[tuple[str, str, str]] = []
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
            due.append((*table, where))
        return due

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

    def add_all(self, database: str, table: str) -> None:
        """Have all rows of a table copied, because a condition did not find the changed ones."""
        self._rows.add((database, table), {WHOLE})

    def _take(self, table: TableName) -> str:
        self._since.pop(table, None)
        return self._rows.take(table)


class CopyQueue:
    """Keeps the tables that a transaction named: copies begin after it."""

    def __init__(self) -> None:
        self._reasons: list[tuple[str, str, str]] = []

    def add(self, database: str, table: str, reason: str) -> None:
        """Add a table to copy, with the reason."""
        self._reasons.append((database, table, reason))

    def forget(self, database: str, table: str) -> None:
        """Drop a table that is gone; "" means each table of the database."""
        self._reasons = [
            wanted
            for wanted in self._reasons
            if wanted[0] != database or table not in ("", wanted[1])
        ]

    def take(self) -> list[tuple[str, str, str]]:
        """Return and drop (database, table, reason) of each table."""
        taken, self._reasons = self._reasons, []
        return taken


@final
class LostTopics:
    """Tells which tables had rows in a topic that somebody has deleted, or created again."""

    def __init__(
        self,
        options: EnvelopeOptions,
        schemas: Iterable[str],
        has_topic: Callable[[str], bool],
        lost: frozenset[str],
    ) -> None:
        """Take the keys of `schemas`: a column list is written with the first record of a table.

        `has_topic` says whether a topic exists; those that are `lost` may have been created again.
        """
        self._options = options
        self._names = {key.rpartition("/")[0] for key in schemas}
        self._has_topic = has_topic
        self._lost = lost

    def any_lost(self, tables: TableFilter) -> bool:
        """Return whether a topic has lost the rows of one of the followed `tables`."""
        # Each is looked for: from now on, it is known that the pipeline uses it.
        lost = [
            self.lost_topic(database, table)
            for database, _, table in (name.partition(".") for name in self._names)
            if tables.follows(database, table)
        ]
        return any(lost)

    def lost_topic(self, database: str, table: str) -> str:
        """Return the topic that has lost the rows of a table, "" mostly.

        A filter may leave out all rows of a table, and those of an outbox go to other topics, so
        their topics need not exist.
        """
        options = self._options
        outbox = options.outbox
        is_outbox = outbox is not None and outbox.takes(database, table)
        if f"{database}.{table}" not in self._names or is_outbox:
            return ""
        topic = options.topics.of(database, table)
        exists = self._has_topic(topic)
        has_filters = options.debezium is not None and options.debezium.filters is not None
        return topic if topic in self._lost or not (exists or has_filters) else ""


@dataclass(frozen=True, slots=True)
class CopyBacklog:
    """The tables that are to be copied although nobody asks."""

    queue: CopyQueue
    cascades: CascadeCopies
    lost_topics: LostTopics
