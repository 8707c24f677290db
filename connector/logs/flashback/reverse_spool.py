"""The file that reverses the order of statements.

The statements go into a temporary file, which is read from its end::

    record │ its length u64 │ record │ its length u64 │ …
"""

from tempfile import TemporaryFile
from typing import IO, Final, Self, final

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64, u8

from connector.logs.output import NEWLINE, LineOutput

_LENGTH_BYTES: Final = 8
_BLOCK: Final = 256 * 1024


@final
class ReverseSpool:
    """Takes records and returns them, the last one first.

    A record is appended to `block`, in pieces, and ends with `end_record`; `block` may be another
    object then.
    """

    def __init__(self) -> None:
        """Open a file without a name in the system's folder for temporary files."""
        self.block = BytesWriter()
        self._file = TemporaryFile(buffering=_BLOCK)  # noqa: SIM115 - closed by __exit__
        self._written: i64 = 0  # bytes in the file
        self._start: i64 = 0  # of the current record, in the block

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, record: bytes) -> None:
        """Add a whole record."""
        self.block.write(record)
        self.end_record()

    def end_record(self) -> None:
        """End the record that `block` ends with."""
        block = self.block
        end: i64 = len(block)
        write_i64_le(block, end - self._start)
        self._start = end + _LENGTH_BYTES
        if self._start >= _BLOCK:
            self._write_block()

    def mark(self) -> i64:
        """Return the offset after the last record, for `cut`."""
        return self._written + self._start

    def cut(self, mark: i64) -> None:
        """Drop what follows `mark`, also a record that has not ended."""
        if mark < self._written:
            self._file.seek(mark)
            self._file.truncate()
            self._written = mark
        self._start = mark - self._written
        self.block.truncate(self._start)

    def put_reversed(self, output: LineOutput) -> None:
        """Write each record as a line, the last one first; add none afterwards."""
        self._write_block()
        rest = _UnwrittenBytes(self._file, self._written)
        while rest.load(_LENGTH_BYTES):
            length = read_i64_le(rest.data, rest.end - _LENGTH_BYTES)
            rest.load(length + _LENGTH_BYTES)
            end = rest.end - _LENGTH_BYTES
            output.block.write(rest.data[end - length : end])
            output.block.append(u8(NEWLINE))
            output.give_way()
            rest.end = end - length

    def _write_block(self) -> None:
        block = self.block
        self._file.write(block.getvalue())
        self._written += len(block)
        self._start = 0
        if len(block) > 2 * _BLOCK:
            # Frees the memory of a large record.
            self.block = BytesWriter()
        else:
            block.truncate(0)


@final
class _UnwrittenBytes:
    """The bytes that were not written yet; `data[:end]` are the last of them."""

    def __init__(self, file: IO[bytes], length: i64) -> None:
        self.data = b""
        self.end: i64 = 0
        self._file = file
        self._left: i64 = length  # in the file, before `data`

    def load(self, size: i64) -> bool:
        """Return whether there are `size` bytes, and load them."""
        if self.end < size and self._left:
            step = min(self._left, max(size - self.end, _BLOCK))
            self._left -= step
            self._file.seek(self._left)
            self.data = self._file.read(step) + self.data[: self.end]
            self.end = len(self.data)
        return self.end >= size
