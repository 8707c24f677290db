"""Rows that are written from their bytes, compared with the way by values, which is the oracle."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from librt.strings import BytesWriter

from connector.binlog.columns.column import Column
from connector.binlog.columns.column import ColumnType as T
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import ExtraRowInfo, RowsKind
from connector.binlog.events.table_map import TableMapEvent
from connector.foundation.errors import ConnectorError, UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.key_windows import TableWindows
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.row_writer import RowWriter
from connector.stream.envelope.schemas.column_rules import (
    HASH,
    MASK,
    TRUNCATE,
    ColumnPattern,
    ColumnRule,
    ColumnRules,
)
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.envelope.table_registry import PublishedTable
from tests.golden.every_log import every_log
from tests.golden.golden import GoldenLog, with_inner_events
from tests.length import length
from tests.stream.envelope.value_rows import ValueImages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.stream.envelope.row_images import RowImages

# The images of a row with their keys, or an error.
Written = list[tuple[bytes, bytes | None]] | str

UTF8MB4 = 255
LATIN1 = 8
OPTIONS = EnvelopeOptions("p", "mysql", "1")
SJIS = 13
UCS2 = 35
BINARY = 63

# Behind their length, with characters that JSON escapes, and that Python and the server differ in.
DOCUMENTS = [
    "",
    "0001000c000b00010005010061",  # {"a": 1}
    "0c03612278",  # "a\"x"
    "0b9a9999999999b93f",  # 0.1
    "0bf06d9b6ed2d9b843",  # a double with an exponent
    "0ff620421e85f5e0ff" + 6 * "3b9ac9ff" + "03e7",  # a DECIMAL(66,30)
    "0405",  # no literal
]


@dataclass(frozen=True)
class Cells:
    """A column, and bytes that are cells of it, or nearly."""

    column: Column
    cells: st.SearchStrategy[bytes]


def fixed(type_code: int, length: int, metadata: int = 0, *, unsigned: bool = False) -> Cells:
    column = Column(type_code, metadata, nullable=True, name="c", unsigned=unsigned)
    return Cells(column, st.binary(min_size=length, max_size=length))


def stored(type_code: int, metadata: int, prefix: int, collation: int | None = None) -> Cells:
    """Return a column of bytes behind their length."""
    column = Column(type_code, metadata, nullable=True, name="c", collation=collation)
    contents = st.binary(max_size=40) | st.text(max_size=40).map(str.encode)
    return Cells(column, contents.map(lambda data: behind_length(data, prefix)))


def behind_length(data: bytes, prefix: int) -> bytes:
    return len(data).to_bytes(prefix, "little") + data


def labelled(type_code: int, length: int, labels: list[str] | None) -> Cells:
    column = Column(type_code, length << 8 | type_code, nullable=True, name="c", labels=labels)
    number = st.integers(0, 9).map(lambda number: number.to_bytes(length, "little"))
    return Cells(column, number)


LABELS = ["a", 'b"\\', "", "é\n"]

ALL = [
    *(
        fixed(type_code, length, unsigned=unsigned)
        for type_code, length in (
            (T.TINY, 1), (T.SHORT, 2), (T.INT24, 3), (T.LONG, 4), (T.LONGLONG, 8),
        )
        for unsigned in (False, True)
    ),
    fixed(T.YEAR, 1),
    fixed(T.FLOAT, 4, 4),
    fixed(T.DOUBLE, 8, 8),
    fixed(T.NEWDECIMAL, 5, 10 | 2 << 8),
    fixed(T.NEWDECIMAL, 29, 65 | 30 << 8),
    fixed(T.DATE, 3),
    fixed(T.TIMESTAMP2, 4),
    fixed(T.TIMESTAMP2, 6, 3),
    fixed(T.DATETIME2, 5),
    fixed(T.DATETIME2, 8, 6),
    fixed(T.TIME2, 3),
    fixed(T.TIME2, 4, 1),
    fixed(T.TIMESTAMP, 4),
    fixed(T.DATETIME, 8),
    fixed(T.TIME, 3),
    fixed(T.BIT, 1, 1),
    fixed(T.BIT, 2, 1 << 8 | 1),
    fixed(T.BIT, 8, 8 << 8),
    *(stored(T.VARCHAR, 50, 1, collation) for collation in (LATIN1, SJIS, UCS2, None)),
    *(
        stored(type_code, metadata, prefix, collation)
        for type_code, metadata, prefix in (
            (T.STRING, 50 << 8 | T.STRING, 1), (T.VARCHAR, 50, 1), (T.VARCHAR, 300, 2),
            (T.BLOB, 1, 1), (T.BLOB, 2, 2), (T.BLOB, 3, 3), (T.BLOB, 4, 4),
            (T.VARCHAR_COMPRESSED, 50, 1), (T.BLOB_COMPRESSED, 2, 2),
        )
        for collation in (UTF8MB4, BINARY)
    ),
    *(labelled(T.ENUM, length, LABELS) for length in (1, 2)),
    labelled(T.ENUM, 1, None),
    *(labelled(T.SET, length, LABELS) for length in (1, 8)),
    labelled(T.SET, 1, None),
    stored(T.GEOMETRY, 4, 4),
    stored(T.VECTOR, 4, 4),
    stored(T.JSON, 4, 4),
    Cells(
        Column(T.JSON, 4, nullable=True, name="c"),
        st.sampled_from(DOCUMENTS).map(lambda data: behind_length(bytes.fromhex(data), 4)),
    ),
    stored(T.TYPED_ARRAY, 3, 4),
]  # fmt: skip


def rows_event(columns: list[Column], data: bytes, kind: RowsKind = RowsKind.INSERT) -> RowsEvent:
    named = [replace(column, name=f'c"{index}') for index, column in enumerate(columns)]
    present = (2 ** len(columns) - 1).to_bytes((len(columns) + 7) // 8, "little")
    return RowsEvent(
        kind,
        TableMapEvent(1, 0, "shop", "t", named),
        1,
        ExtraRowInfo(),
        None if kind is RowsKind.INSERT else present,
        None if kind is RowsKind.DELETE else present,
        "binlog.000001",
        300,
        "WRITE_ROWS_EVENT",
        data,
        0,
        len(data),
    )


def by_bytes(rows: RowsEvent, schema: TableSchema) -> RowImages:
    return PublishedTable(rows.table_map, schema, "topic", TableWindows(), OPTIONS).images(rows)


def by_values(rows: RowsEvent, schema: TableSchema) -> ValueImages:
    return ValueImages(rows, schema)


def written(rows: RowsEvent, images: RowImages | ValueImages) -> Iterator[Written]:
    """Yield the images of each row, with their keys; at the end the error, where there is one."""
    try:
        while images.next_row():
            yield [image(images) for _ in range(2 if rows.kind is RowsKind.UPDATE else 1)]
    except ConnectorError as error:
        yield f"{type(error).__name__}: {error}"


def image(images: RowImages | ValueImages) -> tuple[bytes, bytes | None]:
    out = BytesWriter()
    out.write(b"before")
    images.put(out)
    return out.getvalue().removeprefix(b"before"), images.key(out)


def compare(
    rows: RowsEvent, chosen: ColumnRules | None = None, unlogged: frozenset[str] = frozenset()
) -> None:
    """Compare both ways, byte for byte; of a DOUBLE, the number."""
    try:
        schema = TableSchema.from_table_map(rows.table_map, "", unlogged, chosen)
        expected = list(written(rows, by_values(rows, schema)))
    except UnsupportedChange:
        return
    if chosen is not None and isinstance(expected[-1], str):
        # By bytes, a cell that is left out or masked is not looked at.
        return
    found = list(written(rows, by_bytes(rows, schema)))
    if f"[{record_errors.SAME_KEY}]" in str(found[-1:]):
        # By values, a label does not tell its number.
        return
    if f"[{record_errors.COLUMN_ABSENT}]" in str(found[-1:]):
        # By values, the rest of a row is read before.
        assert isinstance(expected[-1], str)
        return
    cells = len(rows.table_map.columns) * (2 if rows.kind is RowsKind.UPDATE else 1)
    if cells > 1 and str(found[-1:]).startswith("['UnsupportedChange"):
        # By values, the rest of a row is read before any of it is refused.
        assert isinstance(expected[-1], str)
        del found[-1], expected[-1]
    if any(column.type_code == T.DOUBLE for column in rows.table_map.columns):
        assert list(map(loaded, found)) == list(map(loaded, expected))
    else:
        assert found == expected


def loaded(row: Written) -> object:
    return row if isinstance(row, str) else [(json.loads(i), json.loads(k or "0")) for i, k in row]


@pytest.mark.parametrize(
    "of", ALL, ids=(f"{index} {of.column.type_name}" for index, of in enumerate(ALL))
)
@settings(max_examples=length(short=12, full=30))
@given(data=st.data())
def test_a_cell_of_any_type_is_written_as_its_value_is(of: Cells, data: st.DataObject) -> None:
    cell = data.draw(of.cells)
    compare(rows_event([of.column], b"\x00" + cell))
    # Cut off anywhere, with something behind it that belongs to nothing.
    compare(rows_event([of.column], b"\x00" + data.draw(st.binary(max_size=12))))


@given(st.data())
def test_rows_are_written_as_their_values_are(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=20))
    key = data.draw(st.integers(-1, len(chosen) - 1))
    columns = [
        replace(of.column, primary_key=1 if index == key else 0) for index, of in enumerate(chosen)
    ]
    images = b""
    for _ in range(data.draw(st.sampled_from((2, 4)))):
        nulls = data.draw(st.integers(0, 2 ** len(chosen) - 1))
        nulls &= ~(1 << key) if key >= 0 else nulls
        images += nulls.to_bytes((len(chosen) + 7) // 8, "little")
        images += b"".join(
            data.draw(of.cells) for index, of in enumerate(chosen) if not nulls >> index & 1
        )
    for kind in RowsKind:
        compare(rows_event(columns, images, kind))


@given(st.data())
def test_chosen_columns_are_written_as_their_values_are(data: st.DataObject) -> None:
    of = data.draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=9))
    columns = [each.column for each in of]
    images = b""
    for _ in range(2):
        nulls = data.draw(st.integers(0, 2 ** len(of) - 1))
        images += nulls.to_bytes((len(of) + 7) // 8, "little")
        images += b"".join(
            data.draw(each.cells) for index, each in enumerate(of) if not nulls >> index & 1
        )
    rows = rows_event(columns, images, RowsKind.INSERT)
    names = [column["name"] for column in TableSchema.from_table_map(rows.table_map, "").columns]
    patterns = [ColumnPattern("", "shop", "t", name) for name in names]
    kind = data.draw(st.sampled_from((MASK, TRUNCATE, HASH)))
    chosen = ColumnRules(
        (),
        data.draw(st.lists(st.sampled_from(patterns))),
        [ColumnRule(tuple(data.draw(st.lists(st.sampled_from(patterns)))), kind, 2, "md5")],
    )
    compare(rows, chosen)


@every_log
def test_the_rows_of_real_servers_are_written_as_their_values_are(log: GoldenLog) -> None:
    for event in with_inner_events(log.events()):
        rows = event.body
        if isinstance(rows, RowsEvent):
            compare(rows)


@given(st.data())
def test_images_that_leave_out_columns_are_written_as_their_values_are(data: st.DataObject) -> None:
    of = data.draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=9))
    columns = [each.column for each in of]
    present = data.draw(st.integers(0, 2 ** len(of) - 1))
    held = [each for index, each in enumerate(of) if present >> index & 1]
    images = b""
    for _ in range(2):
        nulls = data.draw(st.integers(0, 2 ** len(held) - 1))
        images += nulls.to_bytes((len(held) + 7) // 8, "little")
        images += b"".join(
            data.draw(each.cells) for index, each in enumerate(held) if not nulls >> index & 1
        )
    rows = rows_event(columns, images, data.draw(st.sampled_from(list(RowsKind))))
    bitmap = present.to_bytes((len(of) + 7) // 8, "little")
    rows.before_columns_present = rows.before_columns_present and bitmap
    rows.after_columns_present = rows.after_columns_present and bitmap
    schema = TableSchema.from_table_map(rows.table_map, "")
    absent = [
        column["name"]
        for index, column in enumerate(schema.columns)
        if not present >> index & 1 and data.draw(st.booleans())
    ]
    compare(rows, unlogged=frozenset(absent))


def test_a_truncated_row_names_event_table_and_column() -> None:
    rows = rows_event([Column(T.LONG, 0, nullable=False)], b"\x00\x07\x00")
    schema = TableSchema.from_table_map(rows.table_map, "")
    (error,) = written(rows, by_bytes(rows, schema))
    assert error == (
        "EventError: [L181] binlog.000001:300: cannot decode WRITE_ROWS_EVENT: table shop.t, "
        'column c"0 (LONG): need 4 bytes at offset 1, but the payload ends at 3; compare with '
        "`mysqlbinlog --start-position=300 binlog.000001`"
    )


@pytest.mark.parametrize(
    ("profile", "document"),
    [
        (None, b'"{\\"a\\": 1, \\"b\\": 2}"'),
        # Debezium has no spaces in documents of the log.
        (DebeziumProfile(), b'"{\\"a\\":1,\\"b\\":2}"'),
    ],
)
def test_changes_of_a_document_become_the_document(
    profile: DebeziumProfile | None, document: bytes
) -> None:
    before = b"\x00" + behind_length(bytes.fromhex("0001000c000b00010005010061"), 1)  # {"a": 1}
    change = b"\x01" + behind_length(b"$.b", 1) + behind_length(b"\x05\x02\x00", 1)
    # Value options and the JSON columns that are changes, before the image.
    after = b"\x01\x01\x00" + behind_length(change, 1)
    rows = rows_event([Column(T.JSON, 1, nullable=True)], before + after, RowsKind.UPDATE)
    rows.partial = True
    schema = TableSchema.from_table_map(rows.table_map, "")
    writer = RowWriter(rows.table_map, schema, profile)
    writer.begin(rows)
    assert writer.next_row()
    image(writer)
    assert image(writer) == (b'{"c\\"0":' + document + b"}", None)
