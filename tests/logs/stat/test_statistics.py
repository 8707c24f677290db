"""What is counted in the logs of real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.logs.stat.counted import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.binlog.event import Event

    DecodeFile = Callable[[str], Iterator[Event]]


def test_rows_that_cannot_be_read_are_said(decode_file: DecodeFile) -> None:
    statistics = counted(decode_file("recorded/ver_5_1_17.001"))
    refused = {name: count.refused_events for name, count in statistics.tables.items()}
    assert sum(refused.values()) > 0


def test_old_logs_have_transactions_too(decode_file: DecodeFile) -> None:
    statistics = counted(decode_file("recorded/ver_5_1_23.001"))
    # Three CREATE TABLE, three changes by rows, BEGIN … XID, and four statements with a LOAD DATA.
    assert statistics.transactions.count == 11
    assert statistics.server_versions == {"5.1.23-rc-debug-log": None}
