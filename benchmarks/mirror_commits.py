"""When the rows of Delta tables could be read: from the files of their logs, not by polling."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson

from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.parquet_file import read_columns
from stream_jobs.delta.table import DeltaTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from stream_jobs.delta.storages import LocalStorage


class CommittedRows(NamedTuple):
    """The values of a column in the new rows of a commit."""

    # Seconds since 1970. The log file gets its name in the same moment: that changes the inode.
    seen_at: float
    values: NDArray[np.int64]


def versions(storage: LocalStorage) -> dict[str, int]:
    """Return the newest version of each table below the root."""
    root = Path(storage.root)
    return {
        log.parent.name: max(int(file.stem) for file in log.glob("*.json"))
        for log in root.glob("*/_delta_log")
        if any(log.glob("*.json"))
    }


def committed_rows(
    storage: LocalStorage, table: str, column: str, after: int
) -> Iterator[CommittedRows]:
    """Yield the new rows of each commit after version `after`."""
    opened = DeltaTable.open(storage, table)
    assert opened is not None
    wanted = [each for each in opened.snapshot.columns if each.name == column]
    for version in range(after + 1, opened.snapshot.version + 1):
        log_file = Path(storage.root) / table / "_delta_log" / f"{version:020d}.json"
        actions = [orjson.loads(line) for line in log_file.read_bytes().splitlines()]
        # A file that is removed and added again has got dead rows.
        known = {action["remove"]["path"] for action in actions if "remove" in action}
        for action in actions:
            add = action.get("add")
            if add is not None and add["dataChange"] and add["path"] not in known:
                data = read_columns(storage, table, DataFile.of_json(add), wanted)
                yield CommittedRows(log_file.stat().st_ctime, data[column].to_numpy())
