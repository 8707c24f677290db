"""A stop that was asked for leaves nothing open in Kafka: no run may come that would abort it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.simulation.faults import Call, Fault
from tests.simulation.run import finish, prepare
from tests.simulation.story import Change, Story, Transaction
from tests.simulation.verdict import scenario

if TYPE_CHECKING:
    from tests.simulation.world import World

STORY = Story(
    (Transaction(tuple(Change("orders", "c", number, "x" * 200) for number in range(60))),)
)
RECEIVES = 60
BREAKS = [
    (Call.RECEIVE, Fault.CLOSED),
    (Call.RECEIVE, Fault.ERROR),
    (Call.PRODUCE, Fault.LATE),
]


class BrokenThenStopped:
    """A run breaks at a call, and within the pause behind it a stop is asked for."""

    lossy_percent = 0

    def __init__(self, call: Call, fault: Fault, number: int) -> None:
        self.world: World | None = None
        self.began = 0  # transactions that were open when the run broke
        self.left: int | None = None  # and when the process had ended
        self._call, self._fault, self._number = call, fault, number

    def fault(self, step: int, call: Call) -> Fault | None:
        """Return the fault of the step."""
        del step
        world = self.world
        assert world is not None
        if call is self._call:
            self._number -= 1
            if self._number == 0:
                self.began = world.broker.open_transactions
                return self._fault
        elif call is Call.SLEEP and self._number <= 0 and len(world.processes) == 1:
            return Fault.STOP
        if self.left is None and len(world.processes) == 2:
            self.left = world.broker.open_transactions
        return None


@pytest.mark.parametrize(("call", "fault"), BREAKS, ids=str)
def test_nothing_stays_open_after_a_stop_in_the_pause_before_the_next_run(
    call: Call, fault: Fault
) -> None:
    began = 0
    for number in range(1, RECEIVES):
        plan = BrokenThenStopped(call, fault, number)
        plan.world = prepare(scenario(STORY).servers, plan, by_event=True)
        finish(plan.world)
        assert not plan.left
        began += plan.began
    assert began
