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

from math import inf
from typing import TYPE_CHECKING, Any

import structlog

from connector.errors import RequestRefused, fields
from connector.sink.record_attendant import RecordAttendant
from connector.sink.record_listener import RecordListener
from connector.sink.request import shown
from connector.sink.signal import Signal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.changes.signal_rows import SignalRows
    from connector.progress.stream_position import StreamPosition
    from connector.settings.sections import KafkaSettings
    from connector.sink.record_attendant import Listener
    from connector.sink.signal import SignalHandler


def read_signal(value: bytes | None) -> dict[str, Any]:
    """Return the fields of a signal but its offset; raises RequestRefused for other bytes."""
    signal = Signal.read(value or b"")
    return {"type": signal.type, "data": signal.data, "id": signal.id}


class SignalListener(RecordListener):
    """Waits for signals in a thread of its own."""

    def __init__(self, settings: KafkaSettings, topic: str, offset: int | None) -> None:
        """Listen to `topic`, beginning at `offset`; None is its end."""
        key = settings.topic_prefix.encode()
        super().__init__(settings, topic, key, offset, read_signal, "signal")


class Signals(RecordAttendant):
    """An attendant that passes signals to their handlers."""

    def __init__(
        self, listener: Listener, standing: StreamPosition, handlers: Mapping[str, SignalHandler]
    ) -> None:
        """Take signals from `listener`; `handlers` are called with each signal.

        The effect of a handler is committed together with the signal's offset.
        """
        super().__init__(listener)
        self._standing = standing
        self._handlers = handlers

    def _take(self, offset: int, found: dict[str, Any]) -> None:
        # The end of the topic is told without a signal.
        if found:
            Signal(**found, offset=offset).do(self._handlers)
        self._standing.signals_offset = offset + 1
        self._standing.is_changed = True


class SourceSignals:
    """An attendant that passes the signals of a table to their handlers."""

    def __init__(self, rows: SignalRows, handlers: Mapping[str, SignalHandler]) -> None:
        """Take signals from `rows`; `handlers` as in `Signals`.

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
        for texts in seen:
            try:
                signal = Signal.of_texts(*texts)
            except RequestRefused as error:
                log = structlog.get_logger()
                # No traceback: the signal is wrong, not this code.
                log.error("a signal is refused", signal=shown(texts[1]), **fields(error))  # noqa: TRY400
                continue
            signal.do(self._handlers)

    def close(self) -> None:
        """Nothing is open."""
