"""The headers of copied rows, whose sequences count on from those of earlier chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.contract import SEQ_ROW_DIGITS
from connector.envelope.record_headers import RecordHeaders, TableHeaders

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.envelope.copied.copy_position import CopyPosition
    from connector.envelope.options import EnvelopeOptions
    from connector.envelope.schemas.table_schema import TableSchema

_ROWS_PER_EVENT: Final = 10**SEQ_ROW_DIGITS


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
        event: i64 = number // _ROWS_PER_EVENT
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
        return number - event * _ROWS_PER_EVENT
