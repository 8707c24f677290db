"""The status of the job as JSON lines on standard output: a stable contract for its caller.

    {"event": "started", "name", "topics", "mirror", "checkpoint", "trigger"}
    {"event": "batch_applied", "batch_id", "seconds", "phases", "records", "end_offsets", "tables"}
    {"event": "idle", "end_offsets"}
    {"event": "no_mirror", "topic", "reason", "code"}
    {"event": "stopped", "end_offsets"}
    {"event": "failed", "error", "code"}

`end_offsets` is {topic: {partition: offset}}: everything before these offsets is in the tables.
They count Kafka's transaction markers and aborted records too, so they reach a topic's
read_committed end. A line `idle` says that there is nothing new, at most about once a second.
`tables` is by `database.table`, see `reports.TableReport`. `seconds` is the time from the batch's
first step to its last, and `phases` has its parts. `code` is an error code, which
`binlog-connector explain` explains. Fields may be added, but none is removed or changes its
meaning.
"""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, TextIO

from pyspark.sql.streaming.listener import StreamingQueryListener

from connector.errors import fields

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryProgress,
    )
    from pyspark.sql.streaming.query import StreamingQuery

    from connector.errors.message import Message
    from stream_jobs.reports import BatchReport

Offsets = dict[str, dict[str, int]]


class StatusLines:
    """Writes whole lines, from any thread."""

    def __init__(self, out: TextIO) -> None:
        """Write to `out`."""
        self._out = out
        self._lock = threading.Lock()

    def write(self, event: str, **fields: object) -> None:
        """Write one line."""
        line = json.dumps({"event": event, **fields}, ensure_ascii=False, default=str)
        with self._lock:
            self._out.write(line + "\n")
            self._out.flush()

    def fail(self, message: Message) -> None:
        """Write `failed`, and its text on standard error."""
        self.write("failed", **fields(message))
        sys.stderr.write(f"error: {message}\n")


class ProgressListener(StreamingQueryListener):
    """Joins the report of a batch with the offsets that Spark has committed for it.

    Spark calls it in order, in its own thread, after the query.
    """

    def __init__(self, lines: StatusLines) -> None:
        """Write to `lines`."""
        self._lines = lines
        self._reports: dict[int, BatchReport] = {}
        self._terminated = threading.Event()
        self._committed = threading.Condition()
        self._last_batch_id = -1
        self._query: StreamingQuery | None = None
        self.end_offsets: Offsets = {}

    def watch(self, query: StreamingQuery) -> None:
        """Take the offsets for `idle` lines from `query`."""
        self._query = query

    def add_report(self, batch_id: int, report: BatchReport) -> None:
        """Keep the report of a batch until Spark has committed the batch."""
        self._reports[batch_id] = report

    def wait_for_batch(self, batch_id: int, seconds: float) -> None:
        """Wait until the line of a batch was written, at most `seconds`."""
        with self._committed:
            self._committed.wait_for(lambda: self._last_batch_id >= batch_id, seconds)

    def wait_for_end(self, seconds: float) -> None:
        """Wait until the query's last line was written, at most `seconds`."""
        self._terminated.wait(seconds)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Nothing to do: the job itself reports its start."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Write `batch_applied`."""
        progress = event.progress
        report = self._reports.pop(progress.batchId, None)
        self.end_offsets = _end_offsets(progress)
        if report is not None:
            self._lines.write(
                "batch_applied",
                batch_id=progress.batchId,
                seconds=round(report.seconds, 3),
                records=report.records,
                end_offsets=self.end_offsets,
                tables={name: asdict(table) for name, table in report.tables.items()},
                phases=report.phases,
            )
        with self._committed:
            self._last_batch_id = progress.batchId
            self._committed.notify_all()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """Write `idle`."""
        del event
        progress = None if self._query is None else self._query.lastProgress
        # A batch that was applied meanwhile writes its own line next.
        if progress is None or self._reports:
            return
        self.end_offsets = _end_offsets(progress)
        self._lines.write("idle", end_offsets=self.end_offsets)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """Let `wait_for_end` return."""
        del event
        self._terminated.set()


def _end_offsets(progress: StreamingQueryProgress) -> Offsets:
    """Return the offsets after the last records that were read; empty without topics."""
    text = progress.sources[0].endOffset
    # Spark prints Java's null in one of these ways.
    if text in ("None", "null"):
        return {}
    offsets: Offsets = json.loads(text)
    return offsets
