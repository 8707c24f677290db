"""Places in the order of changes for what is written between two source transactions.

Rows of copies, and changes that come out of quarantine, stand after everything that was delivered
and before everything that follows. With `position` as the first byte after the last transaction::

    (epoch, file number, position - 1, n // 10^8, n % 10^8)

where n counts what was written at this place. No transaction starts at the last byte of another, so
these are places of their own. The count travels in the progress record, so that it goes on after a
restart at the same place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from connector.contract import SEQ_ROW_DIGITS

if TYPE_CHECKING:
    from connector.progress.order import TransactionOrder

_ROWS_OF_A_NUMBER: Final = 10**SEQ_ROW_DIGITS


class BetweenPlace(NamedTuple):
    """Where the first of the records goes that were asked for; `number` of the others rises."""

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
    """Counts what is written at the place where the stream stands."""

    def __init__(self, order: TransactionOrder, file: str, position: int, count: int) -> None:
        """Continue after `count` records that were written at `position` of `file`."""
        self._order = order
        self._file = file
        self._position = position
        self._count = count

    def take(self, file: str, position: int, count: int) -> BetweenPlace:
        """Return the place of `count` records that are written at `position` of `file`.

        Raises UnsupportedChange if a sequence cannot count that far.
        """
        if (file, position) != (self._file, self._position):
            self._file, self._position, self._count = file, position, 0
        epoch, number, place = self._order.between(file, position)
        first = self._count
        self._count += count
        return BetweenPlace(epoch, number, place, first)

    def count_at(self, file: str, position: int) -> int:
        """Return how many records were written at `position` of `file`, the current place."""
        return self._count if (file, position) == (self._file, self._position) else 0
