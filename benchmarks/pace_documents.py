"""The block of `pace` in docs/snapshot.md and docs/performance.md, between two marks."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any, Final

from benchmarks.home import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Sequence

BEGIN: Final = '<!-- pace: written by make bench ARGS="pace" -->'
END: Final = "<!-- end of pace -->"
PICTURE: Final = REPOSITORY / "docs" / "pace.svg"
# The page that describes the law, and the line that the block follows there.
LAW: Final = REPOSITORY / "docs" / "snapshot.md"
AFTER: Final = "The log names the reason (R331 to R335) at most every 30 seconds."

_ALT: Final = (
    "Latencies of an application, second by second: at the default pace as alone, at full pace "
    "several times as high"
)
_TEXT: Final = (
    "**What reading costs the source.** An application sends {rate_per_s} statements a second, and "
    "the curve shows how long they take. While the server computes the sums of `verify` at the "
    "[default pace](snapshot.md#load-on-the-source), {adaptive_rows} rows/s, their 99th percentile "
    "is {adaptive}; at full pace, {full_rows} rows/s, it is {full}. `python -m benchmarks pace` "
    "measures this; here, {rounds} rounds on {cores} cores, {at:.10}."
)
# Of smaller ratios, more digits are of interest.
_SMALL: Final = 2


def pace_text(pace: dict[str, Any]) -> str:
    """Return the picture, and what one sees there, with marks."""
    facts: dict[str, Any] = {**pace, "rounds": len(pace["rounds"])}
    for name in ("adaptive", "full"):
        found = pace[f"sums {name}"]
        facts[f"{name}_rows"] = f"{round(statistics.median(found['rows_per_s']), -3):,.0f}"
        facts[name] = _ratio(found["p99"])
    return "\n\n".join([BEGIN, f"![{_ALT}]({PICTURE.name})", _TEXT.format(**facts), END])


def _ratio(rounds: Sequence[float]) -> str:
    median, low, high = statistics.median(rounds), min(rounds), max(rounds)
    digits = 2 if median < _SMALL else 1
    return f"{median:.{digits}f} times as high as alone ({low:.{digits}f} to {high:.{digits}f})"
