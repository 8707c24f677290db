"""How the job of a mirror stands, from what the mirror says of it and of its newest run."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from stream_jobs.report.run_record import Failure, Run
    from stream_jobs.run.owner import Owner

JobState = Literal["running", "stopped", "failed", "gone", "elsewhere"]

# The trigger of a job that runs until it is stopped.
_ENDLESS: Final = "processingTime"


@dataclass(frozen=True, slots=True)
class JobStatus:
    """The newest run of the job.

    `gone` is a process of this machine that has ended without a word, `elsewhere` one of another
    machine, which may have.
    """

    state: JobState
    name: str
    host: str
    pid: int
    since: str  # ISO 8601, UTC
    ended: str | None = None
    trigger: str | None = None
    # Why this run failed, or the one before it.
    last_failure: Failure | None = None

    @property
    def is_missing(self) -> bool:
        """Whether it should run, and does not."""
        if self.state == "stopped":
            return self.trigger == _ENDLESS
        return self.state in ("failed", "gone")

    @property
    def may_run(self) -> bool:
        """Whether it runs, as far as is known."""
        return self.state in ("running", "elsewhere")


def job_status(owner: Owner, run: Run | None) -> JobStatus:
    """Return the state of the job that has the mirror; `run` is its newest run, if it is known."""
    alive = _is_alive(owner)
    if run is None or (run.epoch is not None and run.epoch != owner.epoch):
        # A version that wrote no such file, or a process that has just taken over.
        return JobStatus(_state(alive), owner.name, owner.host, owner.pid, owner.since)
    if run.state != "running" and not (run.epoch is None and alive):
        return JobStatus(
            run.state,
            owner.name,
            run.host,
            run.pid,
            run.since,
            run.ended,
            run.trigger,
            run.last_failure,
        )
    return JobStatus(
        _state(alive),
        owner.name,
        owner.host,
        owner.pid,
        owner.since,
        trigger=run.trigger,
        last_failure=run.last_failure,
    )


def _state(alive: bool | None) -> JobState:
    return "elsewhere" if alive is None else "running" if alive else "gone"


def _is_alive(owner: Owner) -> bool | None:
    """Return whether the process runs; None if it is one of another machine."""
    if owner.host != socket.gethostname():
        return None
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
