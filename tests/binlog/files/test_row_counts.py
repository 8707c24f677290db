"""Rows are counted as they are read, with no look at their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.header import EventType
from connector.binlog.log_errors import EventError
from connector.reader import open_binlog
from tests.binlog.files.log_files import LogFile, image, rows_head
from tests.golden.every_log import every_log

if TYPE_CHECKING:
    from tests.golden.golden import GoldenLog


@every_log
def test_as_many_rows_are_counted_as_are_read(log: GoldenLog) -> None:
    with open_binlog(log.path) as reader:
        for transaction in reader.transactions():
            for _, rows in transaction.rows_events():
                assert rows.count() == len(list(rows.rows()))


def test_a_row_without_bytes_counts() -> None:
    log = LogFile()
    log.query("BEGIN")
    log.table_map()
    log.add(EventType.WRITE_ROWS_EVENT, rows_head(after=b"\0"))
    with open_binlog(log.data) as reader:
        ((_, rows),) = next(reader.transactions()).rows_events()
    assert rows.count() == 1


def test_a_row_that_is_cut_off_is_an_error() -> None:
    log = LogFile()
    log.query("BEGIN")
    log.table_map()
    position = log.add(EventType.WRITE_ROWS_EVENT, rows_head(after=b"\3") + image(1, "abc")[:-1])
    with open_binlog(log.data, name="binlog.000007") as reader:
        ((_, rows),) = next(reader.transactions()).rows_events()
    with pytest.raises(EventError) as raised:
        rows.count()
    assert raised.value.position == position
    assert raised.value.reason.text.startswith(
        "table db.t, column name (VARCHAR): need 3 bytes at "
    )


def test_bytes_without_columns_are_an_error() -> None:
    log = LogFile()
    log.query("BEGIN")
    log.table_map()
    log.add(EventType.WRITE_ROWS_EVENT, rows_head(after=b"\0") + b"\0")
    with open_binlog(log.data) as reader:
        ((_, rows),) = next(reader.transactions()).rows_events()
    with pytest.raises(EventError) as raised:
        rows.count()
    assert raised.value.reason.text == "table db.t, 1 bytes of rows, but no column is present"
