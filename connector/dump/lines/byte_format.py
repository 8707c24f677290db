"""The interface of a format that writes bytes: no line is an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.binlog.event import Event
    from connector.dump.lines.output import LineOutput


class ByteFormat:
    """Turns the events of one command, from one or many files, into the bytes of lines."""

    def begin(self) -> Iterable[str]:
        """Return the lines before the first event, without newline."""
        return ()

    def received(self) -> None:
        """Note that the next events have just been read; it is called at least once for a block."""
        raise NotImplementedError

    def put(self, event: Event, output: LineOutput) -> None:
        """Append the lines of one event to the block of `output`.

        Raises EventError for an event that cannot be read; lines before what is wrong in it may
        have been appended.
        """
        raise NotImplementedError

    def end(self) -> Iterable[str]:
        """Return the lines after the last event; close the files of the format."""
        return ()
