"""The figures of one process: counted by the pipeline's thread, read by others.

Every attribute is one number, or an object that is replaced and never changed, so none of them
needs a lock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from connector.envelope.progress import Progress


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the stream stands: behind the last commit, or at its start."""

    progress: Progress
    # When the source committed the last transaction that was delivered, microseconds since the
    # epoch; 0 before the first.
    committed_us: int


@dataclass(frozen=True, slots=True)
class Distance:
    """How far the stream is behind the end of the source's log; None is what cannot be told."""

    bytes: int | None
    transactions: int | None
    seconds: float
    # Until the server may drop what was not read; infinite where it keeps its logs for ever.
    to_purge_seconds: float


@dataclass(frozen=True, slots=True)
class CopyFigures:
    """How far the copy of a table is."""

    rows: int
    estimated_rows: int
    rows_per_second: float
    eta_seconds: float | None


class Watch(Protocol):
    """Keeps `Figures.distance` up to date, from a thread of its own, until it is closed."""

    def close(self) -> None:
        """Look no more."""
        ...


@dataclass(slots=True)
class Figures:
    """Counts rise from the start of the process on."""

    pipeline: str
    watched: bool = False  # whether somebody reads them
    started_at: float = 0.0  # seconds since the epoch
    connected: bool = False
    records: int = 0
    transactions: int = 0
    bytes: int = 0
    commits: int = 0
    interruptions: int = 0
    standing: Standing | None = None
    distance: Distance | None = None
    # What speaks for a source whose log is not the one that is read any more; "" is nothing.
    doubt: str = ""
    # Copies under way by "database.table", and how many keys and tables are fenced.
    copies: Callable[[], Mapping[str, CopyFigures]] = field(default=dict)
    fences: Callable[[], int] = field(default=int)
    _watch: Watch | None = field(default=None, init=False, repr=False)

    def watch_by(self, open_watch: Callable[[], Watch]) -> None:
        """Have `distance` kept up to date by what `open_watch` opens, until another one is opened.

        It outlives a run of the pipeline: how far the stream is behind, and what the source may
        drop of its logs, is to be seen while Kafka is away, too.
        """
        self.close()
        # Of the server as it was before: it has been looked at anew.
        self.doubt = ""
        self._watch = open_watch()

    def close(self) -> None:
        """Let go of what keeps `distance` up to date."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def committed(
        self, progress: Progress, committed_us: int, records: int, transactions: int, size: int
    ) -> None:
        """Count a commit, and stand behind it."""
        self.standing = Standing(progress, committed_us)
        self.commits += 1
        self.records += records
        self.transactions += transactions
        self.bytes += size
