"""How values are written as SQL."""

from __future__ import annotations

import pytest

from connector.binlog.columns.column import Column, ColumnType, EnumIndex, Geometry, Value
from connector.foundation.errors import DecodeError
from connector.logs.flashback.sql_literals import literal, matches, raw_columns

LATIN1, UTF8MB4, SJIS, BINARY = 8, 255, 13, 63
TEXT = Column(ColumnType.VARCHAR, 40, True, name="c", collation=UTF8MB4)
NUMBERS = f"[1.5, 1e22, {2**64 - 1}, {-(2**63)}]"
JSON = Column(ColumnType.JSON, 4, True, name="j")


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (TEXT, None, "NULL"),
        (TEXT, b"it's \\ \0\n\r\x1a", r"'it\'s \\ \0\n\r\Z'"),
        (TEXT, "é😀".encode(), "'é😀'"),
        (TEXT, "it's é".encode(), "_utf8mb4 X'6974277320c3a9'"),
        (JSON, '"\\n é"', "CAST(_utf8mb4 X'225c6e20c3a922' AS JSON)"),
        (TEXT, b"\xff", "_utf8mb4 X'ff'"),
        (Column(ColumnType.VARCHAR, 40, True, collation=LATIN1), b"plain", "'plain'"),
        (Column(ColumnType.VARCHAR, 40, True, collation=LATIN1), b"caf\xe9", "_latin1 X'636166e9'"),
        (Column(ColumnType.VARCHAR, 40, True, collation=SJIS), b"\\", "_sjis X'5c'"),
        (Column(ColumnType.VARCHAR, 40, True, collation=BINARY), b"a", "X'61'"),
        (Column(ColumnType.LONG, 0, True), -5, "-5"),
        (Column(ColumnType.BIT, 0x0101, True), 5, "b'000000101'"),
        (Column(ColumnType.FLOAT, 4, True), 0.10000000149011612, "0.10000000149011612e0"),
        (Column(ColumnType.DOUBLE, 8, True), 1e22, "1e+22"),
        (Column(ColumnType.NEWDECIMAL, 0x020A, True), "-0.50", "-0.50"),
        (Column(ColumnType.DATE, 0, True), "0000-00-00", "'0000-00-00'"),
        (Column(ColumnType.STRING, 0x01F7, True), EnumIndex(2), "2"),
        (Column(ColumnType.STRING, 0x01F7, True), "", "0"),
        (Column(ColumnType.STRING, 0x01F8, True), 5, "5"),
        (Column(ColumnType.GEOMETRY, 4, True), Geometry(1, b"\x02"), "X'0100000002'"),
        (Column(ColumnType.VECTOR, 4, True), [1.0], "X'0000803f'"),
        (JSON, '{"a": "it\'s"}', """CAST('{"a": "it\\'s"}' AS JSON)"""),
        (JSON, NUMBERS, f"CAST('{NUMBERS}' AS JSON)"),
    ],
)
def test_a_literal_is_exact(column: Column, value: Value, expected: str) -> None:
    assert literal(column, value) == expected


@pytest.mark.parametrize("number", ["1.50", "123456789012345678901234567890", "0.1000"])
def test_a_decimal_inside_json_is_refused(number: str) -> None:
    with pytest.raises(DecodeError) as caught:
        literal(JSON, f'{{"price": {number}}}')
    assert caught.value.text == (
        f"a JSON document holds a DECIMAL of {len(number)} characters, which its text does not "
        "bring back; undo this transaction by hand"
    )


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (TEXT, None, "`c` IS NULL"),
        (TEXT, b"A", "CAST(`c` AS BINARY) = X'41'"),
        (JSON, "[1]", "CAST(`j` AS CHAR) COLLATE utf8mb4_bin = '[1]'"),
        (Column(ColumnType.YEAR, 0, True, name="y"), 0, "`y` + 0 = 0"),
        (Column(ColumnType.LONG, 0, True, name="a`b"), 7, "`a``b` = 7"),
    ],
)
def test_a_condition_tells_values_apart_that_collations_do_not(
    column: Column, value: Value, expected: str
) -> None:
    assert matches(column, value) == expected


def test_raw_columns_keep_what_pads_a_binary() -> None:
    columns = [
        Column(ColumnType.STRING, 0x04FE, True, collation=BINARY),
        Column(ColumnType.STRING, 0x01F7, True, collation=UTF8MB4, labels=["x"]),
    ]
    binary, enum = raw_columns(columns)
    assert binary.collation == BINARY
    assert (enum.collation, enum.labels) == (None, None)
