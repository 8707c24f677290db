"""Tables of two pipelines with the same names share one mirror: none touches rows of the other."""

from __future__ import annotations

import io
import json
import random
import time
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from connector.lake.demo.stack import query_mirror
from stream_jobs.cuts import read_cuts
from stream_jobs.cuts.cut import Cut, CutShards
from stream_jobs.cuts.reader import mirror_at
from stream_jobs.delta import log
from stream_jobs.delta.storage import Storage
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import MirrorError, delta_errors, job_errors, shard_errors
from stream_jobs.errors.shard_errors import SHARED_CATALOG, SHARED_TABLES
from stream_jobs.pipeline_folder import pipeline_folder
from stream_jobs.run import cut_coordinator
from stream_jobs.run.commands import show_cuts
from stream_jobs.run.status import show_status
from stream_jobs.tables import merged_table
from stream_jobs.tables.mirror_metadata import PREFIX_PROPERTY
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.quarantine_files import resume
from stream_jobs.tables.shard_view import shard_lists
from tests.foundation.errors.texts import text_of
from tests.integration.ended_topics import end_topics
from tests.integration.mirror import conftest
from tests.integration.mirror.conftest import Job
from tests.integration.mirror.mode_story import Story
from tests.integration.mirror.test_mode_stories import NOTE, RUNS, Death, mortal_commit
from tests.integration.mirror.test_shards import refused
from tests.stream_jobs.mode_models import MODES, ModeModel
from tests.stream_jobs.topics import Kafka, SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from local_stack import KafkaBroker
    from stream_jobs.apply.task_messages import PartResult, Task

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)
EU, US = "eu", "us"


class Pipeline:
    """The topics of a source, and a job over them that shares a mirror."""

    def __init__(self, broker: KafkaBroker, folder: Path, value: str) -> None:
        self.value = value
        self.kafka = Kafka(broker.endpoint.bootstrap, f"{value}{uuid.uuid4().hex[:8]}")
        self.job = Job(self.kafka, folder)
        self.is_shared = True
        self.formats = ["delta"]

    def sections(self, value: str = "", **choices: Any) -> dict[str, Any]:
        """The settings: each table is the shard with the name of the pipeline, or `value`."""
        shard = {"column": "region", "value": value or self.value}
        table = {"match": ["shop.*"], "name": "shop.{table}", "shard": shard, **choices}
        checkpoint = str(self.job.folder / f"checkpoint_{self.value}")
        return {
            "mirror": {
                "shared": self.is_shared,
                "checkpoint": checkpoint,
                "formats": self.formats,
            },
            "tables": [table],
        }

    def table(self, name: str = "orders", *columns: Any) -> SourceTable:
        return SourceTable(self.kafka, name, columns or (ID, NAME)).create()

    def apply(self) -> None:
        """Apply what is there; no table is set aside."""
        lines = self.job.run(**self.sections())
        assert [line for line in lines if line["event"] != "batch_applied"] == []

    def resume(self, *, rebuild: bool = False) -> None:
        """Let the job try the table again, which can go on now."""
        settings, config = self.job.settings(**self.sections()), self.job.folder / "job.toml"
        resume(settings, config, ["shop.orders"], rebuild=rebuild)
        events = [line["event"] for line in self.job.run(**self.sections())]
        assert "table_resumed" in events

    def end(self) -> None:
        """Publish that the topics have everything."""
        with self.kafka.transaction():
            self.kafka.progress()

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        return self.job.rows("orders", *(columns or ("region", "id", "name")))


@pytest.fixture
def pipelines(kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[tuple[Pipeline, Pipeline]]:
    """Two pipelines with one mirror."""
    both = Pipeline(kafka_broker, tmp_path, EU), Pipeline(kafka_broker, tmp_path, US)
    yield both
    for each in both:
        each.kafka.close()
        end_topics(kafka_broker.endpoint, each.kafka.prefix)


Both = tuple[Pipeline, Pipeline]


def test_tables_with_one_name_are_shards_and_change_alone(pipelines: Both) -> None:
    eu, us = pipelines
    one, other = eu.table(), us.table()
    one.insert({"id": 1, "name": "a"}, {"id": 2, "name": "b"})
    other.insert({"id": 1, "name": "x"}, {"id": 2, "name": "y"})
    eu.apply()
    us.apply()
    assert eu.rows() == [(EU, 1, "a"), (EU, 2, "b"), (US, 1, "x"), (US, 2, "y")]
    one.update({"id": 1, "name": "a"}, {"id": 1, "name": "z"})
    other.truncate()
    us.apply()
    eu.apply()
    assert eu.rows() == [(EU, 1, "z"), (EU, 2, "b")]
    # An ALTER reaches one source after the other.
    one.alter(ID, NAME, column("stock", "int", added_default=5)).insert(
        {"id": 3, "name": "c", "stock": 7}
    )
    other.insert({"id": 1, "name": "new"})
    us.apply()
    eu.apply()
    names = ("region", "id", "stock")
    assert us.rows(*names) == [(EU, 1, 5), (EU, 2, 5), (EU, 3, 7), (US, 1, None)]
    wide = other.alter(column("id", "bigint", key=1), NAME)
    wide.insert({"id": 1 << 40, "name": "wide"})
    us.apply()
    one.alter(ID, NAME, column("stock", "int")).insert({"id": 4, "name": "d", "stock": 1})
    eu.apply()
    assert [row[:2] for row in us.rows(*names)] == [
        *((EU, number) for number in range(1, 5)),
        (US, 1),
        (US, 1 << 40),
    ]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_each_pipeline_holds_what_its_model_says_whatever_dies(
    pipelines: Both,
    monkeypatch: pytest.MonkeyPatch,
    mode: ModeModel,
) -> None:
    dice = random.Random(str(mode))
    columns = (column("id", "int", key=int(mode.has_key)), NOTE)
    stories = {each: Story(each.table("orders", *columns), dice, keys=6) for each in pipelines}
    for _ in range(RUNS):
        for pipeline, story in stories.items():
            story.go_on(20)
            sections = pipeline.sections(mode=mode.name)
            with monkeypatch.context() as patched, suppress(Death):
                patched.setattr(DeltaTable, "commit", mortal_commit(dice.randint(2, 9)))
                pipeline.job.run(**sections)
        for pipeline in stories:
            lines = pipeline.job.run(**pipeline.sections(mode=mode.name))
            assert pipeline.job.exit_code == 0, lines
        data = pipelines[0].job.data("orders").to_pylist()
        for pipeline, story in stories.items():
            own = [row for row in data if row["region"] == pipeline.value]
            assert mode.found(own) == mode.wanted(story.changes), pipeline.value


def test_each_pipeline_has_its_own_cuts(pipelines: Both) -> None:
    eu, us = pipelines
    for number, pipeline in enumerate(pipelines):
        pipeline.table().insert({"id": number, "name": "a"})
        pipeline.end()
        pipeline.apply()
    root = str(eu.job.folder / "mirror")
    for pipeline in pipelines:
        (cut,) = read_cuts(pipeline_folder(root, pipeline.kafka.prefix).storage)
        assert cut.shards == {"shop.orders": CutShards("region", (pipeline.value,))}
        at = mirror_at(root, prefix=pipeline.kafka.prefix)
        delta = at.delta_tables()["shop.orders"]
        region, (value,) = at.cut.shards["shop.orders"]
        read = query_mirror(delta, f"SELECT {region} FROM mirror WHERE {region} = '{value}'")
        assert read["region"].to_pylist() == [pipeline.value]
        out = io.StringIO()
        show_cuts(pipeline.job.settings(**pipeline.sections()), out, as_json=True)
        (told,) = json.loads(out.getvalue())["cuts"]
        assert told["shards"] == {"shop.orders": ["region", [pipeline.value]]}
    # What the other one does is no reason for another cut.
    us.table("items").insert({"id": 1, "name": "i"})
    us.end()
    us.apply()
    eu.apply()
    assert [cut.number for cut in read_cuts(pipeline_folder(root, eu.kafka.prefix).storage)] == [1]


def with_one_cut(pipelines: Both) -> tuple[Pipeline, Storage, Cut]:
    """Apply a row of each pipeline; return one of them, the storage of its cuts, and its cut."""
    for pipeline in pipelines:
        pipeline.table().insert({"id": 1, "name": "a"})
        pipeline.end()
        pipeline.apply()
    eu, _ = pipelines
    storage = pipeline_folder(str(eu.job.folder / "mirror"), eu.kafka.prefix).storage
    (first,) = read_cuts(storage)
    return eu, storage, first


def test_a_cut_names_newer_versions_before_others_delete_those_that_it_names(
    pipelines: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source of its pipeline is idle."""
    eu, storage, first = with_one_cut(pipelines)
    eu.apply()
    assert read_cuts(storage) == [first]
    monkeypatch.setattr(merged_table, "SEEN_SHARE", 0)
    eu.apply()
    _, second = read_cuts(storage)
    assert (second.seq, second.shards) == (first.seq, first.shards)
    assert second.tables["shop.orders"].version > first.tables["shop.orders"].version


def test_cuts_of_an_idle_source_go_before_others_delete_what_they_name(
    pipelines: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    eu, storage, first = with_one_cut(pipelines)
    monkeypatch.setattr(merged_table, "SEEN_SHARE", 0)
    # Cuts are kept no longer than the versions of the tables.
    monkeypatch.setattr(cut_coordinator, "now", lambda: log.now() + 7 * 24 * 3_600_000)
    eu.apply()
    (second,) = read_cuts(storage)
    assert second.number == first.number + 1


def test_a_table_that_cannot_be_understood_is_left_out_of_cuts_alone(pipelines: Both) -> None:
    eu, _ = pipelines
    orders, items = eu.table(), eu.table("items")
    for table in (orders, items):
        table.insert({"id": 1, "name": "a"})
    eu.end()
    eu.apply()
    root = eu.job.folder / "mirror"
    delta = DeltaTable.open(LocalStorage(str(root)), "shop/items")
    assert delta is not None
    wrong = {"delta.logRetentionDuration": "a week"}
    delta.commit(TableCommit(metadata=delta.snapshot.metadata.with_properties(wrong)), "SET")
    orders.insert({"id": 2, "name": "b"})
    eu.end()
    eu.apply()
    *_, cut = read_cuts(LocalStorage(str(root)))
    assert cut.tables.keys() == {"shop.orders"}
    ((name, value),) = wrong.items()
    text = text_of(delta_errors.PROPERTY_WRONG, path="shop/items", name=name, value=value)
    assert cut.left_out == {"shop.items": text}


@pytest.mark.parametrize("is_storage_away", [False, True])
def test_a_table_that_cannot_be_read_again_is_left_out_of_cuts_alone(
    pipelines: Both, monkeypatch: pytest.MonkeyPatch, *, is_storage_away: bool
) -> None:
    eu, _ = pipelines
    for name in ("orders", "items"):
        eu.table(name).insert({"id": 1, "name": "a"})
    eu.end()
    damaged = MirrorError(delta_errors.VERSION_MISSING, path="shop/items", version=7)
    if is_storage_away:
        damaged = MirrorError(delta_errors.STORAGE_FAILED, path="shop/items", said="503")

    def refresh(_: MirrorTable) -> None:
        raise damaged

    is_newest = property(lambda own: own.delta.path != "shop/items")
    monkeypatch.setattr(MirrorTable, "is_newest", is_newest)
    monkeypatch.setattr(MirrorTable, "refresh", refresh)
    root = LocalStorage(str(eu.job.folder / "mirror"))
    if is_storage_away:
        # It concerns all tables, and a cut without one would be the newest.
        *_, last = eu.job.run(**eu.sections())
        assert (last["event"], last["code"]) == ("failed", damaged.code.code)
        assert read_cuts(root) == []
        return
    eu.apply()
    (cut,) = read_cuts(root)
    assert cut.tables.keys() == {"shop.orders"}
    assert cut.left_out == {"shop.items": damaged.text}


def test_a_round_that_has_slept_is_run_again(
    pipelines: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile, another pipeline may have deleted what its tasks have written."""
    eu, _ = pipelines
    table = eu.table()
    table.insert({"id": 1, "name": "a"})
    eu.apply()
    run, slept_ms = conftest.run_in_process, [0]
    rounds: list[int] = []

    def run_and_sleep(tasks: Sequence[Task]) -> list[PartResult]:
        results = run(tasks)
        for path in (eu.job.folder / "mirror/shop/orders").rglob("*.parquet"):
            if not rounds and "_delta_log" not in path.parts and path not in known:
                path.unlink()
        rounds.append(len(tasks))
        slept_ms[0] = 4 * 3_600_000
        return results

    known = set((eu.job.folder / "mirror/shop/orders").rglob("*.parquet"))
    monkeypatch.setattr(conftest, "run_in_process", run_and_sleep)
    monkeypatch.setattr(log, "now", lambda: time.time_ns() // 1_000_000 + slept_ms[0])
    table.insert({"id": 2, "name": "b"})
    eu.apply()
    assert len(rounds) == 2
    assert eu.rows() == [(EU, 1, "a"), (EU, 2, "b")]


def test_a_table_is_set_aside_and_made_again_for_its_pipeline_alone(pipelines: Both) -> None:
    eu, us = pipelines
    one, other = eu.table(), us.table()
    one.insert({"id": 1, "name": "a"})
    other.insert({"id": 1, "name": "x"})
    eu.apply()
    us.apply()
    other.insert({"id": "no number", "name": "y"})
    assert us.job.quarantined(**us.sections())["table"] == "shop.orders"
    one.insert({"id": 2, "name": "b"})
    eu.apply()
    for pipeline, state in ((eu, "current"), (us, "set aside")):
        out = io.StringIO()
        settings = pipeline.job.settings(**pipeline.sections())
        show_status(settings, pipeline.job.folder / "job.toml", out, as_json=True)
        told = json.loads(out.getvalue())
        assert told["job"]["prefix"] == pipeline.kafka.prefix
        assert [table["state"] for table in told["tables"]] == [state]
    other.truncate()
    other.insert({"id": 5, "name": "again"})
    us.resume(rebuild=True)
    assert eu.rows() == [(EU, 1, "a"), (EU, 2, "b"), (US, 5, "again")]


def test_a_shard_value_of_another_pipeline_sets_the_table_aside(pipelines: Both) -> None:
    eu, us = pipelines
    eu.table().insert({"id": 1, "name": "a"})
    us.table().insert({"id": 1, "name": "x"})
    eu.apply()
    aside = us.job.quarantined(**us.sections(EU))
    assert (aside["code"], aside["table"]) == (shard_errors.SHARD_OF_ANOTHER.code, "shop.orders")
    assert "shop.orders of another pipeline" in aside["error"]
    assert eu.rows() == [(EU, 1, "a")]


def test_a_table_without_a_shard_is_set_aside(pipelines: Both) -> None:
    eu, _ = pipelines
    SourceTable(eu.kafka, "log", (ID, NAME), "other").create().insert({"id": 1, "name": "a"})
    aside = eu.job.quarantined(**eu.sections())
    assert aside["code"] == shard_errors.NOT_A_SHARD.code
    assert not (eu.job.folder / "mirror" / "other").exists()


def test_the_mirror_of_one_pipeline_becomes_one_of_two(pipelines: Both) -> None:
    """Its lists of columns name no pipeline, its cuts and tables that are set aside stay."""
    eu, us = pipelines
    eu.is_shared = False
    one = eu.table()
    bad = eu.table("bad")
    one.insert({"id": 1, "name": "a"})
    bad.insert({"id": "no number", "name": "a"})
    eu.end()
    assert eu.job.quarantined(**eu.sections())["table"] == "shop.bad"
    us.table().insert({"id": 1, "name": "x"})
    # Not before the first one shares it.
    root = eu.job.folder / "mirror"
    assert us.job.error(**us.sections()) == text_of(
        job_errors.OWNER_ALONE, path=str(root), owner="test", prefix=eu.kafka.prefix
    )
    assert not (root / "_pipelines").exists()
    eu.is_shared = True
    one.insert({"id": 2, "name": "b"})
    eu.end()
    lines = eu.job.run(**eu.sections())
    assert [line["set_aside"] for line in lines] == [1]
    assert us.job.quarantined(**us.sections(EU))["code"] == shard_errors.SHARD_OF_ANOTHER.code
    folder = pipeline_folder(str(root), us.kafka.prefix)
    assert folder.base == f"{root}/_pipelines/{us.kafka.prefix}"
    us.resume()
    assert eu.rows() == [(EU, 1, "a"), (EU, 2, "b"), (US, 1, "x")]
    delta = DeltaTable.open(LocalStorage(str(root)), "shop/orders")
    assert delta is not None
    lists = shard_lists(delta.snapshot)
    assert PREFIX_PROPERTY not in lists[EU].properties
    assert lists[US].prefix == us.kafka.prefix
    # The list of the first one gets its prefix with its next columns.
    one.alter(ID, NAME, column("more", "int")).insert({"id": 3, "name": "c", "more": 1})
    eu.end()
    eu.job.run(**eu.sections())
    delta.refresh()
    assert shard_lists(delta.snapshot)[EU].prefix == eu.kafka.prefix
    eu.is_shared = False
    text = text_of(job_errors.MIRROR_SHARED, path=str(root))
    assert eu.job.error(**eu.sections()) == text


def test_settings_of_a_shared_mirror_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    shared = {"path": "/m", "shared": True}
    alone = {"match": ["s.t"], "name": "a.b"}
    shard = {**alone, "shard": {"column": "c", "value": "x"}}
    for code, mirror, tables in (
        (SHARED_TABLES, shared, []),
        (SHARED_TABLES, shared, [shard, alone]),
        (SHARED_TABLES, shared, [{**alone, "skip": True}]),
        (SHARED_CATALOG, {**shared, "formats": ["delta", "iceberg"]}, [shard]),
        (SHARED_CATALOG, shared, [{**shard, "formats": ["delta", "iceberg"]}]),
    ):
        catalog = {"catalog": "http://127.0.0.1:1"} if code is SHARED_CATALOG else {}
        text = refused(tmp_path, {"mirror": mirror, "tables": tables, "iceberg": catalog})
        assert text_of(code) in text
