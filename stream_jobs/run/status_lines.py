"""The status of the job as JSON lines on standard output: a stable contract for its caller.

    {"event": "starting", "name", "mirror"}
    {"event": "started", "name", "topics", "mirror", "checkpoint", "trigger", "set_aside"}
    {"event": "batch_applied", "batch_id", "seconds", "phases", "records", "end_offsets", "tables",
     "totals", "set_aside", "cut"}
    {"event": "working", "what", "seconds"}
    {"event": "table_quarantined", "table", "topic", "error", "code", "partition", "offset"}
    {"event": "retried", "seconds", "records", "tables", "totals", "set_aside"}
    {"event": "record_skipped", "topic", "partition", "offset"}
    {"event": "table_resumed", "table"}
    {"event": "idle", "end_offsets", "set_aside"}
    {"event": "no_mirror", "topic", "error", "code"}
    {"event": "no_cuts", "error", "code"}
    {"event": "not_deleted", "error", "code"}
    {"event": "loading", "table", "rows", "estimated_rows"}
    {"event": "loaded", "table", "rows"}
    {"event": "load_waits", "tables", "error", "code"}
    {"event": "load_held_back", "server", "reads", "error", "code"}
    {"event": "load_leaves_server", "server", "error", "code"}
    {"event": "load_returns_to_server", "server"}
    {"event": "not_registered", "table", "error", "code"}
    {"event": "not_published", "table", "error", "code"}
    {"event": "no_new_tables", "error", "code"}
    {"event": "none_published", "error", "code"}
    {"event": "interrupted", "error", "code", "retry_in_seconds"}
    {"event": "stopped", "end_offsets"}
    {"event": "trace", "stack_trace"}
    {"event": "failed", "error", "code"}
    {"event": "not_kept", "error", "code"}

The code uses these names. A line has the names of the connector's log, which is the Elastic
Common Schema (`connector.foundation.ecs`): `message` for `event`, `error.code`,
`error.message` and `error.stack_trace` for `code`, `error` and `stack_trace`, and `cdc.batch_id`,
`cdc.tables` and so on for the others. A field that is null is left out. Names inside of these
objects are as below.

No line is longer than 4 kB, however many tables there are: `left_out` has by field (`tables`,
`end_offsets`, `set_aside`) how many entries the line does not name. It is missing if the line names
all of them.

`end_offsets` is {topic: {partition: offset}} of the topics that have moved since the last line with
this field, in the first line of a run of all topics: everything before these offsets is in the
tables.
They count Kafka's transaction markers and aborted records too, so they reach a topic's
read_committed end. `binlog-connector-mirror status --json` has the offsets of all tables.

A line `idle` says that there is nothing new, or that a batch had no record and only moved offsets
past markers or past tables in quarantine. It is written when the job becomes idle, then once a
minute, and every five seconds while offsets move. `working` says what the job does, if that takes
longer than ten seconds, and then once a minute. `seconds` is the time from the batch's first step
to its last, and `phases` has its parts. `set_aside` is the number of tables that are in quarantine,
in `started` their names; their `end_offsets` go on. `cut` is the number of the cut at which the
batch has ended, or null. `table_quarantined` says why a table cannot go on, and at which record if
it is one (else null). `retried` is a batch of tables that `resume` has named, or whose first rows
were loaded. `code` is an error code, which `binlog-connector explain` explains. Fields may be
added, but none is removed or changes its meaning.

`loading`, every half minute, says how many rows of a table were read from the source, and `loaded`
that all were. `load_waits` names tables whose loads wait, which are tried again, and says why the
first one does. `load_held_back` says why no more than `reads` ranges are read at a time at a
server, `load_leaves_server` why none are read at one of several servers, and
`load_returns_to_server` that they are again.
`no_cuts` says why batches do not end at cuts at the moment, and `not_deleted` why records stay in
Kafka that the tables have; the tables go on.
`trace` comes before a `failed`, `interrupted` or `none_published` line if the error is not one of
the catalogue.
`interrupted` says why the job waits for Kafka. `not_kept` says why the mirror does not record how
the run has ended.
`not_registered` names a mirror that has no name in the catalog yet, and `not_published` one whose
Iceberg table does not follow. `no_new_tables` says why a catalog that has all Iceberg tables cannot
get others, and `none_published` what has ended a turn that publishes Iceberg tables: the next one
tries it again.

`totals` sums up all tables of the batch: the number of `tables` with changes, and of the fields
below `changes`, `upserts`, `deletes`, `skipped`, `missing`, `commits` and `bytes_written`;
`lag_seconds` is the largest one.

`tables` is by `database.table`, and begins with those that have most changes:

    changes, upserts, deletes, skipped    records; keys whose last change is an insert or an update,
                                          or a delete; changes that were not applied
    missing                               in mode `rows`: rows to take away that a truncate took
                                          before; a copy is to come
    source_ts_ms, committed_ms            when the source committed the latest of the applied
                                          changes, without copied rows, and when the table did
    lag_seconds                           between these two
    commits, commit_seconds               how many commits, with maintenance, and how long they took
    changed_bytes, bytes_written          bytes of the changed values, and of everything written
    version, rows, dead_rows, files, bytes    the Delta table after the batch

Unknown values are null there: the table after the batch if it has no mirror, and times of a batch
in which everything was skipped. `stream_jobs.tables.batch_report.TableReport` has the details.

`Notices` writes what stays as it is only once, or seldom.
"""

from __future__ import annotations

import json
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TextIO

from connector.foundation.errors import fields
from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import Message, visible
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.log_lines import EcsLine
from stream_jobs.run.publication_queue import turn_error
from stream_jobs.run.streaming_query import QueryListener
from stream_jobs.source.topics import Offsets
from stream_jobs.tables.batch_report import BatchReport

if TYPE_CHECKING:
    from stream_jobs.run.metrics import JobMetrics
    from stream_jobs.source.topics import OffsetRange


# How long a job says nothing that has nothing new, unless a terminal shows it; and how long while
# offsets go on.
_QUIET_SECONDS: Final = 60.0
_OFFSETS_SECONDS: Final = 5.0


class StatusLines:
    """Writes whole lines, from any thread."""

    def __init__(
        self,
        out: TextIO,
        name: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write to `out`; `name` is that of the configuration, if it is known."""
        self._out = out
        self._line = EcsLine("mirror", name)
        self._monotonic = monotonic
        self._lock = threading.Lock()
        # The events without news since the last one with some, and when one was written.
        self._quiet: set[str] = set()
        self._quiet_at = 0.0
        # The topics that have moved since a line told of offsets.
        self._moved: Offsets = {}

    def write(self, event: str, **fields: Any) -> None:
        """Write one line; those without news that come often are left out.

        `end_offsets` are those that have moved; the next line that is written tells of them.
        """
        with self._lock:
            self._moved |= fields.get("end_offsets", {})
            if _has_news(event, fields):
                self._quiet.clear()
            elif self._has_no_news(event):
                return
            if "end_offsets" in fields:
                fields["end_offsets"], self._moved = self._moved, {}
            self._out.write(self._line.text(event, fields) + "\n")
            self._out.flush()

    def _has_no_news(self, event: str) -> bool:
        """Return whether a line without news can be left out; else note that it is written."""
        now = self._monotonic()
        pause = _OFFSETS_SECONDS if self._moved else _QUIET_SECONDS
        if event in self._quiet and now - self._quiet_at < pause:
            return True
        self._quiet.add(event)
        self._quiet_at = now
        return False

    def doing(self, what: str) -> None:
        """Say what takes a while; for people alone."""

    def warn(self, text: str) -> None:
        """Write `text` on standard error; for people alone, because a line has said it."""

    def write_trace(self, error: BaseException) -> None:
        """Write the stack trace of an error that is none of our own."""
        self.write("trace", stack_trace="".join(traceback.format_exception(error)))

    def write_quarantined(self, report: BatchReport) -> None:
        """Write which tables a batch has set aside."""
        for record in report.quarantined:
            self.write(
                "table_quarantined",
                table=record.table,
                topic=record.topic,
                error=record.reason,
                code=record.code,
                partition=record.partition,
                offset=record.offset,
            )
            self.warn(visible(f"{record.table} is set aside: [{record.code}] {record.reason}"))

    def write_unregistered(self, problems: Mapping[str, Message]) -> None:
        """Write which mirrors could not be registered in the catalog, and why."""
        for name, problem in problems.items():
            self.write("not_registered", table=name, **fields(problem))

    def write_retried(self, report: BatchReport) -> None:
        """Write what was done for tables that a command has asked for."""
        self.write(
            "retried",
            seconds=round(report.seconds, 3),
            records=report.records,
            set_aside=report.set_aside,
            **report.table_facts(),
        )
        self.write_quarantined(report)
        for topic, records in report.skipped.items():
            for partition, offset in records:
                self.write("record_skipped", topic=topic, partition=partition, offset=offset)
        for table in report.resumed:
            self.write("table_resumed", table=table)

    def fail(self, message: Message) -> None:
        """Write `failed`."""
        self.write("failed", **fields(message))
        self.warn(f"error: {message}")


def _has_news(event: str, fields: Mapping[str, Any]) -> bool:
    if event == "batch_applied":
        return bool(fields["records"] or fields["tables"])
    return event != "idle"


class ProgressListener(QueryListener):
    """Joins the report of a batch with the news that Spark has committed it."""

    def __init__(
        self, lines: StatusLines, metrics: JobMetrics, after: Callable[[], None], schemas: str
    ) -> None:
        """Write to `lines`, note offsets in `metrics`, and call `after` after the query.

        Offsets of the topic `schemas` are for Spark only.
        """
        self._schemas = schemas
        self._lines = lines
        self._metrics = metrics
        self._after = after
        # With the ends of the ranges of each batch.
        self._reports: dict[int, tuple[BatchReport, Offsets]] = {}
        self._terminated = threading.Event()
        self._committed = threading.Condition()
        self._last_batch_id = -1
        self.has_begun = False  # whether the query has begun to work
        # Whether the metrics have the offsets of all topics, to which batches add theirs.
        self._is_based = False

    def add_report(self, batch_id: int, report: BatchReport, ranges: Iterable[OffsetRange]) -> None:
        """Keep the report of a batch with `ranges` until Spark has committed the batch."""
        ends: Offsets = {}
        for span in ranges:
            if span.topic != self._schemas:
                ends.setdefault(span.topic, {})[str(span.partition)] = span.end
        self._reports[batch_id] = report, ends

    def wait_for_batch(self, batch_id: int, seconds: float) -> None:
        """Wait until the line of a batch was written, at most `seconds`."""
        with self._committed:
            self._committed.wait_for(lambda: self._last_batch_id >= batch_id, seconds)

    def wait_for_end(self, seconds: float) -> None:
        """Wait until the query's last line was written, at most `seconds`."""
        self._terminated.wait(seconds)

    def restart(self) -> None:
        """Expect another query."""
        self._terminated.clear()
        self._last_batch_id = -1
        self._reports.clear()
        self._is_based = False

    def on_progress(self, batch_id: int, end_offsets: Callable[[], str | None]) -> None:
        self.has_begun = True
        report, moved = self._reports.pop(batch_id, (None, {}))
        if not self._is_based:
            # Of all topics: a long text, which is read once. An earlier run may not have told.
            moved = json.loads(end_offsets() or "{}") or {}
            moved.pop(self._schemas, None)
            self._is_based = True
        self._metrics.note_offsets(moved)
        if report is not None:
            self._lines.write(
                "batch_applied",
                batch_id=batch_id,
                seconds=round(report.seconds, 3),
                records=report.records,
                end_offsets=moved,
                phases=report.phases,
                set_aside=report.set_aside,
                cut=report.cut,
                **report.table_facts(),
            )
        with self._committed:
            self._last_batch_id = batch_id
            self._committed.notify_all()

    def on_idle(self) -> None:
        self.has_begun = True
        # A batch that was applied meanwhile writes its own line next.
        if self._last_batch_id < 0 or self._reports:
            return
        aside = len(self._metrics.set_aside())
        self._lines.write("idle", end_offsets={}, set_aside=aside)

    def on_end(self) -> None:
        """Let `wait_for_end` return."""
        self._terminated.set()
        self._after()


# What takes longer is told, and so often.
_LONG_SECONDS: Final = 10.0
_AGAIN_SECONDS: Final = 60.0


class Notices:
    """Remembers what was reported."""

    def __init__(self, lines: StatusLines) -> None:
        self._lines = lines
        self._keyless: set[str] = set()
        # Why there are no cuts.
        self._no_cuts: ErrorCode | None = None
        # Why no records are deleted.
        self._not_deleted: ErrorCode | None = None
        # What a catalog refuses, though it has all Iceberg tables.
        self._restriction: ErrorCode | None = None
        # By table, why its Iceberg table does not follow.
        self._unpublished: dict[str, ErrorCode] = {}
        # By table, why nobody loads its first rows.
        self._unloaded: dict[str, ErrorCode] = {}
        # When the work began that takes long, and when that was reported.
        self._began_at: float | None = None
        self._noted_at = 0.0

    def note_work(self, what: str, began_at: float) -> None:
        """Report what takes long, and for how long; times are on the monotonic clock."""
        now = time.monotonic()
        if now - began_at < _LONG_SECONDS:
            return
        if began_at != self._began_at or now - self._noted_at >= _AGAIN_SECONDS:
            self._began_at, self._noted_at = began_at, now
            self._lines.write("working", what=what, seconds=round(now - began_at))

    def note_keyless(self, report: BatchReport) -> None:
        """Report tables that have no mirror, because they have no key."""
        reason = Message(job_errors.NO_MIRROR, {})
        for topic in sorted(set(report.keyless_topics) - self._keyless):
            self._keyless.add(topic)
            self._lines.write("no_mirror", topic=topic, **fields(reason))

    def note_restriction(self, restriction: Message | None) -> None:
        """Report what the catalog of Iceberg tables refuses, though it has all of them."""
        if restriction is not None and restriction.shown_code is not self._restriction:
            self._lines.write("no_new_tables", **fields(restriction))
        self._restriction = None if restriction is None else restriction.shown_code

    def note_unpublished(self, problems: Mapping[str, Message]) -> None:
        """Report tables whose Iceberg tables do not follow, each once for a reason."""
        for table, problem in sorted(problems.items()):
            if problem.shown_code is not self._unpublished.get(table):
                self._lines.write("not_published", table=table, **fields(problem))
        self._unpublished = {table: problem.shown_code for table, problem in problems.items()}

    def note_failed_turn(self, error: Exception) -> None:
        """Report what has ended a turn that publishes Iceberg tables."""
        if not isinstance(error, MirrorError):
            self._lines.write_trace(error)
        self._lines.write("none_published", **fields(turn_error(error)))

    def note_loads(self, problems: Mapping[str, Message]) -> None:
        """Report tables that nobody can load, each once for a reason, and those alike together."""
        new: dict[str, list[str]] = {}
        for table, problem in sorted(problems.items()):
            if problem.shown_code is not self._unloaded.get(table):
                new.setdefault(problem.shown_code.code, []).append(table)
        for tables in new.values():
            self._lines.write("load_waits", tables=tables, **fields(problems[tables[0]]))
        self._unloaded = {table: problem.shown_code for table, problem in problems.items()}

    def note_cuts(self, problem: Message | None) -> None:
        """Report why there are no cuts, if there is a problem."""
        if problem is not None and problem.code is not self._no_cuts:
            self._lines.write("no_cuts", **fields(problem))
        self._no_cuts = None if problem is None else problem.code

    def note_records(self, problem: Message | None) -> None:
        """Report why records stay in Kafka that the tables have, if there is a problem."""
        if problem is not None and problem.shown_code is not self._not_deleted:
            self._lines.write("not_deleted", **fields(problem))
        self._not_deleted = None if problem is None else problem.shown_code
