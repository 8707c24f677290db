"""The topics of tests that have ended, on the broker that they shared.

A client that looks for topics gets those of all tests before it. After some hundred tests, that
took longer than the test itself.
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

from kafka.admin import KafkaAdminClient
from kafka.errors import UnknownTopicOrPartitionError

from connector.kafka.kafka_python import network_client

if TYPE_CHECKING:
    from local_stack import Endpoint

# Deleted together: opening a client costs more than deleting a topic.
_PREFIXES_MAX = 10

_ended: dict[Endpoint, list[str]] = {}


def end_topics(broker: Endpoint, prefix: str) -> None:
    """Delete the topics of a prefix, soon: no test asks for them again."""
    prefixes = _ended.setdefault(broker, [])
    prefixes.append(prefix)
    if len(prefixes) < _PREFIXES_MAX:
        return
    del _ended[broker]
    settings = {"bootstrap_servers": broker.bootstrap, "kafka_client": network_client}
    with closing(KafkaAdminClient(**settings)) as admin:
        topics = [name for name in admin.list_topics() if name.split(".")[0] in prefixes]
        # The client asks once more if the first answer came too late.
        with suppress(UnknownTopicOrPartitionError):
            admin.delete_topics(topics)
