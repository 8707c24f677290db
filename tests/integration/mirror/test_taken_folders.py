"""Folders of tables that somebody takes away from a running job, and puts back or not."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connector.foundation.contract import OP_CREATE, OP_UPDATE
from stream_jobs.apply.task import run_task
from stream_jobs.errors import MirrorError, delta_errors, job_errors, record_errors
from stream_jobs.run.assembly import batch_applier
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topics import OffsetRange
from tests.integration.mirror.conftest import Job, RunningJob, run_in_process
from tests.stream_jobs.topics import PARTITIONS, Kafka, SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stream_jobs.apply.task_messages import PartResult, Task
    from stream_jobs.tables.batch_report import BatchReport

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("note", "varchar", length=80))


def run_in_driver(tasks: Sequence[Task]) -> list[PartResult]:
    """Run tasks with the objects of the driver, as small ones are."""
    return [result for task in tasks for result in run_task(task)]


@pytest.fixture(params=[run_in_process, run_in_driver])
def running(job: Job, request: pytest.FixtureRequest) -> Iterator[RunningJob]:
    with closing(KafkaClient(job.settings().kafka.facts())) as client:
        yield RunningJob(job.kafka, batch_applier(job.settings(), client, request.param, lambda: 2))


@pytest.fixture
def tables(kafka: Kafka, running: RunningJob) -> list[SourceTable]:
    """Two tables whose mirrors the running job has."""
    both = [SourceTable(kafka, name, COLUMNS).create() for name in ("kept", "taken")]
    # Enough for each partition.
    for first, end in (1, 9), (9, 10):
        for number in range(first, end):
            insert(both, number)
        assert running.apply(*both).quarantined == []
    return both


def insert(tables: Sequence[SourceTable], number: int) -> None:
    """Insert a row into each of the tables, in one transaction."""
    kafka = tables[0].kafka
    with kafka.transaction():
        for table in tables:
            table.send(OP_CREATE, None, {"id": number, "note": str(number)})
        kafka.progress()


@pytest.mark.parametrize("taken", ["shop/taken", "shop/taken/_delta_log"])
def test_a_folder_that_was_taken_away_sets_its_table_aside_until_it_is_back(
    job: Job, running: RunningJob, tables: list[SourceTable], tmp_path: Path, taken: str
) -> None:
    folder = tmp_path / "mirror" / taken
    folder.rename(tmp_path / "away")
    insert(tables, 10)
    (aside,) = running.apply(*tables).quarantined
    assert (aside.table, aside.code) == ("shop.taken", delta_errors.FOLDER_GONE.code)
    assert not folder.exists()
    insert(tables, 11)
    assert running.apply(*tables).quarantined == []
    assert not folder.exists()
    (tmp_path / "away").rename(folder)
    job.resume("shop.taken")
    report = running.applier.retry()
    assert report is not None
    assert report.resumed == ["shop.taken"]
    assert job.rows("taken", "id") == job.rows("kept", "id") == [(n,) for n in range(1, 12)]


@pytest.mark.parametrize("unseen", ["shop", "shop/taken", "shop/taken/*.parquet"])
def test_what_a_worker_alone_does_not_see_is_a_failure_of_its_storage(
    job: Job, tables: list[SourceTable], tmp_path: Path, unseen: str
) -> None:
    """No table is set aside for that; the next process goes on, on a machine that sees all."""

    def run_elsewhere(tasks: Sequence[Task]) -> list[PartResult]:
        moved = [(path, tmp_path / path.name) for path in (tmp_path / "mirror").glob(unseen)]
        for path, away in moved:
            path.rename(away)
        results = run_in_process(tasks)
        for path, away in moved:
            away.rename(path)
        return results

    # Without the indexes of earlier batches, it has to read the rows.
    settings = job.settings(mirror={"index_folder": str(tmp_path / "indexes")})
    with closing(KafkaClient(settings.kafka.facts())) as client:
        applier = batch_applier(settings, client, run_elsewhere, lambda: 2)
        running = RunningJob(job.kafka, applier)
        with job.kafka.transaction():
            for table in tables:
                before = {"id": 1, "note": "1"}
                table.send(OP_UPDATE, before, {"id": 1, "note": "new"})
            job.kafka.progress()
        with pytest.raises(MirrorError) as caught:
            running.apply(*tables)
        assert caught.value.code is delta_errors.STORAGE_FAILED
        assert caught.value.message.facts["said"] == (
            "a worker does not find it, and the driver does"
        )
        assert not applier.set_aside
    job.run()
    rows = [(1, "new"), *((number, str(number)) for number in range(2, 10))]
    assert job.rows("taken", "id", "note") == job.rows("kept", "id", "note") == rows


def test_a_table_is_not_resumed_without_its_folder(
    job: Job, running: RunningJob, tables: list[SourceTable], tmp_path: Path
) -> None:
    folder = tmp_path / "mirror" / "shop" / "taken"
    folder.rename(tmp_path / "away")
    delete_records(job, tables[1])
    insert(tables, 10)
    assert [each.table for each in running.apply(*tables).quarantined] == ["shop.taken"]
    for _ in range(2):
        job.resume("shop.taken")
        report = running.applier.retry()
        assert report is not None
        assert [each.code for each in report.quarantined] == [job_errors.MIRROR_GONE.code]
        assert not folder.exists()
    (tmp_path / "away").rename(folder)
    job.resume("shop.taken")
    assert running.applier.retry() is not None
    assert job.rows("taken", "id") == job.rows("kept", "id") == [(n,) for n in range(1, 11)]


def test_the_database_of_all_tables_is_not_made_again(
    job: Job, running: RunningJob, tables: list[SourceTable], tmp_path: Path
) -> None:
    folder = tmp_path / "mirror" / "shop"
    folder.rename(tmp_path / "away")
    insert(tables, 10)
    aside = running.apply(*tables).quarantined
    assert [each.code for each in aside] == [delta_errors.FOLDER_GONE.code] * 2
    assert not folder.exists()
    (tmp_path / "away").rename(folder)
    job.resume(every=True)
    assert running.applier.retry() is not None
    assert job.rows("taken", "id") == job.rows("kept", "id") == [(n,) for n in range(1, 11)]


def test_a_folder_that_was_deleted_for_good_is_made_again_when_that_is_wanted(
    job: Job, running: RunningJob, tables: list[SourceTable], tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "mirror" / "shop" / "taken")
    insert(tables, 10)
    assert [each.table for each in running.apply(*tables).quarantined] == ["shop.taken"]
    job.resume("shop.taken", rebuild=True)
    report = running.applier.retry()
    assert report is not None
    assert report.resumed == ["shop.taken"]
    assert job.rows("taken", "id") == [(n,) for n in range(1, 11)]


def test_a_mirror_is_not_made_again_from_a_topic_without_all_rows(
    job: Job, running: RunningJob, tables: list[SourceTable], tmp_path: Path
) -> None:
    """It is made once the connector has copied the table, also after an end in between."""
    log = tmp_path / "mirror" / "shop" / "taken" / "_delta_log"
    log.rename(tmp_path / "away")
    insert(tables, 10)
    assert [each.table for each in running.apply(*tables).quarantined] == ["shop.taken"]
    delete_records(job, tables[1])
    kept = sorted(log.parent.iterdir())
    for rebuild, code in (True, record_errors.RECORDS_GONE), (False, job_errors.MIRROR_GONE):
        job.resume("shop.taken", rebuild=rebuild)
        report = running.applier.retry()
        assert report is not None
        assert [each.code for each in report.quarantined] == [code.code]
        assert sorted(log.parent.iterdir()) == kept
    copy(tables[1])
    running.kafka.settle()
    job.resume("shop.taken", rebuild=True)
    applier = running.applier
    (request,) = applier._isolation.requests().values()
    applier._rebuild(request)
    # The process ends here; the next one goes on.
    job.run()
    assert job.rows("taken", "id") == [(n,) for n in range(1, 10)]


def test_a_mirror_is_made_again_without_its_records_if_its_rows_are_loaded(
    job: Job, running: RunningJob, tables: list[SourceTable], tmp_path: Path
) -> None:
    kafka, folder = running.kafka, tmp_path / "mirror" / "shop" / "taken"
    insert(tables, 10)
    (folder / "_delta_log").rename(tmp_path / "away")
    assert [each.table for each in running.apply(*tables).quarantined] == ["shop.taken"]
    delete_records(job, tables[1])
    topic = f"{kafka.prefix}.snapshot"
    kafka.add_topic(topic, 1)
    state = {"database": "shop", "table": "taken", "phase": "complete", "load": "1"}
    with kafka.transaction():
        kafka.send(topic, b"s/shop.taken", json.dumps(state).encode(), {}, partition=0)
    kafka.settle()
    job.resume("shop.taken", rebuild=True)
    report = running.applier.retry()
    assert report is not None
    assert (report.resumed, report.quarantined) == (["shop.taken"], [])
    assert running.applier.loading == {tables[1].topic}


def test_a_table_that_was_set_aside_for_another_reason_does_not_begin_without_its_rows(
    job: Job, running: RunningJob, tables: list[SourceTable], tmp_path: Path
) -> None:
    delete_records(job, tables[1])
    with running.kafka.transaction():
        tables[1].send(OP_CREATE, None, {"id": 10}, value=b"not ours")
    (aside,) = running.apply(*tables).quarantined
    assert aside.partition is not None
    assert aside.offset is not None
    shutil.rmtree(tmp_path / "mirror" / "shop" / "taken")
    insert(tables[:1], 11)
    # The cut of this batch leaves the table out.
    assert running.apply(*tables).quarantined == []
    insert(tables, 12)
    job.resume("shop.taken", skipped=[(aside.partition, aside.offset)])
    report = running.applier.retry()
    assert report is not None
    assert [each.code for each in report.quarantined] == [job_errors.MIRROR_GONE.code]


def copy(table: SourceTable) -> None:
    """Copy rows as the connector does."""
    table.truncate()
    for number in range(1, 10):
        insert([table], number)


def restarted(
    job: Job, tables: Sequence[SourceTable], number: int, copy: Callable[[], None] = lambda: None
) -> BatchReport:
    """Let another process of the job, with its checkpoint, apply a `copy` and another row."""
    with closing(KafkaClient(job.settings().kafka.facts())) as client:
        every = [place for table in tables for place in places(table)]
        begun = client.end_offsets(every)
        copy()
        insert(tables, number)
        job.kafka.settle()
        ends = client.end_offsets(every)
        applier = batch_applier(job.settings(), client, run_in_process, lambda: 2)
        return applier.apply([OffsetRange(*each, begun[each], ends[each]) for each in every])


def delete_records(job: Job, table: SourceTable) -> None:
    """Delete what the tables have, as the job does after some hours."""
    with closing(KafkaClient(job.settings().kafka.facts())) as client:
        client.delete_records(client.end_offsets(places(table)))


def places(table: SourceTable) -> list[tuple[str, int]]:
    return [(table.topic, number) for number in range(PARTITIONS)]


@pytest.mark.parametrize("are_deleted", [True, False])
def test_a_table_that_was_taken_while_the_job_was_down_does_not_begin_without_its_rows(
    job: Job, tables: list[SourceTable], tmp_path: Path, are_deleted: bool
) -> None:
    folder = tmp_path / "mirror" / "shop" / "taken"
    folder.rename(tmp_path / "away")
    if are_deleted:
        delete_records(job, tables[1])
    (aside,) = restarted(job, tables, 10).quarantined
    assert (aside.table, aside.code) == ("shop.taken", job_errors.MIRROR_GONE.code)
    assert not folder.exists()
    (tmp_path / "away").rename(folder)
    job.resume("shop.taken")
    job.run()
    assert job.rows("taken", "id") == job.rows("kept", "id") == [(n,) for n in range(1, 11)]


def test_a_table_without_changes_is_missed_with_the_first_batch(
    job: Job, tables: list[SourceTable], tmp_path: Path
) -> None:
    folder = tmp_path / "mirror" / "shop" / "taken"
    folder.rename(tmp_path / "away")
    delete_records(job, tables[1])
    (aside,) = restarted(job, tables[:1], 10).quarantined
    assert (aside.table, aside.code) == ("shop.taken", job_errors.MIRROR_GONE.code)
    assert restarted(job, tables, 11).quarantined == []
    assert not folder.exists()
    (tmp_path / "away").rename(folder)
    job.resume("shop.taken")
    job.run()
    assert job.rows("taken", "id") == [(n,) for n in (*range(1, 10), 11)]


def test_a_table_that_was_deleted_is_made_again_from_a_copy(
    job: Job, tables: list[SourceTable], tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "mirror" / "shop" / "taken")
    delete_records(job, tables[1])

    def copied() -> None:
        copy(tables[1])

    assert restarted(job, tables, 10, copied).quarantined == []
    assert job.rows("taken", "id") == job.rows("kept", "id") == [(n,) for n in range(1, 11)]
