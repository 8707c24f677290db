"""What a producer holds is counted as it changes, not each time that somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from connector.foundation.record_batch import RecordBatch
from connector.kafka.encoded_batch import CODECS, EncodedBatch, InFlightBatches
from connector.kafka.producer import TransactionalProducer
from tests.kafka.test_failures import SETTINGS, ScriptedBroker
from tests.simulation.test_broker import batch

if TYPE_CHECKING:
    import pytest

    from connector.kafka.transaction_client import TransactionClient
    from connector.kafka.transaction_writer import TransactionInFlight

ROOM = 1 << 30
TABLES = 4000


class SlowWriter:
    """Has everything, and never writes it."""

    def __init__(self, _: TransactionClient, in_flight: InFlightBatches) -> None:
        self._in_flight = in_flight

    def deliver(self, _: TransactionInFlight, records: EncodedBatch) -> None:
        self._in_flight.add(records)

    def check(self) -> None:
        """It lives."""

    def close(self) -> None:
        """Nothing waits."""


def test_the_cost_of_a_batch_does_not_depend_on_the_number_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = []
    size_in_bytes = EncodedBatch.size_in_bytes

    def count(records: EncodedBatch) -> int:
        counted.append(records)
        return size_in_bytes(records)

    monkeypatch.setattr(EncodedBatch, "size_in_bytes", count)
    writer: Any = SlowWriter
    network = ScriptedBroker().network({})
    producer = TransactionalProducer(SETTINGS, "id", 60.0, "none", network, writer)
    one = batch(b"x" * 80)
    for number in range(TABLES):
        topic = f"shop.erp.t{number}"
        times = one.first_timestamp_ms, one.max_timestamp_ms
        producer.deliver(RecordBatch(topic, 0, one.data, one.count, *times), ROOM)
    assert producer.in_flight_bytes == TABLES * len(one.data)
    # When it comes, and when it is compressed.
    assert len(counted) <= 2 * TABLES
    producer.close_now()
    assert producer.in_flight_bytes == 0


def test_batches_count_as_they_are_in_memory() -> None:
    in_flight = InFlightBatches()
    records = [EncodedBatch(batch(b"x" * 10_000, b"%d" % at), CODECS["lz4"]) for at in range(3)]
    for each in records:
        in_flight.add(each)
    assert in_flight.wait_until(lambda: 0 < in_flight.bytes < 3000, 30)
    records[0].close()
    assert in_flight.bytes == sum(each.size_in_bytes() for each in records)
    in_flight.discard(records[0])
    in_flight.discard(records[0])
    assert in_flight.bytes == sum(each.size_in_bytes() for each in records[1:])
    in_flight.clear()
    assert in_flight.bytes == 0
    in_flight.close()
