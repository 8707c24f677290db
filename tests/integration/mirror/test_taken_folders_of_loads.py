"""Folders that somebody takes away of tables whose first rows come from the source."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.errors import delta_errors, job_errors
from tests.integration.harness import wait_until_settled
from tests.integration.mirror.test_first_load import (
    MIRROR,
    Meanwhile,
    fill,
    load_waits,
    mirrored,
    names,
    url,
    wait_for_states,
)

if TYPE_CHECKING:
    from stream_jobs.load.range_task import RangeJob, RangeResult
    from tests.integration.database_stream import Stream
    from tests.integration.mirror.conftest import Job

pytestmark = [pytest.mark.server, pytest.mark.kafka]


def set_aside(lines: list[dict[str, Any]]) -> list[str]:
    return [line["code"] for line in lines if line["event"] == "table_quarantined"]


def loaded(stream: Stream, job: Job) -> tuple[Any, Path]:
    """Load the tables `t` and `kept`; return the section of the source, and the folder of `t`."""
    fill(stream, "t")
    fill(stream, "kept", 9)
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 2)
        wait_until_settled(stream.broker, stream.prefix)
        lines = job.run(first_load=url(stream))
    assert job.exit_code == 0, lines
    assert mirrored(stream, job, "t") == names(stream, "t")
    return url(stream), Path(job.path("t", stream.database))


def change(stream: Stream, *tables: str) -> None:
    """Change a row of each of the tables, and let the connector deliver it."""
    with stream.connector(**MIRROR) as connector:
        stream.execute(*(f"UPDATE {table} SET name = 'x' WHERE id = 1" for table in tables))
        stream.wait_for_changes(len(tables), connector)
        wait_until_settled(stream.broker, stream.prefix)


@pytest.mark.parametrize("changed", [(), ("kept",), ("kept", "t")])
def test_a_loaded_table_that_was_taken_while_the_job_was_down_is_not_loaded_again(
    stream: Stream, own_job: Job, tmp_path: Path, changed: tuple[str, ...]
) -> None:
    source, folder = loaded(stream, own_job)
    folder.rename(tmp_path / "away")
    if changed:
        change(stream, *changed)
    lines = own_job.run(first_load=source)
    assert set_aside(lines) == [job_errors.MIRROR_GONE.code]
    # Nor when no cut has it any more.
    change(stream, "kept")
    assert set_aside(own_job.run(first_load=source)) == []
    own_job.resume(f"{stream.database}.t")
    assert set_aside(own_job.run(first_load=source)) == [job_errors.MIRROR_GONE.code]
    assert not folder.exists()
    (tmp_path / "away").rename(folder)
    own_job.resume(f"{stream.database}.t")
    lines = own_job.run(first_load=source)
    resumed = [line["table"] for line in lines if line["event"] == "table_resumed"]
    assert resumed == [f"{stream.database}.t"]
    for table in ("t", "kept"):
        assert mirrored(stream, own_job, table) == names(stream, table)


def test_a_loaded_table_that_was_deleted_is_loaded_again_when_that_is_wanted(
    stream: Stream, own_job: Job
) -> None:
    source, folder = loaded(stream, own_job)
    shutil.rmtree(folder)
    assert set_aside(own_job.run(first_load=source)) == [job_errors.MIRROR_GONE.code]
    own_job.resume(f"{stream.database}.t", rebuild=True)
    lines = own_job.run(first_load=source)
    assert set_aside(lines) == []
    assert mirrored(stream, own_job, "t") == names(stream, "t")


def test_a_table_that_is_taken_while_it_is_loaded_goes_on_when_it_is_back(
    stream: Stream, own_job: Job, tmp_path: Path
) -> None:
    folder = Path(own_job.path("t", stream.database))

    class Thief(Meanwhile):
        def __call__(self, job: Any) -> Any:
            if self.ranges == 2:
                folder.rename(tmp_path / "away")
            return super().__call__(job)

    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        wait_until_settled(stream.broker, stream.prefix)
        load = own_job.load_range
        Thief(own_job, stream, {})
        source = url(stream) | {"connections": 1}
        lines = own_job.run(first_load=source)
        assert set_aside(lines) == [delta_errors.FOLDER_GONE.code]
        assert not folder.exists()
        own_job.load_range = load  # type: ignore[method-assign]
        assert set_aside(own_job.run(first_load=source)) == []
        assert not folder.exists()
        (tmp_path / "away").rename(folder)
        own_job.resume(f"{stream.database}.t")
        lines = own_job.run(first_load=source)
    assert own_job.exit_code == 0, lines
    assert mirrored(stream, own_job, "t") == names(stream, "t")


def test_a_load_waits_while_a_worker_alone_does_not_see_the_folder(
    stream: Stream, own_job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, load = Path(own_job.path("t", stream.database)), own_job.load_range

    def load_elsewhere(job: RangeJob) -> RangeResult:
        folder.rename(tmp_path / "away")
        result = load(job)
        (tmp_path / "away").rename(folder)
        return result

    fill(stream, "t")
    with stream.connector(**MIRROR) as connector:
        wait_for_states(connector, 1)
        wait_until_settled(stream.broker, stream.prefix)
        source = url(stream) | {"connections": 1}
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(own_job, "load_range", load_elsewhere)
            lines = own_job.run(first_load=source)
        assert load_waits(lines) == [delta_errors.STORAGE_FAILED.code]
        assert set_aside(lines) == []
        lines = own_job.run(first_load=source)
    assert own_job.exit_code == 0, lines
    assert mirrored(stream, own_job, "t") == names(stream, "t")
