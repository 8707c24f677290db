"""Passes what users ask of a running pipeline to its handlers: requests, and signals.

Nothing of it is trusted: what is wrong is refused with a log line, and the stream goes on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from connector.errors import RequestRefused, fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Handler = Callable[[int, Mapping[str, Any]], None]

_PATIENCE_SECONDS = 0.2


class Listener(Protocol):
    """A source of requests; a simulation has its own."""

    requests: SimpleQueue[tuple[int, dict[str, Any]]]  # offset and object of each new record

    def close(self) -> None:
        """Stop listening."""
        ...


class RecordAttendant(ABC):
    """An attendant that takes up the records of a listener, in their order."""

    def __init__(self, listener: Listener) -> None:
        """Take records from `listener`."""
        self._listener = listener

    @property
    def wants_turn(self) -> bool:
        """Whether a record has arrived."""
        return not self._listener.requests.empty()

    @property
    def patience_seconds(self) -> float:
        """How long the stream may wait for the source before the next look."""
        return _PATIENCE_SECONDS

    def step(self) -> None:
        """Take up the new records."""
        while True:
            try:
                offset, found = self._listener.requests.get_nowait()
            except Empty:
                return
            self._take(offset, found)

    @abstractmethod
    def _take(self, offset: int, found: dict[str, Any]) -> None:
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
