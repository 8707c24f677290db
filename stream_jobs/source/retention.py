"""Until when Kafka keeps records that a table still needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError

from stream_jobs.source.record_batches import newest_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stream_jobs.source.client import KafkaClient
    from stream_jobs.source.facts import KafkaFacts
    from stream_jobs.source.requests import Partition

_RETENTION: Final = "retention.ms"


def kept_until(
    facts: KafkaFacts, client: KafkaClient, needed: Mapping[Partition, int]
) -> dict[str, int]:
    """Return by topic when Kafka may delete the first of the records from `needed` on.

    It is in milliseconds since 1970. A topic is left out that keeps its records for ever, whose
    settings may not be read, or that is limited by its size. Raises MirrorError if a record is
    gone.
    """
    kept_ms = _kept_ms(facts, {topic for topic, _ in needed})
    found: dict[str, int] = {}
    for (topic, partition), offset in needed.items():
        if topic not in kept_ms:
            continue
        for fetched in client.fetch({(topic, partition): offset}, 1):
            time = newest_time(fetched.data)
            if time is not None:
                end = time + kept_ms[topic]
                found[topic] = min(end, found.get(topic, end))
    return found


def _kept_ms(facts: KafkaFacts, topics: Iterable[str]) -> dict[str, int]:
    """Return the retention of topics that have one."""
    asked = [
        ConfigResource(ConfigResourceType.TOPIC, name, {_RETENTION: None})
        for name in sorted(topics)
    ]
    if not asked:
        return {}
    try:
        admin: Any = KafkaAdminClient(
            bootstrap_servers=list(facts.bootstrap_servers),
            request_timeout_ms=round(facts.timeout_seconds * 1000),
            **dict(facts.security),
        )
        try:
            (found,) = admin.describe_configs(asked, config_filter="all").values()
        finally:
            admin.close()
    except KafkaError:
        # How long it keeps records is not known then.
        return {}
    # A topic whose settings the account may not see has none here.
    values = {
        name: int(configs[_RETENTION]["value"])
        for name, configs in found.items()
        if _RETENTION in configs
    }
    return {name: value for name, value in values.items() if value >= 0}
