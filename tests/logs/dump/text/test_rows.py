"""Values of row images as text, from their bytes."""

from __future__ import annotations

import zlib
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from connector.binlog.columns.column import Column, ColumnType
from connector.binlog.columns.floats import put_float64_as_python
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import ExtraRowInfo, RowsKind
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.sql_text import put_bytes, put_text, quoted_text
from connector.foundation.errors import DecodeError
from connector.logs.dump.text.rows import TableRows
from connector.logs.output import LARGE, LineOutput

UTF8MB4 = 255
LATIN1 = 8
BINARY = 63


def inserted(
    columns: list[Column], image: bytes, *, signs: bool = True, partial: bool = False
) -> RowsEvent:
    """Return rows of the table `d`.`t` that hold all `columns`."""
    table = TableMapEvent(1, 0, "d", "t", columns, metadata_fields=(1,) if signs else ())
    present = (2 ** len(columns) - 1).to_bytes((len(columns) + 7) // 8, "little")
    return RowsEvent(
        RowsKind.INSERT,
        table,
        1,
        ExtraRowInfo(),
        None,
        present,
        "b.1",
        4,
        "WRITE_ROWS_EVENT",
        image,
        0,
        len(image),
        partial,
    )


def written(rows: RowsEvent) -> str:
    file = BytesIO()
    output = LineOutput(file)
    try:
        TableRows(rows.table_map).put(rows, output)
    finally:
        output.flush()
    return file.getvalue().decode()


def behind_length(data: bytes, prefix: int = 4) -> bytes:
    return len(data).to_bytes(prefix, "little") + data


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        (Column(ColumnType.TINY, 0, True), "ff", "-1 (255) /* TINYINT meta=0"),
        (Column(ColumnType.TINY, 0, True, name="a`b"), "ff", "-1 /* `a``b` TINYINT meta=0"),
        (Column(ColumnType.INT24, 0, True), "ffffff", "-1 (16777215) /* MEDIUMINT meta=0"),
        (
            Column(ColumnType.LONGLONG, 0, True),
            "feffffffffffffff",
            f"-2 ({2**64 - 2}) /* LONGINT meta=0",
        ),
        (Column(ColumnType.LONG, 0, True), "07000000", "7 /* INT meta=0 nullable=1 is_null=0 */"),
        (Column(ColumnType.LONG, 0, False), None, "NULL /* INT meta=0 nullable=0 is_null=1 */"),
        (Column(ColumnType.YEAR, 0, True), "00", "0000 /* YEAR meta=0"),
        (Column(ColumnType.YEAR, 0, True), "7d", "2025 /* YEAR meta=0"),
        (Column(ColumnType.BIT, 0x0101, True), "0005", "b'000000101' /* BIT(9) meta=257"),
        # A server sets no bit above the column's.
        (Column(ColumnType.BIT, 0x0101, True), "0805", "b'100000000101' /* BIT(9) meta=257"),
        (Column(ColumnType.STRING, 0x02F7, True), "2c01", "300 /* ENUM(2 bytes) meta=63234"),
        (Column(ColumnType.STRING, 0x01F8, True), "05", "b'00000101' /* SET(1 bytes) meta=63489"),
        (
            Column(ColumnType.STRING, 0x02F8, True),
            "0580",
            "b'0000010110000000' /* SET(2 bytes) meta=63490",
        ),
        (
            Column(ColumnType.STRING, 0x01F8, True, labels=["a", "it's"]),
            "03",
            r"'a,it\'s' /* SET(1 bytes) meta=63489",
        ),
        (
            Column(ColumnType.STRING, 0x01F7, True, labels=["x"]),
            "01",
            "'x' /* ENUM(1 byte) meta=63233",
        ),
        (Column(ColumnType.FLOAT, 4, True), "cdcccc3d", "0.1 /* FLOAT meta=4"),
        (Column(ColumnType.DOUBLE, 8, True), "92d54d06cff08044", "1e+22 /* DOUBLE meta=8"),
        (Column(ColumnType.NEWDECIMAL, 0x0204, True), "7ecd", "-1.50 /* DECIMAL(4,2) meta=1026"),
        (Column(ColumnType.DATE, 0, True), "00c80f", "'2020-00-00' /* DATE meta=0"),
        (Column(ColumnType.TIMESTAMP2, 3, True), "000000000000", "0.000 /* TIMESTAMP(3) meta=3"),
        (
            Column(ColumnType.TIMESTAMP2, 3, True),
            "7fffffff04b0",
            "2147483647.120 /* TIMESTAMP(3) meta=3",
        ),
        (Column(ColumnType.TIMESTAMP, 0, True), "00000080", "2147483648 /* TIMESTAMP meta=0"),
        (
            Column(ColumnType.BLOB, 2, True),
            behind_length(b"it's\n\x00\xff\\", 2).hex(),
            r"'it\'s\n\x00\xff\\' /* BLOB/TEXT meta=2",
        ),
        (
            Column(ColumnType.VARCHAR, 40, True, collation=UTF8MB4),
            behind_length("é\x1b".encode(), 1).hex(),
            r"'é\x1b' /* VARSTRING(40) meta=40",
        ),
        (
            Column(ColumnType.VARCHAR, 40, True, collation=UTF8MB4),
            behind_length(b"\xc3\xa9\xff", 1).hex(),
            r"'\xc3\xa9\xff' /* VARSTRING(40) meta=40",
        ),
        (
            Column(ColumnType.VARCHAR, 40, True, collation=LATIN1),
            behind_length(b"\xe9'", 1).hex(),
            r"'é\'' /* VARSTRING(40) meta=40",
        ),
        (
            Column(ColumnType.STRING, 0x03FE, True, collation=BINARY),
            behind_length(b"a", 1).hex(),
            r"'a\x00\x00' /* STRING(3) meta=65027",
        ),
        (
            Column(ColumnType.VARCHAR_COMPRESSED, 40, True, collation=UTF8MB4),
            behind_length(b"\x81\x01" + zlib.compress(b"x"), 1).hex(),
            "'x' /* VARSTRING(40) COMPRESSED meta=40",
        ),
        (
            Column(ColumnType.VECTOR, 4, True, dimension=2),
            behind_length(bytes.fromhex("0000803f000020c0")).hex(),
            "[1.0,-2.5] /* VECTOR(2)",
        ),
        (
            Column(ColumnType.GEOMETRY, 4, True),
            behind_length(bytes.fromhex("e610000001")).hex(),
            "SRID 4326 X'01' /* GEO",
        ),
        (
            Column(ColumnType.JSON, 4, True),
            behind_length(bytes.fromhex("0c03612278")).hex(),
            r"""'"a\\"x"' /* JSON meta=4""",
        ),
    ],
)
def test_a_value_is_written_with_its_type(column: Column, cell: str | None, expected: str) -> None:
    image = b"\1" if cell is None else b"\0" + bytes.fromhex(cell)
    head, clause, line, rest = written(
        inserted([column], image, signs=column.name is not None)
    ).split("\n")
    assert (head, clause, rest) == ("### INSERT INTO `d`.`t`", "### SET", "")
    assert line.startswith(f"###   @1={expected}")


def test_changes_of_a_document_are_calls_of_functions() -> None:
    diffs = [
        b"\0" + behind_length(b"$.a", 1) + behind_length(bytes.fromhex("050100"), 1),
        b"\0" + behind_length(b"$.b", 1) + behind_length(b"\x0c\x04it's", 1),
        b"\1" + behind_length(b"$.c[0]", 1) + behind_length(bytes.fromhex("0400"), 1),
        b"\2" + behind_length(b"$.d", 1),
    ]
    image = b"\1\1\0" + behind_length(b"".join(diffs))
    text = written(inserted([Column(ColumnType.JSON, 4, True)], image, partial=True))
    assert text.removeprefix("### INSERT INTO `d`.`t`\n### SET\n") == (
        "###   @1=JSON_REMOVE(JSON_ARRAY_INSERT(JSON_REPLACE(@1, '$.a', 1,\n###      '$.b', "
        r"CAST('"
        '"'
        r"it\'s"
        '"'
        "' AS JSON)), '$.c[0]', CAST('null' AS JSON)), '$.d') "
        "/* JSON meta=4 nullable=1 is_null=0 */\n"
    )


def test_nothing_of_a_row_that_cannot_be_read_is_written() -> None:
    columns = [Column(ColumnType.TINY, 0, True), Column(ColumnType.VARCHAR, 9, True)]
    row = b"\0\7" + behind_length(b"x", 1)
    with pytest.raises(DecodeError):
        written(inserted(columns, row + b"\0\7\5x"))
    file = BytesIO()
    output = LineOutput(file)
    rows = inserted(columns, row + b"\0\7\5x")
    with pytest.raises(DecodeError, match="column 2"):
        TableRows(rows.table_map).put(rows, output)
    output.flush()
    assert file.getvalue().decode() == written(inserted(columns, row))


@pytest.mark.parametrize("collation", [UTF8MB4, LATIN1, BINARY])
def test_a_large_value_has_the_same_text_as_its_parts(collation: int) -> None:
    part = "it's\n\x00 é".encode("latin-1" if collation == LATIN1 else "utf-8")
    times = 2 * LARGE // len(part)
    columns = [
        Column(ColumnType.BLOB, 4, True, collation=collation),
        Column(ColumnType.TINY, 0, True),
    ]
    small = written(inserted(columns, b"\0" + behind_length(part) + b"\7"))
    large = written(inserted(columns, b"\0" + behind_length(part * times) + b"\7"))
    text = small[small.index("'") + 1 : small.index("' /*")]
    assert large == small.replace(text, text * times)


def test_nothing_of_a_large_row_that_cannot_be_read_is_written() -> None:
    columns = [
        Column(ColumnType.BLOB, 4, True, collation=UTF8MB4),
        Column(ColumnType.DOUBLE, 8, True),
    ]
    file = BytesIO()
    output = LineOutput(file)
    rows = inserted(columns, b"\0" + behind_length(b"x" * 2 * LARGE) + b"\xff" * 8)
    with pytest.raises(DecodeError):
        TableRows(rows.table_map).put(rows, output)
    output.flush()
    assert file.getvalue() == b""


ODD = st.text(st.sampled_from("a'\\\n\x00\x1f\x7f\x80é漢😀 "), max_size=40) | st.text(max_size=40)


@given(value=ODD, before=st.integers(0, 9))
def test_text_is_quoted_the_same_in_both_ways(value: str, before: int) -> None:
    data = b"\x01" * before + value.encode()
    out = BytesWriter()
    assert put_text(out, data, before, len(data))
    assert f"'{out.getvalue().decode()}'" == quoted_text(value)


@given(data=st.binary(max_size=40) | ODD.map(str.encode))
def test_bytes_that_are_not_text_are_escaped_one_by_one(data: bytes) -> None:
    out = BytesWriter()
    put_bytes(out, data, 0, len(data))
    expected = quoted_text(data.decode("latin-1"))[1:-1]
    assert out.getvalue().decode() == "".join(
        char if char.isascii() else f"\\x{ord(char):02x}" for char in expected
    )


@given(data=st.binary(min_size=1, max_size=40))
def test_only_text_is_written_as_text(data: bytes) -> None:
    try:
        data.decode()
        is_text = True
    except UnicodeDecodeError:
        is_text = False
    assert put_text(BytesWriter(), data, 0, len(data)) is is_text


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_written_as_python_writes_it(value: float) -> None:
    out = BytesWriter()
    put_float64_as_python(out, value)
    assert out.getvalue().decode() == repr(value)
