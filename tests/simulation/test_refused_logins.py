"""A login may be refused for a while: a password is changed, a name is not known for a moment."""

from __future__ import annotations

import pytest

from connector.foundation.errors import ConnectorError, SinkRefused, SourceRefused
from connector.replication import answer_errors
from connector.stream.sink import kafka_errors
from tests.simulation.faults import AtCalls, Call, Fault, Undisturbed
from tests.simulation.run import SETTINGS, prepare, simulate
from tests.simulation.story import Change, Story, Transaction
from tests.simulation.verdict import check_alike, check_story, scenario, undisturbed

STORY = Story(tuple(Transaction((Change("orders", "c", row, "text"),)) for row in range(3)))
EVERY = range(1, 200)


class DeniedAfterCut(AtCalls):
    """The stream breaks once; then logins of one kind are refused `times`."""

    def __init__(self, call: Call, times: int) -> None:
        super().__init__(call, Fault.DENIED, *range(2, times + 2))
        self._received = 0

    def fault(self, step: int, call: Call) -> Fault | None:
        """Return the fault of a call."""
        if call is Call.RECEIVE:
            self._received += 1
            return Fault.CLOSED if self._received == 2 else None
        return super().fault(step, call)


@pytest.mark.parametrize("call", [Call.CHOOSE, Call.OPEN, Call.TAKE_OVER])
def test_a_stream_waits_while_its_login_is_refused(call: Call) -> None:
    chosen = scenario(STORY)
    plan = DeniedAfterCut(call, times=6)
    world = simulate(chosen.servers, plan, by_event=True)
    check_story(chosen, world.broker)
    check_alike(world.broker, undisturbed(chosen))
    assert len(world.processes) == 1


@pytest.mark.parametrize(
    ("call", "kind"), [(Call.CHOOSE, SourceRefused), (Call.TAKE_OVER, SinkRefused)]
)
def test_a_stream_whose_login_stays_refused_ends_after_refused_seconds(
    call: Call, kind: type[ConnectorError]
) -> None:
    begun, error = _ended(DeniedAfterCut(call, times=1000), SETTINGS.retry.refused_seconds)
    assert type(error) is kind
    assert error.code in (answer_errors.WRONG_PASSWORD, kafka_errors.LOGIN)
    assert 300 <= begun < 400


@pytest.mark.parametrize("call", [Call.CHOOSE, Call.TAKE_OVER])
def test_a_login_that_is_refused_at_the_start_ends_the_process_within_seconds(call: Call) -> None:
    seconds, _ = _ended(AtCalls(call, Fault.DENIED, *EVERY), SETTINGS.retry.refused_seconds)
    assert 10 <= seconds < 30


class DeniedByBoth(Undisturbed):
    """At the start, Kafka refuses some logins, and then the source does."""

    def __init__(self, kafka: int, source: int) -> None:
        self._left = {Call.TAKE_OVER: kafka, Call.CHOOSE: source}

    def fault(self, step: int, call: Call) -> Fault | None:
        """Return the fault of a call."""
        del step
        if not self._left.get(call):
            return None
        self._left[call] -= 1
        return Fault.DENIED


def test_each_server_may_refuse_the_login_for_seconds_at_the_start() -> None:
    """Together, it takes longer than one of them may refuse."""
    chosen = scenario(STORY)
    world = simulate(chosen.servers, DeniedByBoth(kafka=4, source=2), by_event=True)
    check_story(chosen, world.broker)
    check_alike(world.broker, undisturbed(chosen))
    assert len(world.processes) == 1


def test_without_refused_seconds_a_refused_login_ends_the_process_at_once() -> None:
    seconds, _ = _ended(DeniedAfterCut(Call.CHOOSE, times=1000), 0.0)
    assert seconds < 10


def _ended(plan: Undisturbed | AtCalls, refused_seconds: float) -> tuple[float, ConnectorError]:
    """Return for how many seconds a run that fails has gone on, and its error."""
    retry = SETTINGS.retry.model_copy(update={"refused_seconds": refused_seconds})
    settings = SETTINGS.model_copy(update={"retry": retry})
    world = prepare(scenario(STORY).servers, plan, by_event=True, settings=settings)
    begun = world.now
    with pytest.raises(ConnectorError) as caught:
        world.until_finished()
    return world.now - begun, caught.value
