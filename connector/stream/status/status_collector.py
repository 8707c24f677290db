"""Collects the status of this process from its metrics, with samples of the last hour.

The pipeline's thread keeps the metrics anyway, and another thread notes samples, so the stream
does no work for the status. The log reports it, and a server shows it where one is configured. The
thread also sees when the stream rests, and then returns free memory.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from math import isinf
from typing import NamedTuple

from connector.foundation import VERSION
from connector.foundation.compiled import mode
from connector.foundation.operating_system import Background, return_free_memory
from connector.foundation.settings.sections import MetricsSettings, Settings
from connector.replication.read_pace import PaceState
from connector.replication.server.addresses import address_of, candidates
from connector.stream.metrics import pipeline_metrics
from connector.stream.progress.stream_position import Instance
from connector.stream.quarantine.fences import Fence
from connector.stream.status import model
from connector.stream.status.conditions import conditions
from connector.stream.status.status_log import RecentEvents, Summaries, state_reports

_MS = 1000
_US = 1_000_000


@dataclass(frozen=True, slots=True)
class StatusCollector:
    """Collects the facts when somebody asks."""

    settings: Settings
    instance: Instance
    metrics: pipeline_metrics.PipelineMetrics
    samples: "Samples"
    events: RecentEvents
    # What the Spark job and `verify --forever` said last; None without them.
    mirror: Callable[[], model.MirrorStatus | None]

    def facts(self) -> model.PipelineStatus:
        """Return the facts now; any thread may ask."""
        settings, metrics = self.settings, self.metrics
        lag, position, mirror = metrics.lag, metrics.position, self.mirror()
        return model.PipelineStatus(
            pipeline=settings.name,
            at=time.time(),
            conditions=conditions(metrics, settings.delivery.commit_interval_ms / _MS, mirror),
            process=model.Process(
                host=self.instance.host,
                pid=self.instance.pid,
                instance=self.instance.id,
                started_at=metrics.started_at,
                version=VERSION,
                code=mode(),
            ),
            position=None if position is None else position_of(position),
            hosts=self._hosts(position),
            lag=None if lag is None else lag_status(lag),
            purge=None if lag is None else purge_of(lag),
            throughput=self.samples.throughput(),
            tables=self._tables(),
            events=self.events.newest_first(),
            mirror=mirror,
            reading=_reading(metrics.pace()),
        )

    def _hosts(self, position: pipeline_metrics.CommittedPosition | None) -> list[model.Host]:
        metrics = self.metrics
        current = "" if position is None else position.progress.source
        refused = metrics.refused
        hosts = []
        for settings in candidates(self.settings.source):
            address = address_of(settings)
            refusal = refused.get(address)
            in_use = metrics.streaming and address == current
            if refusal is None:
                hosts.append(model.Host(address, in_use, can_continue=True if in_use else None))
            else:
                code = refusal.code.code
                hosts.append(model.Host(address, in_use, False, refusal.text, code))
        return hosts

    def _tables(self) -> list[model.TableStatus]:
        metrics = self.metrics
        counted, copies = dict(metrics.tables), metrics.copies()
        failed, fenced = metrics.failed_copies(), metrics.fenced_tables()
        cascaded, now = metrics.cascaded_tables(), time.time()
        since = {name: now - seconds for name, seconds in cascaded.items()}
        names = sorted({*counted, *copies, *failed, *fenced, *since})
        tables = [
            _table(
                name,
                counted.get(name, pipeline_metrics.TableMetrics()),
                copies.get(name),
                failed.get(name),
                fenced.get(name),
                since.get(name),
            )
            for name in names
        ]
        return by_urgency(tables)


def by_urgency(tables: list[model.TableStatus]) -> list[model.TableStatus]:
    """Return the tables that need somebody first, then those that are copied, then the busiest."""

    def rank(table: model.TableStatus) -> tuple[int, int]:
        copy = table.copy
        if table.kept_back is not None or (copy is not None and copy.phase == "failed"):
            return 0, -table.records
        return (1 if copy is not None else 2), -table.records

    return sorted(tables, key=rank)


def _reading(pace: PaceState | None) -> model.ReadPace | None:
    if pace is None or pace.why is None:
        return None if pace is None else model.ReadPace(pace.reads)
    return model.ReadPace(pace.reads, pace.why.text, pace.why.code.code)


def lag_status(lag: pipeline_metrics.Lag) -> model.LagStatus:
    """Return the lag as facts."""
    return model.LagStatus(lag.seconds, lag.bytes, lag.transactions, lag.catch_up_seconds)


def purge_of(lag: pipeline_metrics.Lag) -> model.Purge:
    """Return the time to purge, without infinite numbers."""
    seconds = None if isinf(lag.to_purge_seconds) else lag.to_purge_seconds
    return model.Purge(seconds, lag.retention_seconds or None)


def position_of(position: pipeline_metrics.CommittedPosition) -> model.Position:
    """Return the committed position."""
    progress = position.progress
    return model.Position(
        file=progress.file,
        position=progress.position,
        gtid_set=progress.gtid_set,
        epoch=progress.epoch,
        flavour=progress.flavour,
        server_uuid=progress.server_uuid,
        committed_at=progress.committed_at_ms / _MS,
        source_committed_at=position.committed_us / _US if position.committed_us else None,
    )


def _table(
    name: str,
    counted: pipeline_metrics.TableMetrics,
    copy: pipeline_metrics.SnapshotMetrics | None,
    failed: str | None,
    fenced: pipeline_metrics.FencedTable | None,
    since: float | None,
) -> model.TableStatus:
    shown: model.CopyProgress | None = None
    if copy is not None:
        waits_for = copy.waits_for
        shown = model.CopyProgress(
            "copying" if copy.estimated_rows else "waiting",
            copy.rows,
            copy.estimated_rows,
            copy.rows_per_second,
            copy.eta_seconds,
            "" if waits_for is None else str(waits_for),
            None if copy.waiting_seconds is None else time.time() - copy.waiting_seconds,
        )
    elif failed is not None:
        shown = model.CopyProgress("failed", 0, 0, error=failed)
    elif since is not None:
        shown = model.CopyProgress("waiting", 0, 0, since=since)
    return model.TableStatus(
        name,
        records=counted.records,
        bytes=counted.bytes,
        last_change=counted.latest_ms / _MS if counted.latest_ms else None,
        copy=shown,
        kept_back=fenced,
    )


_PAUSE_SECONDS = 5.0
_HOUR_SECONDS = 3600.0
# Longer than most sources pause, and than most heartbeats are apart.
_REST_SAMPLES = 4
# "Now" is the mean of at least this time.
_NOW_SECONDS = 5.0
# Samples that make a point of the curve: a screen does not show more points.
_PER_POINT = 3
_SLOT_SECONDS = _PAUSE_SECONDS * _PER_POINT
# An hour of points, the sample before them, and the rest of a point that has left the ring in part.
_SAMPLES = int(_HOUR_SECONDS / _PAUSE_SECONDS) + 1 + _PER_POINT


class Sample(NamedTuple):
    """The counters at one time."""

    at: float  # on the monotonic clock
    records: int
    transactions: int
    bytes: int
    lag: float | None  # seconds


class Samples(Background):
    """Notes the counters of `metrics` until it is closed, and calls `rest` when they stand still.

    It is called once for each time that the stream is open and delivers nothing for 20 seconds.
    """

    def __init__(
        self, metrics: pipeline_metrics.PipelineMetrics, rest: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__("status-samples")
        self._metrics = metrics
        self._rest = rest
        self._ring: deque[Sample] = deque(maxlen=_SAMPLES)
        self._equal = 0  # samples at the end of the ring
        self.note()

    def note(self) -> None:
        sample = self._sample()
        stands = (
            self._metrics.streaming and bool(self._ring) and sample.bytes == self._ring[-1].bytes
        )
        self._equal = self._equal + 1 if stands else 0
        if self._equal == _REST_SAMPLES:
            self._rest()
        self._ring.append(sample)

    def throughput(self) -> model.Throughput:
        now = self._sample()
        ring = list(self._ring)
        before = next((one for one in reversed(ring) if now.at - one.at >= _NOW_SECONDS), ring[0])
        metrics = self._metrics
        return model.Throughput(
            now=_rates(before, now),
            hour=_curve(ring, time.time() - now.at),
            records=metrics.records,
            transactions=metrics.transactions,
            bytes=metrics.bytes,
            commits=metrics.commits,
            interruptions=metrics.interruptions,
        )

    def _run(self) -> None:
        while not self._closed.wait(_PAUSE_SECONDS):
            self.note()

    def _sample(self) -> Sample:
        metrics = self._metrics
        lag = metrics.lag
        return Sample(
            time.monotonic(),
            metrics.records,
            metrics.transactions,
            metrics.bytes,
            None if lag is None else lag.seconds,
        )


def _rates(before: Sample, now: Sample) -> model.Rates:
    seconds = max(now.at - before.at, 1e-3)
    return model.Rates(
        records=(now.records - before.records) / seconds,
        transactions=(now.transactions - before.transactions) / seconds,
        bytes=(now.bytes - before.bytes) / seconds,
    )


def _curve(ring: list[Sample], clock_difference: float) -> list[model.RatePoint]:
    """Return a point for each span of time, and not for so many samples: else all would move.

    In a full ring, the first span has lost samples, and would change with each that it loses.
    """
    points: list[model.RatePoint] = []
    before = ring[0]
    lags: list[float] = []
    is_part = len(ring) == _SAMPLES
    for sample in ring:
        if sample.lag is not None:
            lags.append(sample.lag)
        if int(sample.at / _SLOT_SECONDS) == int(before.at / _SLOT_SECONDS):
            continue
        if not is_part:
            at = sample.at + clock_difference
            lag = max(lags, default=None)
            points.append(model.RatePoint(at, _rates(before, sample).records, lag))
        before, is_part = sample, False
        lags.clear()
    return points


def fenced_tables(fences: Iterable[Fence]) -> dict[str, pipeline_metrics.FencedTable]:
    """Return what is held of each table, by `database.table`; the reason is that of the oldest."""
    tables: dict[str, pipeline_metrics.FencedTable] = {}
    for fence in fences:
        whole, since = fence.key is None, fence.since_ms / _MS
        keys = 0 if whole else 1
        known = tables.get(fence.name)
        if known is None:
            tables[fence.name] = pipeline_metrics.FencedTable(
                whole, keys, fence.rows, since, fence.reason
            )
            continue
        tables[fence.name] = replace(
            known,
            whole=known.whole or whole,
            keys=known.keys + keys,
            rows=known.rows + fence.rows,
            since=min(known.since, since),
            reason=fence.reason if since < known.since else known.reason,
        )
    return tables


@contextmanager
def reporting(
    settings: Settings,
    instance: Instance,
    metrics: pipeline_metrics.PipelineMetrics,
    events: RecentEvents,
) -> Iterator[None]:
    """Report the status to the log, and serve it at `metrics.listen`, in threads.

    Raises ConfigError if the address cannot be used or the token cannot be read.
    """
    with (
        closing(Samples(metrics, return_free_memory)) as samples,
        _mirror_watch(settings.metrics) as mirror,
    ):
        live = StatusCollector(settings, instance, metrics, samples, events, mirror)
        samples.start()
        with (
            closing(Summaries(live.facts)) as summaries,
            state_reports(live.facts),
            _serving(settings, metrics, live),
        ):
            summaries.start()
            yield


# What a pipeline without them has no need for takes 3 MB: an HTTP server, a client, and
# Prometheus' formats.


@contextmanager
def _mirror_watch(
    settings: MetricsSettings,
) -> Iterator[Callable[[], model.MirrorStatus | None]]:
    if settings.mirror is None and settings.verify is None:
        yield lambda: None
        return
    from connector.stream.status.mirror_status import MirrorWatch  # noqa: PLC0415

    with closing(MirrorWatch(settings)) as watch:
        yield lambda: watch.facts


def _serving(
    settings: Settings, metrics: pipeline_metrics.PipelineMetrics, live: StatusCollector
) -> AbstractContextManager[None]:
    listen = settings.metrics.listen
    if listen is None:
        return nullcontext()
    from connector.stream.status.server import serving  # noqa: PLC0415

    return serving(settings, listen, metrics, live.facts)
