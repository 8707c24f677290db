"""A source that breaks each connection at once is left in peace for longer and longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import SourceUnavailable
from tests.simulation.faults import AtCalls, Call, Fault
from tests.simulation.run import SETTINGS, Beside, finish, prepare
from tests.simulation.story import Change, Story, Transaction
from tests.simulation.verdict import scenario

if TYPE_CHECKING:
    from connector.stream.metrics.pipeline_metrics import PipelineMetrics
    from tests.simulation.world import Process

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


class SeenTimes(Beside):
    """Notes with which time of the source each run begins to stream."""

    def __init__(self) -> None:
        super().__init__(SETTINGS)
        self.committed_us: list[int] = []

    def watch(self, process: Process, figures: PipelineMetrics) -> None:
        del process
        assert figures.position is not None
        self.committed_us.append(figures.position.committed_us)


@pytest.mark.parametrize("fault", [Fault.CLOSED, Fault.KILL])
def test_a_run_knows_when_the_last_transaction_of_the_runs_before_it_was_committed(
    fault: Fault,
) -> None:
    # Lag and time to purge count from it while the run delivers nothing.
    written = scenario(Story(STORY.steps * 20))
    # Every run delivers some, each event for itself.
    plan = AtCalls(Call.RECEIVE, fault, *range(60, 400, 60))
    seen = SeenTimes()
    world = prepare(written.servers, plan, by_event=True, beside=seen)
    finish(world)
    first, *others = seen.committed_us
    assert first == 0
    assert len(others) > 1
    assert others == sorted(set(others) & set(written.writers[0].committed_us[1:]))
