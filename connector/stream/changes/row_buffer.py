"""Rows whose outcome is unknown so far, in order: the first in memory, the rest in a file.

These are rows between XA PREPARE and XA COMMIT, and rows that a savepoint may take back. The file
is appended in order, and read from the start::

    fixed part │ data of the event │ bitmap before │ bitmap after │ rows, where not in the data

The rows of a compressed or fragmented event are stored as they are read. Names of files and table
maps are few, so they stay in memory. The file has no name: the system removes it at the end of
the process.
"""

from contextlib import suppress
from struct import Struct
from typing import IO, Final, Protocol, final

from mypy_extensions import i64

from connector.binlog.event import Event
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import ExtraRowInfo, RowsKind
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.header import EventHeader
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import TransientError
from connector.stream.changes import changes_errors
from connector.stream.changes.transaction import RowsChange, RowsReceiver, SourceTransaction

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
        changes_errors.NO_ROOM, directory=folder.name, why=error.strerror or str(error)
    )


# Bytes of events of one transaction that stay in memory.
MEMORY_BYTES_MAX: Final = 4 * 1024 * 1024

_NONE: Final = -1


@final
class _Savepoint:
    """The held rows at the time a savepoint was set."""

    def __init__(self, name: str, in_memory: i64, in_file: i64) -> None:
        self.name = name
        self.in_memory: i64 = in_memory  # changes
        self.in_file: i64 = in_file  # bytes


@final
class RowBuffer:
    """Changes of rows of one transaction."""

    def __init__(self, folder: SpoolFolder, memory_bytes_max: i64 = MEMORY_BYTES_MAX) -> None:
        """Hold nothing; of later changes, `memory_bytes_max` bytes of events stay in memory.

        The rest goes to a file in `folder`.
        """
        self._folder = folder
        self._memory_bytes_max: i64 = memory_bytes_max
        self._memory: list[RowsChange] = []
        self.memory_bytes: i64 = 0  # bytes of the events in memory
        self._spool: RowSpool | None = None
        self._savepoints: list[_Savepoint] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held."""
        return not self._memory and (self._spool is None or self._spool.end == 0)

    @property
    def bytes(self) -> i64:
        """Bytes of the events that are held."""
        spooled: i64 = 0 if self._spool is None else self._spool.end
        return self.memory_bytes + spooled

    def add(self, change: RowsChange) -> None:
        """Add a change at the end. Raises TransientError if the disk is full."""
        spool = self._spool
        if spool is None:
            size = _size(change)
            if self.memory_bytes + size <= self._memory_bytes_max:
                self._memory.append(change)
                self.memory_bytes += size
                return
            spool = self._spool = RowSpool(self._folder)
        spool.add(change)

    def hand_on(self, transaction: SourceTransaction, receiver: RowsReceiver) -> None:
        """Give all changes to `receiver`, as changes of `transaction`, and hold nothing.

        Raises TransientError if the file cannot be read, and the receiver's errors.
        """
        for change in self._memory:
            change.transaction = transaction
            receiver.rows(change)
        spool = self._spool
        if spool is not None:
            spool.rewind()
            while (spooled := spool.read(transaction)) is not None:
                receiver.rows(spooled)
        self.drop()

    def set_savepoint(self, name: str) -> None:
        """Remember the rows that are held now."""
        in_file: i64 = 0 if self._spool is None else self._spool.end
        self._savepoints.append(_Savepoint(name, len(self._memory), in_file))

    def roll_back_to(self, name: str) -> bool:
        """Drop the rows after a savepoint; return False if its name is ambiguous or unknown.

        A name that is set again, in any letter case, means only the later savepoint. Outside of
        ASCII, the server's collation decides which names are equal.
        """
        place: i64 = _NONE
        for index, savepoint in enumerate(self._savepoints):
            if not savepoint.name.isascii():
                return False
            if savepoint.name.lower() == name.lower():
                place = index
        if place == _NONE:
            return False
        meant = self._savepoints[place]
        del self._savepoints[place + 1 :]
        del self._memory[meant.in_memory :]
        self.memory_bytes = 0
        for change in self._memory:
            self.memory_bytes += _size(change)
        if self._spool is not None:
            self._spool.truncate(meant.in_file)
        return True

    def leave_memory(self) -> None:
        """Move all rows to the file; savepoints are forgotten.

        Raises TransientError if the disk is full.
        """
        if not self._memory:
            return
        spool = RowSpool(self._folder)
        try:
            for change in self._memory:
                spool.add(change)
            later = self._spool
            if later is not None:
                transaction = self._memory[0].transaction
                later.rewind()
                while (spooled := later.read(transaction)) is not None:
                    spool.add(spooled)
        except TransientError:
            spool.close()
            raise
        self.drop()
        self._spool = spool

    def drop(self) -> None:
        """Drop all rows and savepoints."""
        self._memory = []
        self.memory_bytes = 0
        self._savepoints = []
        if self._spool is not None:
            self._spool.close()
            self._spool = None


def _size(change: RowsChange) -> i64:
    return len(change.event.data) + change.rows.rows_length
