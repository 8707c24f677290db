"""How values are written as SQL; `test_undo_statements` compares them with decoded ones."""

from __future__ import annotations

import struct

import pytest
from librt.strings import BytesWriter

from connector.binlog.columns.column import Column, ColumnType
from connector.binlog.columns.row_images import RowPlan
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import UnsupportedChange
from connector.logs.flashback.sql_literals import condition, literal_writer, raw_columns

LATIN1, UTF8MB4, SJIS, BINARY = 8, 255, 13, 63
TEXT = Column(ColumnType.VARCHAR, 40, True, name="c", collation=UTF8MB4)
JSON = Column(ColumnType.JSON, 1, True, name="j")


def text(data: bytes) -> bytes:
    """Return bytes behind their length."""
    return bytes([len(data)]) + data


def literal(column: Column, data: bytes) -> str:
    out = BytesWriter()
    (reader,) = RowPlan(raw_columns([column])).readers
    literal_writer(column, reader).put(PayloadReader(data), out)
    return out.getvalue().decode()


def matches(column: Column, data: bytes) -> str:
    out = BytesWriter()
    (reader,) = RowPlan(raw_columns([column])).readers
    before, writer = condition(column, reader)
    writer.put(PayloadReader(data), out)
    return (before + out.getvalue()).decode()


@pytest.mark.parametrize(
    ("column", "data", "expected"),
    [
        (TEXT, text(b"it's \\ \0\n\r\x1a"), r"'it\'s \\ \0\n\r\Z'"),
        (TEXT, text("é😀".encode()), "'é😀'"),
        (TEXT, text("it's é".encode()), "_utf8mb4 X'6974277320c3a9'"),
        (JSON, text(b"\x0c\x04\n \xc3\xa9"), "CAST(_utf8mb4 X'225c6e20c3a922' AS JSON)"),
        (TEXT, text(b"\xff"), "_utf8mb4 X'ff'"),
        (Column(ColumnType.VARCHAR, 40, True, collation=LATIN1), text(b"plain"), "'plain'"),
        (
            Column(ColumnType.VARCHAR, 40, True, collation=LATIN1),
            text(b"caf\xe9"),
            "_latin1 X'636166e9'",
        ),
        (Column(ColumnType.VARCHAR, 40, True, collation=SJIS), text(b"\\"), "_sjis X'5c'"),
        (Column(ColumnType.VARCHAR, 40, True, collation=BINARY), text(b"a"), "X'61'"),
        (Column(ColumnType.LONG, 0, True), b"\xfb\xff\xff\xff", "-5"),
        (Column(ColumnType.BIT, 0x0101, True), b"\x00\x05", "b'000000101'"),
        (Column(ColumnType.FLOAT, 4, True), struct.pack("<f", 0.1), "0.10000000149011612e0"),
        (Column(ColumnType.DOUBLE, 8, True), struct.pack("<d", 1e22), "1e+22"),
        (Column(ColumnType.DOUBLE, 8, True), struct.pack("<d", -0.5), "-0.5e0"),
        (Column(ColumnType.NEWDECIMAL, 0x0203, True), b"\x7f\xcd", "-0.50"),
        (Column(ColumnType.DATE, 0, True), b"\0\0\0", "'0000-00-00'"),
        (Column(ColumnType.STRING, 0x01F7, True), b"\x02", "2"),
        (Column(ColumnType.STRING, 0x01F7, True), b"\x00", "0"),
        (Column(ColumnType.STRING, 0x01F8, True), b"\x05", "5"),
        (Column(ColumnType.GEOMETRY, 1, True), text(b"\1\0\0\0\2"), "X'0100000002'"),
        (Column(ColumnType.VECTOR, 1, True), text(struct.pack("<f", 1.0)), "X'0000803f'"),
        (JSON, text(b"\x0c\x04it's"), """CAST('"it\\'s"' AS JSON)"""),
        (JSON, text(b"\x0b" + struct.pack("<d", 1e22)), "CAST('1e22' AS JSON)"),
    ],
)
def test_a_literal_is_exact(column: Column, data: bytes, expected: str) -> None:
    assert literal(column, data) == expected


def test_a_decimal_inside_json_is_refused() -> None:
    # 1.50 as a DECIMAL(3,2) inside a document
    with pytest.raises(UnsupportedChange) as caught:
        literal(JSON, text(bytes.fromhex("0ff60403028132")))
    assert caught.value.text == (
        "a JSON document holds a DECIMAL of 4 characters, which its text does not bring back; "
        "undo this transaction by hand"
    )


@pytest.mark.parametrize(
    ("column", "data", "expected"),
    [
        (TEXT, text(b"A"), "CAST(`c` AS BINARY) = X'41'"),
        (JSON, text(b"\x0c\x01a"), "CAST(`j` AS CHAR) COLLATE utf8mb4_bin = '\"a\"'"),
        (Column(ColumnType.YEAR, 0, True, name="y"), b"\0", "`y` + 0 = 0"),
        (Column(ColumnType.LONG, 0, True, name="a`b"), b"\7\0\0\0", "`a``b` = 7"),
    ],
)
def test_a_condition_tells_values_apart_that_collations_do_not(
    column: Column, data: bytes, expected: str
) -> None:
    assert matches(column, data) == expected


def test_raw_columns_keep_what_pads_a_binary() -> None:
    columns = [
        Column(ColumnType.STRING, 0x04FE, True, collation=BINARY),
        Column(ColumnType.STRING, 0x01F7, True, collation=UTF8MB4, labels=["x"]),
    ]
    binary, enum = raw_columns(columns)
    assert binary.collation == BINARY
    assert (enum.collation, enum.labels) == (None, None)
