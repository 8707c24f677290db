"""What the demo learns from the output of the connector and the Spark job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.lake.demo.configuration import DemoDirectory
from connector.lake.demo.processes import Connector, DemoProcess, JobStatus, JsonLines
from local_stack import stack_errors
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_line_that_is_half_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    lines = JsonLines(path)
    assert lines.read() == []
    path.write_text('{"n": 1}\nplain text\n{"n": ')
    assert lines.read() == [{"n": 1}]
    with path.open("a") as file:
        file.write("2}\n")
    assert lines.read() == [{"n": 2}]
    assert lines.read() == []


def test_lines_that_were_skipped_do_not_come_back(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text('{"n": 1}\n')
    lines = JsonLines(path)
    lines.skip()
    with path.open("a") as file:
        file.write('{"n": 2}\n')
    assert lines.read() == [{"n": 2}]


def applied(offset: int, **source_ts_ms: int | None) -> dict[str, object]:
    return {
        "event": "batch_applied",
        "batch_id": 0,
        "seconds": 1.5,
        "records": 1,
        "end_offsets": {"demo.shop.orders": {"0": offset, "1": 7}},
        "tables": {
            f"shop.{table}": {
                "source_ts_ms": ms,
                "changes": 3,
                "lag_seconds": None if ms is None else ms / 1000,
            }
            for table, ms in source_ts_ms.items()
        },
    }


def test_the_status_adds_up_what_the_lines_say() -> None:
    status = JobStatus()
    status.take({"event": "started", "name": "demo"})
    status.take({"event": "no_mirror", "topic": "demo.shop.page_views"})
    status.take(applied(5, orders=2000, payments=None))
    status.take(applied(6, orders=1000, payments=3000))
    assert status == JobStatus(
        started=True,
        batches=2,
        last_batch_seconds=1.5,
        last_batch_changes=6,
        lags=[2.0, 3.0],
        end_offsets={"demo.shop.orders": {"0": 6, "1": 7}},
        applied_ms={"shop.orders": 2000, "shop.payments": 3000},
        without_mirror=["demo.shop.page_views"],
    )


def test_the_job_has_caught_up_when_each_partition_is_read_to_its_end() -> None:
    status = JobStatus()
    status.take(applied(5))
    assert status.reaches({"demo.shop.orders": {0: 5, 1: 7}})
    assert not status.reaches({"demo.shop.orders": {0: 5, 1: 8}})
    assert not status.reaches({"demo.shop.payments": {0: 1}})
    assert status.reaches({"demo.shop.payments": {0: 0}})


def test_a_topic_that_grew_while_nothing_was_new_for_the_mirror_counts_as_read() -> None:
    status = JobStatus()
    status.take(applied(5))
    status.take({"event": "idle", "end_offsets": {"demo.shop.orders": {"0": 6, "1": 9}}})
    # A line names what has moved.
    status.take({"event": "idle", "end_offsets": {"demo.shop.payments": {"0": 3}}})
    assert status.reaches({"demo.shop.orders": {0: 6, 1: 9}})
    assert status.batches == 1


def test_a_job_that_failed_is_quoted_without_its_stack_trace() -> None:
    with pytest.raises(LocalStackError) as caught:
        JobStatus().take({"event": "failed", "error": "one\ntwo\nthree\n\tat java"})
    assert caught.value.text == "the Spark job failed: one\ntwo\nthree"


def until_it_ends(connector: Connector) -> None:
    while True:
        connector.check()


def test_a_connector_that_ends_by_itself_is_told_with_the_end_of_its_log(tmp_path: Path) -> None:
    directory = DemoDirectory(tmp_path)
    directory.connector_config.write_text("nonsense = 1\n")
    connector = Connector(directory)
    connector.start()
    assert connector.pid > 0
    with pytest.raises(LocalStackError) as caught:
        until_it_ends(connector)
    assert caught.value.code is stack_errors.ENDED
    first, *log = caught.value.text.splitlines()
    assert first == f"connector ended; read the end of {directory.connector_log}:"
    assert any("nonsense" in line for line in log)


def test_a_connector_that_was_killed_is_no_failure(tmp_path: Path) -> None:
    connector = Connector(DemoDirectory(tmp_path))
    connector.start()
    connector.kill()
    connector.check()
    assert connector.pid == 0


class Environment(DemoProcess):
    """Prints its variables."""

    def start(self) -> None:
        self._start(["env"], {"JAVA_HOME": "/java"})
        assert self._process is not None
        assert self._process.wait(10.0)


def test_variables_of_the_user_do_not_change_the_configurations_of_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__PASSWORD", "secret")
    monkeypatch.setenv("BINLOG_CONNECTOR_NAME", "other")
    monkeypatch.setenv("STREAM_JOB_KAFKA__TOPIC_PREFIX", "other")
    monkeypatch.setenv("BINLOG_CONNECTOR_CACHE", "/cache")
    Environment("env", tmp_path / "log").start()
    lines = (tmp_path / "log").read_text().splitlines()
    names = {line.partition("=")[0] for line in lines}
    assert {"PATH", "JAVA_HOME", "BINLOG_CONNECTOR_CACHE"} <= names
    assert not any(name.startswith("STREAM_JOB_") for name in names)
    assert names.isdisjoint({"BINLOG_CONNECTOR_SOURCE__PASSWORD", "BINLOG_CONNECTOR_NAME"})
