"""The far end of a connection: requests as kafka-python decodes them, and responses as bytes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kafka.errors import IncompatibleBrokerVersion, UnknownTopicOrPartitionError
from kafka.protocol.admin import DescribeTransactionsRequest
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
    ProduceResponse,
)

from connector.kafka.kafka_python import LoggedIn
from connector.kafka.missing_markers import KAFKA_4
from connector.kafka.transaction_requests import END_TXN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_REQUESTS = {
    kind.API_KEY: kind
    for kind in (
        AddPartitionsToTxnRequest,
        DescribeTransactionsRequest,
        EndTxnRequest,
        FindCoordinatorRequest,
        InitProducerIdRequest,
        ListOffsetsRequest,
        MetadataRequest,
        ProduceRequest,
    )
}
_LENGTH_BYTES = 4
# The only broker.
NODE = 1
ADDRESS = "broker", 9092


class BrokerSocket:
    """A socket whose other end serves each request as a whole, and at once."""

    def __init__(self, serve: Callable[[Any], Any]) -> None:
        """Have `serve` make a response of each request.

        After ConnectionResetError, the connection ends; after TimeoutError, nothing comes.
        """
        self._serve = serve
        self._answers = b""
        self._is_cut = self._is_silent = False

    def sendall(self, data: bytes) -> None:
        if self._is_cut:
            raise ConnectionResetError
        kind, version = (int.from_bytes(data[at : at + 2]) for at in (4, 6))
        request = _REQUESTS[kind].decode(data[_LENGTH_BYTES:], version=version, header=True)
        try:
            response = self._serve(request)
        except ConnectionResetError:
            self._is_cut = True
            return
        except TimeoutError:
            self._is_silent = True
            return
        if self._is_silent:
            return
        response.API_VERSION = version
        response.with_header(correlation_id=request.header.correlation_id)
        self._answers += response.encode(header=True, framed=True)

    def recv(self, size: int) -> bytes:
        if not self._answers and self._is_silent:
            raise BlockingIOError
        received, self._answers = self._answers[:size], self._answers[size:]
        return received

    def settimeout(self, seconds: float | None) -> None:
        """Time does not pass."""

    def setsockopt(self, *_: object) -> None:
        """Time does not pass."""

    def shutdown(self, _: int) -> None:
        self._is_cut = True

    def close(self) -> None:
        self._is_cut = True


class KnownVersions:
    """Which requests a broker knows: all that kafka-python knows, before Kafka 4, or others."""

    def __init__(self, others: Mapping[int, tuple[int, int]]) -> None:
        everything = {kind: (0, known.max_version) for kind, known in _REQUESTS.items()}
        self.api_versions = everything | {END_TXN: (0, KAFKA_4[END_TXN] - 1)} | {**others}

    def api_version(self, request: Any) -> int:
        oldest, newest = self.api_versions[request.API_KEY]
        if newest < oldest:
            raise IncompatibleBrokerVersion
        return min(int(newest), int(request._max_version or newest))


def logged_in(
    serve: Callable[[Any], Any], versions: Mapping[int, tuple[int, int]] = MappingProxyType({})
) -> LoggedIn:
    """Return a connection to a broker that is there at once."""
    socket: Any = BrokerSocket(serve)
    return LoggedIn(socket, KnownVersions(versions))


def metadata(request: Any, partition_counts: Mapping[str, int]) -> Any:
    """Return the response of a broker that leads these topics, alone."""
    host, port = ADDRESS
    broker = MetadataResponse.MetadataResponseBroker(node_id=NODE, host=host, port=port)
    topic = MetadataResponse.MetadataResponseTopic
    topics = [
        topic(
            name=asked.name,
            error_code=0 if asked.name in partition_counts else UnknownTopicOrPartitionError.errno,
            partitions=[
                topic.MetadataResponsePartition(partition_index=number, leader_id=NODE)
                for number in range(partition_counts.get(asked.name, 0))
            ],
        )
        for asked in request.topics
    ]
    return MetadataResponse(brokers=[broker], topics=topics)


def coordinator(code: int) -> Any:
    """Return the response that the only broker coordinates."""
    host, port = ADDRESS
    return FindCoordinatorResponse(error_code=code, node_id=NODE, host=host, port=port)


def added(request: Any, code: Callable[[str, int], int]) -> Any:
    """Return the response to partitions that are added, each with its error code."""
    topic = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    result = topic.AddPartitionsToTxnPartitionResult
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            topic(
                name=asked.name,
                results_by_partition=[
                    result(partition_index=number, partition_error_code=code(asked.name, number))
                    for number in asked.partitions
                ],
            )
            for asked in request.v3_and_below_topics
        ]
    )


def produced(request: Any, code: Callable[[str, int, bytes], int]) -> Any:
    """Return the response to batches that are written, each with its error code."""
    topic = ProduceResponse.TopicProduceResponse
    return ProduceResponse(
        responses=[
            topic(
                name=asked.name,
                partition_responses=[
                    topic.PartitionProduceResponse(
                        index=part.index, error_code=code(asked.name, part.index, part.records)
                    )
                    for part in asked.partition_data
                ],
            )
            for asked in request.topic_data
        ]
    )
