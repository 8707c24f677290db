"""What a reader reads: files, or a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event
    from connector.binlog.events.format_description import FormatDescriptionEvent
    from connector.binlog.framing.version import BinlogVersion


class ReadableLog(Protocol):
    """What a reader reads."""

    @property
    def name(self) -> str:
        """The file at hand."""
        ...

    @property
    def version(self) -> BinlogVersion:
        """Its format's number."""
        ...

    @property
    def format(self) -> FormatDescriptionEvent:
        """What describes it; made up from what is known if nothing did."""
        ...

    @property
    def position(self) -> int:
        """Where its next event starts."""
        ...

    def events(self) -> Iterator[Event]:
        """Yield the events that have not been read yet."""
        ...

    def close(self) -> None:
        """End the iteration, also one that another thread waits for."""
        ...
