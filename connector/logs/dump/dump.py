"""One run of `dump`: logs are read, events are selected and written as lines.

    files or a server ──▶ events ──selection──▶ events ──format──▶ lines ──▶ a file, a pipe

The formats do the rest: `events_format`, `text/`, `json/`, `envelope_format`.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from io import BytesIO
from typing import NamedTuple, Protocol

from connector.binlog.event import Event
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.files.file_log import FileLog
from connector.binlog.log_errors import EventError
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import DecodeError
from connector.logs.dump import Format
from connector.logs.inputs import LogInput, file_errors
from connector.logs.output import ByteFormat, LineOutput, put_file, put_selected
from connector.logs.recovery import Gap
from connector.logs.selection import Selection, SelectionOptions

_NS_PER_US = 1000
_START_EVENTS = (FormatDescriptionEvent, StartEventV3)
# Beyond the end of every log.
_NO_STOP = (1 << 63) - 1


class DumpOptions(NamedTuple):
    """The form of the output."""

    format: Format = Format.TEXT
    selection: SelectionOptions = SelectionOptions()
    stop_position: int | None = None  # follow the last log
    hexdump: bool = False  # text
    apply_diffs: bool = False  # json
    topic_prefix: str = ""  # envelope
    recover: bool = False  # report rows that cannot be read, and continue


class Progress(Protocol):
    """Shows how far logs are read."""

    def show(self, log: str, position: int, size: int | None) -> None:
        """Show that `log`, of `size` bytes if known, is read up to `position`."""
        ...


class Dump:
    """One run of the command over its logs."""

    def __init__(
        self,
        options: DumpOptions,
        output: LineOutput,
        report: Callable[[Gap], None],
        progress: Progress | None = None,
        writer: ByteFormat | None = None,
    ) -> None:
        """Write to `output`; tell `report` about unreadable parts that do not end the dump.

        `writer` writes another format than that of the options.
        """
        self._output = output
        self._report = report
        self._progress = progress
        self._stop_position = options.stop_position
        self._recover = options.recover
        self._writer = writer or _writer(options)
        selection = options.selection
        if options.format is Format.ENVELOPE:
            # Changes of other tables count in the sequences, so the writer must see them.
            selection = selection._replace(tables=None)
        self._selection = Selection(selection)
        self._selects_all = selection == SelectionOptions()
        self._selects_tables = selection == SelectionOptions(tables=selection.tables)
        self.damaged = False  # whether there were gaps

    def run(self, logs: Iterable[LogInput]) -> None:
        """Write the events of `logs`.

        Raises the errors of reading; the lines of all events before an error are written.
        """
        try:
            self.begin()
            for log in logs:
                self.write(log)
                if self._selection.finished:
                    break
        except BaseException:
            # Closes the files of the writer.
            self._writer.end()
            raise
        self.end()

    def begin(self) -> None:
        """Write what comes before the first event."""
        self._output.write(self._writer.begin())
        self._output.flush()

    def write(self, log: LogInput) -> None:
        """Write the events of one log. Raises as `run` does."""
        try:
            if log.open and (
                self._selects_all or (self._selects_tables and self._stop_position is None)
            ):
                self._put_log(log, log.open)
            else:
                self._run_log(log)
        finally:
            self._output.flush()

    def end(self) -> None:
        """Write what comes after the last event."""
        self._output.write(self._writer.end())
        self._output.flush()

    def _put_log(self, log: LogInput, opened: Callable[[], FileLog]) -> None:
        """Write a file of which all events are shown, or those of some tables."""
        stop = self._stop_position if log.last else None
        progress = self._progress

        def read() -> Event | None:
            with file_errors(log.name):
                while file.read_on():
                    show(file.position)
                    if (event := file.opened_event()) is not None:
                        return event
                return file.next_event()

        def show(position: int) -> None:
            if progress is not None:
                progress.show(log.name, position, log.size)

        with closing(opened()) as file:
            if self._selects_all:
                end = _NO_STOP if stop is None else stop
                put_file(file, read, self._writer, self._output, end, show)
            else:
                put_selected(file, read, self._take, self._writer, self._output, show)

    def _run_log(self, log: LogInput) -> None:
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
                self._write(selected)
            except DecodeError as error:
                if not self._recover:
                    raise
                self._gap(_gap_of(error, selected))
        if not shown and isinstance(event.body, _START_EVENTS):
            # Not shown, but the writer needs it for later events.
            self._writer.put(event, LineOutput(BytesIO()))

    def _write(self, event: Event) -> None:
        writer = self._writer
        writer.received()
        if self._recover:
            self._output.block.write(_whole_event(writer, event))
        else:
            writer.put(event, self._output)
        self._output.give_way()

    def _gap(self, gap: Gap) -> None:
        self.damaged = True
        self._report(gap)


def _writer(options: DumpOptions) -> ByteFormat:
    # A format takes as long to import as many a dump.
    if options.format is Format.EVENTS:
        from connector.logs.dump.events_format import EventsFormat  # noqa: PLC0415

        return EventsFormat()
    if options.format is Format.JSON:
        from connector.logs.dump.json.format import JsonFormat  # noqa: PLC0415

        return JsonFormat(apply_diffs=options.apply_diffs)
    if options.format is Format.TEXT:
        from connector.logs.dump.text.format import TextFormat  # noqa: PLC0415

        return TextFormat(hexdump=options.hexdump)
    from connector.logs.dump.envelope_format import EnvelopeFormat  # noqa: PLC0415

    tables = options.selection.tables or TableFilter(["*.*"])
    return EnvelopeFormat(options.topic_prefix, tables, _now_us)


def _whole_event(writer: ByteFormat, event: Event) -> bytes:
    """Return the lines of an event; if there may be gaps, it is shown completely or not at all."""
    file = BytesIO()
    output = LineOutput(file)
    writer.put(event, output)
    output.flush()
    return file.getvalue()


def _now_us() -> int:
    return time.time_ns() // _NS_PER_US


def _gap_of(error: DecodeError, event: Event) -> Gap:
    """Return the gap for an event whose rows cannot be read."""
    why = error.reason if isinstance(error, EventError) else error
    return Gap(event.file, event.position, event.next_position, why)
