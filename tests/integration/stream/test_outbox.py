"""The rows of an outbox table as events, in a running pipeline."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.integration.harness import consumer_of, partitions_of, wait_until, wait_until_settled
from tests.integration.proof.delivered import proven

if TYPE_CHECKING:
    from kafka.consumer.fetcher import ConsumerRecord

    from tests.integration.database_stream import Stream

pytestmark = pytest.mark.kafka


def test_copied_and_new_rows_are_events(either_stream: Stream) -> None:
    stream = either_stream
    prefix = stream.prefix
    stream.execute(
        "CREATE TABLE outbox (id CHAR(9) PRIMARY KEY, aggregatetype VARCHAR(9),"
        " aggregateid VARCHAR(9), type VARCHAR(9), payload TEXT)",
        """INSERT INTO outbox VALUES ('a', 'order', '1', 'Created', '{"n": 1}')""",
    )
    chosen = {
        "source__start": "snapshot",
        "envelope__profile": "debezium",
        "envelope.outbox__tables": [f"{stream.database}.outbox"],
        "envelope.outbox__topic_name": f"events-{prefix}.{{value}}",
        "envelope.outbox__headers": ["type"],
        "envelope.outbox__value_format": "plain",
    }
    topics = [f"events-{prefix}.order", f"events-{prefix}.bill"]
    found: list[ConsumerRecord] = []
    with stream.connector(**chosen) as connector, closing(consumer_of(stream.broker)) as consumer:

        def read(topic: str, count: int) -> None:
            consumer.assign(partitions_of(consumer, topic))
            consumer.seek_to_beginning()

            def enough() -> bool:
                for records in consumer.poll(timeout_ms=200).values():
                    found.extend(records)
                return len(found) >= count

            wait_until(enough, lambda: f"only {len(found)} events\n{connector.output()}")

        read(topics[0], 1)
        stream.transaction(
            """INSERT INTO outbox VALUES ('b', 'bill', '7', NULL, '{"n": 2}')""",
            "UPDATE outbox SET type = 'x' WHERE id = 'b'",
            "DELETE FROM outbox",
        )
        read(topics[1], 2)
    assert [(each.topic, each.key, each.value) for each in found] == [
        (topics[0], b'"1"', b'{"n": 1}'),
        (topics[1], b'"7"', b'{"n": 2}'),
    ]
    headers = [dict(each.headers) for each in found]
    assert [(each["id"], each["type"]) for each in headers] == [(b"a", b"Created"), (b"b", None)]
    assert "updates of an outbox" in connector.output()
    wait_until_settled(stream.broker, prefix)
    outcome = proven(stream.config(**chosen))
    assert not outcome.differences
    counts = [outcome.topics[topic] for topic in topics]
    assert [(each.found, sum(each.others.values())) for each in counts] == [(0, 1), (1, 0)]
