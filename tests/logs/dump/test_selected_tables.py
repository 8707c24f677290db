"""Groups that are written whole, by headers and table ids, are what the selection would write."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import pytest

from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.table_filter import TableFilter
from connector.logs.dump import Format
from connector.logs.dump.dump import Dump, DumpOptions
from connector.logs.inputs import ReadingOptions, file_inputs
from connector.logs.output import LineOutput
from connector.logs.recovery import Gap
from connector.logs.selection import SelectionOptions
from tests.binlog.log_bytes import event, format_description
from tests.golden.every_log import every_log

if TYPE_CHECKING:
    from pathlib import Path

    from tests.golden.golden import GoldenLog

BEGIN = bytes(8) + b"\0\0\0\0\0" + b"\0BEGIN"
GTID = b"\0" + bytes(range(16)) + (7).to_bytes(8, "little")
TABLES = {b"orders": 9, b"orderz": 10, b"people": 11}
XID = (16, bytes(8))


def refuse(gap: Gap) -> None:
    raise gap.error


def written(path: Path, written_as: Format, tables: TableFilter, *, whole: bool) -> bytes:
    """Return what a dump writes; not `whole`: if the selection sees each event."""
    selection = SelectionOptions(tables=tables)
    file = BytesIO()
    dump = Dump(DumpOptions(written_as, selection), LineOutput(file), refuse)
    read = file_inputs([str(path)], ReadingOptions(tables=tables if whole else None))
    dump.run(log if whole else log._replace(open=None) for log in read)
    return file.getvalue()


@pytest.mark.parametrize("written_as", [Format.EVENTS, Format.JSON])
@every_log
def test_the_lines_of_each_table_are_those_of_the_selection(
    log: GoldenLog, written_as: Format
) -> None:
    [opened] = file_inputs([str(log.path)], ReadingOptions())
    bodies = [each.body for each in opened.events() if not isinstance(each, Gap)]
    names = {f"{body.schema}.{body.table}" for body in bodies if isinstance(body, TableMapEvent)}
    for chosen in (sorted(names)[:1], sorted(names)[::2], ["*.*"]):
        if chosen:
            tables = TableFilter(chosen)
            expected = written(log.path, written_as, tables, whole=False)
            assert written(log.path, written_as, tables, whole=True) == expected


def table_map(table: bytes) -> tuple[int, bytes]:
    name = bytes([len(table)]) + table + b"\0"
    return 19, TABLES[table].to_bytes(6, "little") + b"\1\0\4shop\0" + name + b"\1\3\0\0"


def rows(table: bytes, *, ends_statement: bool = True) -> tuple[int, bytes]:
    flags = bytes([ends_statement]) + b"\0"
    return 30, TABLES[table].to_bytes(6, "little") + flags + b"\2\0\1\xff\0" + bytes(4)


ORDERS, ORDERZ, PEOPLE = table_map(b"orders"), table_map(b"orderz"), table_map(b"people")
QUERY_TEXT = (29, b"\0INSERT")


@pytest.mark.parametrize(
    "events",
    [
        [],
        [ORDERS],
        [ORDERS, rows(b"orders")],
        [QUERY_TEXT, ORDERS, rows(b"orders")],
        [ORDERS, rows(b"orders"), ORDERZ],
        [ORDERS, rows(b"orders"), QUERY_TEXT],
        [ORDERS, ORDERZ, rows(b"orders", ends_statement=False), rows(b"orderz")],
        [ORDERS, ORDERZ, rows(b"orderz")],
        [ORDERS, rows(b"orders"), QUERY_TEXT, ORDERZ, rows(b"orderz")],
        [ORDERS, PEOPLE, rows(b"orders", ends_statement=False), rows(b"people")],
        [ORDERS, rows(b"orders"), PEOPLE, rows(b"people")],
        [PEOPLE, rows(b"people"), ORDERS, rows(b"orders")],
        [PEOPLE, rows(b"people")],
    ],
    ids=str,
)
def test_each_form_of_a_group_is_written_as_the_selection_does(
    tmp_path: Path, events: list[tuple[int, bytes]]
) -> None:
    group = b"".join(event(*each) for each in [(33, GTID), (2, BEGIN), *events, XID])
    other = b"".join(
        event(*each) for each in [(33, GTID), (2, BEGIN), PEOPLE, rows(b"people"), XID]
    )
    path = tmp_path / "log"
    # The first groups are read together with what describes the file.
    start = b"\xfebin" + format_description() + event(35, bytes(8))
    path.write_bytes(start + group + other + group + group + other)
    tables = TableFilter(["shop.order?"])
    expected = written(path, Format.EVENTS, tables, whole=False)
    assert written(path, Format.EVENTS, tables, whole=True) == expected
