"""What the job tells people besides the line of each batch: what stays as it is, once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from connector.errors import fields, mirror
from connector.errors.message import Message

if TYPE_CHECKING:
    from connector.errors.code import ErrorCode
    from stream_jobs.report.status import StatusLines
    from stream_jobs.tables.reports import BatchReport

# What takes longer is told, and so often.
_LONG_SECONDS: Final = 10.0
_AGAIN_SECONDS: Final = 60.0


class Announcements:
    """Remembers what was told."""

    def __init__(self, lines: StatusLines) -> None:
        """Tell by `lines`."""
        self._lines = lines
        self._keyless: set[str] = set()
        # Why there are no cuts.
        self._no_cuts: ErrorCode | None = None
        # When the work began that takes long, and when it was told.
        self._began_at: float | None = None
        self._told_at = 0.0

    def note_work(self, what: str, began_at: float) -> None:
        """Tell what takes long, and for how long; times are on the monotonic clock."""
        now = time.monotonic()
        if now - began_at < _LONG_SECONDS:
            return
        if began_at != self._began_at or now - self._told_at >= _AGAIN_SECONDS:
            self._began_at, self._told_at = began_at, now
            self._lines.write("working", what=what, seconds=round(now - began_at))

    def note_keyless(self, report: BatchReport) -> None:
        """Tell of tables that have no mirror, because they have no key."""
        reason = Message(mirror.NO_MIRROR, {})
        for topic in sorted(set(report.keyless_topics) - self._keyless):
            self._keyless.add(topic)
            self._lines.write("no_mirror", topic=topic, **fields(reason))

    def note_cuts(self, problem: Message | None) -> None:
        """Tell why there are no cuts, if there is a problem."""
        if problem is not None and problem.code is not self._no_cuts:
            self._lines.write("no_cuts", **fields(problem))
        self._no_cuts = None if problem is None else problem.code
