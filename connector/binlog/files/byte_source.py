"""A path, a file object or bytes become the unpacked bytes of a log; `FileOptions` says how.

The first bytes show the compression; the name does not matter. The bytes are unpacked in steps, so
that data that expands a thousandfold does not fill the memory.

https://www.rfc-editor.org/rfc/rfc1952 (gzip), https://www.rfc-editor.org/rfc/rfc8878 (Zstandard)
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from connector.binlog import argument_errors, log_errors
from connector.binlog.header import FIRST_POSITION
from connector.binlog.log_errors import EventError, LogRefused, LogTruncated
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import ConfigError, DecodeError

MAGIC_LENGTH = 4
# Bytes that one read asks for: so few that they stay in the processor's cache until their events
# are decoded.
STEP_LENGTH = 128 * 1024
# Where most events are passed over: so many that few transactions lie in two blocks, because those
# have to be decoded, or read twice.
LONG_STEP_LENGTH = 512 * 1024

_GZIP = b"\x1f\x8b\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"
# A frame without data, as pzstd writes before each other frame: sixteen numbers, from the first on.
_ZSTD_SKIPPABLE = (0x184D2A50, 0x184D2A5F)
_SUFFIXES = {"gzip": ".gz", "zstd": ".zst"}
# Name in messages of a source without a name.
_UNNAMED = "stream"
_NO_EVENT = "an event header"


class BinaryFile(Protocol):
    """The needed part of a file object; with `seek`, bytes can be skipped without reading."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""
        ...


_Opened = TypeVar("_Opened", bound=io.IOBase)

LogSource = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryFile


class ByteSource:
    """The bytes of one log after its first four, which are in `head`."""

    def __init__(
        self, source: LogSource, name: str | None = None, step_length: int = STEP_LENGTH
    ) -> None:
        """Open a path, or take bytes or a file object; the caller closes the file object.

        One read asks for `step_length` bytes.

        Raises OSError for a path that cannot be opened, ConfigError for a file in text mode,
        LogRefused for bytes that are compressed more than once.
        """
        self.path: Path | None = None
        self._step_length = step_length
        self._owned: list[io.IOBase] = []
        self._damage: tuple[type[Exception], ...] = ()  # what damaged compressed bytes raise
        self._ahead = b""  # bytes that have been received,
        self._offset = 0  # up to here also read
        source_name: object = None
        file: BinaryFile
        if isinstance(source, (str, os.PathLike)):
            self.path = Path(source)
            file = self._own(io.FileIO(self.path))
            source_name = self.path.name
        elif isinstance(source, (bytes, bytearray, memoryview)):
            file = self._own(io.BytesIO(source))
        else:
            file = source
            _refuse_text(source)
            source_name = getattr(source, "name", None)
        try:
            self._use(file)
            self.compression = _compression_of(self.head)
            self.name = name or self._log_name(source_name)
            if self.compression is not None:
                self._unpack(file, self.compression)
        except BaseException:
            self.close()
            raise

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, none at the end.

        Raises LogTruncated if compressed bytes end too soon, EventError if they are damaged, with
        the position in the unpacked bytes.
        """
        offset = self._offset
        if offset == len(self._ahead):
            self._ahead, offset = self._receive(), 0
        chunk = self._ahead[offset : offset + size]
        self._offset = offset + len(chunk)
        return chunk

    def read_block(self) -> bytes:
        """Return the bytes that one read gives; none at the end. Raises as `read`."""
        if self._offset == len(self._ahead):
            self._offset = 0
            # The block is not kept here.
            self._ahead = b""
            return self._receive()
        return self.read(len(self._ahead))

    @property
    def is_gone(self) -> bool:
        """Whether the path that was opened now leads to another file, or to none."""
        if self.path is None:
            return False
        file = os.fstat(self._owned[0].fileno())
        try:
            now = self.path.stat()
        except OSError:
            return True
        return (now.st_dev, now.st_ino) != (file.st_dev, file.st_ino) or not file.st_nlink

    @property
    def can_unread(self) -> bool:
        """Whether `unread` can be called: after `read_block`, for a file in which that is cheap."""
        # A file object of others may have to unpack all again.
        cheap = isinstance(self._seekable, (io.FileIO, io.BytesIO))
        return cheap and self._offset == len(self._ahead)

    def unread(self, count: int) -> None:
        """Let the last `count` bytes come once more."""
        assert self._seekable is not None
        self._seekable.seek(-count, os.SEEK_CUR)
        self._position -= count

    def skip(self, count: int) -> int:
        """Skip `count` bytes and return how many there were."""
        left = count
        while left:
            file = self._seekable
            if file is not None and self._offset == len(self._ahead):
                start = file.tell()
                there = min(left, file.seek(0, os.SEEK_END) - start)
                file.seek(start + there)
                return count - left + there
            chunk = self.read(left)
            if not chunk:
                break
            left -= len(chunk)
        return count - left

    def close(self) -> None:
        """Close the file if it was opened here."""
        for file in reversed(self._owned):
            file.close()

    def _receive(self) -> bytes:
        try:
            chunk = self._read(self._step_length)
        except EOFError as error:
            raise LogTruncated(self.name, self._position, MAGIC_LENGTH, 0) from error
        except self._damage as error:
            damage = DecodeError(log_errors.PACKED_DAMAGED, compression=self.compression, why=error)
            raise EventError(self.name, self._position, _NO_EVENT, damage) from error
        self._position += len(chunk)
        return chunk

    def _own(self, file: _Opened) -> _Opened:
        self._owned.append(file)
        return file

    def _use(self, file: BinaryFile) -> None:
        # Returns the available bytes instead of waiting for all, and loses none before an error.
        self._read: Callable[[int], bytes] = getattr(file, "read1", file.read)
        seekable = isinstance(file, io.IOBase) and file.seekable()
        self._seekable = file if seekable and isinstance(file, io.IOBase) else None
        self._position = 0
        self._ahead, self._offset = b"", 0
        self.head: bytes = b""
        while len(self.head) < MAGIC_LENGTH:
            chunk = self.read(MAGIC_LENGTH - len(self.head))
            if not chunk:
                break
            self.head += chunk

    def _unpack(self, file: BinaryFile, compression: str) -> None:
        packed = _Rejoined(self.head + self._ahead[self._offset :], file)
        # It takes long to import, and most logs are not compressed.
        from connector.binlog.files import packed_files  # noqa: PLC0415

        self._damage = packed_files.DAMAGE
        if compression == "gzip":
            self._use(self._own(packed_files.gzip_file(packed)))
        else:
            self._use(packed_files.ZstdFile(packed))
        # Seeking back would mean unpacking again.
        self._seekable = None
        if (inner := _compression_of(self.head)) is not None:
            raise LogRefused(log_errors.PACKED_TWICE, self.name, inner=inner, outer=compression)

    def _log_name(self, source_name: object) -> str:
        if not isinstance(source_name, str):
            return _UNNAMED
        name = os.path.basename(source_name) or _UNNAMED  # noqa: PTH119 # of whatever a file object says
        return name if self.compression is None else name.removesuffix(_SUFFIXES[self.compression])


def _refuse_text(file: object) -> None:
    if isinstance(file, io.TextIOBase):
        raise ConfigError(argument_errors.TEXT_FILE, name=getattr(file, "name", _UNNAMED))


def _compression_of(head: bytes) -> str | None:
    if head.startswith(_GZIP):
        return "gzip"
    first, last = _ZSTD_SKIPPABLE
    if head == _ZSTD or first <= int.from_bytes(head, "little") <= last:
        return "zstd"
    return None


class _Rejoined:
    """A file object whose first bytes were read already."""

    def __init__(self, first: bytes, file: BinaryFile) -> None:
        self._first = io.BytesIO(first)
        self._file = file

    def read(self, size: int) -> bytes:
        return self._first.read(size) or self._file.read(size)


class FileOptions(NamedTuple):
    """The options of `open_binlog` except those about transactions; its docstring explains them."""

    name: str | None = None
    start_position: int = FIRST_POSITION
    verify_checksum: bool = True
    follow: bool = False
    idle_timeout_seconds: float | None = None
    # Transactions that change no table of these may be left out.
    tables: TableFilter | None = None

    def of_next_file(self) -> FileOptions:
        """Return the options for a later file: only the first one has the name and position."""
        return self._replace(name=None, start_position=FIRST_POSITION)
