"""Changes of rows in a temporary file: appended in order, and read from the start.

::

    fixed part │ data of the event │ bitmap before │ bitmap after │ rows, where not in the data

The rows of a compressed or fragmented event are stored as they are read. Names of files and table
maps are few, so they stay in memory. The file has no name: the system removes it at the end of the
process.
"""

from __future__ import annotations

from contextlib import suppress
from struct import Struct
from typing import IO, TYPE_CHECKING, Final, Protocol, final

from connector.binlog.event import Event
from connector.binlog.events.extra_row_info import ExtraRowInfo
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_head import RowsKind
from connector.binlog.framing.header import EventHeader
from connector.changes.transaction import RowsChange
from connector.codec.payload import PayloadReader
from connector.errors import TransientError, table_statements

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.events.table_map import TableMapEvent
    from connector.changes.transaction import SourceTransaction

# Of the event: file, position, next position, number in the transaction, type, number in a payload,
# checksummed. Of the rows: table map, kind, flags, partial, start and end in the event's data (-1:
# they follow). Lengths: data, bitmap before, bitmap after (-1: none), rows that follow.
_RECORD: Final = Struct("<IqqqBqB IBIB qq qiiq")
_KINDS: Final = list(RowsKind)
_ABSENT: Final = -1


class SpoolFolder(Protocol):
    """Where files of rows are made."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    def open(self) -> IO[bytes]:
        """Open a new file, which is empty and has no name. Raises OSError."""
        ...


@final
class RowSpool:
    """Changes of rows in the order in which they were added."""

    def __init__(self, folder: SpoolFolder) -> None:
        """Create a file in `folder`; raises TransientError."""
        self._folder = folder
        self._files: list[str] = []
        self._table_maps: list[TableMapEvent] = []
        # Indexes of the file names and table maps in the lists above.
        self._file_numbers: dict[str, int] = {}
        self._table_numbers: dict[int, int] = {}
        self.end: i64 = 0  # bytes in use
        try:
            # Closed by `close`.
            self._file: IO[bytes] = folder.open()
        except OSError as error:
            raise _unusable(self._folder, error) from error

    def add(self, change: RowsChange) -> None:
        """Append a change. Raises TransientError; then the spool is unchanged."""
        event = change.event
        rows = change.rows
        images = rows.images()
        inside = images.data is event.data
        own = b"" if inside else images.data[images.offset : images.end]
        before = rows.before_columns_present
        after = rows.after_columns_present
        fixed = _RECORD.pack(
            self._file_number(event.file),
            event.position,
            event.next_position,
            change.event_number,
            event.header.type_code,
            event.number,
            event.checksummed,
            self._table_number(rows.table_map),
            _KINDS.index(rows.kind),
            rows.flags,
            rows.partial,
            images.offset if inside else _ABSENT,
            images.end if inside else _ABSENT,
            len(event.data),
            _ABSENT if before is None else len(before),
            _ABSENT if after is None else len(after),
            len(own),
        )
        try:
            self._file.seek(self.end)
            for part in (fixed, event.data, before or b"", after or b"", own):
                self._file.write(part)
            self.end = self._file.tell()
        except OSError as error:
            raise _unusable(self._folder, error) from error

    def rewind(self) -> None:
        """Make `read` begin with the first change. Raises TransientError."""
        self._seek(0)

    def read(self, transaction: SourceTransaction) -> RowsChange | None:
        """Return the next change, as one of `transaction`; None at the end.

        Raises TransientError.
        """
        try:
            if self._file.tell() >= self.end:
                return None
            return self._read(transaction)
        except OSError as error:
            raise _unusable(self._folder, error) from error

    def truncate(self, end: i64) -> None:
        """Drop all changes after the first `end` bytes of the file."""
        self.end = end

    def close(self) -> None:
        """Drop all changes and close the file."""
        # Closing drops unwritten bytes, too, so a full disk does not matter.
        with suppress(OSError):
            self._file.close()

    def _seek(self, offset: i64) -> None:
        try:
            self._file.seek(offset)
        except OSError as error:
            raise _unusable(self._folder, error) from error

    def _read(self, transaction: SourceTransaction) -> RowsChange:
        (
            file,
            position,
            next_position,
            number,
            type_code,
            inner_number,
            checksummed,
            table,
            kind,
            flags,
            partial,
            start,
            end,
            size,
            before_size,
            after_size,
            own_size,
        ) = _RECORD.unpack(self._file.read(_RECORD.size))
        data = self._file.read(size)
        before = None if before_size == _ABSENT else self._file.read(before_size)
        after = None if after_size == _ABSENT else self._file.read(after_size)
        header = EventHeader.decode(PayloadReader(data))
        header.type_code = type_code
        event = Event(
            self._files[file],
            position,
            next_position,
            header,
            None,
            data,
            checksummed=checksummed != 0,
            number=inner_number,
        )
        images = data
        if start == _ABSENT:
            images = self._file.read(own_size)
            start, end = 0, own_size
        table_map = self._table_maps[table]
        # The extra info beside the rows is not stored: no record contains it.
        rows = RowsEvent(
            _KINDS[kind],
            table_map,
            flags,
            ExtraRowInfo(),
            before,
            after,
            event.file,
            event.position,
            event.name,
            images,
            start,
            end,
            partial != 0,
        )
        event.table_map = table_map
        event.decoded(rows)
        return RowsChange(transaction, number, event, rows)

    def _file_number(self, file: str) -> int:
        number = self._file_numbers.get(file)
        if number is None:
            number = self._file_numbers[file] = len(self._files)
            self._files.append(file)
        return number

    def _table_number(self, table_map: TableMapEvent) -> int:
        number = self._table_numbers.get(id(table_map))
        if number is None:
            number = self._table_numbers[id(table_map)] = len(self._table_maps)
            self._table_maps.append(table_map)
        return number


def _unusable(folder: SpoolFolder, error: OSError) -> TransientError:
    return TransientError(
        table_statements.NO_ROOM, directory=folder.name, why=error.strerror or str(error)
    )
