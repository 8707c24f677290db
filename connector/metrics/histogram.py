"""A histogram that one thread fills and others read, and how Prometheus gets it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client.core import HistogramMetricFamily

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prometheus_client.core import Metric


@dataclass(frozen=True, slots=True)
class Histogram:
    """Durations by size; it is replaced and never changed, so it needs no lock."""

    # Upper limits of the buckets in seconds; the last bucket has none.
    limits: tuple[float, ...]
    counts: tuple[int, ...]
    seconds: float = 0.0

    @classmethod
    def of(cls, *limits: float) -> Histogram:
        """Return one without durations."""
        return cls(limits, (0,) * (len(limits) + 1))

    def plus(self, durations: Iterable[tuple[float, int]]) -> Histogram:
        """Return this one with more durations, in seconds, each with its count."""
        counts, total = list(self.counts), self.seconds
        for seconds, count in durations:
            counts[bisect_left(self.limits, seconds)] += count
            total += seconds * count
        return replace(self, counts=tuple(counts), seconds=total)

    def family(self, name: str, text: str, labels: Mapping[str, str]) -> Metric:
        """Return what is served under `name`."""
        family = HistogramMetricFamily(name, text, labels=list(labels))
        bounds = (*map(str, self.limits), "+Inf")
        buckets = list(zip(bounds, accumulate(self.counts), strict=True))
        family.add_metric(list(labels.values()), buckets, self.seconds)
        return family
