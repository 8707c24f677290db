"""The throughput of the last hour as the path of an SVG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.status.words import clock, duration, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.status.facts import RatePoint

WIDTH = 720
HEIGHT = 140
# The curve of a young process would be a short line at the edge of an hour.
_SPANS_SECONDS = (300, 900, 1800, 3600)
# A curve of zeros has a top, too.
_TOP_MIN = 1.0
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


def curve(points: Sequence[RatePoint], now: float) -> Curve:
    """Return the curve of `points`; `now` says which of their times are of today."""
    top = _round_top(max((point.records for point in points), default=0.0))
    if len(points) < 2:  # noqa: PLR2004  # a line has two ends
        return Curve("", "", top, _SPANS_SECONDS[0], "the curve begins after half a minute")
    end = points[-1].at
    seconds = end - points[0].at
    span = next((one for one in _SPANS_SECONDS if seconds <= one), _SPANS_SECONDS[-1])
    places = [
        (
            WIDTH * (1 - min(1.0, (end - point.at) / span)),
            HEIGHT * (1 - point.records / top),
        )
        for point in points
    ]
    line = "M" + " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    area = f"{line} L{places[-1][0]:.1f},{HEIGHT} {places[0][0]:.1f},{HEIGHT} Z"
    highest = max(points, key=lambda point: point.records)
    mean = sum(point.records for point in points) / len(points)
    return Curve(
        line,
        area,
        top,
        span,
        f"the last {duration(seconds)}: mean {number(mean)}, most {number(highest.records)} "
        f"at {clock(highest.at, now)} UTC",
    )


def _round_top(highest: float) -> float:
    """Return the next round number: 1, 2, 2.5 or 5 times a power of ten."""
    power = 1.0
    while power * 10 < highest:
        power *= 10
    for step in _STEPS:
        if highest <= step * power:
            return max(_TOP_MIN, step * power)
    return max(_TOP_MIN, highest)
