"""Topics that had the rows of tables, and do not have them any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from connector.changes.table_filter import TableFilter
    from connector.envelope.options import EnvelopeOptions


@final
class TableTopics:
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
