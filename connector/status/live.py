"""The facts of this process: from its figures, which the pipeline's thread keeps anyway."""

from __future__ import annotations

import time
from math import isinf
from typing import TYPE_CHECKING

from connector.compiled import mode
from connector.contract.version import VERSION
from connector.source.server.hosts import address_of, candidates
from connector.status.conditions import conditions
from connector.status.facts import (
    CopyProgress,
    Facts,
    Host,
    LagFacts,
    Position,
    Process,
    Purge,
    TableFacts,
)

if TYPE_CHECKING:
    from connector.metrics.figures import (
        CommittedPosition,
        CopyFigures,
        FencedFigures,
        Figures,
        Lag,
        TableFigures,
    )
    from connector.progress.stream_position import Instance
    from connector.settings.sections import Settings
    from connector.status.mirror import MirrorWatch
    from connector.status.recent_events import RecentEvents
    from connector.status.samples import Samples

_MS = 1000
_US = 1_000_000


class LiveFacts:
    """Collects the facts when somebody asks."""

    def __init__(
        self,
        settings: Settings,
        instance: Instance,
        figures: Figures,
        samples: Samples,
        events: RecentEvents,
        mirror: MirrorWatch,
    ) -> None:
        """Read `figures`, `samples`, `events` and `mirror`."""
        self._settings = settings
        self._instance = instance
        self._figures = figures
        self._samples = samples
        self._events = events
        self._mirror = mirror

    def facts(self) -> Facts:
        """Return the facts now; any thread may ask."""
        settings, figures = self._settings, self._figures
        lag, standing, mirror = figures.lag, figures.standing, self._mirror.facts
        return Facts(
            pipeline=settings.name,
            at=time.time(),
            conditions=conditions(figures, settings.delivery.commit_interval_ms / _MS, mirror),
            process=Process(
                host=self._instance.host,
                pid=self._instance.pid,
                instance=self._instance.id,
                started_at=figures.started_at,
                version=VERSION,
                code=mode(),
            ),
            position=None if standing is None else position_of(standing),
            hosts=self._hosts(standing),
            lag=None if lag is None else lag_facts(lag),
            purge=None if lag is None else purge_of(lag),
            throughput=self._samples.throughput(),
            tables=self._tables(),
            events=self._events.newest_first(),
            mirror=mirror,
        )

    def _hosts(self, standing: CommittedPosition | None) -> list[Host]:
        figures = self._figures
        current = "" if standing is None else standing.progress.source
        refused = figures.refused
        hosts = []
        for settings in candidates(self._settings.source):
            address = address_of(settings)
            refusal = refused.get(address)
            in_use = figures.streaming and address == current
            if refusal is None:
                hosts.append(Host(address, in_use, can_continue=True if in_use else None))
            else:
                code = refusal.code.code
                hosts.append(Host(address, in_use, False, refusal.text, code))
        return hosts

    def _tables(self) -> list[TableFacts]:
        figures = self._figures
        counted, copies = dict(figures.tables), figures.copies()
        failed, fenced = figures.failed_copies(), figures.fenced_tables()
        cascaded, now = figures.cascaded_tables(), time.time()
        since = {name: now - seconds for name, seconds in cascaded.items()}
        names = sorted({*counted, *copies, *failed, *fenced, *since})
        tables = [
            _table(
                name,
                counted.get(name),
                copies.get(name),
                failed.get(name),
                fenced.get(name),
                since.get(name),
            )
            for name in names
        ]
        return by_urgency(tables)


def by_urgency(tables: list[TableFacts]) -> list[TableFacts]:
    """Return the tables that need somebody first, then those that are copied, then the busiest."""

    def rank(table: TableFacts) -> tuple[int, int]:
        copy = table.copy
        if table.kept_back is not None or (copy is not None and copy.phase == "failed"):
            return 0, -table.records
        return (1 if copy is not None else 2), -table.records

    return sorted(tables, key=rank)


def lag_facts(lag: Lag) -> LagFacts:
    """Return the lag as facts."""
    return LagFacts(lag.seconds, lag.bytes, lag.transactions, lag.catch_up_seconds)


def purge_of(lag: Lag) -> Purge:
    """Return the time to purge, without infinite numbers."""
    seconds = None if isinf(lag.to_purge_seconds) else lag.to_purge_seconds
    return Purge(seconds, lag.retention_seconds or None)


def position_of(standing: CommittedPosition) -> Position:
    """Return the committed position."""
    progress = standing.progress
    return Position(
        file=progress.file,
        position=progress.position,
        gtid_set=progress.gtid_set,
        epoch=progress.epoch,
        flavour=progress.flavour,
        server_uuid=progress.server_uuid,
        committed_at=progress.committed_at_ms / _MS,
        source_committed_at=standing.committed_us / _US if standing.committed_us else None,
    )


def _table(
    name: str,
    counted: TableFigures | None,
    copy: CopyFigures | None,
    failed: str | None,
    fenced: FencedFigures | None,
    since: float | None,
) -> TableFacts:
    shown: CopyProgress | None = None
    if copy is not None:
        waits_for = copy.waits_for
        shown = CopyProgress(
            "copying" if copy.estimated_rows else "waiting",
            copy.rows,
            copy.estimated_rows,
            copy.rows_per_second,
            copy.eta_seconds,
            "" if waits_for is None else str(waits_for),
            None if copy.waiting_seconds is None else time.time() - copy.waiting_seconds,
        )
    elif failed is not None:
        shown = CopyProgress("failed", 0, 0, error=failed)
    elif since is not None:
        shown = CopyProgress("waiting", 0, 0, since=since)
    if counted is None:
        return TableFacts(name, copy=shown, kept_back=fenced)
    return TableFacts(
        name,
        records=counted.records,
        bytes=counted.bytes,
        last_change=counted.latest_ms / _MS if counted.latest_ms else None,
        copy=shown,
        kept_back=fenced,
    )
