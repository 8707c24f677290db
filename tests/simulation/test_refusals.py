"""A change that cannot be published ends the run by name; all before it is delivered."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import UnsupportedChange
from tests.length import length
from tests.simulation.faults import Plan, Seeded, Undisturbed
from tests.simulation.run import finish, prepare
from tests.simulation.story import Story, Transaction, Unlogged, random_story
from tests.simulation.verdict import Scenario, Source, check_alike, scenario, undisturbed

if TYPE_CHECKING:
    from tests.simulation.broker import Broker
    from tests.simulation.log_writer import Flavour

STORIES = length(short=10, full=30)


def refused(chosen: Scenario, plan: Plan, seed: int) -> tuple[Broker, str]:
    world = prepare(chosen.servers, plan, seed=seed)
    with pytest.raises(UnsupportedChange) as caught:
        finish(world)
    return world.broker, caught.value.text


@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_everything_before_a_change_that_cannot_be_published_is_delivered(flavour: Flavour) -> None:
    for seed in range(STORIES):
        random = Random(f"{flavour} {seed}")
        before = random_story(random, random.randint(1, 8))
        behind = tuple(s for s in random_story(random, 2).steps if type(s) is Transaction)
        story = Story((*before.steps, Unlogged("orders"), *behind))
        expected = undisturbed(scenario(before, Source(flavour)))
        chosen = scenario(story, Source(flavour))
        broker, text = refused(chosen, Undisturbed(), seed)
        check_alike(broker, expected)
        assert "UPDATE in database shop, logged as a statement, cannot be published" in text
        plan = Seeded(random, last_step=100)
        disturbed, disturbed_text = refused(chosen, plan, seed)
        check_alike(disturbed, expected)
        assert disturbed_text == text
