"""The producer of transactions: small ones are written in the caller's thread, others in another.

*Small.* A transaction that is complete before any of it was sent, with one batch for each
partition, and few bytes: three requests, each sent and awaited in the caller's thread.

*Large.* A thread writes and ends the transaction, while the caller encodes (`transaction_writer`).
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, Final

from kafka.errors import KafkaError

from connector.foundation.record_batch import RecordBatch
from connector.kafka import connection_errors
from connector.kafka.cluster import NETWORK, Cluster, Network
from connector.kafka.encoded_batch import CODECS, EncodedBatch, InFlightBatches
from connector.kafka.failures import Action, TimedOut, action_of
from connector.kafka.transaction_client import TransactionClient
from connector.kafka.transaction_requests import PartitionId
from connector.kafka.transaction_writer import TransactionInFlight, TransactionWriter

# A larger transaction is written by another thread, while this one encodes.
_SMALL_BYTES_MAX: Final = 256 * 1024
# The end of a run waits this long.
_ABORT_SECONDS: Final = 10.0


class TransactionalProducer:
    """The owner of a transactional id: it has fenced those before."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        transactional_id: str,
        timeout_seconds: float,
        compression: str,
        network: Network = NETWORK,
        writer: Callable[
            [TransactionClient, InFlightBatches], TransactionWriter
        ] = TransactionWriter,
    ) -> None:
        """Connect and take over `transactional_id`, by the settings of a client.

        Kafka aborts a transaction that takes longer than the timeout. Raises KafkaError or OSError.
        A simulation has a `network` of its own, and a `writer` without a thread.
        """
        self._timeout_seconds = timeout_seconds
        self._codec = CODECS[compression]
        # Batches of the open transaction that was given to nobody yet: one for each partition.
        self._held: dict[PartitionId, EncodedBatch] = {}
        self._held_bytes = 0
        # What the thread has: the open transaction, and the one that is being committed.
        self._open: TransactionInFlight | None = None
        self._ending: TransactionInFlight | None = None
        self._new_writer = writer
        self._writer: TransactionWriter | None = None
        self._in_flight = InFlightBatches()
        self._cluster = Cluster(settings, network)
        try:
            self._client = TransactionClient(
                self._cluster,
                settings,
                transactional_id,
                timeout_seconds,
                self._in_flight.check,
            )
        except BaseException:
            self._in_flight.close()
            self._cluster.close()
            raise

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of batches that Kafka has not acknowledged yet, as they are in memory."""
        return self._in_flight.bytes + self._held_bytes

    @property
    def away_seconds(self) -> float:
        """For how long no broker was there for a request of the last transaction."""
        return self._client.away_seconds

    def partitions_for(self, topic: str) -> set[int]:
        """Return the partitions of a topic; a new one is waited for."""
        return self._cluster.partitions_of(topic, self._in_flight.check)

    def learn_partitions(self, topics: Collection[str]) -> None:
        """Ask for the partitions of many topics at once; raises KafkaError or OSError.

        `partitions_for` asks again for those that are not known yet.
        """
        try:
            if topics:
                self._cluster.refresh(topics)
        except (KafkaError, OSError) as error:
            if action_of(error) not in (Action.RETRY, Action.REFRESH):
                raise

    def deliver(self, batch: RecordBatch, in_flight_bytes_max: int) -> None:
        """Queue a batch in the open transaction as soon as there is room for it.

        `wake`, a later batch or the commit sends it. Raises KafkaError or OSError.
        """
        records = EncodedBatch(batch, self._codec)
        fits = self.in_flight_bytes + records.size <= in_flight_bytes_max
        if self._open is None and fits and self._stays_small(records):
            self._held[records.partition_id] = records
            self._held_bytes += records.size
            return
        self.wake()
        self._await(
            lambda: (
                not (flying := self._in_flight.bytes)
                or flying + records.size <= in_flight_bytes_max
            ),
            TimedOut(connection_errors.NOT_ACKNOWLEDGED, seconds=self._timeout_seconds),
        )
        self._send([records])

    def wake(self) -> None:
        """Send what is queued."""
        self._send(self._taken())

    def interrupt(self, error: KafkaError) -> None:
        """Have every wait end with `error`; any thread may call it."""
        self._in_flight.fail(error)

    @property
    def is_committing(self) -> bool:
        """Whether a commit has begun that `finish_commit` has to wait for."""
        return self._ending is not None

    def start_commit(self) -> None:
        """Begin to commit, after the end of the commit before; `is_committing` if it is not done.

        Batches that are delivered now belong to the next transaction. Raises KafkaError or OSError;
        then the outcome may be unknown.
        """
        self.finish_commit()
        held = self._taken()
        if self._writer is not None and self._open is not None:
            self._send(held)
            self._writer.end(self._open, commit=True)
            self._ending, self._open = self._open, None
        elif held:
            self._client.add_partitions(records.partition_id for records in held)
            self._client.write(held)
            self._client.acknowledge()
            self._client.end(commit=True)

    def finish_commit(self) -> None:
        """Wait for the end of a commit, if one has begun; raises as `start_commit` does."""
        if self._ending is not None:
            self._await_end(self._ending, self._timeout_seconds)
            self._ending = None

    def abort_transaction(self) -> None:
        """Abort; if that fails, raises KafkaError or OSError, and Kafka aborts later.

        A commit that has begun is awaited, not aborted. After any failure, this producer is of no
        use any more.
        """
        self._taken()
        seconds = min(_ABORT_SECONDS, self._timeout_seconds)
        # If it fails, the commit is aborted as well.
        with suppress(KafkaError, OSError):
            self.finish_commit()
            if self._writer is not None and self._open is not None:
                self._writer.end(self._open, commit=False)
                self._await_end(self._open, seconds)
                self._open = None
        unfinished = self._open is not None or self._ending is not None
        if self._client.failure is not None or unfinished:
            self._close_writer()
            self._client.abandon(seconds)

    def close_now(self) -> None:
        """Close without delivering what is queued."""
        self._close_writer()
        self._client.close()
        self._cluster.close()
        self._in_flight.close()

    def _stays_small(self, records: EncodedBatch) -> bool:
        """Return whether the queued batches may be committed in the caller's thread, with one more.

        There is one for each partition then.
        """
        is_first = records.partition_id not in self._held
        return is_first and self._held_bytes + records.size <= _SMALL_BYTES_MAX

    def _taken(self) -> list[EncodedBatch]:
        """Return what is queued, which is not queued any more."""
        held, self._held, self._held_bytes = self._held, {}, 0
        return list(held.values())

    def _send(self, batches: list[EncodedBatch]) -> None:
        """Give batches to the thread; with them, the open transaction."""
        if not batches:
            return
        if self._writer is None:
            self._writer = self._new_writer(self._client, self._in_flight)
        if self._open is None:
            self._open = TransactionInFlight()
        self._require_writer()
        for records in batches:
            self._writer.deliver(self._open, records)

    def _await_end(self, transaction: TransactionInFlight, timeout_seconds: float) -> None:
        late = TimedOut(connection_errors.NO_ANSWER_IN_TIME, seconds=timeout_seconds)
        self._await(lambda: transaction.has_ended, late, timeout_seconds)

    def _await(
        self, condition: Callable[[], bool], late: KafkaError, timeout_seconds: float | None = None
    ) -> None:
        """Wait until a condition holds; raise `late` if it does not in time."""

        def may_go_on() -> bool:
            if condition():
                return True
            self._require_writer()
            return False

        if not self._in_flight.wait_until(may_go_on, timeout_seconds or self._timeout_seconds):
            self._client.failure = late
            raise late

    def _require_writer(self) -> None:
        if self._writer is not None:
            self._writer.check()

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = self._open = self._ending = None
        self._in_flight.clear()
