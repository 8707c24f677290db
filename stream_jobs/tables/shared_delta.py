"""The Delta table of several shards, as a process sees it, and whose turn it is to commit.

*Turns.* A wider type writes all files again, and any commit in between would make that vain. Within
a process, others wait. Other pipelines find a turn in the log, and leave the next version to it for
a while.
"""

import json
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.housekeeping import Retention
from stream_jobs.delta.log import Moment
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.delta.table import CommitCosts, DeltaTable, PreparedCommit
from stream_jobs.errors import CommitConflict, ShardOvertaken, StopRequested
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.tables import mirror_metadata
from stream_jobs.tables.shard_view import files_by_shard

TURN: Final = f"{mirror_metadata.DOMAIN}/turn"

# So often another writer may be faster.
TRIES: Final = 20

# The part of the retention after which files are too old to be named, as others may delete them.
_LATE_SHARE: Final = 0.5

# So long do other pipelines wait for a first turn, for the next one twice as long, and so on.
_TURN_SECONDS: Final = 30.0
_TURN_SECONDS_MAX: Final = 960.0
_TURN_LOOK_SECONDS: Final = 0.2


class CommitNote(NamedTuple):
    """What a version says about itself to people, and the last change that it tells of."""

    order: tuple[PackedSequence, ...]
    text: str


@dataclass(eq=False, slots=True)
class ShardCommit:
    """A commit of a shard that waits for its version."""

    shard: str
    operation: str
    # The paths of its new files.
    new: Collection[str]
    note: CommitNote
    # Whether it changes the columns of the table, and maybe files of other shards.
    changes_columns: bool
    # Returns what it adds to the newest version. Raises ShardOvertaken if it does not fit that.
    prepare: Callable[[], PreparedCommit]
    # Lets the shard see the version. The costs are those of all, for the first of them.
    adopt: Callable[[CommitCosts], None]
    is_done: bool = False
    error: BaseException | None = None
    # The last version that another writer has committed first.
    conflict: CommitConflict | None = None

    def fail(self, error: BaseException) -> None:
        """End without a version, because of `error`."""
        if isinstance(error, ShardOvertaken) and self.conflict is not None:
            self.conflict.__cause__ = error
            error = self.conflict
        self.error, self.is_done = error, True


@dataclass
class SharedDelta:
    """The Delta table of several shards: one object for all threads of a process."""

    delta: DeltaTable
    # Whoever has it may commit.
    lock: threading.RLock = field(default_factory=threading.RLock)
    # The last turn of this process, as the log has it, and how long the next one may last.
    turn: str | None = None
    turn_seconds: float = _TURN_SECONDS
    # A turn of another process that was waited for in vain.
    passed: str | None = None
    # Whether the job is to stop.
    is_stopping: Callable[[], bool] = lambda: False
    # Whether other pipelines may have shards in the table, and when this process last began to put
    # a version.
    has_others: bool = False
    put: Moment | None = None
    # The commits that wait for the lock.
    waiting: deque[ShardCommit] = field(default_factory=deque)
    # The version whose files were divided last, and the files.
    _divided: tuple[Snapshot, dict[str | None, dict[str, DataFile]]] | None = field(
        default=None, init=False
    )

    def files_of(self, shard: str) -> Mapping[str, DataFile]:
        """Return the files of a shard in the newest known version, by path; `lock` is held."""
        newest = self.delta.snapshot
        if self._divided is None or self._divided[0] is not newest:
            self._divided = newest, files_by_shard(newest)
        return self._divided[1].get(shard, {})

    def divide_version(self, before: Snapshot, new: Mapping[str, Collection[str]]) -> None:
        """Divide the files of the version that this process has just written after `before`.

        `new` has the paths of new files by shard; it has each shard whose files are others.
        """
        if self._divided is None or self._divided[0] is not before:
            return
        newest = self.delta.snapshot
        divided = dict(self._divided[1])
        for shard, paths in new.items():
            every = (*divided.get(shard, {}), *paths)
            divided[shard] = {path: newest.files[path] for path in every if path in newest.files}
        self._divided = newest, divided

    def is_late(self, since: Moment) -> bool:
        """Return whether other pipelines may soon delete a file from that moment.

        They do if no version names it. Raises MirrorError for a property that is no time.
        """
        if not self.has_others:
            return False
        kept_ms = Retention.of(self.delta.path, self.delta.snapshot.configuration).files
        return since.age_ms > kept_ms * _LATE_SHARE

    def ends_turn(self, *, is_mine: bool) -> bool:
        """Return whether a commit ends the turn in the log: one for which nobody waits any more.

        `is_mine` says that the commit is that of the turn of this process, if there is one.
        """
        turn = self.delta.snapshot.domains.get(TURN)
        if is_mine and turn is not None and turn == self.turn:
            self.turn_seconds = _TURN_SECONDS
            return True
        return turn is not None and turn == self.passed

    def await_turn(self) -> None:
        """Wait while another process has a turn, but not for ever: it may be gone.

        Raises StopRequested if the job is to stop meanwhile.
        """
        turn = self.delta.snapshot.domains.get(TURN)
        if turn is None or turn in (self.turn, self.passed):
            return
        until = time.monotonic() + min(json.loads(turn)["seconds"], _TURN_SECONDS_MAX)
        while self.delta.refresh().domains.get(TURN) == turn:
            if self.is_stopping():
                raise StopRequested
            if time.monotonic() >= until:
                self.passed = turn
                return
            time.sleep(_TURN_LOOK_SECONDS)

    def next_turn(self) -> str:
        """Return the turn that this process wants, as the log will have it."""
        return json.dumps({"by": uuid.uuid4().hex, "seconds": self.turn_seconds})

    def begin_turn(self, turn: str) -> None:
        """Note that the log has this turn now."""
        self.turn = turn
        self.turn_seconds = min(2 * self.turn_seconds, _TURN_SECONDS_MAX)
