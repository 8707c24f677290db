"""The status of a pipeline for another process: over HTTP, or else from Kafka and the servers.

A running process is asked over `metrics.listen`. If it does not answer, Kafka's records and the
source's servers say how the pipeline is. Nothing is created, written or fenced, so the pipeline
may be running after all.
"""

import time
from collections.abc import Iterable
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple

from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.formatting import duration, when
from connector.foundation.settings.sections import Settings
from connector.replication.server.addresses import address_of, candidates
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.metrics.pipeline_metrics import CommittedPosition, FencedTable, Lag
from connector.stream.metrics.source_watch import lag_of, read_source_log
from connector.stream.progress.progress_record import Progress
from connector.stream.quarantine.fences import decode_fences
from connector.stream.sink.recovery import recover
from connector.stream.sink.topics import TopicCreator, topics_at_start
from connector.stream.snapshot.copy_recovery import copy_states
from connector.stream.snapshot.table_state import TableState
from connector.stream.source.server_selection import check_server
from connector.stream.status import conditions, model, status_collector
from connector.stream.status.mirror_status import fetch_mirror_status
from connector.stream.status.model import Condition, Level, State
from connector.stream.status.server import STATUS_PATH

_ANSWER_SECONDS = 5.0
# A process that listens at all addresses is asked at that of this machine.
_ANY = {"0.0.0.0": "127.0.0.1", "[::]": "::1", "": "127.0.0.1"}  # noqa: S104  # it is only asked


class NoAnswer(NamedTuple):
    """Why the process could not be asked, and what that says of it."""

    state: State
    reason: str


def fetch_status(settings: Settings) -> model.PipelineStatus | NoAnswer:
    """Return the facts of the process of `settings`, or why there are none."""
    listen = settings.metrics.listen
    if listen is None:
        return NoAnswer(
            State.UNKNOWN, "metrics.listen is not set, so nobody can ask whether a process runs"
        )
    host, _, port = listen.rpartition(":")
    connection = HTTPConnection(
        _ANY.get(host, host.strip("[]")), int(port), timeout=_ANSWER_SECONDS
    )
    try:
        connection.request("GET", STATUS_PATH)
        facts = model.from_json(connection.getresponse().read())
    except ConnectionRefusedError:
        return NoAnswer(State.STOPPED, f"no process answers at {listen}")
    except (OSError, HTTPException) as error:
        return NoAnswer(State.UNKNOWN, f"{listen} does not answer: {error}")
    except ValueError:
        return NoAnswer(
            State.UNKNOWN, f"another program answers at {listen}, or another version of this one"
        )
    finally:
        connection.close()
    if facts.pipeline != settings.name:
        return NoAnswer(State.STOPPED, f"pipeline {facts.pipeline} answers at {listen}")
    return facts


_US_PER_MS = 1000
_MS = 1000


def status_from_records(settings: Settings, no_answer: NoAnswer) -> model.PipelineStatus:
    """Return what Kafka and the servers say of the pipeline; `no_answer` says why they are asked.

    Raises TransientError or DefiniteError if Kafka cannot be read.
    """
    topics = topics_at_start(settings.kafka)
    missing = TopicCreator(settings.kafka).missing(*topics)
    recovered = recover(settings.kafka, settings.name, missing=missing, to_the_last=False)
    progress = recovered.progress
    copies = copy_states(settings, recovered.snapshots)
    fences = decode_fences(settings.kafka.topic_prefix, settings.name, recovered.fences)
    fenced = status_collector.fenced_tables(fences)
    hosts, lag = ([], None) if progress is None else _servers(settings, progress)
    now = time.time()
    position = None if progress is None else _committed_position(progress)
    failed = [state.table for state in copies if state.phase == "failed"]
    mirror = fetch_mirror_status(settings.metrics)
    return model.PipelineStatus(
        pipeline=settings.name,
        at=now,
        conditions=[
            _end(no_answer, progress, now),
            *_next(hosts),
            *(() if lag is None else conditions.purge_conditions(lag)),
            *conditions.quarantine_conditions(len(fences), list(fenced), failed),
            *(() if mirror is None else conditions.mirror_conditions(mirror)),
        ],
        process=None
        if progress is None
        else model.Process(progress.host, progress.pid, progress.instance),
        position=None if position is None else status_collector.position_of(position),
        hosts=hosts,
        lag=None if lag is None else status_collector.lag_status(lag),
        purge=None if lag is None else status_collector.purge_of(lag),
        throughput=None,
        tables=_tables(copies, fenced),
        events=[],
        mirror=mirror,
    )


def _end(no_answer: NoAnswer, progress: Progress | None, now: float) -> Condition:
    if progress is None:
        last_commit = "Kafka has no progress of this pipeline: it has never run"
    else:
        at = progress.committed_at_ms / _MS
        last_commit = (
            f"the last commit was {duration(max(0.0, now - at))} ago, at {when(at)} UTC, and ended "
            f"at {progress.file}:{progress.position}"
        )
    return Condition(no_answer.state, Level.CRITICAL, f"{no_answer.reason}; {last_commit}")


def _next(hosts: list[model.Host]) -> Iterable[Condition]:
    """Yield what keeps the next start from going on."""
    if not hosts or any(host.can_continue for host in hosts):
        return
    for host in hosts:
        if host.can_continue is None:
            yield Condition(State.SOURCE_AWAY, Level.WARNING, host.note, host.code)
            return
    yield Condition(State.CANNOT_CONTINUE, Level.CRITICAL, hosts[0].note, hosts[0].code)


def _servers(settings: Settings, progress: Progress) -> tuple[list[model.Host], Lag | None]:
    """Return whether each server has what follows, and the lag to the one that was read."""
    hosts: list[model.Host] = []
    lag: Lag | None = None
    for source in candidates(settings.source, progress.source):
        address = address_of(source)
        try:
            server_source = check_server(source, progress)
            with MysqlServer.connect(server_source.settings) as server:
                log = read_source_log(server)
        except SourceUnavailable as error:
            hosts.append(model.Host(address, False, None, error.text, error.code.code))
        except SourceRefused as error:
            hosts.append(model.Host(address, False, False, error.text, error.code.code))
        else:
            hosts.append(model.Host(address, in_use=False, can_continue=True))
            if lag is None:
                lag = lag_of(log, _committed_position(progress), 0.0, 0.0)
    return hosts, lag


def _committed_position(progress: Progress) -> CommittedPosition:
    # A stream that has delivered nothing has no time of the source: the claim of its last run is
    # the best that is known.
    committed_us = progress.source_time_us or progress.committed_at_ms * _US_PER_MS
    return CommittedPosition(progress, committed_us)


def _tables(copies: list[TableState], fenced: dict[str, FencedTable]) -> list[model.TableStatus]:
    shown = {
        state.name: model.CopyProgress(
            state.phase, state.rows, max(state.rows, state.estimated_rows), error=state.error
        )
        for state in copies
        if state.under_way or state.phase == "failed"
    }
    names = sorted({*shown, *fenced})
    return status_collector.by_urgency(
        [
            model.TableStatus(name, copy=shown.get(name), kept_back=fenced.get(name))
            for name in names
        ]
    )
