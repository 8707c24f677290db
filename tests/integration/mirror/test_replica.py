"""A replica has the rows of the newest cut, whatever happened to them on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from stream_jobs.delta import checkpoint
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable as DeltaLog
from tests.integration.mirror.replica_target import ReplicaTarget, replica_target
from tests.integration.mirror.test_cuts import cuts, go_on
from tests.length import FULL
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_jobs.delta.storage import StoredFile
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.server]

COLUMNS = (column("id", "int", key=1), column("amount", "int"))


@pytest.fixture(params=["mysql_server", *(["mariadb_server"] if FULL else [])])
def target(request: pytest.FixtureRequest, job: Job) -> Iterator[ReplicaTarget]:
    yield from replica_target(job, request.getfixturevalue(request.param).endpoint)


@pytest.fixture
def orders(kafka: Kafka) -> SourceTable:
    return SourceTable(kafka, "orders", COLUMNS).create()


def row(number: int, amount: int | None) -> dict[str, int | None]:
    return {"id": number, "amount": amount}


def test_inserts_updates_and_deletes_arrive_with_their_cut(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    orders.insert(row(1, 10), row(2, None), row(3, 30))
    first = target.follow(kafka)
    assert target.rows("orders") == [(1, 10), (2, None), (3, 30)]
    assert first is not None
    assert (first.loaded, first.inserted) == (["shop.orders"], 3)

    orders.update(row(1, 10), row(1, 11))
    orders.delete(row(2, None))
    orders.insert(row(4, 40))
    orders.update(row(3, 30), row(5, 30))
    second = target.follow(kafka)
    assert target.rows("orders") == [(1, 11), (4, 40), (5, 30)]
    assert second is not None
    assert (second.loaded, second.deleted, second.inserted) == ([], 2, 3)
    newest = cuts(job)[-1]
    assert target.marker == (newest.number, newest.seq)
    assert target.replica.apply_newest() is None


def test_an_idle_look_lists_the_cut_that_is_known_and_no_older_one(
    kafka: Kafka, target: ReplicaTarget, orders: SourceTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        orders.insert(row(number, 0))
        target.follow(kafka)
    names: list[str] = []
    list_files = LocalStorage.list

    def listed(own: LocalStorage, folder: str, start_after: str = "") -> Iterator[StoredFile]:
        for file in list_files(own, folder, start_after):
            names.append(file.name)
            yield file

    monkeypatch.setattr(LocalStorage, "list", listed)
    assert target.replica.apply_newest() is None
    newest, _ = target.marker
    assert names == [f"{newest:020d}.json"]


def test_a_row_that_came_and_went_between_two_cuts_costs_nothing(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    orders.insert(row(1, 10))
    target.follow(kafka)
    orders.insert(row(2, 20))
    go_on(kafka)
    job.apply()
    orders.delete(row(2, 20))
    orders.update(row(1, 10), row(1, 11))
    go_on(kafka)
    job.apply()
    orders.update(row(1, 11), row(1, 12))
    step = target.follow(kafka)
    assert step is not None
    assert (step.deleted, step.inserted) == (0, 1)
    assert target.rows("orders") == [(1, 12)]


def test_compaction_costs_nothing_and_rows_that_it_moved_are_found_later(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    for number in range(4):
        orders.insert(row(number, 0))
        target.follow(kafka)
    # The eighth file is compacted with the others, after the cut of its batch.
    for number in range(4, 10):
        orders.insert(row(number, 0))
        go_on(kafka)
        job.apply()
    orders.update(row(2, 0), row(2, 1))
    orders.delete(row(3, 0), row(9, 0))
    step = target.follow(kafka)
    assert len(DeltaTable(job.path("orders")).file_uris()) < 4
    assert step is not None
    assert step.loaded == []
    # Row 9 came and went, and its file was compacted with older ones in between.
    assert (step.deleted, step.inserted) == (1, 6)
    assert target.rows("orders") == [(n, int(n == 2)) for n in (0, 1, 2, 4, 5, 6, 7, 8)]

    orders.update(row(8, 0), row(8, 1))
    step = target.follow(kafka)
    assert step is not None
    assert (step.loaded, step.deleted, step.inserted) == ([], 0, 1)


def test_a_swap_of_unique_values_within_a_cut_works(
    kafka: Kafka, target: ReplicaTarget, orders: SourceTable
) -> None:
    target.sql(
        f"CREATE DATABASE {target.database}",
        f"CREATE TABLE {target.database}.orders (id INT PRIMARY KEY, amount INT, UNIQUE (amount))",
    )
    orders.insert(row(1, 10), row(2, 20), row(3, 30))
    target.follow(kafka)
    with kafka.transaction():
        # As a source does it: by a value in between.
        orders.send("u", row(1, 10), row(1, 0))
        orders.send("u", row(2, 20), row(2, 10))
        orders.send("u", row(1, 0), row(1, 20))
    target.follow(kafka)
    assert target.rows("orders") == [(1, 20), (2, 10), (3, 30)]


def test_foreign_keys_hold_and_cascades_do_not_run_again(
    kafka: Kafka, target: ReplicaTarget
) -> None:
    line = SourceTable(kafka, "line", (column("id", "int", key=1), column("head", "int"))).create()
    head = SourceTable(kafka, "head", (column("id", "int", key=1), column("v", "int"))).create()
    target.sql(
        f"CREATE DATABASE {target.database}",
        f"USE {target.database}",
        "CREATE TABLE head (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE line (id INT PRIMARY KEY, head INT, "
        "FOREIGN KEY (head) REFERENCES head (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    )
    with kafka.transaction():
        # The child comes first, as its name does.
        for number in (1, 2, 3):
            line.send("c", None, {"id": number, "head": 7 + number % 2})
            head.send("c", None, {"id": 6 + number, "v": 0})
    target.follow(kafka)
    with kafka.transaction():
        # A parent that goes: no cascade may follow.
        head.send("u", {"id": 8, "v": 0}, {"id": 8, "v": 1})
        line.send("d", {"id": 2, "head": 7}, None)
        head.send("d", {"id": 7, "v": 0}, None)
    target.follow(kafka)
    assert target.rows("line") == [(1, 8), (3, 8)]
    assert target.rows("head") == [(8, 1), (9, 0)]


def test_names_may_have_any_character(kafka: Kafka, target: ReplicaTarget) -> None:
    database, table, name = "a.b`c..", "..", "co`l\"'\\%s é"
    odd = SourceTable(
        kafka, table, (column("k`k", "int", key=1), column(name, "varchar", length=80)), database
    ).create()
    for text in ("''", "`\\", "🐬%s\0", ""):
        odd.insert({"k`k": len(text), name: text})
    target.follow(kafka)
    odd.delete({"k`k": 2, name: "''"})
    target.follow(kafka)
    place = f"`{target.prefix}_a.b``c..`.`..`"
    found = target.sql(f"SELECT * FROM {place} ORDER BY 1")
    assert found == [(0, ""), (4, "🐬%s\0")]


def test_a_truncate_and_a_large_load_are_one_statement_and_many_rows(
    kafka: Kafka, target: ReplicaTarget, orders: SourceTable
) -> None:
    orders.insert(*(row(number, number) for number in range(12_000)))
    step = target.follow(kafka)
    assert step is not None
    assert step.inserted == 12_000
    orders.truncate()
    orders.insert(row(1, 5))
    step = target.follow(kafka)
    assert step is not None
    assert (step.loaded, step.inserted) == (["shop.orders"], 1)
    assert target.rows("orders") == [(1, 5)]


def test_a_table_is_loaded_anew_if_the_versions_in_between_are_gone(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    orders.insert(*(row(number, 0) for number in range(9)))
    target.follow(kafka)
    orders.update(row(2, 0), row(2, 1))
    go_on(kafka)
    job.apply()
    checkpoint_of(job, "orders")
    for file in Path(job.path("orders"), "_delta_log").glob("*.json"):
        file.unlink()
    target.replica = target.new()
    step = target.replica.apply_newest()
    assert step is not None
    assert step.loaded == ["shop.orders"]
    assert target.rows("orders") == [(number, int(number == 2)) for number in range(9)]


def test_a_table_is_loaded_anew_if_files_of_its_old_rows_are_gone(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    orders.insert(row(1, 10))
    target.follow(kafka)
    orders.update(row(1, 10), row(1, 11))
    go_on(kafka)
    job.apply()
    live = {Path(file).name for file in DeltaTable(job.path("orders")).file_uris()}
    gone = [f for f in Path(job.path("orders")).glob("*.parquet") if f.name not in live]
    assert gone
    for file in gone:
        file.unlink()
    step = target.replica.apply_newest()
    assert step is not None
    assert (step.loaded, step.inserted) == (["shop.orders"], 1)
    assert target.rows("orders") == [(1, 11)]


def test_a_mirror_that_was_made_again_is_loaded_anew(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    orders.insert(row(1, 10), row(2, 20))
    target.follow(kafka)
    orders.insert(row(3, 30))
    with kafka.transaction():
        orders.send("c", None, row(9, 90), value=b"no JSON", partition=0)
        orders.send("c", None, row(4, 40), partition=0)
    target.follow(kafka)
    job.resume("shop.orders", rebuild=True, skipped=[(0, set_aside(job)["offset"])])
    assert job.run()[-1]["event"] == "table_resumed"
    orders.insert(row(5, 50))
    step = target.follow(kafka)
    assert step is not None
    assert step.loaded == ["shop.orders"]
    assert target.rows("orders") == [(n, 10 * n) for n in range(1, 6)]


def test_a_table_that_a_cut_leaves_out_stays_and_is_caught_up(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    others = SourceTable(kafka, "others", COLUMNS).create()
    keyless = SourceTable(kafka, "keyless", (column("v", "int"),)).create()
    orders.insert(row(1, 10))
    others.insert(row(1, 10))
    target.follow(kafka)
    with kafka.transaction():
        orders.send("c", None, row(9, 90), value=b"no JSON", partition=0)
        orders.send("c", None, row(4, 40), partition=0)
    others.insert(row(2, 20))
    keyless.insert({"v": 1})
    step = target.follow(kafka)
    assert step is not None
    assert sorted(step.left_out) == ["shop.keyless", "shop.orders"]
    assert (target.rows("orders"), target.rows("others")) == ([(1, 10)], [(1, 10), (2, 20)])
    said = dict(target.sql(f"SELECT name, left_out FROM _cdc.replica_tables WHERE {own(target)}"))
    assert said["shop.others"] is None
    assert said["shop.orders"].startswith("[M225] ")

    job.resume("shop.orders", skipped=[(0, set_aside(job)["offset"])])
    assert job.run()[-1]["event"] == "table_resumed"
    orders.insert(row(3, 30))
    step = target.follow(kafka)
    assert step is not None
    assert (sorted(step.left_out), step.loaded) == (["shop.keyless"], [])
    assert target.rows("orders") == [(1, 10), (3, 30), (4, 40)]
    said = dict(target.sql(f"SELECT name, left_out FROM _cdc.replica_tables WHERE {own(target)}"))
    assert said["shop.orders"] is None


def test_a_mirror_of_another_mode_is_left_out_by_name(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    orders.insert(row(1, 10))
    go_on(kafka)
    job.apply(tables=[{"match": ["shop.orders"], "mode": "history"}])
    step = target.replica.apply_newest()
    assert step is not None
    assert step.left_out == {"shop.orders": "its mirror has the mode history"}


def test_a_table_that_is_not_followed_any_more_is_named(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    others = SourceTable(kafka, "others", COLUMNS).create()
    orders.insert(row(1, 10))
    others.insert(row(1, 10))
    target.follow(kafka)
    others.insert(row(2, 20))
    go_on(kafka)
    job.apply(tables=[{"match": ["shop.orders"], "skip": True}])
    step = target.replica.apply_newest()
    assert step is not None
    assert step.left_out == {"shop.orders": "the mirror does not follow it any more"}
    assert target.rows("others") == [(1, 10), (2, 20)]


def test_partitions_and_other_names_of_a_mirror_are_followed(
    kafka: Kafka, job: Job, target: ReplicaTarget, orders: SourceTable
) -> None:
    choice = {"match": ["*.*"], "partition_by": ["amount"], "name": "sales.{table}_copy"}
    for rows in ([row(1, 10), row(2, None)], [row(3, 10), row(4, 20)]):
        orders.insert(*rows)
        go_on(kafka)
        job.apply(tables=[choice])
        target.replica.apply_newest()
    orders.update(row(3, 10), row(3, 30))
    orders.delete(row(1, 10))
    go_on(kafka)
    job.apply(tables=[choice])
    target.replica.apply_newest()
    found = target.sql(f"SELECT * FROM {target.prefix}_sales.orders_copy ORDER BY id")
    assert found == [(2, None), (3, 30), (4, 20)]


def own(target: ReplicaTarget) -> str:
    return f"replica = '{target.prefix}'"


def set_aside(job: Job) -> dict[str, int]:
    """The record of the table that was set aside."""
    (file,) = (job.folder / "mirror" / "_cdc" / "quarantine").glob("*orders.json")
    found: dict[str, int] = json.loads(file.read_text())
    return found


def checkpoint_of(job: Job, table: str) -> None:
    """Write a checkpoint of the newest version."""
    storage = LocalStorage(str(job.folder / "mirror"))
    found = DeltaLog.open(storage, f"shop/{table}")
    assert found is not None
    checkpoint.write(storage, f"shop/{table}", found.snapshot, checkpoint.removed_rows([]))
