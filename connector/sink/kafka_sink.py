"""Records go to Kafka in transactions, each closed by the progress that it brings.

*Exactly once.* Opening the sink initialises the pipeline's transactional id: Kafka aborts what an
older process left open and refuses whatever that process still sends. Only then is the last
committed progress read, so nothing can be committed behind it by anyone else.

*Fencing.* kafka-python reports a fenced producer by several errors, which may also mean that the
transaction timed out. The progress record tells them apart: it names the instance that wrote it,
and each instance writes one before it streams. Until that is visible, the name of the one before
stands there, so one that was fenced waits for it. An instance that has written one and finds the
name of another was fenced by that one, and lets go.

*Memory.* Records are gathered in batches, one open for each partition. The bytes of those, and of
the batches that have been given to the client and may not have been acknowledged, are counted; at
the limit, whoever brings more waits.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafka.errors import KafkaError

from connector.contract import (
    COMMANDS_TOPIC_SUFFIX,
    FENCES_TOPIC_SUFFIX,
    PROGRESS_TOPIC_SUFFIX,
    SCHEMA_TOPIC_SUFFIX,
    SNAPSHOT_TOPIC_SUFFIX,
    control_topic,
)
from connector.errors import (
    ConnectorError,
    RecordTooLarge,
    SinkRefused,
    SinkUnavailable,
    Superseded,
    kafka,
)
from connector.records.record import NO_HEADERS
from connector.records.record_batch import BatchingTarget, BatchReceiver
from connector.sink import attempts
from connector.sink.clients import KAFKA_CLIENTS, KafkaClients
from connector.sink.connection import (
    client_settings,
    connector_error,
    is_superseded,
    servers_of,
)
from connector.sink.network import producers_client
from connector.sink.recovery import Recovered, read_successor, recover
from connector.sink.topics import TopicCreator

if TYPE_CHECKING:
    from connector.errors.message import Message
    from connector.progress.progress_record import Progress
    from connector.records.record_batch import RecordBatch
    from connector.settings.sections import KafkaSettings
    from connector.sink.clients import Producer

# Back-to-back commits wait for the coordinator to finish the one before; with the default of
# 100 ms each of them stalls 110 ms.
_RETRY_BACKOFF_MS = 2
_BATCH_BYTES = 256 * 1024
# Batches are complete when the client gets them.
_LINGER_MS = 0
# What Kafka adds to a record at most, beyond its key, value and headers.
_RECORD_OVERHEAD_BYTES = 1024
# The part of the bytes in flight that open batches may hold: one in so many.
_OPEN_PART = 4

# What every run reads before it begins.
_TOPICS_AT_START = (
    PROGRESS_TOPIC_SUFFIX,
    SCHEMA_TOPIC_SUFFIX,
    SNAPSHOT_TOPIC_SUFFIX,
    FENCES_TOPIC_SUFFIX,
    COMMANDS_TOPIC_SUFFIX,
)


class KafkaSink(BatchReceiver):
    """The transactional producer of one pipeline.

    Records go to `target`, and from there in batches back to the sink. `take`, as everything that
    sends, raises Superseded, SinkRefused or SinkUnavailable.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        name: str,
        instance: str,
        in_flight_bytes_max: int,
        clients: KafkaClients = KAFKA_CLIENTS,
    ) -> None:
        """Take over pipeline `name` as process `instance`; `clients` open every connection.

        Raises SinkUnavailable or SinkRefused.
        """
        self._settings = settings
        self._name = name
        self._instance = instance
        self.clients = clients
        # Records that were given to Kafka, by topic, since somebody last asked.
        self._topic_records: Counter[str] = Counter()
        # The instance whose progress was recovered.
        self._before: str | None = None
        open_bytes_max = in_flight_bytes_max // _OPEN_PART
        self._sent_bytes_max = in_flight_bytes_max - open_bytes_max
        self._in_transaction = False
        self._committing = False
        self._topics = TopicCreator(settings, clients)
        self._topics.ensure(*topics_at_start(settings))
        self._producer = self._start_producer()
        self.target = BatchingTarget(
            self,
            min(_BATCH_BYTES, settings.record_bytes_max),
            open_bytes_max,
            settings.record_bytes_max,
        )

    @property
    def transactional_id(self) -> str:
        """What Kafka fences by."""
        return transactional_id(self._settings, self._name)

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of records that Kafka may not have acknowledged."""
        return self._producer.in_flight_bytes + self.target.open_bytes

    def recover(self, *, claimed: bool = False) -> Recovered:
        """Return what was committed by earlier runs.

        `claimed` says that this instance has committed before, by another sink: then Superseded is
        raised where somebody else has since.
        """
        recovered = recover(self._settings, self._name, self.clients)
        last = recovered.progress
        if last is not None:
            if claimed and last.instance != self._instance:
                raise superseded_by(self._name, last)
            self._before = last.instance
        return recovered

    def commit(self, progress: Progress) -> None:
        """Make everything since the last commit visible, together with `progress`.

        The counts of `target` start again. Raises Superseded, SinkRefused or SinkUnavailable; then
        nothing of it is visible, or all.
        """
        record = progress.encode(self._settings.topic_prefix, self._name)
        self._committing = True
        self.target.take(record.topic, record.key, record.value, NO_HEADERS, record.timestamp_ms)
        self.target.flush()
        try:
            self._producer.commit_transaction()
        except (KafkaError, OSError) as error:
            raise self._failure(attempts.committing(), error) from error
        self._in_transaction = self._committing = False
        self.target.restart_counts()

    def abort(self) -> None:
        """Drop what has not been committed; the counts of `target` start again.

        After an error of `take` or `commit` the sink is of no more use, also where this succeeds:
        the client's transaction may still hold the batch that failed. Raises Superseded,
        SinkRefused or SinkUnavailable; Kafka then drops it by itself.
        """
        self.target.drop()
        self._committing = False
        if not self._in_transaction:
            return
        self._in_transaction = False
        try:
            self._producer.abort_transaction()
        except (KafkaError, OSError) as error:
            raise self._failure(attempts.aborting(), error) from error

    def abandon(self) -> None:
        """Abort what has not been committed, where Kafka takes that now; else it does so in time.

        The sink is of no more use.
        """
        if self._in_transaction:
            self._in_transaction = False
            with suppress(KafkaError, OSError):
                self._producer.abort_transaction()

    def partition_count(self, topic: str) -> int:
        """Return how many partitions a topic has; it is created where it is missing."""
        self._topics.ensure(topic)
        try:
            return len(self._producer.partitions_for(topic))
        except (KafkaError, OSError) as error:
            raise self._failure(attempts.writing(topic), error) from error

    def receive(self, batch: RecordBatch) -> None:
        """Send a batch in the open transaction, opening one where there is none."""
        try:
            if not self._in_transaction:
                self._producer.begin_transaction()
                self._in_transaction = True
            self._producer.deliver(batch, self._sent_bytes_max)
        except (KafkaError, OSError) as error:
            raise self._failure(attempts.writing(batch.topic), error) from error
        self._topic_records[batch.topic] += batch.count
        # The batches of a commit leave together, with fewer requests.
        if not self._committing:
            self._producer.wake()

    def take_topic_records(self) -> Counter[str]:
        """Return how many records were given to Kafka by topic, and count from 0."""
        counted, self._topic_records = self._topic_records, Counter()
        return counted

    def too_large(self, topic: str) -> ConnectorError:
        """Return the error for a record that is larger than Kafka takes."""
        return RecordTooLarge(
            kafka.RECORD_SIZE, servers=servers_of(self._settings), doing=attempts.writing(topic)
        )

    def require_sole(self, patience_seconds: float) -> None:
        """Raise Superseded where another instance has taken over, or does in time.

        Raises SinkUnavailable where Kafka does not tell.
        """
        successor = self._successor(patience_seconds)
        if successor is not None:
            raise superseded_by(self._name, successor)

    def close(self) -> None:
        """Let go of the connection; what has not been committed is aborted by Kafka."""
        self._producer.close_now()

    def _start_producer(self) -> Producer:
        settings = self._settings
        timeout_ms = int(settings.request_timeout_seconds * 1000)
        arguments: dict[str, Any] = client_settings(settings) | {
            "kafka_client": producers_client,
            "transactional_id": self.transactional_id,
            "transaction_timeout_ms": int(settings.transaction_timeout_seconds * 1000),
            "delivery_timeout_ms": max(
                int(settings.transaction_timeout_seconds * 1000), timeout_ms + _LINGER_MS
            ),
            "acks": "all",
            "enable_idempotence": True,
            "compression_type": None if settings.compression == "none" else settings.compression,
            "batch_size": _BATCH_BYTES,
            "linger_ms": _LINGER_MS,
            "max_request_size": settings.record_bytes_max + _RECORD_OVERHEAD_BYTES,
            "max_block_ms": timeout_ms,
            "retry_backoff_ms": _RETRY_BACKOFF_MS,
            "allow_auto_create_topics": False,
            # Nobody reads them, and they are an eighth of the work of a small commit.
            "metrics_enabled": False,
        }
        try:
            return self.clients.open_producer(settings.transaction_timeout_seconds, **arguments)
        except (KafkaError, OSError) as error:
            doing = attempts.taking_over(self.transactional_id)
            raise connector_error(settings, doing, error) from error

    def _failure(self, doing: Message, error: KafkaError | OSError) -> ConnectorError:
        mapped = connector_error(self._settings, doing, error)
        if isinstance(mapped, SinkRefused):
            return mapped
        try:
            successor = self._successor(0.0)
        except SinkUnavailable as unreadable:
            return unreadable
        if successor is not None:
            return superseded_by(self._name, successor)
        if is_superseded(error):
            return SinkUnavailable(
                kafka.SUPERSEDED,
                superseded=True,
                servers=servers_of(self._settings),
                doing=doing,
                id=self.transactional_id,
            )
        return mapped

    def _successor(self, patience_seconds: float) -> Progress | None:
        return read_successor(
            self._settings,
            self._name,
            (self._instance, self._before),
            patience_seconds,
            self.clients,
        )


def topics_at_start(settings: KafkaSettings) -> list[str]:
    """Return the topics that every run creates where they are missing."""
    return [control_topic(settings.topic_prefix, suffix) for suffix in _TOPICS_AT_START]


def transactional_id(settings: KafkaSettings, name: str) -> str:
    """Return what Kafka fences pipeline `name` by."""
    return f"binlog-connector.{settings.topic_prefix}.{name}"


def superseded_by(name: str, successor: Progress) -> Superseded:
    """Return the error of an instance of pipeline `name` that another one has taken over from."""
    return Superseded(
        kafka.INSTANCE_SUPERSEDED,
        pipeline=name,
        pid=successor.pid,
        host=successor.host,
        instance=successor.instance,
    )
