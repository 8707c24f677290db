"""The shards of a pipeline that is gone are removed from a mirror, whatever is killed meanwhile."""

from __future__ import annotations

import functools
import io
import os
import shutil
import socket
import subprocess
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable as DeltaRs

from connector.foundation.errors import ConfigError
from connector.lake.demo.stack import read_mirror
from stream_jobs.__main__ import main
from stream_jobs.apply.modes import MODES
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import CommitConflict, MirrorError, job_errors, shard_errors
from stream_jobs.pipeline_folder import newest_owner, owner_path, pipeline_folder
from stream_jobs.run import shard_removal
from stream_jobs.run.commands import drop_shards
from stream_jobs.run.job_state import OF_OTHER_OWNERS, Ownership, RunRecord, claimed, job_status
from stream_jobs.run.shard_removal import ShardRemoval
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import Shard, TableOptions, TableSchema
from stream_jobs.tables import shared_delta
from stream_jobs.tables.column_changes import all_columns
from stream_jobs.tables.merged_table import MergedTable
from stream_jobs.tables.mirror_metadata import DOMAIN
from stream_jobs.tables.quarantine_files import QuarantinedTable, QuarantineFiles
from stream_jobs.tables.shard_view import shard_lists
from tests.foundation.errors.texts import text_of
from tests.stream_jobs.run.test_claims import settings_of
from tests.stream_jobs.tables.test_shard_commits import COLUMNS, commit, progress
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stream_jobs.tables.shard_table import ShardTable

EU, US = "eu", "us"
SEQ = PackedSequence(1, 1)
NOTE = column("note", "varchar", length=80)
HOST = socket.gethostname()


def shard(folder: Path, value: str, table: str = "orders", prefix: str | None = None) -> ShardTable:
    """Return a shard as a new process sees it; its pipeline has its name, if no other is given."""
    own = Shard("shard", value, value if prefix is None else prefix)
    columns = (*COLUMNS, NOTE) if value.startswith(US) else COLUMNS
    chosen = TableOptions(place=("shop", table), shard=own)
    schema = TableSchema("shop", f"{table}_{value}", "s", SEQ, columns, chosen=chosen)
    merged = MergedTable(LocalStorage(f"{folder}/mirror"), f"shop/{table}")
    known = merged.open(own, schema.name, "")
    if known is not None:
        return known
    return merged.add(schema, all_columns(schema), progress(0)[DOMAIN], {}, MODES["current"])


def claim(folder: Path, name: str, **choices: Any) -> Ownership:
    return claimed(settings_of(folder, name, **choices))[1]


def end_run(folder: Path, name: str, own: Ownership) -> None:
    """Note that the job of a pipeline has ended on request."""
    record = RunRecord(*pipeline_folder(f"{folder}/mirror", name), "processingTime")
    record.begin(own.owner.epoch)
    record.stopped()


def with_pipelines(folder: Path, gone: str = US) -> None:
    """Make a mirror of two pipelines, of which one is gone, and was the first if it is `eu`."""
    for name in (EU, US):
        own = claim(folder, name)
        if name == gone:
            end_run(folder, name, own)
    commit(shard(folder, EU), 1, 1, 2)
    commit(shard(folder, US), 1, 1, 2, 3)
    commit(shard(folder, f"{US}_2", prefix=US), 1, 7)
    commit(shard(folder, gone, "items"), 1, 5)
    place = pipeline_folder(f"{folder}/mirror", gone)
    aside = QuarantinedTable(f"{gone}.shop.t", "shop.t", "1", "x", "M101", "why", None, None, {})
    QuarantineFiles(*place).put(aside)
    place.storage.write("_cdc/cuts/00000000000000000001.json", b"{}")


def removal(folder: Path, prefix: str = US, lost: str | None = None) -> ShardRemoval:
    return ShardRemoval(settings_of(folder, EU), prefix, lost)


def drop(folder: Path, prefix: str = US, *, confirmed: bool = True, lost: str | None = None) -> str:
    """Return what the command says."""
    out = io.StringIO()
    drop_shards(settings_of(folder, EU), prefix, lost, out, confirmed=confirmed)
    return out.getvalue()


def refusal(folder: Path, prefix: str = US, **choices: Any) -> str:
    with pytest.raises((MirrorError, ConfigError)) as caught:
        drop(folder, prefix, **choices)
    return caught.value.message.text


def lists(folder: Path, table: str = "orders") -> dict[str, str | None]:
    """By shard, the prefix that its list names."""
    delta = DeltaTable.open(LocalStorage(f"{folder}/mirror"), f"shop/{table}")
    assert delta is not None
    found = {value: own.prefix for value, own in shard_lists(delta.snapshot).items()}
    domains = {name.rpartition("/")[2] for name in delta.snapshot.domains}
    assert domains == found.keys()
    return found


def rows(folder: Path, table: str = "orders") -> list[dict[str, Any]]:
    """The rows, read by another implementation."""
    data = read_mirror(f"{folder}/mirror/shop/{table}")
    names = [name for name in data.column_names if not name.startswith("_cdc_")]
    return sorted(data.select(names).to_pylist(), key=lambda row: (row["shard"], row["id"]))


def own_files(folder: Path) -> list[str]:
    """The files of all pipelines."""
    root = LocalStorage(f"{folder}/mirror")
    return [f"{place}/{file.name}" for place in ("_cdc", "_pipelines") for file in root.list(place)]


def every_file(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


OF_EU = [{"shard": EU, "id": number, "name": None} for number in (1, 2)]


def test_its_rows_columns_progress_and_files_are_removed(tmp_path: Path) -> None:
    with_pipelines(tmp_path)
    assert {row["note"] for row in rows(tmp_path)} == {None}
    running = shard(tmp_path, EU)
    base = f"{tmp_path}/mirror"
    assert drop(tmp_path) == (
        "shop.items: removed shard us, 1 row\n"
        f"no shard is left there: {base}/shop/items stays, empty\n"
        "shop.orders: removed shards us, us_2, 4 rows\n"
        f"{base}/_pipelines/us/_cdc: removed 3 files of the job\n"
    )
    assert rows(tmp_path) == OF_EU
    assert lists(tmp_path) == {EU: EU}
    assert own_files(tmp_path) == [owner_path(1)]
    # The others go on where they were.
    commit(running, 2, 3)
    assert [row["id"] for row in rows(tmp_path)] == [1, 2, 3]
    text = text_of(shard_errors.NO_SUCH_PIPELINE, prefix=US, path=base, known=[EU])
    assert refusal(tmp_path) == text


def test_without_yes_it_only_says_what_it_would_remove(tmp_path: Path) -> None:
    with_pipelines(tmp_path)
    before = every_file(tmp_path)
    assert drop(tmp_path, confirmed=False) == (
        "shop.items: shard us, 1 row\n"
        f"no shard is left there: {tmp_path}/mirror/shop/items stays, empty\n"
        "shop.orders: shards us, us_2, 4 rows\n"
        f"{tmp_path}/mirror/_pipelines/us/_cdc: 3 files of the job\n"
        "nothing is removed yet: add --yes to remove it\n"
    )
    assert every_file(tmp_path) == before


def test_many_shards_are_counted(tmp_path: Path) -> None:
    with_pipelines(tmp_path)
    for number in range(3, 9):
        shard(tmp_path, f"{US}_{number}", prefix=US)
    assert "shop.orders: shards us, us_2, us_3, us_4, us_5 and 3 more, 4 rows\n" in drop(
        tmp_path, confirmed=False
    )


def test_a_table_without_shards_can_be_read_and_joined(tmp_path: Path) -> None:
    with_pipelines(tmp_path)
    drop(tmp_path)
    table = DeltaRs(f"{tmp_path}/mirror/shop/items")
    assert rows(tmp_path, "items") == []
    assert [field.name for field in table.schema().fields] == ["shard"]
    commit(shard(tmp_path, EU, "items"), 1, 9)
    assert rows(tmp_path, "items") == [{"shard": EU, "id": 9, "name": None}]


def test_the_first_pipeline_leaves_its_owner_and_shards_that_name_no_pipeline_go(
    tmp_path: Path,
) -> None:
    with_pipelines(tmp_path, EU)
    commit(shard(tmp_path, "old", prefix=""), 1, 4)
    assert lists(tmp_path) == {EU: EU, US: US, "us_2": US, "old": None}
    # Those of another one stay.
    claim(tmp_path, "third")
    third = removal(tmp_path, "third", HOST)
    assert not third.is_first
    said = drop(tmp_path, EU)
    assert "shop.orders: removed shards eu, old, 3 rows\n" in said
    base = f"{tmp_path}/mirror"
    assert said.endswith(
        f"{base}/_cdc: removed 2 files of the job; those that name the first pipeline stay\n"
    )
    assert lists(tmp_path) == {US: US, "us_2": US}
    owner, run, *others = own_files(tmp_path)
    assert (owner.startswith("_cdc/owner/"), run) == (True, "_cdc/run/newest.json")
    assert [path.split("/")[1] for path in others] == ["third", US]
    assert drop(tmp_path, EU) == f"nothing is left of eu in {base}\n"
    storage = LocalStorage(base)
    first, newest = newest_owner(storage, base), RunRecord(storage, base, "").newest()
    assert first is not None
    job = job_status(first, newest)
    assert (job.state, job.is_missing) == ("stopped", False)
    # So another pipeline does not get the folder of the mirror.
    assert pipeline_folder(base, "new").base == f"{base}/_pipelines/new"
    assert "belongs to the job eu" in str(error_of(lambda: claim(tmp_path, "other", prefix=EU)))
    claim(tmp_path, EU)


def error_of(act: Callable[[], object]) -> MirrorError:
    with pytest.raises(MirrorError) as caught:
        act()
    return caught.value


class Killed(BaseException):
    """The process ends."""


class Steps:
    """Kills the process at one of its writes: before it, or just after."""

    def __init__(self, last: int) -> None:
        self.left = last
        self.lock = threading.Lock()

    def step(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def mortal(*arguments: Any) -> Any:
            with self.lock:
                self.left -= 1
                if self.left < 0:
                    raise Killed
            return act(*arguments)

        return mortal


@pytest.mark.parametrize("gone", [US, EU])
def test_a_removal_that_is_killed_at_any_step_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    monkeypatch.setattr(shard_removal, "_THREADS", 1)
    with_pipelines(tmp_path / "all", gone)
    shutil.copytree(tmp_path / "all", tmp_path / "whole")
    drop(tmp_path / "whole", gone)
    wanted = state(tmp_path / "whole")
    for last in range(100):
        folder = tmp_path / str(last)
        shutil.copytree(tmp_path / "all", folder)
        steps = Steps(last)
        with monkeypatch.context() as patched:
            for name in ("put_if_absent", "write", "delete"):
                patched.setattr(LocalStorage, name, steps.step(getattr(LocalStorage, name)))
            try:
                drop(folder, gone)
            except Killed:
                is_killed = True
            else:
                is_killed = False
        if not is_killed:
            break
        if is_claimed(folder, gone):
            # A job of the pipeline cannot come in between, whatever its name is.
            for name in (gone, "other"):
                error = error_of(functools.partial(claim, folder, name, prefix=gone))
                assert error.code is job_errors.SHARDS_DROPPED
                assert f"process {os.getpid()} on {HOST} removes the shards" in error.text
            drop(folder, gone)
        elif not last:
            drop(folder, gone)
        assert state(folder) == wanted, last
    assert last > 6


def is_claimed(folder: Path, prefix: str) -> bool:
    newest = newest_owner(*pipeline_folder(f"{folder}/mirror", prefix))
    return newest is not None and newest.drops_shards


def state(folder: Path) -> tuple[object, ...]:
    """What the mirror has, apart from the names of files."""
    owners = [path for path in own_files(folder) if "/owner/" in path]
    newest = sorted({path.rpartition("/")[0] for path in owners})
    others = [path for path in own_files(folder) if path not in owners]
    return rows(folder), lists(folder), lists(folder, "items"), newest, others


def test_a_job_that_may_still_run_is_not_touched(tmp_path: Path) -> None:
    with_pipelines(tmp_path)
    before = every_file(tmp_path)
    own = claim(tmp_path, US)
    facts = {"owner": US, "prefix": US, "path": f"{tmp_path}/mirror/_pipelines/us"}
    here = {"pid": own.owner.pid, "host": HOST}
    for confirmed in (False, True):
        text = text_of(shard_errors.PIPELINE_RUNS, **facts, **here)
        assert refusal(tmp_path, confirmed=confirmed) == text
        # It does run.
        assert refusal(tmp_path, confirmed=confirmed, lost=HOST) == text
    put_owner(tmp_path, own, host="elsewhere", pid=17)
    text = text_of(shard_errors.PIPELINE_RUNS, **facts, pid=17, host="elsewhere")
    assert refusal(tmp_path) == text
    assert refusal(tmp_path, lost="another") == text
    assert lists(tmp_path) == {EU: EU, US: US, "us_2": US}
    assert before <= every_file(tmp_path) | {f"mirror/_pipelines/us/{owner_path(1)}"}
    assert "removed shards us, us_2" in drop(tmp_path, lost="elsewhere")


def put_owner(folder: Path, own: Ownership, **changes: Any) -> None:
    """Change who has the folder of `us`."""
    storage = LocalStorage(f"{folder}/mirror/_pipelines/us")
    storage.write(owner_path(2), replace(own.owner, **changes).write())


def test_a_process_of_this_machine_that_is_gone_does_not_run(tmp_path: Path) -> None:
    with_pipelines(tmp_path)
    own = claim(tmp_path, US)
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    put_owner(tmp_path, own, pid=ended.pid)
    drop(tmp_path)
    assert lists(tmp_path) == {EU: EU}


def test_owner_files_that_were_removed_by_hand_say_that_it_is_gone(tmp_path: Path) -> None:
    with_pipelines(tmp_path)
    claim(tmp_path, US)
    for path in (tmp_path / "mirror/_pipelines/us/_cdc/owner").iterdir():
        path.unlink()
    drop(tmp_path)
    assert lists(tmp_path) == {EU: EU}
    assert [path for path in own_files(tmp_path) if "_pipelines" in path] == []


def test_without_a_first_owner_no_files_but_its_own_are_removed(tmp_path: Path) -> None:
    """Whose the folder of the mirror is, and the shards that name no pipeline, is not known."""
    with_pipelines(tmp_path)
    commit(shard(tmp_path, "old", prefix=""), 1, 4)
    root = LocalStorage(f"{tmp_path}/mirror")
    root.write("_cdc/quarantine/eu.shop.t.json", b"{}")
    for folder in ("_cdc", "_pipelines/us/_cdc"):
        for path in (tmp_path / "mirror" / folder / "owner").iterdir():
            path.unlink()
    drop(tmp_path)
    assert lists(tmp_path) == {EU: EU, "old": None}
    assert own_files(tmp_path) == ["_cdc/quarantine/eu.shop.t.json"]


def test_a_late_process_of_the_pipeline_ends(tmp_path: Path) -> None:
    with_pipelines(tmp_path)
    late, late_shard = claim(tmp_path, US), shard(tmp_path, US)
    put_owner(tmp_path, late, host="elsewhere")
    codes: list[object] = []

    def look(_: object) -> None:
        codes.append(error_of(late.check).code)

    removal(tmp_path, lost="elsewhere").carry_out(look)
    assert codes == [job_errors.TAKEN_OVER] * 2
    assert isinstance(error_of(lambda: commit(late_shard, 9, 9)), CommitConflict)
    assert rows(tmp_path) == OF_EU


def test_of_two_removals_the_newer_one_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pipelines(tmp_path)
    drop_of = MergedTable.drop
    others: list[str] = []

    def overtaken(own: MergedTable, *arguments: Any) -> None:
        if not others:
            others.append("")
            others.append(drop(tmp_path))
        drop_of(own, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(MergedTable, "drop", overtaken)
        removal(tmp_path).carry_out(lambda _: None)
    assert "removed shards us, us_2" in others[1]
    assert rows(tmp_path) == OF_EU
    assert [path for path in own_files(tmp_path) if "_pipelines" in path] == []


def test_a_job_that_starts_at_the_same_moment_keeps_its_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pipelines(tmp_path)
    put, started = LocalStorage.put_if_absent, list[Ownership]()

    def late(own: LocalStorage, path: str, content: bytes) -> bool:
        if not started:
            monkeypatch.setattr(LocalStorage, "put_if_absent", put)
            started.append(claim(tmp_path, US))
        return put(own, path, content)

    monkeypatch.setattr(LocalStorage, "put_if_absent", late)
    error = error_of(lambda: drop(tmp_path))
    assert error.code is shard_errors.PIPELINE_RUNS
    started[0].check()
    assert lists(tmp_path) == {EU: EU, US: US, "us_2": US}


def test_a_commit_of_another_pipeline_in_between_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pipelines(tmp_path)
    running, check = shard(tmp_path, EU), Ownership.check
    more = iter(range(10, 13))

    def late(own: Ownership) -> None:
        if (number := next(more, None)) is not None:
            commit(running, number, number)
        check(own)

    monkeypatch.setattr(Ownership, "check", late)
    drop(tmp_path)
    assert [row["id"] for row in rows(tmp_path)] == [1, 2, 10, 11, 12]
    assert lists(tmp_path) == {EU: EU}


def test_it_waits_for_the_turn_of_another_pipeline(tmp_path: Path) -> None:
    with_pipelines(tmp_path)
    running = shard(tmp_path, EU)
    running.take_turn()
    waiter = threading.Thread(target=lambda: drop(tmp_path))
    waiter.start()
    waiter.join(0.5)
    assert waiter.is_alive()
    assert shared_delta.TURN in running.whole.refresh().domains
    running.whole.commit(TableCommit(removed_domains=(shared_delta.TURN,)), "END")
    waiter.join(10)
    assert not waiter.is_alive()
    assert lists(tmp_path) == {EU: EU}


def test_a_table_of_another_program_is_left_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    with_pipelines(tmp_path)
    root = tmp_path / "mirror"
    log = root / "other" / "table" / "_delta_log" / f"{0:020d}.json"
    log.parent.mkdir(parents=True)
    (root / ".hidden" / "x").mkdir(parents=True)
    log.write_text("{")
    before = every_file(tmp_path)
    assert "other/table" in refusal(tmp_path)
    assert every_file(tmp_path) == before
    protocol = '{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["x"],'
    log.write_text(f'{{"protocol":{protocol}"writerFeatures":["x"]}}}}\n')
    assert "removed shards us, us_2" in drop(tmp_path)


def test_a_mirror_that_is_not_shared_is_refused(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, EU, shared=False)
    text = text_of(shard_errors.NOT_SHARED, path=f"{tmp_path}/mirror")
    for own, is_there in ((settings, False), (settings_of(tmp_path, EU), True)):
        if is_there:
            claimed(settings)
        with pytest.raises(ConfigError) as caught:
            ShardRemoval(own, EU)
        assert caught.value.message.text == text


def test_the_exit_code_says_why_nothing_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_pipelines(tmp_path)
    config = tmp_path / "job.toml"
    config.write_text(
        f'name = "eu"\n[kafka]\nbootstrap_servers = ["b:1"]\ntopic_prefix = "eu"\n'
        f'[mirror]\npath = "{tmp_path}/mirror"\nshared = true\n'
        '[[tables]]\nmatch = ["shop.*"]\nname = "shop.{table}"\n'
        'shard = {column = "shard", value = "eu"}\n'
    )

    def code(*arguments: str) -> int:
        monkeypatch.setattr("sys.argv", ["mirror", "drop-shards", str(config), *arguments])
        return main()

    assert code("uk") == 2
    assert "[M748]" in capsys.readouterr().err
    assert code(EU, "--yes") == 3
    assert "[M749]" in capsys.readouterr().err
    assert code(US) == 0
    assert len(lists(tmp_path)) == 3
    assert code(US, "--yes") == 0
    assert lists(tmp_path) == {EU: EU}


@pytest.mark.parametrize("gone", [EU, US])
def test_a_job_that_wakes_up_after_the_command_ends(tmp_path: Path, gone: str) -> None:
    """It has slept since before the command has looked."""
    late = {name: claim(tmp_path, name) for name in (EU, US)}[gone]
    end_run(tmp_path, gone, late)
    commit(shard(tmp_path, gone), 1, 1)
    drop(tmp_path, gone)
    files = every_file(tmp_path)
    with pytest.raises(MirrorError) as caught:
        late.check()
    expected = {EU: job_errors.TAKEN_OVER, US: job_errors.SHARDS_GONE}
    assert caught.value.code is expected[gone]
    assert caught.value.code in OF_OTHER_OWNERS
    assert every_file(tmp_path) == files


def test_a_job_whose_owner_files_were_deleted_by_hand_goes_on(tmp_path: Path) -> None:
    own = claim(tmp_path, US)
    RunRecord(*pipeline_folder(f"{tmp_path}/mirror", US), "processingTime").begin(own.owner.epoch)
    shutil.rmtree(tmp_path / "mirror" / "_cdc" / "owner")
    own.check()
    newest = own.newest()
    assert newest is not None
    assert newest.epoch == own.owner.epoch


@pytest.mark.parametrize("linked", ["shop", "shop/orders"])
def test_tables_behind_a_link_are_found(tmp_path: Path, linked: str) -> None:
    with_pipelines(tmp_path)
    (tmp_path / "mirror" / linked).rename(tmp_path / "elsewhere")
    (tmp_path / "mirror" / linked).symlink_to(tmp_path / "elsewhere")
    assert "removed shards us, us_2" in drop(tmp_path)
    assert rows(tmp_path) == OF_EU
