"""The Delta table of several shards, as a process sees it, and whose turn it is to commit.

*Turns.* A wider type writes all files again, and any commit in between would make that vain. Within
a process, others wait. Other pipelines find a turn in the log, and leave the next version to it for
a while.
"""

import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from stream_jobs.delta.housekeeping import Retention
from stream_jobs.delta.log import Moment
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import StopRequested
from stream_jobs.tables import mirror_metadata

TURN: Final = f"{mirror_metadata.DOMAIN}/turn"

# The part of the retention after which files are too old to be named, as others may delete them.
_LATE_SHARE: Final = 0.5

# So long do other pipelines wait for a first turn, for the next one twice as long, and so on.
_TURN_SECONDS: Final = 30.0
_TURN_SECONDS_MAX: Final = 960.0
_TURN_LOOK_SECONDS: Final = 0.2


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
