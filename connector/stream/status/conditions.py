"""The current conditions of a running pipeline; the first one is its state."""

from collections.abc import Iterator, Sequence

from connector.foundation.formatting import amount, duration, listed, when
from connector.foundation.metrics import turning
from connector.stream.metrics.pipeline_metrics import Lag, PipelineMetrics
from connector.stream.status.model import Condition, Level, MirrorStatus, State

# A stream that keeps up is milliseconds late, and a look at the source's log takes seconds.
LAGGING_SECONDS = 10.0
# A mirror has batches of seconds.
_MIRROR_LAGGING_SECONDS = 60.0


def conditions(
    metrics: PipelineMetrics, commit_interval_seconds: float, mirror: MirrorStatus | None = None
) -> list[Condition]:
    """Return what is true now, the most urgent first; there is at least one condition.

    A stream that commits only every `commit_interval_seconds` is allowed to be so late.
    """
    conditions = [*_process(metrics), *_peers(metrics), *_stream(metrics)]
    lag = metrics.lag
    if lag is not None:
        conditions += purge_conditions(lag)
    fenced, failed = metrics.fenced_tables(), metrics.failed_copies()
    conditions += quarantine_conditions(metrics.fences(), list(fenced), list(failed))
    if mirror is not None:
        conditions += mirror_conditions(mirror)
    if metrics.streaming:
        conditions += _progress(metrics, lag, LAGGING_SECONDS + commit_interval_seconds)
    return conditions


def purge_conditions(lag: Lag) -> Iterator[Condition]:
    """Yield the warning that the source will soon drop what was not read."""
    seconds = lag.to_purge_seconds
    if lag.is_purged_soon:
        yield Condition(
            State.PURGE_SOON,
            Level.CRITICAL,
            "the source may drop log files that were not read"
            + (f" in {duration(seconds)}" if seconds else " now"),
        )


def _process(metrics: PipelineMetrics) -> Iterator[Condition]:
    well, reason = turning(metrics.turned_at, metrics.turn_seconds_max)
    if not well:
        yield Condition(State.STUCK, Level.CRITICAL, reason.partition(": ")[2])


def _peers(metrics: PipelineMetrics) -> Iterator[Condition]:
    for peer, state in ((metrics.kafka, State.KAFKA_AWAY), (metrics.source, State.SOURCE_AWAY)):
        if not peer.lost:
            continue
        error = peer.error
        why = "" if error is None else f": {error.text}"
        reason = f"{peer.name} has not answered for {duration(peer.away_seconds)}{why}"
        yield Condition(state, Level.WARNING, reason, None if error is None else error.code.code)


def _stream(metrics: PipelineMetrics) -> Iterator[Condition]:
    error = metrics.interrupted_by
    if metrics.control.paused:
        yield Condition(
            State.PAUSED,
            Level.WARNING,
            "somebody asked for it on the status page; nothing is delivered until it is resumed "
            "there or the process is started again",
        )
        return
    if metrics.streaming:
        return
    if error is not None:
        yield Condition(State.INTERRUPTED, Level.WARNING, error.text, error.code.code)
    else:
        yield Condition(State.STARTING, Level.WARNING, "the stream is not open yet")


def quarantine_conditions(
    fences: int, tables: Sequence[str], failed: Sequence[str]
) -> Iterator[Condition]:
    """Yield what of `tables` is not in Kafka: by `fences`, and by copies that have `failed`."""
    if fences:
        yield Condition(
            State.QUARANTINE,
            Level.CRITICAL,
            f"changes of {listed(sorted(tables))} are held back, by {amount(fences, 'fence')}; "
            "`binlog-connector quarantine list` shows them",
        )
    if failed:
        copies = "copy" if len(failed) == 1 else "copies"
        yield Condition(
            State.COPY_FAILED,
            Level.CRITICAL,
            f"the {copies} of {listed(sorted(failed))} failed; "
            "`binlog-connector snapshot` copies a table again, or dismisses the failure",
        )


def mirror_conditions(mirror: MirrorStatus) -> Iterator[Condition]:
    """Yield what is wrong with the mirrors."""
    yield from _job(mirror)
    differing = [table.name for table in mirror.tables if table.differences]
    if differing:
        yield Condition(
            State.MIRROR_DIFFERS,
            Level.CRITICAL,
            f"{listed(differing)} differed from the source in the last comparison",
        )
    if mirror.set_aside:
        names = [f"{table.name} [{table.set_aside}]" for table in mirror.tables if table.set_aside]
        tables = listed(names) or amount(mirror.set_aside, "table")
        yield Condition(
            State.MIRROR_SET_ASIDE,
            Level.CRITICAL,
            f"the Spark job cannot go on with {tables}; `binlog-connector-mirror status` says why",
        )
    if mirror.verify_note:
        reason = f"the comparison at {mirror.verify_address}: {mirror.verify_note}"
        yield Condition(State.MIRROR_AWAY, Level.WARNING, reason)
    late = [table for table in mirror.tables if (table.lag_seconds or 0) > _MIRROR_LAGGING_SECONDS]
    if late:
        latest = sorted(late, key=lambda table: -(table.lag_seconds or 0.0))
        yield Condition(
            State.MIRROR_LAGGING,
            Level.WARNING,
            f"{amount(len(late), 'mirror')} behind Kafka by up to "
            f"{duration(latest[0].lag_seconds or 0.0)}: {listed([table.name for table in latest])}",
        )


def _job(mirror: MirrorStatus) -> Iterator[Condition]:
    """Yield why the Spark job does not run."""
    failure = mirror.job_failure
    if mirror.job_runs or not mirror.job_note:
        return
    if failure is None:
        reason = f"the Spark job at {mirror.job_address}: {mirror.job_note}"
        yield Condition(State.MIRROR_AWAY, Level.WARNING, reason)
        return
    yield Condition(
        State.MIRROR_FAILED,
        Level.CRITICAL,
        f"the Spark job at {mirror.job_address} failed at {when(failure.at)} UTC: {failure.error}",
        failure.code,
    )


def _progress(
    metrics: PipelineMetrics, lag: Lag | None, lagging_seconds: float
) -> Iterator[Condition]:
    if lag is not None and lag.seconds > lagging_seconds:
        left = "" if lag.transactions is None else f", {amount(lag.transactions, 'transaction')}"
        yield Condition(
            State.LAGGING, Level.WARNING, f"the stream is {duration(lag.seconds)} late{left}"
        )
    copies = metrics.copies()
    waiting = {name: copy for name, copy in copies.items() if copy.waits_for is not None}
    for name, copy in sorted(waiting.items()):
        assert copy.waits_for is not None
        yield Condition(
            State.COPYING,
            Level.WARNING,
            f"the copy of {name} has waited for {duration(copy.waiting_seconds or 0.0)}: "
            f"{copy.waits_for.text}",
            copy.waits_for.code.code,
        )
    if copies:
        yield Condition(
            State.COPYING,
            Level.GOOD,
            f"{amount(len(copies), 'table')} being copied; the stream goes on meanwhile",
        )
    cascaded = metrics.cascaded_tables()
    if cascaded:
        first = max(cascaded, key=lambda name: cascaded[name])
        yield Condition(
            State.COPYING,
            Level.GOOD,
            f"rows of {amount(len(cascaded), 'table')} that foreign keys have changed wait for "
            f"their copy, those of {first} for {duration(cascaded[first])}",
        )
    if lag is None:
        reason = "the stream is open; the lag is not known yet"
    elif lag.seconds:
        reason = f"the stream is open, and {duration(lag.seconds)} late"
    else:
        reason = "everything that the source has committed is delivered"
    yield Condition(State.STREAMING, Level.GOOD, reason)
