"""The rows of one SELECT become records or outbox events, once their sequences are known.

A chunk holds its rows in the form of the records: the value up to the end of the row, and the key.
The parts that all records share, and their sequences, are added when it is published.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, final

from librt.strings import BytesWriter, read_i64_le
from mypy_extensions import i64

from connector.foundation.contract import OP_READ, SEQ_ROW_DIGITS, last_byte
from connector.foundation.errors import ConnectorError, RecordTooLarge, UnsupportedChange
from connector.foundation.kafka_records import RecordTarget
from connector.stream.envelope.cloud_events import EVENT_END, CloudEvents
from connector.stream.envelope.flat_fields import FlatFields
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.outbox_events import OutboxEvents
from connector.stream.envelope.record_frame import NO_BEFORE, RecordFrame
from connector.stream.envelope.record_headers import RecordHeaders, TableHeaders
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.envelope.source_block import SourceBlock, SourceTable

# What `source` says of a copied row, unless it is the first or the last of a snapshot.
COPIED: Final = "true"
_FIRST: Final = "first"
_LAST: Final = "last"


@dataclass(frozen=True, slots=True)
class CopyPosition:
    """Where the rows of a chunk stand in the log and in the order of changes.

    Their sequences are (epoch, number of `file`, last byte, n // 10^8, n % 10^8), n counting
    from `first_row`: after every change that was delivered before, and before all that follow.
    """

    epoch: int
    file: str
    file_number: int
    position: int  # first byte after the last delivered transaction
    first_row: int  # number of copied rows that were written at this position before
    read_us: int  # time of the SELECT by the connector's clock, in microseconds since 1970
    time_us: int  # when the source was at `position`, by its log, in microseconds since 1970
    # What `source` says of the first and of the last row of the chunk.
    first: str = COPIED
    last: str = COPIED

    @property
    def is_marked(self) -> bool:
        """Whether a row of the chunk is the first or the last of a table."""
        return self.first != COPIED or self.last != COPIED

    def mark(self, *, is_first: bool, is_last: bool) -> str:
        """Return what `source` says of a row; if two marks fit, Debezium's choice."""
        first = self.first if is_first else COPIED
        last = self.last if is_last else COPIED
        return first if last == COPIED or (first == _FIRST and last != _LAST) else last


ROWS_PER_EVENT: Final = 10**SEQ_ROW_DIGITS


@final
class CopiedHeaders:
    """Writes the headers of the rows of one SELECT."""

    __slots__ = ("_event", "_headers", "_read_at", "_table", "_transaction_id")

    def __init__(
        self, read_at: CopyPosition, schema: TableSchema, options: EnvelopeOptions
    ) -> None:
        """Take the position of the rows, and their column list."""
        self._read_at = read_at
        pipeline = options.pipeline_header(schema.database, schema.table)
        self._table = TableHeaders(schema.schema_id, pipeline)
        self._transaction_id = f"{read_at.file}:{read_at.position}".encode()
        self._headers = RecordHeaders()
        self._event: i64 = -1

    def encode(self, op: i64, number: i64) -> bytes:
        """Return the headers of row `number` of all that are copied there; `op` is a letter."""
        return self._headers.encode(op, self._row(number))

    def encode_more(self, op: i64, number: i64, headers: list[tuple[bytes, bytes | None]]) -> bytes:
        """Return the headers as `encode`, with others after them; None is a header's NULL."""
        return self._headers.encode_more(op, self._row(number), headers)

    def _row(self, number: i64) -> i64:
        """Return the number of a row in its event, and begin the event."""
        event: i64 = number // ROWS_PER_EVENT
        if event != self._event:
            self._event = event
            read_at = self._read_at
            self._headers.begin(
                read_at.epoch,
                read_at.file_number,
                last_byte(read_at.position),
                event,
                self._table,
                self._transaction_id,
            )
        return number - event * ROWS_PER_EVENT


def copied_parts(
    options: EnvelopeOptions,
    form: RecordFrame,
    schema: TableSchema,
    read_at: CopyPosition,
    op: i64,
    now_us: i64,
    snapshot: str = COPIED,
) -> tuple[bytes, bytes]:
    """Return what comes before `{"before":` or a row without an envelope, and what follows it.

    Each record is about one row of `schema`, with the operation `op`, encoded at `now_us`, and has
    `snapshot` in its source.
    """
    table = SourceTable(schema.database, schema.table, snapshot)
    file, position, read_us = read_at.file, read_at.position, read_at.read_us
    chosen = options.debezium
    # Debezium's copied rows have the time of the SELECT, by the connector's clock.
    time_us = read_at.time_us if chosen is None else read_us
    out = BytesWriter()
    if chosen is not None and chosen.is_flat:
        fields = FlatFields(options)
        fields.begin_copy(file, position, read_us, table, now_us)
        fields.put(out, op, 0)
        return form.flat_head, out.getvalue()
    if chosen is not None and chosen.is_cloud_event:
        events = CloudEvents(options)
        events.begin_copy(file, position, read_us, table)
        events.put(out, op, 0)
        return out.getvalue(), EVENT_END
    source = SourceBlock(options)
    source.begin_copy(file, position, time_us, table, now_us)
    source.put(out, op, 0)
    return form.no_before[: -len(NO_BEFORE)], out.getvalue()


# A compiled dataclass looks the types of its fields up.


# Before each row: bytes of the value, and of the key.
LENGTHS: Final = 16
NO_KEY: Final = -1

_READ: Final = ord(OP_READ)
_US_PER_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that cannot become a record."""

    key: bytes | None  # of its record; None if the key cannot be written
    # The row of the SELECT's answer; if the record is too large, its value.
    data: bytes
    error: ConnectorError


@final
class _Values:
    """The values of the records of one chunk, up to the form that its profile asks for."""

    def __init__(
        self,
        options: EnvelopeOptions,
        form: RecordFrame,
        schema: TableSchema,
        read_at: CopyPosition,
        now_us: i64,
    ) -> None:
        self._options = options
        self._form = form
        self._schema = schema
        self._read_at = read_at
        self._now_us: i64 = now_us
        self._head, self._end = copied_parts(options, form, schema, read_at, _READ, now_us)
        is_flat = options.debezium is not None and options.debezium.is_flat
        # A row without an envelope is taken out of one, without its last brace.
        self._skipped: i64 = len(NO_BEFORE) if is_flat else 0
        self._dropped: i64 = 1 if is_flat else 0

    def of(self, data: bytes, start: i64, end: i64, mark: str) -> bytes:
        """Return the value of the row in `data[start:end]`, whose source says `mark`."""
        row = data[start + self._skipped : end - self._dropped]
        if mark == COPIED:
            head = self._head
            return head + row + self._end if head else row + self._end
        before, after = copied_parts(
            self._options, self._form, self._schema, self._read_at, _READ, self._now_us, mark
        )
        return before + row + after


@final
class Chunk:
    """The rows of one SELECT, or of several that follow each other.

    `count` rows, which take `size` bytes of memory; those in `refused` are among them. `last_key`
    has the cells of the key's columns of the last row, in key order, as the server sent them; empty
    without rows, or without a key.
    """

    __slots__ = ("count", "data", "last_key", "refused", "row_keys", "schema", "size")

    def __init__(
        self,
        schema: TableSchema,
        data: bytes,
        count: i64,
        last_key: list[bytes],
        refused: list[RefusedRow],
        row_keys: list[bytes],
    ) -> None:
        """Hold the rows in `data`, each after the lengths of its value and of its key.

        `row_keys` has the keys of the rows if those of their records are others, else nothing.
        """
        self.row_keys = row_keys
        self.schema = schema
        self.count: i64 = count
        self.size: i64 = len(data)
        for row in refused:
            self.size += len(row.data)
        self.last_key = last_key
        self.refused = refused
        self.data = data

    @staticmethod
    def joined(chunks: list["Chunk"]) -> "Chunk":
        """Return the rows of one or more chunks of a table, which follow each other."""
        last = chunks[-1]
        if len(chunks) == 1:
            return last
        last_key = last.last_key
        data: list[bytes] = []
        refused: list[RefusedRow] = []
        row_keys: list[bytes] = []
        count: i64 = 0
        for chunk in chunks:
            data.append(chunk.data)
            refused += chunk.refused
            row_keys += chunk.row_keys
            count += chunk.count
            if chunk.count:
                last_key = chunk.last_key
        return Chunk(last.schema, b"".join(data), count, last_key, refused, row_keys)

    def publish(
        self,
        target: RecordTarget,
        options: EnvelopeOptions,
        read_at: CopyPosition,
        touched: AbstractSet[bytes],
        now_us: i64,
    ) -> i64:
        """Give `target` the record of each row whose key is not in `touched`.

        `now_us` is the time of encoding. Returns how many records there were. A row whose record is
        too large, or that its form cannot express, joins those that are `refused`.
        """
        schema = self.schema
        topic = options.topics.of(schema.database, schema.table)
        form = RecordFrame(options, schema)
        values = _Values(options, form, schema, read_at, now_us)
        headers = CopiedHeaders(read_at, schema, options)
        timestamp_ms: i64 = read_at.read_us // _US_PER_MS
        some_touched = len(touched) > 0
        is_marked = read_at.is_marked
        data = self.data
        size: i64 = len(data)
        row: i64 = read_at.first_row
        row_keys = self.row_keys
        number: i64 = 0
        written: i64 = 0
        at: i64 = 0
        while at < size:
            value_length = read_i64_le(data, at)
            key_length = read_i64_le(data, at + 8)
            start = at + LENGTHS
            value_end = start + value_length
            key: bytes | None = None
            at = value_end
            if key_length != NO_KEY:
                at = value_end + key_length
                key = data[value_end:at]
            row_key = row_keys[number] if row_keys else key
            number += 1
            if some_touched and row_key in touched:
                continue
            mark = COPIED
            if is_marked:
                mark = read_at.mark(is_first=number == 1, is_last=at == size)
            value = values.of(data, start, value_end, mark)
            row_headers = headers.encode(_READ, row)
            try:
                target.take(topic, form.key(key), form.value(value), row_headers, timestamp_ms)
            except (RecordTooLarge, UnsupportedChange) as error:
                self.refused.append(RefusedRow(row_key, value, error))
                continue
            row += 1
            written += 1
        return written

    def keys(self) -> set[bytes]:
        """Return the keys of the rows, also of those that are refused; they have keys."""
        record_keys: set[bytes] = set(self.row_keys)
        data = self.data
        size: i64 = 0 if record_keys else len(data)
        at: i64 = 0
        while at < size:
            key_length = read_i64_le(data, at + 8)
            start = at + LENGTHS + read_i64_le(data, at)
            at = start + key_length
            record_keys.add(data[start:at])
        for row in self.refused:
            # A key that cannot be written is not the key of a record.
            if row.key is not None:
                record_keys.add(row.key)
        return record_keys

    def values(self) -> list[bytes]:
        """Return the rows as values of records, which end after the row: without a source."""
        return [NO_BEFORE + row + b"}" for _, row in self.rows()]

    def rows(self) -> list[tuple[bytes | None, bytes]]:
        """Return the key and the JSON object of each row that is not refused."""
        rows: list[tuple[bytes | None, bytes]] = []
        data = self.data
        size: i64 = len(data)
        at: i64 = 0
        while at < size:
            key_length = read_i64_le(data, at + 8)
            start = at + LENGTHS
            at = start + read_i64_le(data, at)
            row = data[start + len(NO_BEFORE) : at]
            key: bytes | None = None
            if key_length != NO_KEY:
                key = data[at : at + key_length]
                at += key_length
            rows.append((self.row_keys[len(rows)] if self.row_keys else key, row))
        return rows


def publish_events(
    chunk: Chunk,
    events: OutboxEvents,
    target: RecordTarget,
    options: EnvelopeOptions,
    read_at: CopyPosition,
    touched: AbstractSet[bytes],
) -> int:
    """Give `target` the event of each row whose key is not in `touched`; return their number.

    A row that cannot be an event, or whose record is too large, joins those that are `refused`.
    """
    headers = CopiedHeaders(read_at, chunk.schema, options)
    number = read_at.first_row
    for row_key, row in chunk.rows():
        if row_key in touched:
            continue
        try:
            made = events.event(row)
            encoded = headers.encode_more(_READ, number, made.headers)
            target.take(made.topic, made.key, made.value, encoded, read_at.read_us // _US_PER_MS)
        except (RecordTooLarge, UnsupportedChange) as error:
            chunk.refused.append(RefusedRow(row_key, row, error))
            continue
        number += 1
    return number - read_at.first_row
