"""Signals to a running pipeline in the form of Debezium, from a topic of Kafka or from a table.

::

    key    the prefix of the topics
    value  {"type": "execute-snapshot", "data": {"data-collections": ["shop.orders"]}}

    INSERT INTO signals VALUES ('1', 'execute-snapshot', '{"data-collections": ["shop.orders"]}')

As requests, signals are not trusted, and each is done once: the progress record holds the offset of
the last one of the topic, and the position of those of the table. A pipeline that knows no offset
begins at the end of the topic.
https://debezium.io/documentation/reference/stable/configuration/signalling.html
"""

from __future__ import annotations

import json
from math import inf
from typing import TYPE_CHECKING, Any

import structlog

from connector.errors import RequestRefused, fields, requests
from connector.sink.record_attendant import RecordAttendant, handle
from connector.sink.record_listener import RecordListener
from connector.sink.request import REQUEST_BYTES_MAX, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.changes.signal_rows import SignalRows
    from connector.progress.stream_position import StreamPosition
    from connector.settings.sections import KafkaSettings
    from connector.sink.record_attendant import Handler, Listener

_TYPE = "type"
_DATA = "data"


def read_signal(value: bytes | None) -> dict[str, Any]:
    """Return the type and the data of a signal; raises RequestRefused for other bytes."""
    signal = _parsed(value or b"")
    if not isinstance(signal, dict) or not isinstance(signal.get(_TYPE), str):
        raise RequestRefused(requests.NO_SIGNAL)
    return {_TYPE: signal[_TYPE], _DATA: _data(signal.get(_DATA))}


def _parsed(data: bytes) -> object:
    if len(data) > REQUEST_BYTES_MAX:
        raise RequestRefused(requests.SIZE, size=len(data), limit=REQUEST_BYTES_MAX)
    try:
        parsed: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(requests.NOT_JSON) from error
    return parsed


def _data(found: object) -> dict[str, Any]:
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise RequestRefused(requests.NO_SIGNAL)
    return found


class SignalListener(RecordListener):
    """Waits for signals in a thread of its own."""

    def __init__(self, settings: KafkaSettings, topic: str, offset: int | None) -> None:
        """Listen to `topic`, beginning at `offset`; None is its end."""
        key = settings.topic_prefix.encode()
        super().__init__(settings, topic, key, offset, read_signal, "signal")


class Signals(RecordAttendant):
    """An attendant that passes signals to their handlers."""

    def __init__(
        self, listener: Listener, standing: StreamPosition, handlers: Mapping[str, Handler]
    ) -> None:
        """Take signals from `listener`; `handlers` are called with the offset and the data.

        The effect of a handler is committed together with the signal's offset.
        """
        super().__init__(listener)
        self._standing = standing
        self._handlers = handlers

    def _take(self, offset: int, found: dict[str, Any]) -> None:
        # The end of the topic is told without a signal.
        if found:
            _do(self._handlers, offset, found[_TYPE], found[_DATA])
        self._standing.signals_offset = offset + 1


class SourceSignals:
    """An attendant that passes the signals of a table to their handlers."""

    def __init__(self, rows: SignalRows, handlers: Mapping[str, Handler]) -> None:
        """Take signals from `rows`; `handlers` as in `Signals`, with 0 for the offset.

        The effect of a handler is committed together with the transaction of its row.
        """
        self._rows = rows
        self._handlers = handlers

    @property
    def wants_turn(self) -> bool:
        """Whether a signal has come."""
        return bool(self._rows.seen)

    @property
    def patience_seconds(self) -> float:
        """The stream itself brings signals."""
        return inf

    def step(self) -> None:
        """Pass the new signals to their handlers."""
        seen, self._rows.seen = self._rows.seen, []
        for kind, text in seen:
            try:
                data = _data(_parsed(text.encode()) if text else None)
            except RequestRefused as error:
                log = structlog.get_logger()
                # No traceback: the signal is wrong, not this code.
                log.error("a signal is refused", signal=shown(kind), **fields(error))  # noqa: TRY400
                continue
            _do(self._handlers, 0, kind, data)

    def close(self) -> None:
        """Nothing is open."""


def _do(handlers: Mapping[str, Handler], offset: int, kind: str, data: Mapping[str, Any]) -> None:
    log = structlog.get_logger().bind(signal=shown(kind), offset=offset)
    unknown = RequestRefused(requests.UNKNOWN_SIGNAL, known=sorted(handlers))
    handle(log, "a signal", handlers.get(kind) or unknown, offset, data)
