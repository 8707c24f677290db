"""The log line that says, from time to time, what was delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from connector.run.notices import abbreviated, busiest_tables

if TYPE_CHECKING:
    from connector.metrics.figures import Figures
    from connector.progress.progress_record import Progress
    from connector.system.clock import Clock

_REPORT_SECONDS = 30.0
_NS_PER_US = 1000
_US = 1_000_000


class DeliveryReport:
    """Counts what is committed, and tells it every 30 seconds."""

    def __init__(self, figures: Figures, clock: Clock) -> None:
        """Count from now on."""
        self._figures = figures
        self._clock = clock
        self._log = structlog.get_logger()
        # Since the last report.
        self._records = self._transactions = 0
        # Of each table, before the last report.
        self._before = self._table_records()
        self._written = clock.monotonic()

    def add(self, records: int, transactions: int) -> None:
        """Count what a commit made visible: records, and the source transactions they are from."""
        self._records += records
        self._transactions += transactions

    def write_if_due(self, progress: Progress, committed_us: int) -> None:
        """Write the line of the last 30 seconds, unless they have not passed.

        `committed_us` is when the source committed what was delivered last, in microseconds since
        1970.
        """
        now = self._clock.monotonic()
        seconds = now - self._written
        if seconds < _REPORT_SECONDS:
            return
        self._log.info(
            "delivered",
            records=self._records,
            records_per_second=round(self._records / seconds),
            transactions=self._transactions,
            position=f"{progress.file}:{progress.position}",
            gtid_set=abbreviated(progress.gtid_set),
            lag_seconds=self._lag_seconds(committed_us),
            tables=busiest_tables(self._counted()),
        )
        self._records = self._transactions = 0
        self._written = now

    def _counted(self) -> dict[str, int]:
        """Return the records of each table since the last report."""
        before, self._before = self._before, self._table_records()
        counts = {name: count - before.get(name, 0) for name, count in self._before.items()}
        return {name: count for name, count in counts.items() if count}

    def _table_records(self) -> dict[str, int]:
        return {name: table.records for name, table in self._figures.tables.items()}

    def _lag_seconds(self, committed_us: int) -> float | None:
        """Return the stream's lag in seconds at the last commit, which is newer than the last look.

        None if the source cannot be asked.
        """
        lag = self._figures.lag
        if lag is None:
            return None
        ago = (self._clock.time_ns() // _NS_PER_US - committed_us) / _US
        return round(max(0.0, min(lag.seconds, ago)), 1)
