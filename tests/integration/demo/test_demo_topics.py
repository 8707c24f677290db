"""The demo's reading of the topics finds what is missing, repeated or out of order."""

from __future__ import annotations

import json
import uuid
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from connector.kafka.kafka_python import network_client
from connector.lake.demo import demo_errors
from connector.lake.demo.topics import TopicReader
from local_stack.server import free_port
from local_stack.stack_errors import LocalStackError
from tests.length import full_only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import KafkaBroker

pytestmark = pytest.mark.kafka

TABLE = "orders"


class Topics:
    """Topics of one pipeline, written to in Kafka transactions."""

    def __init__(self, bootstrap: str) -> None:
        self.prefix = f"p{uuid.uuid4().hex[:8]}"
        self.topic = f"{self.prefix}.shop.{TABLE}"
        with closing(
            KafkaAdminClient(bootstrap_servers=bootstrap, kafka_client=network_client)
        ) as admin:
            for topic, partitions in ((self.topic, 2), (f"{self.prefix}.progress", 1)):
                admin.create_topics(
                    {topic: {"num_partitions": partitions, "replication_factor": 1}},
                    wait_for_metadata=True,
                )
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap,
            kafka_client=network_client,
            transactional_id=self.prefix,
            retry_backoff_ms=5,
        )
        self._producer.init_transactions()
        self.reader = TopicReader(bootstrap, self.prefix)
        self._written, self._committed = (
            KafkaConsumer(
                bootstrap_servers=bootstrap,
                kafka_client=network_client,
                group_id=None,
                isolation_level=level,
            )
            for level in ("read_uncommitted", "read_committed")
        )

    def close(self) -> None:
        self.reader.__exit__(None, None, None)
        for client in (self._producer, self._written, self._committed):
            client.close()

    def write(
        self, *records: tuple[int, int | None, bytes | None], abort: bool = False, gtids: str = ""
    ) -> None:
        """Write records of (partition, sequence, value) in one transaction, and progress."""
        self._producer.begin_transaction()
        for partition, sequence, value in records:
            headers = [] if sequence is None else [("cdc.seq", f"{sequence:038d}".encode())]
            self._producer.send(
                self.topic, key=b"k", value=value, headers=headers, partition=partition
            )
        if gtids:
            value = json.dumps({"gtid_set": gtids}).encode()
            self._producer.send(f"{self.prefix}.progress", key=b"demo", value=value, partition=0)
        if abort:
            self._producer.abort_transaction()
        else:
            self._producer.commit_transaction()

        # What was committed is visible only when the broker has written so to each partition.
        partitions = [TopicPartition(self.topic, number) for number in (0, 1)]
        while self._committed.end_offsets(partitions) != self._written.end_offsets(partitions):
            pass

    def progress(self, gtids: str) -> None:
        """Wait until the progress is that: a commit is visible a moment after it is accepted."""
        while True:
            progress = self.reader.progress("demo")
            if progress is not None and progress["gtid_set"] == gtids:
                return

    def check(self) -> Any:
        return self.reader.check("shop", [TABLE])[TABLE]


@pytest.fixture
def topics(kafka_broker: KafkaBroker) -> Iterator[Topics]:
    """A pipeline's topics of this test."""
    with closing(Topics(kafka_broker.endpoint.bootstrap)) as topics:
        yield topics


def test_changes_in_order_with_tombstones_after_their_deletes_are_right(topics: Topics) -> None:
    topics.write((0, 1, b"c"), (1, 2, b"c"), (0, 3, b"d"), (0, 3, None), (0, 4, b"c"))
    topics.write((1, 5, b"u"))
    check = topics.check()
    assert (check.records, check.problem_count, check.problems) == (5, 0, [])


def test_what_was_aborted_is_not_seen(topics: Topics) -> None:
    topics.write((0, 1, b"c"), abort=True)
    topics.write((0, 1, b"c"))
    check = topics.check()
    assert (check.records, check.problems) == (1, [])


def test_a_change_that_is_there_twice_is_found(topics: Topics) -> None:
    topics.write((0, 1, b"c"), (1, 1, b"c"))
    assert topics.check().problems == [f"{topics.topic}[1]@0 has a sequence that was there before"]


def test_a_change_after_a_later_one_is_found(topics: Topics) -> None:
    topics.write((0, 2, b"c"), (0, 1, b"c"))
    assert topics.check().problems == [
        f"{topics.topic}[0]@1 has a lower sequence than the record before it"
    ]


def test_a_tombstone_without_its_delete_is_found(topics: Topics) -> None:
    topics.write((0, 1, b"d"), (0, 2, None))
    assert topics.check().problems == [
        f"{topics.topic}[0]@1 is a tombstone that does not follow its delete"
    ]


def test_a_record_without_a_sequence_is_found(topics: Topics) -> None:
    topics.write((0, None, b"c"))
    assert topics.check().problems == [f"{topics.topic}[0]@0 has no header cdc.seq"]


def test_a_broker_that_does_not_deliver_is_told(
    topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics.write((0, 1, b"c"))
    monkeypatch.setattr("connector.lake.demo.topics.IDLE_POLLS_MAX", -1)
    with pytest.raises(LocalStackError) as caught:
        topics.check()
    # The record, and the marker of its transaction.
    assert caught.value.text == (
        f"Kafka does not deliver {topics.topic} up to its end, offset 2; see its log in the demo's "
        "directory"
    )


@full_only
def test_a_broker_that_is_away_is_told() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(LocalStackError) as caught:
        TopicReader(address, "p")
    assert caught.value.code is demo_errors.KAFKA_AWAY
    assert caught.value.text.startswith(f"Kafka at {address} does not answer: ")


def test_all_problems_are_counted_and_the_first_are_told(topics: Topics) -> None:
    topics.write(*[(0, None, b"c")] * 8)
    check = topics.check()
    assert (check.problem_count, len(check.problems)) == (8, 5)


def test_progress_is_the_last_that_was_committed(topics: Topics) -> None:
    assert topics.reader.progress("demo") is None
    topics.write(gtids="uuid:1")
    topics.write(gtids="uuid:1-2")
    topics.write(gtids="uuid:1-3", abort=True)
    topics.progress("uuid:1-2")
    assert topics.reader.progress("another") is None
    topics.write(gtids="uuid:1-4")
    topics.progress("uuid:1-4")


def test_the_end_of_a_topic_lies_after_records_and_markers(topics: Topics) -> None:
    assert topics.reader.ends("shop", [TABLE]) == {topics.topic: {0: 0, 1: 0}}
    topics.write((0, 1, b"c"), (0, 2, b"c"))
    assert topics.reader.ends("shop", [TABLE, "never_written"]) == {topics.topic: {0: 3, 1: 0}}
