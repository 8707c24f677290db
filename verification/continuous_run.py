"""All tables, again and again, until the process is stopped: what `verify --forever` calls.

Nothing that happens to source, Kafka, pipeline or mirror ends it. A table that cannot be compared
now counts as not finished, and is compared again in its turn.
"""

from __future__ import annotations

import random
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import structlog

from connector.foundation.errors import ConnectorError, SinkUnavailable, SourceUnavailable, fields
from connector.foundation.settings.sections import Settings
from verification import verify_errors
from verification.commit_times import CommitTimeCache
from verification.pipeline import Pipeline
from verification.replica_side import ReplicaServer
from verification.report import TableResult
from verification.run import Run, job_settings, table_names
from verification.table_check import Limits

if TYPE_CHECKING:
    from verification.metrics import VerificationMetrics

# The log names so many rows of a table; the figure counts all.
_NAMED_MAX: Final = 20
# A source closes sessions that are silent for long, and one row in many is read a second.
_ASK_SECONDS: Final = 30.0
# Of a defect, the innermost places of the code.
_FRAMES: Final = 8
# Both peers answer, and one table has to wait.
_LAGS: Final = (verify_errors.CONNECTOR_LAGS, verify_errors.COPY_LAGS)

_log = structlog.get_logger()


class ContinuousRun:
    """Compares the tables of one pipeline with the mirrors of one job, or with their replica."""

    def __init__(
        self,
        settings: Settings,
        job: Path,
        patterns: Sequence[str],
        limits: Limits,
        metrics: VerificationMetrics,
        *,
        of_replica: bool,
    ) -> None:
        """Compare the tables that match, all followed ones without a pattern; fill `metrics`.

        Raises ConfigError for the configuration of another job.
        """
        self._settings = settings
        self._job = job_settings(settings, job)
        self._server = ReplicaServer(self._job) if of_replica else None
        self._patterns = patterns
        self._limits = limits
        self._metrics = metrics
        # What is left of this round.
        self._left: deque[tuple[str, str]] = deque()
        self._asked_at = 0.0
        self._in_vain = 0
        self._times = CommitTimeCache()

    def run(self) -> NoReturn:
        """Go round until KeyboardInterrupt."""
        while True:
            try:
                limits = self._limits
                with Pipeline(
                    self._settings, limits.patience_seconds, limits.rows_per_second
                ) as pipeline:
                    self._connected(pipeline)
                    self._round(pipeline)
            except ConnectorError as error:
                self._pause(self._interrupted(error))
            else:
                self._pause(self._settings.verify.pause_seconds)

    def _round(self, pipeline: Pipeline) -> None:
        """Compare what is left of the round, or all tables; raises the errors of connections."""
        metrics = self._metrics
        if not self._left:
            metrics.keep(table_names(pipeline, self._patterns))
            self._left.extend(self._by_age())
            metrics.begin_round(len(self._left))
        run = Run(
            pipeline,
            self._job,
            self._server,
            self._limits,
            lambda *_: self._turn(pipeline),
            times=self._times,
        )
        for result in self._results(run):
            self._report(result)
            error = result.error
            is_away = isinstance(error, SourceUnavailable | SinkUnavailable)
            if error is not None and is_away and error.code not in _LAGS:
                raise error
            self._in_vain = 0
        metrics.rounds += 1
        _log.info("round ended", **self._summary())

    def _results(self, run: Run) -> Iterator[TableResult]:
        while self._left:
            name = self._left.popleft()
            metrics = self._metrics
            metrics.current, began = ".".join(name), time.monotonic()
            metrics.turn()
            try:
                result = run.table(*name)
            except ConnectorError as error:
                result = TableResult(metrics.current, error=error)
            except Exception as error:  # noqa: BLE001 # a defect must not keep others from their turn
                result = TableResult(metrics.current, unsettled=1)
                # Its text may hold values.
                frames = traceback.extract_tb(error.__traceback__)
                _log.error(
                    "defect",
                    table=metrics.current,
                    error=type(error).__name__,
                    places=[f"{frame.filename}:{frame.lineno}" for frame in frames[-_FRAMES:]],
                )
            metrics.take(name, result, began)
            metrics.current = ""
            yield result

    def _by_age(self) -> list[tuple[str, str]]:
        """Return the tables, those first that were not compared for the longest time."""
        tables = list(self._metrics.tables.values())
        # After a restart, no table is always the last one.
        random.shuffle(tables)
        tables.sort(key=lambda table: table.tried_at or 0.0)
        return [(table.database, table.table) for table in tables]

    def _report(self, result: TableResult) -> None:
        differences = [(difference, False) for difference in result.differences]
        differences += [(difference, True) for difference in result.repaired]
        for difference, is_repaired in differences[:_NAMED_MAX]:
            _log.warning(
                "row differs",
                table=result.name,
                kind=difference.kind,
                key=difference.to_json(with_values=False)["key"],
                columns=sorted(difference.source)
                if difference.source and difference.mirror
                else [],
                **({} if difference.counts is None else difference.counts._asdict()),
                repaired=is_repaired,
                since=None if difference.since is None else str(difference.since),
                transaction=result.transaction,
            )
        for interval in result.intervals[:_NAMED_MAX]:
            _log.warning("interval is wrong", table=result.name, **interval.to_json())
        if result.iceberg is not None:
            found = result.to_json(with_values=False)["iceberg"]
            for row in found["differences"][:_NAMED_MAX]:
                _log.warning("row differs in Iceberg", table=result.name, **row)
            for defect in found["defects"][:_NAMED_MAX]:
                _log.warning("Iceberg is wrong", table=result.name, what=defect)
        log = _log.info if result.verdict in {"equal", "not compared"} else _log.warning
        log(
            result.verdict,
            table=result.name,
            rows=result.rows,
            seconds=round(result.seconds, 3),
            differences=len(result.differences),
            intervals=len(result.intervals),
            repaired=len(result.repaired),
            transaction=result.transaction,
            **({} if result.error is None else fields(result.error)),
        )

    def _summary(self) -> dict[str, int]:
        tables = self._metrics.tables.values()
        compared = self._metrics.compared()
        return {
            "rounds": self._metrics.rounds,
            "tables": len(compared),
            "different": sum(bool(table.differences) for table in compared),
            "not_finished": sum(not table.is_finished for table in compared),
            "not_compared": len(tables) - len(compared),
        }

    def _connected(self, pipeline: Pipeline) -> None:
        self._metrics.pace = lambda: pipeline.pace.state
        self._metrics.is_connected = True
        self._metrics.interrupted_by = ""
        self._asked_at = time.monotonic()

    def _interrupted(self, error: ConnectorError) -> float:
        """Note that source or Kafka are away; return the seconds until the next attempt."""
        retry = self._settings.retry
        seconds = min(retry.initial_seconds * 2.0 ** min(self._in_vain, 30), retry.max_seconds)
        self._in_vain += 1
        self._metrics.is_connected = False
        self._metrics.interrupted_by = str(error)
        _log.warning("interrupted", **fields(error), retry_in_seconds=seconds)
        return seconds

    def _turn(self, pipeline: Pipeline) -> None:
        self._metrics.turn()
        if time.monotonic() - self._asked_at > _ASK_SECONDS:
            self._asked_at = time.monotonic()
            pipeline.session.query("SELECT 1")

    def _pause(self, seconds: float) -> None:
        self._metrics.turn(seconds)
        time.sleep(seconds)
