"""The bytes of a log become the bytes of its events, each whole and not decoded yet.

::

    fe 62 69 6e │ event │ event │ …        event: … 9 bytes … │ event_size u32 │ …

The size has the same offset in every format. It is not trusted: bytes are read in steps, as far as
they exist, and an impossible size is an error.

If only some tables are wanted, headers and table ids decide over whole groups. A group of the usual
form is passed over if the bytes that were received hold all of it, and no table map in it names a
wanted table. If every table map names one, all of its events are selected. Every other group is
decoded.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
"""

from typing import Final, final

from librt.strings import read_i32_le
from mypy_extensions import i64

from connector.binlog import header, log_errors
from connector.binlog.checksum import ChecksumRuns
from connector.binlog.events.table_map import TABLE_MAP_HEADER_LENGTH
from connector.binlog.files.byte_source import MAGIC_LENGTH, ByteSource
from connector.binlog.log_errors import EventError, LogRefused, LogTruncated
from connector.binlog.payload_reader import PayloadReader, has_bytes_at
from connector.binlog.table_filter import TableFilter
from connector.binlog.transactions import transaction_bounds
from connector.foundation.errors import DecodeError

_MAGIC = b"\xfebin"
# Files that are similar to logs, with their kinds.
_OTHER_MAGICS = {
    # https://dev.mysql.com/doc/refman/8.4/en/replication-binlog-encryption.html
    b"\xfdbin": log_errors.ENCRYPTED,
    # MariaDB 12.3: little-endian 0x010dfefe at the start of the first page.
    b"\xfe\xfe\x0d\x01": log_errors.INNODB_PAGES,
    b"\xfe\xfe\x0c\x01": log_errors.GTID_INDEX,
}

_U32: Final = 0xFFFF_FFFF


@final
class EventBlock:
    """Events that lie one after the other, each complete."""

    __slots__ = ("data", "end", "start")

    def __init__(self, data: bytes, start: i64, end: i64) -> None:
        self.data = data
        self.start: i64 = start
        self.end: i64 = end


@final
class EventFrames(header.EventSource):
    """Splits one log into events, from its first event on.

    Memory: a block of the log, and twice an event that spans blocks while it is joined.
    """

    def __init__(self, source: ByteSource) -> None:
        """Check the first bytes of `source`.

        Raises LogRefused for a file that is not a log, or an unsupported kind of log; LogTruncated
        if it ends too soon.
        """
        self.position = header.FIRST_POSITION
        self.version: header.BinlogVersion | None = None  # known with the first event
        # Whether the events carry checksums, which are verified here where they lie together.
        self.checksummed = False
        self.intact = False  # whether the event that was returned last is verified
        self._source = source
        # Length of every event's header; the smallest one before the format is known.
        self._header_length: i64 = header.V1_HEADER_LENGTH
        self._block = b""  # bytes that have been received,
        self._at: i64 = 0  # up to here also read,
        self._intact_to: i64 = 0  # and up to here verified
        self._runs = ChecksumRuns()
        self._pending = bytearray()  # of the next event, from the blocks before
        _check_magic(source.name, source.head)

    @property
    def header_length(self) -> int:
        """Length of every event's header; the smallest one before the format is known."""
        return self._header_length

    def next_event(self) -> bytes | None:
        """Return the next event, None at the end of the log.

        Raises LogTruncated if the log ends inside of an event. After this error, and after None,
        repeat the call when the log has grown. Raises EventError for an impossible size.
        """
        data = self.received_event()
        return self._next_in_pieces() if data is None else data

    def received_event(self) -> bytes | None:
        """Return the next event if no read is needed for it, else None."""
        block = self._block
        start = self._at
        if start < self._intact_to:
            # It is complete, and its size possible.
            self.intact = self.checksummed
            size = i64(read_i32_le(block, start + header.SIZE_OFFSET)) & _U32
            self._at = start + size
            self.position += size
            return block[start : start + size]
        available: i64 = len(block) - start
        # The pending bytes begin an event; their block has been read to its end.
        if self.version is None or available < self._header_length or self._pending:
            return None
        size = i64(read_i32_le(block, start + header.SIZE_OFFSET)) & _U32
        if size < self._header_length or size > available:
            return None
        end = start + size
        if self.checksummed:
            self.intact = end <= self._whole_to()
        self._at = end
        self.position += size
        return block[start:end]

    def received(self) -> EventBlock:
        """Return the bytes of the next events that are complete, and intact if `checksummed`.

        There may be none, although there are more events.
        """
        end = self._at if self._pending or self.version is None else self._whole_to()
        return EventBlock(self._block, self._at, end)

    def pass_over(self, end: i64) -> None:
        """Continue at `end` of the bytes that `received` returned."""
        self.position += end - self._at
        self._at = end

    def can_read_on(self) -> bool:
        """Return whether `read_on` can be called; at most half of a log is read twice by it."""
        rest: i64 = len(self._block) - self._at
        return rest < self._at and not self._pending and self._source.can_unread

    def read_on(self) -> None:
        """Read what is left of the bytes that `received` returned again, with those after it."""
        self._source.unread(len(self._block) - self._at)
        self._next_block(self._header_length)

    def _whole_to(self) -> i64:
        """Return the end of the complete and intact events in the block."""
        if self._at >= self._intact_to:
            self._intact_to = self._runs.end_of(self._block, self._at, checksummed=self.checksummed)
        return self._intact_to

    def skip_to(self, position: int) -> None:
        """Continue at `position`, which must be after the events that were read.

        Raises LogTruncated if the log ends before that position.
        """
        needed = position - self.position
        ahead: int = len(self._block) - self._at
        received = min(needed, ahead)
        self._at += received
        self._intact_to = 0
        reached = received + self._source.skip(needed - received)
        if reached < needed:
            raise LogTruncated(self._source.name, self.position, needed, reached)
        self.position = position

    def _next_in_pieces(self) -> bytes | None:
        if not self._fill(self._header_length):
            if self._pending:
                raise self._truncated(self._header_length)
            return None
        size = int.from_bytes(self._pending[header.SIZE_OFFSET : header.SIZE_END], "little")
        if not self._header_length <= size <= header.EVENT_BYTES_MAX:
            raise self._cannot_be(size)
        if not self._fill(size):
            raise self._truncated(size)
        data = bytes(self._pending)
        self.intact = False
        if self.version is None:
            self.version = header.detect_version(data)
            if self.version is not header.BinlogVersion.V1:
                self._header_length = header.HEADER_LENGTH
            if size < self._header_length:
                raise self._cannot_be(size)
        self._pending.clear()
        self.position += size
        return data

    def _fill(self, length: int) -> bool:
        """Read until `length` bytes are pending; return whether there are that many."""
        while len(self._pending) < length:
            if self._at == len(self._block):
                self._next_block(length)
                if not self._block:
                    return False
            end = self._at + length - len(self._pending)
            piece = self._block[self._at : end]
            self._pending += piece
            self._at += len(piece)
        return True

    def _next_block(self, length: int) -> None:
        """Read the next block, for an event of at least `length` bytes; it is empty at the end."""
        # First, so that the new one takes its place in memory and in the processor's cache.
        self._block = b""
        self._at = self._intact_to = 0
        self._block = self._receive(length)

    def _receive(self, length: int) -> bytes:
        """Return the next block for an event of at least `length` bytes; b"" at the end."""
        try:
            return self._source.read_block()
        except LogTruncated:
            # The compressed bytes may continue, but they are not there yet.
            raise self._truncated(length) from None
        except EventError as error:
            raise EventError(
                self._source.name, self.position, error.event_name, error.reason
            ) from error

    def _truncated(self, needed: int) -> LogTruncated:
        return LogTruncated(self._source.name, self.position, needed, len(self._pending))

    def _cannot_be(self, size: int) -> EventError:
        name = header.event_name(self._pending[header.TYPE_OFFSET])
        if size <= header.EVENT_BYTES_MAX:
            why = DecodeError(log_errors.SIZE_BELOW_HEADER, size=size, header=self._header_length)
        else:
            why = DecodeError(log_errors.SIZE_ABOVE_LIMIT, size=size, limit=header.EVENT_BYTES_MAX)
        return EventError(self._source.name, self.position, name, why)


def _check_magic(name: str, head: bytes) -> None:
    if head == _MAGIC:
        return
    if not head:
        raise LogRefused(log_errors.EMPTY, name)
    if _MAGIC.startswith(head):
        raise LogTruncated(name, 0, MAGIC_LENGTH, len(head))
    if head in _OTHER_MAGICS:
        raise LogRefused(_OTHER_MAGICS[head], name)
    actual, magic = head.hex(" "), _MAGIC.hex(" ")
    if head.isascii() and head.decode().isprintable():
        raise LogRefused(log_errors.TEXT_NOT_A_LOG, name, found=actual, magic=magic)
    raise LogRefused(log_errors.NOT_A_LOG, name, found=actual, magic=magic)


# Instead of a table id.
_NONE: Final = -1
# Slots for the latest table maps, by the lowest bits of the table id, which a server counts up.
_SLOTS: Final = 64
_SLOT_MASK: Final = _SLOTS - 1


@final
class _KnownTable:
    """A table map up to the end of the names in it, and whether its table is wanted."""

    __slots__ = ("head", "wanted")

    def __init__(self, head: bytes, *, wanted: bool) -> None:
        self.head = head
        self.wanted = wanted


@final
class GroupFilter:
    """Finds the groups that change only other tables than the wanted ones, or only wanted ones."""

    def __init__(self, wanted: TableFilter) -> None:
        self._wanted = wanted
        self._known: list[_KnownTable | None] = [None] * _SLOTS
        self._latest_id: i64 = _NONE
        self._ids: list[i64] = []  # of the tables of the current group, but the latest one

    def end_of(self, events: EventBlock, trailer: i64) -> i64:
        """Return the end of the groups at the start of `events` that change other tables.

        Each event ends in `trailer` bytes of a checksum.
        """
        return self._end_of(events, trailer, wanted=False)

    def end_of_wanted(self, events: EventBlock, trailer: i64) -> i64:
        """Return the end of the groups at the start of `events` that change wanted tables alone.

        Each of their events belongs to such a change, or opens or closes its transaction.
        """
        return self._end_of(events, trailer, wanted=True)

    def _end_of(self, events: EventBlock, trailer: i64, *, wanted: bool) -> i64:
        data = events.data
        at = events.start
        while True:
            end = self._end_of_group(data, at, events.end, trailer, wanted=wanted)
            if end == at:
                return at
            at = end

    def _end_of_group(
        self, data: bytes, start: i64, end: i64, trailer: i64, *, wanted: bool
    ) -> i64:
        """Return the end of the group that `data[start:end]` begins with.

        It is `start` if the group is not of the usual form, is not complete, has rows of an unknown
        table, or if a table map in it is `wanted` where others are not, or the other way round.
        """
        self._latest_id = _NONE
        if len(self._ids) > 0:
            self._ids.clear()
        # Whether a change follows what is about rows.
        complete = False
        at = transaction_bounds.end_of_begin(data, start, end, trailer)
        while start < at < end:
            part: i64 = transaction_bounds.PARTS[data[at + header.TYPE_OFFSET]]
            body = at + header.HEADER_LENGTH
            at += header.size_at(data, at)
            if part == transaction_bounds.PART_END:
                return start if wanted and not complete else at
            if not part:
                return start
            if (
                part <= transaction_bounds.PART_ROWS
                and at - trailer - body < transaction_bounds.TABLE_LENGTH_MIN
            ):
                return start
            if part == transaction_bounds.PART_TABLE_MAP:
                if self._is_wanted(data, body, at - trailer) != wanted:
                    return start
            elif part == transaction_bounds.PART_ROWS:
                table_id = transaction_bounds.table_id_at(data, body)
                if table_id != self._latest_id and table_id not in self._ids:
                    return start
            complete = part == transaction_bounds.PART_ROWS
        return start

    def _is_wanted(self, data: bytes, start: i64, end: i64) -> bool:
        """Return whether the table map in `data[start:end]` names a wanted table."""
        if self._latest_id != _NONE:
            self._ids.append(self._latest_id)
        self._latest_id = transaction_bounds.table_id_at(data, start)
        slot: i64 = data[start] & _SLOT_MASK
        known = self._known[slot]
        if (
            known is None
            or len(known.head) > end - start
            or not has_bytes_at(data, start, known.head)
        ):
            known = self._known[slot] = self._known_table(data[start:end])
        return known.wanted

    def _known_table(self, body: bytes) -> _KnownTable:
        reader = PayloadReader(body, TABLE_MAP_HEADER_LENGTH)
        try:
            schema = reader.read_bytes(reader.read_uint8()).decode("utf-8")
            reader.skip(1)
            table = reader.read_bytes(reader.read_uint8()).decode("utf-8")
        except (DecodeError, UnicodeDecodeError):
            # Who decodes it raises the error.
            return _KnownTable(body, wanted=True)
        head = body[: len(body) - reader.remaining]
        return _KnownTable(head, wanted=self._wanted.follows(schema, table))
