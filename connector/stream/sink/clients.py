"""The Kafka clients that the sink opens: its transactional producer, consumers and admin clients.

A simulation replaces them by its own `KafkaClients`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from kafka import KafkaAdminClient, KafkaConsumer
from kafka.errors import KafkaError

from connector.foundation.record_batch import RecordBatch
from connector.kafka.producer import TransactionalProducer


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

    # A client's arguments, the transactional id, its timeout in seconds, and the compression.
    open_producer: Callable[[dict[str, Any], str, float, str], Producer]
    # The client's arguments; kafka-python has no types.
    open_consumer: Callable[..., Any]
    open_admin: Callable[..., Any]


KAFKA_CLIENTS = KafkaClients(TransactionalProducer, KafkaConsumer, KafkaAdminClient)
