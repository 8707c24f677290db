"""What every format of `dump` is: whole events, in file order, become lines.

A line with a large value comes in pieces, so that the line as a whole is never in memory. Whoever
makes the pieces has read everything before the first one: nothing fails within a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.event import Event

Line = str | Iterator[str]

# Characters or bytes of a value, or bytes of an event's rows: more of them is written in pieces.
LARGE = 256 * 1024


class EventWriter(Protocol):
    """Turns the events of one command, of one file or of many, into lines without newline.

    A lone surrogate in a line stands for the byte that `surrogateescape` made it of.
    """

    def begin(self) -> Iterable[str]:
        """Return what stands before the first event."""
        ...

    def event(self, event: Event) -> Iterable[Line]:
        """Return the lines of one event."""
        ...

    def end(self) -> Iterable[str]:
        """Return what stands behind the last event."""
        ...


def whole(lines: Iterable[Line]) -> Iterator[str]:
    """Yield lines, each put together from its pieces."""
    return (line if isinstance(line, str) else "".join(line) for line in lines)
