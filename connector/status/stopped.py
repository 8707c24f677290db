"""The facts of a pipeline whose process cannot be asked: from Kafka's records and from its servers.

Nothing is created, written or fenced, so the pipeline may be running after all.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from connector.errors import SourceRefused, SourceUnavailable
from connector.metrics.figures import CommittedPosition
from connector.metrics.lag import lag_of, read_source_log
from connector.quarantine.core.fences import recovered_fences
from connector.sink.kafka_sink import topics_at_start
from connector.sink.recovery import recover
from connector.sink.topics import TopicCreator
from connector.snapshot.recovered_copies import copy_states
from connector.source.choice import check_server
from connector.source.server.hosts import address_of, candidates
from connector.source.server.mysql_server import MysqlServer
from connector.status.conditions import held_back, mirroring, purging
from connector.status.facts import (
    Condition,
    CopyProgress,
    Facts,
    Host,
    Level,
    Process,
    State,
    TableFacts,
)
from connector.status.fenced_tables import fenced_tables
from connector.status.live import by_urgency, lag_facts, position_of, purge_of
from connector.status.mirror import ask_mirror
from connector.status.words import duration, when

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.metrics.figures import FencedFigures, Lag
    from connector.progress.progress_record import Progress
    from connector.settings.sections import Settings
    from connector.snapshot.table_state import TableState
    from connector.status.asked import NoAnswer

_US_PER_MS = 1000
_MS = 1000


def facts_of_records(settings: Settings, no_answer: NoAnswer) -> Facts:
    """Return what Kafka and the servers say of the pipeline; `no_answer` says why they are asked.

    Raises TransientError or DefiniteError if Kafka cannot be read.
    """
    topics = topics_at_start(settings.kafka)
    missing = TopicCreator(settings.kafka).missing(*topics)
    recovered = recover(settings.kafka, settings.name, missing=missing, to_the_last=False)
    progress = recovered.progress
    copies = copy_states(settings, recovered.snapshots)
    fences = recovered_fences(settings.kafka.topic_prefix, settings.name, recovered.fences)
    fenced = fenced_tables(fences)
    hosts, lag = ([], None) if progress is None else _servers(settings, progress)
    now = time.time()
    standing = None if progress is None else _standing(progress)
    failed = [state.table for state in copies if state.phase == "failed"]
    mirror = ask_mirror(settings.metrics)
    return Facts(
        pipeline=settings.name,
        at=now,
        conditions=[
            _end(no_answer, progress, now),
            *_next(hosts),
            *(() if lag is None else purging(lag)),
            *held_back(len(fences), list(fenced), failed),
            *(() if mirror is None else mirroring(mirror)),
        ],
        process=None if progress is None else _process(progress),
        position=None if standing is None else position_of(standing),
        hosts=hosts,
        lag=None if lag is None else lag_facts(lag),
        purge=None if lag is None else purge_of(lag),
        throughput=None,
        tables=_tables(copies, fenced),
        events=[],
        mirror=mirror,
    )


def _end(no_answer: NoAnswer, progress: Progress | None, now: float) -> Condition:
    if progress is None:
        said = "Kafka has no progress of this pipeline: it has never run"
    else:
        at = progress.committed_at_ms / _MS
        said = (
            f"the last commit was {duration(max(0.0, now - at))} ago, at {when(at)} UTC, and ended "
            f"at {progress.file}:{progress.position}"
        )
    return Condition(no_answer.state, Level.CRITICAL, f"{no_answer.reason}; {said}")


def _next(hosts: list[Host]) -> Iterable[Condition]:
    """Yield what keeps the next start from going on."""
    if not hosts or any(host.can_continue for host in hosts):
        return
    for host in hosts:
        if host.can_continue is None:
            yield Condition(State.SOURCE_AWAY, Level.WARNING, host.note, host.code)
            return
    yield Condition(State.CANNOT_CONTINUE, Level.CRITICAL, hosts[0].note, hosts[0].code)


def _servers(settings: Settings, progress: Progress) -> tuple[list[Host], Lag | None]:
    """Return whether each server has what follows, and the lag to the one that was read."""
    hosts: list[Host] = []
    lag: Lag | None = None
    for source in candidates(settings.source, progress.source):
        address = address_of(source)
        try:
            found = check_server(source, progress)
            with MysqlServer.connect(found.settings) as server:
                log = read_source_log(server)
        except SourceUnavailable as error:
            hosts.append(Host(address, False, None, error.text, error.code.code))
        except SourceRefused as error:
            hosts.append(Host(address, False, False, error.text, error.code.code))
        else:
            hosts.append(Host(address, in_use=False, can_continue=True))
            if lag is None:
                lag = lag_of(log, _standing(progress), 0.0, 0.0)
    return hosts, lag


def _standing(progress: Progress) -> CommittedPosition:
    # Kafka's commit came a moment after the source's, which the record does not have.
    return CommittedPosition(progress, progress.committed_at_ms * _US_PER_MS)


def _process(progress: Progress) -> Process:
    return Process(progress.host, progress.pid, progress.instance)


def _tables(copies: list[TableState], fenced: dict[str, FencedFigures]) -> list[TableFacts]:
    shown = {
        state.name: CopyProgress(
            state.phase,
            state.rows,
            max(state.rows, state.estimated_rows),
            error=state.error,
        )
        for state in copies
        if state.under_way or state.phase == "failed"
    }
    names = sorted({*shown, *fenced})
    return by_urgency(
        [TableFacts(name, copy=shown.get(name), kept_back=fenced.get(name)) for name in names]
    )
