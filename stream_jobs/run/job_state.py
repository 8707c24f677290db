"""The job that owns a mirror: who it is, how its newest run ended, and whether it still runs.

*Owner.* The newest file `_cdc/owner/<number>.json` names the one job that a mirror belongs to.
Delta's log already keeps two jobs from harming a table: if both commit, one is told. But they
would do all work twice, and hinder each other for ever. So a job puts the next number if it is
absent. A job with another name or other topics is refused; one with the same takes over, as after
a crash, and the older process ends at its next batch. No clock decides.

*Run.* A run writes `_cdc/run/newest.json` when it takes the mirror, and again when it ends. So
the reason of a failure is known after the process is gone, wherever its log went. The file fills
a block of the disk from the beginning, so that a full disk still has room for the reason: it
takes the place of the file before it.
"""

import json
import os
import socket
import uuid
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

from connector.foundation.errors.message import Message
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.paths import OWN_FOLDER

_FOLDER: Final = f"{OWN_FOLDER}/owner"


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that has taken a mirror."""

    name: str  # of the pipeline
    prefix: str  # of its topics
    host: str
    pid: int
    since: str  # ISO 8601, UTC
    epoch: str  # of this process alone

    @classmethod
    def here(cls, name: str, prefix: str) -> "Owner":
        """Return this process."""
        since = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(name, prefix, socket.gethostname(), os.getpid(), since, uuid.uuid4().hex)


class Ownership:
    """The claim of this process."""

    def __init__(self, storage: Storage, base: str, owner: Owner) -> None:
        """Claim for `owner` in `storage`, whose root is `base`."""
        self._storage = storage
        self._base = base.rstrip("/")
        self.owner = owner

    def claim(self) -> None:
        """Take the mirror. Raises MirrorError if it belongs to another job."""
        content = json.dumps(asdict(self.owner), indent=1).encode()
        while True:
            numbers = self._numbers()
            newest = self.newest()
            if newest is not None and (newest.name, newest.prefix) != (
                self.owner.name,
                self.owner.prefix,
            ):
                raise MirrorError(
                    job_errors.OTHER_OWNER,
                    path=self._base,
                    owner=newest.name,
                    prefix=newest.prefix,
                    pid=newest.pid,
                    host=newest.host,
                )
            if self._storage.put_if_absent(_path(max(numbers, default=0) + 1), content):
                break
        for number in numbers:
            self._storage.delete(_path(number))

    def check(self) -> None:
        """Raise MirrorError if another process has taken over."""
        newest = self.newest()
        if newest is None:
            self.claim()  # somebody has removed the files
        elif newest.epoch != self.owner.epoch:
            raise MirrorError(
                job_errors.TAKEN_OVER, path=self._base, pid=newest.pid, host=newest.host
            )

    def newest(self) -> Owner | None:
        """Return the process that has the mirror; None if there was none."""
        for number in reversed(self._numbers()):
            content = self._storage.read(_path(number))
            if content is None:
                continue
            try:
                return Owner(**json.loads(content))
            except (ValueError, TypeError) as error:
                path = f"{self._base}/{_path(number)}"
                raise MirrorError(job_errors.OWN_FILE, path=path) from error
        return None

    def _numbers(self) -> list[int]:
        names = [file.name.removesuffix(".json") for file in self._storage.list(_FOLDER)]
        return sorted(int(name) for name in names if name.isdecimal())


def _path(number: int) -> str:
    return f"{_FOLDER}/{number:020d}.json"


_PATH: Final = f"{OWN_FOLDER}/run/newest.json"
# Of most file systems.
_BLOCK_BYTES: Final = 4096

RunState = Literal["running", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why a run failed."""

    at: str  # ISO 8601, UTC
    code: str
    error: str


@dataclass(frozen=True, slots=True)
class JobRun:
    """A run of the job."""

    host: str
    pid: int
    since: str  # ISO 8601, UTC
    trigger: str
    # That of the owner; None before it has taken the mirror.
    epoch: str | None = None
    state: RunState = "running"
    ended: str | None = None  # ISO 8601, UTC
    failure: RunFailure | None = None
    # Why the run before this one failed, if it did.
    failure_before: RunFailure | None = None

    @property
    def last_failure(self) -> RunFailure | None:
        """Why this run failed, else the one before."""
        return self.failure or self.failure_before


class RunRecord:
    """The file, and the run of this process."""

    def __init__(self, storage: Storage, base: str, trigger: str) -> None:
        """Write to `storage`, whose root is `base`, of a run with this kind of trigger."""
        self._storage = storage
        self._base = base.rstrip("/")
        self._run = JobRun(socket.gethostname(), os.getpid(), _now(), trigger)

    def begin(self, epoch: str) -> RunFailure | None:
        """Note that this run has taken the mirror; return why the run before failed, if it did.

        `epoch` is that of the owner. Raises MirrorError if the storage fails.
        """
        before = self.newest()
        failure = None if before is None else before.failure
        self._write(replace(self._run, epoch=epoch, failure_before=failure))
        return failure

    def stopped(self) -> None:
        """Note that this run has ended well. Raises MirrorError if the storage fails."""
        self._end(replace(self._run, state="stopped", ended=_now()))

    def failed(self, message: Message) -> RunFailure:
        """Note why this run ends. Raises MirrorError if the storage fails."""
        failure = RunFailure(_now(), message.shown_code.code, message.text)
        self._end(replace(self._run, state="failed", ended=failure.at, failure=failure))
        return failure

    def newest(self) -> JobRun | None:
        """Return the newest run; None if there was none. Raises MirrorError for a foreign file."""
        content = self._storage.read(_PATH)
        if content is None:
            return None
        try:
            return _run(json.loads(content))
        except (ValueError, TypeError) as error:
            raise MirrorError(job_errors.OWN_FILE, path=f"{self._base}/{_PATH}") from error

    def _end(self, run: JobRun) -> None:
        newest = self.newest()
        # Another process may have taken over, and the file is that of its run then.
        if run.epoch is None or newest is None or newest.epoch == run.epoch:
            self._write(run)

    def _write(self, run: JobRun) -> None:
        self._run = run
        content = json.dumps(asdict(run), indent=1).encode().ljust(_BLOCK_BYTES)
        try:
            self._storage.write(_PATH, content)
        except MirrorError:
            self._storage.delete(_PATH)
            self._storage.write(_PATH, content)


def _run(fields: dict[str, Any]) -> JobRun:
    for name in ("failure", "failure_before"):
        if fields.get(name) is not None:
            fields[name] = RunFailure(**fields[name])
    return JobRun(**fields)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


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
    last_failure: RunFailure | None = None

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


def job_status(owner: Owner, run: JobRun | None) -> JobStatus:
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
