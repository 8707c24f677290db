"""A source that breaks each connection at once is left in peace for longer and longer."""

from __future__ import annotations

import pytest

from connector.foundation.errors import SourceUnavailable
from tests.simulation.faults import AtCalls, Call, Fault
from tests.simulation.run import SETTINGS, finish, prepare
from tests.simulation.story import Change, Story, Transaction
from tests.simulation.verdict import scenario

STORY = Story((Transaction((Change("orders", "c", 1, "text"),)),))
ATTEMPTS = 8


def test_attempts_whose_connection_breaks_at_once_count_and_wait() -> None:
    settings = SETTINGS.model_copy(
        update={"retry": SETTINGS.retry.model_copy(update={"attempts_max": ATTEMPTS})}
    )
    plan = AtCalls(Call.RECEIVE, Fault.CLOSED, *range(1, 100))
    world = prepare(scenario(STORY).servers, plan, settings=settings)
    began = world.now
    with pytest.raises(SourceUnavailable, match="the server closed the connection"):
        finish(world)
    pauses = sum(min(0.5 * 2**number, 30.0) for number in range(ATTEMPTS - 1))
    assert world.now - began >= pauses
    assert len(world.broker.committed) == ATTEMPTS


def test_attempts_after_a_run_that_delivered_something_count_anew() -> None:
    settings = SETTINGS.model_copy(
        update={"retry": SETTINGS.retry.model_copy(update={"attempts_max": 2})}
    )
    many = Story(STORY.steps * 5)
    # With each event for itself, every run brings some before it breaks.
    plan = AtCalls(Call.RECEIVE, Fault.CLOSED, *range(30, 200, 30))
    world = prepare(scenario(many).servers, plan, settings=settings, by_event=True)
    finish(world)
