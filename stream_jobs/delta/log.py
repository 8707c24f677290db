"""The log of a table: `_delta_log/00000000000000000007.json` has the actions of version 7.

A commit exists when its file does. The file is put only if it is absent, so of two writers of one
version one wins, and the other one is told.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md#delta-log-entries
"""

import re
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from stream_jobs.delta import checkpoint
from stream_jobs.delta.snapshot import Snapshot, SnapshotBuilder
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import CommitConflict, MirrorError, delta_errors

_COMMIT = re.compile(r"([0-9]{20})\.json")
_ENGINE = "binlog-connector"


@dataclass
class LogListing:
    """The files of a log from one version on."""

    commits: dict[int, int] = field(default_factory=dict)  # version to milliseconds since 1970
    checkpoints: dict[int, checkpoint.CheckpointParts] = field(default_factory=dict)

    @property
    def last_checkpoint(self) -> checkpoint.CheckpointParts | None:
        """The newest complete checkpoint."""
        return self.checkpoint_until(max(self.checkpoints, default=-1))

    @property
    def newest_version(self) -> int | None:
        """The newest version of the table; None without files."""
        parts = self.last_checkpoint
        return max([*self.commits, *([parts.version] if parts else [])], default=None)

    def checkpoint_until(self, version: int) -> checkpoint.CheckpointParts | None:
        """Return the newest complete checkpoint that is not newer than `version`."""
        complete = [p for p in self.checkpoints.values() if p.complete and p.version <= version]
        return max(complete, key=lambda parts: parts.version, default=None)


@dataclass(frozen=True, slots=True)
class Log:
    """The log of the table at `path`."""

    storage: Storage
    path: str

    def load(self) -> Snapshot | None:
        """Return the newest version; None if there is no table.

        Raises MirrorError if a file of the log is missing or damaged, or if the table needs
        features that this program does not know.
        """
        listing = self.list_newest()
        newest = listing.newest_version
        return None if newest is None else self._replayed(listing.last_checkpoint, newest)

    def load_version(self, version: int, listing: LogListing | None = None) -> Snapshot:
        """Return one version; `listing` is what `list` has returned, if it was called.

        Raises MirrorError if the log does not go back so far, or as `load`.
        """
        known = listing or self.list()
        return self._replayed(known.checkpoint_until(version), version)

    def _replayed(self, parts: checkpoint.CheckpointParts | None, version: int) -> Snapshot:
        state = SnapshotBuilder(self.path)
        if parts:
            checkpoint.read(self.storage, self.path, parts, state)
        for number in range(state.version + 1, version + 1):
            state.replay(number, self.content(number))
        return state.snapshot()

    def refresh(self, snapshot: Snapshot) -> Snapshot:
        """Return the newest version, starting at `snapshot`; the same object if it is the newest.

        Raises MirrorError as `load`.
        """
        if self.has_checkpoint_after(snapshot.version):
            # The next versions may be cleaned away.
            return self.load() or snapshot
        state: SnapshotBuilder | None = None
        version = snapshot.version + 1
        while (content := self.read(version)) is not None:
            state = state or SnapshotBuilder.after(self.path, snapshot)
            state.replay(version, content)
            version += 1
        return state.snapshot() if state else snapshot

    def has_checkpoint_after(self, version: int) -> bool:
        """Return whether another writer has gone on so far that the log may be cleaned."""
        hint = checkpoint.read_hint(self.storage, self.path)
        if hint is None or hint <= version:
            return False
        return self.list(version + 1).last_checkpoint is not None

    def content(self, version: int) -> bytes:
        """Return the content of a commit; raises MirrorError if it does not exist."""
        content = self.read(version)
        if content is None:
            raise MirrorError(delta_errors.VERSION_MISSING, path=self.path, version=version)
        return content

    def read(self, version: int) -> bytes | None:
        """Return the content of a commit; None if it does not exist."""
        return self.storage.read(self._commit_path(version))

    def commit(
        self, version: int, operation: str, actions: Iterable[dict[str, Any]], note: str = ""
    ) -> bytes:
        """Write a version and return its content; `note` is what its history shows besides.

        Raises CommitConflict if it exists, or did before the log was cleaned; MirrorError if the
        storage fails.
        """
        if self.has_checkpoint_after(version - 1):
            raise self._conflict(version)
        info: dict[str, Any] = {
            "timestamp": now(),
            "operation": operation,
            "operationParameters": {},
            "isBlindAppend": False,
            "engineInfo": _ENGINE,
            "txnId": str(uuid.uuid4()),
        }
        if version:
            # delta-rs refuses a history with a version below 0.
            info["readVersion"] = version - 1
        if note:
            info["userMetadata"] = note
        lines = [{"commitInfo": info}, *actions]
        content = b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)
        # A put that was repeated after a lost answer finds its own commit: no other has its txnId.
        if not self.storage.put_if_absent(self._commit_path(version), content) and (
            self.read(version) != content
        ):
            raise self._conflict(version)
        return content

    def list_newest(self) -> LogListing:
        """Return the files of the log from a checkpoint on, all files if there is none."""
        hint = checkpoint.read_hint(self.storage, self.path)
        listing = self.list(hint)
        # The hint may be older than the log.
        return listing if hint is None or listing.last_checkpoint else self.list()

    def list(self, start: int | None = None) -> LogListing:
        """Return the files of the log from version `start` on."""
        listing = LogListing()
        # All names of version `start` are above its number without an extension.
        after = "" if start is None else f"{start:020d}"
        for file in self.storage.list(f"{self.path}/_delta_log", after):
            if match := _COMMIT.fullmatch(file.name):
                listing.commits[int(match[1])] = file.modified
            elif part := checkpoint.CheckpointPart.of_name(file):
                listing.checkpoints.setdefault(
                    part.version, checkpoint.CheckpointParts(part.version)
                ).add(part)
        return listing

    def _conflict(self, version: int) -> CommitConflict:
        return CommitConflict(delta_errors.COMMIT_CONFLICT, path=self.path, version=version)

    def _commit_path(self, version: int) -> str:
        return f"{self.path}/_delta_log/{version:020d}.json"


def now() -> int:
    """Return milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Moment(NamedTuple):
    """A moment of this machine by two clocks.

    The time of day may be set back, and the other clock stands still while the machine sleeps.
    """

    wall_ms: int
    monotonic: float

    @classmethod
    def here(cls) -> "Moment":
        """Return the present moment."""
        return cls(now(), time.monotonic())

    @property
    def age_ms(self) -> float:
        """How long ago it was, by the clock for which that is longer."""
        return max(now() - self.wall_ms, (time.monotonic() - self.monotonic) * 1000)
