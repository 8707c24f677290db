"""Measures of source transactions: when they were committed, and which of them are large."""

from typing import Final, final

from mypy_extensions import i64

from connector.foundation.record_batch import BatchingTarget
from connector.stream.changes.receiver import StreamListener, TransactionEnd
from connector.stream.changes.transaction import SourceTransaction

# A transaction gets a log line if it has so many records, or so many bytes of them.
LARGE_RECORDS: Final = 100_000
LARGE_BYTES: Final = 67_108_864

_US: Final = 1_000_000
_US_PER_MS: Final = 1000


@final
class CommitTimes:
    """Counts transactions by the millisecond of their commit, in the order of the log.

    Transactions that follow each other within a millisecond are one entry, so a busy source costs
    a comparison for each of its transactions.
    """

    def __init__(self) -> None:
        self._ms: i64 = 0
        self._count: i64 = 0
        self._earlier: list[tuple[int, int]] = []

    def add(self, committed_us: i64) -> None:
        """Count a transaction that the source committed then, in microseconds since the epoch."""
        ms: i64 = committed_us // _US_PER_MS
        if ms != self._ms:
            if self._count:
                self._earlier.append((self._ms, self._count))
            self._ms = ms
            self._count = 0
        self._count += 1

    def take(self) -> list[tuple[int, int]]:
        """Return each time, in milliseconds since the epoch, with its count; then begin again."""
        taken = self._earlier
        if self._count:
            taken.append((self._ms, self._count))
        self._earlier = []
        self._count = 0
        return taken


@final
class LargeTransactions:
    """Reports each transaction that has many records, or large ones."""

    def __init__(self, target: BatchingTarget, listener: StreamListener) -> None:
        self._target = target
        self._listener = listener
        # The transaction of the latest rows, when they began, and the counts before them.
        self._transaction: SourceTransaction | None = None
        self._began_us: i64 = 0
        self._records_before: i64 = 0
        self._bytes_before: i64 = 0

    def enter(self, transaction: SourceTransaction, now_us: i64) -> None:
        """Count the records that follow for `transaction`, which may have had others before."""
        if transaction is not self._transaction:
            self._transaction = transaction
            self._began_us = now_us
            self._records_before = self._target.records
            self._bytes_before = self._target.bytes

    def leave(self, end: TransactionEnd, now_us: i64) -> None:
        """Report the transaction that ends, if it is large."""
        if self._transaction is not end.transaction:
            return
        records: i64 = self._target.records - self._records_before
        size: i64 = self._target.bytes - self._bytes_before
        if records >= LARGE_RECORDS or size >= LARGE_BYTES:
            seconds = (now_us - self._began_us) / _US
            position = f"{end.file}:{end.next_position}"
            self._listener.large_transaction(end.transaction, position, records, size, seconds)
        self._transaction = None
