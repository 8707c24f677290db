"""kafka-python's producer, which takes whole record batches, and whose waits end.

`commit_transaction` and `abort_transaction` wait without limit while no broker answers, and `close`
first tries to deliver what is queued. This producer gives up after a timeout, and drops what is
queued.

A small transaction is committed without the client's thread (`direct_commits`), if it is complete
before any of it was sent. While the client commits a larger one, this producer takes the batches of
the next one, and has them compressed.

This module, `network`, `listener`, `inspection`, `delivery` and the modules of direct commits use
private names of kafka-python 3.0; `pyproject.toml` pins the minor version.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from connector.errors import kafka
from connector.sink.delivery import BatchDelivery, delivery_of
from connector.sink.direct_commits import DirectCommits, Reached, is_small
from connector.sink.timeouts import TimedOut

# ruff: noqa: SLF001 - the client has no public way to say what others have sent

if TYPE_CHECKING:
    from connector.records.record_batch import RecordBatch
    from connector.sink.sealed_records import SealedRecords

# The end of a run waits this long.
_ABORT_SECONDS = 10.0
# At a forced close, the sender's thread must run once more to fail the queued batches.
_CLOSE_SECONDS = 5
_MS = 1000


class TransactionalProducer(KafkaProducer):  # type: ignore[misc]  # the library has no types
    """An initialised transactional producer; its id fences older ones."""

    def __init__(self, timeout_seconds: float, **arguments: Any) -> None:
        """Connect and take over `transactional_id`; raises KafkaError."""
        super().__init__(**arguments)
        self._timeout_seconds = timeout_seconds
        # Batches that the client does not have yet, and whether its transaction has begun.
        self._held: list[SealedRecords] = []
        self._begun = False
        # The end of that transaction, if the client commits it now.
        self._ending: Any = None
        self._direct: DirectCommits | None = None
        try:
            self._delivery = delivery_of(self)
            if isinstance(self._delivery, BatchDelivery):
                self._direct = DirectCommits(self, arguments, timeout_seconds)
            self.init_transactions()
        except BaseException:
            self.close_now()
            raise

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of batches that Kafka has not acknowledged yet."""
        return self._delivery.in_flight_bytes + self._held_bytes

    def begin_transaction(self) -> None:
        """Begin; the client's transaction begins with the first batch that it is given."""
        if self._begun and self._ending is None:
            super().begin_transaction()

    def deliver(self, batch: RecordBatch, in_flight_bytes_max: int) -> None:
        """Queue a batch in the open transaction as soon as there is room for it.

        `wake`, a later batch or the commit sends it. Raises KafkaError.
        """
        records = self._delivery.records_of(batch)
        if self._ending is not None:
            if not self._ending.is_done and self._has_room(records.size, in_flight_bytes_max):
                self._held.append(records)
                self._delivery.compress_ahead(records)
                return
            self.finish_commit()
        if not self._begun and self._holds(records, in_flight_bytes_max):
            self._held.append(records)
            return
        self._hand_over()
        self._delivery.make_room(records.size, in_flight_bytes_max, self._timeout_seconds)
        self._delivery.deliver(records)

    def wake(self) -> None:
        """Send what is queued, unless the transaction before is still being committed."""
        if self._ending is None:
            self._hand_over()
            self._sender.wakeup()

    @property
    def is_committing(self) -> bool:
        """Whether a commit has begun that `finish_commit` has to wait for."""
        return self._ending is not None

    def start_commit(self) -> None:
        """Begin to commit, after the end of the commit before; a small one is done at the return.

        Batches that are delivered now belong to the next transaction. Raises KafkaError; after
        KafkaTimeoutError, the outcome is unknown.
        """
        if not self._begun and self._commit_directly():
            return
        self._delivery.settle(self._timeout_seconds)
        self._ending = self._transaction_manager.begin_commit()
        self._sender.wakeup()

    def finish_commit(self) -> None:
        """Wait for the end of a commit, if one has begun; raises as `start_commit` does."""
        ending, self._ending = self._ending, None
        if ending is not None:
            self._complete(ending, self._timeout_seconds)
            self._begun = False

    def abort_transaction(self) -> None:
        """Abort; without a response, raises KafkaTimeoutError, and Kafka aborts later.

        A commit that has begun is awaited, not aborted. If the client itself has failed, this
        producer is of no use any more.
        """
        self._held.clear()
        seconds = min(_ABORT_SECONDS, self._timeout_seconds)
        ending, self._ending = self._ending, None
        if ending is not None:
            # If that fails, it is aborted as well.
            with suppress(KafkaError):
                self._complete(ending, seconds)
                self._begun = False
        if self._direct is not None and self._transaction_manager.has_fatal_error():
            # After a request without a response, the client sends no end of the transaction.
            self._direct.take_over(seconds)
        elif self._begun:
            self._complete(self._transaction_manager.begin_abort(), seconds)
            self._delivery.aborted()
            self._begun = False

    def close_now(self) -> None:
        """Close without delivering what is queued."""
        if self._direct is not None:
            self._direct.close()
            self._delivery.close()
        self._sender.force_close()
        try:
            self.close(timeout=_CLOSE_SECONDS)
        except KafkaError:
            # Nothing in the queue was committed; the sender's thread is a daemon.
            self._closed = True

    @property
    def _held_bytes(self) -> int:
        return sum(held.size_in_bytes() for held in self._held)

    def _has_room(self, size: int, in_flight_bytes_max: int) -> bool:
        """Return whether `size` more bytes may be held, once all that are held are compressed."""
        if self.in_flight_bytes + size <= in_flight_bytes_max:
            return True
        for held in self._held:
            held.compress()
        return self.in_flight_bytes + size <= in_flight_bytes_max

    def _holds(self, records: SealedRecords, in_flight_bytes_max: int) -> bool:
        """Return whether `records` may wait for a direct commit."""
        fits = self._held_bytes + records.size <= in_flight_bytes_max
        return self._direct is not None and fits and is_small([*self._held, records])

    def _begin(self) -> None:
        if not self._begun:
            super().begin_transaction()
            self._begun = True

    def _hand_over(self) -> None:
        """Give the client what waits for a direct commit; it is less than may be in flight."""
        self._begin()
        for records in self._held:
            # A direct commit may have closed it.
            records.reopen()
            self._delivery.deliver(records)
        self._held.clear()

    def _commit_directly(self) -> bool:
        """Commit without the client; if that fails on the way, leave the rest to the client."""
        reached = Reached.NOTHING
        if self._direct is not None and is_small(self._held):
            reached = self._direct.commit(self._held)
        if reached is not Reached.COMMITTED:
            if reached is Reached.ACKNOWLEDGED:
                self._held.clear()
            self._hand_over()
            if reached is not Reached.NOTHING:
                # Kafka may know of it, so the client has to end it in any case.
                self._transaction_manager._transaction_started = True
        self._held.clear()
        return reached is Reached.COMMITTED

    def _complete(self, result: Any, timeout_seconds: float) -> None:
        self._sender.wakeup()
        if not result.wait(timeout_seconds * _MS):
            raise TimedOut(kafka.NO_ANSWER_IN_TIME, seconds=timeout_seconds)
