"""The interface of every format of `dump`: whole events, in file order, become lines.

A line with a large value comes in pieces, so that the whole line is never in memory. A writer reads
the whole event before it yields the first piece, so no error occurs within a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.event import Event

Line = str | Iterator[str]

# Characters or bytes of a value, or bytes of an event's rows; larger ones are written in pieces.
LARGE = 256 * 1024


class EventWriter(Protocol):
    """Turns the events of one command, from one or many files, into lines without newline.

    A lone surrogate in a line is a byte in the form of `surrogateescape`.
    """

    def begin(self) -> Iterable[str]:
        """Return the lines before the first event."""
        ...

    def event(self, event: Event) -> Iterable[Line]:
        """Return the lines of one event."""
        ...

    def end(self) -> Iterable[str]:
        """Return the lines after the last event."""
        ...


def whole(lines: Iterable[Line]) -> Iterator[str]:
    """Yield lines; pieces of a line are joined."""
    return (line if isinstance(line, str) else "".join(line) for line in lines)
