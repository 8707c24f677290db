"""How many requests the batches of one mirror make to its storage, with their upkeep.

Each batch writes a file of ten rows, and kills two rows of the file before. Deletes are not
counted: each file that was put is deleted once, after the retention.

python -m tests.stream_jobs.tables.storage_requests
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyroaring import BitMap

from stream_jobs.apply.key_index import IndexFolder
from stream_jobs.apply.task import run_task
from stream_jobs.apply.task_messages import Task
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import TableCommit
from stream_jobs.run.assembly import delta_properties
from stream_jobs.settings import MirrorSettings
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.topics import BrokerConfig
from stream_jobs.tables.maintenance import ChangedTable, TableMaintenance
from stream_jobs.tables.mirror_metadata import Progress
from stream_jobs.tables.mirror_table import MirrorTable
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from stream_jobs.apply.task_messages import PartResult
    from stream_jobs.delta.storage import Storage, StoredFile

_BATCHES = 1000
_ROWS = 10
_TARGET = 1 << 26
_PAGE = 1000


@dataclass
class CountedStorage:
    """A storage that counts what would be requests to a bucket."""

    inner: Storage
    counts: Counter[str] = field(default_factory=Counter)

    def read(self, path: str) -> bytes | None:
        self.counts["get"] += 1
        return self.inner.read(path)

    def read_part(self, path: str, start: int, size: int) -> bytes | None:
        self.counts["get"] += 1
        return self.inner.read_part(path, start, size)

    def open(self, path: str) -> pa.NativeFile | None:
        """A small file comes with the first request."""
        self.counts["get"] += 1
        return self.inner.open(path)

    def write(self, path: str, content: bytes | memoryview) -> None:
        self.counts["put"] += 1
        self.inner.write(path, content)

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self.counts["put"] += 1
        return self.inner.put_if_absent(path, content)

    def list(self, folder: str, start_after: str = "") -> Iterator[StoredFile]:
        found = list(self.inner.list(folder, start_after))
        self.counts["list"] += max(1, -(-len(found) // _PAGE))
        return iter(found)

    def folders(self, folder: str = "") -> Sequence[str]:
        self.counts["list"] += 1
        return self.inner.folders(folder)

    def delete(self, path: str) -> None:
        self.inner.delete(path)

    def note_table(self, path: str, *, exists: bool) -> None:
        self.inner.note_table(path, exists=exists)

    def sync(self, folder: str) -> None:
        self.inner.sync(folder)

    def verify(self) -> None:
        self.inner.verify()


def apply_batches(storage: Storage, batches: int) -> None:
    """Apply batches to a new mirror, each with its upkeep."""
    settings = MirrorSettings(path="mirror", checkpoint="checkpoint")
    sample = Sample(storage, "t", delta_properties(settings))
    own = MirrorTable(sample.table, Progress("schema", PackedSequence(0, 0), 1))
    template = Task(BrokerConfig((), 1.0, ()), storage, IndexFolder("unused", 0), "error", _TARGET)
    upkeep = TableMaintenance(template, _run, lambda: 2, 2, _TARGET)
    before = ""
    for number in range(batches):
        new = sample.write(range(number * _ROWS, (number + 1) * _ROWS))
        is_there = before in sample.table.snapshot.files
        dead = {before: BitMap([0, 1]).serialize()} if is_there else {}
        sample.table.commit(TableCommit(new=[new], dead=dead), "MERGE")
        before = new.path
        upkeep.after([ChangedTable("topic", own, ("id",))])


def _run(tasks: Sequence[Task]) -> list[PartResult]:
    return [result for task in tasks for result in run_task(task)]


def main() -> None:
    """Print the requests of a batch, by kind."""
    with tempfile.TemporaryDirectory() as folder:
        storage = CountedStorage(LocalStorage(folder))
        apply_batches(storage, _BATCHES)
    for kind, count in sorted(storage.counts.items()):
        print(f"{kind}: {count / _BATCHES:.2f} a batch")


if __name__ == "__main__":
    main()
