"""A transaction of any size waits for its end, and leaves as whole lines in their order."""

from __future__ import annotations

import json
from io import BytesIO

from librt.strings import BytesWriter

from connector.foundation.kafka_records import put_header, put_varint
from connector.foundation.operating_system import TemporaryFolder
from connector.logs.dump.envelope_format import RecordLines
from connector.logs.output import LineOutput

LARGE = b'"' + b"x" * 3_000_000 + b'"'


def headers(**texts: str) -> bytes:
    out = BytesWriter()
    put_varint(out, len(texts))
    for name, text in texts.items():
        put_header(out, name.encode(), text.encode())
    return out.getvalue()


def held() -> RecordLines:
    """Return what holds a schema record, and rows of more bytes than stay in memory."""
    lines = RecordLines("p.schema", TemporaryFolder(), LineOutput(BytesIO()))
    lines.take("p.schema", b'db."t"/1', b"{}", headers(), 0)
    for number in range(3):
        lines.take("p.db.t", b"%d" % number, LARGE, headers(name='a"\n\xe9'), 0)
    lines.take("p.db.t", None, None, headers(a="1", b="2"), 0)
    return lines


def released(lines: RecordLines, *, rows: bool) -> list[str]:
    file = BytesIO()
    output = LineOutput(file)
    lines.move_to(output)
    output.flush()
    assert file.getvalue() == b""
    lines.release(rows=rows)
    output.flush()
    return file.getvalue().decode().splitlines()


SCHEMA = r'{"topic":"p.schema","key":"db.\"t\"/1","value":{},"headers":{}}'


def test_a_large_transaction_leaves_as_lines_in_their_order() -> None:
    lines = held()
    schema, *rows, last = released(lines, rows=True)
    assert schema == SCHEMA
    assert [json.loads(row)["key"] for row in rows] == [0, 1, 2]
    assert rows[0].endswith('xx","headers":{"name": "a\\"\\né"}}')
    assert last == '{"topic":"p.db.t","key":null,"value":null,"headers":{"a": "1", "b": "2"}}'
    assert released(lines, rows=True) == []


def test_of_a_large_transaction_that_was_rolled_back_the_schemas_stay() -> None:
    lines = held()
    assert released(lines, rows=False) == [SCHEMA]
    assert released(lines, rows=True) == []


def test_what_is_not_complete_is_dropped_at_the_end() -> None:
    lines = held()
    lines.close()
    assert released(lines, rows=True) == []


def test_lines_are_written_up_to_those_of_an_open_transaction() -> None:
    file = BytesIO()
    output = LineOutput(file)
    lines = RecordLines("p.schema", TemporaryFolder(), output)
    lines.take("p.db.t", b"1", None, headers(), 0)
    lines.release(rows=True)
    lines.take("p.db.t", b"2", None, headers(), 0)
    for _ in range(2):
        output.flush()
        assert written_keys(file) == [1]
    other = LineOutput(file)
    lines.move_to(other)
    lines.take("p.db.t", b"3", None, headers(), 0)
    other.flush()
    assert written_keys(file) == [1]
    lines.release(rows=True)
    other.flush()
    output.flush()
    assert written_keys(file) == [1, 2, 3]


def written_keys(file: BytesIO) -> list[int]:
    return [json.loads(line)["key"] for line in file.getvalue().splitlines()]
