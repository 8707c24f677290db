"""One reading of the log serves many tables, each from its own position on."""

from __future__ import annotations

import itertools
import threading
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog.event import Event
from connector.foundation.errors import SourceRefused
from connector.replication import dump_errors
from connector.stream.envelope.schemas.table_schema import TableSchema
from stream_jobs.errors import MirrorError
from stream_jobs.source import table_schema as mirrored
from stream_jobs.source.sequence import PackedSequence
from tests.verification.foreign.test_log_states import KEY, body, header
from verification.foreign import foreign_errors, shared_log
from verification.foreign.column_mapping import ColumnMapping, ColumnNames
from verification.foreign.log_states import LogStates
from verification.foreign.logged_rows import LoggedRows
from verification.foreign.row_states import UNKNOWN
from verification.foreign.shared_log import SharedLog, TableReading, read_log

if TYPE_CHECKING:
    from collections.abc import Iterator


def reading(table: str, position: str) -> TableReading:
    """What a table wants to know of one key."""
    compared = mirrored.TableSchema("shop", table, "", PackedSequence(0, 0), ())
    mapping = ColumnMapping(compared, [], ColumnNames())
    rows = LoggedRows(TableSchema("shop", table, "", (), ()), mapping)
    states = LogStates(("shop", table), rows, frozenset({KEY}), ignores_case=False)
    return TableReading(states, position)


def events(*statements: str) -> Iterator[Event]:
    """Transactions of one statement each, from position 1000 on."""
    for position, text in zip(itertools.count(1000, 100), statements, strict=False):
        own = body(text)
        yield Event("binlog.000001", position, position + 100, header(own), own, b"")


def changes(own: TableReading) -> list[str]:
    """The places of the changes of the key."""
    assert isinstance(own.states, LogStates)
    own.states.complete()
    states = own.states.of_keys.get(KEY)
    return [] if states is None else [change.place for change in states.changes[1:] if change]


def test_each_table_has_what_follows_its_position() -> None:
    early, late = reading("a", "binlog.000001:4"), reading("a", "binlog.000001:1100")
    other, later = reading("b", "binlog.000001:1000"), reading("a", "binlog.000002:4")
    log = events("TRUNCATE a", "TRUNCATE b", "TRUNCATE a")
    read_log(log, 9_000_000, [early, late, other, later], ignores_case=False)
    assert changes(early) == ["binlog.000001:1000", "binlog.000001:1200"]
    assert changes(late) == ["binlog.000001:1200"]
    assert changes(other) == ["binlog.000001:1100"]
    assert changes(later) == []
    assert isinstance(early.states, LogStates)
    assert early.states.of_keys[KEY].values == [UNKNOWN, None, None]


def test_files_have_the_order_of_their_numbers() -> None:
    own = reading("a", "binlog.1000000:4")
    read_log(events("TRUNCATE a"), 9_000_000, [own], ignores_case=False)
    assert changes(own) == []


def test_what_one_table_cannot_read_keeps_no_other_from_reading() -> None:
    altered, other = reading("a", "binlog.000001:4"), reading("b", "binlog.000001:4")
    log = events("TRUNCATE a", "ALTER TABLE a ADD x INT", "TRUNCATE a", "TRUNCATE b")
    read_log(log, 9_000_000, [altered, other], ignores_case=False)
    assert isinstance(altered.failure, MirrorError)
    assert altered.failure.code == foreign_errors.TABLE_CHANGED
    assert other.failure is None
    assert changes(other) == ["binlog.000001:1300"]


def test_tables_that_ask_while_the_log_is_read_share_the_next_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, may_end = threading.Event(), threading.Event()
    starts = []

    class Log:
        name, position = "binlog.000001", 1200

        def events(self) -> Iterator[Event]:
            begun.set()
            assert may_end.wait(20)
            return events("TRUNCATE a", "TRUNCATE b")

    @contextmanager
    def opened(_: object, position: str) -> Iterator[Log]:
        starts.append(position)
        yield Log()

    monkeypatch.setattr(shared_log, "opened_log", opened)
    server: Any = SimpleNamespace(time_us=lambda: 9_000_000, ignores_case=False)
    log = SharedLog(server, 60)
    first = reading("a", "binlog.000001:4")
    others = [reading("ab"[n % 2], f"binlog.000001:{1100 - n}") for n in range(10)]
    threads = [threading.Thread(target=log.read, args=(own,)) for own in [first, *others]]
    threads[0].start()
    assert begun.wait(20)
    for thread in threads[1:]:
        thread.start()
    while len(log._looks._next.questions) < len(others):
        pass
    may_end.set()
    for thread in threads:
        thread.join(20)
    assert starts == ["binlog.000001:4", "binlog.000001:1091"]
    assert changes(first) == ["binlog.000001:1000"]
    assert [changes(own) for own in others] == [[], ["binlog.000001:1100"]] * 5
    # The next reading of each begins where this one has ended.
    assert {own.position for own in [first, *others]} == {"binlog.000001:1200"}


def test_a_table_that_cannot_read_raises_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def opened(_: object, __: str) -> Iterator[object]:
        yield SimpleNamespace(events=lambda: events("DROP TABLE a"), name="b.000001", position=9)

    monkeypatch.setattr(shared_log, "opened_log", opened)
    server: Any = SimpleNamespace(time_us=lambda: 9_000_000, ignores_case=False)
    log = SharedLog(server, 60)
    with pytest.raises(MirrorError):
        log.read(reading("a", "binlog.000001:4"))
    log.read(reading("b", "binlog.000001:4"))


class _Files:
    """A log whose first file was purged; another one cannot be read."""

    name, position = "binlog.000002", 1100

    @contextmanager
    def opened(self, _: object, position: str) -> Iterator[Any]:
        file = position.partition(":")[0]
        if file == "binlog.000001":
            raise SourceRefused(
                dump_errors.BEFORE_LOGS,
                server="db",
                time="long ago",
                file="binlog.000002",
                begins="now",
            )
        if file == "binlog.000000":
            raise ValueError(file)
        yield self

    def events(self) -> Iterator[Event]:
        return events("TRUNCATE a")


def test_what_was_purged_for_one_table_is_read_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_log, "opened_log", _Files().opened)
    server: Any = SimpleNamespace(time_us=lambda: 9_000_000, ignores_case=False)
    log = SharedLog(server, 60)
    purged, also, own = (
        reading("a", position)
        for position in ("binlog.000001:4", "binlog.000001:9", "binlog.000002:4")
    )
    older = reading("a", "binlog.000000:4")
    older.file = "binlog.000000"
    log.read_all([own, purged, older, also])
    assert isinstance(purged.failure, SourceRefused)
    assert isinstance(also.failure, SourceRefused)
    assert isinstance(older.failure, ValueError)
    assert (own.failure, own.position) == (None, "binlog.000002:1100")
