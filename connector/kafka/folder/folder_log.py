"""The log in a folder: topics, producers, transactions and fetches, as a broker has them.

Errors are those of `kafka.errors` that a broker answers. Any thread may call any method.
"""

import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from pathlib import Path

import structlog
from kafka import errors

from connector.foundation.operating_system import CLOCK
from connector.kafka.folder import batches, files, folder_errors, frames, results, topic_settings
from connector.kafka.folder.cleaning import Cleaner
from connector.kafka.folder.core import LogCore
from connector.kafka.folder.group_offsets import GroupOffsets
from connector.kafka.folder.journal import SEGMENT_BYTES
from connector.kafka.folder.producers import NO_EPOCH, Producer
from connector.kafka.folder.reader import BatchReader

_ALL = -1


class FolderLog:
    """The log in a folder, which this process alone has open.

    After an error of the disk, each method that writes raises KafkaStorageError, and only `close`
    may follow: the next opening reads what the disk has.
    """

    def __init__(
        self,
        folder: Path,
        *,
        now_ms: Callable[[], int] = CLOCK.now_ms,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """Take the folder's lock, and read what it has; the folder is made in one that exists.

        Raises FolderInUse, or SinkRefused if the folder or its log cannot be used.
        """
        self.folder = folder
        try:
            # Where it was moved away with all that it is in, no empty log takes its place.
            folder.mkdir(mode=0o700, exist_ok=True)
            lock_file = files.lock(folder)
            self._lock_file: int | None = lock_file
            try:
                self._core = LogCore(folder, now_ms, segment_bytes)
                self._begin()
            except BaseException:
                os.close(lock_file)
                raise
        except OSError as error:
            raise folder_errors.FolderUnusable(folder, error) from error
        self._cleaner = Cleaner(self._core)
        self.groups = GroupOffsets(self._core)

    @property
    def openings(self) -> int:
        """How often the folder was opened, with this time."""
        return self._core.state.openings

    def topics(self) -> Mapping[str, results.Topic]:
        """Return all topics by name: a view that does not change."""
        with self._core.lock:
            self._core.journal.check()
            return self._core.state.names()

    def create_topic(
        self, name: str, partitions: int, configuration: Mapping[str, str]
    ) -> results.Topic:
        """Create a topic, which is on the disk after the next `sync`: thousands need one.

        Raises TopicAlreadyExistsError, InvalidTopicError, InvalidPartitionsError,
        InvalidConfigurationError.
        """
        topic_settings.check_name(name)
        topic_settings.check(configuration)
        if partitions < 1:
            raise errors.InvalidPartitionsError
        core = self._core
        with core.lock:
            core.make_room()
            if name in core.state.topics:
                raise errors.TopicAlreadyExistsError
            if core.state.collides(name):
                raise errors.InvalidTopicError
            topic_id = uuid.uuid4().hex
            form = frames.TopicForm(
                core.state.next_topic, name, topic_id, partitions, dict(configuration)
            )
            return self._put_topic(form)[0]

    def change_topic(self, name: str, configuration: Mapping[str, str]) -> results.Topic:
        """Replace the configuration of a topic.

        Raises UnknownTopicOrPartitionError, InvalidConfigurationError.
        """
        topic_settings.check(configuration)
        core = self._core
        with core.lock:
            core.make_room()
            form = core.topic(name).form()._replace(configuration=dict(configuration))
            topic, end = self._put_topic(form)
        core.await_disk(end)
        return topic

    def add_partitions_to_topic(self, name: str, count: int) -> results.Topic:
        """Let a topic have `count` partitions; raises InvalidPartitionsError if it has them."""
        core = self._core
        with core.lock:
            core.make_room()
            form = core.topic(name).form()
            if count <= form.partitions:
                raise errors.InvalidPartitionsError
            topic, end = self._put_topic(form._replace(partitions=count))
        core.await_disk(end)
        return topic

    def delete_topic(self, name: str) -> None:
        """Delete a topic, on the disk with the next `sync`; raises UnknownTopicOrPartitionError."""
        core = self._core
        with core.lock:
            core.make_room()
            topic = core.topic(name)
            keys = list(topic.keys())
            core.write(frames.TopicGone(topic.number))
            core.visibility.drop(keys)
            for key in keys:
                core.index.drop(key)

    def init_producer(
        self, transactional_id: str | None, timeout_ms: int, expected: tuple[int, int] | None
    ) -> tuple[int, int]:
        """Return id and epoch of a producer, after its open transaction is aborted.

        `expected` is the id and epoch that the producer has, None if it has none. Raises
        ProducerFencedError, InvalidTransactionTimeoutError.
        """
        if timeout_ms <= 0 and transactional_id is not None:
            raise errors.InvalidTransactionTimeoutError
        core = self._core
        with core.lock:
            core.make_room()
            now_ms, next_id = core.now_ms(), core.state.next_producer_id
            producer = core.state.transactional.get(transactional_id or "")
            if transactional_id is None or producer is None:
                event = frames.ProducerEpoch(
                    next_id, 0, transactional_id, timeout_ms, NO_EPOCH, now_ms
                )
            else:
                following = producer.next_epoch(expected, timeout_ms, now_ms, next_id)
                if following is None:
                    return producer.producer_id, producer.epoch
                event = following
                if producer.transaction is not None:
                    self._fence(producer)
            end = core.write(event)
        core.await_disk(end)
        return event.producer_id, event.epoch

    def add_to_transaction(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        partitions: Iterable[results.PartitionId],
    ) -> None:
        """Add partitions to the transaction, which begins with the first ones.

        Raises InvalidProducerIdMappingError, ProducerFencedError, UnknownTopicOrPartitionError.
        """
        core = self._core
        with core.lock:
            core.make_room()
            producer = core.state.producer_of(transactional_id, producer_id, epoch)
            keys = [core.partition(partition)[0] for partition in partitions]
            transaction = producer.transaction
            if transaction is not None:
                keys = [key for key in keys if key not in transaction.first]
            if keys:
                core.write(frames.Join(producer_id, core.now_ms(), keys))

    def append(
        self, partition: results.PartitionId, records: bytes, transactional_id: str | None
    ) -> int:
        """Append one record batch; return its base offset.

        What belongs to no transaction is on the disk when this returns; of a batch that is here
        already, this is the answer of the first time. Raises UnknownTopicOrPartitionError,
        CorruptRecordError, InvalidRecordError, MessageSizeTooLargeError, UnknownProducerIdError,
        and what `Producer.check` raises.
        """
        header = batches.checked(records)
        core = self._core
        with core.lock:
            core.make_room()
            key, place = core.partition(partition)
            configuration = core.topic(partition[0]).topic.configuration
            if len(records) > topic_settings.message_bytes_max(configuration):
                raise errors.MessageSizeTooLargeError
            offset: int | None = None
            if header.producer_id != batches.NO_PRODUCER:
                producer = core.state.producers.get(header.producer_id)
                if producer is None:
                    raise errors.UnknownProducerIdError
                offset = producer.check(key, header, transactional_id)
            elif header.is_transactional:
                raise errors.InvalidRecordError
            end = core.journal.written
            if offset is None:
                offset = place.next_offset
                end = core.write(frames.Append(key, batches.placed(records, offset)))
        if not header.is_transactional:
            core.await_disk(end)
        return offset

    def end_transaction(
        self, transactional_id: str, producer_id: int, epoch: int, *, commit: bool
    ) -> None:
        """Commit or abort; it is on the disk when this returns.

        If the last transaction ended in this way, and no other has begun, it is done already.
        Raises InvalidProducerIdMappingError, ProducerFencedError, InvalidTxnStateError.
        """
        core = self._core
        with core.lock:
            core.make_room()
            producer = core.state.producer_of(transactional_id, producer_id, epoch)
            if producer.transaction is not None:
                end = core.write(core.state.end_of(producer, epoch, core.now_ms(), commit=commit))
            elif producer.committed is commit:
                end = core.journal.written
            else:
                raise errors.InvalidTxnStateError
        core.await_disk(end)

    def sync(self) -> None:
        """Have all that was appended on the disk."""
        with self._core.lock:
            self._core.journal.check()
            end = self._core.journal.written
        self._core.await_disk(end)

    def fetch(
        self, partition: results.PartitionId, offset: int, max_bytes: int, *, committed: bool
    ) -> results.Fetched:
        """Return batches of `max_bytes` at most, but at least one if there is one.

        Only what is on the disk can be fetched; with `committed`, what is below the last stable
        offset. Raises UnknownTopicOrPartitionError, OffsetOutOfRangeError, and CorruptRecordError
        or Unreadable if these records cannot be read.
        """
        core = self._core
        with BatchReader(core.folder, core.tell) as reader:
            with core.lock:
                key, place = core.partition(partition)
                if not place.start_offset <= offset <= place.next_offset:
                    raise errors.OffsetOutOfRangeError
                limits = core.visibility.limits(key)
                limit = limits.stable if committed else limits.high_watermark
                end = reader.choose(core.index, key, offset, limit, max_bytes)
                aborted = [
                    (each.producer_id, each.first)
                    for each in core.index.aborted.get(key, ())
                    if committed and each.marker >= offset and each.first < end
                ]
                start = place.start_offset
            records = b"".join(reader.read())
        aborted.sort(key=itemgetter(1))
        return results.Fetched(records, *limits, start, aborted)

    def offsets(self, partition: results.PartitionId) -> results.Offsets:
        """Return the offsets of a partition; raises UnknownTopicOrPartitionError."""
        with self._core.lock:
            key, place = self._core.partition(partition)
            return results.Offsets(place.start_offset, *self._core.visibility.limits(key))

    def offset_at(
        self, partition: results.PartitionId, timestamp_ms: int
    ) -> results.TimedOffset | None:
        """Return the first record that is not older than `timestamp_ms`; None without one.

        Raises UnknownTopicOrPartitionError, CorruptRecordError, Unreadable.
        """
        core = self._core
        with BatchReader(core.folder, core.tell) as reader:
            with core.lock:
                key, place = core.partition(partition)
                start, limit = place.start_offset, core.visibility.limits(key).high_watermark
                reader.choose_time(core.index, key, timestamp_ms, start, limit)
            for batch in reader.read():
                found = batches.first_at(batch, timestamp_ms, start)
                if found is not None:
                    return results.TimedOffset(*found)
        return None

    def delete_records(self, partition: results.PartitionId, before: int) -> int:
        """Delete the records before an offset, -1 for all; return the new earliest offset.

        It is on the disk after the next `sync`. Raises UnknownTopicOrPartitionError,
        OffsetOutOfRangeError, and PolicyViolationError if the topic is compacted alone.
        """
        core = self._core
        with core.lock:
            core.make_room()
            key, place = core.partition(partition)
            if topic_settings.keeps_all(core.topic(partition[0]).topic.configuration):
                raise errors.PolicyViolationError
            latest = core.visibility.limits(key).high_watermark
            start = latest if before == _ALL else before
            if not 0 <= start <= latest:
                raise errors.OffsetOutOfRangeError
            if start > place.start_offset:
                core.write(frames.Start(*key, start))
                core.index.forget(key, start)
            return place.start_offset

    def producers_of(self, partition: results.PartitionId) -> list[results.PartitionProducer]:
        """Return the producers in a partition; raises UnknownTopicOrPartitionError."""
        with self._core.lock:
            return self._core.state.producers_of(self._core.partition(partition)[0])

    def transactions(self) -> list[results.OpenTransaction]:
        """Return all open transactions."""
        with self._core.lock:
            self._core.journal.check()
            return self._core.state.open_transactions()

    def wait(
        self, wanted: Mapping[results.PartitionId, int], seconds: float, *, committed: bool
    ) -> bool:
        """Wait until something can be fetched from one of these offsets; return whether it can.

        That a partition is unknown or deleted can be fetched, too.
        """
        return self._core.wait(wanted, seconds, committed=committed)

    def end_late_transactions(self) -> None:
        """Abort transactions whose time is up; to be called every second or so."""
        core = self._core
        with core.lock:
            core.make_room()
            now_ms = core.now_ms()
            end = core.journal.written
            for producer in core.state.open_producers():
                transaction = producer.transaction
                if transaction and transaction.start_ms + producer.timeout_ms < now_ms:
                    end = self._fence(producer)
        core.await_disk(end)

    def clean(self) -> None:
        """Give disk space back, for hours perhaps; one thread calls it every second or so."""
        self._cleaner.clean()

    def close(self) -> None:
        """Give the folder back, and end all calls of `wait`. Later calls do nothing."""
        core = self._core
        with core.lock:
            if self._lock_file is None:
                return
            lock_file, self._lock_file = self._lock_file, None
        try:
            # This frame says that all before it is on the disk.
            self.sync()
            self._put_opening(core.state.openings)
        except errors.KafkaStorageError as error:
            structlog.get_logger().warning("the log was closed after an error", error=str(error))
        finally:
            with core.lock:
                core.visibility.wake_all()
                core.journal.close()
            # Cleaning ends the file that it writes, and begins no other one.
            with core.rewriting:
                os.close(lock_file)

    def forget(self) -> None:
        """Leave the folder to the process that this one was copied from by `fork`."""
        if self._lock_file is not None:
            # The lock stays with that process, which has the same file open.
            os.close(self._lock_file)
            self._lock_file = None

    def _begin(self) -> None:
        core = self._core
        try:
            self._put_opening(core.state.openings + 1)
            if core.is_cut:
                # Records of open transactions may be lost.
                with core.lock:
                    end = core.journal.written
                    for producer in core.state.open_producers():
                        end = self._fence(producer)
                core.await_disk(end)
        except errors.KafkaStorageError as error:
            with core.lock:
                core.journal.close()
            raise folder_errors.FolderUnusable(core.folder, error.__cause__ or error) from error

    def _put_opening(self, count: int) -> None:
        with self._core.lock:
            end = self._core.write(frames.Opening(count))
        self._core.await_disk(end)

    def _put_topic(self, form: frames.TopicForm) -> tuple[results.Topic, int]:
        core = self._core
        end = core.write(form)
        topic = core.topic(form.name)
        core.show(topic)
        return topic.topic, end

    def _fence(self, producer: Producer) -> int:
        """Abort a transaction; its producer needs the next epoch."""
        state = self._core.state
        end = state.end_of(producer, producer.epoch + 1, self._core.now_ms(), commit=False)
        return self._core.write(end)
