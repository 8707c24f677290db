"""The requests that write and end a transaction, and their responses, as bytes.

kafka-python encodes requests by a description of the protocol, which costs more than everything
that Kafka needs of us. So the three requests of each transaction are encoded here.

::

    length 4 │ kind 2 │ version 2 │ number 4 │ client id │ body                 a request
    length 4 │ number 4 │ body                                                  its response

Each request has one version, the newest of Kafka 2.1: all brokers since then know it. Later
versions number the same errors in more detail, and we do the same about them.

https://kafka.apache.org/protocol.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from struct import Struct
from typing import Final, NamedTuple, TypeAlias, TypeVar

from kafka.errors import UnsupportedVersionError
from mypy_extensions import mypyc_attr

from connector.kafka.broker_connection import BrokerConnection
from connector.kafka.encoded_batch import EncodedBatch
from connector.kafka.failures import MalformedResponse

PRODUCE: Final = 0
ADD_PARTITIONS_TO_TXN: Final = 24
END_TXN: Final = 26
# By kind.
VERSIONS: Final = {PRODUCE: 7, ADD_PARTITIONS_TO_TXN: 1, END_TXN: 1}

PartitionId: TypeAlias = tuple[str, int]
# The error code of a batch, 0 if it is written, and the offset of its first record, or -1.
Produced: TypeAlias = tuple[int, int]

_HEAD = Struct(">ihhi")
_NUMBER = Struct(">i")
_LENGTH = Struct(">h")
_PRODUCER = Struct(">qh")
_PRODUCE_HEAD = Struct(">hi")
_ERROR = Struct(">h")
_PARTITION_ERROR = Struct(">ih")
_PRODUCED = Struct(">ihqqq")
_LENGTH_BYTES = 4
_HEAD_BYTES = _HEAD.size - _LENGTH_BYTES
_THROTTLE_BYTES = 4
_ALL_REPLICAS = -1
_COMMIT = b"\x01"
_ABORT = b"\x00"
# Requests and responses that are kept: those of the partitions that are written most.
_KEPT = 64
_Row = TypeVar("_Row", bound=tuple[object, ...])
_Result = TypeVar("_Result")


class TransactionOwner(NamedTuple):
    """The producer of a transaction."""

    client_id: str
    transactional_id: str
    producer_id: int
    epoch: int
    # So long a broker may wait for replicas.
    timeout_ms: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Broker:
    """A broker as a transaction sees it; every method raises OSError or KafkaError."""

    def __init__(self, connection: BrokerConnection, owner: TransactionOwner) -> None:
        """Ask by `connection`; raises UnsupportedVersionError for a broker before Kafka 2.1."""
        if not connection.knows(VERSIONS):
            raise UnsupportedVersionError
        self.connection = connection
        # What all requests have in common.
        head = _text(owner.client_id) + _text(owner.transactional_id)
        self._whose = head + _PRODUCER.pack(owner.producer_id, owner.epoch)
        self._produce_head = head + _PRODUCE_HEAD.pack(_ALL_REPLICAS, owner.timeout_ms)

    def add_partitions(self, partitions: tuple[PartitionId, ...]) -> dict[PartitionId, int]:
        """Add partitions to the transaction; return the error code of each."""
        self._send(ADD_PARTITIONS_TO_TXN, [self._whose, _partitions(partitions)])
        return add_partitions_errors(self.connection.receive())

    def write(self, batches: Iterable[EncodedBatch]) -> None:
        """Write one closed batch to each of some partitions; `written` has the outcome."""
        whole = [(batch.topic, batch.partition, batch.buffer()) for batch in batches]
        rows_of = _by_topic(sorted(whole, key=itemgetter(0, 1)))
        body = [self._produce_head, _NUMBER.pack(len(rows_of))]
        for topic, rows in rows_of:
            body += _text(topic), _NUMBER.pack(len(rows))
            for _, partition, data in rows:
                body += _NUMBER.pack(partition), _NUMBER.pack(len(data)), data
        self._send(PRODUCE, body)

    def written(self) -> dict[PartitionId, Produced]:
        """Return the outcome in each partition of the first request that has none yet."""
        return produce_results(self.connection.receive())

    def end(self, *, commit: bool) -> int:
        """Commit or abort the transaction; return the error code."""
        self._send(END_TXN, [self._whose, _COMMIT if commit else _ABORT])
        return end_txn_error(self.connection.receive())

    def _send(self, kind: int, body: Sequence[bytes]) -> None:
        number = self.connection.next_number()
        size = sum(map(len, body)) + _HEAD_BYTES
        head = _HEAD.pack(size, kind, VERSIONS[kind], number)
        self.connection.send(b"".join((head, *body)))


def add_partitions_errors(response: bytes) -> dict[PartitionId, int]:
    """Return the error of each partition that was to be added; 0 is none."""
    return _cached_add_partitions_errors(response[_NUMBER.size :])


# Commits of the same partitions get the same bytes.
@lru_cache(_KEPT)
def _cached_add_partitions_errors(body: bytes) -> dict[PartitionId, int]:
    errors: dict[PartitionId, int] = {}
    fields = _ResponseFields(body)
    fields.skip(_THROTTLE_BYTES)
    for _ in range(fields.count()):
        topic = fields.text()
        for _ in range(fields.count()):
            partition, error = fields.unpack(_PARTITION_ERROR)
            errors[topic, partition] = error
    return errors


def produce_results(response: bytes) -> dict[PartitionId, Produced]:
    """Return the outcome in each partition that was to be written."""
    results: dict[PartitionId, Produced] = {}
    fields = _ResponseFields(response[_NUMBER.size :])
    for _ in range(fields.count()):
        topic = fields.text()
        for _ in range(fields.count()):
            partition, error, offset, *_ = fields.unpack(_PRODUCED)
            results[topic, partition] = error, offset
    return results


def end_txn_error(response: bytes) -> int:
    """Return the error of an end; 0 is none."""
    fields = _ResponseFields(response[_NUMBER.size :])
    fields.skip(_THROTTLE_BYTES)
    (error,) = fields.unpack(_ERROR)
    return int(error)


def result_of(results: Mapping[PartitionId, _Result], partition: PartitionId) -> _Result:
    """Return what a response says of a partition; raises MalformedResponse if it says nothing."""
    try:
        return results[partition]
    except KeyError as error:
        raise MalformedResponse from error


class _ResponseFields:
    """Reads a response after its number; raises MalformedResponse if it is none."""

    def __init__(self, response: bytes) -> None:
        self._data = response
        self._at = 0

    def skip(self, size: int) -> None:
        self._at += size

    def unpack(self, layout: Struct) -> tuple[int, ...]:
        if self._at + layout.size > len(self._data):
            raise MalformedResponse
        values = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return values

    def count(self) -> int:
        """Return the length of an array; a missing one has a negative length."""
        return self.unpack(_NUMBER)[0]

    def text(self) -> str:
        (size,) = self.unpack(_LENGTH)
        start = self._at
        self._at += size
        if size < 0 or self._at > len(self._data):
            raise MalformedResponse
        try:
            return self._data[start : self._at].decode()
        except UnicodeDecodeError as error:
            raise MalformedResponse from error


@lru_cache(_KEPT)
def _partitions(partitions: tuple[PartitionId, ...]) -> bytes:
    """Return the topics of a request that adds partitions, and the end of the request."""
    topics = []
    for topic, rows in _by_topic(sorted(partitions)):
        ids = b"".join(_NUMBER.pack(partition) for _, partition in rows)
        topics.append(_text(topic) + _NUMBER.pack(len(rows)) + ids)
    return _NUMBER.pack(len(topics)) + b"".join(topics)


def _by_topic(rows: Iterable[_Row]) -> list[tuple[str, list[_Row]]]:
    """Return sorted rows by their first field, the topic."""
    return [(str(topic), list(group)) for topic, group in groupby(rows, key=itemgetter(0))]


def _text(text: str) -> bytes:
    data = text.encode()
    return _LENGTH.pack(len(data)) + data
