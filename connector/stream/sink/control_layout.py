"""Whether control topics that somebody else has created can hold what they are for.

Each of these topics is read from one partition, and the compacted ones for ever. In a topic with
more partitions, records would be written that no run finds again; in one that Kafka does not
compact, they would be deleted after a time. Both would be noticed only at a later start, as a
position or a state that is gone.
"""

from collections.abc import Collection, Mapping
from typing import Any

from connector.foundation.errors import SinkRefused
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.sink import connection, kafka_errors
from connector.stream.sink.topic_limits import NOT_ALLOWED, topic_configs

_POLICY = "cleanup.policy"
_COMPACT, _DELETE = "compact", "delete"
# After which time, and from which size on, Kafka deletes records.
_RETENTION = ("retention.ms", "retention.bytes")
_NO_BOUND = "-1"


def require_layout(
    admin: Any, settings: KafkaSettings, topics: Collection[str], compacted: Collection[str]
) -> None:
    """Raise SinkRefused if one of the existing `topics` has more than one partition.

    The same if Kafka does not compact one of the `compacted` topics, or also deletes its records
    after a time or from a size on, unless the user may not see its settings. Raises KafkaError.
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
    for topic, configs in _configs(admin, compacted).items():
        if _deletes(configs):
            raise SinkRefused(
                kafka_errors.NOT_COMPACTED, servers=servers, topic=topic, policy=configs[_POLICY]
            )


def _configs(admin: Any, topics: Collection[str]) -> dict[str, dict[str, str]]:
    try:
        return topic_configs(admin, topics, (_POLICY, *_RETENTION))
    except NOT_ALLOWED:
        return {}


def _deletes(configs: Mapping[str, str]) -> bool:
    """Return whether Kafka deletes the last record of a key, with such settings of a topic."""
    policies = {policy.strip() for policy in configs[_POLICY].split(",")}
    if _COMPACT not in policies:
        return True
    return _DELETE in policies and any(configs[name] != _NO_BOUND for name in _RETENTION)
