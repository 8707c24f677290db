"""Fences, summed up for each table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from connector.metrics.figures import FencedFigures

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.quarantine.core.fences import Fence

_MS = 1000


def fenced_tables(fences: Iterable[Fence]) -> dict[str, FencedFigures]:
    """Return what is held of each table, by `database.table`; the reason is that of the oldest."""
    tables: dict[str, FencedFigures] = {}
    for fence in fences:
        whole, since = fence.key is None, fence.since_ms / _MS
        keys = 0 if whole else 1
        known = tables.get(fence.name)
        if known is None:
            tables[fence.name] = FencedFigures(whole, keys, fence.rows, since, fence.reason)
            continue
        tables[fence.name] = replace(
            known,
            whole=known.whole or whole,
            keys=known.keys + keys,
            rows=known.rows + fence.rows,
            since=min(known.since, since),
            reason=fence.reason if since < known.since else known.reason,
        )
    return tables
