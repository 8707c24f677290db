"""A mirror belongs to one job: another one is refused, and a newer process takes over."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.pipeline_folder import Owner
from stream_jobs.run.assembly import batch_applier
from stream_jobs.run.job_state import Ownership, claimed
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topics import OffsetRange
from tests.foundation.errors.texts import text_of
from tests.integration.mirror.conftest import run_in_process
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stream_jobs.apply.task_messages import PartResult, Task
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1),)


def of(folder: Path, name: str = "shop", prefix: str = "shop", pid: int = 1) -> Ownership:
    owner = Owner(name, prefix, "host", pid, "2026-01-01T00:00:00+00:00", uuid.uuid4().hex)
    return Ownership(LocalStorage(str(folder)), "/mirror/", owner)


@pytest.mark.parametrize(("name", "prefix"), [("other", "shop"), ("shop", "other")])
def test_a_job_with_another_name_or_other_topics_is_refused_by_name(
    tmp_path: Path, name: str, prefix: str
) -> None:
    first = of(tmp_path)
    first.claim()
    with pytest.raises(MirrorError) as caught:
        of(tmp_path, name, prefix).claim()
    assert str(caught.value) == (
        "[M602] the mirror at /mirror belongs to the job shop, which reads the topics shop.* (last "
        "started as process 1 on host); give this job another mirror.path; if it replaces the job "
        "shop for good, remove the folder /mirror/_cdc/owner first; in a shared mirror, it must "
        "read the same topics"
    )
    first.check()
    for file in (tmp_path / "_cdc" / "owner").iterdir():
        file.unlink()
    of(tmp_path, name, prefix).claim()
    with pytest.raises(MirrorError):
        first.check()


def test_the_newest_process_goes_on_and_each_older_one_ends(tmp_path: Path) -> None:
    processes = [of(tmp_path, pid=number) for number in range(1, 4)]
    for process in processes:
        process.claim()
        process.remove_older()
    for process in processes[:2]:
        with pytest.raises(MirrorError) as caught:
            process.check()
        assert caught.value.text == text_of(
            job_errors.TAKEN_OVER, path="/mirror", pid=3, host="host"
        )
    processes[2].check()
    assert len(list((tmp_path / "_cdc" / "owner").iterdir())) == 1


def test_two_that_start_at_the_same_moment_get_different_numbers(tmp_path: Path) -> None:
    first, second = of(tmp_path, pid=1), of(tmp_path, pid=2)
    # Another one has put the number that the second one was about to put.
    put = LocalStorage.put_if_absent
    beaten: list[str] = []

    class Slow(LocalStorage):
        def put_if_absent(self, path: str, content: bytes) -> bool:
            if not beaten:
                beaten.append(path)
                first.claim()
            return put(self, path, content)

    second._storage = Slow(str(tmp_path))
    second.claim()
    second.check()
    with pytest.raises(MirrorError):
        first.check()


def test_a_file_that_is_none_of_the_job_is_named(tmp_path: Path) -> None:
    of(tmp_path).claim()
    (file,) = (tmp_path / "_cdc" / "owner").iterdir()
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(MirrorError) as caught:
        of(tmp_path).claim()
    assert caught.value.text == text_of(job_errors.OWN_FILE, path=f"/mirror/_cdc/owner/{file.name}")


def test_an_owner_whose_files_are_gone_goes_on(tmp_path: Path) -> None:
    first = of(tmp_path)
    first.claim()
    for file in (tmp_path / "_cdc" / "owner").iterdir():
        file.unlink()
    first.check()
    first.check()


def test_the_older_job_ends_at_its_next_batch_and_applies_nothing(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert({"id": 1})
    settings = job.settings()
    client = KafkaClient(settings.kafka.facts())
    older = batch_applier(settings, client, run_in_process, lambda: 2)
    job.apply()
    table.insert({"id": 2})
    ends = kafka.end_offsets(table.topic)
    with pytest.raises(MirrorError) as caught:
        older.apply([OffsetRange(table.topic, int(n), 0, end) for n, end in ends.items()])
    client.close()
    assert caught.value.code == job_errors.TAKEN_OVER
    assert job.rows("items") == [(1,)]


def test_a_job_that_was_replaced_meanwhile_sets_no_table_aside(kafka: Kafka, job: Job) -> None:
    """The newer one has its own records of tables that cannot go on."""
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert({"id": "no number"})
    settings = job.settings()
    client = KafkaClient(settings.kafka.facts())

    def replaced(tasks: Sequence[Task]) -> list[PartResult]:
        results = run_in_process(tasks)
        claimed(settings)
        return results

    older = batch_applier(settings, client, replaced, lambda: 2)
    ends = kafka.end_offsets(table.topic)
    with pytest.raises(MirrorError) as caught:
        older.apply([OffsetRange(table.topic, int(n), 0, end) for n, end in ends.items()])
    client.close()
    assert caught.value.code == job_errors.TAKEN_OVER
    assert not (job.folder / "mirror" / "_cdc" / "quarantine").exists()


def test_a_job_of_other_topics_does_not_start(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert({"id": 1})
    job.apply()
    assert job.error(kafka={"topic_prefix": "other"}).startswith(
        f"the mirror at {job.folder / 'mirror'} belongs to the job test, which reads the topics "
        f"{kafka.prefix}.* (last started as process "
    )
