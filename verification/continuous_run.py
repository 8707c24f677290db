"""All tables, again and again, until the process is stopped: what `verify --forever` calls.

Nothing that happens to source, Kafka, pipeline or mirror ends it. A table that cannot be compared
now counts as not finished, and is compared again in its turn.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

import structlog

from connector.foundation import errors
from connector.foundation.settings.sections import Settings
from verification import verify_errors
from verification.baselines import Baselines
from verification.commit_times import CommitTimeCache
from verification.continuous_rounds import (
    NAMED_MAX,
    RoundPauses,
    end_round,
    names_by_age,
    report_defect,
    report_verdict,
)
from verification.metrics import VerificationMetrics
from verification.pipeline import Pipeline
from verification.replica_side import ReplicaServer
from verification.report import TableResult, key_of
from verification.rounds import Rounds
from verification.run import job_settings, table_names, what_is_compared
from verification.table_check import Limits
from verification.table_comparison import TableComparison
from verification.table_definitions import TableName

# A source closes sessions that are silent for long, and one row in many is read a second.
_ASK_SECONDS: Final = 30.0
# Both peers answer, and one table has to wait.
_LAGS: Final = (verify_errors.CONNECTOR_LAGS, verify_errors.COPY_LAGS)

_STATES: Final = (verify_errors.STATE_OTHER, verify_errors.STATE_UNUSABLE)

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
        state: Path | None = None,
        *,
        of_replica: bool,
    ) -> None:
        """Compare the tables that match, all followed ones without a pattern; fill `metrics`.

        The file `state` keeps what is known of tables over a restart. Raises ConfigError for the
        configuration of another job.
        """
        self._settings = settings
        self._job = job_settings(settings, job)
        self._server = ReplicaServer(self._job) if of_replica else None
        self._patterns = patterns
        self._limits = limits
        self._metrics = metrics
        self._state = state
        # After the first connection. A replica has no versions, so its changes are not known.
        self._baselines: Baselines | None = None
        # The server that the baselines are of, and how it is called.
        self._server_uuid = ""
        # What is left of this round.
        self._left: dict[TableName, None] = {}
        self._asked_at = 0.0
        self._pauses = RoundPauses(metrics, settings.retry)
        self._times = CommitTimeCache()

    def run(self) -> NoReturn:
        """Go round until KeyboardInterrupt. Raises ConfigError if the state cannot be used."""
        try:
            while True:
                try:
                    self._connect()
                except errors.ConnectorError as error:
                    if error.code in _STATES:
                        raise
                    self._pauses.after(error)
        finally:
            self._keep_state()

    def _connect(self) -> None:
        """Go round while large tables are compared, at least once; raises errors of connections."""
        limits = self._limits
        with Pipeline(self._settings, limits.patience_seconds, limits.rows_per_second) as pipeline:
            self._connected(pipeline)
            self._follow(pipeline)
            if self._server is None and self._baselines is None:
                self._baselines = self._opened_state(pipeline)
            comparison = TableComparison(
                pipeline,
                self._job,
                self._server,
                limits,
                lambda *_: self._turn(pipeline),
                self._baselines,
                self._times,
            )
            with Rounds(pipeline, comparison, self._baselines, report_defect) as rounds:
                self._round(pipeline, rounds)
                while rounds.is_busy:
                    self._pauses.pause(self._settings.verify.pause_seconds)
                    self._round(pipeline, rounds)
        self._pauses.pause(self._settings.verify.pause_seconds)

    def _follow(self, pipeline: Pipeline) -> None:
        """Go on at another server, if the source has failed over: all rows are compared there.

        Raises SourceUnavailable if the server lacks transactions through which a table was equal.
        """
        moments = (table.equal_through for table in self._metrics.tables.values())
        known = max(filter(None, moments), default=None)
        if known is not None:
            pipeline.require_transactions(pipeline.session, known.transactions)
        if self._server_uuid not in {"", pipeline.server_uuid}:
            _log.warning("another server is compared", source=pipeline.session.name)
            self._baselines = None
        self._server_uuid = pipeline.server_uuid

    def _opened_state(self, pipeline: Pipeline) -> Baselines:
        """Return what an earlier process knew, and let the metrics have it."""
        of = what_is_compared(pipeline, self._job, None, self._patterns)
        baselines = Baselines(self._state, of, self._settings.verify.full_every_hours)
        if baselines.elsewhere is not None:
            pipeline.require_transactions(pipeline.session, baselines.elsewhere.transactions)
            _log.warning("another server is compared", source=pipeline.session.name)
        names = table_names(pipeline, self._patterns)
        self._metrics.keep(names)
        now = pipeline.moment()
        for name in names:
            if (known := baselines.get(key_of(name))) is not None:
                self._metrics.tables[name].restore(known, now)
        return baselines

    def _round(self, pipeline: Pipeline, rounds: Rounds) -> None:
        """Compare what is left of the round, or all tables; raises the errors of connections."""
        metrics = self._metrics
        if not self._left:
            names = table_names(pipeline, self._patterns)
            metrics.keep(names)
            if self._baselines is not None:
                self._baselines.keep({key_of(name) for name in names})
            self._left = dict.fromkeys(names_by_age(metrics))
            metrics.begin_round(len(self._left))
        waits = self._baselines is None or not self._settings.verify.full_every_hours
        for name, result in rounds.round(list(self._left), waits=waits):
            self._take(name, result)
        # Large tables may be compared for longer than a round.
        self._left = {}
        self._keep_state()
        end_round(metrics)

    def _take(self, name: TableName, result: TableResult) -> None:
        """Note and report what was found in a table; raises why source or Kafka are away."""
        metrics = self._metrics
        metrics.turn()
        if name in metrics.tables:
            metrics.take(name, result, time.monotonic() - result.seconds)
        if name in self._left:
            del self._left[name]
        if self._baselines is not None:
            self._baselines.take(result)
        self._report(result)
        error = result.error
        is_away = isinstance(error, errors.SourceUnavailable | errors.SinkUnavailable)
        if error is not None and is_away and error.code not in _LAGS:
            raise error
        self._pauses.succeeded()

    def _keep_state(self) -> None:
        if self._baselines is not None:
            self._baselines.write()

    def _report(self, result: TableResult) -> None:
        differences = [(difference, False) for difference in result.differences]
        differences += [(difference, True) for difference in result.repaired]
        for difference, is_repaired in differences[:NAMED_MAX]:
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
        for interval in result.intervals[:NAMED_MAX]:
            _log.warning("interval is wrong", table=result.name, **interval.to_json())
        if result.iceberg is not None:
            found = result.to_json(with_values=False)["iceberg"]
            for row in found["differences"][:NAMED_MAX]:
                _log.warning("row differs in Iceberg", table=result.name, **row)
            for defect in found["defects"][:NAMED_MAX]:
                _log.warning("Iceberg is wrong", table=result.name, what=defect)
        report_verdict(
            result,
            is_fine=result.verdict in {"equal", "not compared"},
            differences=len(result.differences),
            intervals=len(result.intervals),
            **({"lost_columns": result.lost_columns} if result.lost_columns else {}),
            **({"borders_note": result.borders_note} if result.borders_note else {}),
            repaired=len(result.repaired),
            transaction=result.transaction,
        )

    def _connected(self, pipeline: Pipeline) -> None:
        self._metrics.pace = lambda: pipeline.pace.state
        self._pauses.connected()
        self._asked_at = time.monotonic()

    def _turn(self, pipeline: Pipeline) -> None:
        self._metrics.turn()
        if time.monotonic() - self._asked_at > _ASK_SECONDS:
            self._asked_at = time.monotonic()
            pipeline.session.query("SELECT 1")
