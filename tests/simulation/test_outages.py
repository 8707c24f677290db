"""Kafka may be gone for as long as it likes: that is not a transaction which takes too long."""

from __future__ import annotations

import pytest

from connector.foundation.errors import SinkRefused
from tests.simulation.faults import AtCalls, Call, Fault
from tests.simulation.run import finish, prepare
from tests.simulation.story import Change, Story, Transaction
from tests.simulation.verdict import check_alike, scenario, undisturbed

STORY = Story((Transaction((Change("orders", "c", 1, "text"),)),))
# The first one of each pipeline is its claim, the second one has the transaction.
SECOND_CALLS = (2, 4, 6, 8)
# Batches are written again: then Kafka has aborted their transaction.
SECOND_BATCHES = (2, 5, 8, 11)


@pytest.mark.parametrize(
    ("call", "numbers"),
    [
        (Call.ADD, SECOND_CALLS),
        (Call.PRODUCE, SECOND_BATCHES),
        (Call.COMMIT, SECOND_CALLS),
    ],
)
def test_a_transaction_meets_one_outage_after_the_other(
    call: Call, numbers: tuple[int, ...]
) -> None:
    chosen = scenario(STORY)
    world = prepare(chosen.servers, AtCalls(call, Fault.OUTAGE, *numbers))
    finish(world)
    check_alike(world.broker, undisturbed(chosen))


def test_a_transaction_that_kafka_aborts_twice_is_named() -> None:
    chosen = scenario(STORY)
    world = prepare(chosen.servers, AtCalls(Call.COMMIT, Fault.STALL, *SECOND_CALLS))
    with pytest.raises(SinkRefused) as caught:
        finish(world)
    assert caught.value.text == (
        "kafka simulation:9092: source transaction 11111111-2222-3333-4444-555555555555:1 was not "
        "delivered in 200 seconds, nor the time before, and Kafka aborts what takes longer than "
        "kafka.transaction_timeout_seconds (60); raise it, and transaction.max.timeout.ms of the "
        "brokers if that is lower"
    )
