"""The throughput and the lag of the last hour as paths of an SVG."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from connector.status.words import clock, duration, number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from connector.status.facts import RatePoint

WIDTH = 720
HEIGHT = 140
# The curve of a young process would be a short line at the edge of an hour.
_SPANS_SECONDS = (300, 900, 1800, 3600)
# A curve of zeros has a top, too.
_TOP_MIN = 1.0
# This part of the values is usual; a highest one of so many times as much is a peak, which is cut.
_USUAL_PART = 0.9
_PEAK = 4.0
_HEADROOM = 1.5
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve that ends with its newest point, at the right.

    A point comes every quarter of a minute, and until then the curve stays as it is: a browser that
    draws it again for each step of the clock would do little else.
    """

    line: str  # the path of the curve; "" without two points
    area: str  # the same, closed at the bottom
    top: float  # the value at the upper edge
    span_seconds: float  # from the left to the right edge
    words: str  # what the curve shows, for a person who does not see it


def rates(points: Sequence[RatePoint], now: float) -> Curve:
    """Return the curve of records a second; `now` says which of their times are of today."""
    values = [(point.at, point.records) for point in points]
    return _curve(values, _top([value for _, value in values]), now, number)


def lags(points: Sequence[RatePoint], now: float) -> Curve:
    """Return the curve of the lag, where it is known."""
    known = [(point.at, point.lag) for point in points if point.lag is not None]
    return _curve(known, _round_top(max((lag for _, lag in known), default=0.0)), now, duration)


def _curve(
    points: Sequence[tuple[float, float]], top: float, now: float, said: Callable[[float], str]
) -> Curve:
    values = [value for _, value in points]
    if len(points) < 2:  # noqa: PLR2004  # a line has two ends
        return Curve("", "", top, _SPANS_SECONDS[0], "the curve begins after half a minute")
    end = points[-1][0]
    seconds = end - points[0][0]
    span = next((one for one in _SPANS_SECONDS if seconds <= one), _SPANS_SECONDS[-1])
    places = [
        (WIDTH * (1 - min(1.0, (end - at) / span)), HEIGHT * (1 - min(1.0, value / top)))
        for at, value in points
    ]
    line = "M" + " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    area = f"{line} L{places[-1][0]:.1f},{HEIGHT} {places[0][0]:.1f},{HEIGHT} Z"
    at, highest = max(points, key=itemgetter(1))
    mean = sum(values) / len(values)
    cut = ", above the upper edge," if highest > top else ""
    return Curve(
        line,
        area,
        top,
        span,
        f"the last {duration(seconds)}: mean {said(mean)}, most {said(highest)}{cut} "
        f"at {clock(at, now)} UTC",
    )


def _top(values: Sequence[float]) -> float:
    """Return the value at the upper edge.

    A few high values, such as those of a copy, are cut: else all others would be a flat line. While
    nothing comes, nothing is usual.
    """
    busy = sorted(value for value in values if value)
    highest = max(busy, default=0.0)
    usual = busy[int(len(busy) * _USUAL_PART)] if busy else 0.0
    return _round_top(highest if highest <= usual * _PEAK else usual * _HEADROOM)


def _round_top(highest: float) -> float:
    """Return the next round number: 1, 2, 2.5 or 5 times a power of ten."""
    power = 1.0
    while power * 10 < highest:
        power *= 10
    for step in _STEPS:
        if highest <= step * power:
            return max(_TOP_MIN, step * power)
    return max(_TOP_MIN, highest)
