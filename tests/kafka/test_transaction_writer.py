"""The thread that writes transactions leaves the client alone between them."""

from __future__ import annotations

from typing import Any

from connector.foundation.kafka_records import NO_HEADERS
from connector.foundation.record_batch import BatchingTarget
from connector.kafka.cluster import Cluster
from connector.kafka.encoded_batch import CODECS, EncodedBatch, InFlightBatches
from connector.kafka.transaction_client import TransactionClient
from connector.kafka.transaction_writer import TransactionInFlight, TransactionWriter
from tests.kafka.test_failures import SETTINGS, ScriptedBroker
from tests.simulation.test_broker import Batches


class WatchedClient:
    """Counts how often a client is used after the end of a transaction."""

    def __init__(self, real: TransactionClient) -> None:
        self._real = real
        self.transaction: TransactionInFlight | None = None
        self.late_uses = 0

    def __getattr__(self, name: str) -> Any:
        # `close` of the writer interrupts it from another thread.
        if name != "interrupt" and self.transaction is not None and self.transaction.has_ended:
            self.late_uses += 1
        return getattr(self._real, name)


def batch() -> EncodedBatch:
    received = Batches()
    target = BatchingTarget(received, 1 << 20, 1 << 20, 1 << 20)
    target.take("t", None, b"value", NO_HEADERS, 1)
    target.flush()
    (only,) = received.batches
    return EncodedBatch(only, CODECS["lz4"])


def test_the_thread_does_not_use_the_client_of_a_transaction_that_has_ended() -> None:
    # The caller writes a small transaction by the same client next.
    broker = ScriptedBroker()
    cluster = Cluster(SETTINGS, broker.network({}))
    client: Any = WatchedClient(TransactionClient(cluster, SETTINGS, "id", 60.0, lambda: None))
    in_flight = InFlightBatches()
    writer = TransactionWriter(client, in_flight)
    client.transaction = transaction = TransactionInFlight()
    writer.deliver(transaction, batch())
    writer.end(transaction, commit=True)
    assert in_flight.wait_until(lambda: transaction.has_ended, 30.0)
    writer.close()
    writer.check()
    assert broker.asked["EndTxn"] == 1
    assert client.late_uses == 0
    in_flight.close()
    cluster.close()
