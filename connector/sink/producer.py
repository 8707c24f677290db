"""kafka-python's producer, which takes whole record batches, and whose waits end.

`commit_transaction` and `abort_transaction` wait without limit while no broker answers, and `close`
first tries to deliver what is queued. This producer gives up after a timeout, and drops what is
queued.

This module, `network`, `listener`, `inspection` and `delivery` use private names of kafka-python
3.0; `pyproject.toml` pins the minor version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from connector.errors import kafka
from connector.sink.delivery import delivery_of
from connector.sink.timeouts import TimedOut

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
        try:
            self._delivery = delivery_of(self)
            self.init_transactions()
        except BaseException:
            self.close_now()
            raise

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of batches that Kafka has not acknowledged yet."""
        return self._delivery.in_flight_bytes

    def deliver(self, batch: RecordBatch, in_flight_bytes_max: int) -> None:
        """Queue a batch in the open transaction as soon as there is room for it.

        `wake`, or a later batch, sends it. Raises KafkaError.
        """
        self._delivery.make_room(len(batch.data), in_flight_bytes_max, self._timeout_seconds)
        self._delivery.deliver(batch)

    def wake(self) -> None:
        """Send what is queued."""
        self._sender.wakeup()

    def commit_transaction(self) -> None:
        """Commit; raises KafkaTimeoutError without a response, and the outcome is unknown."""
        self._delivery.settle(self._timeout_seconds)
        self._complete(self._transaction_manager.begin_commit(), self._timeout_seconds)

    def abort_transaction(self) -> None:
        """Abort; without a response, raises KafkaTimeoutError, and Kafka aborts later."""
        seconds = min(_ABORT_SECONDS, self._timeout_seconds)
        self._complete(self._transaction_manager.begin_abort(), seconds)
        self._delivery.aborted()

    def close_now(self) -> None:
        """Close without delivering what is queued."""
        self._sender.force_close()
        try:
            self.close(timeout=_CLOSE_SECONDS)
        except KafkaError:
            # Nothing in the queue was committed; the sender's thread is a daemon.
            self._closed = True

    def _complete(self, result: Any, timeout_seconds: float) -> None:
        self._sender.wakeup()
        if not result.wait(timeout_seconds * _MS):
            raise TimedOut(kafka.NO_ANSWER_IN_TIME, seconds=timeout_seconds)
