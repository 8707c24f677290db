"""The interface of a log that a reader can read: files, or a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.event import Event
    from connector.binlog.events.format_description import FormatDescriptionEvent
    from connector.binlog.framing.version import BinlogVersion


class ReadableLog(Protocol):
    """A log of files or of a server."""

    @property
    def name(self) -> str:
        """The name of the current file."""
        ...

    @property
    def version(self) -> BinlogVersion:
        """The format version of the current file."""
        ...

    @property
    def format(self) -> FormatDescriptionEvent:
        """The format description; made from known facts if the log has none."""
        ...

    @property
    def position(self) -> int:
        """Where the next event starts, in bytes."""
        ...

    def events(self) -> Iterator[Event]:
        """Yield the events that have not been read yet."""
        ...

    def close(self) -> None:
        """End the iteration, even if it waits in another thread."""
        ...
