"""Signals to a running pipeline in Debezium's format, from a topic, a table or a file.

::

    key    the prefix of the topics
    value  {"type": "execute-snapshot", "data": {"data-collections": ["shop.orders"]}}

    INSERT INTO signals VALUES ('1', 'execute-snapshot', '{"data-collections": ["shop.orders"]}')

    echo '{"type": "execute-snapshot", "data": {"data-collections": ["shop.orders"]}}' >> signals

As requests, signals are not trusted, and each is done once.

*Topic.* The progress record holds the offset of the last signal. A pipeline that knows no offset
begins at the end of the topic.

*Table.* The progress record holds the position in the log, as for every other row.

*File.* The file is renamed to `<file>.<token>.taken`, so nothing that is appended later is lost.
Its lines are done together, and the progress record with their effects holds the token. The
renamed file is removed after that commit. After a crash, a taken file with the token of the
progress record was done, and any other one was not.

https://debezium.io/documentation/reference/stable/configuration/signalling.html
"""

import os
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, Self

import structlog

from connector.foundation.errors import RequestRefused, fields
from connector.foundation.errors.message import Message
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.changes.signal_table import SignalTable
from connector.stream.commands import request_errors
from connector.stream.commands.listener import Listener, RecordAttendant, RecordListener, handle
from connector.stream.commands.requests import parse_json, short_text
from connector.stream.progress.stream_position import StreamPosition

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
    def read(cls, value: bytes, offset: int = 0) -> Self:
        """Read a JSON object; raises RequestRefused for other bytes."""
        signal = parse_json(value)
        if not isinstance(signal, dict) or not isinstance(signal.get("type"), str):
            raise RequestRefused(request_errors.NO_SIGNAL)
        return cls(signal["type"], _data(signal.get("data")), _id(signal.get("id")), offset)

    @classmethod
    def of_texts(cls, id_: str, kind: str, data: str) -> Self:
        """Read the columns of a row; raises as `read`."""
        return cls(kind, _data(parse_json(data.encode()) if data else None), _id(id_))

    def do(self, handlers: Mapping[str, SignalHandler]) -> None:
        """Pass the signal to its handler, and write to the log that it came, or why it is none."""
        log = structlog.get_logger().bind(signal=short_text(self.type), offset=self.offset)
        handler = handlers.get(self.type)
        if handler is None:
            handle(log, "a signal", self._refusal(handlers))
        else:
            handle(log, "a signal", lambda: handler(self))

    def _refusal(self, handlers: Mapping[str, SignalHandler]) -> RequestRefused:
        if self.type == _SET_POSITION:
            return RequestRefused(request_errors.SET_POSITION)
        return RequestRefused(request_errors.UNKNOWN_SIGNAL, known=sorted(handlers))


def _data(data: object) -> dict[str, Any]:
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise RequestRefused(request_errors.NO_SIGNAL)
    return data


def _id(value: object) -> str:
    """Return an id as text that can be stored."""
    text = str(value) if isinstance(value, (str, int)) else ""
    return text.encode("utf-8", "replace").decode()[:_ID_CHARACTERS_MAX]


def read_signal(value: bytes | None) -> dict[str, Any]:
    """Return the fields of a signal but its offset; raises RequestRefused for other bytes."""
    signal = Signal.read(value or b"")
    return {"type": signal.type, "data": signal.data, "id": signal.id}


class SignalListener(RecordListener):
    """Waits for signals in a thread of its own."""

    def __init__(
        self, settings: KafkaSettings, topic: str, offset: int | None, wake: Callable[[], None]
    ) -> None:
        """Listen to `topic`, beginning at `offset`; None is its end. Each signal calls `wake`."""
        key = settings.topic_prefix.encode()
        super().__init__(settings, topic, key, offset, read_signal, "signal", wake)


class TopicSignals(RecordAttendant):
    """An attendant that passes signals to their handlers."""

    def __init__(
        self, listener: Listener, position: StreamPosition, handlers: Mapping[str, SignalHandler]
    ) -> None:
        """Take signals from `listener`; `handlers` are called with each signal.

        The effect of a handler is committed together with the signal's offset.
        """
        super().__init__(listener)
        self._position = position
        self._handlers = handlers

    def _take(self, offset: int, fields: dict[str, Any]) -> None:
        # The end of the topic is told without a signal.
        if fields:
            Signal(**fields, offset=offset).do(self._handlers)
        self._position.signals_offset = offset + 1
        self._position.is_changed = True


class TableSignals:
    """An attendant that passes the signals of a table to their handlers."""

    def __init__(self, rows: SignalTable, handlers: Mapping[str, SignalHandler]) -> None:
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
                log = structlog.get_logger().bind(signal=short_text(texts[1]))
                handle(log, "a signal", error)
                continue
            signal.do(self._handlers)

    def close(self) -> None:
        """Nothing is open."""


_SUFFIX: Final = ".taken"
_LOOK_SECONDS: Final = 1.0
_BYTES_MAX: Final = 16 * 1024 * 1024
_PATIENCE_SECONDS: Final = 0.2


class SignalFile:
    """Takes a file in a thread of its own, again whenever it has lines."""

    def __init__(self, path: Path, done: str, look_seconds: float = _LOOK_SECONDS) -> None:
        """Take `path`; the taken file with the token `done` was done."""
        # Token and lines of a taken file; the next one follows after `remove`.
        self.taken: SimpleQueue[tuple[str, list[bytes]]] = SimpleQueue()
        self._path = path.absolute()
        self._done = done
        self._look_seconds = look_seconds
        self._reported = ""
        self._removed = threading.Event()
        self._closing = threading.Event()
        threading.Thread(target=self._watch, name="signal file", daemon=True).start()

    def remove(self) -> None:
        """Remove the file that was taken last: what it asked for is committed."""
        self._removed.set()

    def close(self) -> None:
        """Take no more; the thread is not waited for."""
        self._closing.set()
        self._removed.set()

    def _watch(self) -> None:
        while not self._closing.is_set():
            try:
                self._look()
                self._reported = ""
            except OSError as error:
                message = Message(
                    request_errors.SIGNAL_FILE, {"path": str(self._path), "said": error.strerror}
                )
                if message.text != self._reported:
                    self._reported = message.text
                    structlog.get_logger().error("signals cannot be read", **fields(message))
            self._closing.wait(self._look_seconds)

    def _look(self) -> None:
        """Offer a taken file; if there is none, take the file."""
        prefix = f"{self._path.name}."
        with os.scandir(self._path.parent) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if entry.name.startswith(prefix) and entry.name.endswith(_SUFFIX)
            )
        for name in names:
            taken = self._path.with_name(name)
            token = name.removeprefix(prefix).removesuffix(_SUFFIX)
            if token != self._done:
                self.taken.put((token, _lines(taken)))
                self._removed.wait()
                if self._closing.is_set():
                    return
                self._removed.clear()
                self._done = token
            taken.unlink()
        if not names and self._path.is_file() and self._path.stat().st_size:
            # It is read at the next look: a program that has opened it before has written by then.
            self._path.rename(self._path.with_name(f"{prefix}{uuid.uuid4().hex}{_SUFFIX}"))


def _lines(path: Path) -> list[bytes]:
    size = path.stat().st_size
    if size > _BYTES_MAX:
        refused = RequestRefused(request_errors.SIZE, size=size, limit=_BYTES_MAX)
        handle(structlog.get_logger().bind(path=str(path)), "a signal", refused)
        return []
    return [line for line in path.read_bytes().splitlines() if line.strip()]


class FileSignals:
    """An attendant that passes the signals of a file to their handlers."""

    def __init__(
        self, file: SignalFile, position: StreamPosition, handlers: Mapping[str, SignalHandler]
    ) -> None:
        """Take signals from `file`; the effect of a handler is committed with the file's token."""
        self._file = file
        self._position = position
        self._handlers = handlers
        self._waits = False

    @property
    def wants_turn(self) -> bool:
        """Whether a file was taken, or one can be removed after the next commit."""
        return self._waits or not self._file.taken.empty()

    @property
    def patience_seconds(self) -> float:
        """How long the stream may wait for the source before the next look."""
        return _PATIENCE_SECONDS

    def step(self) -> None:
        """Pass new signals to their handlers; remove a file whose signals are committed."""
        if self._waits and not self._position.is_changed:
            # A progress record was written since. Had it failed, the run would have ended.
            self._waits = False
            self._file.remove()
        try:
            token, lines = self._file.taken.get_nowait()
        except Empty:
            return
        for line in lines:
            try:
                signal = Signal.read(line)
            except RequestRefused as error:
                handle(structlog.get_logger(), "a signal", error)
                continue
            signal.do(self._handlers)
        self._position.signals_file = token
        self._position.is_changed = True
        self._waits = True

    def close(self) -> None:
        """Take no more files."""
        self._file.close()
