"""The tables that have metrics of their own, and one series for all others.

Each table has some twenty series. With ten thousand tables, a scrape would take a second of
processor time on both sides, and most of it would say nothing. So the tables that lag, those that
an alert looks for, and those with most changes have their own series, and the others share one
whose labels are `(other)`.

*Counters never fall.* A table may come to have its own series, or lose it. What the shared series
has counted for it until then stays in there, and what it counts later begins at that moment; so
`rate` is true for each series. A sum over all series counts the changes of such a table twice.
"""

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from stream_jobs.run.metrics import TableMetrics

OTHER: Final = "(other)"
# An alert looks for a lag, and for a table of this size with more dead rows than live ones: such
# tables have a series of their own.
_LAG_SECONDS: Final = 60.0
_LARGE_ROWS: Final = 1_000_000
_COUNTERS: Final = (
    "upserts", "deletes", "superseded", "skipped", "commits", "commit_seconds", "bytes_written",
    "changed_bytes",
)  # fmt: skip
_SUMS: Final = ("rows", "dead_rows", "files", "bytes")
_NOTHING: Final = TableMetrics(OTHER, OTHER)


class ShownTables:
    """Chooses tables at each scrape; scrapes may come together."""

    def __init__(self, limit: int) -> None:
        """Choose `limit` tables; 0 chooses all."""
        self._limit = limit
        self._lock = threading.Lock()
        self._shown: frozenset[str] = frozenset()
        # Of each other table, what it had counted before it was among them.
        self._bases: dict[str, TableMetrics] = {}
        # What the shared series has counted for tables that have one of their own now.
        self._carried = dict.fromkeys(_COUNTERS, 0.0)

    def divide(
        self, tables: Mapping[str, TableMetrics], lags: Mapping[str, float]
    ) -> tuple[dict[str, TableMetrics], TableMetrics | None]:
        """Return the metrics of the chosen tables by topic, and those of the others together.

        None if there are no others. `lags` are in seconds, by topic.
        """
        if not self._limit or (len(tables) <= self._limit and not self._bases):
            return dict(tables), None

        def rank(topic: str) -> tuple[float, bool, int, str]:
            lag, table = lags.get(topic, 0.0), tables[topic]
            rows, dead = table.rows or 0, table.dead_rows or 0
            changes = table.upserts + table.deletes + table.superseded + table.skipped
            late = lag if lag > _LAG_SECONDS else 0.0
            return -late, not (dead > rows > _LARGE_ROWS), -changes, topic

        chosen = sorted(tables, key=rank)[: self._limit]
        with self._lock:
            self._move(tables, frozenset(chosen))
            others = [(tables[topic], base) for topic, base in self._bases.items()]
            sums: dict[str, Any] = {
                name: carried
                + sum(getattr(own, name) - getattr(base, name) for own, base in others)
                for name, carried in self._carried.items()
            }
        for name in _SUMS:
            known = [at for own, _ in others if (at := getattr(own, name)) is not None]
            sums[name] = sum(known) if known else None
        times = [own.committed_ms for own, _ in others if own.committed_ms is not None]
        other = replace(_NOTHING, **sums, committed_ms=max(times, default=None))
        return {topic: tables[topic] for topic in chosen}, other

    def _move(self, tables: Mapping[str, TableMetrics], chosen: frozenset[str]) -> None:
        for topic in chosen & self._bases.keys():
            own, base = tables[topic], self._bases.pop(topic)
            for name in _COUNTERS:
                self._carried[name] += getattr(own, name) - getattr(base, name)
        for topic in tables.keys() - chosen - self._bases.keys():
            self._bases[topic] = tables[topic] if topic in self._shown else _NOTHING
        self._shown = chosen
