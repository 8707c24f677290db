"""Requests to a running pipeline, by way of the topic `<prefix>.commands`.

The pipeline alone may write to its topics, so others ask it to. A request is a record with the
pipeline's name as its key::

    {"command": "snapshot", "asked_by": {"user": …, "host": …, "program": …, "pid": …}, …}

Its offset is its number. Whoever may write to the topic can make any request, and can say anything
of who asked, so nothing in a request is trusted: what is not as it should be is refused with a line
in the log, and the stream goes on.

Which requests were taken up is part of the progress record, which is committed together with what a
request led to: each is done once, also by a pipeline that was not running when it was made.
"""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

import structlog
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from connector.contract import COMMANDS_TOPIC_SUFFIX, control_topic
from connector.errors import RequestRefused, fields, requests
from connector.sink import attempts
from connector.sink.connection import client_settings, connector_error
from connector.sink.request import COMMAND, asked_by, new_request, read_request, shown
from connector.sink.topics import TopicCreator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from connector.progress.stream_position import StreamPosition
    from connector.settings.sections import KafkaSettings

    Handler = Callable[[int, Mapping[str, Any]], None]

_POLL_MS = 1000
# The broker answers at once when there is something.
_FETCH_WAIT_MS = 5000
_MS = 1000
_RETRY_SECONDS = 5.0
_PATIENCE_SECONDS = 0.2


def commands_topic(prefix: str) -> str:
    """Return the topic of requests."""
    return control_topic(prefix, COMMANDS_TOPIC_SUFFIX)


def write_command(settings: KafkaSettings, pipeline: str, command: str, **arguments: object) -> int:
    """Ask `pipeline` to do something; return the number of the request.

    Raises ConfigError for a request that is too large, SinkUnavailable or SinkRefused.
    """
    value = new_request(command, arguments)
    topic = commands_topic(settings.topic_prefix)
    TopicCreator(settings).ensure(topic)
    try:
        producer = KafkaProducer(**client_settings(settings), acks="all")
        try:
            sent = producer.send(topic, value, key=pipeline.encode(), partition=0)
            offset: int = sent.get(settings.request_timeout_seconds).offset
            return offset
        finally:
            producer.close()
    except (KafkaError, OSError) as error:
        raise connector_error(settings, attempts.writing(topic), error) from error


class Listener(Protocol):
    """Where requests come from."""

    requests: SimpleQueue[tuple[int, dict[str, Any]]]  # offset and request of each that came

    def close(self) -> None:
        """Listen no more."""
        ...


class CommandListener:
    """Waits for requests in a thread of its own."""

    def __init__(self, settings: KafkaSettings, pipeline: str, offset: int) -> None:
        """Listen for requests to `pipeline` from `offset` on."""
        self.requests: SimpleQueue[tuple[int, dict[str, Any]]] = SimpleQueue()
        self._settings = settings
        self._key = pipeline.encode()
        self._offset = offset
        self._topic = commands_topic(settings.topic_prefix)
        self._closing = threading.Event()
        self._log = structlog.get_logger()
        # It may be waiting for the broker when the process ends.
        threading.Thread(target=self._listen, name="commands", daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._closing.set()

    def _listen(self) -> None:
        while not self._closing.is_set():
            try:
                self._listen_until_it_breaks()
            except (KafkaError, OSError) as error:
                failed = connector_error(self._settings, attempts.reading(self._topic), error)
                self._log.warning(
                    "requests cannot be read; trying again",
                    **fields(failed),
                    retry_in_seconds=_RETRY_SECONDS,
                )
                self._closing.wait(_RETRY_SECONDS)

    def _listen_until_it_breaks(self) -> None:
        partition = TopicPartition(self._topic, 0)
        consumer = KafkaConsumer(
            **client_settings(self._settings),
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            group_id=None,
            # The client refuses to wait for longer than for any answer.
            fetch_max_wait_ms=min(
                _FETCH_WAIT_MS, int(self._settings.request_timeout_seconds * _MS) // 2
            ),
        )
        try:
            consumer.assign([partition])
            consumer.seek(partition, self._offset)
            while not self._closing.is_set():
                for record in consumer.poll(timeout_ms=_POLL_MS).get(partition, ()):
                    self._offset = record.offset + 1
                    if record.key == self._key:
                        self._take(record.offset, record.value)
        finally:
            consumer.close()

    def _take(self, offset: int, value: bytes | None) -> None:
        try:
            request = read_request(value)
        except RequestRefused as error:
            self._log.error(
                "a request is refused", topic=self._topic, offset=offset, **fields(error)
            )
            return
        self.requests.put((offset, request))


class Commands:
    """Gives requests to those who do them; an `Attendant`."""

    def __init__(
        self, listener: Listener, standing: StreamPosition, handlers: Mapping[str, Handler]
    ) -> None:
        """Take requests of `listener`; `handlers` are called with offset and request.

        What a handler writes is committed together with the fact that it did.
        """
        self._listener = listener
        self._standing = standing
        self._handlers = handlers

    @property
    def wants_turn(self) -> bool:
        """Whether a request has come."""
        return not self._listener.requests.empty()

    @property
    def patience_seconds(self) -> float:
        """How long the stream may be waited for."""
        return _PATIENCE_SECONDS

    def step(self) -> None:
        """Give out the requests that came."""
        while True:
            try:
                offset, request = self._listener.requests.get_nowait()
            except Empty:
                return
            self._do(offset, request)
            self._standing.commands_offset = offset + 1

    def _do(self, offset: int, request: Mapping[str, Any]) -> None:
        command = request[COMMAND]
        log = structlog.get_logger().bind(
            command=shown(command), offset=offset, asked_by=asked_by(request)
        )
        handler = self._handlers.get(command)
        if handler is None:
            log.error("a request is refused", **fields(RequestRefused(requests.UNKNOWN_COMMAND)))
            return
        log.info("a request")
        try:
            handler(offset, request)
        except RequestRefused as error:
            # No traceback: what came is at fault, not this code.
            log.error("a request is refused", **fields(error))  # noqa: TRY400

    def close(self) -> None:
        """Listen no more."""
        self._listener.close()
