"""What a delivery stream is made of: where its records go, who gets its changes, what it measures.

`DeliveryStream` takes the first of these objects apart once, when it is made. It measures when
source transactions were committed, and which of them are large.
"""

from dataclasses import dataclass, field
from typing import Final, final

from mypy_extensions import i64

from connector.foundation.record_batch import BatchingTarget
from connector.stream.changes.cascades import Cascades
from connector.stream.changes.online_schema_change import OnlineSchemaChanges
from connector.stream.changes.receiver import StreamListener, TransactionEnd
from connector.stream.changes.signal_table import SignalTable
from connector.stream.changes.transaction import SourceTransaction
from connector.stream.envelope.metadata_topics import TransactionRecords
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.quarantine.guard import Guard

# What to do after an ALTER TABLE that is not proven to keep the rows; "fence" is the third choice.
COPY_REWRITTEN: Final = "copy"
STOP_REWRITTEN: Final = "stop"


@dataclass(frozen=True, slots=True)
class RecordOutput:
    """Where the records of a stream go."""

    encoder: RecordEncoder  # writes to `transactions` if there are any, else to `target`
    target: BatchingTarget
    # Get the transaction of the next records.
    transactions: TransactionRecords | None = None


@dataclass(frozen=True, slots=True)
class DeliveryOptions:
    """How to read the log of a server, after what earlier runs have read."""

    lower_case_names: bool = False  # as in `TransactionAssembler`
    online: OnlineSchemaChanges = field(default_factory=OnlineSchemaChanges)  # the same
    # Ids of transactions whose rows are left out.
    rolled_back: frozenset[str] = frozenset()
    # What to do if the log does not hold the rows after ALTER TABLE; a fence needs a guard.
    on_rewrite: str = COPY_REWRITTEN


@dataclass(frozen=True, slots=True)
class ChangeHandlers:
    """Who gets changes beside the encoder."""

    # Gets changes that cannot be published; without one they are an error.
    guard: Guard | None = None
    # Gets what becomes no record.
    listener: StreamListener = field(default_factory=StreamListener)
    # Gets the changes of tables that foreign keys refer to; without it, what they cascade stays
    # unknown.
    cascades: Cascades | None = None
    # Gets all rows.
    signals: SignalTable | None = None


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
