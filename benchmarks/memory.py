"""Ten million rows end to end: the resident memory at one million, beside that at ten."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from benchmarks.connectors import OurConnector
from benchmarks.process import say
from benchmarks.replay import LIMIT_S
from benchmarks.stack import stack
from benchmarks.watch import Topics, watch
from benchmarks.workload.generate import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from benchmarks.data import DataFile
    from benchmarks.home import Home
    from benchmarks.watch import Sample

# Resident memory goes up and down with what is in flight: the median of the looks around a count.
_AROUND = 0.1


def measure_memory(
    home: Home, data: dict[str, DataFile], compiled: Literal["require", "off"]
) -> dict[str, Any]:
    """Return the figures of ours; raises RunFailed."""
    rows = data["flat"].counts.changes
    with stack(home) as servers:
        connector = OurConnector(servers, "flat", "flat", compiled)
        topics = Topics(servers.bootstrap, connector.topics(WORKLOADS["flat"].tables))
        say(f"memory: {rows} rows")
        try:
            connector.start(data["flat"].path.name)
            samples = watch(connector, topics, rows, LIMIT_S)
        finally:
            connector.stop()
            topics.close()
    return {
        "rows": rows,
        "rss_mb_at_a_tenth": _rss(samples, rows / 10),
        "rss_mb_at_the_end": _rss(samples, rows),
        "peak_mb": samples[-1].usage.peak_mb,
        "compiled": compiled == "require",
    }


def _rss(samples: Sequence[Sample], count: float) -> float:
    low, high = count * (1 - _AROUND), count * (1 + _AROUND)
    around = [each.usage.rss_mb for each in samples if low <= each.count <= high]
    if not around:
        started = [each for each in samples if each.count]
        nearest = min(started, key=lambda each: abs(each.count - count))
        return nearest.usage.rss_mb
    return statistics.median(around)
