"""A server of Kafka's protocol for the log in a folder: a thread for each connection.

::

    length 4 │ kind 2 │ version 2 │ number 4 │ client id │ body                 a request
    length 4 │ number 4 │ body                                                  its response

A connection gets its responses in the order of its requests, one at a time, as from a broker. If
the files fail (a full disk), the server ends: what is in memory may not be on the disk any more.
Clients connect again, and then the folder is opened as after a crash, or an error says why not.

https://kafka.apache.org/protocol.html
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from struct import Struct
from typing import Any, Final

import structlog
from kafka.errors import KafkaError, UnsupportedVersionError
from kafka.protocol.metadata import ApiVersionsResponse

from connector.foundation.errors.kinds import fields
from connector.kafka.folder import cluster_requests, partition_requests
from connector.kafka.folder.fetch_session import FetchSession
from connector.kafka.folder.folder_errors import FolderUnusable
from connector.kafka.folder.folder_log import FolderLog
from connector.kafka.folder.request_fields import COUNT, MalformedRequest, RequestFields

_HEAD: Final = Struct(">hhi")
_NUMBER: Final = Struct(">i")
_API_VERSIONS: Final = 18
_API_VERSIONS_NEWEST: Final = 3
_RECEIVE_BYTES: Final = 1 << 20
_UPKEEP_SECONDS: Final = 1.0


class FolderServer:
    """Answers at a socket that listens, until it is closed or the files fail."""

    def __init__(self, log: FolderLog, listener: socket.socket) -> None:
        """Begin to answer; the server owns `log` and `listener`."""
        self._log = log
        self._listener = listener
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._closed = threading.Event()
        # A compaction takes long, and transactions have to end meanwhile.
        ends = partial(self._repeat, log.end_late_transactions)
        for work in (self._accept, ends, partial(self._repeat, log.clean)):
            threading.Thread(target=work, name="log folder", daemon=True).start()

    @property
    def is_closed(self) -> bool:
        """Whether nobody is answered any more."""
        return self._closed.is_set()

    def close(self) -> None:
        """End all connections, and release the folder."""
        with self._lock:
            if self.is_closed:
                return
            self._closed.set()
            connections = list(self._connections)
        for each in (self._listener, *connections):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._log.close()

    def forget(self) -> None:
        """Leave the folder to the process that this one was copied from."""
        for each in (self._listener, *self._connections):
            each.close()
        self._log.forget()

    def _accept(self) -> None:
        try:
            while True:
                connection, _ = self._listener.accept()
                with self._lock:
                    if self.is_closed:
                        connection.close()
                        return
                    self._connections.add(connection)
                threading.Thread(
                    target=self._serve, args=(connection,), name="log folder client", daemon=True
                ).start()
        except (OSError, RuntimeError) as error:
            # There are too many files or threads: nobody would answer those who come.
            self._fail(error)

    def _serve(self, connection: socket.socket) -> None:
        session = FetchSession()
        try:
            while (request := _received(connection)) is not None:
                response = self._answered(request, session)
                if response is not None:
                    _send(connection, response)
        except MalformedRequest:
            structlog.get_logger().warning("a client sent no request of Kafka's protocol")
        except _Gone:
            pass
        except (KafkaError, OSError) as error:
            self._fail(error)
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def _repeat(self, upkeep: Callable[[], None]) -> None:
        try:
            while not self._closed.wait(_UPKEEP_SECONDS):
                upkeep()
        except (KafkaError, OSError) as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """End, so that the folder is opened as after a crash."""
        if not self.is_closed:
            facts = {"error": f"{type(error).__name__}: {error}"}
            cause = error.__cause__ or error
            if isinstance(cause, OSError):
                # It may be opened again and again, where the disk has room for a part of a batch.
                facts = fields(FolderUnusable(self._log.folder, cause))
            structlog.get_logger().warning("the log folder is closed, and opened again", **facts)
            self.close()

    def _answered(self, request: memoryview, session: FetchSession) -> list[bytes] | None:
        """Return the response from its number on; None if the client wants none."""
        fields = RequestFields(request)
        kind, version, number = fields.unpack(_HEAD)
        head = _NUMBER.pack(number)
        if kind == _API_VERSIONS:
            return _versions(version, number)
        if kind in partition_requests.VERSIONS:
            if version != partition_requests.VERSIONS[kind]:
                raise MalformedRequest
            fields.text()
            body = self._partition_answer(kind, session)(self._log, fields)
            return None if body is None else [head, *body]
        known = cluster_requests.REQUESTS.get(kind)
        if known is None or not known.oldest <= version <= known.newest:
            raise MalformedRequest
        try:
            asked = known.request.decode(request, version=version, header=True)
        except Exception as error:
            raise MalformedRequest from error
        response = known.answer(self._log, asked)
        return [_encoded(response, version, number)]

    def _partition_answer(
        self, kind: int, session: FetchSession
    ) -> Callable[[FolderLog, RequestFields], list[bytes] | None]:
        if kind == partition_requests.FETCH:
            return partial(partition_requests.fetch, session=session, now=time.monotonic)
        return _ANSWERS[kind]


_ANSWERS: Final[dict[int, Callable[[FolderLog, RequestFields], list[bytes] | None]]] = {
    partition_requests.PRODUCE: partition_requests.produce,
    partition_requests.LIST_OFFSETS: partition_requests.list_offsets,
    partition_requests.ADD_PARTITIONS: partition_requests.add_partitions,
    partition_requests.END_TRANSACTION: partition_requests.end_transaction,
}


class _Gone(Exception):
    """The client has closed the connection."""


def _versions(version: int, number: int) -> list[bytes]:
    one = ApiVersionsResponse.ApiVersion
    ranges = {kind: (only, only) for kind, only in partition_requests.VERSIONS.items()}
    ranges |= {kind: (each.oldest, each.newest) for kind, each in cluster_requests.REQUESTS.items()}
    ranges[_API_VERSIONS] = 0, _API_VERSIONS_NEWEST
    is_known = 0 <= version <= _API_VERSIONS_NEWEST
    response = ApiVersionsResponse(
        # In the oldest version, this says which ones are known.
        error_code=0 if is_known else UnsupportedVersionError.errno,
        api_keys=[
            one(api_key=kind, min_version=oldest, max_version=newest)
            for kind, (oldest, newest) in sorted(ranges.items())
        ],
    )
    return [_encoded(response, version if is_known else 0, number)]


def _encoded(response: Any, version: int, number: int) -> bytes:
    response.API_VERSION = version
    response.with_header(correlation_id=number)
    return bytes(response.encode(header=True))


def _received(connection: socket.socket) -> memoryview | None:
    """Return a request from its kind on; None at the end."""
    head = _bytes(connection, COUNT.size)
    if head is None:
        return None
    (length,) = COUNT.unpack(head)
    if not _HEAD.size <= length <= cluster_requests.REQUEST_BYTES_MAX:
        raise MalformedRequest
    return _bytes(connection, length)


def _bytes(connection: socket.socket, size: int) -> memoryview | None:
    data = memoryview(bytearray(size))
    at = 0
    while at < size:
        try:
            count = connection.recv_into(data[at : at + _RECEIVE_BYTES])
        except OSError:
            return None
        if not count:
            return None
        at += count
    return data


def _send(connection: socket.socket, response: Sequence[bytes]) -> None:
    size = sum(map(len, response))
    try:
        connection.sendall(b"".join((COUNT.pack(size), *response)))
    except OSError as error:
        raise _Gone from error
