"""The listener and the attendant: a thread waits for users' records, the pipeline handles them.

Requests and signals share it. The listener waits for records of a topic in a thread of its own.
The attendant takes them in its turn, between two transactions, and passes each to its handler.
Nothing is trusted: a wrong record is refused with a log line, and the stream goes on.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import closing
from math import inf
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import structlog
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from connector.foundation.errors import RequestRefused, fields
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.sink import connection
from connector.stream.sink.connection import connector_error, consumer_settings

Handler = Callable[[int, Mapping[str, Any]], None]


class Listener(Protocol):
    """A source of requests; a simulation has its own."""

    requests: SimpleQueue[tuple[int, dict[str, Any]]]  # offset and object of each new record

    def close(self) -> None:
        """Stop listening."""
        ...


class RecordAttendant(ABC):
    """An attendant that takes up the records of a listener, in their order."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    @property
    def wants_turn(self) -> bool:
        """Whether a record has arrived."""
        return not self._listener.requests.empty()

    @property
    def patience_seconds(self) -> float:
        """A new record wakes the stream."""
        return inf

    def step(self) -> None:
        """Take up the new records."""
        while True:
            try:
                offset, request = self._listener.requests.get_nowait()
            except Empty:
                return
            self._take(offset, request)

    @abstractmethod
    def _take(self, offset: int, request: dict[str, Any]) -> None:
        """Take up one record; what it does is committed together with its offset."""

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()


def handle(log: Any, noun: str, handler: Callable[[], None] | RequestRefused) -> None:
    """Call a handler, and say in `log` that `noun` has come; log a refusal."""
    refused = f"{noun} is refused"
    if isinstance(handler, RequestRefused):
        log.error(refused, **fields(handler))
        return
    log.info(noun)
    try:
        handler()
    except RequestRefused as error:
        # No traceback: the record is wrong, not this code.
        log.error(refused, **fields(error))  # noqa: TRY400


# The broker answers at once if there is a record.
_POLL_MS = 5000
_FETCH_WAIT_MS = 5000
_MS = 1000
_RETRY_SECONDS = 5.0


class RecordListener:
    """Reads the first partition of a topic in a thread of its own."""

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        key: bytes,
        offset: int | None,
        read: Callable[[bytes | None], dict[str, Any]],
        noun: str,
        wake: Callable[[], None],
    ) -> None:
        """Listen for records with `key`, beginning at `offset`; None is the end of the topic.

        The end is told by an empty object with the offset before it. `read` makes an object of a
        value, or raises RequestRefused; `noun` is what the log calls a record. `wake` is called
        when there is a new one.
        """
        # Offset and object of each new record.
        self.requests: SimpleQueue[tuple[int, dict[str, Any]]] = SimpleQueue()
        self._settings = settings
        self._key = key
        self._offset = offset
        self._topic = topic
        self._read = read
        self._noun = noun
        self._wake = wake
        self._closing = threading.Event()
        self._log = structlog.get_logger()
        # A daemon: it may wait for the broker when the process ends.
        threading.Thread(target=self._listen, name=f"{noun}s", daemon=True).start()

    def close(self) -> None:
        """Stop listening; the thread is not waited for."""
        self._closing.set()

    def _listen(self) -> None:
        while not self._closing.is_set():
            try:
                self._listen_until_it_breaks()
            except (KafkaError, OSError) as error:
                failed = connector_error(self._settings, connection.reading(self._topic), error)
                self._log.warning(
                    f"{self._noun}s cannot be read; trying again",
                    **fields(failed),
                    retry_in_seconds=_RETRY_SECONDS,
                )
                self._closing.wait(_RETRY_SECONDS)

    def _listen_until_it_breaks(self) -> None:
        partition = TopicPartition(self._topic, 0)
        arguments = consumer_settings(self._settings) | {
            "auto_offset_reset": "earliest",
            # The client refuses to wait longer for a fetch than for any other response.
            "fetch_max_wait_ms": min(
                _FETCH_WAIT_MS, int(self._settings.request_timeout_seconds * _MS) // 2
            ),
        }
        with closing(KafkaConsumer(**arguments)) as consumer:
            consumer.assign([partition])
            end: int = consumer.end_offsets([partition])[partition]
            if self._offset is None:
                self._offset = end
                self._put(end - 1, {})
            elif self._offset > end:
                # Somebody has deleted the topic, and its offsets begin again.
                self._log.warning("a topic was created again", topic=self._topic)
                self._offset = 0
            consumer.seek(partition, self._offset)
            while not self._closing.is_set():
                for record in consumer.poll(timeout_ms=_POLL_MS).get(partition, ()):
                    self._offset = record.offset + 1
                    if record.key == self._key:
                        self._take(record.offset, record.value)

    def _take(self, offset: int, value: bytes | None) -> None:
        try:
            request = self._read(value)
        except RequestRefused as error:
            self._log.error(
                f"a {self._noun} is refused", topic=self._topic, offset=offset, **fields(error)
            )
            return
        self._put(offset, request)

    def _put(self, offset: int, request: dict[str, Any]) -> None:
        self.requests.put((offset, request))
        self._wake()
