"""The status of the job for people: a line in words for each event.

    14:03:21  started: the mirror of shop is in /data/mirror
    14:03:25  batch 12     1,234 changes    5 tables   2.31 s      534/s  lag 1.2 s
    14:03:40  idle for 15 s: the tables have everything that is in Kafka

While nothing is new, the last line says so, and does not scroll. If the output is not a terminal,
that line is missing, and the time has its date.
"""

import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final, TextIO

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.table import Table
from rich.text import Text

from connector.foundation.errors.message import Message, visible, visible_fields
from connector.foundation.errors.secrets_in_urls import value_without_secrets, without_secrets
from connector.foundation.formatting import duration
from connector.foundation.line_output import line_output
from stream_jobs.log_lines import line_time
from stream_jobs.run.status_lines import StatusLines

# A batch that takes longer says where the time went.
_SLOW_SECONDS: Final = 5.0
# A lag above this is no longer the time of a batch.
_LAG_SECONDS: Final = 60.0
# Tables that a line names.
_NAMED: Final = 10


def batch_line(fields: Mapping[str, Any], width: int) -> Text | None:
    """Return the line of `batch_applied` or `retried`; None if it had no change.

    The words are in columns if `width` characters are enough for them.
    """
    totals = fields["totals"]
    changes, count = totals["changes"], totals["tables"]
    if not changes:
        return None
    seconds = fields["seconds"]
    rate = changes / max(seconds, 0.001)
    columns = (
        f"batch {fields['batch_id']}".ljust(9) if "batch_id" in fields else "resuming ",
        f"{changes:>7,} {'change ' if changes == 1 else 'changes'}",
        f"{count:>3,} {'table ' if count == 1 else 'tables'}",
        f"{seconds:>5.2f} s",
        f"{rate:>7,.0f}/s",
    )
    lag = _lag(totals)
    line = Text("  ".join(columns))
    if line.cell_len + lag.cell_len > width:
        line = Text("  ".join(" ".join(column.split()) for column in columns))
    line.append(lag)
    if seconds > _SLOW_SECONDS and "phases" in fields:
        phases = (f"{name} {spent:.1f} s" for name, spent in fields["phases"].items())
        line.append(f"  ({', '.join(phases)})", "dim")
    elif count == 1:
        name = Text(f"  {next(iter(fields['tables']))}", "dim")
        if line.cell_len + name.cell_len <= width:
            line.append(name)
    return line


def _lag(totals: Mapping[str, Any]) -> Text:
    """Return the longest lag, after spaces; copied rows and truncates have none."""
    lag = totals["lag_seconds"]
    if lag is not None:
        return Text("  ").append(f"lag {duration(lag)}", "yellow" if lag > _LAG_SECONDS else "")
    return Text("  nothing applied" if totals["skipped"] == totals["changes"] else "")


_ERASE_LINE: Final = (ControlType.ERASE_IN_LINE, 2)
# The trigger of a job that runs until it is stopped.
_ENDLESS: Final = "processingTime"
# Of a clock time and the space after it.
_TIME_WIDTH: Final = 10


def open_lines(out: TextIO, wanted: object, name: object = None) -> StatusLines:
    """Return the lines of `log.format`; any value but "json" is "console".

    Lines in JSON have the `name` of the configuration, unless it is no text.
    """
    if wanted == "json":
        return StatusLines(line_output(out), _text(name))
    return TerminalLines(out)


def _text(name: object) -> str | None:
    return name if isinstance(name, str) else None


class TerminalLines(StatusLines):
    """Writes lines for people, from any thread."""

    def __init__(
        self, out: TextIO, console: Console | None = None, now: Callable[[], float] = time.time
    ) -> None:
        """Write to `out`, by `console` if it is given; `now` is the clock."""
        super().__init__(out)
        self._console = console or Console(file=out, highlight=False)
        self._now = now
        self._turn = threading.Lock()
        self._is_live = False
        self._idle_since: float | None = None
        self._batches = 0
        self._changes = 0

    def write(self, event: str, **fields: Any) -> None:
        """Write the line of an event, if people need one."""
        with self._turn:
            if event == "idle":
                self._idle(fields["set_aside"])
                return
            self._idle_since = None
            line = self._line_of(event, fields)
            if line is not None:
                self._print(line)

    def doing(self, what: str) -> None:
        """Show what takes a while, until the next line."""
        with self._turn:
            self._idle_since = None
            self._show(visible(without_secrets(what)))

    def fail(self, message: Message) -> None:
        """Write the error in red, and on standard error, unless that is the same terminal."""
        with self._turn:
            self._print(Text(f"error: {message}", "red"))
        self.warn(f"error: {message}")

    def warn(self, text: str) -> None:
        """Write `text` on standard error, unless that is the terminal which has said it."""
        if not (self._console.is_terminal and sys.stderr.isatty()):
            sys.stderr.write(f"{text}\n")

    def write_trace(self, error: BaseException) -> None:
        """Write the stack trace of an error on standard error."""
        sys.stderr.write(without_secrets("".join(traceback.format_exception(error))))

    def _line_of(self, event: str, given: dict[str, Any]) -> Text | None:
        fields = visible_fields(value_without_secrets(given))
        match event:
            case "batch_applied" | "retried":
                return self._batch(fields)
            case "starting" | "working" | "started":
                return _under_way(event, fields)
            case "stopped":
                done = f"{self._batches:,} batches, {self._changes:,} changes"
                return Text(f"stopped: {done}")
            case "no_mirror":
                text = f"no mirror of {fields['topic']}: [{fields['code']}] {fields['error']}"
                return Text(text, "yellow")
            case "loading" | "loaded" | "load_waits" | "load_held_back" | "load_leaves_server":
                return _load(event, fields)
            case (
                "not_registered"
                | "no_new_tables"
                | "none_published"
                | "no_cuts"
                | "not_deleted"
                | "not_kept"
                | "interrupted"
            ):
                return Text(f"[{fields['code']}] {fields['error']}", "yellow")
            case "table_quarantined":
                text = f"{fields['table']} is set aside: [{fields['code']}] {fields['error']}"
                return Text(text, "red")
            case "table_resumed":
                return Text(f"{fields['table']} goes on", "green")
            case "record_skipped":
                where = f"{fields['topic']}, partition {fields['partition']}"
                return Text(f"{where}: record {fields['offset']} is left out, as asked", "yellow")
            case _:
                return _other(event, fields)

    def _batch(self, fields: dict[str, Any]) -> Text | None:
        self._batches += 1
        self._changes += fields["totals"]["changes"]
        return batch_line(fields, self._console.width - _TIME_WIDTH)

    def _idle(self, aside: int) -> None:
        if self._idle_since is None:
            self._idle_since = self._now()
        seconds = self._now() - self._idle_since
        but = f", without {aside} that {'is' if aside == 1 else 'are'} set aside," if aside else ""
        self._show(f"idle for {seconds:.0f} s: the tables{but} have everything that is in Kafka")

    def _print(self, line: Text) -> None:
        self._erase()
        at = Text(self._moment(), "dim")
        if not self._console.is_terminal:
            self._console.print(at.append("  ").append(line), soft_wrap=True)
            return
        row = Table.grid(padding=(0, 2, 0, 0))
        row.add_row(at, line)
        self._console.print(row)

    def _show(self, text: str) -> None:
        """Replace the last line of a terminal; a foreign line that comes next overwrites it."""
        if not self._console.is_terminal or self._console.is_dumb_terminal:
            return
        self._erase()
        line = Text(f"{self._moment()}  {text}", "dim")
        line.truncate(self._console.width - 1, overflow="ellipsis")
        self._console.print(line, end="", no_wrap=True)
        self._console.control(Control.move_to_column(0))
        self._is_live = True

    def _erase(self) -> None:
        if self._is_live:
            self._console.control(Control(ControlType.CARRIAGE_RETURN, _ERASE_LINE))
            self._is_live = False

    def _moment(self) -> str:
        return line_time(self._now(), self._console.is_terminal)


def _under_way(event: str, fields: dict[str, Any]) -> Text:
    if event == "starting":
        return Text(f"starting Spark for the mirror of {fields['name']}")
    if event == "working":
        return Text(f"{fields['what']}, for {fields['seconds']} s so far", "dim")
    return _started(fields)


def _started(fields: dict[str, Any]) -> Text:
    end = "; it ends when all is applied" if fields["trigger"] != _ENDLESS else ""
    line = Text(f"started: the mirror of {fields['name']} is in {fields['mirror']}{end}")
    if aside := fields["set_aside"]:
        more = f" and {len(aside) - _NAMED:,} more" if len(aside) > _NAMED else ""
        line.append(f"; set aside: {', '.join(aside[:_NAMED])}{more}", "red")
    return line


def _load(event: str, fields: dict[str, Any]) -> Text:
    """Return the line of an event of a first load."""
    if event == "loading":
        rows, every = fields["rows"], fields["estimated_rows"]
        # An estimate may be far too low.
        of = f" of about {every:,}" if every > rows else ""
        return Text(f"{fields['table']}: {rows:,}{of} rows are loaded", "dim")
    if event == "loaded":
        return Text(f"{fields['table']}: all {fields['rows']:,} rows are loaded")
    why = f"[{fields['code']}] {fields['error']}"
    if event == "load_held_back":
        most = f"at most {fields['reads']} ranges are read at a time at {fields['server']}"
        return Text(f"{most}: {why}", "yellow")
    if event == "load_leaves_server":
        return Text(f"no ranges are read at {fields['server']}: {why}", "yellow")
    first, *others = fields["tables"]
    more = f" and {len(others):,} more wait" if others else " waits"
    return Text(f"{first}{more} for the first rows: {why}", "yellow")


def _other(event: str, fields: dict[str, Any]) -> Text:
    """Return the line of an event as its words and its fields; one with a code is a warning."""
    code = fields.pop("code", None)
    details = ", ".join(f"{name} {value}" for name, value in fields.items())
    words = event.replace("_", " ")
    text = f"{words}: {details}" if code is None else f"{words}: [{code}] {details}"
    return Text(text, "" if code is None else "yellow")
