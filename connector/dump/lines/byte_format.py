"""The interface of a format that writes bytes: no line is an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.dump.lines.output import LineOutput
    from connector.reader.event_frames import ReceivedEvents


class ByteFormat:
    """Turns the events of one command, from one or many files, into the bytes of lines."""

    # Whether `put_groups` has to be asked after each transaction.
    takes_groups: ClassVar[bool] = False

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

    def put_groups(
        self, events: ReceivedEvents, trailer: i64, position: i64, output: LineOutput
    ) -> i64:
        """Append the lines of whole groups at the start of `events`; return where they end.

        The groups that must be decoded, and what follows them, are left to `put`: by default all.
        No group is open before `events`. Each event ends in `trailer` bytes of a checksum; the
        first one is at `position` of the log.
        """
        del trailer, position, output
        return events.start

    def end(self) -> Iterable[str]:
        """Return the lines after the last event; close the files of the format."""
        return ()
