"""What every format of `dump` is: whole events, in file order, become lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.event import Event


class EventWriter(Protocol):
    """Turns the events of one command, of one file or of many, into lines without newline.

    A lone surrogate in a line stands for the byte that `surrogateescape` made it of.
    """

    def begin(self) -> Iterable[str]:
        """Return what stands before the first event."""
        ...

    def event(self, event: Event) -> Iterable[str]:
        """Return the lines of one event."""
        ...

    def end(self) -> Iterable[str]:
        """Return what stands behind the last event."""
        ...
