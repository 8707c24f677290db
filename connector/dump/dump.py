"""The dump: logs are read, events are selected and written as lines.

    files or a server ──reader──▶ events ──selection──▶ events ──writer──▶ lines ──▶ a file, a pipe

The formats do the rest: `events/`, `text/`, `json/`, `envelope_format`.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.changes.table_filter import TableFilter
from connector.dump.envelope_format import EnvelopeWriter
from connector.dump.events.format import EventsWriter
from connector.dump.format import Format
from connector.dump.gaps import Gap
from connector.dump.json.format import JsonWriter
from connector.dump.lines.writer import whole
from connector.dump.selection import Selection, SelectionOptions
from connector.dump.text.format import TextWriter
from connector.errors import DecodeError, EventError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from connector.binlog.event import Event
    from connector.dump.lines.output import LineOutput
    from connector.dump.lines.writer import EventWriter
    from connector.dump.logs import DumpedLog
    from connector.dump.progress import ReadingProgress

_NS_PER_US = 1000
_START_EVENTS = (FormatDescriptionEvent, StartEventV3)


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """The form of the output."""

    format: Format = Format.TEXT
    selection: SelectionOptions = field(default_factory=SelectionOptions)
    stop_position: int | None = None  # follow the last log
    hexdump: bool = False  # text
    apply_diffs: bool = False  # json
    topic_prefix: str = ""  # envelope
    recover: bool = False  # report rows that cannot be read, and continue


class Dump:
    """One run of the command over its logs."""

    def __init__(
        self,
        options: DumpOptions,
        output: LineOutput,
        report: Callable[[Gap], None],
        progress: ReadingProgress | None = None,
    ) -> None:
        """Write to `output`; tell `report` about unreadable parts that do not end the dump."""
        self._output = output
        self._report = report
        self._progress = progress
        self._stop_position = options.stop_position
        self._recover = options.recover
        self._writer = _writer(options)
        selection = options.selection
        if options.format is Format.ENVELOPE:
            # Changes of other tables count in the sequences, so the writer must see them.
            selection = replace(selection, tables=None)
        self._selection = Selection(selection)
        self.damaged = False  # whether there were gaps

    def run(self, logs: Iterable[DumpedLog]) -> None:
        """Write the events of `logs`.

        Raises the errors of reading; the lines of all events before an error are written.
        """
        try:
            self._output.write(self._writer.begin())
            for log in logs:
                self._run_log(log)
                if self._selection.finished:
                    break
        except BaseException:
            # Closes the files of the writer.
            self._writer.end()
            self._output.flush()
            raise
        self._output.write(self._writer.end())
        self._output.flush()

    def _run_log(self, log: DumpedLog) -> None:
        stop = self._stop_position if log.last else None
        with closing(log.events()) as events:
            for event in events:
                if isinstance(event, Gap):
                    self._gap(event)
                    end = event.end
                else:
                    if stop is not None and event.position >= stop:
                        return
                    self._take(event)
                    end = event.next_position
                if self._progress is not None:
                    self._progress.show(log.name, end, log.size)
                # The bytes after the end may be damaged, or not written yet.
                if self._selection.finished or (stop is not None and end >= stop):
                    return

    def _take(self, event: Event) -> None:
        shown = False
        for selected in self._selection.select(event):
            shown = shown or selected is event
            try:
                lines = self._writer.event(selected)
                # If there may be gaps, an event is shown completely or not at all.
                self._output.write(list(whole(lines)) if self._recover else lines)
            except DecodeError as error:
                if not self._recover:
                    raise
                self._gap(_gap_of(error, selected))
        if not shown and isinstance(event.body, _START_EVENTS):
            # Not shown, but the writer needs it for later events.
            for _ in self._writer.event(event):
                pass

    def _gap(self, gap: Gap) -> None:
        self.damaged = True
        self._report(gap)


def _writer(options: DumpOptions) -> EventWriter:
    if options.format is Format.EVENTS:
        return EventsWriter()
    if options.format is Format.JSON:
        return JsonWriter(apply_diffs=options.apply_diffs)
    if options.format is Format.TEXT:
        return TextWriter(hexdump=options.hexdump)
    tables = options.selection.tables or TableFilter(["*.*"])
    return EnvelopeWriter(options.topic_prefix, tables, _now_us)


def _now_us() -> int:
    return time.time_ns() // _NS_PER_US


def _gap_of(error: DecodeError, event: Event) -> Gap:
    """Return the gap for an event whose rows cannot be read."""
    why = error.reason if isinstance(error, EventError) else error
    return Gap(event.file, event.position, event.next_position, why)
