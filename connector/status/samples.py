"""Counters and lags of the last hour: a thread notes them, so the stream does no work."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from connector.status.facts import RatePoint, Rates, Throughput
from connector.system.background import Background

if TYPE_CHECKING:
    from connector.metrics.figures import Figures

_PAUSE_SECONDS = 5.0
_HOUR_SECONDS = 3600.0
# "Now" is the mean of at least this time.
_NOW_SECONDS = 5.0
# Samples that make a point of the curve: a screen does not show more points.
_PER_POINT = 3
_SLOT_SECONDS = _PAUSE_SECONDS * _PER_POINT
# An hour of points, the sample before them, and the rest of a point that has left the ring in part.
_SAMPLES = int(_HOUR_SECONDS / _PAUSE_SECONDS) + 1 + _PER_POINT


class Sample(NamedTuple):
    """The counters at one time."""

    at: float  # on the monotonic clock
    records: int
    transactions: int
    bytes: int
    lag: float | None  # seconds


class Samples(Background):
    """Notes the counters of `figures` until it is closed."""

    def __init__(self, figures: Figures) -> None:
        """Begin with the counters as they are."""
        super().__init__("status-samples")
        self._figures = figures
        self._ring: deque[Sample] = deque(maxlen=_SAMPLES)
        self.note()

    def note(self) -> None:
        """Note the counters now."""
        self._ring.append(self._sample())

    def throughput(self) -> Throughput:
        """Return what was committed."""
        now = self._sample()
        ring = list(self._ring)
        before = next((one for one in reversed(ring) if now.at - one.at >= _NOW_SECONDS), ring[0])
        figures = self._figures
        return Throughput(
            now=_rates(before, now),
            hour=_curve(ring, time.time() - now.at),
            records=figures.records,
            transactions=figures.transactions,
            bytes=figures.bytes,
            commits=figures.commits,
            interruptions=figures.interruptions,
        )

    def _run(self) -> None:
        while not self._closed.wait(_PAUSE_SECONDS):
            self.note()

    def _sample(self) -> Sample:
        figures = self._figures
        lag = figures.lag
        return Sample(
            time.monotonic(),
            figures.records,
            figures.transactions,
            figures.bytes,
            None if lag is None else lag.seconds,
        )


def _rates(before: Sample, now: Sample) -> Rates:
    seconds = max(now.at - before.at, 1e-3)
    return Rates(
        records=(now.records - before.records) / seconds,
        transactions=(now.transactions - before.transactions) / seconds,
        bytes=(now.bytes - before.bytes) / seconds,
    )


def _curve(ring: list[Sample], clock_difference: float) -> list[RatePoint]:
    """Return a point for each span of time, and not for so many samples: else all would move.

    In a full ring, the first span has lost samples, and would change with each that it loses.
    """
    points: list[RatePoint] = []
    before = ring[0]
    lags: list[float] = []
    is_part = len(ring) == _SAMPLES
    for sample in ring:
        if sample.lag is not None:
            lags.append(sample.lag)
        if int(sample.at / _SLOT_SECONDS) == int(before.at / _SLOT_SECONDS):
            continue
        if not is_part:
            at = sample.at + clock_difference
            lag = max(lags, default=None)
            points.append(RatePoint(at, _rates(before, sample).records, lag))
        before, is_part = sample, False
        lags.clear()
    return points
