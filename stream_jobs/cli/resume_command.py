"""`binlog-connector-mirror resume`: asks the job to try tables again that are set aside.

It writes a request beside the mirrors. The running job finds it within an interval, and the next
run at its start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.errors import ConfigError, mirror_jobs
from stream_jobs.delta.storages import storage_of
from stream_jobs.quarantine.set_aside import Request, TablesSetAside
from stream_jobs.source.client import KafkaClient

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from stream_jobs.settings import Settings


class Asked(NamedTuple):
    """A table that the job will try again."""

    table: str
    # Whether Kafka no longer has all of its records, so that a new mirror needs a copy.
    needs_copy: bool


def resume(
    settings: Settings,
    config: Path,
    tables: Iterable[str],
    *,
    every: bool = False,
    skipped: Iterable[tuple[int, int]] = (),
    rebuild: bool = False,
) -> list[Asked]:
    """Ask for `tables`, or for `every` one that is set aside; leave the records `skipped` out.

    With `rebuild`, the mirrors are made anew. Raises ConfigError for a table that is not set aside,
    and MirrorError if storage or Kafka fail.
    """
    files = TablesSetAside(storage_of(settings.mirror.path), settings.mirror.path)
    records = files.records()
    topics = {record.table: record.topic for record in records.values()}
    wanted = list(records) if every else []
    for name in tables:
        topic = topics.get(name, name)
        if topic not in records:
            raise ConfigError(mirror_jobs.NOT_SET_ASIDE, table=name, config=config)
        wanted.append(topic)
    incomplete = _incomplete(settings, wanted) if rebuild and wanted else set()
    for topic in wanted:
        files.ask(Request(topic, records[topic].number, frozenset(skipped), rebuild))
    return [Asked(records[topic].table, topic in incomplete) for topic in wanted]


def _incomplete(settings: Settings, topics: Iterable[str]) -> set[str]:
    """Return the topics whose first records Kafka has deleted."""
    client = KafkaClient(settings.kafka.facts())
    try:
        counts = client.partition_counts()
        partitions = [(topic, n) for topic in topics for n in range(counts.get(topic, 0))]
        return {topic for (topic, _), first in client.first_offsets(partitions).items() if first}
    finally:
        client.close()
