"""A binlog file becomes record batches by the code that `run` streams with.

The modes `envelope` and `records` of `benchmarks.ours`, which describes them.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING

from benchmarks.kinds import KINDS
from connector.binlog.decoder import EventDecoder
from connector.binlog.files.byte_source import ByteSource
from connector.binlog.files.event_frames import EventFrames
from connector.binlog.gtid import GtidSet
from connector.binlog.table_filter import TableFilter
from connector.foundation.operating_system import TemporaryFolder
from connector.foundation.record_batch import BatchingTarget, BatchReceiver, RecordBatch
from connector.replication.start_point import ServerIdentity, StartPoint
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.progress.stream_position import StreamPosition
from connector.stream.run.delivery_parts import ChangeHandlers, DeliveryOptions, RecordOutput
from connector.stream.run.delivery_stream import DeliveryStream

if TYPE_CHECKING:
    from pathlib import Path

PREFIX = "bench"
# In every record, whatever the file is called: its number orders them.
LOG_NAME = "binlog.000001"
VERSION = "0.1.0"  # stands in every record
# As `connector/stream/sink/kafka_sink.py` and the defaults of the configuration have them.
BATCH_BYTES = 256 * 1024
OPEN_BYTES = 8 * 1024 * 1024
RECORD_BYTES = 16 * 1024 * 1024
PARTITIONS = 3
COMMIT_BYTES = 32 * 1024 * 1024


class Dropped(BatchReceiver):
    """Stands where the Kafka client would."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.bytes = 0

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions that topics are created with."""
        del topic
        return PARTITIONS

    def receive(self, batch: RecordBatch) -> None:
        self.bytes += len(batch.data)

    def too_large(self, topic: str) -> Exception:
        """Return the error; no record of the workloads is that large."""
        return ValueError(topic)


class Counted(Dropped):
    """Reads the records back and counts what they say."""

    def __init__(self) -> None:
        """Start with nothing."""
        super().__init__()
        self.found: Counter[str] = Counter()

    def receive(self, batch: RecordBatch) -> None:
        super().receive(batch)
        for record in batch.records():
            if record.topic == f"{PREFIX}.schema":
                self.found["schemas"] += 1
                continue
            assert record.value is not None
            envelope = json.loads(record.value)
            images = [envelope[name] for name in ("before", "after") if envelope[name] is not None]
            self.found[KINDS[envelope["op"]]] += 1
            self.found["cells"] += sum(map(len, images))
            self.found["pk_sum"] += int(images[-1]["id"])


def envelope(path: Path, tables: str) -> Counter[str]:
    """Encode the records of the stream; one for each changed row, and one for each schema."""
    return stream(path, tables, Dropped())


def records(path: Path, tables: str) -> Counter[str]:
    """Encode the records of the stream and read them back."""
    receiver = Counted()
    return stream(path, tables, receiver) + receiver.found


def stream(path: Path, tables: str, receiver: Dropped) -> Counter[str]:
    """Hand the record batches of a file to `receiver`; return how many records there are."""
    source = ByteSource(path)
    frames = EventFrames(source)
    target = BatchingTarget(receiver, BATCH_BYTES, OPEN_BYTES, RECORD_BYTES)
    point = StartPoint("mysql", GtidSet(), LOG_NAME, frames.position)
    position = StreamPosition(ServerIdentity("mysql", "9.7.4", (9, 7, 4), "", 1, gtid=True), point)
    # The programs beside which this is measured write no tombstones.
    options = EnvelopeOptions(PREFIX, "mysql", VERSION, tombstones=False)
    delivery = DeliveryStream(
        EventDecoder(file=LOG_NAME, counted=True),
        TableFilter([tables]),
        RecordOutput(RecordEncoder(options, position.order, target), target),
        position,
        TemporaryFolder(),
        DeliveryOptions(),
        ChangeHandlers(),
    )
    found: Counter[str] = Counter()
    complete = False
    while not complete:
        complete = delivery.run(frames, COMMIT_BYTES, time.time_ns() // 1000)
        target.flush()
        found["records"] += target.records
        target.restart_counts()
        delivery.waiting = 0
    source.close()
    found["json_bytes"] = receiver.bytes
    return found
