"""`python -m benchmarks.ours FILE MODE PASSES [TABLES]`: a binlog file by the connector.

One JSON line a pass.

========== =======================================================================================
`parse`    every event decoded; rows are not looked at
`values`   every column of every image as a Python value, by `BinlogReader.row_changes()`
`arrow`    record batches, by `BinlogReader.to_arrow()`
`envelope` Kafka record batches with keys, headers and Debezium's envelope, by the code that `run`
           streams with; the batches are dropped where `run` would hand them to the Kafka client
`records`  as `envelope`, and every record is read back and counted, which takes longer
========== =======================================================================================

CRC32 is verified. TABLES is a pattern as `shop.*`: what else is in the file is passed over.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.process import usage_of
from connector.binlog.decoder import EventDecoder
from connector.changes.table_filter import TableFilter
from connector.envelope.options import EnvelopeOptions
from connector.envelope.record_encoder import RecordEncoder
from connector.gtid import GtidSet
from connector.progress.server_identity import ServerIdentity
from connector.progress.start_point import StartPoint
from connector.progress.stream_position import StreamPosition
from connector.reader.byte_source import ByteSource
from connector.reader.event_frames import EventFrames
from connector.records.record_batch import BatchingTarget, BatchReceiver, RecordBatch
from connector.run.delivery_stream import DeliveryStream
from connector.system.temporary_folder import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.reader import BinlogReader

PREFIX = "bench"
# In every record, whatever the file is called: its number orders them.
LOG_NAME = "binlog.000001"
VERSION = "0.1.0"  # stands in every record
# As `connector/sink/kafka_sink.py` and the defaults of the configuration have them.
BATCH_BYTES = 256 * 1024
OPEN_BYTES = 8 * 1024 * 1024
RECORD_BYTES = 16 * 1024 * 1024
PARTITIONS = 3
COMMIT_BYTES = 32 * 1024 * 1024

KINDS = {"insert": "ins", "update": "upd", "delete": "del", "c": "ins", "u": "upd", "d": "del"}


def parse(path: Path, tables: str) -> Counter[str]:
    """Decode the events."""
    del tables
    open_binlog = _library()
    found: Counter[str] = Counter()
    with open_binlog(path) as log:
        found["events"] = sum(1 for _ in log)
    return found


def values(path: Path, tables: str) -> Counter[str]:
    """Decode the rows into Python values."""
    del tables
    open_binlog = _library()
    ops: Counter[str] = Counter()
    cells = keys = 0
    with open_binlog(path) as log:
        for change in log.row_changes():
            ops[change.op] += 1
            before, after = change.before, change.after
            row = before if after is None else after
            assert row is not None
            cells += len(row) if before is None or after is None else 2 * len(row)
            keys += row["id"]  # type: ignore[assignment,operator]  # keys are integers here
    found = Counter({KINDS[op]: count for op, count in ops.items()})
    found["cells"], found["pk_sum"] = cells, keys
    return found


def arrow(path: Path, tables: str) -> Counter[str]:
    """Decode the rows into record batches."""
    import pyarrow.compute as pc  # noqa: PLC0415 - the other modes do without

    open_binlog = _library()
    found: Counter[str] = Counter()
    with open_binlog(path) as log:
        for _, _, batch in log.to_arrow([tables]):
            columns = sum(not name.startswith("_") for name in batch.schema.names)
            found["cells"] += batch.num_rows * columns
            for entry in pc.value_counts(batch["_op"]).to_pylist():
                images = 2 if entry["values"] == "update" else 1
                found[KINDS[entry["values"]]] += entry["counts"] // images
            # Both images of an update have the key: it counts once.
            once = pc.or_(pc.equal(batch["_image"], "after"), pc.equal(batch["_op"], "delete"))
            found["pk_sum"] += pc.sum(batch["id"].filter(once)).as_py() or 0
    return found


def _library() -> Callable[[Path], BinlogReader]:
    # It brings the configuration and the client of servers, which the stream's modes do without.
    from connector.reader import open_binlog  # noqa: PLC0415

    return open_binlog


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
        """Count the bytes."""
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
        """Count the changes."""
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
    return _stream(path, tables, Dropped())


def records(path: Path, tables: str) -> Counter[str]:
    """Encode the records of the stream and read them back."""
    receiver = Counted()
    return _stream(path, tables, receiver) + receiver.found


def _stream(path: Path, tables: str, receiver: Dropped) -> Counter[str]:
    source = ByteSource(path)
    frames = EventFrames(source)
    target = BatchingTarget(receiver, BATCH_BYTES, OPEN_BYTES, RECORD_BYTES)
    point = StartPoint("mysql", GtidSet(), LOG_NAME, frames.position)
    standing = StreamPosition(ServerIdentity("mysql", "9.7.4", (9, 7, 4), "", 1, gtid=True), point)
    # The programs beside which this is measured write no tombstones.
    options = EnvelopeOptions(PREFIX, "mysql", VERSION, tombstones=False)
    delivery = DeliveryStream(
        EventDecoder(file=LOG_NAME, counted=True),
        TableFilter([tables]),
        RecordEncoder(options, standing.order, target),
        target,
        standing,
        TemporaryFolder(),
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


MODES: dict[str, Callable[[Path, str], Counter[str]]] = {
    "parse": parse,
    "values": values,
    "arrow": arrow,
    "envelope": envelope,
    "records": records,
}


def main() -> None:
    """Read the file so many times and print a line for each."""
    path, mode, passes, *tables = sys.argv[1:]
    for number in range(int(passes)):
        wall, cpu = time.perf_counter(), time.process_time()
        found = MODES[mode](Path(path), *tables or ["*.*"])
        line = {"peer": "binlog-connector", "mode": mode, "pass": number + 1, **found}
        line["wall_s"] = round(time.perf_counter() - wall, 3)
        line["cpu_s"] = round(time.process_time() - cpu, 3)
        line["rss_mb"] = round(usage_of(os.getpid()).rss_mb)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
