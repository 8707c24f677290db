"""The one job that a mirror belongs to: the newest file `_cdc/owner/<number>.json` names it.

Delta's log already keeps two jobs from harming a table: of two commits, one is told. But they would
do all work twice, and hinder each other for ever. So a job puts the next number if it is absent. A
job with another name or other topics is refused; one with the same takes over, as after a crash,
and the older process ends at its next batch. No clock decides.
"""

from __future__ import annotations

import json
import os
import socket
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from connector.errors import MirrorError, mirror_jobs
from stream_jobs.folders.paths import OWN_FOLDER

if TYPE_CHECKING:
    from stream_jobs.delta.storage import Storage

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
    def here(cls, name: str, prefix: str) -> Owner:
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
                    mirror_jobs.OTHER_OWNER,
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
                mirror_jobs.TAKEN_OVER, path=self._base, pid=newest.pid, host=newest.host
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
                raise MirrorError(mirror_jobs.OWN_FILE, path=path) from error
        return None

    def _numbers(self) -> list[int]:
        names = [file.name.removesuffix(".json") for file in self._storage.list(_FOLDER)]
        return sorted(int(name) for name in names if name.isdecimal())


def _path(number: int) -> str:
    return f"{_FOLDER}/{number:020d}.json"
