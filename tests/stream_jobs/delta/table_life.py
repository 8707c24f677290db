"""A table lives in a storage: every kind of commit, a writer that comes late, and the upkeep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from stream_jobs.delta.compaction import rewrite
from stream_jobs.delta.housekeeping import clean_log, vacuum, write_checkpoint
from stream_jobs.delta.log import now
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import CommitConflict
from tests.stream_jobs.delta.sample import Sample

if TYPE_CHECKING:
    from stream_jobs.delta.storage import Storage

DAY = 86_400_000
# What an error of a storage advises.
ADVICE = (
    "; check that the folder of the mirror exists, that the job may write there, and its free space"
)


def live_through(storage: Storage, *left_behind: str) -> None:
    """Create a table, change it, and tidy up; writers that died have `left_behind` files."""
    sample = Sample(storage, "shop/t")
    file = sample.append(range(100))
    sample.kill(**{file.path: range(0, 100, 2)})
    other = DeltaTable.open(storage, sample.path)
    assert other is not None
    new = sample.append([100])
    with pytest.raises(CommitConflict):
        other.commit(TableCommit(domains={"a": "b"}), "WRITE")
    assert other.refresh() == sample.table.snapshot
    write_checkpoint(sample.table)
    columns = sample.table.snapshot.columns
    old = list(sample.table.snapshot.files.values())
    (one,) = rewrite(storage, sample.path, columns, old, ["id"])
    sample.table.commit(TableCommit(new=[one], removed=old, data_change=False), "OPTIMIZE")
    write_checkpoint(sample.table)
    assert sample.ids() == [*range(1, 100, 2), 100]
    for name in left_behind:
        storage.write(f"{sample.path}/{name}", b"PAR1")
    assert clean_log(sample.table, now() + 31 * DAY) > 0
    assert vacuum(sample.table, 9, now() + 8 * DAY).files == 2 + len(left_behind)
    assert storage.read(f"{sample.path}/{new.path}") is None
    assert sample.ids() == [*range(1, 100, 2), 100]
