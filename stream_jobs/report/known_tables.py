"""Reads the tables that had no batch since the start, so that they have figures too.

A few at a time: the first batches need the processor more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.errors import MirrorError
from stream_jobs.report.figures import TableFigures
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.reports import TableState
from stream_jobs.tables.topic_state import path_in

if TYPE_CHECKING:
    from stream_jobs.report.figures import Figures
    from stream_jobs.tables.services import Services

_TABLES_A_LOOK: Final = 20


class KnownTables:
    """The tables of the topics that the figures name."""

    def __init__(self, services: Services, figures: Figures) -> None:
        """Read the mirrors of `services`."""
        self._services = services
        self._figures = figures
        self._tried: set[str] = set()

    def look(self) -> None:
        """Note the figures of some tables that have none yet.

        Raises MirrorError if Kafka does not answer.
        """
        unknown = self._figures.ends.keys() - self._figures.tables.keys() - self._tried
        chosen = sorted(unknown)[:_TABLES_A_LOOK]
        registry = self._services.registry
        if any(not registry.history(topic) for topic in chosen):
            registry.refresh()
        for topic in chosen:
            self._tried.add(topic)
            table = self._figures_of(topic)
            if table is not None:
                self._figures.note_table(topic, table)

    def _figures_of(self, topic: str) -> TableFigures | None:
        history = self._services.registry.history(topic)
        if not history:
            return None
        newest, services = history[-1], self._services
        table = TableFigures(newest.database, newest.table)
        try:
            path = path_in(services.storage, newest)
            own = MirrorTable.open(services.storage, path, newest.name, services.base)
        except MirrorError:
            # A batch of this table says why; nobody reads it before.
            return table
        if own is None:
            if not newest.key:
                self._figures.without_mirror.add(topic)
            return table
        return table.at(TableState.of(own.delta.snapshot))
