"""Positions of transactions become the first three parts of their sequences.

Sequences have the order of the source's commits, the same on every read. Within one server, (file
number, position of the transaction's first event) gives it. A failover or RESET BINARY LOGS starts
the numbers again; then `epoch` rises, and the new epoch sorts after the old one. The progress
record holds the epoch and is committed in the same Kafka transaction as the first row with that
epoch, so the epoch is durable before a consumer can see it.
"""

from __future__ import annotations

from typing import Final, final

from connector.binlog.framing.log_position import file_number
from connector.contract import SEQ_EPOCH_DIGITS, SEQ_FILE_DIGITS, SEQ_POSITION_DIGITS
from connector.errors import UnsupportedChange, table_rows

_EPOCHS_MAX: Final = 10**SEQ_EPOCH_DIGITS
_FILES_MAX: Final = 10**SEQ_FILE_DIGITS
_POSITIONS_MAX: Final = 10**SEQ_POSITION_DIGITS


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

        The returned position is the last byte of that transaction; no transaction starts there.
        """
        number = self._enter(file, position)
        self._last = (number, position)
        return self.epoch, number, position - 1

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
                table_rows.SEQUENCE_END, log_position=f"{file}:{position}", epoch=self.epoch
            )
        return number
