"""What waits to be published to Iceberg, and how publishing went.

The driver adds versions after each batch, and the thread that publishes takes them; neither waits
for the other.
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from connector.foundation.errors.message import Message
from stream_jobs.cuts.cut import Cut
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg import iceberg_errors
from stream_jobs.source.table_schema import TableSchema

# Trying again is of no use before the table changes.
_REFUSED: Final = frozenset(
    code.code for code in (iceberg_errors.UNFIT, iceberg_errors.ELEMENTS_WITHOUT_ID)
)


@dataclass(frozen=True, slots=True)
class TableFigures:
    """The Iceberg side of a table, for metrics."""

    database: str
    table: str
    failures: int = 0
    # When the first version came that is not published, in seconds since the epoch.
    waiting_since: float | None = None
    # Of the last failure, unless a later attempt has succeeded.
    code: str | None = None

    def lag_seconds(self, now: float) -> float:
        """Return how long the Iceberg table is behind the Delta table, `now` in seconds."""
        return 0.0 if self.waiting_since is None else max(0.0, now - self.waiting_since)


class Version(NamedTuple):
    """A version that is to be published."""

    schema: TableSchema
    snapshot: Snapshot
    # Whether no version since the last one has changed a row.
    is_rewrite: bool
    since: float  # seconds since the epoch


class PublicationQueue:
    """The versions that wait, and the newest cut; figures and problems of each table."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lock = threading.Lock()
        # By path: versions since the newest cut, and those of it that are not published.
        self._newest: dict[str, Version] = {}
        self._at_cut: dict[str, Version] = {}
        self._cut: Cut | None = None
        # By path: the id of the Delta table that a batch has noted last.
        self._generations: dict[str, str] = {}
        # By `database.table`.
        self._problems: dict[str, Message] = {}
        self.figures: dict[str, TableFigures] = {}

    def note(
        self,
        tables: Iterable[tuple[str, TableSchema, Snapshot]],
        cut: Cut | None = None,
        *,
        is_rewrite: bool = False,
    ) -> None:
        """Add the versions of `tables`, each with its path, and say that all have come to a cut.

        If `is_rewrite`, they have the same rows as before.
        """
        with self._lock:
            for path, schema, snapshot in tables:
                before = self._newest.get(path) or self._at_cut.get(path)
                if before is None or before.snapshot is not snapshot:
                    self._add(path, schema, snapshot, is_rewrite=is_rewrite)
            if cut is not None:
                for path, version in self._newest.items():
                    self._at_cut[path] = _joined(self._at_cut.get(path), version)
                self._newest = {}
                self._cut = cut

    def _add(self, path: str, schema: TableSchema, snapshot: Snapshot, *, is_rewrite: bool) -> None:
        at = time.time()
        version = Version(schema, snapshot, is_rewrite, at)
        self._newest[path] = _joined(self._newest.get(path), version)
        self._generations[path] = snapshot.metadata.table_id
        known = self._figures_of(schema)
        if known.waiting_since is None:
            self.figures[schema.name] = replace(known, waiting_since=at)

    def take(self) -> tuple[dict[str, Version], Cut | None]:
        """Return what is to be published next, by path: at the newest cut, if there is one."""
        with self._lock:
            cut, self._cut = self._cut, None
            if cut is None:
                versions, self._newest = self._newest, {}
            else:
                versions, self._at_cut = self._at_cut, {}
        return versions, cut

    def has(self, path: str) -> bool:
        """Return whether a version of the table at `path` waits."""
        with self._lock:
            return path in self._newest or path in self._at_cut

    def published(self, path: str, schema: TableSchema, since: float | None = None) -> None:
        """Note that a version of a table has been published.

        A later one waits `since` then, if it is not in this queue any more.
        """
        with self._lock:
            self._problems.pop(schema.name, None)
            waiting = self._at_cut.get(path) or self._newest.get(path)
            since = since if since is not None or waiting is None else waiting.since
            self.figures[schema.name] = replace(
                self._figures_of(schema), waiting_since=since, code=None
            )

    def failed(
        self,
        schema: TableSchema,
        error: MirrorError,
        path: str = "",
        version: Version | None = None,
        since: float | None = None,
    ) -> bool:
        """Note a failure; return whether trying again cannot help. If it may, `version` waits.

        `since` is when that began to wait which is not published, if it is no version.
        """
        is_refused = _is_refused(error.message)
        with self._lock:
            self._problems[schema.name] = error.message
            known = self._figures_of(schema)
            since = since if version is None else version.since
            self.figures[schema.name] = replace(
                known,
                failures=known.failures + 1,
                waiting_since=known.waiting_since or since,
                code=error.message.shown_code.code,
            )
            if version is not None and not is_refused:
                own = version.snapshot.metadata.table_id
                # Unless the mirror was made again meanwhile.
                if self._generations.get(path, own) == own:
                    waiting = self._at_cut if path in self._at_cut else self._newest
                    waiting[path] = _joined(version, waiting.get(path, version))
        return is_refused

    def is_refused(self, schema: TableSchema) -> bool:
        """Return whether Iceberg cannot have a table as it is."""
        with self._lock:
            problem = self._problems.get(schema.name)
        return problem is not None and _is_refused(problem)

    @property
    def problems(self) -> dict[str, Message]:
        """Why tables are not published, by `database.table`."""
        with self._lock:
            return dict(self._problems)

    def _figures_of(self, schema: TableSchema) -> TableFigures:
        return self.figures.get(schema.name) or TableFigures(schema.database, schema.table)


def _joined(older: Version | None, newer: Version) -> Version:
    """Return what stands for both versions of a table, of which the older is not published."""
    if older is None or older.snapshot.metadata.table_id != newer.snapshot.metadata.table_id:
        return newer
    return newer._replace(
        is_rewrite=older.is_rewrite and newer.is_rewrite, since=min(older.since, newer.since)
    )


def _is_refused(problem: Message) -> bool:
    return problem.code.code in _REFUSED
