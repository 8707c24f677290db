"""kafka-python's producer, which takes whole record batches, and whose waits end.

`commit_transaction` and `abort_transaction` wait without limit while no broker answers, and `close`
first tries to deliver what is queued. This producer gives up after a timeout, and drops what is
queued.

A small transaction is committed without the client's thread (`direct_commits`), if it is complete
before any of it was sent.

This module, `network`, `listener`, `inspection`, `delivery` and the modules of direct commits use
private names of kafka-python 3.0; `pyproject.toml` pins the minor version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from connector.errors import kafka
from connector.sink.delivery import BatchDelivery, delivery_of
from connector.sink.direct_commits import BYTES_MAX, DirectCommits, Reached
from connector.sink.timeouts import TimedOut

# ruff: noqa: SLF001 - the client has no public way to say what others have sent

if TYPE_CHECKING:
    from connector.records.record_batch import RecordBatch

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
        self._held: list[RecordBatch] = []
        self._begun = False
        self._direct: DirectCommits | None = None
        try:
            self._delivery = delivery_of(self)
            if isinstance(self._delivery, BatchDelivery):
                self._direct = DirectCommits(self, self._delivery, arguments, timeout_seconds)
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
        if self._begun:
            super().begin_transaction()

    def deliver(self, batch: RecordBatch, in_flight_bytes_max: int) -> None:
        """Queue a batch in the open transaction as soon as there is room for it.

        `wake`, a later batch or the commit sends it. Raises KafkaError.
        """
        if self._holds(batch, in_flight_bytes_max):
            self._held.append(batch)
            return
        self._hand_over()
        self._delivery.make_room(len(batch.data), in_flight_bytes_max, self._timeout_seconds)
        self._delivery.deliver(batch)

    def wake(self) -> None:
        """Send what is queued."""
        self._hand_over()
        self._sender.wakeup()

    def commit_transaction(self) -> None:
        """Commit; raises KafkaTimeoutError without a response, and the outcome is unknown."""
        if not self._begun and self._commit_directly():
            return
        self._delivery.settle(self._timeout_seconds)
        self._complete(self._transaction_manager.begin_commit(), self._timeout_seconds)
        self._begun = False

    def abort_transaction(self) -> None:
        """Abort; without a response, raises KafkaTimeoutError, and Kafka aborts later.

        If the client itself has failed, this producer is of no use any more.
        """
        self._held.clear()
        seconds = min(_ABORT_SECONDS, self._timeout_seconds)
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
        return sum(len(batch.data) for batch in self._held)

    def _holds(self, batch: RecordBatch, in_flight_bytes_max: int) -> bool:
        """Return whether `batch` may wait for a direct commit, which has one of each partition."""
        size = self._held_bytes + len(batch.data)
        return (
            self._direct is not None
            and not self._begun
            and size <= min(BYTES_MAX, in_flight_bytes_max)
            and all(
                (held.topic, held.partition) != (batch.topic, batch.partition)
                for held in self._held
            )
        )

    def _begin(self) -> None:
        if not self._begun:
            super().begin_transaction()
            self._begun = True

    def _hand_over(self) -> None:
        """Give the client what waits for a direct commit; it is less than may be in flight."""
        self._begin()
        for batch in self._held:
            self._delivery.deliver(batch)
        self._held.clear()

    def _commit_directly(self) -> bool:
        """Commit without the client; if that fails on the way, leave the rest to the client."""
        reached = Reached.NOTHING if self._direct is None else self._direct.commit(self._held)
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
