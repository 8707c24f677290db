"""Writes records to Kafka in transactions; each ends with a progress record.

*Exactly once.* At the opening, the sink initialises the pipeline's transactional id. Kafka then
aborts the open transaction of an older process and refuses what that process still sends. Only
then does the sink read the last committed progress, so nobody else can commit after it.

*Fencing.* Kafka refuses a fenced producer with several errors, which may also mean a timed-out
transaction. The progress record decides: it names the instance that wrote it, and each
instance writes one before it streams. Until then it names the instance before, so a fenced
instance waits for it. If an instance has written one and then finds another name, the other
instance has fenced it, and it stops.

*Commits.* A transaction that is complete before any of it was sent goes to Kafka in the caller's
thread. Another thread writes and commits a larger one, while the caller fills the next one;
`settle` waits for the commit.

*Memory.* Records are collected in batches, one open batch for each partition. The sink counts the
bytes of open batches and of those that Kafka has not acknowledged. At the limit, the caller waits.
"""

from collections.abc import Collection
from dataclasses import dataclass

import structlog
from kafka.errors import KafkaError

from connector.foundation import errors, record_batch
from connector.foundation.contract import FENCES_TOPIC_SUFFIX, control_topic
from connector.foundation.errors.code import Scope
from connector.foundation.errors.kinds import line
from connector.foundation.errors.message import Message
from connector.foundation.kafka_records import NO_HEADERS
from connector.foundation.settings.sections import KafkaSettings
from connector.kafka.producer import TransactionalProducer
from connector.stream.progress.progress_record import Progress
from connector.stream.sink import connection, epoch_record, kafka_errors, log_copy, recovery
from connector.stream.sink.connection import KAFKA_CLIENTS, Interrupted, KafkaClients
from connector.stream.sink.topic_limits import TopicLimits
from connector.stream.sink.topic_preparation import TopicPreparation
from connector.stream.sink.topics import TopicCreator, topics_at_start

# Each batch costs a broker the same, whatever its size; it takes 1 MiB by default.
_BATCH_BYTES = 960 * 1024
# Open batches may hold this part of the bytes in flight: one in so many.
_OPEN_PART = 4


@dataclass(slots=True)
class SentToTopic:
    """The records given to Kafka for one topic."""

    records: int = 0
    bytes: int = 0  # before compression
    latest_ms: int = 0  # the newest time of the records


class KafkaSink(record_batch.BatchReceiver):
    """The transactional producer of one pipeline.

    Records go to `target`, which returns them to the sink in batches. `take` and all methods that
    send raise Superseded, SinkRefused or SinkUnavailable.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        name: str,
        instance: str,
        in_flight_bytes_max: int,
        clients: KafkaClients = KAFKA_CLIENTS,
        notifications: str | None = None,
    ) -> None:
        """Take over pipeline `name` as process `instance`; `clients` open every connection.

        `notifications` is the topic of these.

        Raises SinkUnavailable or SinkRefused.
        """
        self._settings = settings
        self._name = name
        self._instance = instance
        self.clients = clients
        self._topics_sent: dict[str, SentToTopic] = {}
        # The instance that wrote the recovered progress.
        self._before: str | None = None
        # The epoch that this instance has noted beside the progress topic.
        self._noted_epoch = 0
        self._epochs_topic = control_topic(settings.topic_prefix, FENCES_TOPIC_SUFFIX)
        open_bytes_max = in_flight_bytes_max // _OPEN_PART
        self._sent_bytes_max = in_flight_bytes_max - open_bytes_max
        self._in_transaction = False
        # Whether the last batches of a transaction are given to the client.
        self._flushing = False
        self._topics = TopicCreator(settings, clients, notifications)
        self._topics.ensure(*topics_at_start(settings))
        if self._topics.has(log_copy.copy_topic(settings.topic_prefix)):
            raise log_copy.incomplete(settings)
        self._topics.require_layout()
        self._preparation = TopicPreparation(
            self._topics.create_many, self._note_topics, self._topics.is_known, clients.background
        )
        self._limits = TopicLimits(settings, clients)
        self._producer = self._start_producer()
        self.target = record_batch.BatchingTarget(
            self,
            min(_BATCH_BYTES, settings.record_bytes_max),
            open_bytes_max,
            settings.record_bytes_max,
        )

    @property
    def transactional_id(self) -> str:
        """The id by which Kafka fences older instances."""
        return transactional_id(self._settings, self._name)

    @property
    def in_flight_bytes(self) -> int:
        """Bytes of records that Kafka has not acknowledged yet."""
        return self._producer.in_flight_bytes + self.target.open_bytes

    @property
    def away_seconds(self) -> float:
        """For how long no broker was there for a request of the last transaction."""
        return self._producer.away_seconds

    def recover(self, *, claimed: bool = False) -> recovery.RecoveredState:
        """Return what earlier runs committed.

        `claimed` says that this instance has already committed, by another sink. Then Superseded is
        raised if another instance has committed since.
        """
        recovered = recovery.recover(self._settings, self._name, self.clients)
        last = recovered.progress
        if last is None and claimed:
            raise recovery.no_position(self._settings, self._name)
        recovery.require_position(self._settings, self._name, recovered)
        if last is not None:
            if claimed and last.instance != self._instance:
                raise superseded_by(self._name, last)
            self._before = last.instance
        return recovered

    @property
    def used_topics(self) -> list[str]:
        """The topics that the pipeline uses and that exist; any thread may ask."""
        return self._topics.used

    def has_topic(self, topic: str) -> bool:
        """Return whether a topic existed at the opening; if so, it is one of `used_topics`."""
        return self._topics.has(topic)

    def interrupt(self, error: errors.ConnectorError) -> None:
        """Have what waits for Kafka end with `error`; any thread may call it."""
        self._producer.interrupt(Interrupted(error))

    @property
    def is_committing(self) -> bool:
        """Whether `settle` has to wait for a commit."""
        return self._producer.is_committing

    def start_commit(self, progress: Progress) -> None:
        """Begin to make all records since the last commit visible, together with `progress`.

        A small commit is done at the return, else `is_committing`. The counts of `target` restart.
        Raises Superseded, SinkRefused or SinkUnavailable; then either all or nothing is visible.
        """
        self.settle()
        record = progress.encode(self._settings.topic_prefix, self._name)
        self._flushing = True
        if progress.epoch != self._noted_epoch:
            self._noted_epoch = progress.epoch
            self.target.take(
                self._epochs_topic,
                epoch_record.epoch_key(self._name),
                epoch_record.epoch_value(progress.epoch),
                NO_HEADERS,
                record.timestamp_ms,
            )
        self.target.take(record.topic, record.key, record.value, NO_HEADERS, record.timestamp_ms)
        self.target.flush()
        try:
            self._producer.start_commit()
        except (KafkaError, OSError) as error:
            raise self._failure(connection.committing(), error) from error
        self._in_transaction = self._flushing = False
        self.target.restart_counts()

    def settle(self) -> None:
        """Wait for the end of a commit; raises as `start_commit` does."""
        try:
            self._producer.finish_commit()
        except (KafkaError, OSError) as error:
            # There may be something to abort.
            self._in_transaction = True
            raise self._failure(connection.committing(), error) from error

    def abort(self) -> None:
        """Drop what was not given to a commit; the counts of `target` restart.

        After an error of `take` or `start_commit`, the sink cannot be used any more, even if this
        succeeds: the client's transaction may still hold the failed batch. Raises Superseded,
        SinkRefused or SinkUnavailable; then Kafka aborts after the transaction timeout.
        """
        self.settle()
        self.target.drop()
        self._topics_sent = {}
        self._flushing = False
        if not self._in_transaction:
            return
        self._in_transaction = False
        try:
            self._producer.abort_transaction()
        except (KafkaError, OSError) as error:
            raise self._failure(connection.aborting(), error) from error

    def abandon(self) -> None:
        """Abort what was not committed; if that fails, Kafka aborts after the transaction timeout.

        A log line says so then. The sink cannot be used any more.
        """
        if self._in_transaction or self._producer.is_committing:
            self._in_transaction = False
            try:
                self._producer.abort_transaction()
            except (KafkaError, OSError) as error:
                # A successor has ended it already.
                if not connection.is_superseded(error):
                    structlog.get_logger().warning(
                        **line(kafka_errors.STAYS_OPEN), error=f"{type(error).__name__}: {error}"
                    )

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a topic; a missing topic is created.

        Raises TopicRefused if Kafka refuses that, as for a name that it takes for another topic's.
        """
        try:
            self._topics.ensure(topic)
        except errors.SinkRefused as error:
            if error.code.scope is Scope.PLACE:
                raise errors.TopicRefused(error.code, **error.message.facts) from error
            raise
        try:
            return len(self._producer.partitions_for(topic))
        except (KafkaError, OSError) as error:
            raise self._failure(connection.writing(topic), error) from error

    def has_topics(self, topics: Collection[str]) -> bool:
        """Return whether topics exist or Kafka refuses them; the others are created meanwhile.

        `partition_count` says why one is refused.
        """
        return self._preparation.are_ready(topics)

    def _note_topics(self, topics: list[str]) -> None:
        """Note that topics were created."""
        self._topics.note(topics)
        try:
            self._producer.learn_partitions(topics)
        except (KafkaError, OSError) as error:
            raise self._failure(connection.creating(*topics), error) from error

    def receive(self, batch: record_batch.RecordBatch) -> None:
        """Send a batch in the open transaction, or in a new one."""
        size = len(batch.data) - record_batch.HEADER_BYTES
        try:
            self._in_transaction = True
            self._producer.deliver(batch, self._sent_bytes_max)
            # The batches of a commit leave together, in fewer requests.
            if not self._flushing:
                self._producer.wake()
        except (KafkaError, OSError) as error:
            raise self._failure(connection.writing(batch.topic), error) from error
        sent = self._topics_sent.get(batch.topic)
        if sent is None:
            sent = self._topics_sent[batch.topic] = SentToTopic()
        sent.records += batch.count
        sent.bytes += size
        sent.latest_ms = max(sent.latest_ms, batch.max_timestamp_ms)

    def take_topics_sent(self) -> dict[str, SentToTopic]:
        """Return what was given to Kafka by topic, and restart from 0."""
        sent, self._topics_sent = self._topics_sent, {}
        return sent

    def bytes_max(self, topic: str) -> int:
        """Return how many bytes of records a topic takes, whether or not they are compressed."""
        return self._limits.uncompressed(topic)

    def has_room(self, batch: record_batch.RecordBatch) -> bool:
        """Return whether a topic takes a batch once it is compressed."""
        return self._limits.take(batch)

    def too_large(self, topic: str) -> errors.ConnectorError:
        """Return the error for a record above `kafka.record_bytes_max`, or its topic's limit."""
        return errors.RecordTooLarge(
            kafka_errors.RECORD_SIZE,
            servers=connection.servers_of(self._settings),
            doing=connection.writing(topic),
        )

    def require_sole(self, patience_seconds: float) -> None:
        """Raise Superseded if another instance has taken over, or does within the time to wait.

        Raises SinkUnavailable if Kafka does not answer.
        """
        successor = self._successor(patience_seconds)
        if successor is not None:
            raise superseded_by(self._name, successor)

    def close(self) -> None:
        """Close the connections; Kafka aborts what was not committed."""
        self._producer.close_now()

    def _start_producer(self) -> TransactionalProducer:
        settings = self._settings
        try:
            return self.clients.open_producer(
                connection.client_settings(settings),
                self.transactional_id,
                settings.transaction_timeout_seconds,
                settings.compression,
            )
        except (KafkaError, OSError) as error:
            doing = connection.taking_over(self.transactional_id)
            raise connection.connector_error(settings, doing, error) from error

    def _failure(self, doing: Message, error: KafkaError | OSError) -> errors.ConnectorError:
        mapped = connection.connector_error(self._settings, doing, error)
        if mapped.code is kafka_errors.RECORD_SIZE and (changed := self._limits.changed()):
            servers = connection.servers_of(self._settings)
            return errors.SinkUnavailable(
                kafka_errors.CHANGED_LIMITS, servers=servers, topics=changed
            )
        if isinstance(mapped, errors.SinkRefused) or isinstance(error, Interrupted):
            return mapped
        try:
            successor = self._successor(0.0)
        except errors.SinkUnavailable as unreadable:
            return unreadable
        if successor is not None:
            return superseded_by(self._name, successor)
        if connection.is_superseded(error):
            return errors.SinkUnavailable(
                kafka_errors.SUPERSEDED,
                superseded=True,
                servers=connection.servers_of(self._settings),
                doing=doing,
                id=self.transactional_id,
            )
        return mapped

    def _successor(self, patience_seconds: float) -> Progress | None:
        return recovery.read_successor(
            self._settings,
            self._name,
            (self._instance, self._before),
            patience_seconds,
            self.clients,
        )


def transactional_id(settings: KafkaSettings, name: str) -> str:
    """Return the id by which Kafka fences pipeline `name`."""
    return f"binlog-connector.{settings.topic_prefix}.{name}"


def superseded_by(name: str, successor: Progress) -> errors.Superseded:
    """Return the error for an instance of pipeline `name` that another one has replaced."""
    return errors.Superseded(
        kafka_errors.INSTANCE_SUPERSEDED,
        pipeline=name,
        pid=successor.pid,
        host=successor.host,
        instance=successor.instance,
    )
