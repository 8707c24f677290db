"""Each kind of cell has one form."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from librt.strings import BytesWriter

from connector.binlog.columns.column import Column
from connector.binlog.columns.column import ColumnType as T
from connector.binlog.columns.json import ABSENT_BEFORE, JsonDiffsReader, JsonReader
from connector.binlog.columns.row_images import RowPlan
from connector.binlog.payload_reader import PayloadReader
from connector.logs.dump.json.cells import json_cell, put_changes

UTF8MB4, LATIN1, BINARY = 255, 8, 63


def of(type_code: int, metadata: int = 0, **facts: Any) -> Column:
    return Column(type_code, metadata, nullable=True, **facts)


def long(data: bytes) -> bytes:
    """Return bytes behind their length."""
    return bytes([len(data)]) + data


@pytest.mark.parametrize(
    ("column", "data", "text"),
    [
        (of(T.LONG), b"\xfb\xff\xff\xff", "-5"),
        (of(T.LONGLONG, unsigned=True), b"\xff" * 8, "18446744073709551615"),
        (of(T.YEAR), b"\0", "0"),
        (of(T.BIT, 8 << 8), b"\xff" * 8, "18446744073709551615"),
        (of(T.NEWDECIMAL, 0x0203), b"\x7e\xcd", '"-1.50"'),
        # The FLOAT nearest to 0.1, and a DOUBLE of the same value.
        (of(T.FLOAT, 4), struct.pack("<f", 0.1), "0.1"),
        (of(T.DOUBLE, 8), struct.pack("<d", 0.10000000149011612), "0.10000000149011612"),
        (of(T.DOUBLE, 8), struct.pack("<d", 1e300), "1e+300"),
        (of(T.DATE), b"\0\0\0", '"0000-00-00"'),
        (of(T.TIME2, 6), b"\x4b\x91\x05\0\0\0", '"-838:59:59.000000"'),
        (of(T.TIMESTAMP2), b"\0\0\0\0", '"0000-00-00 00:00:00"'),
        (
            of(T.VARCHAR, 40, collation=UTF8MB4),
            long('a"\\\n\0é😀'.encode()),
            r'"a\"\\\n\u0000é😀"',
        ),
        (of(T.VARCHAR, 40, collation=LATIN1), long(b"caf\xe9"), '"café"'),
        # MySQL 5.7 does not log the character set.
        (of(T.VARCHAR, 40), long("café".encode()), '"café"'),
        (of(T.VARCHAR, 40), long(b"caf\xe9"), '{"hex":"636166e9"}'),
        (of(T.BLOB, 1, collation=BINARY), long(b"cafe"), '{"hex":"63616665"}'),
        (of(T.BLOB, 1), b"\0", '{"hex":""}'),
        (of(T.STRING, 0x01F7, labels=["label"]), b"\1", '"label"'),
        (of(T.STRING, 0x01F7, labels=["label"]), b"\0", '""'),
        (of(T.STRING, 0x01F7), b"\3", "3"),
        (of(T.STRING, 0x01F8, labels=["a", "b"]), b"\3", '"a,b"'),
        (of(T.STRING, 0x01F8, labels=["a", "b"]), b"\0", '""'),
        (of(T.STRING, 0x01F8), b"\5", "5"),
        (of(T.JSON, 1), long(bytes.fromhex("0001000c000b00010005010061")), r'"{\"a\": 1}"'),
        (of(T.GEOMETRY, 1), long(b"\xe6\x10\0\0\1\1"), '{"hex":"e61000000101"}'),
        (of(T.VECTOR, 1), long(struct.pack("<3f", 1.0, 0.1, -0.0)), "[1.0,0.1,-0.0]"),
    ],
)
def test_a_cell_has_the_form_of_its_type(column: Column, data: bytes, text: str) -> None:
    (reader,) = RowPlan([column]).readers
    out = BytesWriter()
    json_cell(column, reader).put(PayloadReader(data), out)
    assert out.getvalue().decode() == text
    json.loads(text)


def test_changes_without_the_document_before_are_listed() -> None:
    number, string = b"\x05\x03\x00", b"\x0c\x02\xc3\xa9"
    changes = (
        b"\x00" + long(b"$.b") + long(number)
        + b"\x01" + long(b'$."a b"[0]') + long(string)
        + b"\x02" + long(b"$.c")
    )  # fmt: skip
    out = BytesWriter()
    image = PayloadReader(long(changes))
    put_changes(image, JsonDiffsReader(1), JsonReader(1), ABSENT_BEFORE, out)
    assert out.getvalue().decode() == (
        '{"json_diff":[{"op":"replace","path":"$.b","value":"3"},'
        r'{"op":"insert","path":"$.\"a b\"[0]","value":"\"é\""},'
        '{"op":"remove","path":"$.c","value":null}]}'
    )
