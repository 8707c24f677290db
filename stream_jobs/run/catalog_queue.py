"""Which tables a catalog does not have yet as they are published by their paths.

    publication    adds tables that it has published; at the end of its turn, the queue goes on
    thread         lets the catalog have these tables

So publishing by path never waits for the catalog: if that is slow or silent, what comes meanwhile
waits for the next turn.

*Tags.* A table that has not changed gets nothing but the tag of a cut. Of such tables there may be
thousands, each with a request of its own. So the catalog gets them in a part of the time at most,
with all tags that have come meanwhile; some at a time, so that the others go first.
"""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from stream_jobs.iceberg.catalog_publisher import CatalogPublisher
from stream_jobs.run.publication_queue import PublicationQueue
from stream_jobs.source.table_schema import TableSchema

# Tables that have not changed get a tag in this part of the time at most.
TAGGING_SHARE: Final = 1 / 20
# So many of these the catalog gets at a time, and in one request.
_TAGGED_MAX: Final = 500


class _Waiting(NamedTuple):
    """A table that waits."""

    schema: TableSchema
    since: float  # seconds since the epoch


class CatalogQueue:
    """The tables that wait for a catalog. One thread adds them."""

    def __init__(self, publisher: CatalogPublisher, queue: PublicationQueue, threads: int) -> None:
        """Let `publisher` publish them, with `threads` at a time, and tell `queue` how it went."""
        self._publisher = publisher
        self._queue = queue
        self._threads = threads
        self._lock = threading.Lock()
        # By path: what has come since the last turn, or has failed; and what the thread gets next.
        self._new: dict[str, _Waiting] = {}
        self._due: dict[str, _Waiting] = {}
        # The same of tables that get nothing but tags, and when they may be due again.
        self._new_tagged: dict[str, _Waiting] = {}
        self._due_tagged: dict[str, _Waiting] = {}
        self._tagging_at = float("-inf")
        # What the thread has.
        self._taken: dict[str, _Waiting] = {}
        self._is_tagging = False
        self._thread: threading.Thread | None = None

    def add(
        self,
        path: str,
        schema: TableSchema,
        since: float | None = None,
        *,
        is_only_tagged: bool = False,
    ) -> None:
        """Add a table that is published by its path; it waits `since` then, or since now."""
        own = _Waiting(schema, since or time.time())
        with self._lock:
            _add(self._new_tagged if is_only_tagged else self._new, {path: own})

    def is_taken(self, path: str) -> bool:
        """Return whether the catalog may just get a snapshot that the table has now."""
        with self._lock:
            return any(path in own for own in (self._due, self._due_tagged, self._taken))

    def go_on(self, *, is_last: bool = False) -> None:
        """Let the catalog have what waits. If it `is_last`, return when it has, or has refused."""
        with self._lock:
            _add(self._due, self._new)
            self._new = {}
            if is_last or time.monotonic() >= self._tagging_at:
                _add(self._due_tagged, self._new_tagged)
                self._new_tagged = {}
            if (self._due or self._due_tagged) and self._thread is None:
                self._thread = threading.Thread(target=self._run, name="catalog", daemon=True)
                self._thread.start()
            thread = self._thread
        if is_last and thread is not None:
            thread.join()

    def _run(self) -> None:
        try:
            while self._take():
                self._publish()
        finally:
            with self._lock:
                if self._thread is threading.current_thread():
                    # An error that is none of the catalog's: the next turn tries again.
                    _add(self._new, self._taken)
                    self._taken, self._thread = {}, None

    def _take(self) -> bool:
        """Take what is due; return whether there is anything."""
        with self._lock:
            self._is_tagging = not self._due
            if self._due:
                self._taken, self._due = self._due, {}
            else:
                first = list(self._due_tagged)[:_TAGGED_MAX]
                self._taken = {path: self._due_tagged.pop(path) for path in first}
            if not self._taken:
                # What comes from here on needs another thread.
                self._thread = None
            return bool(self._taken)

    def _publish(self) -> None:
        began, taken = time.monotonic(), self._taken
        places = {path: own.schema.place for path, own in taken.items()}
        with ThreadPoolExecutor(self._threads) as pool:
            problems = self._publisher.publish(places, pool)
        with self._lock:
            self._taken = {}
            failed = {path: own for path, own in taken.items() if problems[path] is not None}
            if self._is_tagging:
                now = time.monotonic()
                self._tagging_at = max(now, self._tagging_at) + (now - began) / TAGGING_SHARE
                _add(self._new_tagged, failed)
            else:
                _add(self._new, failed)
            waiting = self._due | self._new
        for path, (schema, since) in taken.items():
            problem = problems[path]
            if problem is None:
                later = waiting.get(path)
                self._queue.published(path, schema, None if later is None else later.since)
            else:
                self._queue.failed(schema, problem, since=since)


def _add(tables: dict[str, _Waiting], others: Mapping[str, _Waiting]) -> None:
    """Add `others`; a table that is there has waited longer."""
    for path, own in others.items():
        since = min(own.since, tables.get(path, own).since)
        tables[path] = own._replace(since=since)
