"""The fields of requests that are read as bytes, those of responses, and what went wrong.

https://kafka.apache.org/protocol.html#protocol_types
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final, Generic, NamedTuple, ParamSpec, TypeVar

from kafka import errors

from connector.kafka.folder.reader import Unreadable

COUNT: Final = Struct(">i")
_LENGTH: Final = Struct(">h")
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class MalformedRequest(Exception):
    """A request is not what the protocol says; the connection cannot be used any more."""


class RequestFields:
    """Reads the fields of a request; every method raises MalformedRequest."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: memoryview) -> None:
        """Read `data` from its first byte on."""
        self._data = data
        self._at = 0

    def unpack(self, layout: Struct) -> tuple[int, ...]:
        """Return some numbers."""
        at = self._at
        self._at += layout.size
        if self._at > len(self._data):
            raise MalformedRequest
        return layout.unpack_from(self._data, at)

    def count(self) -> int:
        """Return the length of an array."""
        return max(0, self.unpack(COUNT)[0])

    def text(self) -> str:
        """Return a text; "" if there is none."""
        return self.text_or_none() or ""

    def text_or_none(self) -> str | None:
        """Return a text; None if there is none."""
        (size,) = self.unpack(_LENGTH)
        if size < 0:
            return None
        try:
            return str(self._take(size), "utf-8")
        except UnicodeDecodeError as error:
            raise MalformedRequest from error

    def data(self) -> bytes:
        """Return bytes; b"" if there are none."""
        return bytes(self._take(max(0, self.unpack(COUNT)[0])))

    def topics(self) -> Iterator[tuple[str, range]]:
        """Yield the name of each topic of an array, and numbers for its partitions.

        The fields of a partition are to be read for each of these.
        """
        for _ in range(self.count()):
            name = self.text()
            yield name, range(self.count())

    def _take(self, size: int) -> memoryview:
        at = self._at
        self._at += size
        if self._at > len(self._data):
            raise MalformedRequest
        return self._data[at : self._at]


def text_field(text: str) -> bytes:
    """Return a text as a field."""
    data = text.encode()
    return _LENGTH.pack(len(data)) + data


class Outcome(NamedTuple, Generic[_Result]):
    """The code of an error, 0 without one; its text; and the result without an error."""

    code: int
    said: str | None
    result: _Result | None


def outcome(
    act: Callable[_Arguments, _Result], *arguments: _Arguments.args, **named: _Arguments.kwargs
) -> Outcome[_Result]:
    """Do something for a client; an error that a broker answers is part of the outcome.

    Raises KafkaStorageError if the log is of no more use.
    """
    try:
        return Outcome(0, None, act(*arguments, **named))
    except errors.BrokerResponseError as error:
        if isinstance(error, errors.KafkaStorageError) and not isinstance(error, Unreadable):
            raise
        return Outcome(int(error.errno), str(error), None)
