"""Two instances of one pipeline: the newer goes on, the older is fenced wherever it stood still."""

from __future__ import annotations

from random import Random

import pytest

from connector.foundation.errors import Superseded
from tests.length import length
from tests.simulation.faults import Call, Fault, Single, Undisturbed
from tests.simulation.run import simulate
from tests.simulation.story import random_story
from tests.simulation.verdict import check_alike, check_story, scenario

# How long the newer one runs, in steps, before the older one goes on; and then once more.
TURNS = (9, 2, 30)[: length(short=1, full=3)]
# In the short form, each of the cases below begins at another step: together they see each step.
STEP = length(short=6, full=1)
# What the older one meets when it goes on.
MEETS = {"nothing": None, "a closed connection": Fault.CLOSED, "a timeout": Fault.STALL}


@pytest.mark.parametrize("meets", MEETS)
def test_the_newer_instance_goes_on(meets: str) -> None:
    chosen = scenario(random_story(Random(5), 4))
    calm = Undisturbed()
    expected = simulate(chosen.servers, calm, by_event=True).broker
    fault = MEETS[meets]
    fenced = 0
    first = calm.calls.index(Call.RECEIVE) + 1  # it has claimed the pipeline
    first += list(MEETS).index(meets) % STEP
    for step in range(first, len(calm.calls) + 1, STEP):
        for turn in TURNS:
            back = step + turn
            faults = [(step, Fault.RIVAL), (back, Fault.SWITCH), (back + turn, Fault.SWITCH)]
            if fault is not None:
                faults.append((back + 1, fault))
            world = simulate(chosen.servers, Single(*faults), by_event=True)
            check_story(chosen, world.broker)
            check_alike(world.broker, expected)
            older, newer = world.processes[:2]
            assert newer.outcome is None
            assert older.outcome is None or isinstance(older.outcome, Superseded)
            fenced += older.outcome is not None
    assert fenced


def test_a_new_process_that_fails_before_its_first_commit_is_not_fenced() -> None:
    chosen = scenario(random_story(Random(6), 3))
    calm = Undisturbed()
    expected = simulate(chosen.servers, calm, by_event=True).broker
    dies = calm.calls.index(Call.RECEIVE) + 1
    for later in range(1, dies + 1):
        plan = Single((dies, Fault.KILL), (dies + later, Fault.REFUSED))
        world = simulate(chosen.servers, plan, by_event=True)
        assert [process.outcome for process in world.processes] == [None, None]
        check_alike(world.broker, expected)
