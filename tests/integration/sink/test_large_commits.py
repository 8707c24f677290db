"""While Kafka commits a large transaction, the sink takes the next one."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import SinkUnavailable, Superseded
from tests.integration.harness import wait_until
from tests.integration.sink.commits import PROGRESS, commit, delivered, keys, publish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.stream.sink.kafka_sink import KafkaSink
    from local_stack import KafkaBroker

    Open = Callable[..., KafkaSink]

pytestmark = pytest.mark.kafka

ROOM = 8 << 20
LARGE = 2000  # bytes of a record; 500 of them go to the stream's thread


@contextmanager
def standing_still(broker: KafkaBroker) -> Iterator[None]:
    """Have the broker do nothing within the block."""
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(broker.pid, signal.SIGCONT)


def test_the_next_transaction_is_taken_while_a_large_one_is_committed(
    open_sink: Open, prefix: str, kafka_broker: KafkaBroker
) -> None:
    sink = open_sink(in_flight_bytes_max=ROOM)
    # The topic exists from here on, and its leader is known.
    publish(sink, prefix, range(1), LARGE)
    commit(sink, PROGRESS)
    publish(sink, prefix, range(1, 500), LARGE)
    with standing_still(kafka_broker):
        sink.start_commit(PROGRESS)
        assert sink.is_committing
        # More than there is room for, but for its compression.
        publish(sink, prefix, range(500, 6000), LARGE)
        assert sink.is_committing
        assert 0 < sink.in_flight_bytes <= ROOM < 5500 * LARGE
    sink.settle()
    # The next one may be open now.
    wait_until(
        lambda: keys(kafka_broker, prefix) == list(range(500)), lambda: keys(kafka_broker, prefix)
    )
    commit(sink, PROGRESS)
    # A small one after it goes directly, with the numbers that follow.
    publish(sink, prefix, range(6000, 6001))
    commit(sink, PROGRESS)
    assert delivered(kafka_broker, prefix) == list(range(6001))
    assert sink.in_flight_bytes == 0


def test_what_has_no_room_beside_a_commit_waits_for_its_end(
    open_sink: Open, prefix: str, kafka_broker: KafkaBroker
) -> None:
    sink = open_sink()
    for number in range(0, 6000, 1000):
        publish(sink, prefix, range(number, number + 1000), LARGE)
        assert sink.in_flight_bytes <= 1 << 20
        sink.start_commit(PROGRESS)
    sink.settle()
    assert delivered(kafka_broker, prefix) == list(range(6000))


def test_an_abort_keeps_the_transaction_that_is_being_committed(
    open_sink: Open, prefix: str, kafka_broker: KafkaBroker
) -> None:
    sink = open_sink(in_flight_bytes_max=ROOM)
    publish(sink, prefix, range(500), LARGE)
    sink.start_commit(PROGRESS)
    publish(sink, prefix, range(500, 1500), LARGE)
    sink.abort()
    assert delivered(kafka_broker, prefix) == list(range(500))
    publish(sink, prefix, range(1500, 2000), LARGE)
    sink.start_commit(PROGRESS)
    publish(sink, prefix, range(2000, 3000), LARGE)
    sink.abandon()
    assert delivered(kafka_broker, prefix) == [*range(500), *range(1500, 2000)]


def test_a_large_commit_of_a_fenced_producer_fails_at_its_end(
    open_sink: Open, prefix: str, kafka_broker: KafkaBroker
) -> None:
    sink = open_sink(in_flight_bytes_max=ROOM)
    publish(sink, prefix, range(500), LARGE)
    successor = open_sink(in_flight_bytes_max=ROOM)
    with pytest.raises((Superseded, SinkUnavailable)):
        commit(sink, PROGRESS)
    sink.abandon()
    publish(successor, prefix, range(500, 1000), LARGE)
    commit(successor, PROGRESS)
    assert delivered(kafka_broker, prefix) == list(range(500, 1000))
    assert keys(kafka_broker, prefix) == list(range(500, 1000))
