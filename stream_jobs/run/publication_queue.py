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
from stream_jobs.apply.table_failures import places_of
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


class _Side:
    """How far one kind of readers is, by `database.table`."""

    def __init__(self) -> None:
        self.problems: dict[str, Message] = {}
        # When that came which they do not have, in seconds since the epoch.
        self.waiting_since: dict[str, float] = {}

    def set_waiting(self, name: str, since: float | None) -> None:
        self.waiting_since.pop(name, None)
        if since is not None:
            self.waiting_since[name] = since


class PublicationQueue:
    """The versions that wait, and the newest cut; figures and problems of each table.

    Readers by path and those of a catalog are told apart: what succeeds there hides nothing here.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lock = threading.Lock()
        # By path: versions since the newest cut, and those of it that are not published.
        self._newest: dict[str, Version] = {}
        self._at_cut: dict[str, Version] = {}
        self._cut: Cut | None = None
        # By path: the id of the Delta table that a batch has noted last.
        self._generations: dict[str, str] = {}
        self._by_path, self._in_catalog = _Side(), _Side()
        # By `database.table`.
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
        self._by_path.waiting_since.setdefault(schema.name, at)
        self._show(schema)

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

    def published(self, path: str, schema: TableSchema) -> None:
        """Note that a version of a table has been published by its path."""
        with self._lock:
            self._by_path.problems.pop(schema.name, None)
            waiting = self._at_cut.get(path) or self._newest.get(path)
            self._by_path.set_waiting(schema.name, None if waiting is None else waiting.since)
            self._show(schema)

    def unlisted(self, schema: TableSchema, since: float) -> None:
        """Note that a catalog does not have what came `since` then, in seconds since the epoch."""
        with self._lock:
            self._in_catalog.waiting_since.setdefault(schema.name, since)
            self._show(schema)

    def listed(self, schema: TableSchema, since: float | None) -> None:
        """Note that a catalog has a table; what came `since` then, it does not have yet."""
        with self._lock:
            self._in_catalog.problems.pop(schema.name, None)
            self._in_catalog.set_waiting(schema.name, since)
            self._show(schema)

    def not_listed(self, schema: TableSchema, error: MirrorError, since: float) -> None:
        """Note why a catalog does not have what came `since` then."""
        with self._lock:
            self._in_catalog.problems[schema.name] = error.message
            self._in_catalog.waiting_since.setdefault(schema.name, since)
            self._show(schema, failures=1)

    def failed(
        self,
        schema: TableSchema,
        error: MirrorError,
        path: str = "",
        version: Version | None = None,
    ) -> bool:
        """Note a failure by path; return whether trying again cannot help.

        If it may, `version` waits.
        """
        is_refused = _is_refused(error.message)
        with self._lock:
            self._by_path.problems[schema.name] = error.message
            if version is not None:
                self._by_path.waiting_since.setdefault(schema.name, version.since)
            self._show(schema, failures=1)
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
            problem = self._by_path.problems.get(schema.name)
        return problem is not None and _is_refused(problem)

    def has_failed(self, schema: TableSchema) -> bool:
        """Return whether a table has failed by path, and trying again may help."""
        with self._lock:
            problem = self._by_path.problems.get(schema.name)
        return problem is not None and not _is_refused(problem)

    @property
    def problems(self) -> dict[str, Message]:
        """Why tables are not published, by `database.table`; by path, if neither way."""
        with self._lock:
            return self._in_catalog.problems | self._by_path.problems

    def _show(self, schema: TableSchema, failures: int = 0) -> None:
        """Let the figures of a table say what both sides know, and so many more failures."""
        name, sides = schema.name, (self._by_path, self._in_catalog)
        known = self.figures.get(name) or TableFigures(schema.database, schema.table)
        since = [side.waiting_since[name] for side in sides if name in side.waiting_since]
        codes = [side.problems[name].shown_code.code for side in sides if name in side.problems]
        self.figures[name] = replace(
            known,
            failures=known.failures + failures,
            waiting_since=min(since, default=None),
            code=codes[0] if codes else None,
        )


def turn_error(error: Exception) -> MirrorError:
    """Return the error that all tables of a turn have met: `error`, or one with its places."""
    if isinstance(error, MirrorError):
        return error
    problem = f"{type(error).__name__}: {error}".removesuffix(": ")
    return MirrorError(iceberg_errors.TURN_FAILED, problem=problem, places=places_of(error))


def _joined(older: Version | None, newer: Version) -> Version:
    """Return what stands for both versions of a table, of which the older is not published."""
    if older is None or older.snapshot.metadata.table_id != newer.snapshot.metadata.table_id:
        return newer
    return newer._replace(
        is_rewrite=older.is_rewrite and newer.is_rewrite, since=min(older.since, newer.since)
    )


def _is_refused(problem: Message) -> bool:
    return problem.code.code in _REFUSED
