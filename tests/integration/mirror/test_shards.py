"""Tables of many databases share one mirror: each is a shard of it, and none touches another."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable as Reader

from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import Message
from connector.lake.demo.stack import query_mirror
from stream_jobs.cuts import read_cuts
from stream_jobs.delta.storages import storage_of
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors.shard_errors import (
    SHARD_CLUSTER,
    SHARD_NAME,
    SHARD_PATTERN,
    SHARD_REPLICA,
    SHARD_TWICE,
    SHARD_VALUE,
)
from stream_jobs.run.assembly import batch_applier
from stream_jobs.run.cut_coordinator import CutCoordinator
from stream_jobs.settings import load_settings
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topics import OffsetRange
from tests.integration.mirror.conftest import run_in_process
from tests.integration.mirror.mode_story import Story
from tests.integration.mirror.test_mode_stories import NOTE, RUNS, Death, mortal_commit
from tests.integration.verification.pair import toml_value
from tests.stream_jobs.mode_models import MODES, ModeModel
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode
    from stream_jobs.apply.task_messages import PartResult, Task
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)
STOCK = column("stock", "int", nullable=False, added_default=5)
SHARD = {"column": "shard", "pattern": r"shop_(?P<shard>\w+)\..+"}
MERGE: dict[str, Any] = {"match": ["shop_*.*"], "name": "shop.{table}", "shard": SHARD}


def shard(kafka: Kafka, value: str, *columns: Any, name: str = "orders") -> SourceTable:
    own = columns or (ID, NAME)
    return SourceTable(kafka, name, own, f"shop_{value}").create()


def merge(**choices: Any) -> dict[str, Any]:
    return {"tables": [{**MERGE, **choices}]}


def two(kafka: Kafka, job: Job) -> tuple[SourceTable, SourceTable]:
    """Two shards with rows of the same keys, in the mirror."""
    one, other = shard(kafka, "1"), shard(kafka, "2")
    one.insert({"id": 1, "name": "a"}, {"id": 2, "name": "b"})
    other.insert({"id": 1, "name": "x"}, {"id": 2, "name": "y"})
    apply(job)
    return one, other


def apply(job: Job) -> None:
    """Apply what is there; no table is set aside."""
    lines = job.run(**merge())
    assert [line for line in lines if line["event"] != "batch_applied"] == []


def rows(job: Job, *columns: str) -> list[tuple[Any, ...]]:
    return job.rows("orders", *(columns or ("shard", "id", "name")))


def test_rows_of_one_key_are_two_rows_and_change_alone(kafka: Kafka, job: Job) -> None:
    one, other = two(kafka, job)
    assert job.data("orders").column_names == ["shard", "id", "name", "_cdc_hi", "_cdc_lo"]
    every = [("1", 1, "a"), ("1", 2, "b"), ("2", 1, "x"), ("2", 2, "y")]
    assert rows(job) == every
    properties = Reader(job.path("orders")).metadata().configuration
    assert json.loads(properties["cdc.key"]) == ["shard", "id"]
    assert properties["cdc.table"] == "shop.orders"
    one.delete({"id": 1, "name": "a"})
    other.update({"id": 1, "name": "x"}, {"id": 1, "name": "z"})
    apply(job)
    assert rows(job) == [("1", 2, "b"), ("2", 1, "z"), ("2", 2, "y")]
    # The names of the databases are no folders.
    assert [each.name for each in (job.folder / "mirror").iterdir() if each.name != "_cdc"] == [
        "shop"
    ]


def test_a_truncate_and_a_copy_touch_the_rows_of_their_shard_alone(kafka: Kafka, job: Job) -> None:
    one, other = two(kafka, job)
    one.truncate()
    apply(job)
    assert rows(job) == [("2", 1, "x"), ("2", 2, "y")]
    with kafka.transaction():
        other.send("t", None, None, partition=0)
        other.send("r", None, {"id": 2, "name": "copied"})
    one.insert({"id": 1, "name": "new"})
    apply(job)
    assert rows(job) == [("1", 1, "new"), ("2", 2, "copied")]


def test_a_column_is_null_until_its_shard_has_it(kafka: Kafka, job: Job) -> None:
    one, other = two(kafka, job)
    altered = one.alter(ID, NAME, STOCK)
    altered.insert({"id": 3, "name": "c", "stock": 7})
    other.insert({"id": 3, "name": "z"})
    apply(job)
    names = ("shard", "id", "stock")
    assert rows(job, *names) == sorted(
        [("1", 1, 5), ("1", 2, 5), ("1", 3, 7), ("2", 1, None), ("2", 2, None), ("2", 3, None)],
        key=lambda row: row[:2],
    )
    # The ALTER comes to the other shard: its rows get the value that the server gave them.
    later = other.alter(ID, STOCK, NAME)
    later.insert({"id": 4, "name": "w", "stock": 1})
    apply(job)
    assert [row for row in rows(job, *names) if row[0] == "2"] == [
        ("2", 1, 5),
        ("2", 2, 5),
        ("2", 3, 5),
        ("2", 4, 1),
    ]
    assert job.data("orders").column_names == [
        "shard",
        "id",
        "name",
        "stock",
        "_cdc_hi",
        "_cdc_lo",
    ]
    # A dropped column goes with the last shard.
    altered.alter(ID, NAME).insert({"id": 9, "name": "n"})
    apply(job)
    assert [row for row in rows(job, *names) if row[0] == "1"] == [
        ("1", 1, None),
        ("1", 2, None),
        ("1", 3, None),
        ("1", 9, None),
    ]
    assert ("2", 4, 1) in rows(job, *names)
    later.alter(ID, NAME).insert({"id": 9, "name": "n"})
    apply(job)
    assert "stock" not in job.data("orders").column_names
    assert len(rows(job)) == 9


def test_a_wider_type_becomes_wider_for_all(kafka: Kafka, job: Job) -> None:
    one = shard(kafka, "1", ID, column("n", "int"))
    other = shard(kafka, "2", ID, column("n", "int"))
    one.insert({"id": 1, "n": 1})
    other.insert({"id": 1, "n": -1})
    apply(job)
    wide = one.alter(ID, column("n", "bigint"))
    wide.insert({"id": 2, "n": 1 << 40})
    # In the same batch, the other one changes rows, with the type that it has still.
    other.update({"id": 1, "n": -1}, {"id": 1, "n": -2})
    other.insert({"id": 2, "n": 2})
    apply(job)
    names = ("shard", "id", "n")
    assert rows(job, *names) == [("1", 1, 1), ("1", 2, 1 << 40), ("2", 1, -2), ("2", 2, 2)]
    # A third one joins with the type that the others had.
    shard(kafka, "3", ID, column("n", "int")).insert({"id": 1, "n": 3})
    wider = column("n", "decimal", precision=30, scale=0)
    shard(kafka, "4", ID, wider).insert({"id": 1, "n": str(10**25)})
    other.alter(ID, column("n", "bigint")).delete({"id": 1, "n": -2})
    apply(job)
    assert [(s, i, int(n)) for s, i, n in rows(job, *names)] == [
        ("1", 1, 1),
        ("1", 2, 1 << 40),
        ("2", 2, 2),
        ("3", 1, 3),
        ("4", 1, 10**25),
    ]


def test_a_wider_key_is_still_found(kafka: Kafka, job: Job) -> None:
    one, other = two(kafka, job)
    big = column("id", "bigint", key=1)
    wide = one.alter(big, NAME)
    wide.update({"id": 1, "name": "a"}, {"id": 1, "name": "wide"})
    apply(job)
    other.update({"id": 1, "name": "x"}, {"id": 1, "name": "still int"})
    wide.delete({"id": 2, "name": "b"})
    apply(job)
    assert rows(job) == [("1", 1, "wide"), ("2", 1, "still int"), ("2", 2, "y")]


def test_columns_that_do_not_fit_set_their_shard_aside_and_no_other(kafka: Kafka, job: Job) -> None:
    one, other = two(kafka, job)
    with kafka.transaction():
        one.send("t", None, None, partition=0)
    one.alter(ID, column("name", "int")).insert({"id": 1, "name": 4})
    other.insert({"id": 3, "name": "z"})
    aside = job.quarantined(**merge())
    assert (aside["code"], aside["table"]) == ("M741", "shop_1.orders")
    assert [row for row in rows(job) if row[0] == "2"] == [
        ("2", 1, "x"),
        ("2", 2, "y"),
        ("2", 3, "z"),
    ]
    # The shard alone is made again, when its column fits.
    one.alter(ID, NAME).truncate()
    one.insert({"id": 8, "name": "again"})
    (resumed,) = job.resume("shop_1.orders", rebuild=True)
    assert resumed.table == "shop_1.orders"
    other.insert({"id": 4, "name": "meanwhile"})
    job.run(**merge())
    assert [row for row in rows(job) if row[0] == "1"] == [("1", 8, "again")]
    assert len(rows(job)) == 5


def test_another_key_sets_a_shard_aside(kafka: Kafka, job: Job) -> None:
    two(kafka, job)
    shard(kafka, "3", ID, column("day", "int", key=2)).insert({"id": 1, "day": 2})
    assert job.quarantined(**merge())["code"] == "M740"


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_shards_hold_what_their_models_say_whatever_dies(
    kafka: Kafka,
    job: Job,
    monkeypatch: pytest.MonkeyPatch,
    mode: ModeModel,
) -> None:
    dice = random.Random(str(mode))
    columns = (column("id", "int", key=int(mode.has_key)), NOTE)
    stories = {value: Story(shard(kafka, value, *columns), dice, keys=6) for value in ("1", "2")}
    sections = {**merge(mode=mode.name), "kafka": {"max_offsets_per_trigger": 60}}
    for _ in range(RUNS):
        for story in stories.values():
            story.go_on(20)
        with monkeypatch.context() as patched, suppress(Death):
            patched.setattr(DeltaTable, "commit", mortal_commit(dice.randint(2, 9)))
            job.run(**sections)
        lines = job.run(**sections)
        assert job.exit_code == 0, lines
        data = job.data("orders").to_pylist()
        for value, story in stories.items():
            own = [row for row in data if row["shard"] == value]
            assert mode.found(own) == mode.wanted(story.changes), value


def end(kafka: Kafka) -> None:
    """Publish that the topics have everything."""
    with kafka.transaction():
        kafka.progress()


def test_a_cut_has_the_mirror_when_all_of_its_shards_have_come(kafka: Kafka, job: Job) -> None:
    one, other = shard(kafka, "1"), shard(kafka, "2")
    one.insert({"id": 1, "name": "a"})
    other.insert({"id": 1, "name": "x"})
    end(kafka)
    assert job.apply(**merge())["cut"] == 1
    other.insert({"id": 2, "name": "y"})
    end(kafka)
    assert job.apply(**merge())["cut"] == 2
    storage = storage_of(str(job.folder / "mirror"))
    first, second = read_cuts(storage)
    assert first.tables.keys() == second.tables.keys() == {"shop.orders"}

    def at(version: int) -> list[Any]:
        delta = Reader(job.path("orders"), version=version)
        data = query_mirror(delta, "SELECT shard, id FROM mirror")
        return sorted((row["shard"], row["id"]) for row in data.to_pylist())

    assert at(first.tables["shop.orders"].version) == [("1", 1), ("2", 1)]
    assert at(second.tables["shop.orders"].version) == [("1", 1), ("2", 1), ("2", 2)]
    # With a shard that cannot go on, the mirror is of no moment.
    one.insert({"id": "no number", "name": "a"})
    other.insert({"id": 3, "name": "z"})
    end(kafka)
    job.run(**merge())
    newest = read_cuts(storage)[-1]
    assert newest.tables == {}
    assert newest.left_out["shop.orders"].startswith("shop_1.orders: [M2")
    assert ("2", 3, "z") in rows(job)


def test_a_late_process_writes_no_cut_with_what_a_newer_one_has_applied(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two(kafka, job)
    end(kafka)
    job.run(**merge())
    storage = storage_of(str(job.folder / "mirror"))
    before = read_cuts(storage)
    one.insert({"id": 3, "name": "c"})
    end(kafka)
    kafka.settle()
    came: list[int] = []

    def slow(tasks: Sequence[Task]) -> list[PartResult]:
        results = run_in_process(tasks)
        if not came:
            came.append(1)
            other.insert({"id": 3, "name": "beyond"})
            end(kafka)
            with monkeypatch.context() as patched:
                # It has not come to its cut yet.
                patched.setattr(CutCoordinator, "finish", lambda *_: None)
                job.run(**merge())
        return results

    settings = job.settings(**merge())
    client = KafkaClient(settings.kafka.facts())
    late = batch_applier(settings, client, slow, lambda: 2)
    ends = kafka.end_offsets(one.topic)
    report = late.apply([OffsetRange(one.topic, int(n), 0, at) for n, at in ends.items()])
    client.close()
    assert len(rows(job)) == 6
    assert (report.cut, read_cuts(storage)) == (None, before)


ONE = {"match": ["s.t"], "name": "a.b"}


@pytest.mark.parametrize(
    ("table", "code", "facts"),
    [
        ({**ONE, "shard": {"column": "c", "pattern": "("}}, SHARD_PATTERN, {"value": "("}),
        ({**ONE, "shard": {"column": "c", "pattern": "(.*)"}}, SHARD_PATTERN, {"value": "(.*)"}),
        ({**ONE, "shard": {"column": "c"}}, SHARD_VALUE, {}),
        (
            {"match": ["s.t"], "shard": {"column": "c", "value": "x"}},
            SHARD_NAME,
            {"name": "{database}.{table}"},
        ),
        ({**MERGE, "cluster_by": ["id"]}, SHARD_CLUSTER, {}),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(
    tmp_path: Path, table: dict[str, Any], code: ErrorCode, facts: dict[str, Any]
) -> None:
    assert Message(code, facts).text in refused(tmp_path, {"tables": [table]})


def test_a_replica_of_shards_is_refused(tmp_path: Path) -> None:
    sections = {"replica": {"url": "mysql://a@b/"}, "tables": [MERGE]}
    assert Message(SHARD_REPLICA, {}).text in refused(tmp_path, sections)


def refused(folder: Path, sections: dict[str, Any]) -> str:
    path = folder / "job.toml"
    kafka = 'kafka = {bootstrap_servers = ["b:1"], topic_prefix = "p"}'
    lines = ['name = "n"', kafka]
    sections = {"mirror": {"path": "/m"}} | sections
    for name, section in sections.items():
        for each in section if isinstance(section, list) else [section]:
            lines.append(f"[[{name}]]" if isinstance(section, list) else f"[{name}]")
            lines += [f"{key} = {toml_value(value)}" for key, value in each.items()]
    path.write_text("\n".join(lines))
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    return caught.value.text


def test_a_table_whose_name_has_no_shard_is_set_aside(kafka: Kafka, job: Job) -> None:
    two(kafka, job)
    SourceTable(kafka, "orders", (ID, NAME), "shop_!").create().insert({"id": 1, "name": "q"})
    assert job.quarantined(**merge())["code"] == "M736"
    assert len(rows(job)) == 4


def test_two_tables_that_would_be_one_shard_are_told(kafka: Kafka, job: Job) -> None:
    two(kafka, job)
    same = {**MERGE, "match": ["other.orders"], "shard": {"column": "shard", "value": "1"}}
    SourceTable(kafka, "orders", (ID, NAME), "other").create().insert({"id": 7, "name": "q"})
    settings = {"tables": [{**same, "name": "shop.orders"}, MERGE]}
    aside = job.quarantined(**settings)
    assert (aside["code"], aside["table"]) == ("M737", "other.orders")
    facts = {"others": ["shop_1.orders"], "shard": "1", "name": "shop/orders"}
    assert aside["error"] == Message(SHARD_TWICE, {"table": "other.orders", **facts}).text
    assert len(rows(job)) == 4


def test_the_column_of_the_shard_must_be_free(kafka: Kafka, job: Job) -> None:
    shard(kafka, "1", ID, column("Shard", "int")).insert({"id": 1, "Shard": 1})
    assert job.quarantined(**merge())["code"] == "M738"
    assert not (job.folder / "mirror" / "shop").exists()


def test_a_mirror_has_one_column_for_shards(kafka: Kafka, job: Job) -> None:
    one, _ = two(kafka, job)
    shard(kafka, "3").insert({"id": 1, "name": "c"})
    one.insert({"id": 3, "name": "c"})
    lines = job.run(**merge(shard={**SHARD, "column": "tenant"}))
    codes = {line["code"] for line in lines if line["event"] == "table_quarantined"}
    assert codes == {"M739"}
    assert len(rows(job)) == 4


def test_a_table_keeps_its_shard(kafka: Kafka, job: Job) -> None:
    one, _ = two(kafka, job)
    one.insert({"id": 3, "name": "c"})
    settings = merge(shard={"column": "shard", "pattern": r"(?P<shard>shop_\d)\..+"})
    lines = job.run(**settings)
    codes = {line["code"] for line in lines if line["event"] == "table_quarantined"}
    assert codes == {"M742"}
    assert len(rows(job)) == 4


def test_a_table_alone_and_shards_do_not_share_a_mirror(kafka: Kafka, job: Job) -> None:
    two(kafka, job)
    SourceTable(kafka, "orders", (ID, NAME)).create().insert({"id": 1, "name": "alone"})
    assert job.quarantined(**merge())["code"] == "M711"
    assert len(rows(job)) == 4
