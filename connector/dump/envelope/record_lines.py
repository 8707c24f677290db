r"""Records become lines of JSON, which wait for the end of their transaction.

::

    {"topic":"cdc.shop.orders","key":{"id":1},"value":{…},"headers":{"cdc.seq": "0001…", …}}\n
"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Final, final

from librt.strings import BytesWriter, write_i32_le
from mypy_extensions import i64, u8

from connector.codec.json_strings import QUOTE, put_utf8, quoted
from connector.records.record import RecordTarget
from connector.records.varint import read_varint

if TYPE_CHECKING:
    from connector.changes.row_spool import SpoolFolder
    from connector.dump.lines.output import LineOutput

_NULL: Final = b"null"
# What is between two headers, `", "`, and in one, `": "`; the first character in the lowest byte.
_NEXT_NAME: Final = 0x2220_2C22
_VALUE: Final = 0x2220_3A22
# From here on, a length has more than one byte.
_LONG: Final = 0x80

# Bytes of an open transaction that stay in memory; the rest waits in a temporary file.
_HELD_BYTES_MAX: Final = 4 * 1024 * 1024
_COPY_BYTES: Final = 1024 * 1024
# The memory of a large transaction must be freed.
_KEPT_BYTES_MAX: Final = 1024 * 1024


@final
class RecordLines(RecordTarget):
    """Holds the lines of a transaction until it is complete."""

    def __init__(self, schema_topic: str, folder: SpoolFolder) -> None:
        """Hold nothing; a large transaction waits in a file of `folder`."""
        self._schema_topic = schema_topic
        self._folder = folder
        self._out = BytesWriter()
        self._file: IO[bytes] | None = None  # the lines before those in `_out`
        self._starts: dict[str, bytes] = {}  # of lines, by topic
        self._topic = ""
        self._start = self._start_of("")

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: i64
    ) -> None:
        """Append the line of a record."""
        del timestamp_ms
        out = self._out
        if topic != self._topic:
            self._topic = topic
            self._start = self._start_of(topic)
        out.write(self._start)
        if key is None:
            out.write(_NULL)
        elif topic == self._schema_topic:
            out.write(quoted(key.decode()))
        else:
            out.write(key)
        out.write(b',"value":')
        out.write(_NULL if value is None else value)
        out.write(b',"headers":{')
        _put_headers(out, headers)
        out.write(b"}}\n")
        if len(out) > _HELD_BYTES_MAX:
            self._spool()

    def release(self, output: LineOutput, *, rows: bool) -> None:
        """Give the lines to `output` and hold none; without `rows`, give only those of schemas."""
        out = self._out
        file = self._file
        if not rows:
            self._release_schemas(output)
        elif file is None:
            if len(out):
                output.block.write(out.getvalue())
        else:
            file.seek(0)
            while block := file.read(_COPY_BYTES):
                output.block.write(block)
                output.give_way()
            output.block.write(out.getvalue())
        if file is not None:
            file.seek(0)
            file.truncate()
            file.close()
            self._file = None
        if len(out) > _KEPT_BYTES_MAX:
            self._out = BytesWriter()
        else:
            out.truncate(0)

    def close(self) -> None:
        """Drop the lines."""
        self._out = BytesWriter()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _start_of(self, topic: str) -> bytes:
        start = self._starts.get(topic)
        if start is None:
            start = b'{"topic":%b,"key":' % json.dumps(topic).encode()
            self._starts[topic] = start
        return start

    def _spool(self) -> None:
        """Move the lines to the file."""
        if self._file is None:
            self._file = self._folder.open()
        self._file.write(self._out.getvalue())
        self._out = BytesWriter()

    def _release_schemas(self, output: LineOutput) -> None:
        start = self._start_of(self._schema_topic)
        if self._file is not None:
            self._file.seek(0)
            for line in self._file:
                if line.startswith(start):
                    output.block.write(line)
        for line in self._out.getvalue().splitlines(keepends=True):
            if line.startswith(start):
                output.block.write(line)


def _put_headers(out: BytesWriter, headers: bytes) -> None:
    """Append the members of the object; names and values are text."""
    count, at = read_varint(headers, 0)
    if count == 0:
        return
    out.append(u8(QUOTE))
    number: i64 = 0
    while number < count:
        if number:
            write_i32_le(out, _NEXT_NAME)
        at = _put_text(out, headers, at)
        write_i32_le(out, _VALUE)
        at = _put_text(out, headers, at)
        number += 1
    out.append(u8(QUOTE))


def _put_text(out: BytesWriter, headers: bytes, at: i64) -> i64:
    """Append the text that follows its length at `at`, without quotes; return where it ends."""
    start: i64 = at + 1
    length: i64 = headers[at]
    if length < _LONG:
        # Nearly always: one byte, of which the lowest bit is the sign.
        length >>= 1
    else:
        length, start = read_varint(headers, at)
    end = start + length
    put_utf8(out, headers, start, end)
    return end
