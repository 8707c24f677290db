"""`python -m tests.stream_jobs.iceberg.metadata_growth`: metadata after an hour of publications.

A table gets ten rows and loses one each second, is compacted as the job does it, and is published
at a cut each time. Seconds are simulated, so an hour takes minutes.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Final
from unittest.mock import patch

from stream_jobs.delta.compaction import CompactionLimits
from stream_jobs.delta.storages import LocalStorage
from tests.stream_jobs.delta.other_writer import compact
from tests.stream_jobs.delta.sample import Sample
from tests.stream_jobs.iceberg.readers import DuckDB
from tests.stream_jobs.iceberg.table_story import Published

_ROWS: Final = 10
_TOLD_AT: Final = (60, 600, 3600)
_MIB: Final = 1 << 20
_LIMITS: Final = CompactionLimits(64 * _MIB, 64 * _MIB)
_PROPERTIES: Final = {"delta.deletedFileRetentionDuration": "interval 6 hours"}
_PARTS: Final = {
    "metadata.json": ".metadata.json",
    "manifest lists": "snap-",
    "vectors": ".puffin",
    "manifests": ".avro",
}


class Growth:
    """The table, and a clock that only moves by what is published."""

    def __init__(self, root: Path) -> None:
        """Make the table, an hour ago."""
        storage = LocalStorage(str(root))
        self._dice = random.Random(7)
        self._sample = Sample(storage, "shop/t", _PROPERTIES)
        self._published = Published(storage, "shop/t")
        self._at = int(time.time() * 1000) - max(_TOLD_AT) * 1000
        self._cuts: dict[int, int] = {}
        self._seen: set[str] = set()

    def publish(self, number: int) -> None:
        """Change the table, and publish it at the cut `number`."""
        self._at += 1000
        sample = self._sample
        sample.append(range(number * _ROWS, (number + 1) * _ROWS))
        file = self._dice.choice(list(sample.table.snapshot.files.values()))
        (row,) = self._dice.sample(range(file.rows), 1)
        sample.kill(**{file.path: [row]})
        compact(sample.table, ["id"], _LIMITS)
        self._cuts = {**dict(list(self._cuts.items())[-59:]), number: self._at}
        # Published.publish adds ten seconds.
        self._published.at = self._at - 10_000
        with patch("stream_jobs.iceberg.table_files.now", lambda: self._at):
            self._published.publish(sample.table, cut=number, cuts=self._cuts)
        self._date_new_files()

    def _date_new_files(self) -> None:
        """Give the new files the time of the simulated clock."""
        for entry in os.scandir(self._folder):
            if entry.name not in self._seen:
                self._seen.add(entry.name)
                os.utime(entry.path, (self._at / 1000, self._at / 1000))

    @property
    def _folder(self) -> Path:
        return self._published.folder / "metadata"

    def report(self, number: int) -> str:
        """Return the sizes after the publication `number`, for people."""
        files = [each for each in self._folder.iterdir() if each.is_file()]
        newest = max(
            (each for each in files if each.name.endswith(".metadata.json")),
            key=lambda each: int(each.name[1:].partition(".")[0]),
        )
        oldest = self._at / 1000 - min(each.stat().st_mtime for each in files)
        sizes: dict[str, list[int]] = {name: [] for name in _PARTS}
        for file in files:
            kind = next((name for name, part in _PARTS.items() if part in file.name), None)
            if kind is not None:
                sizes[kind].append(file.stat().st_size)
        kinds = ", ".join(f"{len(own)} {kind} of {sum(own):,} B" for kind, own in sizes.items())
        return (
            f"after {number:,} publications: newest metadata.json {newest.stat().st_size:,} B; "
            f"{len(files)} files, {sum(each.stat().st_size for each in files):,} B, the oldest "
            f"{oldest:.0f} s old: {kinds}; {len(self._sample.table.snapshot.files)} data files"
        )

    def compare(self) -> int:
        """Compare all readers, and return the number of rows."""
        return self._published.agree(DuckDB())


def main() -> int:
    """Publish, and tell the sizes on the way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--publications", type=int, default=max(_TOLD_AT))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="metadata-growth-") as name:
        growth = Growth(Path(name))
        began = time.process_time()
        for number in range(1, arguments.publications + 1):
            growth.publish(number)
            if number in _TOLD_AT or number == arguments.publications:
                print(growth.report(number), flush=True)
        seconds = time.process_time() - began
        print(f"{seconds * 1000 / arguments.publications:.1f} ms of CPU each, with the changes")
        print(f"delta-rs, PyIceberg, DuckDB and Polars have the same {growth.compare():,} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
