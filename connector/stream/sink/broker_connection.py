"""A connection to a broker without an event loop, and the requests of Kafka transactions as bytes.

kafka-python connects and logs in. Then its socket is taken over, because each request through the
client's event loop and thread costs more than everything that Kafka needs of us.

::

    length 4 │ kind 2 │ version 2 │ number 4 │ client id │ tags 1 │ body        a request
    length 4 │ number 4 │ tags 1 │ body                                         its response

Each request has one version, the first with fields of variable length that all brokers since
Kafka 2.8 know: lengths are unsigned varints that count one more than there is, and each structure
ends with its tags, of which there are none.

https://kafka.apache.org/protocol.html
"""

from __future__ import annotations

import selectors
import socket
import ssl
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from struct import Struct
from typing import Any, Final, TypeAlias, TypeVar

from kafka import errors
from kafka.errors import KafkaError
from kafka.net.selector import NetworkSelector

from connector.stream.sink.network_client import ConnectionManager

PRODUCE: Final = 0
INIT_PRODUCER_ID: Final = 22
ADD_PARTITIONS_TO_TXN: Final = 24
END_TXN: Final = 26
# By kind.
VERSIONS: Final = {PRODUCE: 9, INIT_PRODUCER_ID: 4, ADD_PARTITIONS_TO_TXN: 3, END_TXN: 3}

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
_ALL_REPLICAS = -1
_COMMIT = b"\x01"
_ABORT = b"\x00"
_MORE = 0x80
# Requests and responses that are kept: those of the partitions that are written most.
_KEPT = 64
_BITS = 0x7F
_Row = TypeVar("_Row", bound=tuple[object, ...])


class MalformedResponse(KafkaError):  # type: ignore[misc]  # the library has no types
    """A response is not what the protocol says."""


class TransactionRequests:
    """The requests of one producer; what they have in common is encoded once."""

    def __init__(
        self, client_id: str, transactional_id: str, producer: tuple[int, int], timeout_ms: int
    ) -> None:
        """`producer` is the id and the epoch; a broker may wait `timeout_ms` for replicas."""
        client = client_id.encode()
        head = _CLIENT.pack(len(client)) + client + _NO_TAGS + _text(transactional_id)
        whose = head + _PRODUCER.pack(*producer)
        self._transactional_id = head, _PRODUCER.pack(*producer)
        self._add_head = whose
        self._produce_head = head + _PRODUCE_HEAD.pack(_ALL_REPLICAS, timeout_ms)
        self._commit = whose + _COMMIT + _NO_TAGS
        self._abort = whose + _ABORT + _NO_TAGS

    def add_partitions(self, number: int, partitions: tuple[PartitionId, ...]) -> bytes:
        """Return the request that adds partitions to the transaction."""
        return _request(ADD_PARTITIONS_TO_TXN, number, [self._add_head, _partitions(partitions)])

    def produce(self, number: int, batches: Iterable[tuple[str, int, bytes]]) -> bytes:
        """Return the request that writes a complete record batch to each partition."""
        topics: list[bytes] = []
        by_topic = _by_topic(sorted(batches, key=itemgetter(0, 1)))
        for topic, rows in by_topic:
            topics += _text(topic), _count(len(rows))
            for _, partition, data in rows:
                topics += _NUMBER.pack(partition), _count(len(data)), data, _NO_TAGS
            topics.append(_NO_TAGS)
        body = [self._produce_head, _count(len(by_topic)), *topics, _NO_TAGS]
        return _request(PRODUCE, number, body)

    def take_over(self, number: int, timeout_ms: int) -> bytes:
        """Return the request for the next epoch, unless another producer has a newer one.

        It aborts what is open in this one, also what still arrives.
        """
        head, producer = self._transactional_id
        return _request(
            INIT_PRODUCER_ID, number, [head, _NUMBER.pack(timeout_ms), producer, _NO_TAGS]
        )

    def end(self, number: int, *, commit: bool) -> bytes:
        """Return the request that commits the transaction, or aborts it."""
        return _request(END_TXN, number, [self._commit if commit else self._abort])


def correlation_id(response: bytes) -> int:
    """Return the number of the request; `response` begins after its length."""
    try:
        (number,) = _NUMBER.unpack_from(response)
    except Exception as error:
        raise MalformedResponse from error
    return int(number)


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


def produce_results(response: bytes) -> dict[PartitionId, tuple[int, int]]:
    """Return error and first offset of each partition that was to be written; 0 is no error."""
    results: dict[PartitionId, tuple[int, int]] = {}
    fields = _ResponseFields(response[_NUMBER.size :])
    for _ in range(fields.count()):
        topic = fields.text()
        for _ in range(fields.count()):
            partition, error, offset, *_ = fields.unpack(_PRODUCED)
            for _ in range(fields.count()):
                # Which record is wrong, and why.
                fields.skip(_NUMBER.size)
                fields.text()
                fields.skip_tags()
            fields.text()
            fields.skip_tags()
            results[topic, partition] = error, offset
        fields.skip_tags()
    return results


def end_txn_error(response: bytes) -> int:
    """Return the error of an end, or of a take-over; 0 is none."""
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
    for topic, rows in _by_topic(sorted(partitions)):
        ids = b"".join(_NUMBER.pack(partition) for _, partition in rows)
        topics.append(_text(topic) + _count(len(rows)) + ids + _NO_TAGS)
    return _count(len(topics)) + b"".join(topics) + _NO_TAGS


def _by_topic(rows: Iterable[_Row]) -> list[tuple[str, list[_Row]]]:
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


# ruff: noqa: SLF001 - a client has no other way to give its socket away

_CONNECT_SECONDS_MAX = 5.0
_MS = 1000
_US = 1_000_000
_TIME = Struct("ll")
# What a blocking socket raises when its time is over.
_TIMEOUTS = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_LENGTH = Struct(">i")
# Of a few partitions.
_RESPONSE_BYTES_MAX = 1 << 20
_READ_BYTES = 65536
_NUMBER_MAX = 0x7FFF_FFFF


class BrokerConnection:
    """A socket that is logged in; every method raises OSError if it is broken."""

    def __init__(self, connected: socket.socket, timeout_seconds: float) -> None:
        """Wait for each response `timeout_seconds` at most; raises TimeoutError."""
        # By a timeout of its own, Python would call the system twice for each send and receive.
        connected.settimeout(None)
        limit = _TIME.pack(*divmod(round(timeout_seconds * _US), _US))
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            connected.setsockopt(socket.SOL_SOCKET, option, limit)
        self._socket = connected
        # Of the last request, and of the last response.
        self._sent = self._received = 0
        # The start of the next response.
        self._rest = b""

    @classmethod
    def open(
        cls, settings: dict[str, Any], host: str, port: int, timeout_seconds: float
    ) -> BrokerConnection:
        """Connect and log in by the `settings` of a client.

        Raises KafkaError, also if the broker does not know the requests.
        """
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        settings = settings | {"bootstrap_servers": [address]}
        selector = NetworkSelector(**settings)
        connections = ConnectionManager(selector, **settings)
        try:
            (broker,) = connections.cluster.bootstrap_brokers()
            patience_ms = min(timeout_seconds, _CONNECT_SECONDS_MAX) * _MS

            async def connected() -> Any:
                return await connections.get_connection(
                    broker.node_id, patience_ms, refresh_metadata_on_err=False
                )

            connection = selector.run(connected)
            _require_versions(connection)
            return cls(_taken(connection.transport, selector), timeout_seconds)
        finally:
            connections.close()
            selector.close()

    def next_number(self) -> int:
        """Return the number of the next request."""
        self._sent = _after(self._sent)
        return self._sent

    def send(self, request: bytes) -> None:
        """Send a request; some may wait for their responses."""
        try:
            self._socket.sendall(request)
        except _TIMEOUTS as error:
            raise TimeoutError from error

    def receive(self) -> bytes:
        """Return the response to the oldest request, from its number on; raises Malformed.

        Responses come in the order of the requests.
        """
        data = self._rest or self._read(_READ_BYTES)
        while len(data) < _LENGTH.size:
            data += self._read(_READ_BYTES)
        (length,) = _LENGTH.unpack_from(data)
        if not 0 <= length <= _RESPONSE_BYTES_MAX:
            raise MalformedResponse
        end = _LENGTH.size + length
        while len(data) < end:
            data += self._read(_READ_BYTES)
        response, self._rest = data[_LENGTH.size : end], data[end:]
        self._received = _after(self._received)
        if correlation_id(response) != self._received:
            raise MalformedResponse
        return response

    def interrupt(self) -> None:
        """Have a send or a receive of another thread fail, and all that come."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _read(self, size: int) -> bytes:
        try:
            data = self._socket.recv(size)
        except _TIMEOUTS as error:
            raise TimeoutError from error
        if not data:
            raise ConnectionResetError
        return data


def _after(number: int) -> int:
    return (number + 1) & _NUMBER_MAX


def _require_versions(connection: Any) -> None:
    """Raise IncompatibleBrokerVersion if the broker does not know a request in our version."""
    known = connection.broker_version_data.api_versions
    for kind, version in VERSIONS.items():
        oldest, newest = known.get(kind, (1, 0))
        if not oldest <= version <= newest:
            raise errors.IncompatibleBrokerVersion


def _taken(transport: Any, selector: Any) -> socket.socket:
    """Take the socket from its event loop, which then closes without it."""
    transport.pause_reading()
    taken: socket.socket = transport._sock
    transport._sock = None
    selector.unregister_event(taken, selectors.EVENT_READ | selectors.EVENT_WRITE)
    return taken
