"""PARTIAL_ROW_DATA_EVENT of MariaDB (12.3): a rows event that is cut into several events.

::

    total_fragments u32 │ sequence_number u32, from 1 │ flags u8 │
    [original_size u64, flag 0x01] │ fragment to the end

The fragments, joined in their order, are the rows event with its header.
The first one says how many bytes they have together.

https://mariadb.com/docs/server/reference/clientserver-protocol/replication-protocol/partial_row_data_event
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from connector.errors import DecodeError, log_payloads

if TYPE_CHECKING:
    from connector.binlog.events.rows import RowsEvent
    from connector.codec.payload import PayloadReader

FL_ORIG_EVENT_SIZE = 0x01

# The size in the header of an event has 32 bits.
ORIGINAL_SIZE_MAX = (1 << 32) - 1

_LAYOUT = Struct("<IIB")


@dataclass(slots=True)
class PartialRowDataEvent:
    """A part of a rows event; the last part carries the whole one as `rows_event`."""

    total_fragments: int
    sequence_number: int  # of this fragment, from 1
    flags: int
    original_size: int | None  # bytes of the rows event; in the first fragment
    fragment: bytes
    rows_event: RowsEvent | None = None  # put together, in the last fragment

    @classmethod
    def decode(cls, body: PayloadReader) -> PartialRowDataEvent:
        """Decode the head and one fragment, which fills the rest of the body.

        Raises DecodeError for a number outside of 1 to the total.
        """
        total, number, flags = _LAYOUT.unpack(body.read_bytes(_LAYOUT.size))
        if not 0 < number <= total:
            raise DecodeError(log_payloads.FRAGMENT_NUMBER, number=number, total=total)
        size = body.read_uint64() if flags & FL_ORIG_EVENT_SIZE else None
        return cls(total, number, flags, size, body.read_rest())

    def encode(self) -> bytes:
        """Return the head, the size if this is the first fragment, and the fragment."""
        size = b"" if self.original_size is None else self.original_size.to_bytes(8, "little")
        head = _LAYOUT.pack(self.total_fragments, self.sequence_number, self.flags)
        return head + size + self.fragment

    @property
    def last(self) -> bool:
        """Whether no other fragment of the rows event follows."""
        return self.sequence_number == self.total_fragments


class RowsEventAssembler:
    """Joins the fragments of rows events, one rows event at a time."""

    def __init__(self) -> None:
        self._fragments: list[bytes] = []
        self._total = 0
        self._size = 0  # bytes of the fragments so far
        self._original_size: int | None = None  # bytes that all have together, where it is said

    @property
    def pending(self) -> bool:
        """Whether fragments of a rows event are still to come."""
        return bool(self._fragments)

    def receive(self, event: PartialRowDataEvent) -> bytes | None:
        """Return the rows event with the last fragment, else None.

        Raises DecodeError for a fragment out of order, and for another size than the first one
        said.
        """
        number, total = event.sequence_number, event.total_fragments
        if number != len(self._fragments) + 1 or (self._fragments and total != self._total):
            awaited = self._give_up()
            if awaited == 1:
                raise DecodeError(log_payloads.FRAGMENT_NOT_BEGUN, number=number, total=total)
            raise DecodeError(
                log_payloads.FRAGMENT_ORDER,
                number=number,
                total=total,
                awaited=awaited,
                awaited_total=self._total,
            )
        if number == 1:
            self._total = total
            self._size = 0
            self._original_size = event.original_size
        self._fragments.append(event.fragment)
        self._size += len(event.fragment)
        size = ORIGINAL_SIZE_MAX if self._original_size is None else self._original_size
        if self._size > size or (event.last and self._size < (self._original_size or 0)):
            self._fragments.clear()
            raise DecodeError(
                log_payloads.FRAGMENTS_SIZE, size=size, number=number, total=total, found=self._size
            )
        if not event.last:
            return None
        whole = b"".join(self._fragments)
        self._fragments.clear()
        return whole

    def require_nothing_open(self) -> None:
        """Raise DecodeError when fragments of a rows event are still to come."""
        if self._fragments:
            awaited = self._give_up()
            raise DecodeError(
                log_payloads.FRAGMENT_MISSING, awaited=awaited, awaited_total=self._total
            )

    def _give_up(self) -> int:
        """Drop the fragments and return the number that should have come next.

        So a reader that continues after the error gets no second one for the same fragments.
        """
        awaited = len(self._fragments) + 1
        self._fragments.clear()
        return awaited
