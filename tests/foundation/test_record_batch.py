"""Record batches: the bytes that the Kafka client would write, and when they are complete."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder
from librt.strings import BytesWriter

from connector.foundation.kafka_records import NO_HEADERS, partition_of, put_header, put_varint
from connector.foundation.record_batch import (
    HEADER_BYTES,
    BatchingTarget,
    BatchReceiver,
    RecordBatch,
)

MB = 1 << 20


class Receiver(BatchReceiver):
    def __init__(self, partitions: int = 1) -> None:
        self.partitions = partitions
        self.asked: list[str] = []
        self.batches: list[RecordBatch] = []
        # Of some topics, and whether compression makes a larger batch fit.
        self.limits: dict[str, int] = {}
        self.compresses = False
        self.judged: list[RecordBatch] = []

    def partition_count(self, topic: str) -> int:
        self.asked.append(topic)
        return self.partitions

    def receive(self, batch: RecordBatch) -> None:
        self.batches.append(batch)

    def bytes_max(self, topic: str) -> int:
        return self.limits.get(topic, MB)

    def has_room(self, batch: RecordBatch) -> bool:
        self.judged.append(batch)
        return self.compresses

    def too_large(self, topic: str) -> Exception:
        return ValueError(f"too large for {topic}")


def target_of(
    receiver: Receiver, batch_bytes: int = MB, open_bytes: int = MB, record_bytes: int = MB
) -> BatchingTarget:
    return BatchingTarget(receiver, batch_bytes, open_bytes, record_bytes)


class Sample(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]
    timestamp_ms: int


samples = st.builds(
    Sample,
    st.none() | st.binary(max_size=200),
    st.none() | st.binary(max_size=300),
    st.lists(st.tuples(st.text(max_size=5), st.binary(max_size=80)), max_size=4),
    st.integers(0, 2**42),
)


def encoded(headers: list[tuple[str, bytes]]) -> bytes:
    out = BytesWriter()
    put_varint(out, len(headers))
    for name, value in headers:
        put_header(out, name.encode(), value)
    return out.getvalue()


@given(st.lists(samples, min_size=1, max_size=100))
def test_a_batch_is_the_one_that_the_kafka_client_makes(records: list[Sample]) -> None:
    receiver = Receiver()
    target = target_of(receiver)
    theirs = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, MB)
    for number, record in enumerate(records):
        target.take("t", record.key, record.value, encoded(record.headers), record.timestamp_ms)
        theirs.append(number, record.timestamp_ms, record.key, record.value, record.headers)
    target.flush()
    (batch,) = receiver.batches
    assert batch.count == len(records)
    assert batch.first_timestamp_ms == records[0].timestamp_ms
    assert batch.max_timestamp_ms == max(record.timestamp_ms for record in records)
    assert batch.data[:HEADER_BYTES] == bytes(HEADER_BYTES)
    assert batch.data[HEADER_BYTES:] == bytes(theirs._buffer[HEADER_BYTES:])


@given(st.lists(samples, min_size=1, max_size=20))
def test_a_batch_can_be_taken_apart_again(records: list[Sample]) -> None:
    receiver = Receiver()
    target = target_of(receiver)
    for record in records:
        target.take("t", record.key, record.value, encoded(record.headers), record.timestamp_ms)
    target.flush()
    assert [tuple(record) for record in receiver.batches[0].records()] == [
        ("t", *record) for record in records
    ]


def test_records_are_batched_by_topic_and_by_the_partition_of_their_key() -> None:
    receiver = Receiver(partitions=5)
    target = target_of(receiver)
    keys = [b"%d" % number for number in range(40)]
    for key in keys:
        for topic in ("a", "b"):
            target.take(topic, key, b"", NO_HEADERS, 1)
    assert not receiver.batches
    target.flush()
    found = {
        (batch.topic, batch.partition): [record.key for record in batch.records()]
        for batch in receiver.batches
    }
    assert found == {
        (topic, partition): [key for key in keys if partition_of(key, 5) == partition]
        for topic in ("a", "b")
        for partition in range(5)
    }
    assert receiver.asked == ["a", "b"]


def test_a_batch_is_handed_over_before_it_exceeds_its_size() -> None:
    receiver = Receiver()
    target = target_of(receiver, batch_bytes=1000)
    for number in range(50):
        target.take("t", b"%d" % number, b"x" * 100, NO_HEADERS, number)
    target.flush()
    assert all(len(batch.data) <= 1000 for batch in receiver.batches)
    assert [batch.count for batch in receiver.batches] == [8, 8, 8, 8, 8, 8, 2]
    assert [batch.first_timestamp_ms for batch in receiver.batches] == [0, 8, 16, 24, 32, 40, 48]
    keys = [record.key for batch in receiver.batches for record in batch.records()]
    assert keys == [b"%d" % number for number in range(50)]


def test_a_record_larger_than_a_batch_is_handed_over_alone_and_at_once() -> None:
    receiver = Receiver()
    target = target_of(receiver, batch_bytes=1000)
    target.take("t", b"1", b"x", NO_HEADERS, 1)
    target.take("t", b"2", b"x" * 5000, NO_HEADERS, 1)
    assert [batch.count for batch in receiver.batches] == [1, 1]
    target.take("t", b"3", b"x", NO_HEADERS, 1)
    assert len(receiver.batches) == 2


def test_all_batches_are_handed_over_when_the_open_ones_hold_too_much() -> None:
    receiver = Receiver()
    target = target_of(receiver, batch_bytes=1000, open_bytes=2000)
    for number in range(4):
        target.take(f"t{number}", b"1", b"x" * 500, NO_HEADERS, 1)
        assert target.open_bytes < 2000
    assert [batch.topic for batch in receiver.batches] == ["t0", "t1", "t2", "t3"]
    assert target.open_bytes == 0


def test_a_record_above_the_limit_is_refused() -> None:
    target = target_of(Receiver(), record_bytes=1000)
    target.take("t", b"1", b"x" * 900, NO_HEADERS, 1)
    with pytest.raises(ValueError, match="too large for t"):
        target.take("t", b"2", b"x" * 1000, NO_HEADERS, 1)


def test_batches_are_handed_over_before_they_exceed_what_their_topic_takes() -> None:
    receiver = Receiver()
    receiver.limits["small"] = 1000
    target = target_of(receiver)
    for number in range(50):
        for topic in ("small", "t"):
            target.take(topic, b"%d" % number, b"x" * 100, NO_HEADERS, number)
    target.flush()
    small = [batch for batch in receiver.batches if batch.topic == "small"]
    assert all(len(batch.data) <= 1000 for batch in small)
    assert [batch.count for batch in small] == [8, 8, 8, 8, 8, 8, 2]
    assert [batch.count for batch in receiver.batches if batch.topic == "t"] == [50]
    assert not receiver.judged


def test_a_record_above_the_limit_of_its_topic_goes_alone_if_compression_makes_it_fit() -> None:
    receiver = Receiver()
    receiver.limits["small"] = 1000
    target = target_of(receiver)
    target.take("small", b"1", b"x", NO_HEADERS, 1)
    with pytest.raises(ValueError, match="too large for small"):
        target.take("small", b"2", b"x" * 2000, NO_HEADERS, 1)
    with pytest.raises(ValueError, match="too large for small"):
        target.require_room("small", b"2", b"x" * 2000, NO_HEADERS)
    assert target.records == 1
    receiver.compresses = True
    target.require_room("small", b"3", b"x" * 2000, NO_HEADERS)
    target.take("small", b"3", b"x" * 2000, NO_HEADERS, 1)
    target.take("small", b"4", b"x", NO_HEADERS, 1)
    target.flush()
    keys = [[record.key for record in batch.records()] for batch in receiver.batches]
    assert keys == [[b"1"], [b"3"], [b"4"]]
    assert [len(batch.data) for batch in receiver.judged[2:]] == [len(receiver.batches[1].data)] * 2


def test_records_and_bytes_are_counted_until_the_counts_restart() -> None:
    target = target_of(Receiver())
    target.take("t", b"12", b"345", NO_HEADERS, 1)
    target.take("t", None, b"6", NO_HEADERS, 1)
    target.take("t", b"7", None, NO_HEADERS, 1)
    assert (target.records, target.bytes) == (3, 10)
    target.flush()
    assert (target.records, target.bytes) == (3, 10)
    target.restart_counts()
    assert (target.records, target.bytes) == (0, 0)


def test_what_is_dropped_is_never_handed_over() -> None:
    receiver = Receiver()
    target = target_of(receiver)
    target.take("t", b"1", b"x", NO_HEADERS, 1)
    target.drop()
    assert (target.records, target.bytes, target.open_bytes) == (0, 0, 0)
    target.take("t", b"2", b"y", NO_HEADERS, 2)
    target.flush()
    (batch,) = receiver.batches
    assert [record.key for record in batch.records()] == [b"2"]
