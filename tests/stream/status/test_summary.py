"""The line of a minute: what it counts, when it comes, and that it comes whatever happens."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog
from structlog.testing import capture_logs

from connector.stream.status.model import (
    Condition,
    Level,
    PipelineStatus,
    Rates,
    State,
    TableStatus,
    Throughput,
)
from connector.stream.status.status_log import SUMMARY, Summaries, summary
from tests.stream.status.examples import COPIED, facts_with

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import Any

RATES = Rates(records=0.0, transactions=0.0, bytes=0.0)
BEFORE = facts_with(tables=(COPIED, TableStatus("shop.items", 7)))


def a_minute_later(*conditions: Condition, **more: int) -> PipelineStatus:
    """Return facts after BEFORE, with counters that have risen."""
    tables = (replace(COPIED, records=63), TableStatus("shop.items", 7), TableStatus("shop.t", 2))
    later = facts_with(*conditions, tables=tables)
    done = later.throughput
    assert done is not None
    counted = {name: getattr(done, name) + rise for name, rise in more.items()}
    return replace(later, at=BEFORE.at + 60, throughput=replace(done, **counted))


def test_a_line_counts_since_the_line_before() -> None:
    said = summary(BEFORE, a_minute_later(records=62, transactions=5, bytes=900, commits=4))
    assert said == {
        "state": "streaming",
        "reason": "everything is delivered",
        "code": None,
        "seconds": 60.0,
        "transactions": 5,
        "records": 62,
        "records_per_second": 1,
        "bytes": 900,
        "commits": 4,
        "interruptions": 0,
        "tables": "shop.orders (60), shop.t (2)",
        "lag_seconds": 1.5,
        "lag_bytes": 2000,
        "lag_transactions": 3,
        "time_to_purge_seconds": 86_400,
        "position": "binlog.000042:1187",
        "gtid_set": "3e11fa47:1-9",
    }


def test_what_is_not_known_is_none() -> None:
    away = Condition(State.SOURCE_AWAY, Level.WARNING, "the source has not answered", "S713")
    now = replace(a_minute_later(away, interruptions=2), lag=None, purge=None, position=None)
    said = summary(BEFORE, now)
    assert (said["state"], said["code"], said["interruptions"]) == ("source-away", "S713", 2)
    unknown = ("lag_seconds", "lag_bytes", "time_to_purge_seconds", "position", "gtid_set")
    assert [said[name] for name in unknown] == [None] * 5


def test_lines_come_until_the_end_and_each_counts_its_own_time() -> None:
    # Processors of structlog see each line, from any thread.
    lines: list[MutableMapping[str, Any]] = []
    several = threading.Event()

    def keep(_: object, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        lines.append(line)
        if len(lines) == 3:
            several.set()
        raise structlog.DropEvent

    asked = iter(range(1_000_000))

    def facts() -> PipelineStatus:
        records = next(asked) * 10
        return replace(BEFORE, throughput=Throughput(RATES, [], records, 0, 0, 0, 0))

    structlog.configure(processors=[keep])
    try:
        summaries = Summaries(facts, every_seconds=0.01)
        summaries.start()
        assert several.wait(20)
        summaries.close()
        count = len(lines)
    finally:
        structlog.reset_defaults()
    assert {line["event"] for line in lines} == {SUMMARY}
    assert {line["records"] for line in lines} == {10}
    assert len(lines) == count


def test_no_line_comes_before_the_minute_is_full() -> None:
    with capture_logs() as lines:
        summaries = Summaries(lambda: BEFORE, every_seconds=1e9)
        summaries.start()
        summaries.close()
    assert lines == []
