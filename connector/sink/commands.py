"""Requests to a running pipeline, through the topic `<prefix>.commands`.

Only the pipeline writes to its topics, so users ask it to. A request is a record with the
pipeline's name as its key::

    {"command": "snapshot", "asked_by": {"user": …, "host": …, "program": …, "pid": …}, …}

Its offset is its number. Everyone with the right to write to the topic can make any request and
put any name into `asked_by`. So nothing in a request is trusted: a wrong request is refused with a
log line, and the stream goes on.

The progress record holds the offset of the last request that was done. It is committed together
with the effects of the request, so each request is done once, also one from the time when the
pipeline was not running.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import structlog
from kafka import KafkaProducer
from kafka.errors import KafkaError

from connector.contract import COMMANDS_TOPIC_SUFFIX, control_topic
from connector.errors import RequestRefused, requests
from connector.sink import attempts
from connector.sink.connection import client_settings, connector_error
from connector.sink.record_attendant import RecordAttendant, handle
from connector.sink.record_listener import RecordListener
from connector.sink.request import COMMAND, asked_by, new_request, read_request, shown
from connector.sink.topics import TopicCreator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.progress.stream_position import StreamPosition
    from connector.settings.sections import KafkaSettings
    from connector.sink.record_attendant import Handler, Listener


def commands_topic(prefix: str) -> str:
    """Return the topic of requests, `<prefix>.commands`."""
    return control_topic(prefix, COMMANDS_TOPIC_SUFFIX)


def write_command(settings: KafkaSettings, pipeline: str, command: str, **arguments: object) -> int:
    """Send a request to `pipeline`; return its number, the record's offset.

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


class CommandListener(RecordListener):
    """Waits for requests in a thread of its own."""

    def __init__(self, settings: KafkaSettings, pipeline: str, offset: int) -> None:
        """Listen for requests to `pipeline`, beginning at `offset`."""
        topic = commands_topic(settings.topic_prefix)
        super().__init__(settings, topic, pipeline.encode(), offset, read_request, "request")


class Commands(RecordAttendant):
    """An attendant that passes requests to their handlers."""

    def __init__(
        self, listener: Listener, standing: StreamPosition, handlers: Mapping[str, Handler]
    ) -> None:
        """Take requests from `listener`; `handlers` are called with the offset and the request.

        The effect of a handler is committed together with the request's offset.
        """
        super().__init__(listener)
        self._standing = standing
        self._handlers = handlers

    def _take(self, offset: int, found: dict[str, Any]) -> None:
        command = found[COMMAND]
        log = structlog.get_logger().bind(
            command=shown(command), offset=offset, asked_by=asked_by(found)
        )
        handler = self._handlers.get(command)
        if handler is None:
            handle(log, "a request", RequestRefused(requests.UNKNOWN_COMMAND))
        else:
            handle(log, "a request", partial(handler, offset, found))
        self._standing.commands_offset = offset + 1
        self._standing.is_changed = True
