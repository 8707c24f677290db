"""count_records.py BOOTSTRAP TOPIC...: what a read_committed consumer finds, as one JSON object.

Changes by operation, and records without a value. Every partition is read from its start to the end
that it has now.
"""

import json
import sys
from collections import Counter

from confluent_kafka import Consumer, KafkaException, TopicPartition

OP = b'"op":"'


def main() -> None:
    """Read the topics."""
    bootstrap, *topics = sys.argv[1:]
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "count",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    partitions = [
        TopicPartition(topic, partition, 0)
        for topic in topics
        for partition in consumer.list_topics(topic, timeout=10).topics[topic].partitions
    ]
    consumer.assign(partitions)
    found: Counter[str] = Counter()
    ended = 0
    while ended < len(partitions):
        for message in consumer.consume(10_000, timeout=0.2):
            if (error := message.error()) is not None:
                if error.name() != "_PARTITION_EOF":
                    raise KafkaException(error)
                ended += 1
                continue
            value = message.value()
            if value is None:
                found["tombstones"] += 1
                continue
            at = value.rfind(OP) + len(OP)
            found[value[at : at + 1].decode()] += 1
    consumer.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
