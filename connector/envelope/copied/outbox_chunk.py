"""The copied rows of an outbox table become events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.contract import OP_READ
from connector.envelope.copied.copied_headers import CopiedHeaders
from connector.envelope.copied.selected_chunk import RefusedRow
from connector.errors import RecordTooLarge, UnsupportedChange

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from connector.envelope.copied.copy_position import CopyPosition
    from connector.envelope.copied.selected_chunk import Chunk
    from connector.envelope.options import EnvelopeOptions
    from connector.envelope.outbox_events import OutboxEvents
    from connector.records.record import RecordTarget

_READ: Final = ord(OP_READ)
_US_PER_MS: Final = 1000


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
