"""Signals to a running pipeline in the form of Debezium, from a topic of Kafka.

::

    key    the prefix of the topics
    value  {"type": "execute-snapshot", "data": {"data-collections": ["shop.orders"]}}

As requests, signals are not trusted, and each is done once: the progress record holds the offset of
the last one that was done. A pipeline that knows no offset begins at the end of the topic.
https://debezium.io/documentation/reference/stable/configuration/signalling.html
"""

from __future__ import annotations

import json
from queue import Empty
from typing import TYPE_CHECKING, Any

import structlog

from connector.errors import RequestRefused, fields, requests
from connector.sink.record_listener import RecordListener
from connector.sink.request import REQUEST_BYTES_MAX, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from connector.progress.stream_position import StreamPosition
    from connector.settings.sections import KafkaSettings
    from connector.sink.commands import Listener

    Handler = Callable[[int, Mapping[str, Any]], None]

_TYPE = "type"
_DATA = "data"
_PATIENCE_SECONDS = 0.2


def read_signal(value: bytes | None) -> dict[str, Any]:
    """Return the type and the data of a signal; raises RequestRefused for other bytes."""
    data = value or b""
    if len(data) > REQUEST_BYTES_MAX:
        raise RequestRefused(requests.SIZE, size=len(data), limit=REQUEST_BYTES_MAX)
    try:
        signal = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(requests.NOT_JSON) from error
    if isinstance(signal, dict) and isinstance(signal.get(_TYPE), str):
        found = signal.get(_DATA) or {}
        if isinstance(found, dict):
            return {_TYPE: signal[_TYPE], _DATA: found}
    raise RequestRefused(requests.NO_SIGNAL)


class SignalListener(RecordListener):
    """Waits for signals in a thread of its own."""

    def __init__(self, settings: KafkaSettings, topic: str, offset: int | None) -> None:
        """Listen to `topic`, beginning at `offset`; None is its end."""
        key = settings.topic_prefix.encode()
        super().__init__(settings, topic, key, offset, read_signal, "signal")


class Signals:
    """An attendant that passes signals to their handlers."""

    def __init__(
        self, listener: Listener, standing: StreamPosition, handlers: Mapping[str, Handler]
    ) -> None:
        """Take signals from `listener`; `handlers` are called with the offset and the data.

        The effect of a handler is committed together with the signal's offset.
        """
        self._listener = listener
        self._standing = standing
        self._handlers = handlers

    @property
    def wants_turn(self) -> bool:
        """Whether a signal has arrived."""
        return not self._listener.requests.empty()

    @property
    def patience_seconds(self) -> float:
        """How long the stream may wait for the source before the next look."""
        return _PATIENCE_SECONDS

    def step(self) -> None:
        """Pass the new signals to their handlers."""
        while True:
            try:
                offset, signal = self._listener.requests.get_nowait()
            except Empty:
                return
            if signal:
                self._do(offset, signal[_TYPE], signal[_DATA])
            self._standing.signals_offset = offset + 1

    def _do(self, offset: int, kind: str, data: Mapping[str, Any]) -> None:
        log = structlog.get_logger().bind(signal=shown(kind), offset=offset)
        handler = self._handlers.get(kind)
        if handler is None:
            refused = RequestRefused(requests.UNKNOWN_SIGNAL, known=sorted(self._handlers))
            log.error("a signal is refused", **fields(refused))
            return
        log.info("a signal")
        try:
            handler(offset, data)
        except RequestRefused as error:
            # No traceback: the signal is wrong, not this code.
            log.error("a signal is refused", **fields(error))  # noqa: TRY400

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()
