"""Sequences: the order of transactions, and of records that are written between two of them.

Sequences have the order of the source's commits, the same on every read. Within one server, (file
number, position of the transaction's first event) gives it. A failover or RESET BINARY LOGS starts
the numbers again; then `epoch` rises, and the new epoch sorts after the old one. The progress
record holds the epoch and is committed in the same Kafka transaction as the first row with that
epoch, so the epoch is durable before a consumer can see it.

*The gap between two transactions.* Rows of copies, and changes that come out of quarantine, sort
after everything that was delivered and before everything that follows. With `position` as the
first byte after the last transaction::

    (epoch, file number, position - 1, n // 10^8, n % 10^8)

Here n counts the records written at this position. No transaction starts at the last byte of
another, so no transaction has these sequences. A position above 4 GiB counts as 4 GiB
(`contract.last_byte`). The progress record holds the count, so it continues after a restart at the
same position.
"""

from typing import Final, NamedTuple, final

from connector.binlog.header import file_number
from connector.foundation import contract
from connector.foundation.errors import UnsupportedChange
from connector.stream.progress import progress_errors

_EPOCHS_MAX: Final = 10**contract.SEQ_EPOCH_DIGITS
_FILES_MAX: Final = 10**contract.SEQ_FILE_DIGITS
_POSITIONS_MAX: Final = 10**contract.SEQ_POSITION_DIGITS


@final
class TransactionOrder:
    """Gives each transaction (epoch, file number, position), always rising."""

    def __init__(
        self, *, epoch: int = 1, file: str = "", position: int = 0, same_server: bool = True
    ) -> None:
        """Continue at `file`:`position`, the end of the last committed transaction.

        `same_server` is false if the stream now comes from a different server.
        """
        self.epoch = epoch if same_server else epoch + 1
        self._file = ""
        self._number = 0  # of `_file`
        self._last = (file_number(file), position) if file and same_server else (0, 0)

    def of_transaction(self, file: str, position: int) -> tuple[int, int, int]:
        """Return (epoch, file number, position) of the transaction that starts at this position."""
        number = self._enter(file, position)
        self._last = (number, position + 1)
        return self.epoch, number, position

    def between(self, file: str, position: int) -> tuple[int, int, int]:
        """Return (epoch, file number, position) of records after the transaction that ends here.

        The returned position is `contract.last_byte`; no transaction starts there.
        """
        number = self._enter(file, position)
        self._last = (number, position)
        return self.epoch, number, contract.last_byte(position)

    def _enter(self, file: str, position: int) -> int:
        """Return the file's number; begin a new epoch if the position is before the last one."""
        if file != self._file:
            # At the start of a stream by GTID, the file is not known.
            self._number = file_number(file) if file else 0
            self._file = file
        number = self._number
        last_number, last_position = self._last
        if number < last_number or (number == last_number and position < last_position):
            self.epoch += 1
        if self.epoch >= _EPOCHS_MAX or number >= _FILES_MAX or position >= _POSITIONS_MAX:
            raise UnsupportedChange(
                progress_errors.SEQUENCE_END, log_position=f"{file}:{position}", epoch=self.epoch
            )
        return number


_ROWS_OF_A_NUMBER: Final = 10**contract.SEQ_ROW_DIGITS


class GapSequence(NamedTuple):
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
class GapCounter:
    """Counts the records that are written at the stream's current position."""

    def __init__(self, order: TransactionOrder, file: str, position: int, count: int) -> None:
        """Continue after `count` records that were written at `position` of `file`."""
        self._order = order
        self._file = file
        self._position = position
        self._count = count

    def take(self, file: str, position: int, count: int) -> GapSequence:
        """Return the sequences of `count` records that are written at `position` of `file`.

        Raises UnsupportedChange if the count exceeds what a sequence holds.
        """
        if (file, position) != (self._file, self._position):
            self._file, self._position, self._count = file, position, 0
        epoch, number, last_byte = self._order.between(file, position)
        first = self._count
        self._count += count
        return GapSequence(epoch, number, last_byte, first)

    def count_at(self, file: str, position: int) -> int:
        """Return how many records were written at `position` of `file`, the current position."""
        return self._count if (file, position) == (self._file, self._position) else 0
