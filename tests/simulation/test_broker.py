"""The cluster in memory keeps Kafka's rules, on which everything else here leans."""

from __future__ import annotations

import pytest
from kafka.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    OutOfOrderSequenceNumberError,
)

from connector.foundation.kafka_records import NO_HEADERS
from connector.foundation.record_batch import BatchingTarget, BatchReceiver, RecordBatch
from tests.simulation.broker import Broker

PARTITION_ID = "t", 0
TIMEOUT_SECONDS = 60.0


class Batches(BatchReceiver):
    def __init__(self) -> None:
        self.batches: list[RecordBatch] = []

    def partition_count(self, topic: str) -> int:
        del topic
        return 1

    def receive(self, batch: RecordBatch) -> None:
        self.batches.append(batch)


def batch(*values: bytes) -> RecordBatch:
    received = Batches()
    target = BatchingTarget(received, 1 << 20, 1 << 20, 1 << 20)
    for value in values:
        target.take("t", b"k", value, NO_HEADERS, 1)
    target.flush()
    return received.batches[0]


@pytest.fixture
def broker() -> Broker:
    made = Broker()
    made.create_topic("t", 1)
    return made


def values(broker: Broker) -> list[bytes | None]:
    return [record.value for record in broker.visible(PARTITION_ID)]


def test_records_are_visible_once_their_partition_knows_of_the_commit(broker: Broker) -> None:
    producer = broker.take_over("id", TIMEOUT_SECONDS)
    broker.add_partition(*producer, PARTITION_ID)
    broker.produce(*producer, batch(b"a", b"b"), 0)
    assert values(broker) == []
    broker.end_transaction(*producer, commit=True)
    assert values(broker) == []
    broker.mark_one(0)
    assert values(broker) == [b"a", b"b"]


def test_what_lies_after_an_open_transaction_is_not_visible(broker: Broker) -> None:
    first, second = (broker.take_over(name, TIMEOUT_SECONDS) for name in ("first", "second"))
    for producer, value in ((first, b"1"), (second, b"2")):
        broker.add_partition(*producer, PARTITION_ID)
        broker.produce(*producer, batch(value), 0)
    broker.end_transaction(*second, commit=True)
    broker.settle()
    assert values(broker) == []
    broker.end_transaction(*first, commit=False)
    broker.settle()
    assert values(broker) == [b"2"]


def test_a_batch_that_comes_again_is_not_appended_again(broker: Broker) -> None:
    producer = broker.take_over("id", TIMEOUT_SECONDS)
    broker.add_partition(*producer, PARTITION_ID)
    for _ in range(2):
        broker.produce(*producer, batch(b"a", b"b"), 0)
    with pytest.raises(OutOfOrderSequenceNumberError):
        broker.produce(*producer, batch(b"d"), 3)
    broker.produce(*producer, batch(b"c"), 2)
    broker.end_transaction(*producer, commit=True)
    broker.settle()
    assert values(broker) == [b"a", b"b", b"c"]


def test_an_older_producer_is_refused_and_its_transaction_aborted(broker: Broker) -> None:
    old = broker.take_over("id", TIMEOUT_SECONDS)
    broker.add_partition(*old, PARTITION_ID)
    broker.produce(*old, batch(b"a"), 0)
    new = broker.take_over("id", TIMEOUT_SECONDS)
    with pytest.raises(InvalidProducerEpochError):
        broker.produce(*old, batch(b"b"), 1)
    with pytest.raises(InvalidProducerEpochError):
        broker.end_transaction(*old, commit=True)
    broker.add_partition(*new, PARTITION_ID)
    broker.produce(*new, batch(b"c"), 0)
    broker.end_transaction(*new, commit=True)
    broker.settle()
    assert values(broker) == [b"c"]


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(
    broker: Broker,
) -> None:
    producer = broker.take_over("id", TIMEOUT_SECONDS)
    broker.add_partition(*producer, PARTITION_ID)
    broker.produce(*producer, batch(b"a"), 0)
    broker.pass_time(TIMEOUT_SECONDS + 1)
    with pytest.raises(InvalidProducerEpochError):
        broker.end_transaction(*producer, commit=True)
    assert values(broker) == []


def test_a_partition_is_added_before_it_is_written_to(broker: Broker) -> None:
    producer = broker.take_over("id", TIMEOUT_SECONDS)
    with pytest.raises(InvalidTxnStateError):
        broker.produce(*producer, batch(b"a"), 0)
