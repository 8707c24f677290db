"""Other processes write to the mirror of some shards: which commits go on, and which do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyroaring import BitMap

from stream_jobs.apply.modes import MODES
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import CommitConflict, ShardOvertaken
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import Shard, TableOptions, TableSchema
from stream_jobs.tables.column_changes import all_columns
from stream_jobs.tables.merged_table import MergedTable
from stream_jobs.tables.mirror_metadata import DOMAIN, Progress
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from pathlib import Path

    from stream_jobs.delta.actions import DataFile
    from stream_jobs.tables.shard_table import ShardTable

SEQ = PackedSequence(1, 1)
PATH = "shop/orders"
COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


def progress(offset: int) -> dict[str, str]:
    return {DOMAIN: Progress("s", SEQ, 1, offsets={0: offset}).write()}


def merged_of(folder: Path) -> MergedTable:
    """Return the mirror as a process of its own sees it."""
    return MergedTable(LocalStorage(str(folder)), PATH)


def schema_of(value: str) -> TableSchema:
    chosen = TableOptions(place=("shop", "orders"), shard=Shard("shard", value))
    return TableSchema(f"shop_{value}", "orders", "s", SEQ, COLUMNS, chosen=chosen)


def joined(merged: MergedTable, value: str) -> ShardTable:
    """Return a new shard of a mirror."""
    schema = schema_of(value)
    return merged.add(schema, all_columns(schema), progress(0)[DOMAIN], {}, MODES["current"])


def opened(folder: Path, value: str) -> ShardTable:
    """Return a shard as a process of its own sees it; the first time, it joins the mirror."""
    merged, schema = merged_of(folder), schema_of(value)
    known = merged.open(Shard("shard", value), schema.name, "")
    return joined(merged, value) if known is None else known


def file_of(own: ShardTable, *ids: int) -> DataFile:
    columns = own.snapshot.metadata.file_columns
    values = {each.name: pa.nulls(len(ids), each.type) for each in columns}
    data = pa.table(values | {"id": pa.array(ids, pa.int32())})
    return write_file(own.storage, own.path, columns, data, key=["id"])


def commit(own: ShardTable, offset: int, *ids: int) -> DataFile:
    """Commit a file with new rows, and return it."""
    file = file_of(own, *ids)
    own.commit(TableCommit(new=[file], domains=progress(offset)), "MERGE")
    return file


def rows(own: ShardTable) -> int:
    own.refresh()
    return sum(file.live for file in own.snapshot.files.values())


def test_two_processes_commit_their_shards_in_turn(tmp_path: Path) -> None:
    """Neither has seen the commits of the other one."""
    eu, us = opened(tmp_path, "eu"), opened(tmp_path, "us")
    for number in range(3):
        commit(eu, number + 1, number)
        commit(us, number + 1, number, number + 10)
    assert (rows(eu), rows(us)) == (3, 6)
    whole = DeltaTable.open(LocalStorage(str(tmp_path)), PATH)
    assert whole is not None
    assert (whole.snapshot.version, whole.snapshot.live_rows) == (7, 9)
    assert eu.snapshot.domains == progress(3)


def test_dead_rows_of_a_shard_are_found_after_a_commit_of_another_process(tmp_path: Path) -> None:
    eu, us = opened(tmp_path, "eu"), opened(tmp_path, "us")
    file = commit(eu, 1, 1, 2, 3)
    commit(us, 1, 1)
    dead = {file.path: BitMap([1]).serialize()}
    eu.commit(TableCommit(dead=dead, domains=progress(2)), "MERGE")
    assert (rows(eu), rows(us)) == (2, 1)


def test_a_process_that_wakes_up_late_commits_nothing(tmp_path: Path) -> None:
    opened(tmp_path, "us")
    late, newer = opened(tmp_path, "eu"), opened(tmp_path, "eu")
    commit(newer, 1, 1)
    with pytest.raises(CommitConflict):
        commit(late, 1, 1)
    assert rows(newer) == 1


def test_a_process_that_wakes_up_late_does_not_add_a_shard_again(tmp_path: Path) -> None:
    """It would set the progress of the newer one back to the beginning."""
    opened(tmp_path, "us")
    late = merged_of(tmp_path)
    assert late.open(Shard("shard", "eu"), "shop_eu.orders", "") is None
    newer = opened(tmp_path, "eu")
    commit(newer, 5, 1)
    with pytest.raises(ShardOvertaken):
        joined(late, "eu")
    assert rows(newer) == 1
    assert newer.snapshot.domains == progress(5)


def test_a_late_process_does_not_set_progress_back(tmp_path: Path) -> None:
    """The newer one has found nothing to write in what it has read."""
    late, newer = opened(tmp_path, "eu"), opened(tmp_path, "eu")
    newer.commit(TableCommit(domains=progress(5)), "MERGE")
    with pytest.raises(CommitConflict) as found:
        commit(late, 1, 1)
    assert not isinstance(found.value, ShardOvertaken)
    newer.refresh()
    assert newer.snapshot.domains == progress(5)


def test_rows_that_another_program_has_rewritten_are_looked_up_again(tmp_path: Path) -> None:
    eu = opened(tmp_path, "eu")
    file = commit(eu, 1, 1, 2)
    other = opened(tmp_path, "eu")
    optimized = TableCommit(
        new=[file_of(other, 1, 2)], removed=[file], data_change=False, domains=progress(1)
    )
    other.commit(optimized, "OPTIMIZE")
    dead = {file.path: BitMap([0]).serialize()}
    with pytest.raises(CommitConflict):
        eu.commit(TableCommit(dead=dead, domains=progress(2)), "MERGE")
    eu.refresh()
    assert file.path not in eu.snapshot.files
    assert rows(eu) == 2
