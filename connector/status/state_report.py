"""SIGUSR1 writes a line about the state to the log: for a process whose page nobody can reach."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import structlog

from connector.status.words import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.status.facts import Facts, TableFacts

REPORT = "state"
_TABLES_MAX = 20
_ASKED, _ENDED = b"r", b"e"


@contextmanager
def reporting(facts: Callable[[], Facts]) -> Iterator[None]:
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


def report(facts: Facts) -> dict[str, object]:
    """Return the fields of the line: what is known, in the words of the page."""
    state, position, lag, purge = facts.state, facts.position, facts.lag, facts.purge
    done = facts.throughput
    found: dict[str, object] = {
        "state": state.state.value,
        "reason": state.reason,
        "code": state.code,
        "also": [one.state.value for one in facts.conditions[1:]],
    }
    if position is not None:
        found |= {
            "position": f"{position.file}:{position.position}",
            "gtid_set": position.gtid_set,
            "epoch": position.epoch,
            "last_commit_seconds_ago": _ago(facts, position.committed_at),
        }
    if lag is not None:
        found |= {
            "lag_seconds": round(lag.seconds, 1),
            "lag_bytes": lag.bytes,
            "lag_transactions": lag.transactions,
        }
    if purge is not None:
        found["time_to_purge_seconds"] = (
            purge.seconds if purge.seconds is None else round(purge.seconds)
        )
    if done is not None:
        found |= {
            "records_per_second": round(done.now.records, 1),
            "records": done.records,
            "transactions": done.transactions,
            "interruptions": done.interruptions,
        }
    found["servers"] = [
        f"{host.address}: {'in use' if host.in_use else host.note or 'not in use'}"
        for host in facts.hosts
    ]
    found["tables"] = [_table(table) for table in facts.tables[:_TABLES_MAX]]
    found["more_tables"] = max(0, len(facts.tables) - _TABLES_MAX) or None
    return found


def _ago(facts: Facts, at: float | None) -> float | None:
    return None if at is None else round(max(0.0, facts.at - at), 1)


def _table(table: TableFacts) -> str:
    said = [f"{table.name}: {amount(table.records, 'record')}"]
    copy, held = table.copy, table.kept_back
    if copy is not None:
        said.append(
            f"copy {copy.phase}, {copy.rows} of about {copy.estimated_rows} rows"
            if not copy.error
            else f"copy {copy.phase}: {copy.error}"
        )
    if held is not None:
        said.append(f"{amount(held.rows, 'change')} in quarantine: {held.reason}")
    return ", ".join(said)
