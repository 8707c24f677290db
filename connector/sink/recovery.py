"""Reads what earlier runs committed: the last progress record and the compacted topics.

Pipelines with one `topic_prefix` share these topics. While one of them has a transaction open,
consumers cannot read what others committed after its first record. So a reader that continues from
these topics waits for the end of that transaction; otherwise it would start too early.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from connector.contract import (
    FENCES_TOPIC_SUFFIX,
    SNAPSHOT_TOPIC_SUFFIX,
    control_topic,
)
from connector.envelope.schemas.table_schema import schema_topic
from connector.errors import SinkRefused, kafka
from connector.progress.progress_record import Progress, progress_topic
from connector.sink.clients import KAFKA_CLIENTS, KafkaClients
from connector.sink.connection import servers_of
from connector.sink.topic_log import TopicLog, opened_logs
from connector.sink.topics import TopicCreator

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterator

    from connector.settings.sections import KafkaSettings

# The last progress record of a pipeline is nearly always among these last offsets; each further try
# looks back ten times as far.
_TAIL_OFFSETS = 200


@dataclass(frozen=True, slots=True)
class Recovered:
    """A pipeline's progress, and the last value of each key of its compacted topics."""

    progress: Progress | None
    schemas: dict[str, bytes]  # by `database.table/schema_id`, the oldest first
    snapshots: dict[str, bytes]  # by `database.table`
    fences: dict[str, bytes]  # by the part after `pipeline/`
    # For a pipeline without progress: above the epochs of all others that have written here.
    first_epoch: int = 1


def recover(
    settings: KafkaSettings,
    name: str,
    clients: KafkaClients = KAFKA_CLIENTS,
    *,
    missing: Collection[str] = (),
    to_the_last: bool = True,
) -> Recovered:
    """Read the state that pipeline `name` continues from, except topics that are `missing`.

    With `to_the_last` false, open transactions are not waited for. Raises SinkUnavailable or
    SinkRefused, and DecodeError for progress of another version.
    """
    prefix = settings.topic_prefix
    progress, schemas, snapshots, fences = topics = (
        progress_topic(prefix),
        schema_topic(prefix),
        control_topic(prefix, SNAPSHOT_TOPIC_SUFFIX),
        control_topic(prefix, FENCES_TOPIC_SUFFIX),
    )
    found = [topic for topic in topics if topic not in missing]
    with opened_logs(settings, found, clients, to_the_last=to_the_last) as logs:
        own, others = _last_progress(logs[progress], name) if progress in logs else (None, [])
        return Recovered(
            own,
            _last_values(logs.get(schemas), ""),
            _last_values(logs.get(snapshots), f"{name}/"),
            _last_values(logs.get(fences), f"{name}/"),
            1 if own is not None else 1 + max((other.epoch for other in others), default=0),
        )


def require_position(settings: KafkaSettings, name: str, recovered: Recovered) -> None:
    """Raise SinkRefused if a position must have been committed, and is gone.

    States of copies are committed together with one.
    """
    if recovered.progress is None and recovered.snapshots:
        raise no_position(settings, name)


def no_position(settings: KafkaSettings, name: str) -> SinkRefused:
    """Return the error for a pipeline whose position was deleted."""
    prefix = settings.topic_prefix
    return SinkRefused(
        kafka.NO_POSITION,
        servers=servers_of(settings),
        topic=progress_topic(prefix),
        pipeline=name,
        states=control_topic(prefix, SNAPSHOT_TOPIC_SUFFIX),
    )


def read_progress(
    settings: KafkaSettings, name: str, clients: KafkaClients = KAFKA_CLIENTS
) -> Progress | None:
    """Return the last committed progress of pipeline `name`; None if it has none.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
    """
    topic = progress_topic(settings.topic_prefix)
    with opened_logs(settings, (topic,), clients) as logs:
        return _last_progress(logs[topic], name)[0]


def read_successor(
    settings: KafkaSettings,
    name: str,
    known: Container[str | None],
    patience_seconds: float,
    clients: KafkaClients = KAFKA_CLIENTS,
) -> Progress | None:
    """Return the progress that an instance other than the `known` ones commits for pipeline `name`.

    It waits for such a record; None if none comes in time. Raises as `read_progress` does.
    """
    topic = progress_topic(settings.topic_prefix)
    with opened_logs(settings, (topic,), clients) as logs:
        log = logs[topic]
        last = _last_progress(log, name)[0]
        if last is not None and last.instance not in known:
            return last
        for record in log.follow(patience_seconds):
            if record.key == name.encode() and record.value is not None:
                progress = _progress(log, record)
                if progress.instance not in known:
                    return progress
    return None


def read_latest(
    settings: KafkaSettings, suffix: str, name: str, clients: KafkaClients = KAFKA_CLIENTS
) -> dict[str, bytes]:
    """Return the last value of each key of pipeline `name` in a compacted control topic.

    The keys are without the pipeline's name. A missing topic is created. Raises SinkUnavailable or
    SinkRefused.
    """
    topic = control_topic(settings.topic_prefix, suffix)
    TopicCreator(settings, clients).ensure(topic)
    with opened_logs(settings, (topic,), clients) as logs:
        return _last_values(logs[topic], f"{name}/")


@contextmanager
def reading(
    settings: KafkaSettings, topic: str, clients: KafkaClients = KAFKA_CLIENTS
) -> Iterator[tuple[int, Iterator[Any]]]:
    """Yield the first offset and all committed records of a topic with one partition.

    It waits for transactions that are open now. Raises SinkUnavailable or SinkRefused.
    """
    with opened_logs(settings, (topic,), clients, to_the_last=True) as logs:
        log = logs[topic]
        yield log.begin, log.read(log.begin, log.end)


@contextmanager
def reading_since(
    settings: KafkaSettings, topic: str, clients: KafkaClients = KAFKA_CLIENTS
) -> Iterator[Callable[[int], tuple[bool, Iterator[Any]]]]:
    """Yield a function that returns the committed records of a topic with one partition.

    It takes a time in milliseconds, and returns all records from the first one on that is not
    older; and whether the topic may have lost such records. It waits for transactions that are
    open now. Raises SinkUnavailable or SinkRefused.
    """
    with opened_logs(settings, (topic,), clients, to_the_last=True) as logs:
        log = logs[topic]

        def read(since_ms: int) -> tuple[bool, Iterator[Any]]:
            start = log.offset_at(since_ms)
            return start == log.begin > 0, log.read(start, log.end)

        yield read


def _last_progress(log: TopicLog, name: str) -> tuple[Progress | None, list[Progress]]:
    """Return the progress of pipeline `name`; without one, that of all other pipelines."""
    key = name.encode()
    latest: dict[bytes, Any] = {}
    start, length = log.end, _TAIL_OFFSETS
    while start > log.begin:
        upper, start = start, max(log.begin, log.end - length)
        length *= 10
        latest = {record.key: record for record in log.read(start, upper)} | latest
        # A record without a value removes the progress.
        if key in latest and latest[key].value is not None:
            return _progress(log, latest[key]), []
    return None, [_progress(log, other) for other in latest.values() if other.value is not None]


def _progress(log: TopicLog, record: Any) -> Progress:
    return Progress.decode(record.value, f"{log.partition.topic}[0]@{record.offset}")


def _last_values(log: TopicLog | None, key_prefix: str) -> dict[str, bytes]:
    """Return the last value of each key that begins with `key_prefix`, without this prefix."""
    values: dict[str, bytes] = {}
    if log is None:
        return values
    for record in log.read(log.begin, log.end):
        key = record.key.decode()
        if not key.startswith(key_prefix):
            continue
        key = key.removeprefix(key_prefix)
        values.pop(key, None)
        if record.value is not None:
            values[key] = record.value
    return values
