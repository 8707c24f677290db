"""Signals from a file, a JSON object a line, as Debezium's file channel.

::

    echo '{"type": "execute-snapshot", "data": {"data-collections": ["shop.orders"]}}' >> signals

The file is renamed to `<file>.<token>.taken`, so nothing that is appended later is lost. Its lines
are done together, and the progress record with their effects holds the token. The renamed file is
removed after that commit. After a crash, a taken file with the token of the progress record was
done, and any other one was not.
https://debezium.io/documentation/reference/stable/configuration/signalling.html
"""

from __future__ import annotations

import os
import threading
import uuid
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

import structlog

from connector.errors import RequestRefused, fields, requests
from connector.errors.message import Message
from connector.sink.signal import Signal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from connector.progress.stream_position import StreamPosition
    from connector.sink.signal import SignalHandler

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
        self._said = ""
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
                self._said = ""
            except OSError as error:
                message = Message(
                    requests.SIGNAL_FILE, {"path": str(self._path), "said": error.strerror}
                )
                if message.text != self._said:
                    self._said = message.text
                    structlog.get_logger().error("signals cannot be read", **fields(message))
            self._closing.wait(self._look_seconds)

    def _look(self) -> None:
        """Offer a taken file; if there is none, take the file."""
        prefix = f"{self._path.name}."
        with os.scandir(self._path.parent) as entries:
            found = sorted(
                entry.name
                for entry in entries
                if entry.name.startswith(prefix) and entry.name.endswith(_SUFFIX)
            )
        for name in found:
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
        if not found and self._path.is_file() and self._path.stat().st_size:
            # It is read at the next look: a program that has opened it before has written by then.
            self._path.rename(self._path.with_name(f"{prefix}{uuid.uuid4().hex}{_SUFFIX}"))


def _lines(path: Path) -> list[bytes]:
    size = path.stat().st_size
    if size > _BYTES_MAX:
        refused = RequestRefused(requests.SIZE, size=size, limit=_BYTES_MAX)
        structlog.get_logger().error("a signal is refused", path=str(path), **fields(refused))
        return []
    return [line for line in path.read_bytes().splitlines() if line.strip()]


class FileSignals:
    """An attendant that passes the signals of a file to their handlers."""

    def __init__(
        self, file: SignalFile, standing: StreamPosition, handlers: Mapping[str, SignalHandler]
    ) -> None:
        """Take signals from `file`; the effect of a handler is committed with the file's token."""
        self._file = file
        self._standing = standing
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
        if self._waits and not self._standing.is_changed:
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
                # No traceback: the signal is wrong, not this code.
                structlog.get_logger().error("a signal is refused", **fields(error))
                continue
            signal.do(self._handlers)
        self._standing.signals_file = token
        self._standing.is_changed = True
        self._waits = True

    def close(self) -> None:
        """Take no more files."""
        self._file.close()
