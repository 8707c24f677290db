"""The shards of a pipeline that is gone are removed, while the jobs of the others go on."""

from __future__ import annotations

import io
import threading
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.cuts import cut_errors
from stream_jobs.cuts.reader import mirror_at
from stream_jobs.delta.table import DeltaTable
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.pipeline_folder import newest_owner, pipeline_folder
from stream_jobs.run.commands import drop_shards
from stream_jobs.run.job_state import RunRecord
from tests.foundation.errors.texts import text_of
from tests.integration.ended_topics import end_topics
from tests.integration.mirror.readers import delta_rs_rows, kernel_rows, spark_rows
from tests.integration.mirror.test_mode_stories import Death, mortal_commit
from tests.integration.mirror.test_shared_mirror import EU, ID, NAME, US, Pipeline
from tests.stream_jobs.topics import column
from verification.shard_check import surplus_shards

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from local_stack import KafkaBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture
def pipelines(kafka_broker: KafkaBroker, tmp_path: Path) -> Iterator[list[Pipeline]]:
    """Two pipelines with one mirror, and what comes instead of the second one."""
    every = [Pipeline(kafka_broker, tmp_path, value) for value in (EU, US, US)]
    yield every
    for each in every:
        each.kafka.close()
        end_topics(kafka_broker.endpoint, each.kafka.prefix)


def root_of(pipeline: Pipeline) -> str:
    return str(pipeline.job.folder / "mirror")


def end_run(pipeline: Pipeline) -> None:
    """Note what a job notes that ends on request."""
    folder = pipeline_folder(root_of(pipeline), pipeline.kafka.prefix)
    owner = newest_owner(*folder)
    assert owner is not None
    record = RunRecord(*folder, "processingTime")
    record.begin(owner.epoch)
    record.stopped()


def drop(by: Pipeline, gone: Pipeline) -> str:
    """Remove the shards of a pipeline that has ended, with the file of another one."""
    out = io.StringIO()
    settings = by.job.settings(**by.sections())
    drop_shards(settings, gone.kafka.prefix, None, out, confirmed=True)
    return out.getvalue()


def verified(pipeline: Pipeline) -> list[str]:
    """What `verify` says of the mirrors as a whole."""
    settings = pipeline.job.settings(**pipeline.sections())
    names = [("shop", "orders"), ("shop", "items")]
    return [
        f"{result.name} {'surplus' if result.error is None else result.error.code.code}"
        for result in surplus_shards(settings, names)
    ]


def test_the_others_go_on_and_every_reader_sees_only_their_rows(
    pipelines: list[Pipeline], spark: SparkSession
) -> None:
    eu, us, new = pipelines
    one, other = eu.table(), us.table("orders", ID, NAME, column("extra", "int"))
    one.insert({"id": 1, "name": "a"})
    other.insert({"id": 1, "name": "x", "extra": 1}, {"id": 2, "name": "y", "extra": 2})
    us.table("items").insert({"id": 5, "name": "i"})
    for pipeline in (eu, us):
        pipeline.end()
        pipeline.apply()
    assert verified(eu) == ["shop.items V186", "shop.orders V186"]
    end_run(us)
    said = drop(eu, us)
    assert "shop.orders: removed shard us, 2 rows\n" in said
    for name, rows in (("orders", [(EU, 1, "a")]), ("items", [])):
        path = eu.job.path(name)
        for found in (spark_rows(spark, path), delta_rs_rows(path), kernel_rows(spark, path)):
            assert [row[:3] for row in found] == rows
    assert verified(eu) == []
    with pytest.raises(MirrorError) as caught:
        mirror_at(root_of(eu), prefix=us.kafka.prefix)
    assert caught.value.code is cut_errors.NO_CUT
    # The cut of the other one can be read, and its job goes on.
    assert mirror_at(root_of(eu), prefix=eu.kafka.prefix).tables.keys() == {"shop.orders"}
    one.alter(ID, NAME, column("extra", "varchar", length=9)).insert(
        {"id": 2, "name": "b", "extra": "text"}
    )
    eu.end()
    eu.apply()
    assert eu.rows("id", "extra") == [(1, None), (2, "text")]
    # Another pipeline of the same server has the shard from now on.
    again = new.table("orders", ID, NAME)
    again.insert({"id": 1, "name": "x"}, {"id": 2, "name": "z"})
    new.table("items").insert({"id": 6, "name": "j"})
    new.end()
    new.apply()
    assert new.rows("region", "id") == [(EU, 1), (EU, 2), (US, 1), (US, 2)]
    assert [row[:3] for row in spark_rows(spark, eu.job.path("items"))] == [(US, 6, "j")]


def test_a_pipeline_that_comes_back_begins_with_the_first_records(
    pipelines: list[Pipeline],
) -> None:
    eu, us, _ = pipelines
    table = us.table()
    table.insert({"id": 1, "name": "x"})
    eu.table().insert({"id": 1, "name": "a"})
    eu.apply()
    us.apply()
    end_run(us)
    drop(eu, us)
    table.insert({"id": 2, "name": "y"})
    # Its checkpoint says that the first record is applied.
    aside = us.job.quarantined(**us.sections())
    assert aside["code"] == job_errors.MIRROR_GONE.code
    us.resume(rebuild=True)
    assert us.rows() == [(EU, 1, "a"), (US, 1, "x"), (US, 2, "y")]
    end_run(us)
    drop(eu, us)
    us.job.delete_checkpoint()
    us.apply()
    assert us.rows() == [(EU, 1, "a"), (US, 1, "x"), (US, 2, "y")]


def test_a_job_of_the_pipeline_is_refused_until_the_removal_has_ended(
    pipelines: list[Pipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    eu, us, _ = pipelines
    for pipeline in (eu, us):
        pipeline.table().insert({"id": 1, "name": "a"})
        pipeline.table("items").insert({"id": 1, "name": "i"})
        pipeline.apply()
    end_run(us)
    folder = pipeline_folder(root_of(us), us.kafka.prefix)
    with monkeypatch.context() as patched:
        patched.setattr(DeltaTable, "commit", mortal_commit(2))
        with pytest.raises(Death):
            drop(eu, us)
    owner = newest_owner(*folder)
    assert owner is not None
    facts: dict[str, Any] = {"pid": owner.pid, "host": owner.host, "prefix": owner.prefix}
    text = text_of(job_errors.SHARDS_DROPPED, **facts, path=folder.base)
    assert us.job.error(**us.sections()) == text
    assert "1 row" in drop(eu, us)
    assert [eu.job.rows(name, "region") for name in ("orders", "items")] == [[(EU,)], [(EU,)]]
    us.job.delete_checkpoint()
    us.apply()
    assert us.rows("region") == [(EU,), (US,)]


def test_a_busy_table_loses_the_shards_between_the_commits_of_others(
    pipelines: list[Pipeline],
) -> None:
    """And gets them again, and loses them."""
    eu, us, _ = pipelines
    one = eu.table()
    us.table().insert(*({"id": number, "name": "x"} for number in range(20)))
    one.insert({"id": 0, "name": "a"})
    eu.apply()
    us.apply()
    problems: list[BaseException] = []

    def change() -> None:
        try:
            for number in range(1, 12):
                one.insert({"id": number, "name": "a"})
                eu.apply()
        except BaseException as error:  # noqa: BLE001 # the test tells it
            problems.append(error)

    writer = threading.Thread(target=change)
    writer.start()
    while writer.is_alive():
        end_run(us)
        assert "shop.orders: removed shard us, 20 rows\n" in drop(eu, us)
        us.job.delete_checkpoint()
        us.apply()
    writer.join()
    assert problems == []
    end_run(us)
    drop(eu, us)
    assert eu.rows("region", "id") == [(EU, number) for number in range(12)]
