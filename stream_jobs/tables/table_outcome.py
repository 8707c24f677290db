"""What one batch has done to one table: for the report, the upkeep and the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_jobs.tables.reports import TableReport, TableSource
from stream_jobs.tables.upkeep import KeptTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_jobs.apply.facts import PartResult
    from stream_jobs.tables.services import Services
    from stream_jobs.tables.topic_state import TopicState


class TableOutcome:
    """The results of all rounds of one table."""

    def __init__(self, services: Services, state: TopicState) -> None:
        """Begin without a result."""
        self._services = services
        self._state = state
        self._finished: list[PartResult] = []
        # None if there were no records, and no statement was followed.
        self.report: TableReport | None = None
        self.records = 0

    @property
    def name(self) -> str:
        """`database.table`, or the topic if that is not known."""
        history = self._services.registry.history(self._state.topic)
        return history[-1].name if history else self._state.topic

    @property
    def source(self) -> TableSource:
        """Where the changes come from; by the topic if the names are not known."""
        topic = self._state.topic
        history = self._services.registry.history(topic)
        names = (history[-1].database, history[-1].table) if history else topic.split(".")[1:]
        return TableSource(topic, *names)

    @property
    def kept(self) -> KeptTable | None:
        """The table, if something was committed to it."""
        own, schema = self._state.mirror, self._state.schema
        if own is None or schema is None or self.report is None:
            return None
        target = self._state.settings.target_file_bytes if self._state.settings else 0
        return KeptTable(self._state.topic, own, self._state.mode.file_order(schema), target)

    @property
    def place(self) -> dict[tuple[str, str], str]:
        """The database, the name and the path of the mirror, if something was committed to it."""
        own, schema = self._state.mirror, self._state.schema
        if own is None or schema is None or self.report is None:
            return {}
        return {schema.place: own.delta.path}

    def final_report(self) -> TableReport | None:
        """Return the report after all commits of the batch; None if there were no records."""
        kept = self.kept
        if kept is None or self.report is None:
            return self.report
        return self.report.after_commits(kept.mirror.delta)

    def add(self, results: Sequence[PartResult]) -> None:
        """Count what a round has applied."""
        self._finished += results
        self.records = sum(each.records for each in self._finished)
        if self.records:
            self.report = TableReport.of(self._finished)

    def add_statement(self) -> None:
        """Note that the mirror follows a statement: the batch has done something without rows."""
        self.report = self.report or TableReport.of(())
