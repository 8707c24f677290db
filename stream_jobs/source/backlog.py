"""The backlog of a topic: since when its records wait, and until when Kafka keeps them."""

from collections.abc import Iterable, Mapping
from typing import Final

from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from stream_jobs.source.admin_client import opened_admin
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.record_batches import first_committed_time, newest_time
from stream_jobs.source.requests import Partition
from stream_jobs.source.topics import BrokerConfig

# Enough for the markers of some hundred transactions, and a broker returns at least one batch.
_BYTES = 64 * 1024


def oldest_pending_time(
    client: KafkaClient, begun: Mapping[Partition, int], ends: Mapping[Partition, int]
) -> int | None:
    """Return the time of the oldest committed record from `begun` to `ends`, in ms since 1970.

    None if there is none: the offsets between them are of markers, or of what was rolled back.
    Raises MirrorError if Kafka does not answer, or if a record is gone.
    """
    times = [
        time
        for partition, offset in begun.items()
        if (time := _first_time(client, partition, offset, ends[partition])) is not None
    ]
    return min(times, default=None)


def _first_time(client: KafkaClient, partition: Partition, offset: int, end: int) -> int | None:
    while offset < end:
        before = offset
        for fetched in client.fetch({partition: offset}, _BYTES):
            offset, time = first_committed_time(fetched, offset)
            if time is not None:
                return time
        if offset == before:
            break
    return None


_RETENTION: Final = "retention.ms"


def kept_until(
    facts: BrokerConfig, client: KafkaClient, needed: Mapping[Partition, int]
) -> dict[str, int]:
    """Return by topic when Kafka may delete the first of the records from `needed` on.

    It is in milliseconds since 1970. A topic is left out that keeps its records for ever, whose
    settings may not be read, or that is limited by its size. Raises MirrorError if a record is
    gone.
    """
    kept_ms = _kept_ms(facts, {topic for topic, _ in needed})
    purge_times: dict[str, int] = {}
    for (topic, partition), offset in needed.items():
        if topic not in kept_ms:
            continue
        for fetched in client.fetch({(topic, partition): offset}, 1):
            time = newest_time(fetched.data)
            if time is not None:
                end = time + kept_ms[topic]
                purge_times[topic] = min(end, purge_times.get(topic, end))
    return purge_times


def _kept_ms(facts: BrokerConfig, topics: Iterable[str]) -> dict[str, int]:
    """Return the retention of topics that have one."""
    resources = [
        ConfigResource(ConfigResourceType.TOPIC, name, {_RETENTION: None})
        for name in sorted(topics)
    ]
    if not resources:
        return {}
    try:
        with opened_admin(facts) as admin:
            (responses,) = admin.describe_configs(resources, config_filter="all").values()
    except KafkaError:
        # How long it keeps records is not known then.
        return {}
    # A topic whose settings the account may not see has none here.
    values = {
        name: int(configs[_RETENTION]["value"])
        for name, configs in responses.items()
        if _RETENTION in configs
    }
    return {name: value for name, value in values.items() if value >= 0}
