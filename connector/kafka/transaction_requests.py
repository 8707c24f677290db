"""The requests that write and end a transaction, and their responses, as bytes.

kafka-python encodes requests by a description of the protocol, which costs more than everything
that Kafka needs of us. So the three requests of each transaction are encoded here.

::

    length 4 │ kind 2 │ version 2 │ number 4 │ client id │ tags 1 │ body        a request
    length 4 │ number 4 │ tags 1 │ body                                         its response

Each request has one version, the first with fields of variable length that all brokers since
Kafka 2.8 know: lengths are unsigned varints that count one more than there is, and each structure
ends with its tags, of which there are none. `brokers` has those for older ones.

https://kafka.apache.org/protocol.html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from struct import Struct
from typing import Final, NamedTuple, TypeAlias, TypeVar

from connector.kafka.failures import MalformedResponse

PRODUCE: Final = 0
ADD_PARTITIONS_TO_TXN: Final = 24
END_TXN: Final = 26
# By kind.
VERSIONS: Final = {PRODUCE: 9, ADD_PARTITIONS_TO_TXN: 3, END_TXN: 3}

PartitionId: TypeAlias = tuple[str, int]

_HEAD = Struct(">ihhi")
_NUMBER = Struct(">i")
_CLIENT = Struct(">h")
_PRODUCER = Struct(">qh")
_PRODUCE_HEAD = Struct(">hi")
_ERROR = Struct(">h")
_PARTITION_ERROR = Struct(">ih")
_PRODUCED = Struct(">ihqqq")
_LENGTH_BYTES = 4
_HEAD_BYTES = _HEAD.size - _LENGTH_BYTES
_THROTTLE_BYTES = 4
_NO_TAGS = b"\x00"
ALL_REPLICAS = -1
_COMMIT = b"\x01"
_ABORT = b"\x00"
_MORE = 0x80
# Requests and responses that are kept: those of the partitions that are written most.
_KEPT = 64
_BITS = 0x7F
_Row = TypeVar("_Row", bound=tuple[object, ...])


class TransactionOwner(NamedTuple):
    """The producer of a transaction."""

    client_id: str
    transactional_id: str
    producer_id: int
    epoch: int
    # So long a broker may wait for replicas.
    timeout_ms: int


class TransactionRequests:
    """The requests of one producer; what they have in common is encoded once."""

    def __init__(self, owner: TransactionOwner) -> None:
        client = owner.client_id.encode()
        head = _CLIENT.pack(len(client)) + client + _NO_TAGS + _text(owner.transactional_id)
        whose = head + _PRODUCER.pack(owner.producer_id, owner.epoch)
        self._add_head = whose
        self._produce_head = head + _PRODUCE_HEAD.pack(ALL_REPLICAS, owner.timeout_ms)
        self._commit = whose + _COMMIT + _NO_TAGS
        self._abort = whose + _ABORT + _NO_TAGS

    def add_partitions(self, number: int, partitions: tuple[PartitionId, ...]) -> bytes:
        """Return the request that adds partitions to the transaction."""
        return _request(ADD_PARTITIONS_TO_TXN, number, [self._add_head, _partitions(partitions)])

    def produce(self, number: int, batches: Iterable[tuple[str, int, bytes]]) -> bytes:
        """Return the request that writes a complete record batch to each partition."""
        topics: list[bytes] = []
        rows_of = by_topic(sorted(batches, key=itemgetter(0, 1)))
        for topic, rows in rows_of:
            topics += _text(topic), _count(len(rows))
            for _, partition, data in rows:
                topics += _NUMBER.pack(partition), _count(len(data)), data, _NO_TAGS
            topics.append(_NO_TAGS)
        body = [self._produce_head, _count(len(rows_of)), *topics, _NO_TAGS]
        return _request(PRODUCE, number, body)

    def end(self, number: int, *, commit: bool) -> bytes:
        """Return the request that commits the transaction, or aborts it."""
        return _request(END_TXN, number, [self._commit if commit else self._abort])


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
            fields.skip_tags()
            errors[topic, partition] = error
        fields.skip_tags()
    return errors


def produce_errors(response: bytes) -> dict[PartitionId, int]:
    """Return the error of each partition that was to be written; 0 is none."""
    results: dict[PartitionId, int] = {}
    fields = _ResponseFields(response[_NUMBER.size :])
    for _ in range(fields.count()):
        topic = fields.text()
        for _ in range(fields.count()):
            partition, error, *_ = fields.unpack(_PRODUCED)
            for _ in range(fields.count()):
                # Which record is wrong, and why.
                fields.skip(_NUMBER.size)
                fields.text()
                fields.skip_tags()
            fields.text()
            fields.skip_tags()
            results[topic, partition] = error
        fields.skip_tags()
    return results


def end_txn_error(response: bytes) -> int:
    """Return the error of an end; 0 is none."""
    fields = _ResponseFields(response[_NUMBER.size :])
    fields.skip(_THROTTLE_BYTES)
    (error,) = fields.unpack(_ERROR)
    return int(error)


class _ResponseFields:
    """Reads a response after its number; raises Malformed if it ends too early."""

    def __init__(self, response: bytes) -> None:
        self._data = response
        self._at = 0
        self.skip_tags()

    def skip(self, size: int) -> None:
        self._at += size

    def unpack(self, layout: Struct) -> tuple[int, ...]:
        if self._at + layout.size > len(self._data):
            raise MalformedResponse
        values = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return values

    def varint(self) -> int:
        value = shift = 0
        while True:
            if self._at >= len(self._data):
                raise MalformedResponse
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & _BITS) << shift
            if byte < _MORE:
                return value
            shift += 7

    def count(self) -> int:
        """Return the length of an array; 0 if it is missing."""
        return max(0, self.varint() - 1)

    def text(self) -> str:
        """Return a string; the empty one if it is missing."""
        size = self.count()
        start = self._at
        self._at += size
        if self._at > len(self._data):
            raise MalformedResponse
        return self._data[start : self._at].decode()

    def skip_tags(self) -> None:
        for _ in range(self.varint()):
            self.varint()
            self.skip(self.varint())


def _request(kind: int, number: int, body: Sequence[bytes]) -> bytes:
    size = sum(map(len, body)) + _HEAD_BYTES
    return b"".join((_HEAD.pack(size, kind, VERSIONS[kind], number), *body))


@lru_cache(_KEPT)
def _partitions(partitions: tuple[PartitionId, ...]) -> bytes:
    """Return the topics of a request that adds partitions, and the end of the request."""
    topics = []
    for topic, rows in by_topic(sorted(partitions)):
        ids = b"".join(_NUMBER.pack(partition) for _, partition in rows)
        topics.append(_text(topic) + _count(len(rows)) + ids + _NO_TAGS)
    return _count(len(topics)) + b"".join(topics) + _NO_TAGS


def by_topic(rows: Iterable[_Row]) -> list[tuple[str, list[_Row]]]:
    """Return sorted rows by their first field, the topic."""
    return [(str(topic), list(group)) for topic, group in groupby(rows, key=itemgetter(0))]


def _text(text: str) -> bytes:
    data = text.encode()
    return _count(len(data)) + data


def _count(count: int) -> bytes:
    rest = count + 1
    if rest < _MORE:
        return bytes((rest,))
    out = bytearray()
    while rest >= _MORE:
        out.append(rest & _BITS | _MORE)
        rest >>= 7
    out.append(rest)
    return bytes(out)
