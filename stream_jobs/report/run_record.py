"""How the newest run of the job ended: the file `_cdc/run/newest.json` of a mirror.

A run writes it when it takes the mirror, and again when it ends. So the reason of a failure is
known after the process is gone, wherever its log went.

The file fills a block of the disk from the beginning. A disk that is full has room for the reason
then: that of the file before it.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from connector.errors import MirrorError, mirror_jobs
from stream_jobs.folders.paths import OWN_FOLDER

if TYPE_CHECKING:
    from connector.errors.message import Message
    from stream_jobs.delta.storage import Storage

_PATH: Final = f"{OWN_FOLDER}/run/newest.json"
# Of most file systems.
_BLOCK_BYTES: Final = 4096

RunState = Literal["running", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run failed."""

    at: str  # ISO 8601, UTC
    code: str
    error: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the job."""

    host: str
    pid: int
    since: str  # ISO 8601, UTC
    trigger: str
    # That of the owner; None before it has taken the mirror.
    epoch: str | None = None
    state: RunState = "running"
    ended: str | None = None  # ISO 8601, UTC
    failure: Failure | None = None
    # Why the run before this one failed, if it did.
    failure_before: Failure | None = None

    @property
    def last_failure(self) -> Failure | None:
        """Why this run failed, else the one before."""
        return self.failure or self.failure_before


class RunRecord:
    """The file, and the run of this process."""

    def __init__(self, storage: Storage, base: str, trigger: str) -> None:
        """Write to `storage`, whose root is `base`, of a run with this kind of trigger."""
        self._storage = storage
        self._base = base.rstrip("/")
        self._run = Run(socket.gethostname(), os.getpid(), _now(), trigger)

    def begin(self, epoch: str) -> Failure | None:
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

    def failed(self, message: Message) -> Failure:
        """Note why this run ends. Raises MirrorError if the storage fails."""
        failure = Failure(_now(), message.shown_code.code, message.text)
        self._end(replace(self._run, state="failed", ended=failure.at, failure=failure))
        return failure

    def newest(self) -> Run | None:
        """Return the newest run; None if there was none. Raises MirrorError for a foreign file."""
        content = self._storage.read(_PATH)
        if content is None:
            return None
        try:
            return _run(json.loads(content))
        except (ValueError, TypeError) as error:
            raise MirrorError(mirror_jobs.OWN_FILE, path=f"{self._base}/{_PATH}") from error

    def _end(self, run: Run) -> None:
        newest = self.newest()
        # Another process may have taken over, and the file is that of its run then.
        if run.epoch is None or newest is None or newest.epoch == run.epoch:
            self._write(run)

    def _write(self, run: Run) -> None:
        self._run = run
        content = json.dumps(asdict(run), indent=1).encode().ljust(_BLOCK_BYTES)
        try:
            self._storage.write(_PATH, content)
        except MirrorError:
            self._storage.delete(_PATH)
            self._storage.write(_PATH, content)


def _run(fields: dict[str, Any]) -> Run:
    for name in ("failure", "failure_before"):
        if fields.get(name) is not None:
            fields[name] = Failure(**fields[name])
    return Run(**fields)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
