"""The copied rows of an outbox table become events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.contract import OP_READ, SEQ_ROW_DIGITS
from connector.envelope.copied.selected_chunk import RefusedRow
from connector.envelope.record_headers import RecordHeaders, schema_header
from connector.errors import RecordTooLarge, UnsupportedChange

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from connector.envelope.copied.copy_position import CopyPosition
    from connector.envelope.copied.selected_chunk import Chunk
    from connector.envelope.outbox_events import OutboxEvents
    from connector.records.record import RecordTarget

_READ: Final = ord(OP_READ)
_ROWS_PER_EVENT: Final = 10**SEQ_ROW_DIGITS
_US_PER_MS: Final = 1000


def publish_events(
    chunk: Chunk,
    events: OutboxEvents,
    target: RecordTarget,
    read_at: CopyPosition,
    touched: AbstractSet[bytes],
) -> int:
    """Give `target` the event of each row whose key is not in `touched`; return their number.

    A row that cannot be an event, or whose record is too large, joins those that are `refused`.
    """
    headers = RecordHeaders()
    schema_id = schema_header(chunk.schema.schema_id)
    transaction_id = f"{read_at.file}:{read_at.position}".encode()
    number = read_at.first_row
    event = -1
    for row_key, row in chunk.rows():
        if row_key in touched:
            continue
        if number // _ROWS_PER_EVENT != event:
            event = number // _ROWS_PER_EVENT
            headers.begin(
                read_at.epoch,
                read_at.file_number,
                read_at.position - 1,
                event,
                schema_id,
                transaction_id,
            )
        try:
            made = events.event(row)
            encoded = headers.encode_more(_READ, number - event * _ROWS_PER_EVENT, made.headers)
            target.take(made.topic, made.key, made.value, encoded, read_at.read_us // _US_PER_MS)
        except (RecordTooLarge, UnsupportedChange) as error:
            chunk.refused.append(RefusedRow(row_key, row, error))
            continue
        number += 1
    return number - read_at.first_row
