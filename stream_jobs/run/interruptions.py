"""Failures of a query after which the job begins another one.

*Kafka is away.* It may come back within `retry.seconds` of the last batch; a job that has never
reached it ends. So does one that learns that a wait is in vain: the log in a folder is damaged, or
on a file system that is read-only. What brokers refuse may pass.

*A Python process of Spark starts late.* Spark waits ten seconds for it, whatever its settings are,
and then gives the query up. On a machine that is busy, as at its own start, Python may need longer.
"""

import time
from typing import Final

from connector.foundation.errors.message import Message
from connector.kafka.folder import folder_errors
from stream_jobs.errors import job_errors

# Between two queries, the first of which has failed.
PAUSE_SECONDS: Final = 2.0
# So many queries in a row may fail because a process was late.
_LATE_MAX: Final = 5


class Interruptions:
    """What a job knows of its queries so far."""

    def __init__(self, retry_seconds: float) -> None:
        """Wait so long for Kafka."""
        self._retry_seconds = retry_seconds
        self._worked_at: float | None = None
        self._late = 0

    def end_batch(self) -> None:
        """Note that a batch, or a look at an idle source, has not failed."""
        self._worked_at = time.monotonic()
        self._late = 0

    def outlasts(self, problem: Message) -> bool:
        """Return whether to begin another query after one that has failed."""
        if problem.code is job_errors.WORKER_LATE:
            self._late += 1
            return self._late <= _LATE_MAX
        # An error that came through Spark has a copy of its code.
        if problem.shown_code != job_errors.KAFKA_FAILED or self._worked_at is None:
            return False
        said = problem.facts.get("said")
        if isinstance(said, Message) and said.code in folder_errors.FINAL:
            return False
        return time.monotonic() - self._worked_at < self._retry_seconds
