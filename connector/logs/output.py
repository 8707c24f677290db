"""The way of events into a file or a pipe: a format makes lines, a buffer collects their bytes.

::

    a file of a log ──put_file──▶ ByteFormat ──bytes──▶ LineOutput ──blocks──▶ a file, a pipe

A format appends bytes: no line is an object. A line with a large value comes in pieces, so that the
whole line is never in memory. All work for each event is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, u8

from connector.binlog.header import PREVIOUS_GTIDS, XID

if TYPE_CHECKING:
    from connector.binlog.event import Event
    from connector.binlog.files.event_frames import EventBlock
    from connector.binlog.files.file_log import FileLog


class ByteFormat:
    """Turns the events of one command, from one or many files, into the bytes of lines."""

    # Whether `put_groups` has to be asked after each transaction.
    takes_groups: ClassVar[bool] = False

    def begin(self) -> Iterable[str]:
        """Return the lines before the first event, without newline."""
        return ()

    def received(self) -> None:
        """Note that the next events have just been read; it is called at least once for a block."""

    def put(self, event: Event, output: LineOutput) -> None:
        """Append the lines of one event to the block of `output`.

        Raises EventError for an event that cannot be read; lines before what is wrong in it may
        have been appended.
        """
        raise NotImplementedError

    def put_groups(
        self, events: EventBlock, trailer: i64, position: i64, output: LineOutput
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


NEWLINE: Final = 10

NOTHING_HELD: Final = -1

_BLOCK_BYTES: Final = 256 * 1024


@final
class LineOutput:
    """Writes lines in UTF-8; a lone surrogate becomes its byte, as in `surrogateescape`.

    A format that writes bytes appends them to `block`, in pieces that need not be whole lines, and
    calls `give_way` after each. `block` may be another object then. What it may have to take back,
    it holds: `held` is where that starts in `block`.
    """

    def __init__(self, file: BinaryIO, *, at_once: bool = False) -> None:
        """Write to `file`; with `at_once`, each write is flushed at once."""
        self.block = BytesWriter()
        self.held: i64 = NOTHING_HELD
        self._file = file
        self._at_once = at_once

    def write(self, lines: Iterable[Line]) -> None:
        """Write lines without newline, whole or in pieces."""
        for line in lines:
            if isinstance(line, str):
                self.block.write(encoded(line))
            else:
                for piece in line:
                    self.block.write(encoded(piece))
                    self._make_room()
            self.block.append(u8(NEWLINE))
            self._make_room()
        if self._at_once:
            self.flush()

    def give_way(self) -> None:
        """Write the block if it is large, or if everything is written at once."""
        if self._at_once:
            self.flush()
        else:
            self._make_room()

    def flush(self) -> None:
        """Write the block, and what the file keeps."""
        self._write_block()
        self._file.flush()

    def take_held(self) -> bytes:
        """Return what is held, which then is no part of the block."""
        start = self.held
        if start == NOTHING_HELD:
            return b""
        self.held = NOTHING_HELD
        written = self.block.getvalue()
        if len(written) > 2 * _BLOCK_BYTES:
            # Frees the memory of many lines.
            self.block = BytesWriter()
            self.block.write(written[:start])
        else:
            self.block.truncate(start)
        return written[start:]

    def _make_room(self) -> None:
        if len(self.block) >= _BLOCK_BYTES:
            self._write_block()

    def _write_block(self) -> None:
        block = self.block
        if self.held == 0 or not len(block):
            return
        if self.held > 0:
            held = self.take_held()
            self._write_block()
            self.block.write(held)
            self.held = 0
            return
        written = block.getvalue()
        # Before it is written: Ctrl-C may come in between, and the end would write it again.
        if len(block) > 2 * _BLOCK_BYTES:
            # Frees the memory of a large line.
            self.block = BytesWriter()
        else:
            block.truncate(0)
        self._file.write(written)


def encoded(text: str) -> bytes:
    """Return text in UTF-8; a lone surrogate becomes its byte."""
    return text.encode("utf-8", "surrogateescape")


Line = str | Iterator[str]

# Characters or bytes of a value, or bytes of an event's rows; larger ones are written in pieces.
LARGE: Final = 256 * 1024


def put_file(
    log: FileLog,
    read: Callable[[], Event | None],
    writer: ByteFormat,
    output: LineOutput,
    stop_position: i64,
    show: Callable[[int], None],
) -> None:
    """Write the events of `log` that start before `stop_position`.

    `read` returns the next event if the file must be read for it, None at the end; `show` is told
    then how far it was read. Raises the errors of both, those of `writer`, and EventError.
    """
    takes_groups = writer.takes_groups
    while True:
        event = _next_event(log, read, writer, show)
        if event is None:
            return
        if event.position >= stop_position:
            return
        writer.put(event, output)
        output.give_way()
        # The bytes after the end may be damaged, or not written yet.
        if event.next_position >= stop_position:
            return
        if takes_groups and event.type_code in (XID, PREVIOUS_GTIDS):
            _put_groups(log, writer, output, stop_position)


def put_selected(
    log: FileLog,
    read: Callable[[], Event | None],
    take: Callable[[Event], None],
    writer: ByteFormat,
    output: LineOutput,
    show: Callable[[int], None],
) -> None:
    """Write what is selected of `log`, which passes over the groups of unwanted tables.

    Groups of wanted tables alone are written whole; `take` gets each other event. `read` and `show`
    are those of `put_file`. Raises the errors of all, those of `writer`, and EventError.
    """
    while True:
        event = _next_event(log, read, writer, show)
        if event is None:
            return
        if event.position < log.wanted_to:
            writer.put(event, output)
            output.give_way()
        else:
            take(event)
        if event.type_code in (XID, PREVIOUS_GTIDS):
            _put_wanted(log, writer, output)


def _next_event(
    log: FileLog, read: Callable[[], Event | None], writer: ByteFormat, show: Callable[[int], None]
) -> Event | None:
    """Return the next event of a log, which is read if it has to be; None at the end."""
    event = log.opened_event()
    if event is None:
        event = read()
        if event is not None:
            writer.received()
            show(event.position)
    return event


def _put_wanted(log: FileLog, writer: ByteFormat, output: LineOutput) -> None:
    """Write groups of wanted tables alone that have been read."""
    while True:
        events = log.received_wanted()
        if events is None or events.start == events.end:
            return
        end = writer.put_groups(events, log.trailer, log.position, output)
        if end == events.start:
            return
        log.pass_over(end)


def _put_groups(log: FileLog, writer: ByteFormat, output: LineOutput, stop_position: i64) -> None:
    """Write groups that have been read, between two of which `log` is."""
    events = log.received()
    if events is None:
        return
    position = log.position
    if position + (events.end - events.start) <= stop_position:
        end = writer.put_groups(events, log.trailer, position, output)
        if end > events.start:
            log.pass_over(end)
