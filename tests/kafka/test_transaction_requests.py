"""Our bytes of a transaction are those of kafka-python, which knows every field of the protocol."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    ProduceRequest,
    ProduceResponse,
)

from connector.foundation.record_batch import HEADER_BYTES, RecordBatch
from connector.kafka.broker_connection import BrokerConnection
from connector.kafka.encoded_batch import CODECS, EncodedBatch
from connector.kafka.failures import MalformedResponse
from connector.kafka.kafka_python import LoggedIn
from connector.kafka.transaction_requests import (
    VERSIONS,
    Broker,
    TransactionOwner,
    add_partitions_errors,
    end_txn_error,
    produce_results,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = "shop." + "x" * 200
OWNER = TransactionOwner("binlog-connector", LONG, 1 << 40, 77, 30_000)
NUMBER = 0x0102_0304
ALL_VERSIONS = SimpleNamespace(api_versions=dict.fromkeys(VERSIONS, (0, 99)))


class RecordedConnection(BrokerConnection):
    """Keeps the last request, and breaks."""

    request = b""

    def next_number(self) -> int:
        return NUMBER

    def send(self, request: bytes | bytearray) -> None:
        self.request = bytes(request)
        raise ConnectionResetError


def sent(ask: Callable[[Broker], object]) -> bytes:
    """Return the request of a broker."""
    with socket.socket() as unused:
        connection = RecordedConnection(LoggedIn(unused, ALL_VERSIONS), OWNER.client_id, 1.0)
        with pytest.raises(ConnectionResetError):
            ask(Broker(connection, OWNER))
    return connection.request


def batch(topic: str, partition: int, data: bytes) -> EncodedBatch:
    records = RecordBatch(topic, partition, bytes(HEADER_BYTES) + data, 1, 0, 0)
    closed = EncodedBatch(records, CODECS["none"])
    closed.number(OWNER.producer_id, OWNER.epoch, 0)
    closed.close()
    return closed


def framed(request: Any, version: int) -> bytes:
    request.API_VERSION = version
    request.with_header(correlation_id=NUMBER, client_id="binlog-connector")
    return bytes(request.encode(header=True, framed=True))


def answered(response: Any, version: int) -> bytes:
    response.API_VERSION = version
    response.with_header(correlation_id=NUMBER)
    return bytes(response.encode(header=True))


def test_partitions_are_added_topic_by_topic() -> None:
    topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    theirs = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=LONG,
        v3_and_below_producer_id=1 << 40,
        v3_and_below_producer_epoch=77,
        v3_and_below_topics=[
            topic(name="a", partitions=[0, 2]),
            topic(name="ä" + LONG, partitions=list(range(200))),
        ],
    )
    ours = [("ä" + LONG, partition) for partition in range(200)] + [("a", 2), ("a", 0)]
    assert sent(lambda broker: broker.add_partitions(tuple(ours))) == framed(theirs, 1)


def test_batches_are_written_topic_by_topic() -> None:
    topic = ProduceRequest.TopicProduceData
    partition = topic.PartitionProduceData
    large = batch("a", 3, bytes(range(256)) * 300)
    small, other = batch("a", 0, b"batch"), batch("b", 0, b"x" * 126)
    theirs = ProduceRequest(
        transactional_id=LONG,
        acks=-1,
        timeout_ms=30_000,
        topic_data=[
            topic(
                name="a",
                partition_data=[
                    partition(index=0, records=small.buffer()),
                    partition(index=3, records=large.buffer()),
                ],
            ),
            topic(name="b", partition_data=[partition(index=0, records=other.buffer())]),
        ],
    )
    assert sent(lambda broker: broker.write([large, other, small])) == framed(theirs, 7)


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_the_end_is_a_commit_or_an_abort(commit: bool) -> None:
    theirs = EndTxnRequest(
        transactional_id=LONG, producer_id=1 << 40, producer_epoch=77, committed=commit
    )
    assert sent(lambda broker: broker.end(commit=commit)) == framed(theirs, 1)


def added_response() -> bytes:
    topic = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    partition = topic.AddPartitionsToTxnPartitionResult
    return answered(
        AddPartitionsToTxnResponse(
            throttle_time_ms=5,
            results_by_topic_v3_and_below=[
                topic(
                    name=LONG,
                    results_by_partition=[
                        partition(partition_index=0, partition_error_code=0),
                        partition(partition_index=7, partition_error_code=51),
                    ],
                ),
                topic(
                    name="b",
                    results_by_partition=[partition(partition_index=1, partition_error_code=47)],
                ),
            ],
        ),
        1,
    )


def produced_response() -> bytes:
    topic = ProduceResponse.TopicProduceResponse
    partition = topic.PartitionProduceResponse
    return answered(
        ProduceResponse(
            responses=[
                topic(
                    name=LONG,
                    partition_responses=[
                        partition(index=0, error_code=0, base_offset=1 << 40, log_start_offset=5),
                        partition(index=4, error_code=87, base_offset=-1),
                    ],
                ),
                topic(name="b", partition_responses=[partition(index=1, base_offset=9)]),
            ],
            throttle_time_ms=0,
        ),
        7,
    )


def test_responses_tell_each_partition() -> None:
    assert add_partitions_errors(added_response()) == {(LONG, 0): 0, (LONG, 7): 51, ("b", 1): 47}
    assert produce_results(produced_response()) == {
        (LONG, 0): (0, 1 << 40),
        (LONG, 4): (87, -1),
        ("b", 1): (0, 9),
    }


@pytest.mark.parametrize("error", [0, 47])
def test_responses_tell_the_error_of_an_end(error: int) -> None:
    assert end_txn_error(answered(EndTxnResponse(throttle_time_ms=1, error_code=error), 1)) == error


@pytest.mark.parametrize(
    ("read", "response"),
    [
        (add_partitions_errors, added_response()),
        (produce_results, produced_response()),
        (end_txn_error, answered(EndTxnResponse(error_code=0), 1)),
    ],
)
def test_a_response_that_is_cut_says_nothing_else(read: Any, response: bytes) -> None:
    whole = read(response)
    for size in range(len(response)):
        try:
            cut = read(response[:size])
        except MalformedResponse:
            continue
        # Only what nobody reads is missing.
        assert cut == whole


@pytest.mark.parametrize("name", [b"\xff\xffb", b"\x80\x00b", b"\x7f\xffb", b"\x00\x01\xff"])
@pytest.mark.parametrize(
    ("read", "response"),
    [(add_partitions_errors, added_response()), (produce_results, produced_response())],
)
def test_a_name_with_a_wrong_length_or_wrong_letters_is_no_response(
    read: Any, response: bytes, name: bytes
) -> None:
    with pytest.raises(MalformedResponse):
        read(response.replace(b"\x00\x01b", name))
