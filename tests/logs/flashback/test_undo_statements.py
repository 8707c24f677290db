"""Rows become the same statements from their bytes as from their values."""

from __future__ import annotations

import re

import pytest

from connector.binlog.columns.column import Column, ColumnType
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import ExtraRowInfo, RowsKind
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.log_errors import EventError
from connector.binlog.transactions.transaction_bounds import rows_event_of
from connector.foundation.errors import UnsupportedChange
from connector.logs.flashback.reverse_spool import ReverseSpool
from connector.logs.flashback.undo_statements import TableUndo
from tests.golden.every_log import every_log
from tests.golden.golden import GoldenLog, with_inner_events
from tests.logs.flashback.undone import reversed_lines
from tests.logs.flashback.value_statements import ValueUndo

UTF8MB4 = 255


def written(spool: ReverseSpool) -> list[str]:
    """Return the records in their order."""
    return reversed_lines(spool).decode().split("\n")[-2::-1]


@every_log
def test_bytes_and_values_give_the_same_statements(log: GoldenLog) -> None:
    for event in with_inner_events(log.events()):
        rows = rows_event_of(event.body)
        if rows is None or rows.is_dummy:
            continue
        if any(column.name is None for column in rows.table_map.columns):
            continue
        undo = TableUndo(rows.table_map, frozenset())
        with ReverseSpool() as spool:
            expected, error = by_values(rows)
            if error is not None:
                with pytest.raises(type(error), match=re.escape(error.text)):
                    undo.put(rows, spool)
            else:
                undo.put(rows, spool)
                assert written(spool) == expected


def by_values(rows: RowsEvent) -> tuple[list[str], EventError | UnsupportedChange | None]:
    """Return the lines, and the error that ends them."""
    lines: list[str] = []
    try:
        for statement in ValueUndo(rows).statements(rows):
            lines.extend(statement.split("\n"))
    except (EventError, UnsupportedChange) as error:
        return lines, error
    return lines, None


def table(*columns: Column) -> TableMapEvent:
    return TableMapEvent(7, 1, "s", "t", list(columns))


def event(table_map: TableMapEvent, kind: RowsKind, data: bytes) -> RowsEvent:
    both = bytes([(1 << len(table_map.columns)) - 1])
    before = None if kind is RowsKind.INSERT else both
    after = None if kind is RowsKind.DELETE else both
    return RowsEvent(
        kind, table_map, 0, ExtraRowInfo(), before, after, "f.1", 4, "ROWS", data, 0, len(data)
    )


ID = Column(ColumnType.LONG, 0, False, name="id", primary_key=1)
TEXT = Column(ColumnType.VARCHAR, 40, True, name="a`b", collation=UTF8MB4)
ROW = b"\x00\x05\x00\x00\x00\x02\xc3\xa9"


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        (RowsKind.INSERT, ROW, "DELETE FROM `s`.`t` WHERE `id` = 5 LIMIT 1;"),
        (RowsKind.DELETE, ROW, "INSERT INTO `s`.`t` (`id`, `a``b`) VALUES (5, 'é');"),
        (
            RowsKind.UPDATE,
            b"\x02\x06\x00\x00\x00" + ROW,
            "UPDATE `s`.`t` SET `id` = 6, `a``b` = NULL WHERE `id` = 5 LIMIT 1;",
        ),
        (
            RowsKind.DELETE,
            b"\x00\x05\x00\x00\x00\x03a'\xff",
            "INSERT INTO `s`.`t` (`id`, `a``b`) VALUES (5, _utf8mb4 X'6127ff');",
        ),
        (
            RowsKind.DELETE,
            b"\x00\x05\x00\x00\x00\x08\t\\'\x00\n\r\x1a\x7f",
            "INSERT INTO `s`.`t` (`id`, `a``b`) VALUES (5, '\t\\\\\\'\\0\\n\\r\\Z\x7f');",
        ),
    ],
)
def test_rows_become_statements(kind: RowsKind, data: bytes, expected: str) -> None:
    rows = event(table(ID, TEXT), kind, data)
    undo = TableUndo(rows.table_map, frozenset())
    with ReverseSpool() as spool:
        undo.put(rows, spool)
        assert written(spool) == [expected]


def test_nothing_is_added_of_an_event_whose_last_row_is_cut_off() -> None:
    rows = event(table(ID, TEXT), RowsKind.INSERT, ROW + ROW[:-1])
    with ReverseSpool() as spool:
        spool.append(b"before")
        with pytest.raises(EventError, match=r"f\.1:4"):
            TableUndo(rows.table_map, frozenset()).put(rows, spool)


def test_a_key_can_have_another_order_than_the_columns() -> None:
    first = Column(ColumnType.LONG, 0, False, name="b", primary_key=2)
    second = Column(ColumnType.LONG, 0, False, name="a", primary_key=1)
    rows = event(table(first, second), RowsKind.INSERT, b"\0\1\0\0\0\2\0\0\0")
    undo = TableUndo(rows.table_map, frozenset())
    with ReverseSpool() as spool:
        undo.put(rows, spool)
        assert written(spool) == ["DELETE FROM `s`.`t` WHERE `a` = 2 AND `b` = 1 LIMIT 1;"]
