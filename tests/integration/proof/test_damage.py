"""Each kind of damage to a topic is found, with topic, partition and offset."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from connector.foundation.errors import ConfigError
from tests.integration.proof.delivered import proven
from tests.integration.proof.kept_topics import records_of, rewrite

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.proof.delivered import Delivered
    from tests.integration.proof.kept_topics import Records
    from verification.topics.outcome import Example

pytestmark = [pytest.mark.server, pytest.mark.kafka, pytest.mark.timeout(300)]


class Found(NamedTuple):
    """Where a difference is, and what it is."""

    kind: str
    partition: int | None
    offset: int | None
    what: str


def found_in(delivered: Delivered, topic: str) -> list[Found]:
    """Return the differences of a topic, in the order in which they were found."""
    outcome = proven(delivered.config)
    return [_found(example) for example in outcome.examples if example.topic == topic]


def _found(example: Example) -> Found:
    return Found(example.kind, example.partition, example.offset, example.what)


def row(number: int) -> Callable[[Any], Any]:
    """Return what changes a part of a record, by its number."""
    changes: tuple[Callable[[Any], Any], ...] = (
        lambda record: record._replace(key=record.key.replace(b"}", b" }")),
        lambda record: record._replace(value=record.value.replace(b'"c":', b'"C":')),
        lambda record: record._replace(
            headers=[(name, b"x" if name == "cdc.txn" else value) for name, value in record.headers]
        ),
    )
    return changes[number]


def found_after(delivered: Delivered, topic: str, damage: Callable[[Records], None]) -> list[Found]:
    """Damage a topic; return the differences, and put the topic back."""
    before = records_of(delivered.stream.broker, topic)
    rewrite(delivered.stream.broker, topic, damage)
    found = found_in(delivered, topic)
    rewrite(delivered.stream.broker, topic, lambda records: records.update(before))
    return found


def test_a_changed_key_value_or_header_is_found(delivered: Delivered) -> None:
    stream = delivered.stream
    topic = f"{stream.prefix}.{stream.database}.order_lines"
    partition, places, end = -1, [], 0

    def damage(records: Records) -> None:
        nonlocal partition, places, end
        partition = max(records, key=lambda number: len(records[number]))
        of_partition = records[partition]
        rows = [n for n, each in enumerate(of_partition) if each.value is not None]
        places, end = rows[:3], rows[3] + 1
        for number, at in enumerate(places):
            of_partition[at] = row(number)(of_partition[at])
        del of_partition[end:]

    found = found_after(delivered, topic, damage)

    assert found[:3] == [
        Found("different", partition, place, what)
        for place, what in zip(places, ("its key", "its value", "its headers"), strict=True)
    ]
    # The rest of the partition is missing, at its end.
    assert {each[:3] for each in found[3:]} == {("missing", partition, end)}


def test_damaged_transaction_records_are_found(delivered: Delivered) -> None:
    topic = f"{delivered.stream.prefix}.transaction"

    def damage(records: Records) -> None:
        of_topic = records[0]
        assert b'"END"' in of_topic[9].value
        counts = json.loads(of_topic[9].value)
        counts["event_count"] += 1
        value = json.dumps(counts, separators=(",", ":")).encode()
        of_topic[9] = of_topic[9]._replace(value=value)
        # Within the next transaction but one.
        of_topic.insert(13, of_topic[11])
        assert b'"END"' in of_topic.pop(16).value
        assert b'"BEGIN"' in of_topic.pop(18).value

    kind = "transaction record"
    assert found_after(delivered, topic, damage) == [
        Found(kind, 0, 9, "its counts are others"),
        Found(kind, 0, 13, "repeated"),
        Found(kind, 0, 16, "END is missing before this offset"),
        Found(kind, 0, 18, "BEGIN is missing before this offset"),
    ]


def test_records_without_their_progress_record_are_found(delivered: Delivered) -> None:
    place = delivered.marks[2][0]
    file, _, position = place.rpartition(":")

    def lose_the_newest(records: Records) -> None:
        last = records[0][-1]
        # As a run that ended earlier would have left it.
        value = json.loads(last.value) | {"file": file, "position": int(position)}
        records[0] = [last._replace(value=json.dumps(value).encode())]

    assert found_after(delivered, f"{delivered.stream.prefix}.progress", lose_the_newest) == [
        Found("progress record", 0, None, f"the newest one, of {place}, is before this record")
    ]


def test_a_progress_record_that_goes_back_is_found(delivered: Delivered) -> None:
    back = ""
    at = 0

    def go_back(records: Records) -> None:
        nonlocal back, at
        last = records[0][-1]
        value = json.loads(last.value) | {"position": 4}
        back, at = f"{value['file']}:4", len(records[0])
        records[0] += [last._replace(value=json.dumps(value).encode()), last]

    assert found_after(delivered, f"{delivered.stream.prefix}.progress", go_back) == [
        Found("progress record", 0, at, f"it goes back to {back}")
    ]


def test_a_beginning_that_is_no_position_is_a_wrong_argument(delivered: Delivered) -> None:
    with pytest.raises(ConfigError, match="--from: yesterday is neither FILE:POSITION nor"):
        proven(delivered.config, "yesterday")
