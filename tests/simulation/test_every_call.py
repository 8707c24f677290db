"""Each call that a run makes of its peers goes wrong, in every way that there is."""

from __future__ import annotations

import pytest

from tests.length import length
from tests.simulation.faults import APPLICABLE, AtCalls, Call, Fault, Single, Undisturbed
from tests.simulation.run import SETTINGS, simulate
from tests.simulation.story import Change, Rotation, Statement, Story, Transaction, Truncate
from tests.simulation.verdict import SOURCES, check_alike, check_rising, check_story, scenario

STORY = Story(
    (
        Transaction((Change("orders", "c", 1, "a"), Change("items", "c", 1, "b"))),
        Statement("CREATE TABLE shop.more (x int)"),
        Transaction((Change("orders", "u", 1, "a", 2), Change("private", "c", 1, "x"))),
        Rotation(),
        Truncate("items", known=True),
        Transaction(tuple(Change("ships", "c", row, "s") for row in range(9)), rows_per_event=4),
    )
)
# Commits come between the transactions of so short a log.
HASTY = SETTINGS.model_copy(
    update={"delivery": SETTINGS.delivery.model_copy(update={"commit_interval_ms": 8})}
)
# So many steps behind a fault the process dies, before the run has come to rest.
SECOND_STEPS = (4, 1, 11)[: length(short=1, full=3)]


# One of so many faults of a call; each call begins at another one, and so does each server, so that
# together they see each fault of each call.
STEP = length(short=11, full=1)
# The same for a fault before a death.
SECOND_STEP = length(short=9, full=1)


@pytest.mark.parametrize("name", SOURCES)
def test_every_call_may_fail_in_every_way(name: str) -> None:
    chosen = scenario(STORY, SOURCES[name])
    calm = Undisturbed()
    expected = simulate(chosen.servers, calm, by_event=True, settings=HASTY).broker
    check_story(chosen, expected)
    assert len(expected.committed) > 3
    for step, call in enumerate(calm.calls, 1):
        first = (step + len(name)) % STEP
        for fault in APPLICABLE[call][first::STEP]:
            plan = Single((step, fault))
            world = simulate(chosen.servers, plan, by_event=True, settings=HASTY)
            check_story(chosen, world.broker)
            check_rising(world.broker)
            check_alike(world.broker, expected)


def test_whatever_failed_may_fail_again_while_it_recovers() -> None:
    chosen = scenario(STORY)
    calm = Undisturbed()
    expected = simulate(chosen.servers, calm, by_event=True, settings=HASTY).broker
    for step, call in enumerate(calm.calls, 1):
        for fault in APPLICABLE[call][step % SECOND_STEP :: SECOND_STEP]:
            for later in SECOND_STEPS:
                plan = Single((step, fault), (step + later, Fault.KILL))
                world = simulate(chosen.servers, plan, by_event=True, settings=HASTY)
                check_story(chosen, world.broker)
                check_alike(world.broker, expected)


def test_the_failure_of_a_commit_may_come_out_of_the_call_that_gives_kafka_the_next_records() -> (
    None
):
    # Rows that do not fit into the open batches are sent before the commit.
    rows = tuple(Change("orders", "c", row, "x" * 250) for row in range(70))
    chosen = scenario(Story((Transaction(rows[:10]), Transaction(rows[10:], rows_per_event=9))))
    calm = Undisturbed()
    expected = simulate(chosen.servers, calm, by_event=True, settings=HASTY).broker
    commits = calm.calls.count(Call.COMMIT)
    assert commits
    for number in range(1, commits + 1):
        for fault in APPLICABLE[Call.COMMIT]:
            plan = AtCalls(Call.COMMIT, fault, number)
            world = simulate(chosen.servers, plan, by_event=True, settings=HASTY)
            check_story(chosen, world.broker)
            check_alike(world.broker, expected)


def test_a_late_commit_does_not_commit_the_start_of_the_next_transaction() -> None:
    # The second one takes many requests, and has to be read again as a whole.
    rows = tuple(Change("orders", "c", row, "x" * 250) for row in range(150))
    chosen = scenario(Story((Transaction(rows[:10]), Transaction(rows[10:], rows_per_event=9))))
    expected = simulate(chosen.servers, Undisturbed(), settings=HASTY).broker
    for seed in range(length(short=10, full=200)):
        for number in (1, 2):
            plan = AtCalls(Call.COMMIT, Fault.LATE, number)
            world = simulate(chosen.servers, plan, seed=seed, settings=HASTY)
            check_story(chosen, world.broker)
            check_rising(world.broker)
            check_alike(world.broker, expected)
