"""1,000 random updates of a table of 10 million rows, again and again.

The table is written without the job, as the job would have left it: its Kafka topic has the updates
alone. Bytes are those of all files that the batches wrote: data, deletion vectors, the log,
compactions. They are compared with the changed rows: the bytes of their values.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.mirror_jobs import MirrorJob
from benchmarks.mirror_topics import (
    COLUMNS,
    DATABASE,
    FIRST_SEQUENCE,
    SCHEMA_ID,
    Topics,
    row_values,
)
from benchmarks.process import say
from stream_jobs.apply.modes import MODES
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import TableCommit
from stream_jobs.source.sequence import HI, LO, PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.column_changes import all_columns
from stream_jobs.tables.mirror_metadata import Progress
from stream_jobs.tables.mirror_table import MirrorTable

if TYPE_CHECKING:
    from pathlib import Path

    from stream_jobs.delta.table import DeltaTable

ROWS = 10_000_000
CHANGES = 1_000
ROUNDS = 100
TABLE = "large"
# A file of these has about `mirror.target_file_bytes`.
_FILE_ROWS = 3_300_000
_CONVERTED_ROWS = 100_000


def measure_updates(work: Path, bootstrap: str, scale: float) -> dict[str, Any]:
    """Return the figures."""
    rows, rounds = int(ROWS * scale), max(10, int(ROUNDS * min(1.0, scale * 10)))
    say(f"mirror: a table of {rows:,} rows")
    topics = Topics(bootstrap, "updates", [TABLE], 1)
    job = MirrorJob(work, "ours", bootstrap, "updates")
    row_bytes = _fill(job.mirror, rows)
    dice = np.random.default_rng(5)
    for number in range(rounds):
        for key in dice.choice(rows, CHANGES, replace=False).tolist():
            topics.send(TABLE, "u", key, number + 1)
        topics.commit()
    topics.close()
    before, known = _table(job), _sizes(job.mirror)
    # A round, and the marker of its transaction.
    run = job.run(CHANGES + 1)
    after = _table(job)
    written = sum(size for name, size in _sizes(job.mirror).items() if name not in known)
    seconds = run.batch_s[1:]
    found = {
        "rows": rows,
        "rounds": len(run.batches),
        "changed_mb": round(row_bytes * CHANGES * rounds / 1e6, 2),
        "written_mb": round(written / 1e6, 2),
        "index_mb": round(sum(_sizes(job.indexes).values()) / 1e6, 2),
        # The first batch makes the indexes of all files.
        "first_s": run.batch_s[0],
        "batch_s": round(statistics.median(seconds), 3),
        "slowest_s": max(seconds),
        "cpu_us": round(run.steady_cpu_us),
        "files_before": len(before.snapshot.files),
        "files_after": len(after.snapshot.files),
        "mb_before": round(_live_bytes(before) / 1e6, 2),
        "mb_after": round(_live_bytes(after) / 1e6, 2),
        "peak_mb": round(run.peak_mb),
    }
    say(f"mirror, updates: {found}")
    return found


def _fill(mirror: Path, rows: int) -> float:
    """Write the table; return the bytes of a row's values."""
    storage = LocalStorage(str(mirror))
    first = PackedSequence.pack(FIRST_SEQUENCE)
    schema = TableSchema(DATABASE, TABLE, SCHEMA_ID, first, tuple(COLUMNS))
    columns = all_columns(schema)
    progress = Progress(SCHEMA_ID, schema.first, 1, offsets={0: 0})
    path = f"{DATABASE}/{TABLE}"
    own = MirrorTable.create(storage, path, schema, columns, progress, {}, MODES["current"])
    values = row_values(min(rows, _CONVERTED_ROWS))
    types = {column.name: column.type for column in columns}
    sample = pa.table({name: pa.array(each, types[name]) for name, each in values.items()})
    files = []
    for start in range(0, rows, _FILE_ROWS):
        # Each file has the same values, with other keys.
        count = min(_FILE_ROWS, rows - start)
        repeats = -(-count // sample.num_rows)
        data = pa.concat_tables([sample] * repeats).slice(0, count)
        data = data.set_column(0, "id", pa.array(np.arange(start, start + count)))
        for name, value in ((HI, schema.first.hi), (LO, schema.first.lo)):
            data = data.append_column(name, pa.repeat(pa.scalar(value, pa.int64()), count))
        files.append(write_file(storage, path, columns, data, key=schema.key))
    own.delta.commit(TableCommit(new=files), "WRITE")
    return float(sample.nbytes / sample.num_rows)


def _table(job: MirrorJob) -> DeltaTable:
    name = f"{DATABASE}.{TABLE}"
    own = MirrorTable.open(LocalStorage(str(job.mirror)), f"{DATABASE}/{TABLE}", name, "")
    assert own is not None
    return own.delta


def _live_bytes(table: DeltaTable) -> int:
    """Return the bytes of the files that a reader of the newest version opens."""
    files = table.snapshot.files.values()
    vectors = (file.deletion_vector.size for file in files if file.deletion_vector)
    return sum(file.size for file in files) + sum(vectors)


def _sizes(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
