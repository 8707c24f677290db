"""The events of a file go to a format that writes bytes: all work for each event is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.framing.event_types import PREVIOUS_GTIDS, XID

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_extensions import i64

    from connector.binlog.event import Event
    from connector.dump.lines.byte_format import ByteFormat
    from connector.dump.lines.output import LineOutput
    from connector.reader.file_log import FileLog


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
