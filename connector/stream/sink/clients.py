"""The Kafka clients that the sink opens: its transactional producer, consumers and admin clients.

A simulation replaces them by its own `KafkaClients`.

The producer is kafka-python's, but takes whole record batches, and its waits end.
`commit_transaction` and `abort_transaction` wait without limit while no broker answers, and
`close` first tries to deliver what is queued. This producer gives up after a timeout, and drops
what is queued.

A transaction that is complete before any of it was sent is committed in the caller's thread, if
it is small. A larger one is written and committed by another thread, which takes the next one
meanwhile (`transaction_writer`). kafka-python's own thread goes on with a transaction that fails
there, and handles the transactions of brokers that do not know the requests.

This module, `network_client`, `checks`, `batch_delivery`, `encoded_batch`, `broker_connection`,
`transaction_client` and `transaction_writer` use private names of kafka-python 3.0;
`pyproject.toml` pins the minor version.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

from connector.foundation.record_batch import RecordBatch
from connector.stream.sink import kafka_errors, transaction_writer
from connector.stream.sink.attempts import TimedOut
from connector.stream.sink.batch_delivery import BatchDelivery, delivery_of
from connector.stream.sink.encoded_batch import EncodedBatch, InFlightBatches
from connector.stream.sink.transaction_client import TransactionClient, TransactionStage

# ruff: noqa: SLF001 - the client has no public way to say what others have sent


# The end of a run waits this long.
_ABORT_SECONDS = 10.0
# At a forced close, the sender's thread must run once more to fail the queued batches.
_CLOSE_SECONDS = 5
# Between two looks whether a wait is in vain.
_LOOK_MS = 100


class TransactionalProducer(KafkaProducer):  # type: ignore[misc]  # the library has no types
    """An initialised transactional producer; its id fences older ones."""

    def __init__(self, timeout_seconds: float, **arguments: Any) -> None:
        """Connect and take over `transactional_id`; raises KafkaError."""
        super().__init__(**arguments)
        self._timeout_seconds = timeout_seconds
        # Batches of the open transaction that was given to nobody yet.
        self._held: list[EncodedBatch] = []
        # Whether the client has the open transaction.
        self._begun = False
        # What the stream has: the open transaction, and the one that is being committed.
        self._open: transaction_writer.TransactionInFlight | None = None
        self._ending: transaction_writer.TransactionInFlight | None = None
        self._in_flight = InFlightBatches()
        self._link: TransactionClient | None = None
        self._stream: transaction_writer.TransactionWriter | None = None
        try:
            self._delivery = delivery_of(self, self._in_flight)
            if isinstance(self._delivery, BatchDelivery):
                self._link = TransactionClient(self, arguments, timeout_seconds)
            self.init_transactions()
        except BaseException:
            self.close_now()
            raise

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of batches that Kafka has not acknowledged yet."""
        return self._delivery.in_flight_bytes + self._held_bytes

    def deliver(self, batch: RecordBatch, in_flight_bytes_max: int) -> None:
        """Queue a batch in the open transaction as soon as there is room for it.

        `wake`, a later batch or the commit sends it. Raises KafkaError.
        """
        records = self._delivery.records_of(batch)
        if self._holds(records, in_flight_bytes_max):
            self._held.append(records)
            return
        self._hand_over()
        if self._open is not None:
            self._make_room(records.size, in_flight_bytes_max)
        if self._open is None:
            self._delivery.make_room(records.size, in_flight_bytes_max, self._timeout_seconds)
        self._send(records)

    def wake(self) -> None:
        """Send what is queued."""
        self._hand_over()
        if self._begun:
            self._sender.wakeup()

    def interrupt(self, error: KafkaError) -> None:
        """Have every wait end with `error`; any thread may call it."""
        self._in_flight.fail(error)

    @property
    def is_committing(self) -> bool:
        """Whether a commit has begun that `finish_commit` has to wait for."""
        return self._ending is not None

    def start_commit(self) -> None:
        """Begin to commit, after the end of the commit before; `is_committing` if it is not done.

        Batches that are delivered now belong to the next transaction. Raises KafkaError; after
        KafkaTimeoutError, the outcome is unknown.
        """
        if self._is_held and self._commit_directly():
            return
        if self._stream is not None and self._open is not None:
            self._stream.end(self._open, commit=True)
            self._ending, self._open = self._open, None
        else:
            self._commit_by_client()

    def finish_commit(self) -> None:
        """Wait for the end of a commit, if one has begun; raises as `start_commit` does."""
        if self._ending is not None:
            self._await_end(self._ending, self._timeout_seconds)
            self._ending = None

    def abort_transaction(self) -> None:
        """Abort; without a response, raises KafkaTimeoutError, and Kafka aborts later.

        A commit that has begun is awaited, not aborted. If the client itself has failed, this
        producer is of no use any more.
        """
        self._held.clear()
        seconds = min(_ABORT_SECONDS, self._timeout_seconds)
        # If the commit fails, it is aborted as well.
        with suppress(KafkaError):
            self.finish_commit()
            if self._stream is not None and self._open is not None:
                self._stream.end(self._open, commit=False)
                self._await_end(self._open, seconds)
                self._open = None
        if self._link is not None and self._transaction_manager.has_fatal_error():
            # After a request without a response, the client sends no end of the transaction.
            self._close_stream()
            self._link.take_over(seconds)
        elif self._begun:
            self._complete(self._transaction_manager.begin_abort(), seconds)
            self._delivery.aborted()
            self._begun = False

    def close_now(self) -> None:
        """Close without delivering what is queued."""
        if self._link is not None:
            self._close_stream()
            self._link.close()
        self._in_flight.close()
        self._sender.force_close()
        try:
            self.close(timeout=_CLOSE_SECONDS)
        except KafkaError:
            # Nothing in the queue was committed; the sender's thread is a daemon.
            self._closed = True

    @property
    def _held_bytes(self) -> int:
        return sum(held.size_in_bytes() for held in self._held)

    @property
    def _is_held(self) -> bool:
        """Whether nothing of the open transaction was given away."""
        return not self._begun and self._open is None

    def _holds(self, records: EncodedBatch, in_flight_bytes_max: int) -> bool:
        """Return whether `records` may wait for a direct commit."""
        fits = self.in_flight_bytes + records.size <= in_flight_bytes_max
        whole = self._link is not None and self._is_held
        return whole and fits and transaction_writer.is_small([*self._held, records])

    def _hand_over(self) -> None:
        """Give away what waits for a direct commit; it is less than may be in flight."""
        if self._is_held:
            if self._link is not None and self._link.is_ready:
                self._stream = self._stream or transaction_writer.TransactionWriter(
                    self._link, self._in_flight
                )
                self._open = transaction_writer.TransactionInFlight()
            else:
                self.finish_commit()
                self._begin(TransactionStage.NOTHING)
        held, self._held = self._held, []
        for records in held:
            self._send(records)

    def _send(self, records: EncodedBatch) -> None:
        if self._stream is not None and self._open is not None:
            self._stream.deliver(self._open, records)
            self._falls_back()
        else:
            self._deliver_to_client([records])

    def _make_room(self, size: int, in_flight_bytes_max: int) -> None:
        """Wait until the stream has room for `size` bytes, or the client has the transaction."""

        def may_go_on() -> bool:
            flying = self._in_flight.bytes
            return not flying or flying + size <= in_flight_bytes_max or self._falls_back()

        if not self._in_flight.wait_until(may_go_on, self._timeout_seconds):
            raise TimedOut(kafka_errors.NOT_ACKNOWLEDGED, seconds=self._timeout_seconds)

    def _await_end(
        self, transaction: transaction_writer.TransactionInFlight, timeout_seconds: float
    ) -> None:
        """Wait until the stream, or the client after it, has ended a transaction."""

        def has_ended() -> bool:
            return transaction.reached is TransactionStage.ENDED or self._falls_back()

        if not self._in_flight.wait_until(has_ended, timeout_seconds):
            assert self._link is not None
            raise self._link.fail(timeout_seconds)

    def _falls_back(self) -> bool:
        """If the stream has failed, have the client go on with what it has left; return whether."""
        stream = self._stream
        if stream is None or stream.failure is None:
            return False
        left = [
            transaction for transaction in (self._ending, self._open) if transaction is not None
        ]
        left = [
            transaction for transaction in left if transaction.reached is not TransactionStage.ENDED
        ]
        ending = self._ending
        self._stream = self._ending = self._open = None
        if not isinstance(stream.failure, (OSError, KafkaError)):
            raise stream.failure
        assert self._link is not None
        self._link.give_up(stream.failure, left[0].reached if left else TransactionStage.NOTHING)
        for transaction in left:
            self._begin(transaction.reached)
            self._deliver_to_client(transaction.unacknowledged if transaction.commits else [])
            if transaction is ending:
                self._commit_by_client()
        return True

    def _close_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = self._open = self._ending = None
        self._in_flight.clear()

    def _begin(self, reached: TransactionStage) -> None:
        """Have the client begin a transaction that came so far without it."""
        super().begin_transaction()
        self._begun = True
        if reached is not TransactionStage.NOTHING:
            # Kafka may know of it, so the client has to end it in any case.
            self._transaction_manager._transaction_started = True

    def _deliver_to_client(self, batches: list[EncodedBatch]) -> None:
        for records in batches:
            # A direct commit may have closed it.
            records.reopen()
            self._delivery.deliver(records)

    def _commit_directly(self) -> bool:
        """Commit without the client; if that fails on the way, leave the rest to the client."""
        held, self._held = self._held, []
        reached = TransactionStage.NOTHING
        if self._link is not None:
            reached = transaction_writer.commit_directly(self._link, held)
        if reached is TransactionStage.ENDED:
            return True
        self._begin(reached)
        self._deliver_to_client([] if reached is TransactionStage.ACKNOWLEDGED else held)
        return False

    def _commit_by_client(self) -> None:
        self._delivery.settle(self._timeout_seconds)
        self._complete(self._transaction_manager.begin_commit(), self._timeout_seconds)
        self._begun = False

    def _complete(self, result: Any, timeout_seconds: float) -> None:
        self._sender.wakeup()
        until = time.monotonic() + timeout_seconds
        # It raises the error of the request.
        while not result.wait(_LOOK_MS):
            self._in_flight.check()
            if time.monotonic() > until:
                raise TimedOut(kafka_errors.NO_ANSWER_IN_TIME, seconds=timeout_seconds)


class Producer(Protocol):
    """A producer that owns its transactional id.

    Every method but `close_now` may raise KafkaError, also one about the commit before: whichever
    is called next finds that it has failed.
    """

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of batches that Kafka has not acknowledged yet."""
        ...

    def partitions_for(self, topic: str) -> set[int]:
        """Return the partitions of a topic."""
        ...

    def deliver(self, batch: RecordBatch, in_flight_bytes_max: int) -> None:
        """Queue a batch in the open transaction, or in a new one, as soon as there is room for it.

        `wake`, a later batch or the commit sends it.
        """
        ...

    def wake(self) -> None:
        """Send what is queued."""
        ...

    def interrupt(self, error: KafkaError) -> None:
        """Have every wait end with `error`; any thread may call it."""
        ...

    @property
    def is_committing(self) -> bool:
        """Whether a commit has begun that `finish_commit` has to wait for."""
        ...

    def start_commit(self) -> None:
        """Begin to commit, after the end of the commit before; a small one is done at the return.

        Batches that are delivered now belong to the next transaction. If it raises, the outcome is
        unknown.
        """
        ...

    def finish_commit(self) -> None:
        """Wait for the end of a commit, if one has begun; if it raises, the outcome is unknown."""
        ...

    def abort_transaction(self) -> None:
        """Abort; if it raises, Kafka aborts after the transaction timeout.

        A commit that has begun is awaited, not aborted.
        """
        ...

    def close_now(self) -> None:
        """Close without delivering what is queued."""
        ...


@dataclass(frozen=True, slots=True)
class KafkaClients:
    """The functions that open each kind of client; they raise KafkaError or OSError."""

    # The transaction timeout in seconds, and the client's arguments.
    open_producer: Callable[..., Producer]
    # The client's arguments; kafka-python has no types.
    open_consumer: Callable[..., Any]
    open_admin: Callable[..., Any]


KAFKA_CLIENTS = KafkaClients(TransactionalProducer, KafkaConsumer, KafkaAdminClient)
