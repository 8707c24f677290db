"""Pipelines that share a mirror publish one Iceberg table for each of its tables."""

from __future__ import annotations

import io
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.cuts import read_cuts
from stream_jobs.cuts.reader import mirror_at
from stream_jobs.errors import MirrorError
from stream_jobs.iceberg.cut_tags import CutTags
from stream_jobs.iceberg.record import PublicationRecord
from stream_jobs.pipeline_folder import pipeline_folder
from stream_jobs.run.assembly import batch_applier
from stream_jobs.run.commands import show_cuts
from stream_jobs.run.publication_thread import publishing
from stream_jobs.source.client import KafkaClient
from stream_jobs.tables import merged_table
from stream_jobs.tables.maintenance import ChangedTable
from tests.integration.mirror import conftest
from tests.integration.mirror.test_shared_mirror import EU, US, Both, Pipeline, pipelines
from tests.stream_jobs.iceberg.readers import DuckDB, delta_rs_rows, opened, pyiceberg_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyiceberg.table.metadata import TableMetadata

    from stream_jobs.run.batch import BatchApplier

__all__ = ["pipelines"]

pytestmark = pytest.mark.kafka

BOTH = ["delta", "iceberg"]
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def duckdb() -> DuckDB:
    return DuckDB()


@pytest.fixture
def both(pipelines: Both) -> Both:
    """The pipelines, which publish their tables to Iceberg."""
    for pipeline in pipelines:
        pipeline.formats = BOTH
    return pipelines


def root(pipeline: Pipeline) -> Path:
    return pipeline.job.folder / "mirror"


def folder(pipeline: Pipeline) -> Path:
    return root(pipeline) / "_iceberg" / "shop" / "orders"


def published(pipeline: Pipeline) -> TableMetadata:
    return opened(folder(pipeline)).metadata


def tag(pipeline: Pipeline, number: int) -> str:
    return CutTags(pipeline.kafka.prefix).of(number)


def agree(pipeline: Pipeline, duckdb: DuckDB) -> list[tuple[Any, ...]]:
    """The rows of the newest version, which all readers see."""
    rows = delta_rs_rows(root(pipeline) / "shop/orders")
    assert pyiceberg_rows(folder(pipeline)) == rows
    assert duckdb.rows(folder(pipeline)) == rows
    return [row[:3] for row in rows]


def own_rows(pipeline: Pipeline, snapshot: int, duckdb: DuckDB) -> list[tuple[Any, ...]]:
    """The rows of a pipeline in a snapshot."""
    rows = pyiceberg_rows(folder(pipeline), snapshot)
    assert rows == duckdb.rows(folder(pipeline), snapshot)
    assert rows == delta_rs_rows(root(pipeline) / "shop/orders", snapshot)
    return [row[:3] for row in rows if row[0] == pipeline.value]


def test_each_pipeline_publishes_and_has_tags_of_its_own(both: Both, duckdb: DuckDB) -> None:
    tables = {each: each.table() for each in both}
    for number in (1, 2, 3):
        for pipeline in both:
            tables[pipeline].insert({"id": number, "name": f"n{number}"})
            pipeline.end()
            pipeline.apply()
            agree(pipeline, duckdb)
    for pipeline in both:
        path, prefix = str(root(pipeline)), pipeline.kafka.prefix
        for cut in read_cuts(pipeline_folder(path, prefix).storage):
            found = mirror_at(path, prefix=prefix, gtid=cut.gtid, format="iceberg")
            assert (found.cut, found.tag) == (cut, tag(pipeline, cut.number))
            snapshot = found.tables["shop.orders"].version
            assert snapshot == cut.tables["shop.orders"].version
            assert published(pipeline).refs[found.tag].snapshot_id == snapshot
            expected = [(pipeline.value, n, f"n{n}") for n in range(1, cut.number + 1)]
            assert own_rows(pipeline, snapshot, duckdb) == expected
        out = io.StringIO()
        show_cuts(pipeline.job.settings(**pipeline.sections()), out, as_json=True)
        told = [cut["iceberg_tag"] for cut in json.loads(out.getvalue())["cuts"]]
        assert told == [tag(pipeline, number) for number in (1, 2, 3)]
    _, us = both
    summary = published(us).snapshots[-1].summary
    assert summary is not None
    assert (summary["cdc.cut"], summary["cdc.prefix"]) == ("3", us.kafka.prefix)


def test_a_cut_that_another_pipeline_has_overtaken_gets_its_snapshot(
    both: Both, duckdb: DuckDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current snapshot does not go back, and the one of the cut is beside it."""
    eu, us = both
    tables = [each.table() for each in both]
    for pipeline, table in zip(both, tables, strict=True):
        table.insert({"id": 1, "name": "a"}, {"id": 2, "name": "b"})
        pipeline.end()
        pipeline.apply()
    for table, name in zip(tables, ("eu", "us"), strict=True):
        table.update({"id": 1, "name": "a"}, {"id": 1, "name": name})
    eu.end()
    us.end()

    def after_the_other(*given: Any) -> AbstractContextManager[None]:
        monkeypatch.undo()
        us.apply()
        return publishing(*given)

    monkeypatch.setattr(conftest, "publishing", after_the_other)
    eu.apply()
    assert [row for row in agree(eu, duckdb) if row[1] == 1] == [(EU, 1, "eu"), (US, 1, "us")]
    known = published(eu)
    snapshot = known.refs[tag(eu, 2)].snapshot_id
    assert known.current_snapshot_id is not None
    assert snapshot < known.current_snapshot_id
    assert snapshot not in {entry.snapshot_id for entry in known.snapshot_log}
    found = mirror_at(str(root(eu)), prefix=eu.kafka.prefix, format="iceberg")
    assert found.tables["shop.orders"].version == snapshot
    rows = [row[:3] for row in pyiceberg_rows(folder(eu), snapshot)]
    assert own_rows(eu, snapshot, duckdb) == [(EU, 1, "eu"), (EU, 2, "b")]
    assert (US, 1, "a") in rows


def listed_tags(own: Pipeline) -> list[str | None]:
    """Return the tag that `cuts` names for each cut."""
    out = io.StringIO()
    show_cuts(own.job.settings(**own.sections()), out, as_json=True)
    return [cut["iceberg_tag"] for cut in json.loads(out.getvalue())["cuts"]]


def test_tags_of_the_time_before_others_came_stay_and_are_not_listed(both: Both) -> None:
    eu, us = both
    eu.is_shared = False
    table = eu.table()
    for number in (1, 2):
        table.insert({"id": number, "name": "a"})
        eu.end()
        eu.apply()
        assert mirror_at(str(root(eu)), format="iceberg").tag == f"cut_{number}"
        eu.is_shared = True
        if number == 1:
            eu.is_shared = False
    path, prefix = str(root(eu)), eu.kafka.prefix
    eu.apply()
    # The last cut has a tag of the pipeline, too; the one before has none.
    assert mirror_at(path, prefix=prefix, format="iceberg").tag == tag(eu, 2)
    assert listed_tags(eu) == [None, tag(eu, 2)]
    us.table().insert({"id": 1, "name": "x"})
    us.end()
    us.apply()
    table.insert({"id": 3, "name": "a"})
    eu.end()
    eu.apply()
    assert mirror_at(path, prefix=prefix, format="iceberg").tag == tag(eu, 3)
    refs = published(eu).refs
    assert refs.keys() >= {"cut_1", "cut_2", "latest_cut", tag(eu, 2), tag(eu, 3), tag(us, 1)}
    assert tag(eu, 1) not in refs


def test_tags_of_the_time_when_the_mirror_was_shared_go(both: Both) -> None:
    eu, _ = both
    table = eu.table()
    for number in (1, 2):
        table.insert({"id": number, "name": "a"})
        eu.end()
        eu.apply()
        eu.is_shared = False
    assert mirror_at(str(root(eu)), format="iceberg").tag == "cut_2"
    assert published(eu).refs.keys() == {"main", "cut_2", "latest_cut"}
    assert listed_tags(eu) == [None, "cut_2"]


def test_what_a_pipeline_without_the_format_commits_comes_with_the_next_version(
    both: Both, duckdb: DuckDB
) -> None:
    eu, us = both
    us.formats = ["delta"]
    one, other = (each.table() for each in both)
    one.insert({"id": 1, "name": "a"})
    eu.apply()
    other.insert({"id": 1, "name": "x"})
    us.end()
    us.apply()
    assert [row[:2] for row in pyiceberg_rows(folder(eu))] == [(EU, 1)]
    with pytest.raises(MirrorError, match=r"\[M807\]"):
        mirror_at(str(root(us)), prefix=us.kafka.prefix, format="iceberg")
    one.insert({"id": 2, "name": "b"})
    eu.apply()
    assert agree(eu, duckdb) == [(EU, 1, "a"), (EU, 2, "b"), (US, 1, "x")]


def test_a_cut_for_which_a_table_was_read_again_publishes_what_others_have_committed(
    both: Both, duckdb: DuckDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    eu, us = both
    us.formats = ["delta"]
    eu.table().insert({"id": 1, "name": "a"})
    eu.end()
    eu.apply()
    us.table().insert({"id": 1, "name": "x"})
    us.apply()
    # The source of the one that publishes is idle.
    monkeypatch.setattr(merged_table, "SEEN_SHARE", 0)
    eu.apply()
    assert agree(eu, duckdb) == [(EU, 1, "a"), (US, 1, "x")]
    assert published(eu).refs[tag(eu, 2)].snapshot_id == published(eu).current_snapshot_id


@pytest.fixture
def applier(both: Both) -> Iterator[BatchApplier]:
    """The parts of the job of the first pipeline."""
    eu, _ = both
    settings = eu.job.settings(**eu.sections())
    client = KafkaClient(settings.kafka.facts())
    yield batch_applier(settings, client, conftest.run_in_process, lambda: 2)
    client.close()


def test_delta_keeps_files_for_the_current_snapshot_whatever_tags_come_later(
    both: Both, applier: BatchApplier
) -> None:
    eu, us = both
    one = eu.table()
    one.insert({"id": 1, "name": "a"})
    us.table().insert({"id": 1, "name": "x"})
    eu.apply()
    us.apply()
    at = published(us).snapshots[-1].timestamp_ms
    # The same version has the tag of a cut, a moment later.
    us.end()
    us.apply()
    assert published(us).last_updated_ms > at
    applier.services.registry.refresh()
    mirror = applier._states.of(one.topic).mirror
    assert mirror is not None
    assert applier.iceberg is not None
    later = int(time.time() * 1000) + 30 * DAY_MS
    assert applier.iceberg.kept_since(ChangedTable(one.topic, mirror, ("id",)), later) == at


def test_no_snapshot_is_a_mere_rewrite(both: Both, applier: BatchApplier) -> None:
    """Rows of another pipeline may come with the files of a compaction."""
    eu, _ = both
    table = eu.table()
    table.insert({"id": 1, "name": "a"})
    eu.apply()
    applier.services.registry.refresh()
    mirror = applier._states.of(table.topic).mirror
    assert mirror is not None
    assert applier.iceberg is not None
    applier.iceberg.note([ChangedTable(table.topic, mirror, ("id",))], is_rewrite=True)
    versions, _ = applier.iceberg.queue.take()
    assert [version.is_rewrite for version in versions.values()] == [False]


def test_a_process_that_is_late_leaves_the_record_of_the_newer_one(
    both: Both, applier: BatchApplier
) -> None:
    eu, _ = both
    eu.table().insert({"id": 1, "name": "a"})
    eu.end()
    eu.apply()
    record = PublicationRecord.read(*applier.services.folder)
    assert record is not None
    assert record.cuts.keys() == {1}
    assert applier.iceberg is not None
    applier.iceberg.publish()
    assert PublicationRecord.read(*applier.services.folder) == record
