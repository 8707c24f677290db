"""The connection breaks behind each byte that the server sends, and everything arrives once."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.length import length
from tests.simulation.faults import Undisturbed
from tests.simulation.run import simulate
from tests.simulation.story import Change, Compressed, Rotation, Story, Transaction, random_story
from tests.simulation.verdict import SOURCES, check_alike, check_story, scenario, undisturbed

if TYPE_CHECKING:
    from tests.simulation.verdict import Scenario

SHORT = Story(
    (
        Transaction((Change("orders", "c", 1, "a"), Change("items", "c", 1, "b"))),
        Rotation(),
        Compressed((Change("orders", "u", 1, "c"),)),
    )
)
SAMPLES = length(short=4, full=200)
# The distance of the bytes after which a connection breaks; each server begins at another one.
STEP = length(short=17, full=1)

every_kind = pytest.mark.parametrize("name", list(SOURCES)[: length(short=3, full=4)])


def sent_bytes(chosen: Scenario) -> int:
    server = chosen.servers[0]
    return sum(len(data) + 5 for data in server.dump(server.earliest))


@every_kind
def test_a_connection_may_break_after_any_byte(name: str) -> None:
    chosen = scenario(SHORT, SOURCES[name])
    expected = undisturbed(chosen)
    first = len(name) % STEP
    for cut_at in range(first, sent_bytes(chosen) + 1, STEP):
        broker = simulate(chosen.servers, Undisturbed(), seed=cut_at, cut_at=cut_at).broker
        check_alike(broker, expected)
        check_story(chosen, broker)


@every_kind
def test_a_long_log_may_break_anywhere(name: str) -> None:
    random = Random(name)
    chosen = scenario(random_story(random, 30, rows_max=6), SOURCES[name])
    expected = undisturbed(chosen)
    for cut_at in random.sample(range(sent_bytes(chosen)), SAMPLES):
        broker = simulate(chosen.servers, Undisturbed(), seed=cut_at, cut_at=cut_at).broker
        check_alike(broker, expected)
        check_story(chosen, broker)
