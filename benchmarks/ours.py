"""`python -m benchmarks.ours FILE MODE PASSES [TABLES]`: a binlog file by the connector.

One JSON line a pass.

========== =======================================================================================
`parse`    every event, each made sure to be readable; no body is looked at
`bodies`   every event with its body decoded; rows are not looked at
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

from benchmarks.kinds import KINDS
from benchmarks.process import usage_of
from connector.reader import open_binlog

if TYPE_CHECKING:
    from collections.abc import Callable


def parse(path: Path, tables: str) -> Counter[str]:
    """Read the events."""
    del tables
    found: Counter[str] = Counter()
    with open_binlog(path) as log:
        found["events"] = sum(1 for _ in log)
    return found


def bodies(path: Path, tables: str) -> Counter[str]:
    """Decode the events and their bodies."""
    del tables
    count = 0
    with open_binlog(path) as log:
        for event in log:
            _ = event.body
            count += 1
    return Counter(events=count)


def values(path: Path, tables: str) -> Counter[str]:
    """Decode the rows into Python values."""
    del tables
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


def envelope(path: Path, tables: str) -> Counter[str]:
    """Encode the records of the stream; one for each changed row, and one for each schema."""
    # The library's modes do without the stream.
    from benchmarks import streamed  # noqa: PLC0415

    return streamed.envelope(path, tables)


def records(path: Path, tables: str) -> Counter[str]:
    """Encode the records of the stream and read them back."""
    from benchmarks import streamed  # noqa: PLC0415

    return streamed.records(path, tables)


MODES: dict[str, Callable[[Path, str], Counter[str]]] = {
    "parse": parse,
    "bodies": bodies,
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
