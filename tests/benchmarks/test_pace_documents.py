"""The curve of `pace`, and what the pages say beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks import pace
from benchmarks.pace import RATE_PER_S
from benchmarks.pace_documents import BEGIN, END, pace_text
from benchmarks.pace_picture import pace_picture

if TYPE_CHECKING:
    from collections.abc import Sequence

SVG = "{http://www.w3.org/2000/svg}"


def phase(doing: Any, own: Any, rate: float, *seconds: float) -> pace._Phase:
    """Return a phase with one latency in each second, but for a slow statement in a hundred."""
    found = pace._Phase(doing, own, 0.0, float(len(seconds)), rate)
    for us in seconds:
        found.micros += [us / 5] * (RATE_PER_S - 6) + [us] * 6
    # It ends in the middle of a second.
    found.micros.append(900_000.0)
    return found


def round_of(full_us: float) -> list[pace._Phase]:
    alone = phase("alone", "", 0.0, 1_000, 1_500)
    return [
        alone,
        phase("sums", "adaptive", 200_400.0, 1_000, 1_500, 1_000),
        alone,
        phase("sums", "full", 1_300_400.0, full_us, full_us),
        alone,
        phase("copy", "adaptive", 50_000.0, 700_000, 700_000),
        alone,
    ]


def curves(picture: str, name: str) -> list[list[tuple[float, float]]]:
    """Return the points of the lines of a class, without that of the legend."""
    root = ET.fromstring(picture)
    lines = [
        line.get("points", "") for line in root.iter(f"{SVG}polyline") if line.get("class") == name
    ]
    return [[_point(text) for text in line.split()] for line in lines[:-1]]


def _point(text: str) -> tuple[float, float]:
    x, y = map(float, text.split(","))
    return x, y


@pytest.fixture
def rounds() -> Sequence[Sequence[dict[str, Any]]]:
    return pace._rounds([*round_of(5_000), *round_of(20_000)])


def test_a_round_has_the_sums_and_the_phases_around_them(
    rounds: Sequence[Sequence[dict[str, Any]]],
) -> None:
    names = ["alone", "sums adaptive", "alone", "sums full", "alone"]
    assert [[each["phase"] for each in own] for own in rounds] == [names, names]
    # A second that is not whole has no percentile.
    assert rounds[0][1]["p99_us"] == [1_000, 1_500, 1_000]
    assert rounds[0][1]["p50_us"] == [200, 300, 200]


def test_the_picture_has_a_line_for_each_phase(
    rounds: Sequence[Sequence[dict[str, Any]]],
) -> None:
    picture = pace_picture(rounds)
    assert [len(curves(picture, name)) for name in ("p50", "p99", "round")] == [5, 5, 10]
    words = [text.text for text in ET.fromstring(picture).iter(f"{SVG}text")]
    assert {"200,000 rows/s", "1,300,000 rows/s", "of each of 2 rounds", "0.2", "20"} <= {*words}
    # As the shortest phase has seconds.
    assert {len(line) for line in curves(picture, "round")} == {2}
    every = [
        point
        for name in ("p50", "p99", "round")
        for line in curves(picture, name)
        for point in line
    ]
    assert all(62 <= x <= 744 and 58 <= y <= 306 for x, y in every)
    # Time goes to the right, and a higher latency lies above a lower one.
    line = curves(picture, "p99")
    assert [point[0] for own in line for point in own] == sorted(
        point[0] for own in line for point in own
    )
    first, *_ = line[0]
    assert first[1] > line[0][1][1] > line[3][0][1]
    # Of 5 and 20 ms, the median is 12.5 ms, which lies between the lines of both rounds.
    low, high = (curves(picture, "round")[place][0][1] for place in (3, 8))
    assert high < line[3][0][1] < low


def test_the_text_says_what_one_sees() -> None:
    found = {
        "at": "2026-01-31T08:15:00+00:00",
        "cores": 2,
        "rate_per_s": 240,
        "rounds": [[], []],
        "sums adaptive": {"rows_per_s": [200_400.0, 201_000.0], "p99": [0.99, 1.07]},
        "sums full": {"rows_per_s": [1_300_000.0], "p99": [4.5, 10.0, 6.66]},
    }
    lines = pace_text(found).splitlines()
    assert (lines[0], lines[-1]) == (BEGIN, END)
    assert lines[2].endswith("](pace.svg)")
    assert (
        "201,000 rows/s, their 99th percentile is 1.03 times as high as alone (0.99 to 1.07)"
        in lines[4]
    )
    assert "1,300,000 rows/s, it is 6.7 times as high as alone (4.5 to 10.0)" in lines[4]
    assert lines[4].endswith("here, 2 rounds on 2 cores, 2026-01-31.")
