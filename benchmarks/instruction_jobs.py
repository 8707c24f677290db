"""`python -m benchmarks.instruction_jobs LOG FOLDER`: what `benchmarks.instructions` counts.

Each job runs once, so that everything is loaded and cached, and a second time to be counted.
Callgrind, in which this runs, begins to count when it is told to, and writes a file for each job.
`benchmarks.timed_jobs` takes the time of the same jobs.

========= ========================================================================================
`decode`  every column of every image as a Python value
`encode`  record batches with keys, headers and the envelope, as `run` makes them
`dump`    `dump --format json`
`apply`   records become the typed columns of a mirror, as a task of the Spark job makes them
========= ========================================================================================
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import zstandard

from benchmarks.ours import values
from benchmarks.streamed import PREFIX, Dropped, envelope, stream
from connector.foundation.record_batch import HEADER_BYTES, RecordBatch
from connector.foundation.record_reader import RecordColumns, read_records
from connector.logs.dump import Format
from connector.logs.dump.dump import Dump, DumpOptions
from connector.logs.inputs import ReadingOptions, file_inputs
from connector.logs.output import LineOutput
from stream_jobs.apply.changes import Changes
from stream_jobs.apply.column_values import stored_columns
from stream_jobs.apply.row_images import read_images
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.source.topics import OffsetRange

if TYPE_CHECKING:
    from collections.abc import Callable

_EVERY_TABLE = "*.*"


def _dump(log: Path) -> None:
    dump = Dump(
        DumpOptions(Format.JSON, topic_prefix=PREFIX), LineOutput(BytesIO()), lambda _: None
    )
    dump.run(file_inputs([str(log)], ReadingOptions()))


class _Apply(Dropped):
    """Takes the records of a log, which are read again and again."""

    def __init__(self, log: Path) -> None:
        super().__init__()
        self._batches: defaultdict[str, list[RecordBatch]] = defaultdict(list)
        stream(log, _EVERY_TABLE, self)
        self._schemas = {
            f"{PREFIX}.{schema.name}": schema
            for batch in self._batches.pop(f"{PREFIX}.schema")
            for record in batch.records()
            for schema in [TableSchema.decode(record.value or b"")]
        }

    def receive(self, batch: RecordBatch) -> None:
        super().receive(batch)
        self._batches[batch.topic].append(batch)

    def __call__(self) -> None:
        for topic, schema in self._schemas.items():
            changes = Changes(topic, [self._piece(batch) for batch in self._batches[topic]])
            if error := changes.error():
                raise error
            rows = [value for value in changes.values if value and b'"after":{' in value]
            images = read_images(rows, "after", schema.columns, schema.schema_id)
            stored_columns(images, schema.columns, "null")

    def _piece(self, batch: RecordBatch) -> tuple[OffsetRange, RecordColumns]:
        columns = RecordColumns()
        read_records(batch.data, HEADER_BYTES, batch.count, 0, 0, batch.count, columns)
        return OffsetRange(batch.topic, batch.partition, 0, batch.count), columns


def _control(*arguments: str) -> None:
    subprocess.run(
        ["callgrind_control", *arguments, str(os.getpid())],
        check=True,
        capture_output=True,
    )


def jobs_of(compressed: Path, folder: Path) -> dict[str, Callable[[], object]]:
    """Unpack a log into a folder, and return the jobs over it, each of which has run once."""
    log = folder / compressed.stem
    with compressed.open("rb") as source, log.open("wb") as plain:
        shutil.copyfileobj(zstandard.ZstdDecompressor().stream_reader(source), plain)
    # Threads share the work in another way each time.
    pa.set_cpu_count(1)
    jobs: dict[str, Callable[[], object]] = {
        "decode": partial(values, log, _EVERY_TABLE),
        "encode": partial(envelope, log, _EVERY_TABLE),
        "dump": partial(_dump, log),
        "apply": _Apply(log),
    }
    for job in jobs.values():
        job()
    return jobs


def main() -> None:
    """Let Callgrind count each job."""
    compressed, folder = map(Path, sys.argv[1:])
    jobs = jobs_of(compressed, folder)
    _control("--instr=on")
    for name, job in jobs.items():
        _control("--zero")
        job()
        _control(f"--dump={name}")


if __name__ == "__main__":
    main()
