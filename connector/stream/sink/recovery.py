"""Reads what earlier runs committed: the last progress record and the compacted topics.

`TopicLog` has the committed records of a topic with one partition, up to the end that the topic
had when it was opened.

Pipelines with one `topic_prefix` share these topics. While one of them has a transaction open,
consumers cannot read what others committed after its first record. So a reader that continues
from these topics waits for the end of that transaction; otherwise it would start too early.
"""

import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from connector.foundation.contract import FENCES_TOPIC_SUFFIX, SNAPSHOT_TOPIC_SUFFIX, control_topic
from connector.foundation.errors import SinkRefused
from connector.foundation.settings.sections import KafkaSettings
from connector.stream.envelope.schemas.table_schema import schema_topic
from connector.stream.progress.progress_record import Progress, progress_topic
from connector.stream.sink import connection, epoch_record, kafka_errors
from connector.stream.sink.topics import TopicCreator

_POLL_MS = 500
# Give up after so many polls without records, although the end is not reached.
_IDLE_POLLS_MAX = 60


@dataclass(frozen=True, slots=True)
class TopicLog:
    """The committed records of a partition; one log of a consumer is read at a time."""

    consumer: Any
    partition: TopicPartition
    begin: int
    end: int

    def offset_at(self, time_ms: int) -> int:
        """Return the first offset that is not older than a time; the end if all are."""
        wanted = {self.partition: max(time_ms, 0)}
        offset = self.consumer.offsets_for_times(wanted)[self.partition]
        return self.end if offset is None else max(self.begin, int(offset.offset))

    def follow(self, patience_seconds: float) -> Iterator[Any]:
        """Yield committed records after the end as they arrive, until the timeout."""
        self.consumer.assign([self.partition])
        self.consumer.seek(self.partition, self.end)
        # Both limits: in simulated time, polls take no time.
        polls = int(patience_seconds * 1000 / _POLL_MS)
        until = time.monotonic() + patience_seconds
        while polls and time.monotonic() < until:
            batch = self.consumer.poll(timeout_ms=_POLL_MS).get(self.partition, ())
            yield from batch
            polls -= not batch

    def read(self, start: int, end: int) -> Iterator[Any]:
        """Yield the committed records with start <= offset < end."""
        if start >= end:
            return
        consumer, partition = self.consumer, self.partition
        consumer.assign([partition])
        consumer.seek(partition, start)
        idle_polls = 0
        while (position := consumer.position(partition)) < end:
            batch = consumer.poll(timeout_ms=_POLL_MS)
            for record in batch.get(partition, ()):
                if record.offset < end:
                    yield record
            # Markers and aborted records move the position, but are not returned.
            moved = consumer.position(partition) > position
            idle_polls = 0 if moved else idle_polls + 1
            if idle_polls > _IDLE_POLLS_MAX:
                raise connection.open_transaction_timeout(consumer, partition, end)


@contextmanager
def opened_logs(
    settings: KafkaSettings,
    topics: Sequence[str],
    clients: connection.KafkaClients,
    *,
    to_the_last: bool = False,
) -> Iterator[dict[str, TopicLog]]:
    """Yield the logs of topics with one partition, by topic.

    A log ends at the first open transaction; with `to_the_last`, at its last record, and then
    reading waits for the end of open transactions. Raises SinkUnavailable or SinkRefused.
    """
    partitions = [TopicPartition(topic, 0) for topic in topics]
    try:
        with closing(clients.open_consumer(**committed_settings(settings))) as consumer:
            begins = consumer.beginning_offsets(partitions)
            if to_the_last:
                ends = last_offsets(settings, partitions, clients)
            else:
                ends = consumer.end_offsets(partitions)
            yield {
                partition.topic: TopicLog(consumer, partition, begins[partition], ends[partition])
                for partition in partitions
            }
    except (KafkaError, OSError) as error:
        raise connection.connector_error(settings, connection.reading(*topics), error) from error


def last_offsets(
    settings: KafkaSettings, partitions: list[TopicPartition], clients: connection.KafkaClients
) -> dict[TopicPartition, int]:
    """Return the end offsets of partitions, including uncommitted records; raises KafkaError."""
    uncommitted = committed_settings(settings) | {"isolation_level": "read_uncommitted"}
    with closing(clients.open_consumer(**uncommitted)) as consumer:
        ends: dict[TopicPartition, int] = consumer.end_offsets(partitions)
        return ends


def committed_settings(settings: KafkaSettings) -> dict[str, Any]:
    """Return the arguments of a consumer of committed records whose checksums are checked."""
    return connection.consumer_settings(settings) | {"check_crcs": True}


# The last progress record of a pipeline is nearly always among these last offsets; each further try
# looks back ten times as far.
_TAIL_OFFSETS = 200


@dataclass(frozen=True, slots=True)
class RecoveredState:
    """A pipeline's progress, and the last value of each key of its compacted topics."""

    progress: Progress | None
    schemas: dict[str, bytes]  # by `database.table/schema_id`, the oldest first
    snapshots: dict[str, bytes]  # by `database.table`
    fences: dict[str, bytes]  # by the part after `pipeline/`
    # For a pipeline without progress: above the epochs of all that have written here.
    first_epoch: int = 1
    # Whether there is a trace of the pipeline that is committed together with progress.
    has_run: bool = False


def recover(
    settings: KafkaSettings,
    name: str,
    clients: connection.KafkaClients = connection.KAFKA_CLIENTS,
    *,
    missing: Collection[str] = (),
    to_the_last: bool = True,
) -> RecoveredState:
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
    existing = [topic for topic in topics if topic not in missing]
    with opened_logs(settings, existing, clients, to_the_last=to_the_last) as logs:
        own, others = last_progress(logs[progress], name) if progress in logs else (None, [])
        snapshot_values = of_pipeline(_last_values(logs.get(snapshots)), name)
        fence_values = _last_values(logs.get(fences))
        first_epoch = 1
        if own is None:
            epochs = epoch_record.decode_epochs(fences, fence_values)
            first_epoch += max([*epochs, *(other.epoch for other in others)], default=0)
        return RecoveredState(
            own,
            _last_values(logs.get(schemas)),
            snapshot_values,
            of_pipeline(fence_values, name),
            first_epoch,
            has_run=bool(snapshot_values) or epoch_record.epoch_key(name).decode() in fence_values,
        )


def require_position(settings: KafkaSettings, name: str, recovered: RecoveredState) -> None:
    """Raise SinkRefused if a position must have been committed, and is gone."""
    if recovered.progress is None and recovered.has_run:
        raise no_position(settings, name)


def no_position(settings: KafkaSettings, name: str) -> SinkRefused:
    """Return the error for a pipeline whose position was deleted."""
    prefix = settings.topic_prefix
    return SinkRefused(
        kafka_errors.NO_POSITION,
        servers=connection.servers_of(settings),
        topic=progress_topic(prefix),
        pipeline=name,
        traces=f"{control_topic(prefix, FENCES_TOPIC_SUFFIX)} or "
        f"{control_topic(prefix, SNAPSHOT_TOPIC_SUFFIX)}",
    )


def read_progress(
    settings: KafkaSettings, name: str, clients: connection.KafkaClients = connection.KAFKA_CLIENTS
) -> Progress | None:
    """Return the last committed progress of pipeline `name`; None if it has none.

    Raises SinkUnavailable or SinkRefused, and DecodeError for a record of another version.
    """
    topic = progress_topic(settings.topic_prefix)
    with opened_logs(settings, (topic,), clients) as logs:
        return last_progress(logs[topic], name)[0]


def read_successor(
    settings: KafkaSettings,
    name: str,
    known: Container[str | None],
    patience_seconds: float,
    clients: connection.KafkaClients = connection.KAFKA_CLIENTS,
) -> Progress | None:
    """Return the progress that an instance other than the `known` ones commits for pipeline `name`.

    It waits for such a record; None if none comes in time. Raises as `read_progress` does.
    """
    topic = progress_topic(settings.topic_prefix)
    with opened_logs(settings, (topic,), clients) as logs:
        log = logs[topic]
        last = last_progress(log, name)[0]
        if last is not None and last.instance not in known:
            return last
        for record in log.follow(patience_seconds):
            if record.key == name.encode() and record.value is not None:
                progress = decoded_progress(log, record)
                if progress.instance not in known:
                    return progress
    return None


def read_latest(
    settings: KafkaSettings,
    suffix: str,
    name: str,
    clients: connection.KafkaClients = connection.KAFKA_CLIENTS,
) -> dict[str, bytes]:
    """Return the last value of each key of pipeline `name` in a compacted control topic.

    The keys are without the pipeline's name. A missing topic is created. Raises SinkUnavailable or
    SinkRefused.
    """
    topic = control_topic(settings.topic_prefix, suffix)
    TopicCreator(settings, clients).ensure(topic)
    with opened_logs(settings, (topic,), clients) as logs:
        return of_pipeline(_last_values(logs[topic]), name)


@contextmanager
def open_records(
    settings: KafkaSettings, topic: str, clients: connection.KafkaClients = connection.KAFKA_CLIENTS
) -> Iterator[tuple[int, Iterator[Any]]]:
    """Yield the first offset and all committed records of a topic with one partition.

    It waits for transactions that are open now. Raises SinkUnavailable or SinkRefused.
    """
    with opened_logs(settings, (topic,), clients, to_the_last=True) as logs:
        log = logs[topic]
        yield log.begin, log.read(log.begin, log.end)


@contextmanager
def open_records_since(
    settings: KafkaSettings, topic: str, clients: connection.KafkaClients = connection.KAFKA_CLIENTS
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


def last_progress(log: TopicLog, name: str) -> tuple[Progress | None, list[Progress]]:
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
            return decoded_progress(log, latest[key]), []
    return None, [
        decoded_progress(log, other) for other in latest.values() if other.value is not None
    ]


def decoded_progress(log: TopicLog, record: Any) -> Progress:
    """Return the progress in a record; raises DecodeError for one of another version."""
    return Progress.decode(record.value, f"{log.partition.topic}[0]@{record.offset}")


def of_pipeline(values: dict[str, bytes], name: str) -> dict[str, bytes]:
    """Return the values of one pipeline, by keys without its name."""
    own = f"{name}/"
    return {key.removeprefix(own): value for key, value in values.items() if key.startswith(own)}


def last_values(records: Iterable[Any]) -> dict[str, bytes]:
    """Return the last value of each key of a compacted topic, in the order of their records."""
    values: dict[str, bytes] = {}
    for record in records:
        key = record.key.decode()
        values.pop(key, None)
        if record.value is not None:
            values[key] = record.value
    return values


def _last_values(log: TopicLog | None) -> dict[str, bytes]:
    return {} if log is None else last_values(log.read(log.begin, log.end))
