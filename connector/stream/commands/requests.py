"""Requests to a running pipeline, through the topic `<prefix>.commands`.

Only the pipeline writes to its topics, so users ask it to. A request is a record with the
pipeline's name as its key::

    {"command": "snapshot", "asked_by": {"user": …, "host": …, "program": …, "pid": …}, …}

Its offset is its number. Everyone with the right to write to the topic can make any request and
put any name into `asked_by`, which is used only in the log. So nothing in a request is trusted: a
wrong request is refused with a log line, and the stream goes on.

The progress record holds the offset of the last request that was done. It is committed together
with the effects of the request, so each request is done once, also one from the time when the
pipeline was not running.
"""

import getpass
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, Final

import structlog
from kafka import KafkaProducer
from kafka.errors import KafkaError

from connector.foundation.contract import COMMANDS_TOPIC_SUFFIX, control_topic
from connector.foundation.errors import ConfigError, RequestRefused
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.commands import request_errors
from connector.stream.commands.listener import (
    Handler,
    Listener,
    RecordAttendant,
    RecordListener,
    handle,
)
from connector.stream.progress.stream_position import StreamPosition
from connector.stream.sink import connection
from connector.stream.sink.connection import client_settings, connector_error
from connector.stream.sink.topics import TopicCreator

COMMAND: Final = "command"
_ASKED_BY = "asked_by"
REQUEST_BYTES_MAX: Final = 256 * 1024
# The most of a foreign text that a log line shows, in characters.
_SHOWN_CHARACTERS = 64
_KEYS_SHOWN = 5
# https://dev.mysql.com/doc/refman/8.4/en/identifiers.html
_NAME_CHARACTERS_MAX = 64
_NAME_CODE_MAX = 0xFFFF


# The address of the browser, for a request by the status page; None in a command.
page_visitor: ContextVar[str | None] = ContextVar("page_visitor", default=None)


def new_request(command: str, arguments: Mapping[str, object]) -> bytes:
    """Return a request of this process; raises ConfigError for one that is too large."""
    value = json.dumps(
        {COMMAND: command, _ASKED_BY: _this_process(command), **arguments}, ensure_ascii=False
    ).encode()
    if len(value) > REQUEST_BYTES_MAX:
        raise ConfigError(request_errors.TOO_LARGE, size=len(value), limit=REQUEST_BYTES_MAX)
    return value


def read_request(value: bytes | None) -> dict[str, Any]:
    """Return a request, a JSON object that names its command.

    Raises RequestRefused for any other bytes.
    """
    request = parse_json(value or b"")
    if not isinstance(request, dict) or not isinstance(request.get(COMMAND), str):
        raise RequestRefused(request_errors.NO_COMMAND)
    return request


def parse_json(data: bytes) -> object:
    """Return a foreign JSON text; raises RequestRefused if it is none, or too large."""
    if len(data) > REQUEST_BYTES_MAX:
        raise RequestRefused(request_errors.SIZE, size=len(data), limit=REQUEST_BYTES_MAX)
    try:
        parsed: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(request_errors.NOT_JSON) from error
    return parsed


def arguments_of(request: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Return the keys of a request other than `command` and `asked_by`.

    Raises RequestRefused for keys other than `known`: a newer version may give them a meaning,
    which must not be ignored.
    """
    arguments = {name: of for name, of in request.items() if name not in (COMMAND, _ASKED_BY)}
    unknown = sorted(short_text(name) for name in arguments.keys() - set(known))
    if unknown:
        raise RequestRefused(request_errors.UNKNOWN_KEYS, keys=unknown[:_KEYS_SHOWN])
    return arguments


def table_name(database: object, table: object) -> tuple[str, str]:
    """Return the database and table of a request, if a server allows such names.

    Raises RequestRefused for other values.
    """
    names = (database, table)
    for name in names:
        if not isinstance(name, str) or not 0 < len(name) <= _NAME_CHARACTERS_MAX:
            break
        if any(not 0 < ord(character) <= _NAME_CODE_MAX for character in name):
            break
        if any("\ud800" <= character <= "\udfff" for character in name):
            break
    else:
        return str(database), str(table)
    raise RequestRefused(request_errors.NO_TABLE)


def _this_process(command: str) -> dict[str, str | int]:
    """Return user, host, program and pid, for the log of the pipeline."""
    address = page_visitor.get()
    if address is not None:
        # Not the account of the daemon, and not its command line.
        visitor = {"user": "somebody with the token", "host": address, "program": "the status page"}
        return {**visitor, "pid": os.getpid()}
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        # An account without a name, as in containers.
        user = str(os.getuid())
    program = f"{Path(sys.argv[0]).name} {command}"
    return {"user": user, "host": socket.gethostname(), "program": program, "pid": os.getpid()}


def asked_by(request: Mapping[str, Any]) -> str:
    """Return the claim of a request about its writer, as text for the log."""
    requester = request.get(_ASKED_BY)
    if not isinstance(requester, dict):
        return "unknown"
    user, host, program, pid = (
        short_text(requester.get(name, "unknown")) for name in ("user", "host", "program", "pid")
    )
    return f"{user}@{host} ({program}, pid {pid})"


def short_text(value: object) -> str:
    """Return foreign text as one short line."""
    text = str(value) if isinstance(value, (str, int)) else "unknown"
    short_text = "".join(character if character.isprintable() else "?" for character in text)
    return (
        short_text if len(short_text) <= _SHOWN_CHARACTERS else f"{short_text[:_SHOWN_CHARACTERS]}…"
    )


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
        with closing(KafkaProducer(**client_settings(settings), acks="all")) as producer:
            sent = producer.send(topic, value, key=pipeline.encode(), partition=0)
            offset: int = sent.get(settings.request_timeout_seconds).offset
            return offset
    except (KafkaError, OSError) as error:
        raise connector_error(settings, connection.writing(topic), error) from error


class RequestListener(RecordListener):
    """Waits for requests in a thread of its own."""

    def __init__(
        self, settings: KafkaSettings, pipeline: str, offset: int, wake: Callable[[], None]
    ) -> None:
        """Listen for requests to `pipeline`, beginning at `offset`; each calls `wake`."""
        topic = commands_topic(settings.topic_prefix)
        super().__init__(settings, topic, pipeline.encode(), offset, read_request, "request", wake)


class RequestAttendant(RecordAttendant):
    """An attendant that passes requests to their handlers."""

    def __init__(
        self, listener: Listener, position: StreamPosition, handlers: Mapping[str, Handler]
    ) -> None:
        """Take requests from `listener`; `handlers` are called with the offset and the request.

        The effect of a handler is committed together with the request's offset.
        """
        super().__init__(listener)
        self._position = position
        self._handlers = handlers

    def _take(self, offset: int, request: dict[str, Any]) -> None:
        command = request[COMMAND]
        log = structlog.get_logger().bind(
            command=short_text(command), offset=offset, asked_by=asked_by(request)
        )
        handler = self._handlers.get(command)
        if handler is None:
            handle(log, "a request", RequestRefused(request_errors.UNKNOWN_COMMAND))
        else:
            handle(log, "a request", partial(handler, offset, request))
        self._position.commands_offset = offset + 1
        self._position.is_changed = True
