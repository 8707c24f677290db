"""Transaction records are proven as far as their topic keeps them, and no further."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from verification.topics.outcome import Outcome
from verification.topics.transaction_topic import TransactionTopic

# A transaction takes a second.
START_MS = 1_700_000_000_000


class Kept(NamedTuple):
    """A record of the topic."""

    offset: int
    key: bytes
    value: bytes


def pair(number: int) -> list[tuple[bytes, bytes]]:
    """Return the two records of a transaction, as keys and values."""
    time_ms = START_MS + number * 1000
    key = json.dumps({"id": f"f:{number}"}).encode()
    return [
        (key, b'{"status":"%s","ts_ms":%d}' % (status, time_ms)) for status in (b"BEGIN", b"END")
    ]


def topic_of(outcome: Outcome, first: int, last: int, *without: int) -> TransactionTopic:
    """Return a topic that has lost what came before transaction `first`, and those of `without`."""
    kept = [
        Kept(0, key, value)
        for number in range(first, last)
        if number not in without
        for key, value in pair(number)
    ]
    return TransactionTopic(outcome, "p", lambda _: (True, iter(kept)), shared_prefix=False)


def expect(topic: TransactionTopic, first: int, last: int) -> None:
    for number in range(first, last):
        for key, value in pair(number):
            topic.expect(key, value, partial=False)


@pytest.mark.parametrize("count", [900, 1000, 5000])
def test_what_the_topic_has_lost_is_expired_however_much_it_is(count: int) -> None:
    outcome = Outcome()
    topic = topic_of(outcome, count, count + 600)
    expect(topic, 0, count + 600)
    topic.finish()
    counts = outcome.of(topic.topic)
    assert outcome.is_equal, outcome.examples
    assert (counts.expected, counts.found) == (2 * count + 1200, 1200)
    assert counts.others == {"expired": 2 * count}


def test_what_is_missing_among_the_kept_records_is_found() -> None:
    outcome = Outcome()
    topic = topic_of(outcome, 5000, 7000, 5100, 6999)
    expect(topic, 0, 7000)
    topic.finish()
    assert outcome.differences == {"transaction record": 4}
    assert [example.transaction for example in outcome.examples] == ["f:5100"] * 2 + ["f:6999"] * 2


def test_records_before_the_range_are_left_out_however_many_they_are() -> None:
    outcome = Outcome()
    topic = topic_of(outcome, 0, 5600)
    expect(topic, 5000, 5600)
    topic.finish()
    assert outcome.is_equal
    assert outcome.of(topic.topic).found == 1200


def test_nothing_is_expired_after_a_record_that_was_found() -> None:
    outcome = Outcome()
    topic = topic_of(outcome, 100, 300, 200)
    expect(topic, 0, 150)
    topic.begin()
    expect(topic, 200, 300)
    topic.finish()
    assert outcome.differences == {"transaction record": 2}
    assert outcome.others == {"expired": 200}


def test_a_topic_without_records_has_lost_all() -> None:
    outcome = Outcome()
    topic = topic_of(outcome, 0, 0)
    expect(topic, 0, 3000)
    topic.finish()
    assert (outcome.is_equal, outcome.others) == (True, {"expired": 6000})
