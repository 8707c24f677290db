"""Which snapshots of a table a catalog has, or may have: none of them may expire.

    known    what its readers have seen last
    read     what it is just compared with, and may get next
    sent     what it was sent, and has not said whether it has it

Publishing by path holds the lock of its table from when it asks for them until it has committed.
What a catalog is to get is read under the same lock, so no snapshot goes in between.

Tables that lag stand in a file, for a process that starts while the catalog is away:

    _cdc/iceberg/catalog.json    by path: the snapshots that the catalog has or may have, each with
                                 its time: [snapshot, time, snapshot, time]
"""

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

import orjson

from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.iceberg.metadata import TableMetadata, current_id
from stream_jobs.iceberg.table_files import TableFiles
from stream_jobs.paths import OWN_FOLDER

_RECORD: Final = f"{OWN_FOLDER}/iceberg/catalog.json"


class Kept(NamedTuple):
    """A state that readers of the catalog see, or may see."""

    snapshot: int | None
    at: int  # milliseconds since 1970


class _States(NamedTuple):
    """Those of one table."""

    known: Kept | None = None
    sent: Kept | None = None
    read: Kept | None = None

    @property
    def held(self) -> list[Kept]:
        """The states that are there."""
        return [own for own in self if own is not None]


class CatalogStates:
    """The states of the tables of one catalog; threads may share them."""

    def __init__(self, files: TableFiles) -> None:
        """Begin with what an earlier process has noted; raises MirrorError if it is unreadable."""
        self._files = files
        self._written = _read(files.storage, files.uri)
        self._lagging = dict(self._written)
        self._lock = threading.Lock()
        self._tables: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._states = {path: _States(*own[:2]) for path, own in self._written.items()}

    def kept(self, path: str) -> Kept | None:
        """Return the earliest state that the catalog may have of a table; None if it has none."""
        with self._lock:
            own = self._states.get(path)
            return min(own.held, key=lambda kept: kept.at, default=None) if own else None

    @contextmanager
    def publishing(self, path: str) -> Iterator[frozenset[int]]:
        """Return the snapshots that may not expire, while a table is published by its path.

        If nothing is known, readers may have what is there. Raises MirrorError if the storage
        fails.
        """
        with self._table(path):
            with self._lock:
                own = self._states.get(path)
            if own is None and (head := self._files.load(path)) is not None:
                own = self._begun(path, _kept_of(head.metadata))
            own = own or _States()
            yield frozenset(kept.snapshot for kept in own.held if kept.snapshot is not None)

    def load(self, path: str) -> TableMetadata | None:
        """Return the table by its path, whose snapshot stays until `settle`; None without one."""
        with self._table(path):
            head = self._files.load(path)
            if head is None:
                return None
            read = _kept_of(head.metadata)
            self._begun(path, read)
            self._change(path, read=read)
            return head.metadata

    def learn(self, path: str, known: Kept | None) -> None:
        """Note what the catalog says that it has; what was sent before is settled."""
        self._change(path, known=known, sent=None)

    def send(self, path: str) -> None:
        """Note that the catalog gets now what was read."""
        with self._lock:
            own = self._states[path]
            self._states[path] = own._replace(sent=own.read)

    def confirm(self, path: str) -> None:
        """Note that the catalog has what was read."""
        with self._lock:
            read = self._states[path].read
            self._states[path] = _States(read, None, read)

    def settle(self, path: str) -> None:
        """Note that the catalog is not asked about a table any more."""
        with self._lock:
            if path in self._states:
                self._states[path] = self._states[path]._replace(read=None)

    def note(self, problems: Mapping[str, MirrorError | None]) -> None:
        """Remember which tables lag, also for the next process."""
        for path, problem in problems.items():
            with self._lock:
                own = self._states.get(path, _States())
            if problem is None or not own.held:
                self._lagging.pop(path, None)
            else:
                self._lagging[path] = own.held
        lagging = self._lagging
        if lagging == self._written:
            return
        content = {path: [fact for kept in own for fact in kept] for path, own in lagging.items()}
        with suppress(MirrorError):
            # It is written with the next change; batches meet the same error.
            self._files.storage.write(_RECORD, orjson.dumps(content))
            self._written = dict(lagging)

    def _begun(self, path: str, head: Kept) -> _States:
        """Return what is known; readers may have what is there by path, if that is nothing."""
        with self._lock:
            return self._states.setdefault(path, _States(head))

    def _table(self, path: str) -> threading.Lock:
        with self._lock:
            return self._tables[path]

    def _change(self, path: str, **states: Kept | None) -> None:
        with self._lock:
            self._states[path] = self._states[path]._replace(**states)


def _kept_of(ours: TableMetadata) -> Kept:
    """Return the state of a table by its path."""
    return Kept(current_id(ours), ours["last-updated-ms"])


def _read(storage: Storage, root: str) -> dict[str, list[Kept]]:
    content = storage.read(_RECORD)
    if content is None:
        return {}
    try:
        return {
            path: [Kept(*pair) for pair in zip(own[::2], own[1::2], strict=True)]
            for path, own in orjson.loads(content).items()
        }
    except (ValueError, TypeError, AttributeError) as error:
        path = f"{root.rstrip('/')}/{_RECORD}"
        raise MirrorError(job_errors.OWN_FILE, path=path) from error
