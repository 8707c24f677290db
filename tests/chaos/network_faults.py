"""Links that break, stall and crawl."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.chaos.broker_faults import broker_of
from tests.chaos.kind import Kind
from tests.chaos.link import End, Link, Side
from tests.chaos.stage import READ_TIMEOUT_SECONDS, REQUEST_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chaos.stage import Stage

_CUT_SECONDS = 2.0
_BYTES_MAX = 300_000
_FIRST_BYTES_MAX = 3000
_NEXT_PART = 0.4


def _cut(stage: Stage, links: list[Link]) -> None:
    end = stage.chance.choice(list(End))
    for link in links:
        link.cut(end)


def _cut_inside(stage: Stage, links: list[Link]) -> None:
    """Cut in the middle of a packet: behind a number of bytes that nobody has chosen well."""
    side, end = stage.chance.choice(list(Side)), stage.chance.choice(list(End))
    if stage.chance.random() < _NEXT_PART or (side is Side.CLIENT and links == stage.pair.links):
        # Inside of what a new connection begins with, which is all that a replica sends.
        number = int(_FIRST_BYTES_MAX ** stage.chance.random())
        happened = [link.cut_next_behind(number, side, end) for link in links]
        for link in links:
            link.cut(End.RST)
    else:
        # Mostly a few packets on.
        number = int(_BYTES_MAX ** stage.chance.random())
        happened = [link.cut_behind(number, side, end) for link in links]
    deadline = time.monotonic() + _CUT_SECONDS
    while not any(each.is_set() for each in happened) and time.monotonic() < deadline:
        time.sleep(0.01)
    for link in links:
        link.spare()


def _stall(stage: Stage, links: list[Link], timeout_seconds: float) -> None:
    sides = stage.chance.choice(
        (frozenset(Side), frozenset({Side.CLIENT}), frozenset({Side.SERVER}))
    )
    for link in links:
        link.stalled = sides
    time.sleep(timeout_seconds * stage.chance.uniform(0.3, 1.6))
    for link in links:
        link.stalled = frozenset()


def _slow(stage: Stage, links: list[Link]) -> None:
    for link in links:
        link.bytes_per_second = stage.chance.choice((2_000, 20_000, 100_000))
    time.sleep(stage.chance.uniform(0.5, 3.0))
    for link in links:
        link.bytes_per_second = None


def _refuse(stage: Stage, links: list[Link]) -> None:
    for link in links:
        link.refuses = True
        link.cut(End.RST)
    time.sleep(stage.chance.uniform(0.2, 1.5))
    for link in links:
        link.refuses = False


def _on(where: str, links: Callable[[Stage], list[Link]], timeout_seconds: float) -> list[Kind]:
    return [
        Kind(f"{where}: cut (RST, FIN)", 7, lambda stage: _cut(stage, links(stage))),
        Kind(f"{where}: cut in a packet", 8, lambda stage: _cut_inside(stage, links(stage))),
        Kind(f"{where}: stall", 4, lambda stage: _stall(stage, links(stage), timeout_seconds)),
        Kind(f"{where}: slow", 3, lambda stage: _slow(stage, links(stage))),
        Kind(f"{where}: refused", 3, lambda stage: _refuse(stage, links(stage))),
    ]


SOURCE_LINK_FAULTS = _on("link to MySQL", lambda stage: stage.pair.links, READ_TIMEOUT_SECONDS)
BROKER_LINK_FAULTS = _on(
    "link to Kafka", lambda stage: [broker_of(stage).link], REQUEST_TIMEOUT_SECONDS
)
