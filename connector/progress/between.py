"""Sequences for records that are written between two source transactions.

Rows of copies, and changes that come out of quarantine, sort after everything that was delivered
and before everything that follows. With `position` as the first byte after the last transaction::

    (epoch, file number, position - 1, n // 10^8, n % 10^8)

Here n counts the records written at this position. No transaction starts at the last byte of
another, so no transaction has these sequences. The progress record holds the count, so it continues
after a restart at the same position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from connector.contract import SEQ_ROW_DIGITS

if TYPE_CHECKING:
    from connector.progress.order import TransactionOrder

_ROWS_OF_A_NUMBER: Final = 10**SEQ_ROW_DIGITS


class BetweenSequence(NamedTuple):
    """The sequence of the first of the requested records; `number` is higher for the others."""

    epoch: int
    file: int
    position: int
    number: int

    @property
    def event(self) -> int:
        """The fourth part of a sequence."""
        return self.number // _ROWS_OF_A_NUMBER

    @property
    def row(self) -> int:
        """The last part of a sequence."""
        return self.number % _ROWS_OF_A_NUMBER


@final
class BetweenOrder:
    """Counts the records that are written at the stream's current position."""

    def __init__(self, order: TransactionOrder, file: str, position: int, count: int) -> None:
        """Continue after `count` records that were written at `position` of `file`."""
        self._order = order
        self._file = file
        self._position = position
        self._count = count

    def take(self, file: str, position: int, count: int) -> BetweenSequence:
        """Return the sequences of `count` records that are written at `position` of `file`.

        Raises UnsupportedChange if the count exceeds what a sequence holds.
        """
        if (file, position) != (self._file, self._position):
            self._file, self._position, self._count = file, position, 0
        epoch, number, last_byte = self._order.between(file, position)
        first = self._count
        self._count += count
        return BetweenSequence(epoch, number, last_byte, first)

    def count_at(self, file: str, position: int) -> int:
        """Return how many records were written at `position` of `file`, the current position."""
        return self._count if (file, position) == (self._file, self._position) else 0
