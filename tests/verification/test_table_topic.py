"""Offsets that a topic does not have any more, or not yet again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from connector.foundation import contract
from stream_jobs.errors import MirrorError, record_errors
from tests.foundation.errors.texts import shown
from verification import verify_errors
from verification.table_topic import LostRecordsError, read_records, require_records

if TYPE_CHECKING:
    from kafka import KafkaConsumer, TopicPartition

TOPIC = "shop.erp.orders"
HEADERS = [
    (contract.HEADER_OP, b"c"),
    (contract.HEADER_SEQ, b"1"),
    (contract.HEADER_TXN, b"binlog.000001:4"),
]


class Partition:
    """A consumer of one partition, as kafka-python has it: it begins again where it has nothing."""

    def __init__(self, ends: list[int]) -> None:
        """Have an end for each look, and then the last one."""
        self._ends = ends
        self._position = 0

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Read these: there is only one."""

    def seek(self, _: TopicPartition, offset: int) -> None:
        self._position = offset

    def position(self, _: TopicPartition) -> int:
        return self._position

    def poll(self, timeout_ms: int) -> SimpleNamespace:
        del timeout_ms
        if self._position > self._ends[0]:
            self._position = 0
        offsets = range(self._position, self._ends[0])
        self._position += len(offsets)
        return SimpleNamespace(
            get=lambda *_: [
                SimpleNamespace(headers=HEADERS, value=b"", offset=offset) for offset in offsets
            ]
        )

    def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        if len(self._ends) > 1:
            del self._ends[0]
        return dict.fromkeys(partitions, self._ends[0])


def read(begin: int, stop: int, ends: list[int], patience: float = 0.0) -> list[int]:
    consumer = cast("KafkaConsumer", Partition(ends))
    read = read_records(consumer, TOPIC, {0: begin}, {0: stop}, patience)
    return [record.offset for records in read for record in records]


def test_records_are_those_between_two_offsets_and_a_late_end_is_waited_for() -> None:
    assert read(3, 6, [9]) == [3, 4, 5]
    assert read(3, 6, [4, 4, 6], patience=60.0) == [3, 4, 5]


@pytest.mark.parametrize("begin", [25, 400])
def test_what_a_topic_that_was_made_again_does_not_have_is_not_waited_for(begin: int) -> None:
    with pytest.raises(MirrorError) as caught:
        read(begin, 500, [30])
    facts = {"topic": TOPIC, "partition": 0, "end": 30, "offset": 500}
    assert str(caught.value) == shown(record_errors.TOPIC_SHORTER, **facts)


def test_offsets_outside_of_a_topic_are_lost() -> None:
    require_records(TOPIC, {0: 5, 1: 9}, {0: 5, 1: 0, 2: 0}, {0: 5, 1: 10, 2: 3})
    with pytest.raises(LostRecordsError) as caught:
        require_records(TOPIC, {0: 500}, {0: 0}, {0: 30})
    facts = {"topic": TOPIC, "partition": 0, "end": 30, "offset": 500}
    assert str(caught.value.since(4, "erp.orders")) == shown(record_errors.TOPIC_SHORTER, **facts)
    with pytest.raises(LostRecordsError) as caught:
        require_records(TOPIC, {}, {0: 7}, {0: 30})
    facts = {"table": "erp.orders", "number": 4, "partition": 0, "offset": 0, "first": 7}
    assert str(caught.value.since(4, "erp.orders")) == shown(verify_errors.RECORDS_LOST, **facts)
    # The topic is not there any more.
    with pytest.raises(LostRecordsError):
        require_records(TOPIC, {0: 500}, {}, {})
