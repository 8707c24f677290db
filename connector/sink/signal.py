"""A signal in the form of Debezium: `{"id": "7", "type": "log", "data": {"message": "…"}}`.

https://debezium.io/documentation/reference/stable/configuration/signalling.html
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from connector.errors import RequestRefused, requests
from connector.sink.record_attendant import handle
from connector.sink.request import REQUEST_BYTES_MAX, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    SignalHandler = Callable[["Signal"], None]

_ID_CHARACTERS_MAX = 255
_SET_POSITION = "set-binlog-position"


@dataclass(frozen=True, slots=True)
class Signal:
    """What a user asks for, and its offset in the topic; 0 elsewhere."""

    type: str
    data: dict[str, Any]
    id: str = ""  # "" without one
    offset: int = 0

    @classmethod
    def read(cls, value: bytes, offset: int = 0) -> Signal:
        """Read a JSON object; raises RequestRefused for other bytes."""
        signal = _parsed(value)
        if not isinstance(signal, dict) or not isinstance(signal.get("type"), str):
            raise RequestRefused(requests.NO_SIGNAL)
        return cls(signal["type"], _data(signal.get("data")), _id(signal.get("id")), offset)

    @classmethod
    def of_texts(cls, id_: str, kind: str, data: str) -> Signal:
        """Read the columns of a row; raises as `read`."""
        return cls(kind, _data(_parsed(data.encode()) if data else None), _id(id_))

    def do(self, handlers: Mapping[str, SignalHandler]) -> None:
        """Pass the signal to its handler, and write to the log that it came, or why it is none."""
        log = structlog.get_logger().bind(signal=shown(self.type), offset=self.offset)
        handler = handlers.get(self.type)
        if handler is None:
            handle(log, "a signal", self._refusal(handlers))
        else:
            handle(log, "a signal", lambda: handler(self))

    def _refusal(self, handlers: Mapping[str, SignalHandler]) -> RequestRefused:
        if self.type == _SET_POSITION:
            return RequestRefused(requests.SET_POSITION)
        return RequestRefused(requests.UNKNOWN_SIGNAL, known=sorted(handlers))


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


def _id(found: object) -> str:
    """Return an id as text that can be stored."""
    text = str(found) if isinstance(found, (str, int)) else ""
    return text.encode("utf-8", "replace").decode()[:_ID_CHARACTERS_MAX]
