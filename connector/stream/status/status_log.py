"""The status in the log, and the last lines of the log in the status.

*A summary* a minute says what was done since the last one, and how the stream is. It is written
when the minute of the clock is full. So the lines of several pipelines stand beside each other, and
what happened at 03:12 lies between two of them.

*A report* for each SIGUSR1 says the state, for a process whose page nobody can reach.

*Recent events* are the lines that the page shows. Every fact that a person may ask for afterwards
has a log line: connect, failover, DDL, fence, retry, copy. So nothing else has to record it.
"""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import structlog

from connector.foundation.formatting import abbreviated, amount, busiest_tables
from connector.foundation.operating_system import Background
from connector.stream.status.model import PipelineStatus, ProcessEvent, TableStatus

SUMMARY = "summary"
_MINUTE_SECONDS = 60.0


class Summaries(Background):
    """Writes the line from a thread, so that there is one while the stream is stuck, too."""

    def __init__(
        self, facts: Callable[[], PipelineStatus], every_seconds: float = _MINUTE_SECONDS
    ) -> None:
        super().__init__("summaries")
        self._facts = facts
        self._every_seconds = every_seconds
        self._before = facts()

    def _run(self) -> None:
        due = self._full(time.time()) + self._every_seconds
        while not self._closed.wait(due - time.time()):
            now = self._facts()
            structlog.get_logger().info(SUMMARY, **summary(self._before, now))
            self._before = now
            due = max(due, self._full(time.time())) + self._every_seconds

    def _full(self, at: float) -> float:
        """Return when the last minute before `at` was full."""
        return at // self._every_seconds * self._every_seconds


def summary(before: PipelineStatus, now: PipelineStatus) -> dict[str, object]:
    """Return the fields of the line; what is not known is None."""
    state, lag, position, purge = now.state, now.lag, now.position, now.purge
    seconds = max(now.at - before.at, 1e-3)
    then, done = before.throughput, now.throughput
    assert then is not None  # both are facts of this process
    assert done is not None
    records = done.records - then.records
    return {
        "state": state.state.value,
        "reason": state.reason,
        "code": state.code,
        "seconds": round(seconds, 1),
        "transactions": done.transactions - then.transactions,
        "records": records,
        "records_per_second": round(records / seconds),
        "bytes": done.bytes - then.bytes,
        "commits": done.commits - then.commits,
        "interruptions": done.interruptions - then.interruptions,
        "tables": busiest_tables(_counted(before, now)),
        "lag_seconds": None if lag is None else round(lag.seconds, 1),
        "lag_bytes": None if lag is None else lag.bytes,
        "lag_transactions": None if lag is None else lag.transactions,
        "time_to_purge_seconds": None
        if purge is None or purge.seconds is None
        else round(purge.seconds),
        "position": None if position is None else f"{position.file}:{position.position}",
        "gtid_set": None if position is None else abbreviated(position.gtid_set),
    }


def _counted(before: PipelineStatus, now: PipelineStatus) -> dict[str, int]:
    """Return the records of each table since `before`."""
    earlier = {table.name: table.records for table in before.tables}
    counts = {table.name: table.records - earlier.get(table.name, 0) for table in now.tables}
    return {name: count for name, count in counts.items() if count}


REPORT = "state"
_TABLES_MAX = 20
_ASKED, _ENDED = b"r", b"e"


@contextmanager
def state_reports(facts: Callable[[], PipelineStatus]) -> Iterator[None]:
    """Write a report for each SIGUSR1; only the main thread can ask for that.

    A signal handler may interrupt the main thread while it holds a lock of the log. So the handler
    only writes into a pipe, from which a thread reads.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked, ask = os.pipe()
    os.set_blocking(ask, False)

    def write() -> None:
        while os.read(asked, 1) == _ASKED:
            structlog.get_logger().info(REPORT, **report(facts()))

    def wake(*_: object) -> None:
        # A full pipe means that reports are due anyway.
        with suppress(BlockingIOError):
            os.write(ask, _ASKED)

    thread = threading.Thread(target=write, name="state-report", daemon=True)
    thread.start()
    before = signal.signal(signal.SIGUSR1, wake)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)
        os.set_blocking(ask, True)
        os.write(ask, _ENDED)
        thread.join()
        os.close(asked)
        os.close(ask)


def report(facts: PipelineStatus) -> dict[str, object]:
    """Return the fields of the line: what is known, in the words of the page."""
    state, position, lag, purge = facts.state, facts.position, facts.lag, facts.purge
    done = facts.throughput
    summary: dict[str, object] = {
        "state": state.state.value,
        "reason": state.reason,
        "code": state.code,
        "also": [one.state.value for one in facts.conditions[1:]],
    }
    if position is not None:
        summary |= {
            "position": f"{position.file}:{position.position}",
            "gtid_set": position.gtid_set,
            "epoch": position.epoch,
            "last_commit_seconds_ago": _ago(facts, position.committed_at),
        }
    if lag is not None:
        summary |= {
            "lag_seconds": round(lag.seconds, 1),
            "lag_bytes": lag.bytes,
            "lag_transactions": lag.transactions,
        }
    if purge is not None:
        summary["time_to_purge_seconds"] = (
            purge.seconds if purge.seconds is None else round(purge.seconds)
        )
    if done is not None:
        summary |= {
            "records_per_second": round(done.now.records, 1),
            "records": done.records,
            "transactions": done.transactions,
            "interruptions": done.interruptions,
        }
    summary["servers"] = [
        f"{host.address}: {'in use' if host.in_use else host.note or 'not in use'}"
        for host in facts.hosts
    ]
    summary["tables"] = [_table(table) for table in facts.tables[:_TABLES_MAX]]
    summary["more_tables"] = max(0, len(facts.tables) - _TABLES_MAX) or None
    return summary


def _ago(facts: PipelineStatus, at: float | None) -> float | None:
    return None if at is None else round(max(0.0, facts.at - at), 1)


def _table(table: TableStatus) -> str:
    parts = [f"{table.name}: {amount(table.records, 'record')}"]
    copy, held = table.copy, table.kept_back
    if copy is not None:
        parts.append(
            f"copy {copy.phase}, {copy.rows} of about {copy.estimated_rows} rows"
            if not copy.error
            else f"copy {copy.phase}: {copy.error}"
        )
    if held is not None:
        parts.append(f"{amount(held.rows, 'change')} in quarantine: {held.reason}")
    return ", ".join(parts)


_KEPT = 100
_CHARACTERS_MAX = 2000
# Lines that say what the page shows anyway.
_PERIODIC = frozenset({"copying", REPORT, SUMMARY})
_LEVELS = frozenset({"info", "warning", "error"})
# Fields that are members of `ProcessEvent`, or only for machines.
_OWN_FIELDS = frozenset({"event", "level", "timestamp", "code"})


class RecentEvents:
    """Keeps the last hundred lines; any thread may add one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: deque[ProcessEvent] = deque(maxlen=_KEPT)

    def keep(
        self, logger: object, method: str, entry: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """Keep a line of the log, and pass it on: a processor of structlog."""
        del logger, method
        if entry["event"] not in _PERIODIC and entry["level"] in _LEVELS:
            event = _process_event(entry)
            with self._lock:
                last = self._kept[-1] if self._kept else None
                if last is not None and _kind(last) == _kind(event):
                    # A retry every second must not push out everything else.
                    times = last.times + 1
                    self._kept[-1] = replace(event, at=last.at, times=times, last_at=event.at)
                else:
                    self._kept.append(event)
        return entry

    def newest_first(self) -> list[ProcessEvent]:
        with self._lock:
            return list(reversed(self._kept))


def _process_event(entry: MutableMapping[str, Any]) -> ProcessEvent:
    return ProcessEvent(
        at=time.time(),
        level=entry["level"],
        what=str(entry["event"])[:_CHARACTERS_MAX],
        details={
            name: str(value)[:_CHARACTERS_MAX]
            for name, value in entry.items()
            if name not in _OWN_FIELDS and value is not None
        },
        code=entry.get("code"),
    )


def _kind(event: ProcessEvent) -> tuple[str, str | None, str | None]:
    return event.what, event.code, event.details.get("table")
