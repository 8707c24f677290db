"""Rows that wait come back as they were, from memory and from the file, whatever they are."""

from __future__ import annotations

import resource
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import ConnectorError, TransientError
from connector.foundation.operating_system import TemporaryFolder
from connector.stream.changes.receiver import ChangeReceiver
from connector.stream.changes.row_buffer import RowBuffer
from connector.stream.changes.transaction import RowsChange, SourceTransaction
from connector.stream.changes.xa_transactions import PreparedGroup, PreparedGroups
from tests.golden.golden import GoldenLog, logs
from tests.stream.changes.received import changes_of

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = TemporaryFolder()
OTHER = SourceTransaction("other.000009", 4, None, 0, 1)
# Events of all kinds: plain, compressed, in payloads, in fragments, partial images.
KEPT = [
    log
    for log in logs()
    if any(
        word in log.name for word in ("compression", "partial_json", "row_images", "large", "types")
    )
]
LOG = next(log for log in KEPT if log.name == "mysql-8.0.31/row_images.full.000001")


class Received(ChangeReceiver):
    def __init__(self) -> None:
        self.changes: list[RowsChange] = []

    def rows(self, change: RowsChange) -> None:
        self.changes.append(change)


def rows_of(log: GoldenLog) -> list[RowsChange]:
    try:
        changes = changes_of(log.events(), TableFilter(["*.*"]))
    except ConnectorError:
        return []
    return [change for change in changes if isinstance(change, RowsChange)]


def facts(change: RowsChange) -> object:
    event, rows = change.event, change.rows
    header = event.header
    try:
        values: object = [(row.before, row.after) for row in rows.rows()]
    except ConnectorError as error:
        values = str(error)
    return (
        change.event_number,
        (event.file, event.position, event.next_position, event.number, event.checksummed),
        (event.name, event.data, header.server_id, header.timestamp, header.type_code),
        (rows.kind, rows.table_map, rows.flags, rows.partial),
        (rows.before_columns_present, rows.after_columns_present, rows.file, rows.position),
        event.table_map is rows.table_map or event.table_map is None,
        values,
    )


@pytest.mark.parametrize("memory", [0, 1000, 1 << 30])
@pytest.mark.parametrize("log", KEPT, ids=lambda log: log.name)
def test_what_was_held_comes_back(log: GoldenLog, memory: int) -> None:
    changes = rows_of(log)
    expected = [facts(change) for change in changes]
    held, received = RowBuffer(FOLDER, memory), Received()
    for change in changes:
        held.add(change)
    held.hand_on(OTHER, received)
    assert [facts(change) for change in received.changes] == expected
    assert all(change.transaction is OTHER for change in received.changes)
    assert held.is_empty


def test_the_logs_hold_events_of_every_kind() -> None:
    kinds: Counter[str] = Counter()
    for log in KEPT:
        for change in rows_of(log):
            rows = change.rows
            inside = rows.images().data is change.event.data
            kinds["inside" if inside else "apart"] += 1
            kinds["payload"] += change.event.number > 0
            kinds["partial"] += rows.partial
    assert min(kinds[kind] for kind in ("inside", "apart", "payload", "partial")) > 0


@pytest.mark.parametrize("memory", [0, 400, 1 << 30])
def test_rows_after_a_savepoint_are_dropped_from_memory_and_file(memory: int) -> None:
    changes = rows_of(LOG)[:8]
    assert len(changes) == 8
    held, received = RowBuffer(FOLDER, memory), Received()
    for number, change in enumerate(changes):
        if number in (2, 4):
            held.set_savepoint(f"s{number}")
        held.add(change)
        if number == 5:
            assert held.roll_back_to("S4")
    assert held.roll_back_to("s4")
    held.add(changes[7])
    held.hand_on(OTHER, received)
    numbers = [changes.index(change) for change in changes[:4]] + [7]
    assert [c.event.position for c in received.changes] == [
        changes[number].event.position for number in numbers
    ]
    assert not held.roll_back_to("s2")


@pytest.mark.parametrize("memory", [0, 400, 1 << 30])
def test_what_has_left_memory_comes_back(memory: int) -> None:
    changes = rows_of(LOG)
    expected = [facts(change) for change in changes]
    held, received = RowBuffer(FOLDER, memory), Received()
    for change in changes[:-1]:
        held.add(change)
    held.leave_memory()
    assert held.memory_bytes == 0
    held.add(changes[-1])
    held.hand_on(OTHER, received)
    assert [facts(change) for change in received.changes] == expected


def test_the_rows_of_many_prepared_transactions_do_not_fill_the_memory() -> None:
    changes = rows_of(LOG)[:4]
    groups = PreparedGroups([], memory_bytes_max=1000)
    prepared = []
    for number in range(100):
        held = RowBuffer(FOLDER)
        for change in changes:
            held.add(change)
        prepared.append(PreparedGroup(str(number), held, []))
        groups.add(prepared[-1])
        assert sum(group.rows.memory_bytes for group in prepared if group.rows) <= 1000
        if number % 3 == 0:
            prepared.pop(0)
            taken = groups.take(str(number // 3))
            assert taken is not None
            assert taken.rows is not None
            received = Received()
            taken.rows.hand_on(OTHER, received)
            assert [facts(change) for change in received.changes] == [
                facts(change) for change in changes
            ]
    groups.close()
    assert all(group.rows is not None and group.rows.is_empty for group in prepared)


def add_many(held: RowBuffer, change: RowsChange) -> None:
    for _ in range(10_000):
        held.add(change)


def test_no_room_for_the_file_is_an_error_that_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(TransientError) as caught:
        RowBuffer(FOLDER, 0).add(rows_of(LOG)[0])
    assert caught.value.text == (
        f"{tmp_path}/missing: rows of an open transaction cannot be kept: No such file or "
        "directory; make room there, or let TMPDIR name another folder"
    )


def test_rows_for_which_there_was_no_room_are_dropped_without_another_error() -> None:
    change = rows_of(LOG)[0]
    held = RowBuffer(FOLDER, 0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # As a full disk, which is told late: what is written goes to the file in pieces.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(TransientError) as caught:
            add_many(held, change)
        held.drop()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "rows of an open transaction cannot be kept: File too large; make room" in str(
        caught.value
    )
    assert held.is_empty
