"""Whether control topics that somebody else has created can hold what they are for.

Each of these topics is read from one partition, and the compacted ones for ever. In a topic with
more partitions, records would be written that no run finds again; in one that Kafka does not
compact, they would be deleted after a time. Both would be noticed only at a later start, as a
position or a state that is gone.
"""

from collections.abc import Collection
from typing import Any

from kafka.admin import ConfigResource, ConfigResourceType

from connector.foundation.errors import SinkRefused
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.sink import connection, kafka_errors
from connector.stream.sink.topic_limits import NOT_ALLOWED

_POLICY = "cleanup.policy"
_COMPACT = "compact"


def require_layout(
    admin: Any, settings: KafkaSettings, topics: Collection[str], compacted: Collection[str]
) -> None:
    """Raise SinkRefused if one of the existing `topics` has more than one partition.

    The same if Kafka does not compact one of the `compacted` topics, or also deletes its records,
    unless the user may not see its settings. Raises KafkaError.
    """
    servers = connection.servers_of(settings)
    for description in admin.describe_topics([*topics]) if topics else ():
        count = len(description["partitions"])
        if not description["error_code"] and count > 1:
            raise SinkRefused(
                kafka_errors.CONTROL_PARTITIONS,
                servers=servers,
                topic=description["name"],
                partitions=count,
            )
    for topic, policy in _policies(admin, compacted).items():
        if policy != _COMPACT:
            raise SinkRefused(
                kafka_errors.NOT_COMPACTED, servers=servers, topic=topic, policy=policy
            )


def _policies(admin: Any, topics: Collection[str]) -> dict[str, str]:
    """Return the policy of each topic whose settings the user may see."""
    asked = [ConfigResource(ConfigResourceType.TOPIC, topic, {_POLICY: None}) for topic in topics]
    try:
        answer = admin.describe_configs(asked, config_filter="all") if asked else {}
    except NOT_ALLOWED:
        return {}
    return {
        topic: values[_POLICY]["value"]
        for configs in answer.values()
        for topic, values in configs.items()
        # The client drops the error of a topic, which then has no settings at all.
        if _POLICY in values
    }
