"""Which tables a catalog does not have yet as they are published by their paths.

    publication    adds tables that it has published; at the end of its turn, the queue goes on
    thread         lets the catalog have these tables

So publishing by path never waits for the catalog: if that is slow or silent, what comes meanwhile
waits for the next turn.

*Tags.* A table that has not changed gets nothing but the tag of a cut. Of such tables there may be
thousands, each with a request of its own. So the catalog gets them in a part of the time at most,
with all tags that have come meanwhile; some at a time, so that the others go first. If it does not
answer, the rest waits for the next turn.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from stream_jobs.apply.table_failures import DEFECT_TYPES, table_defect
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.catalog_publisher import CatalogPublisher
from stream_jobs.iceberg.rest_catalog import CatalogAway
from stream_jobs.run.publication_queue import PublicationQueue, turn_error
from stream_jobs.source.table_schema import TableSchema

# Tables that have not changed get a tag in this part of the time at most.
TAGGING_SHARE: Final = 1 / 20
# So many of these the catalog gets at a time, and in one request.
_TAGGED_MAX: Final = 500


class _WaitingTable(NamedTuple):
    """A table that waits."""

    schema: TableSchema
    since: float  # seconds since the epoch


class CatalogQueue:
    """The tables that wait for a catalog. One thread adds them."""

    def __init__(
        self,
        publisher: CatalogPublisher,
        queue: PublicationQueue,
        threads: int,
        is_current: Callable[[], bool],
    ) -> None:
        """Let `publisher` publish them, with `threads` at a time, and tell `queue` how it went.

        It ends when this process `is_current` no more: a newer one publishes the same tables.
        """
        self._publisher = publisher
        self._is_current = is_current
        self._queue = queue
        self._threads = threads
        self._lock = threading.Lock()
        # By path: what has come since the last turn, or has failed; and what the thread gets next.
        self._new: dict[str, _WaitingTable] = {}
        self._due: dict[str, _WaitingTable] = {}
        # The same of tables that get nothing but tags, and when they may be due again.
        self._new_tagged: dict[str, _WaitingTable] = {}
        self._due_tagged: dict[str, _WaitingTable] = {}
        self._tagging_at = float("-inf")
        # What the thread has.
        self._taken: dict[str, _WaitingTable] = {}
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
        own = _WaitingTable(schema, since or time.time())
        with self._lock:
            _add(self._new_tagged if is_only_tagged else self._new, {path: own})
            if not is_only_tagged:
                self._queue.unlisted(schema, own.since)

    def stop(self) -> None:
        """Let the catalog have nothing more; a request that it just has ends by itself."""
        self._publisher.stop()
        with self._lock:
            self._due, self._due_tagged = {}, {}

    def go_on(self, *, is_last: bool = False) -> None:
        """Let the catalog have what waits. If it `is_last`, return when it has, or has refused."""
        with self._lock:
            _add(self._due, self._new)
            self._new = {}
            if is_last or time.monotonic() >= self._tagging_at:
                _add(self._due_tagged, self._new_tagged)
                self._new_tagged = {}
            if (self._due or self._due_tagged) and self._thread is None:
                # A machine without memory starts none: the next turn tries it again.
                new = threading.Thread(target=self._run, name="catalog", daemon=True)
                new.start()
                self._thread = new
            thread = self._thread
        if is_last and thread is not None:
            thread.join()

    def _run(self) -> None:
        try:
            while self._take() and self._publish():
                pass
        finally:
            with self._lock:
                if self._thread is threading.current_thread():
                    # The next turn tries again, if there is one.
                    _add(self._new_tagged if self._is_tagging else self._new, self._taken)
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

    def _publish(self) -> bool:
        """Let the catalog have what is taken; return whether it may get more."""
        began, taken = time.monotonic(), self._taken
        problems = self._problems(taken)
        if problems is None:
            return False
        with self._lock:
            self._taken = {}
            failed = {path: own for path, own in taken.items() if problems[path] is not None}
            _add(self._new_tagged if self._is_tagging else self._new, failed)
            if any(isinstance(problem, CatalogAway) for problem in problems.values()):
                _add(self._new_tagged, self._due_tagged)
                self._due_tagged = {}
            elif self._is_tagging:
                now = time.monotonic()
                self._tagging_at = max(now, self._tagging_at) + (now - began) / TAGGING_SHARE
            waiting = self._due | self._new
            for path, (schema, since) in taken.items():
                problem, later = problems[path], waiting.get(path)
                if problem is None:
                    self._queue.listed(schema, None if later is None else later.since)
                else:
                    self._queue.not_listed(schema, problem, since)
        return True

    def _problems(self, taken: Mapping[str, _WaitingTable]) -> dict[str, MirrorError | None] | None:
        """Publish tables, and return what failed; None if another process has taken over."""
        places = {path: own.schema.place for path, own in taken.items()}
        try:
            if not self._is_current():
                return None
            with ThreadPoolExecutor(self._threads) as pool:
                return self._publisher.publish(places, pool)
        except DEFECT_TYPES as error:
            return {p: table_defect(own.schema.name, error) for p, own in taken.items()}
        except Exception as error:  # noqa: BLE001 - a trace would be all that is known of it
            return dict.fromkeys(taken, turn_error(error))


def _add(tables: dict[str, _WaitingTable], others: Mapping[str, _WaitingTable]) -> None:
    """Add `others`; a table that is there has waited longer."""
    for path, own in others.items():
        since = min(own.since, tables.get(path, own).since)
        tables[path] = own._replace(since=since)
