"""Record batches on their way to Kafka: encoded as they are sent, and counted until acknowledged.

::

    base offset 8 │ length 4 │ leader epoch 4 │ magic 1 │ checksum 4                  the header
    attributes 2 │ last offset delta 4 │ first timestamp 8 │ largest timestamp 8 │ producer id 8 │
    epoch 2 │ first sequence number 4 │ count 4 │ records

The length counts what follows it, the checksum (CRC-32C) covers what follows that. kafka-python's
own class copies the records three times, and takes four times as long for a batch of one record.

A thread compresses batches that wait. Compression is most of the work after encoding, and needs
no Python, so it has the second core.

https://kafka.apache.org/documentation/#recordbatch
"""

import threading
import time
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from struct import Struct
from typing import Final

from kafka.codec import gzip_encode, lz4_encode, zstd_encode
from kafka.record.default_records import (
    DefaultRecordBase,
    DefaultRecordBatch,
    DefaultRecordBatchBuilder,
)
from kafka.record.util import calc_crc32c

from connector.foundation.record_batch import HEADER_BYTES, RecordBatch

_HEAD = Struct(">qiibI")
_REST = Struct(">hiqqqhii")
_LENGTH_END = 12
_MAGIC = 2
# By the name of the setting.
CODECS: Final[Mapping[str, int]] = {
    "none": DefaultRecordBase.CODEC_NONE,
    "gzip": DefaultRecordBase.CODEC_GZIP,
    "lz4": DefaultRecordBase.CODEC_LZ4,
    "zstd": DefaultRecordBase.CODEC_ZSTD,
}
_ENCODERS: Final[Mapping[int, Callable[[bytes | memoryview], bytes]]] = {
    DefaultRecordBase.CODEC_GZIP: gzip_encode,
    DefaultRecordBase.CODEC_LZ4: lz4_encode,
    DefaultRecordBase.CODEC_ZSTD: zstd_encode,
}
# Numbers of records begin again at 0 after this one.
SEQUENCE_MAX: Final = 0x7FFF_FFFF
_NONE = -1


class EncodedBatch:
    """A record batch that is numbered and closed once.

    It holds the records in one form at a time, so that what waits for Kafka needs little memory.
    """

    __slots__ = (
        "_attributes",
        "_batch",
        "_bytes",
        "_codec",
        "_compressed",
        "_compressing",
        "_times",
        "base_sequence",
        "count",
        "partition",
        "producer_epoch",
        "producer_id",
        "size",
        "topic",
    )

    def __init__(self, batch: RecordBatch, codec: int) -> None:
        """Hold `batch`; `codec` is the number of its compression, 0 without."""
        self.topic, self.partition = batch.topic, batch.partition
        self.count = batch.count
        self.size = len(batch.data)  # before compression
        self._times = batch.first_timestamp_ms, batch.max_timestamp_ms
        self._codec = codec
        self._attributes = DefaultRecordBase.TRANSACTIONAL_MASK
        self._batch: RecordBatch | None = batch
        self._compressed: bytes | memoryview | None = None
        self._bytes: bytes | None = None
        # The thread that sends waits for the one that compresses.
        self._compressing = threading.Lock()
        self.producer_id = self.producer_epoch = self.base_sequence = _NONE

    @property
    def partition_id(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.topic, self.partition

    def number(self, producer_id: int, epoch: int, base_sequence: int) -> None:
        """Number the batch, before it is closed; `base_sequence` is that of its first record."""
        assert self._bytes is None
        self.producer_id, self.producer_epoch = producer_id, epoch
        self.base_sequence = base_sequence

    def compress(self) -> bytes | memoryview:
        """Return the records, compressed unless that makes them larger; any thread may do it."""
        with self._compressing:
            if self._bytes is not None:
                return memoryview(self._bytes)[HEADER_BYTES:]
            if self._compressed is None:
                assert self._batch is not None
                records = memoryview(self._batch.data)[HEADER_BYTES:]
                encode = _ENCODERS.get(self._codec)
                compressed = records if encode is None else encode(records)
                if len(compressed) < len(records):
                    self._attributes |= self._codec
                    self._compressed = compressed
                    self._batch = None
                else:
                    self._compressed = records
            return self._compressed

    def close(self) -> None:
        """Compress the records, and write the header."""
        if self._bytes is not None:
            return
        records = self.compress()
        rest = _REST.pack(
            self._attributes,
            self.count - 1,
            *self._times,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
        )
        checked = b"".join((rest, records))
        length = _HEAD.size - _LENGTH_END + len(checked)
        head = _HEAD.pack(0, length, 0, _MAGIC, calc_crc32c(checked))
        with self._compressing:
            self._bytes = head + checked
            self._compressed = self._batch = None

    def halves(self) -> list["EncodedBatch"]:
        """Return two closed batches with the same records and numbers; there are two at least."""
        records = list(DefaultRecordBatch(self.buffer()))
        middle = len(records) // 2
        halves = []
        for start, rows in ((0, records[:middle]), (middle, records[middle:])):
            builder = DefaultRecordBatchBuilder(_MAGIC, 0, True, _NONE, _NONE, _NONE, SEQUENCE_MAX)
            for at, row in enumerate(rows):
                builder.append(at, row.timestamp, row.key, row.value, row.headers)
            times = [row.timestamp for row in rows]
            batch = RecordBatch(
                self.topic,
                self.partition,
                bytes(builder.build()),
                len(rows),
                times[0],
                max(times),
            )
            half = EncodedBatch(batch, self._codec)
            sequence = (self.base_sequence + start) & SEQUENCE_MAX
            half.number(self.producer_id, self.producer_epoch, sequence)
            half.close()
            halves.append(half)
        return halves

    def buffer(self) -> bytes:
        """Return the closed batch."""
        assert self._bytes is not None
        return self._bytes

    def size_in_bytes(self) -> int:
        """Return the bytes that it holds now; another thread may change them meanwhile."""
        # In the order in which one form takes the place of another.
        batch, compressed, closed = self._batch, self._compressed, self._bytes
        if closed is not None:
            return len(closed)
        if compressed is not None:
            return HEADER_BYTES + len(compressed)
        assert batch is not None
        return len(batch.data)


class InFlightBatches:
    """Batches by their bytes in memory; any thread may use it."""

    def __init__(self) -> None:
        """Start the thread; `close` ends it."""
        # Of each batch the bytes that are counted.
        self._batches: dict[EncodedBatch, int] = {}
        self._bytes = 0
        self._lock = threading.Lock()
        # Why every wait is in vain.
        self._failure: Exception | None = None
        # Set when a batch becomes smaller or ends, or when there is something else to look at.
        self._news = threading.Event()
        # Batches that are not compressed yet; None ends the thread.
        self._ahead: SimpleQueue[EncodedBatch | None] = SimpleQueue()
        threading.Thread(target=self._compress, name="compression", daemon=True).start()

    @property
    def bytes(self) -> int:
        """Bytes of all batches, as they are in memory once they are compressed."""
        return self._bytes

    def add(self, records: EncodedBatch) -> None:
        """Count a batch, and have it compressed."""
        size = records.size_in_bytes()
        with self._lock:
            self._batches[records] = size
            self._bytes += size
        self._ahead.put(records)

    def discard(self, records: EncodedBatch) -> None:
        """Forget a batch."""
        with self._lock:
            self._bytes -= self._batches.pop(records, 0)
        self._news.set()

    def clear(self) -> None:
        """Forget all batches."""
        with self._lock:
            self._batches.clear()
            self._bytes = 0
        self._news.set()

    def notify(self) -> None:
        """Have `wait_until` look again."""
        self._news.set()

    def fail(self, error: Exception) -> None:
        """Have `wait_until` raise `error` from now on, where its condition does not hold."""
        self._failure = error
        self._news.set()

    def check(self) -> None:
        """Raise the error of `fail`, if there is one."""
        if self._failure is not None:
            raise self._failure

    def wait_until(self, condition: Callable[[], bool], timeout_seconds: float) -> bool:
        """Wait until a condition holds, which is asked at any news; return False if too late.

        Raises the error of `fail`.
        """
        until = time.monotonic() + timeout_seconds
        while True:
            self._news.clear()
            if condition():
                return True
            self.check()
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._news.wait(left)

    def close(self) -> None:
        """End the thread."""
        self._ahead.put(None)

    def _compress(self) -> None:
        while (records := self._ahead.get()) is not None:
            records.compress()
            self._count_again(records)
            self._news.set()

    def _count_again(self, records: EncodedBatch) -> None:
        size = records.size_in_bytes()
        with self._lock:
            if records in self._batches:
                self._bytes += size - self._batches[records]
                self._batches[records] = size
