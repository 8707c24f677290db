"""What is passed over by headers and table ids is nothing that a selection of tables shows."""

from __future__ import annotations

import gzip
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.files.byte_source import LONG_STEP_LENGTH, FileOptions
from connector.binlog.files.file_log import FileLog
from connector.binlog.log_errors import EventError, LogTruncated
from connector.binlog.table_filter import TableFilter
from connector.logs.selection import Selection, SelectionOptions
from tests.binlog.log_bytes import event, format_description
from tests.golden.every_log import every_log

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from connector.binlog.event import Event
    from tests.golden.golden import GoldenLog

BEGIN = bytes(8) + b"\0\0\0\0\0" + b"\0BEGIN"
GTID = b"\0" + bytes(range(16)) + (7).to_bytes(8, "little")


def read(path: Path, tables: TableFilter | None) -> Iterator[Event]:
    with closing(FileLog(path, FileOptions(tables=tables))) as file:
        while (each := file.next_event()) is not None:
            yield each


def selected(events: Iterable[Event], tables: TableFilter) -> list[int]:
    selection = Selection(SelectionOptions(tables=tables))
    return [shown.position for each in events for shown in selection.select(each)]


@every_log
def test_the_selection_of_each_table_stays_the_same(log: GoldenLog) -> None:
    # One reading serves the selection of each table.
    events = list(read(log.path, None))
    bodies = [each.body for each in events]
    names = {f"{body.schema}.{body.table}" for body in bodies if isinstance(body, TableMapEvent)}
    for name in [*sorted(names)[:5], "no.table"]:
        tables = TableFilter([name])
        assert selected(read(log.path, tables), tables) == selected(events, tables)


def written(path: Path, *groups: bytes) -> Path:
    path.write_bytes(b"\xfebin" + format_description() + event(35, bytes(8)) + b"".join(groups))
    return path


def group(table: bytes, rows_table: int = 9) -> bytes:
    name = bytes([len(table)]) + table + b"\0"
    table_map = (9).to_bytes(6, "little") + b"\1\0\4shop\0" + name + b"\1\3\0\0"
    rows = rows_table.to_bytes(6, "little") + b"\1\0\2\0\1\xff\0" + bytes(4)
    parts = ((33, GTID), (2, BEGIN), (19, table_map), (30, rows), (16, bytes(8)))
    return b"".join(event(type_code, body) for type_code, body in parts)


def types_read(path: Path) -> list[int]:
    return [each.header.type_code for each in read(path, TableFilter(["shop.orders"]))]


def test_whole_groups_of_other_tables_are_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / "log", group(b"a"), group(b"orders"), group(b"b"), group(b"c"))
    # The first group is read together with what describes the file.
    assert types_read(path)[-5:] == [33, 2, 19, 30, 16]
    assert len(types_read(path)) == 7


def test_groups_that_the_received_bytes_cut_are_not_read(tmp_path: Path) -> None:
    others = group(b"a") * 10_000
    assert len(others) > 2 * LONG_STEP_LENGTH
    path = written(tmp_path / "log", group(b"a"), others, group(b"orders"))
    assert types_read(path)[-5:] == [33, 2, 19, 30, 16]
    # Those of the first group, and of one in each second block.
    assert len(types_read(path)) < 7 + 5 * (1 + len(others) // LONG_STEP_LENGTH)


def test_cut_groups_are_decoded_where_reading_again_is_not_cheap(tmp_path: Path) -> None:
    path = written(tmp_path / "log", group(b"a") * 10_000, group(b"orders"))
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    read_whole = types_read(path)
    for_all = FileOptions(tables=TableFilter(["shop.orders"]))
    with gzip.open(packed) as opened:
        for source in (packed, opened):
            with closing(FileLog(source, for_all)) as file:
                found = [each.type_code for each in iter(file.next_event, None)]
            assert len(found) > len(read_whole)
            assert found[-5:] == read_whole[-5:]


def test_a_damaged_group_after_a_cut_one_is_named(tmp_path: Path) -> None:
    first, others = group(b"a"), group(b"a") * 10_000
    damaged = bytearray(others)
    at = len(others) - len(first) // 2
    damaged[at] ^= 1
    path = written(tmp_path / "log", first, bytes(damaged), group(b"orders"))
    start = path.stat().st_size - len(group(b"orders")) - len(first)
    with pytest.raises(EventError) as failed:
        types_read(path)
    assert start <= failed.value.position < start + len(first)


def test_a_log_that_ends_inside_of_another_group_is_truncated(tmp_path: Path) -> None:
    others = group(b"a") * 10_000
    path = written(tmp_path / "log", group(b"a"), others[:-1])
    with pytest.raises(LogTruncated) as failed:
        types_read(path)
    assert failed.value.position == path.stat().st_size + 1 - len(event(16, bytes(8)))


def test_rows_without_their_table_map_stay_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "log", group(b"a"), group(b"a", rows_table=8))
    with pytest.raises(EventError):
        types_read(path)


def test_a_damaged_group_stays_an_error(tmp_path: Path) -> None:
    data = group(b"a") + group(b"b")
    for at in (30, 60, 100, len(data) - 3):
        damaged = bytearray(data)
        damaged[at] ^= 1
        with pytest.raises((EventError, LogTruncated)):
            types_read(written(tmp_path / "log", bytes(damaged)))


def test_an_open_transaction_is_read_to_its_end(tmp_path: Path) -> None:
    """A group after one that did not end is decoded, because it may show an error."""
    cut = group(b"a")[: -len(event(16, bytes(8)))]
    path = written(tmp_path / "log", group(b"a"), cut, group(b"b"), group(b"c"))
    assert types_read(path)[2:] == [33, 2, 19, 30, 33, 2, 19, 30, 16]
