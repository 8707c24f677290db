"""What the thread that loads tables does with the result of a range."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.settings.sections import SnapshotSettings, SourceSettings
from connector.replication.read_pace import CHUNK_SECONDS
from connector.stream.snapshot.source_pace import Read
from stream_jobs.cuts.state_topics import DeliveredPosition
from stream_jobs.load import load_errors
from stream_jobs.load.loader import Loader, LoadPlan
from stream_jobs.load.range_task import RangeResult
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.tables.load_state import LoadPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.foundation.errors.message import Message

SOURCE, REPLICA = (f"{digit * 8}-71ca-11e1-9e33-c80aa9429562" for digit in "ab")
MOMENT = DeliveredPosition("mysql", f"{SOURCE}:1-7", "", PackedSequence(0, 0), server_uuid=SOURCE)


def read_range(run: Callable[[Any], RangeResult]) -> tuple[Read, dict[str, Message]]:
    """Return the read of one range that `run` reads, and why its table was put off."""
    problems: dict[str, Message] = {}

    def note(topics: list[str], problem: Message) -> None:
        problems.update(dict.fromkeys(topics, problem))

    loads: Any = SimpleNamespace(moment=lambda: MOMENT, problems={}, wanted=dict, note=note)
    settings = SnapshotSettings(pace="full")
    plan = LoadPlan([SourceSettings(host="db", server_id=1)], settings, 100)
    services: Any = SimpleNamespace()
    loader = Loader(services, loads, services, plan, run, lambda: None, lambda *_, **__: None)
    schema = SimpleNamespace(name="shop.t", database="shop", table="t")
    loading: Any = SimpleNamespace(
        wanted=SimpleNamespace(topic="topic", schema=schema),
        own=SimpleNamespace(facts=lambda *_: None),
        load=None,
    )
    read = Read(200, lambda: True)
    loader._load(loading, 0, loader._servers.first, read, ExitStack())
    return read, problems


def test_a_task_that_is_lost_owes_one_select() -> None:
    """It may have rested for most of its time."""

    def run(_: Any) -> RangeResult:
        raise RuntimeError

    read, problems = read_range(run)
    assert read.unpaid_seconds == CHUNK_SECONDS
    assert problems.keys() == {"topic"}


@pytest.mark.parametrize("server", [SOURCE, REPLICA])
def test_rows_of_a_replica_with_filters_are_not_taken(server: str) -> None:
    filters = "Replicate_Do_DB=shop"
    result = RangeResult(
        LoadPart(),
        rested_seconds=2.0,
        unpaid_seconds=0.5,
        is_changed=server == SOURCE,
        server=server,
        seen=f"{SOURCE}:1-7",
        filters=filters,
    )
    read, problems = read_range(lambda _: result)
    assert (read.own_rest_seconds, read.unpaid_seconds) == (2.0, 0.5)
    # What is read at the source itself goes on to the next check.
    code = load_errors.NO_SUCH_COLUMNS if server == SOURCE else load_errors.FILTERS
    assert problems["topic"].code is code
