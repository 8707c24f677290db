"""Requests for offsets of many partitions, and the wait for records in them, as bytes.

kafka-python encodes requests by a description of the protocol, which takes 25 µs for a partition.
The mirror asks for the offsets of all partitions in each batch, and waits for records in all of
them while it is idle. So these two requests are encoded here, as those of transactions are.

The wait is an incremental fetch (KIP-227): the broker keeps a *session* with all partitions and
their positions, a request names those that are new, have moved or are gone, and a response those
with something new. A broker that keeps no session gets all partitions each time.

::

    length 4 │ kind 2 │ version 2 │ number 4 │ client id │ body                 a request
    number 4 │ body                                                             a response

Each request has one version, of Kafka 2.1 or older: all brokers know it.

https://kafka.apache.org/protocol.html
https://cwiki.apache.org/confluence/display/KAFKA/KIP-227
"""

import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from struct import Struct
from typing import Final

from kafka import errors

from connector.kafka.broker_connection import BrokerConnection
from connector.kafka.failures import MalformedResponse
from stream_jobs.source.requests import Partition, by_topic

FETCH: Final = 1
LIST_OFFSETS: Final = 2
# By kind.
VERSIONS: Final = {FETCH: 7, LIST_OFFSETS: 2}
CLIENT_ID: Final = "binlog-connector-mirror"

_HEAD: Final = Struct(">ihhih")
_LENGTH_BYTES: Final = 4
_COUNT: Final = Struct(">i")
_TEXT: Final = Struct(">h")
_LISTED: Final = Struct(">ib")
_WANTED: Final = Struct(">iq")
_FOUND: Final = Struct(">ihqq")
_FETCH: Final = Struct(">iiiibii")
# Partition, position, start of the log (of replicas alone), and bytes.
_POSITION: Final = Struct(">iqqi")
_FETCHED_HEAD: Final = Struct(">ihi")
_FETCHED: Final = Struct(">ihqqqi")
_ABORTED_BYTES: Final = 16
_NUMBER_BYTES: Final = 4
_THROTTLE_BYTES: Final = 4
_NO_REPLICA: Final = -1
# A broker answers with one batch at least, as soon as it has one.
_LEAST_BYTES: Final = 1
_NO_SESSION: Final = 0
_FIRST_EPOCH: Final = 0
_EPOCH_MAX: Final = 0x7FFF_FFFF
_SESSION_LOST: Final = frozenset({70, 71})


def send_list_offsets(
    connection: BrokerConnection, partitions: Iterable[Partition], which: int, *, committed: bool
) -> Callable[[], dict[Partition, int]]:
    """Ask for the first or the last offset of partitions; return what awaits the answer.

    `which` is LATEST or EARLIEST. The last offset is before the first open transaction, unless
    `committed` is false. Raises KafkaError and OSError.
    """
    topics = by_topic(partitions)
    body = [_LISTED.pack(_NO_REPLICA, committed), _COUNT.pack(len(topics))]
    for topic, numbers in topics:
        body += _text(topic), _COUNT.pack(len(numbers))
        body += [_WANTED.pack(number, which) for number in numbers]
    _send(connection, LIST_OFFSETS, body)
    return lambda: _read_offsets(connection.receive())


def _read_offsets(response: bytes) -> dict[Partition, int]:
    offsets: dict[Partition, int] = {}
    try:
        at = _NUMBER_BYTES + _THROTTLE_BYTES
        (topics,) = _COUNT.unpack_from(response, at)
        at += _COUNT.size
        for _ in range(topics):
            topic, count, at = _topic(response, at)
            for _ in range(count):
                number, code, _, offset = _FOUND.unpack_from(response, at)
                at += _FOUND.size
                if code:
                    raise errors.for_code(code)
                offsets[topic, number] = offset
    except (struct.error, UnicodeDecodeError) as error:
        raise MalformedResponse from error
    return offsets


class FetchSession:
    """The partitions that one broker watches for us."""

    def __init__(self, connection: BrokerConnection) -> None:
        self._connection = connection
        self._id = _NO_SESSION
        self._epoch = _FIRST_EPOCH
        # What the broker knows.
        self._positions: dict[Partition, int] = {}

    def send(self, positions: Mapping[Partition, int], wait_ms: int) -> Callable[[], bool]:
        """Ask for a record after one of `positions`; return what awaits the answer.

        That returns whether there may be one. Raises KafkaError and OSError.
        """
        known = self._positions if self._id else {}
        moved = [place for place, offset in positions.items() if known.get(place) != offset]
        gone = known.keys() - positions.keys()
        self._positions = dict(positions)
        body = [
            _FETCH.pack(
                _NO_REPLICA, wait_ms, _LEAST_BYTES, _LEAST_BYTES, True, self._id, self._epoch
            ),
            *_positions(moved, positions),
            *_gone(gone),
        ]
        _send(self._connection, FETCH, body)
        return lambda: self._read(self._connection.receive())

    def _read(self, response: bytes) -> bool:
        try:
            _, code, session = _FETCHED_HEAD.unpack_from(response, _NUMBER_BYTES)
            if code in _SESSION_LOST:
                # The broker has dropped it for others: the next request has all partitions.
                self._id, self._epoch = _NO_SESSION, _FIRST_EPOCH
                return False
            if code:
                raise errors.for_code(code)
            self._id = session
            self._epoch = self._epoch % _EPOCH_MAX + 1 if session else _FIRST_EPOCH
            return _has_content(response, _NUMBER_BYTES + _FETCHED_HEAD.size)
        except (struct.error, UnicodeDecodeError) as error:
            raise MalformedResponse from error


def _positions(places: Collection[Partition], positions: Mapping[Partition, int]) -> list[bytes]:
    topics = by_topic(places)
    body = [_COUNT.pack(len(topics))]
    for topic, numbers in topics:
        body += _text(topic), _COUNT.pack(len(numbers))
        body += [
            _POSITION.pack(number, positions[topic, number], -1, _LEAST_BYTES) for number in numbers
        ]
    return body


def _gone(places: Collection[Partition]) -> list[bytes]:
    topics = by_topic(places)
    body = [_COUNT.pack(len(topics))]
    for topic, numbers in topics:
        body += _text(topic), _COUNT.pack(len(numbers)), *map(_COUNT.pack, numbers)
    return body


def _has_content(response: bytes, at: int) -> bool:
    """Return whether a partition has records, or an error."""
    (topics,) = _COUNT.unpack_from(response, at)
    at += _COUNT.size
    for _ in range(topics):
        _, count, at = _topic(response, at)
        for _ in range(count):
            _, code, _, _, _, aborted = _FETCHED.unpack_from(response, at)
            at += _FETCHED.size + max(0, aborted) * _ABORTED_BYTES
            (size,) = _COUNT.unpack_from(response, at)
            at += _COUNT.size + max(0, size)
            if code or size > 0:
                return True
    return False


def _topic(response: bytes, at: int) -> tuple[str, int, int]:
    """Return the name of a topic, the number of its partitions, and where they begin."""
    (length,) = _TEXT.unpack_from(response, at)
    at += _TEXT.size
    name = response[at : at + length].decode()
    at += length
    (count,) = _COUNT.unpack_from(response, at)
    return name, count, at + _COUNT.size


def _text(text: str) -> bytes:
    data = text.encode()
    return _TEXT.pack(len(data)) + data


def _send(connection: BrokerConnection, kind: int, body: Sequence[bytes]) -> None:
    client = CLIENT_ID.encode()
    size = _HEAD.size - _LENGTH_BYTES + len(client) + sum(map(len, body))
    head = _HEAD.pack(size, kind, VERSIONS[kind], connection.next_number(), len(client))
    connection.send(b"".join((head, client, *body)))
