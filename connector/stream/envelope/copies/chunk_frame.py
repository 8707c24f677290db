"""The source block, headers and sequences around the rows of one SELECT.

All rows of a chunk have the same position in the log. Their sequences count on from those of
earlier chunks.
"""

from dataclasses import dataclass
from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from connector.foundation.contract import SEQ_ROW_DIGITS
from connector.stream.envelope.cloud_events import EVENT_END, CloudEvents
from connector.stream.envelope.flat_fields import FlatFields
from connector.stream.envelope.options import EnvelopeOptions
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

    Their sequences are (epoch, number of `file`, position - 1, n // 10^8, n % 10^8), n counting
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
        owner = options.owner(schema.database, schema.table)
        self._table = TableHeaders(schema.schema_id, owner)
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
                read_at.position - 1,
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
