"""confluent_reader.py BROKER REGISTRY FORMAT TOPIC: prints records as JSON, one a line.

It runs in an environment of its own. FORMAT is avro, or json_schema: then the registered schema
must allow each key and value. Bytes become hexadecimal text, decimals their digits.
"""

import json
import sys
from decimal import Decimal

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

WAIT_SECONDS = 30.0


def plain(value: object) -> str:
    """Return a value that JSON does not have."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return f"{value:f}"
    raise TypeError(type(value))


def main() -> None:
    """Read all partitions to their ends."""
    broker, url, form, topic = sys.argv[1:]
    registry = SchemaRegistryClient({"url": url})
    deserialize = (
        AvroDeserializer(registry)
        if form == "avro"
        else JSONDeserializer(None, schema_registry_client=registry)
    )
    consumer = Consumer(
        {
            "bootstrap.servers": broker,
            "group.id": "confluent-reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    numbers = consumer.list_topics(topic, WAIT_SECONDS).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
    ended: set[int] = set()
    while len(ended) < len(numbers):
        message = consumer.poll(WAIT_SECONDS)
        if message is None:
            msg = f"{topic}: no answer for {WAIT_SECONDS:g} s"
            raise SystemExit(msg)
        if message.error() is not None:
            if message.error().code() != KafkaError._PARTITION_EOF:
                raise SystemExit(str(message.error()))
            ended.add(message.partition())
            continue
        key, value = (
            deserialize(part, SerializationContext(topic, field))
            for part, field in (
                (message.key(), MessageField.KEY),
                (message.value(), MessageField.VALUE),
            )
        )
        print(json.dumps({"key": key, "value": value}, default=plain))
    consumer.close()


if __name__ == "__main__":
    main()
