"""Each kind of cell has one form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from connector.binlog.columns.column import (
    ABSENT,
    Column,
    EnumIndex,
    Geometry,
    JsonDiff,
    JsonDiffs,
    JsonOperation,
)
from connector.binlog.columns.column import ColumnType as T
from connector.logs.dump.json.row_values import cell_encoder

if TYPE_CHECKING:
    from connector.binlog.columns.column import Value

DIFFS = JsonDiffs(
    (
        JsonDiff(JsonOperation.REPLACE, "$.b", "3"),
        JsonDiff(JsonOperation.INSERT, '$."a b"[0]', '"é"'),
        JsonDiff(JsonOperation.REMOVE, "$.c", None),
    )
)
DIFFS_TEXT = (
    '{"json_diff":[{"op":"replace","path":"$.b","value":"3"},'
    r'{"op":"insert","path":"$.\"a b\"[0]","value":"\"é\""},'
    '{"op":"remove","path":"$.c","value":null}]}'
)


@pytest.mark.parametrize(
    ("column_type", "value", "text"),
    [
        (T.LONG, None, "null"),
        (T.LONG, ABSENT, '{"absent":true}'),
        (T.LONG, -5, "-5"),
        (T.LONGLONG, 2**64 - 1, "18446744073709551615"),
        (T.YEAR, 0, "0"),
        (T.BIT, 2**64 - 1, "18446744073709551615"),
        (T.NEWDECIMAL, "-1.50", '"-1.50"'),
        # The FLOAT nearest to 0.1, and a DOUBLE of the same value.
        (T.FLOAT, 0.10000000149011612, "0.1"),
        (T.DOUBLE, 0.10000000149011612, "0.10000000149011612"),
        (T.DOUBLE, 1e300, "1e+300"),
        (T.FLOAT, None, "null"),
        (T.FLOAT, ABSENT, '{"absent":true}'),
        (T.DATE, "0000-00-00", '"0000-00-00"'),
        (T.TIME2, "-838:59:59.000000", '"-838:59:59.000000"'),
        (T.TIMESTAMP2, "0000-00-00 00:00:00", '"0000-00-00 00:00:00"'),
        (T.VARCHAR, 'a"\\\n\0é😀', r'"a\"\\\n\u0000é😀"'),
        # MySQL 5.7 does not log the character set.
        (T.VARCHAR, "café".encode(), '"café"'),
        (T.VARCHAR, b"caf\xe9", '{"hex":"636166e9"}'),
        (T.BLOB, b"cafe", '{"hex":"63616665"}'),
        (T.BLOB, b"", '{"hex":""}'),
        (T.ENUM, "label", '"label"'),
        (T.ENUM, "", '""'),
        (T.ENUM, EnumIndex(3), "3"),
        (T.SET, "a,b", '"a,b"'),
        (T.SET, "", '""'),
        (T.SET, 5, "5"),
        (T.JSON, '{"a": 1}', r'"{\"a\": 1}"'),
        (T.JSON, DIFFS, DIFFS_TEXT),
        (T.GEOMETRY, Geometry(4326, b"\x01\x01"), '{"hex":"e61000000101"}'),
        (T.VECTOR, [1.0, 0.10000000149011612, -0.0], "[1.0,0.1,-0.0]"),
    ],
)
def test_a_cell_has_the_form_of_its_type(column_type: T, value: Value, text: str) -> None:
    encode = cell_encoder(Column(column_type, metadata=0, nullable=True))
    assert encode(value) == text
    json.loads(text)
