"""Records become record batches, one open for each partition; only their headers are missing.

A record of format v2, where varints are those of `connector.foundation.kafka_records`::

    length varint │ attributes 1 │ timestamp delta varint │ offset delta varint
    key length varint, -1 without │ key │ value length varint, -1 without │ value │ headers

The Kafka client adds the header of a batch, 61 bytes: its own numbers, and a checksum over all.

https://kafka.apache.org/documentation/#recordbatch
"""

from collections.abc import Iterator
from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64, mypyc_attr

from connector.foundation import kafka_records

HEADER_BYTES: Final = 61
_HEADER_SPACE: Final = bytes(HEADER_BYTES)
_ABSENT: Final = -1
_SIZE_MAX: Final = 2**31 - 1
# The most that a record adds to its key, value and headers: the attributes, the timestamp's delta
# of 10 bytes, and four numbers of 5.
_RECORD_OVERHEAD_BYTES: Final = 31


@final
class RecordBatch:
    """Records of one partition, in their order."""

    def __init__(
        self,
        topic: str,
        partition: i64,
        data: bytes,
        count: i64,
        first_timestamp_ms: i64,
        max_timestamp_ms: i64,
    ) -> None:
        """Hold `count` records; `data` has room for the header, then their bytes."""
        self.topic = topic
        self.partition = partition
        self.data = data
        self.count = count
        self.first_timestamp_ms = first_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms

    def records(self) -> Iterator[kafka_records.Record]:
        """Yield the records, decoded from the batch."""
        at = HEADER_BYTES
        for _ in range(self.count):
            length, start = kafka_records.read_varint(self.data, at)
            at = start + length
            delta, start = kafka_records.read_varint(self.data, start + 1)
            _, start = kafka_records.read_varint(self.data, start)
            key, start = _read_bytes(self.data, start)
            value, start = _read_bytes(self.data, start)
            headers = kafka_records.decode_headers(self.data[start:at])
            yield kafka_records.Record(
                self.topic, key, value, headers, self.first_timestamp_ms + delta
            )


@mypyc_attr(allow_interpreted_subclasses=True)
class BatchReceiver:
    """The interface of the Kafka client for a `BatchingTarget`."""

    def partition_count(self, topic: str) -> int:
        """Return how many partitions a topic has; create the topic if it is missing."""
        raise NotImplementedError

    def receive(self, batch: RecordBatch) -> None:
        """Take a complete batch."""
        raise NotImplementedError

    def bytes_max(self, topic: str) -> int:
        """Return how many bytes a batch of a topic may have so that the topic takes it as it is.

        A receiver without limits of topics takes all.
        """
        del topic
        return _SIZE_MAX

    def has_room(self, batch: RecordBatch) -> bool:
        """Return whether the topic of a batch takes it, although it has more than `bytes_max`."""
        raise NotImplementedError

    def too_large(self, topic: str) -> Exception:
        """Return the error for a record that is larger than Kafka takes."""
        raise NotImplementedError


# Timestamp of a batch without records.
_NO_WRITER: Final = BytesWriter()
# A writer keeps the memory that it has grown to, so few are kept: there may be many partitions.
_SPARE_WRITERS_MAX: Final = 8
_SPARE_BYTES_MAX: Final = 1024 * 1024


@final
class _Writers:
    """Writers that have grown to the size of a batch, for the next one."""

    def __init__(self) -> None:
        self._spare: list[BytesWriter] = []

    def take(self) -> BytesWriter:
        """Return an empty writer."""
        return self._spare.pop() if self._spare else BytesWriter()

    def give_back(self, writer: BytesWriter) -> None:
        """Keep a writer for later use."""
        if len(self._spare) < _SPARE_WRITERS_MAX and len(writer) <= _SPARE_BYTES_MAX:
            writer.truncate(0)
            self._spare.append(writer)


@final
class _OpenBatch:
    """The records of one partition that are not in a complete batch yet."""

    def __init__(self, topic: str, partition: i64, bytes_max: i64, writers: _Writers) -> None:
        self.topic = topic
        self.partition = partition
        # What the topic takes in any case.
        self.bytes_max: i64 = bytes_max
        self._writers = writers
        self.out = _NO_WRITER
        self.count: i64 = 0
        self.first_timestamp_ms: i64 = 0
        self.max_timestamp_ms: i64 = 0

    def start(self, timestamp_ms: i64) -> None:
        """Reserve room for the header, and remember the first timestamp."""
        self.out = self._writers.take()
        self.out.write(_HEADER_SPACE)
        self.first_timestamp_ms = self.max_timestamp_ms = timestamp_ms

    def append(
        self, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: i64
    ) -> None:
        """Encode a record at the end of the batch."""
        out = self.out
        key_length: i64 = _ABSENT if key is None else len(key)
        value_length: i64 = _ABSENT if value is None else len(value)
        delta: i64 = timestamp_ms - self.first_timestamp_ms
        length: i64 = (
            1 + kafka_records.varint_length(delta) + kafka_records.varint_length(self.count)
        )
        length += kafka_records.varint_length(key_length) + kafka_records.varint_length(
            value_length
        )
        length += _content_bytes(key, value, headers)
        kafka_records.put_varint(out, length)
        out.append(0)
        kafka_records.put_varint(out, delta)
        kafka_records.put_varint(out, self.count)
        kafka_records.put_varint(out, key_length)
        if key is not None:
            out.write(key)
        kafka_records.put_varint(out, value_length)
        if value is not None:
            out.write(value)
        out.write(headers)
        self.count += 1
        self.max_timestamp_ms = max(self.max_timestamp_ms, timestamp_ms)

    def close(self) -> RecordBatch:
        """Return the batch, and be empty again."""
        batch = RecordBatch(
            self.topic,
            self.partition,
            self.out.getvalue(),
            self.count,
            self.first_timestamp_ms,
            self.max_timestamp_ms,
        )
        self.empty()
        return batch

    def empty(self) -> None:
        """Drop the records."""
        self._writers.give_back(self.out)
        self.out = _NO_WRITER
        self.count = 0


@final
class BatchingTarget(kafka_records.RecordTarget):
    """Encodes records into the batches of their partitions and gives full batches to the client."""

    def __init__(
        self,
        receiver: BatchReceiver,
        batch_bytes_max: i64,
        open_bytes_max: i64,
        record_bytes_max: i64,
    ) -> None:
        """Hand batches to `receiver` before they exceed `batch_bytes_max`, or what a topic takes.

        A larger record becomes a batch alone. All batches are handed over once the open ones hold
        `open_bytes_max`. A record, with the header of its batch, has `record_bytes_max` at most.
        """
        self._receiver = receiver
        self._batch_bytes_max: i64 = batch_bytes_max
        self._open_bytes_max: i64 = open_bytes_max
        self._record_bytes_max: i64 = record_bytes_max
        self._writers = _Writers()
        # By partition.
        self._topics: dict[str, list[_OpenBatch]] = {}
        # The batches with records, in the order of their first records.
        self._open: list[_OpenBatch] = []
        # Bytes that are still here.
        self.open_bytes: i64 = 0
        # Counted since the last restart; bytes of keys, values and headers.
        self.records: i64 = 0
        self.bytes: i64 = 0

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: i64
    ) -> None:
        """Encode a record at the end of its partition's batch.

        Raises the receiver's error for a record that is too large, or for a topic that cannot be
        created, before anything has changed.
        After any other error, only `drop` may be called.
        """
        content = _content_bytes(key, value, headers)
        batch = self._batch_of(topic, key, value, headers, content)
        bytes_max: i64 = min(self._batch_bytes_max, batch.bytes_max)
        if batch.count and len(batch.out) + content + _RECORD_OVERHEAD_BYTES > bytes_max:
            self._hand_over(batch)
        before: i64 = len(batch.out)
        if not batch.count:
            batch.start(timestamp_ms)
            self._open.append(batch)
        batch.append(key, value, headers, timestamp_ms)
        after: i64 = len(batch.out)
        self.open_bytes += after - before
        self.records += 1
        self.bytes += content
        if after >= bytes_max:
            self._hand_over(batch)
        elif self.open_bytes >= self._open_bytes_max:
            self.flush()

    def require_room(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes
    ) -> None:
        """Raise the errors that `take` would raise before anything has changed."""
        self._batch_of(topic, key, value, headers, _content_bytes(key, value, headers))

    def require_topic(self, topic: str) -> None:
        """Raise the receiver's error for a topic that cannot be created."""
        if topic not in self._topics:
            self._add_topic(topic)

    def flush(self) -> None:
        """Hand over every batch. Raises the receiver's errors."""
        while self._open:
            self._hand_over(self._open[0])

    def drop(self) -> None:
        """Drop the records that are not handed over yet, and restart the counts."""
        for batch in self._open:
            batch.empty()
        self._open.clear()
        self.open_bytes = 0
        self.restart_counts()

    def restart_counts(self) -> None:
        """Count records and bytes from 0 again."""
        self.records = 0
        self.bytes = 0

    def _batch_of(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, content: i64
    ) -> _OpenBatch:
        """Return the batch of a record's partition; raises as `take` does."""
        size_max: i64 = content + _RECORD_OVERHEAD_BYTES + HEADER_BYTES
        if size_max > self._record_bytes_max:
            raise self._receiver.too_large(topic)
        batches = self._topics.get(topic)
        if batches is None:
            batches = self._add_topic(topic)
        batch = batches[kafka_records.partition_of(key, len(batches))]
        if size_max > batch.bytes_max:
            alone = _OpenBatch(topic, batch.partition, batch.bytes_max, self._writers)
            alone.start(0)
            alone.append(key, value, headers, 0)
            if not self._receiver.has_room(alone.close()):
                raise self._receiver.too_large(topic)
        return batch

    def _add_topic(self, topic: str) -> list[_OpenBatch]:
        count = self._receiver.partition_count(topic)
        bytes_max = self._receiver.bytes_max(topic)
        batches = [
            _OpenBatch(topic, partition, bytes_max, self._writers) for partition in range(count)
        ]
        self._topics[topic] = batches
        return batches

    def _hand_over(self, batch: _OpenBatch) -> None:
        self._open.remove(batch)
        self.open_bytes -= len(batch.out)
        self._receiver.receive(batch.close())


def _content_bytes(key: bytes | None, value: bytes | None, headers: bytes) -> i64:
    size: i64 = len(headers)
    if key is not None:
        size += len(key)
    if value is not None:
        size += len(value)
    return size


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, start = kafka_records.read_varint(data, at)
    if length == _ABSENT:
        return None, start
    return data[start : start + length], start + length
