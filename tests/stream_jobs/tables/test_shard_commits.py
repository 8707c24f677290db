"""Other processes write to the mirror of some shards: which commits go on, and which do not."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyroaring import BitMap

from stream_jobs.apply.key_index import IndexFolder
from stream_jobs.apply.modes import MODES
from stream_jobs.apply.task_messages import Task
from stream_jobs.delta import log
from stream_jobs.delta.housekeeping import vacuum
from stream_jobs.delta.log import Moment
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import CommitConflict, MirrorError, ShardOvertaken, shard_errors
from stream_jobs.paths import pipeline_path
from stream_jobs.pipeline_folder import owner_path
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import Shard, TableOptions, TableSchema
from stream_jobs.source.topics import BrokerConfig
from stream_jobs.tables import merged_table, shard_view, shared_delta
from stream_jobs.tables.column_changes import all_columns
from stream_jobs.tables.maintenance import ChangedTable, TableMaintenance
from stream_jobs.tables.merged_table import MergedTable
from stream_jobs.tables.mirror_metadata import DOMAIN, Progress
from stream_jobs.tables.mirror_table import MirrorTable
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stream_jobs.delta.actions import DataFile
    from stream_jobs.delta.columns import Column
    from stream_jobs.tables.shard_table import ShardTable

SEQ = PackedSequence(1, 1)
PATH = "shop/orders"
DAY = 24 * 3_600_000
COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


def progress(offset: int) -> dict[str, str]:
    return {DOMAIN: Progress("s", SEQ, 1, offsets={0: offset}).write()}


def merged_of(folder: Path) -> MergedTable:
    """Return the mirror as a process of its own sees it."""
    return MergedTable(LocalStorage(str(folder)), PATH)


def schema_of(value: str, prefix: str = "") -> TableSchema:
    chosen = TableOptions(place=("shop", "orders"), shard=Shard("shard", value, prefix))
    return TableSchema(f"shop_{value}", "orders", "s", SEQ, COLUMNS, chosen=chosen)


def joined(merged: MergedTable, value: str, prefix: str = "") -> ShardTable:
    """Return a new shard of a mirror."""
    schema = schema_of(value, prefix)
    return merged.add(schema, all_columns(schema), progress(0)[DOMAIN], {}, MODES["current"])


def opened(folder: Path, value: str, prefix: str = "") -> ShardTable:
    """Return a shard as a process of its own sees it; the first time, it joins the mirror."""
    merged, schema = merged_of(folder), schema_of(value, prefix)
    known = merged.open(Shard("shard", value, prefix), schema.name, "")
    return joined(merged, value, prefix) if known is None else known


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


def require_waits_for_turn(eu: ShardTable, go_on: Callable[[], None]) -> None:
    """Require that `go_on` waits until `eu`, which has a turn, has committed its wider type."""
    waiter = threading.Thread(target=go_on)
    waiter.start()
    waiter.join(0.5)
    assert waiter.is_alive()
    eu.commit(rewritten(eu), "CHANGE COLUMNS")
    waiter.join(10)
    assert not waiter.is_alive()


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


def test_two_pipelines_that_add_one_shard_are_told(tmp_path: Path) -> None:
    """The second one has looked before the first one has added it."""
    late = merged_of(tmp_path)
    assert late.open(Shard("shard", "eu", "b"), "shop_eu.orders", "") is None
    opened(tmp_path, "eu", "a")
    with pytest.raises(MirrorError) as caught:
        joined(late, "eu", "b")
    assert caught.value.code is shard_errors.SHARD_OF_ANOTHER
    with pytest.raises(MirrorError) as caught:
        opened(tmp_path, "eu", "b")
    assert caught.value.code is shard_errors.SHARD_OF_ANOTHER


def test_two_tables_of_one_pipeline_are_told_nothing_of_others(tmp_path: Path) -> None:
    opened(tmp_path, "eu")
    with pytest.raises(MirrorError) as caught:
        merged_of(tmp_path).open(Shard("shard", "eu"), "shop_us.orders", "")
    assert caught.value.code is shard_errors.SHARD_TWICE
    assert caught.value.text == (
        "shop_us.orders would be the same shard 'eu' of the mirror shop/orders as shop_eu.orders; "
        "give them different shards in [[tables]], or another name to one of them"
    )


def test_a_shard_that_names_no_pipeline_is_one_of_the_first(tmp_path: Path) -> None:
    opened(tmp_path, "eu")
    opened(tmp_path, "eu", "a")
    folder = LocalStorage(str(tmp_path / pipeline_path("b")))
    folder.put_if_absent(owner_path(1), b"{}")
    opened(tmp_path, "us", "b")
    with pytest.raises(MirrorError) as caught:
        opened(tmp_path, "eu", "b")
    assert caught.value.code is shard_errors.SHARD_OF_ANOTHER
    whole = DeltaTable.open(LocalStorage(str(tmp_path)), PATH)
    assert whole is not None
    prefixes = {value: own.prefix for value, own in shard_view.shard_lists(whole.snapshot).items()}
    assert prefixes == {"eu": None, "us": "b"}


def rewritten(own: ShardTable) -> TableCommit:
    """Return the commit that writes all files of all shards again, for a wider `id`."""
    metadata = own.snapshot.metadata
    columns = [replace_type(each) for each in metadata.columns]
    files = tuple(own.all_files.values())
    return TableCommit(
        removed=files, metadata=replace(metadata, columns=tuple(columns)), domains=progress(9)
    )


def replace_type(column: Column) -> Column:
    return column._replace(type=pa.int64()) if column.name == "id" else column


def test_other_pipelines_wait_while_all_files_are_written_again(tmp_path: Path) -> None:
    eu, us = opened(tmp_path, "eu", "a"), opened(tmp_path, "us", "b")
    commit(us, 1, 1)
    eu.refresh()
    eu.take_turn()
    refused: list[CommitConflict] = []

    def go_on() -> None:
        try:
            commit(us, 2, 2)
        except CommitConflict as error:
            refused.append(error)

    require_waits_for_turn(eu, go_on)
    # Its commit did not fit any more, and its round is run again.
    assert len(refused) == 1
    us.refresh()
    assert us.snapshot.domains == progress(1)
    assert shared_delta.TURN not in us.whole.snapshot.domains
    commit(us, 2, 2)


def test_nobody_waits_for_ever_for_a_process_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    eu, us = opened(tmp_path, "eu", "a"), opened(tmp_path, "us", "b")
    monkeypatch.setattr(shared_delta, "_TURN_SECONDS_MAX", 0.3)
    eu.refresh()
    eu.take_turn()
    assert json.loads(eu.whole.snapshot.domains[shared_delta.TURN])["seconds"] == 30
    commit(us, 1, 1)
    assert shared_delta.TURN not in us.whole.snapshot.domains
    # The one whose turn it was comes too late, and begins again.
    with pytest.raises(CommitConflict):
        eu.commit(rewritten(eu), "CHANGE COLUMNS")
    eu.refresh()
    eu.take_turn()
    eu.commit(rewritten(eu), "CHANGE COLUMNS")


def test_nobody_takes_a_turn_in_a_mirror_of_one_pipeline(tmp_path: Path) -> None:
    eu = opened(tmp_path, "eu")
    opened(tmp_path, "us")
    eu.refresh()
    version = eu.snapshot.version
    eu.take_turn()
    assert eu.refresh().version == version


def test_a_table_of_other_pipelines_is_read_before_a_cut_names_an_old_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = merged_of(tmp_path)
    joined(merged, "eu", "a")
    delta = merged.delta
    assert delta is not None
    # Of Delta's defaults: one week, and files are kept as long.
    assert merged.kept_ms == 7 * DAY * 3 / 4
    us = opened(tmp_path, "us", "b")
    merged.see()
    assert delta.snapshot.version == 0
    with monkeypatch.context() as patched:
        patched.setattr(merged_table, "SEEN_SHARE", 0)
        assert merged.is_old
        merged.see()
    assert delta.snapshot.version == us.snapshot.version == 1
    assert not merged.is_old


def test_a_newer_process_of_the_pipeline_makes_a_shard_old(tmp_path: Path) -> None:
    """So a late process writes no cut with what it has not applied."""
    merged = merged_of(tmp_path)
    late, newer = joined(merged, "eu", "a"), opened(tmp_path, "eu", "a")
    commit(newer, 1, 1)
    assert late.is_newest
    assert merged.delta is not None
    merged.delta.refresh()
    assert not late.is_newest


# Of Delta's defaults: files are kept for a week.
LATE = {"time of day": Moment(-4 * DAY, 0), "asleep": Moment(0, -4 * DAY / 1000)}


def ago(since: Moment) -> Moment:
    at = Moment.here()
    return Moment(at.wall_ms + since.wall_ms, at.monotonic + since.monotonic)


@pytest.mark.parametrize("since", LATE.values(), ids=LATE)
@pytest.mark.parametrize("has_gone_on", [False, True])
def test_files_that_others_may_have_deleted_are_not_named(
    tmp_path: Path, since: Moment, *, has_gone_on: bool
) -> None:
    """The process has slept between its tasks and the commit."""
    eu, us = opened(tmp_path, "eu", "a"), opened(tmp_path, "us", "b")
    eu.refresh()
    change = TableCommit(new=[file_of(eu, 1)], domains=progress(1), since=ago(since))
    assert vacuum(us.whole, 9, log.now() + 8 * DAY).files == 1
    if has_gone_on:
        commit(us, 1, 1)
    with pytest.raises(CommitConflict) as found:
        eu.commit(change, "MERGE")
    # Not without end, if each round takes as long.
    assert not isinstance(found.value, ShardOvertaken)
    assert rows(eu) == 0
    eu.commit(replace(change, new=[file_of(eu, 1)], since=Moment.here()), "MERGE")
    assert rows(eu) == 1


def test_nobody_else_deletes_files_in_a_mirror_of_one_pipeline(tmp_path: Path) -> None:
    """So a round may last as long as it likes."""
    eu = opened(tmp_path, "eu")
    file = file_of(eu, 1)
    late = ago(LATE["time of day"])
    eu.commit(TableCommit(new=[file], domains=progress(1), since=late), "MERGE")
    assert rows(eu) == 1


def upkeep(own: ShardTable) -> None:
    task = Task(BrokerConfig((), 1.0, ()), own.storage, IndexFolder("unused", 0), "error", 1)
    mirror = MirrorTable(own, Progress("s", SEQ, 1), began=ago(LATE["asleep"]))
    changed = ChangedTable("topic", mirror, ("id",))
    assert TableMaintenance(task, lambda _: [], lambda: 1, 1, 1).after([changed]) == {}
    # The files of a compaction are new.
    assert mirror.began.age_ms < DAY


def test_a_process_that_has_slept_deletes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it takes for garbage may be live files of others."""
    eu = opened(tmp_path, "eu", "a")
    opened(tmp_path, "us", "b")
    eu.refresh()
    assert not eu.may_clean_up
    for number in range(10):
        eu.commit(TableCommit(domains=progress(number)), "MERGE")
    checkpoints = tmp_path / PATH / "_delta_log"
    with monkeypatch.context() as patched:
        patched.setattr(log, "now", lambda: time.time_ns() // 1_000_000 + 4 * DAY)
        upkeep(eu)
    assert list(checkpoints.glob("*.checkpoint.parquet")) == []
    upkeep(eu)
    assert len(list(checkpoints.glob("*.checkpoint.parquet"))) == 1


def test_a_process_whose_commit_has_failed_deletes_nothing(tmp_path: Path) -> None:
    """No version is its own, so it does not know what others have written for the next one."""
    eu, us = opened(tmp_path, "eu", "a"), opened(tmp_path, "us", "b")
    eu.refresh()
    commit(us, 1, 1)
    with pytest.raises(CommitConflict):
        eu.commit(rewritten(eu), "CHANGE COLUMNS")
    assert not eu.may_clean_up
    eu.refresh()
    eu.commit(rewritten(eu), "CHANGE COLUMNS")
    assert eu.may_clean_up


def test_a_table_is_old_also_after_the_machine_has_slept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = merged_of(tmp_path)
    joined(merged, "eu", "a")
    assert not merged.is_old
    monkeypatch.setattr(log, "now", lambda: time.time_ns() // 1_000_000 + 2 * DAY)
    assert merged.is_old


@pytest.mark.parametrize("leaves", [False, True])
def test_shards_join_and_leave_when_all_files_are_written_again(
    tmp_path: Path, *, leaves: bool
) -> None:
    """Else a wider type never comes to its end."""
    eu = opened(tmp_path, "eu", "a")
    opened(tmp_path, "us", "b")
    eu.refresh()
    eu.take_turn()
    other = merged_of(tmp_path)
    us, new = schema_of("us", "b"), schema_of("new", "b")

    def go_on() -> None:
        if leaves:
            assert us.chosen.shard is not None
            other.remove(us.chosen.shard, us.name, "")
        else:
            other.add(new, all_columns(new), progress(0)[DOMAIN], {}, MODES["current"])

    require_waits_for_turn(eu, go_on)
    values = {"eu"} if leaves else {"eu", "us", "new"}
    assert shard_view.shard_lists(eu.whole.refresh()).keys() == values


@pytest.mark.parametrize("leaves", [False, True])
def test_a_shard_that_joins_or_leaves_ends_the_turn_of_a_process_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, leaves: bool
) -> None:
    monkeypatch.setattr(shared_delta, "_TURN_SECONDS_MAX", 0.3)
    eu = opened(tmp_path, "eu", "a")
    opened(tmp_path, "us", "b")
    eu.refresh()
    eu.take_turn()
    if leaves:
        merged_of(tmp_path).remove(Shard("shard", "us", "b"), "shop_us.orders", "")
    else:
        opened(tmp_path, "new", "b")
    assert shared_delta.TURN not in eu.whole.refresh().domains
