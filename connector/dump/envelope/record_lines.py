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
from connector.dump.lines.output import NOTHING_HELD
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

# Bytes of an open transaction that stay in memory; more wait in a temporary file.
_HELD_BYTES_MAX: Final = 4 * 1024 * 1024
_COPY_BYTES: Final = 1024 * 1024


@final
class RecordLines(RecordTarget):
    """Appends lines to an output, which holds them until their transaction is complete."""

    def __init__(self, schema_topic: str, folder: SpoolFolder, output: LineOutput) -> None:
        """Write to `output`; a large transaction waits in a file of `folder`."""
        self.output = output
        self._schema_topic = schema_topic
        self._folder = folder
        self._file: IO[bytes] | None = None  # the lines before those that are held
        self._starts: dict[str, bytes] = {}  # of lines, by topic
        self._topic = ""
        self._start = self._start_of("")

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: i64
    ) -> None:
        """Append the line of a record."""
        del timestamp_ms
        output = self.output
        out = output.block
        if output.held == NOTHING_HELD:
            output.held = len(out)
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
        if len(out) - output.held > _HELD_BYTES_MAX:
            self._spool()

    def move_to(self, output: LineOutput) -> None:
        """Let another output hold the lines, and take the next ones."""
        held = self.output.take_held()
        if held:
            output.held = len(output.block)
            output.block.write(held)
        self.output = output

    def release(self, *, rows: bool) -> None:
        """Hold no lines any more; without `rows`, only those of schemas stay in the output."""
        output = self.output
        file = self._file
        if not rows:
            self._release_schemas(output.take_held())
        elif file is None:
            output.held = NOTHING_HELD
        else:
            held = output.take_held()
            file.seek(0)
            while block := file.read(_COPY_BYTES):
                output.block.write(block)
                output.give_way()
            output.block.write(held)
        self._drop_file()

    def close(self) -> None:
        """Drop the lines."""
        self.output.take_held()
        self._drop_file()

    def _drop_file(self) -> None:
        file = self._file
        if file is not None:
            file.seek(0)
            file.truncate()
            file.close()
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
        self._file.write(self.output.take_held())

    def _release_schemas(self, held: bytes) -> None:
        out = self.output.block
        start = self._start_of(self._schema_topic)
        if self._file is not None:
            self._file.seek(0)
            for line in self._file:
                if line.startswith(start):
                    out.write(line)
        for line in held.splitlines(keepends=True):
            if line.startswith(start):
                out.write(line)


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
