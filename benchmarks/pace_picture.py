"""The curve of `pace` as a picture in SVG: latencies of an application, second by second."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    # What `benchmarks.pace` stores of a phase: its name, rows a second, and the latencies of each
    # second. All rounds have the same phases.
    Phases = Sequence[Mapping[str, Any]]

_WIDTH: Final = 760
_HEIGHT: Final = 380
_LEFT: Final = 62
_RIGHT: Final = 744
_TOP: Final = 58
_BOTTOM: Final = 306
# Between two phases, nothing is measured.
_GAP_S: Final = 5
_US: Final = 1000  # of a millisecond
_TICKS_MS: Final = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_TICK_S: Final = 10
_WORDS: Final = {"alone": "alone", "sums adaptive": "default pace", "sums full": "full pace"}
# Its ground is its own: a page may be dark where its reader's system is light.
_STYLE: Final = """<style>
text { font: 14px system-ui, sans-serif; fill: #1f2328; text-anchor: middle; }
.less { font-size: 13px; fill: #59636e; }
.left { text-anchor: start; }
.right { text-anchor: end; }
.ground { fill: #ffffff; stroke: #d1d9e0; }
.grid { stroke: #d1d9e0; }
.adaptive { fill: #ddf4ff; }
.full { fill: #fff1e5; }
polyline { fill: none; stroke-linejoin: round; stroke-width: 2.5; }
.p50 { stroke: #0969da; }
.p99, .round { stroke: #bc4c00; }
.round { stroke-width: 1; stroke-opacity: 0.5; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .less { fill: #9198a1; }
  .ground { fill: #0d1117; stroke: #3d444d; }
  .grid { stroke: #3d444d; }
  .adaptive { fill: #0c2d4d; }
  .full { fill: #3d2108; }
  .p50 { stroke: #4493f8; }
  .p99, .round { stroke: #f0883e; }
}
</style>"""


def pace_picture(rounds: Sequence[Phases]) -> str:
    """Return the picture of some rounds, which lie one upon the other."""
    return "\n".join(_Picture(rounds).lines())


class _Picture:
    """The scales of a picture, and its parts."""

    def __init__(self, rounds: Sequence[Phases]) -> None:
        self._rounds = rounds
        every = [phase for phases in rounds for phase in phases]
        # Phases may differ by a second.
        self._seconds = min(len(phase["p99_us"]) for phase in every)
        self._starts = [place * (self._seconds + _GAP_S) for place in range(len(rounds[0]))]
        values = [us / _US for phase in every for us in (*phase["p50_us"], *phase["p99_us"])]
        low = max((tick for tick in _TICKS_MS if tick <= min(values)), default=_TICKS_MS[0])
        high = min((tick for tick in _TICKS_MS if tick >= max(values)), default=_TICKS_MS[-1])
        self._ticks = [tick for tick in _TICKS_MS if low <= tick <= high]

    def lines(self) -> Iterator[str]:
        """Yield the elements of the picture."""
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            f'width="{_WIDTH}" height="{_HEIGHT}" role="img">'
        )
        yield "<title>Latencies of an application while its server is read</title>"
        yield _STYLE
        width, height = _WIDTH - 1, _HEIGHT - 1
        yield f'<rect class="ground" x="0.5" y="0.5" width="{width}" height="{height}" rx="6"/>'
        yield from self._bands()
        yield from self._axes()
        for phases in self._rounds:
            yield from self._curve("round", "p99_us", [phases])
        yield from self._curve("p50", "p50_us", self._rounds)
        yield from self._curve("p99", "p99_us", self._rounds)
        yield from self._legend()
        yield "</svg>\n"

    def _x(self, second: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * second / (self._starts[-1] + self._seconds)

    def _y(self, ms: float) -> float:
        low, high = math.log(self._ticks[0]), math.log(self._ticks[-1])
        return _BOTTOM - (_BOTTOM - _TOP) * (math.log(ms) - low) / (high - low)

    def _bands(self) -> Iterator[str]:
        """Yield what was done in each phase, and how much was read."""
        for place, start in enumerate(self._starts):
            phase = self._rounds[0][place]["phase"]
            left, right = self._x(start), self._x(start + self._seconds)
            if phase != "alone":
                yield (
                    f'<rect class="{phase.split()[1]}" x="{left:.1f}" y="{_TOP}" '
                    f'width="{right - left:.1f}" height="{_BOTTOM - _TOP}"/>'
                )
                rates = [phases[place]["rows_per_s"] for phases in self._rounds]
                rate = f"{round(statistics.median(rates), -3):,.0f} rows/s"
                yield _text((left + right) / 2, _TOP - 8, rate, "less")
            yield _text((left + right) / 2, _TOP - 24, _WORDS[phase])

    def _axes(self) -> Iterator[str]:
        for ms in self._ticks:
            y = self._y(ms)
            yield f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield _text(_LEFT - 8, y + 4, f"{ms:g}", "less right")
        yield _text(_LEFT - 8, _TOP - 24, "ms", "right")
        end = self._starts[-1] + self._seconds
        for second in range(0, end + 1, _TICK_S):
            yield _text(self._x(second), _BOTTOM + 18, f"{second}", "less")
        yield _text((_LEFT + _RIGHT) / 2, _BOTTOM + 36, "seconds")

    def _curve(self, name: str, key: str, rounds: Sequence[Phases]) -> Iterator[str]:
        """Yield a line for each phase: the median of the rounds in each second."""
        for place, start in enumerate(self._starts):
            points = []
            for second in range(self._seconds):
                us = statistics.median(phases[place][key][second] for phases in rounds)
                points.append(f"{self._x(start + second + 0.5):.1f},{self._y(us / _US):.1f}")
            yield f'<polyline class="{name}" points="{" ".join(points)}"/>'

    def _legend(self) -> Iterator[str]:
        y = _HEIGHT - 16
        names = {
            "p99": "99th percentile in each second",
            "round": f"of each of {len(self._rounds)} rounds",
            "p50": "median in each second",
        }
        for x, (name, words) in zip((_LEFT, 322, 520), names.items(), strict=True):
            yield f'<polyline class="{name}" points="{x},{y - 4} {x + 24},{y - 4}"/>'
            yield _text(x + 32, y, words, "left")


def _text(x: float, y: float, words: str, name: str = "") -> str:
    own = f' class="{name}"' if name else ""
    return f'<text{own} x="{x:.1f}" y="{y:.1f}">{words}</text>'
