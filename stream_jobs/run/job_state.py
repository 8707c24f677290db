"""The job that owns a mirror: who it is, how its newest run ended, and whether it still runs.

*Owner.* The newest file `_cdc/owner/<number>.json` names the one job that a mirror belongs to.
Delta's log already keeps two jobs from harming a table: if both commit, one is told. But they
would do all work twice, and hinder each other for ever. So a job puts the next number if it is
absent. A job with another name or other topics is refused; one with the same takes over, as after
a crash, and the older process ends at its next batch. No clock decides. Pipelines that share a
mirror have a folder each.

*Run.* A run writes `_cdc/run/newest.json` when it takes the mirror, and again when it ends. So
the reason of a failure is known after the process is gone, wherever its log went. The file fills
a block of the disk from the beginning, so that a full disk still has room for the reason: it
takes the place of the file before it.
"""

import json
import os
import socket
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

from connector.foundation.errors.message import Message
from stream_jobs import pipeline_folder
from stream_jobs.delta.storage import Storage
from stream_jobs.delta.storages import storage_of
from stream_jobs.errors import MirrorError, job_errors, shard_errors
from stream_jobs.paths import OWN_FOLDER
from stream_jobs.settings import Settings

# A restart would be refused again, or take over in turn.
OF_OTHER_OWNERS: Final = (
    job_errors.TAKEN_OVER,
    job_errors.OTHER_OWNER,
    job_errors.MIRROR_SHARED,
    job_errors.OWNER_ALONE,
    job_errors.SHARDS_DROPPED,
    job_errors.SHARDS_GONE,
    shard_errors.PIPELINE_RUNS,
)


class Ownership:
    """The claim of this process."""

    def __init__(self, storage: Storage, base: str, owner: pipeline_folder.Owner) -> None:
        """Claim for `owner` in `storage`, whose root is `base`."""
        self._storage = storage
        self._base = base.rstrip("/")
        self.owner = owner
        # That of its file; 0 before its claim.
        self._number = 0

    def claim(self) -> None:
        """Take the mirror. Raises MirrorError if it belongs to another job."""
        content = self.owner.write()
        while True:
            numbers = pipeline_folder.owner_numbers(self._storage)
            newest = self.newest()
            if newest is not None:
                self.refuse(newest)
            number = max(numbers, default=0) + 1
            if self._storage.put_if_absent(pipeline_folder.owner_path(number), content):
                self._number = number
                break

    def refuse(self, newest: pipeline_folder.Owner) -> None:
        """Raise MirrorError if the process that has the mirror does not let this one have it."""
        place: dict[str, object] = {"path": self._base, "prefix": newest.prefix}
        facts = place | {"pid": newest.pid, "host": newest.host}
        if newest.drops_shards and newest.prefix == self.owner.prefix:
            raise MirrorError(job_errors.SHARDS_DROPPED, **facts)
        if (newest.name, newest.prefix) != (self.owner.name, self.owner.prefix):
            raise MirrorError(job_errors.OTHER_OWNER, **facts, owner=newest.name)

    def remove_older(self) -> None:
        """Remove the files of the processes before this one."""
        for number in pipeline_folder.owner_numbers(self._storage):
            if number < self._number:
                self._storage.delete(pipeline_folder.owner_path(number))

    def check(self) -> None:
        """Raise MirrorError if another process has taken over, or has removed the pipeline."""
        newest = self.newest()
        if self._has(newest):
            if newest is None:
                self.claim()
            return
        if newest is None:
            place = {"path": self._base, "prefix": self.owner.prefix}
            raise MirrorError(job_errors.SHARDS_GONE, **place)
        raise MirrorError(job_errors.TAKEN_OVER, path=self._base, pid=newest.pid, host=newest.host)

    def is_current(self) -> bool:
        """Return whether no other process has taken over, or has removed the pipeline."""
        return self._has(self.newest())

    def _has(self, newest: pipeline_folder.Owner | None) -> bool:
        if newest is not None:
            return newest.epoch == self.owner.epoch
        if not self.owner.shared:
            return True  # somebody has removed the files
        # `drop-shards` removes the record of the run, too.
        run = RunRecord(self._storage, self._base, "").newest()
        return run is not None and run.epoch == self.owner.epoch

    def newest(self) -> pipeline_folder.Owner | None:
        """Return the process that has the mirror; None if there was none."""
        return pipeline_folder.newest_owner(self._storage, self._base)

    def give_up(self) -> None:
        """Take the claim back."""
        self._storage.delete(pipeline_folder.owner_path(self._number))


def claimed(settings: Settings) -> tuple[pipeline_folder.PipelineFolder, Ownership]:
    """Take the mirror of `settings`, or a place in it; return the folder of the pipeline.

    Raises MirrorError if it belongs to another pipeline, or if one of both does not share it.
    """
    own = pipeline_folder.Owner.here(
        settings.name, settings.kafka.topic_prefix, shared=settings.mirror.shared
    )
    root = storage_of(settings.mirror.path)
    folder = _refuse_others(settings, root)
    ownership = Ownership(folder.storage, folder.base, own)
    try:
        ownership.claim()
    except MirrorError as error:
        now = pipeline_folder.folder_of(settings)
        if error.code is not job_errors.OTHER_OWNER or now.base == folder.base:
            raise
        # Another pipeline was the first one, a moment ago.
        ownership = Ownership(now.storage, now.base, own)
        ownership.claim()
    try:
        # Another one may have come meanwhile, and seen nothing of this one.
        folder = _refuse_others(settings, root)
    except MirrorError:
        # The processes before it had the mirror: what they have put is still there.
        ownership.give_up()
        raise
    ownership.remove_older()
    return folder, ownership


def _refuse_others(settings: Settings, root: Storage) -> pipeline_folder.PipelineFolder:
    """Return the folder of the pipeline; raises MirrorError if it may not have the mirror."""
    path = settings.mirror.path.rstrip("/")
    folder = pipeline_folder.folder_of(settings)
    if not settings.mirror.shared:
        if pipeline_folder.has_guests(root):
            raise MirrorError(job_errors.MIRROR_SHARED, path=path)
        return folder
    first = pipeline_folder.newest_owner(root, path)
    if folder.base != path and first is not None and not first.shared:
        facts = {"path": path, "owner": first.name, "prefix": first.prefix}
        raise MirrorError(job_errors.OWNER_ALONE, **facts)
    return folder


RUNS: Final = f"{OWN_FOLDER}/run/"
_PATH: Final = f"{RUNS}newest.json"
# Of most file systems.
_BLOCK_BYTES: Final = 4096

RunState = Literal["running", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why a run failed."""

    at: str  # ISO 8601, UTC
    code: str
    error: str

    @classmethod
    def of(cls, message: Message) -> "RunFailure":
        """Return that a run fails now."""
        return cls(_now(), message.shown_code.code, message.text)


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
        failure = RunFailure.of(message)
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


def own_record(settings: Settings) -> RunRecord | None:
    """Return what notes the runs of a pipeline; None before it has had a folder of the mirror.

    Raises MirrorError if the storage fails.
    """
    folder = pipeline_folder.folder_of(settings)
    owner = pipeline_folder.newest_owner(*folder)
    if owner is None or (owner.name, owner.prefix) != (settings.name, settings.kafka.topic_prefix):
        return None
    return RunRecord(*folder, settings.trigger.kind)


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


def job_status(owner: pipeline_folder.Owner, run: JobRun | None) -> JobStatus:
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


def _is_alive(owner: pipeline_folder.Owner) -> bool | None:
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
