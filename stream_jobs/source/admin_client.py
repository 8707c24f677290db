"""kafka-python's client for administration, which few parts of the job need, and only for moments.

It is apart from `client`, because each task of Spark imports that.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka.admin import KafkaAdminClient

from connector.kafka.kafka_python import network_client
from stream_jobs.source.topics import BrokerConfig


@contextmanager
def opened_admin(facts: BrokerConfig) -> Iterator[Any]:
    """Connect for the length of a block. Raises KafkaError and OSError."""
    admin: Any = KafkaAdminClient(
        bootstrap_servers=list(facts.bootstrap_servers),
        request_timeout_ms=round(facts.timeout_seconds * 1000),
        kafka_client=network_client,
        **dict(facts.security),
    )
    try:
        yield admin
    finally:
        admin.close()
