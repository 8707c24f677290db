"""Thousands of seeded schedules: everything goes wrong that can, and every record arrives once.

A seed makes a story, and some schedules for it. STORIES=n runs as many of each kind, SEED=n one
that failed.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.length import length
from tests.simulation.faults import Fault, Seeded
from tests.simulation.run import SETTINGS, simulate
from tests.simulation.story import random_story
from tests.simulation.verdict import (
    SOURCES,
    check_alike,
    check_rising,
    check_same_changes,
    check_story,
    scenario,
    undisturbed,
)

if TYPE_CHECKING:
    from tests.simulation.world import World

STORIES = int(os.environ.get("STORIES", length(short=4, full=130)))
SCHEDULES_OF_A_STORY = 4
SEED = os.environ.get("SEED")
PARTS = 2


# Changes wait for others after a commit, and the stream sleeps meanwhile.
PAUSING = SETTINGS.model_copy(
    update={"delivery": SETTINGS.delivery.model_copy(update={"commit_pause_ms": 25})}
)


class Kind(NamedTuple):
    name: str
    extra: tuple[Fault, ...] = ()
    standby: bool = False
    groups_max: int = 12
    rows_max: int = 4


KINDS = (
    Kind("faults of all kinds"),
    Kind("two instances", (Fault.RIVAL, *[Fault.SWITCH] * 4)),
    Kind("two servers", (Fault.FAILOVER, Fault.FAILOVER), standby=True),
    Kind("larger transactions", groups_max=4, rows_max=40),
)


def seeds(part: int) -> list[int]:
    if SEED is not None:
        return [int(SEED)] if part == 0 else []
    return list(range(part, STORIES, PARTS))


def run(kind: Kind, seed: int, happened: Counter[str]) -> list[World]:
    random = Random(f"{kind.name} {seed}")
    source = random.choice([each for each in SOURCES.values() if each.gtid or not kind.standby])
    story = random_story(random, random.randint(3, kind.groups_max), rows_max=kind.rows_max)
    chosen = scenario(story, source, standby=kind.standby)
    expected = undisturbed(chosen)
    worlds = []
    for number in range(SCHEDULES_OF_A_STORY):
        plan = Seeded(random, last_step=random.choice((60, 150, 300)), extra=kind.extra)
        by_event, settings = random.random() < 0.5, random.choice((SETTINGS, PAUSING))
        world = simulate(chosen.servers, plan, seed=number, by_event=by_event, settings=settings)
        check_story(chosen, world.broker)
        check_rising(world.broker)
        if kind.standby:
            # At other positions, so with other sequences.
            check_same_changes(world.broker, expected)
        else:
            check_alike(world.broker, expected)
        happened.update(plan.happened)
        worlds.append(world)
    return worlds


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_record_arrives_once_whatever_happens(kind: Kind, part: int) -> None:
    happened: Counter[str] = Counter()
    worlds: list[World] = []
    for seed in seeds(part):
        try:
            worlds += run(kind, seed, happened)
        except Exception as error:
            reason = f"SEED={seed} of {kind.name!r}: {type(error).__name__}: {error}"
            raise AssertionError(reason) from error
    print(
        f"{kind.name}, part {part}: {len(worlds)} schedules, "
        f"{sum(world.steps for world in worlds)} steps, "
        f"{sum(len(world.processes) for world in worlds)} processes, "
        f"{happened.total()} faults of {len(happened)} kinds"
    )
    assert happened.total() >= len(seeds(part))
