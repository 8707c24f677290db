"""What a lake says of programs that have ended, of its log, and of those that run already."""

from __future__ import annotations

import dataclasses
import json
import resource
import shutil
import signal
import socket
import threading
import time
from contextlib import nullcontext
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from connector.cli.up import LakeLines, picture
from connector.errors import ConfigError, DefiniteError
from connector.foundation.errors.code import ErrorCode
from connector.kafka.folder import door
from connector.lake import lake_errors, lake_folder, lake_pipeline
from connector.lake.lake_folder import LakeFolder
from connector.lake.lake_pipeline import LakePipeline, Program, await_free, last_words
from connector.lake.lake_start import options_of
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.metrics.source_watch import SourceLog
from connector.stream.status.model import State
from local_stack.process import GuardedProcess
from stream_jobs.cuts import NO_KEY, Cut, CutTable
from stream_jobs.cuts.cut import CutStore
from stream_jobs.cuts.state_topics import COPY_FAILED, COPYING
from stream_jobs.delta.storages import storage_of
from tests.foundation.errors.texts import shown
from tests.stream.status.states import facts_in
from tests.stream_jobs.topics import Kafka

if TYPE_CHECKING:
    from pathlib import Path

CUT = Cut("0" * 38, "mysql", None, "binlog.000001:4", None, 0, {}, {})
TIME_MS = 1_789_999_998_000
TIME = "14:13:18"


@pytest.fixture
def folder(tmp_path: Path) -> LakeFolder:
    own = LakeFolder(tmp_path / "lake")
    options = options_of("mysql://cdc:secret@db:3306/shop", None, [], iceberg=False)
    own.lock()
    own.write(options)
    own.unlock()
    return own


def drawn(pipeline: LakePipeline) -> list[str]:
    """Return the lines that a terminal shows."""
    console = Console(width=120, file=StringIO())
    console.print(picture(pipeline))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def no_look() -> None:
    raise AssertionError


def test_a_start_waits_for_the_programs_of_the_one_before() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    closed_at = []

    def close() -> None:
        closed_at.append(time.monotonic())
        listener.close()

    timer = threading.Timer(0.5, close)
    timer.start()
    assert await_free(address, 30.0)
    assert closed_at
    assert time.monotonic() >= closed_at[0]
    timer.join()


def test_a_start_does_not_wait_for_others_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not await_free(f"127.0.0.1:{listener.getsockname()[1]}", 0.3)


def test_an_address_of_ipv6_is_free_unless_somebody_listens_there() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        address = f"[::1]:{listener.getsockname()[1]}"
        assert not await_free(address, 0.3)
    assert await_free(address, 0.3)


def test_an_address_that_cannot_be_used_is_left_to_the_program_that_says_why() -> None:
    assert await_free("192.0.2.1:21083", 0.3)


def test_the_last_error_of_a_log_is_what_a_person_needs(tmp_path: Path) -> None:
    log = tmp_path / "job.jsonl"
    error = {"message": "failed", "error.code": "C603", "error.message": "in use"}
    lines = [{"message": "started"}, error, {"message": "stopped"}]
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + "no JSON\n[1]\n")
    assert str(last_words(log)) == "[C603] in use"


def test_without_an_error_the_last_lines_are_shown(tmp_path: Path) -> None:
    log = tmp_path / "job.jsonl"
    log.write_text('{"message": "started"}\nKilled\n')
    assert str(last_words(log)) == '{"message": "started"}\nKilled'


def test_both_programs_of_a_lake_use_one_log(folder: LakeFolder) -> None:
    text = folder.job_config.read_text()
    folder.job_config.write_text(text.replace('topic_prefix = "lake"', 'topic_prefix = "other"'))
    with pytest.raises(ConfigError) as raised:
        LakePipeline(folder)
    facts: dict[str, object] = {"connector": folder.connector_config, "job": folder.job_config}
    facts |= {"key": "kafka.topic_prefix", "here": "lake", "there": "other"}
    assert str(raised.value) == shown(lake_errors.DISAGREE, **facts)


def test_a_log_that_is_moved_or_replaced_ends_a_lake_and_keeps_it_from_a_start(
    folder: LakeFolder,
) -> None:
    away = folder.state / "moved"
    pipeline = LakePipeline(folder)
    pipeline.check()
    folder.log.rename(away)
    for _ in range(2):
        with pytest.raises(DefiniteError) as raised:
            pipeline.check()
        facts = {"folder": folder.path, "log": folder.log, "url": "mysql://cdc@db:3306"}
        assert str(raised.value) == shown(lake_errors.LOG_GONE, **facts)
        with pytest.raises(DefiniteError):
            LakePipeline(folder)
        # A process that looks for the log makes an empty one.
        folder.log.mkdir(exist_ok=True)
    folder.log.rmdir()
    away.rename(folder.log)
    LakePipeline(folder).check()


def test_a_lake_whose_log_somebody_has_moved_to_brokers_needs_no_folder(folder: LakeFolder) -> None:
    for path, text in folder.files().items():
        path.write_text(text.replace(folder.log.as_uri(), "kafka:9092"))
    shutil.rmtree(folder.log)
    LakePipeline(folder).check()


@pytest.mark.parametrize(
    ("error", "code"), [("S431", lake_errors.START_OVER), ("S223", lake_errors.ENDED)]
)
def test_a_program_that_cannot_go_on_with_its_source_names_the_way_of_a_lake(
    folder: LakeFolder, error: str, code: ErrorCode
) -> None:
    log = folder.connector_log
    log.write_text(json.dumps({"error.code": error, "error.message": "so it is"}) + "\n")
    pipeline = LakePipeline(folder)
    process = GuardedProcess(["sh", "-c", "exit 3"], log, {})
    assert process.wait(10.0)
    pipeline._programs["the connector"] = Program(process, log, 0)
    with pytest.raises(DefiniteError) as raised:
        pipeline.check()
    facts = {"program": "the connector", "exit_code": 3, "log": log, "tail": f"[{error}] so it is"}
    if code is lake_errors.START_OVER:
        facts |= {"url": "mysql://cdc@db:3306", "folder": folder.state}
    assert str(raised.value) == shown(code, **facts)


@pytest.mark.parametrize(
    ("script", "exit_code"),
    [("exit 3", "3"), ("kill -9 $$", "137 (SIGKILL, which the system sends when memory is short)")],
)
def test_a_program_that_says_no_error_is_not_ended_by_an_earlier_one(
    folder: LakeFolder, script: str, exit_code: str
) -> None:
    log = folder.connector_log
    error = json.dumps({"error.code": "S431", "error.message": "so it was"})
    log.write_text(f"{error}\n")
    pipeline = LakePipeline(folder)
    begins_at = log.stat().st_size
    process = GuardedProcess(["sh", "-c", f"echo working; {script}"], log, {})
    assert process.wait(10.0)
    pipeline._programs["the connector"] = Program(process, log, begins_at)
    with pytest.raises(DefiniteError) as raised:
        pipeline.check()
    facts = {"program": "the connector", "exit_code": exit_code, "log": log, "tail": "working"}
    assert str(raised.value) == shown(lake_errors.ENDED, **facts)


def test_an_error_that_was_told_does_not_explain_a_signal(folder: LakeFolder) -> None:
    log = folder.connector_log
    pipeline = LakePipeline(folder)
    error = json.dumps({"error.code": "S431", "error.message": "it is tried again"})
    process = GuardedProcess(["sh", "-c", f"echo '{error}'; kill -TERM $$"], log, {})
    assert process.wait(10.0)
    pipeline._programs["the connector"] = Program(process, log, 0)
    with pytest.raises(DefiniteError) as raised:
        pipeline.check()
    facts = {"program": "the connector", "exit_code": "143 (SIGTERM)", "log": log, "tail": error}
    assert str(raised.value) == shown(lake_errors.ENDED, **facts)


def test_an_interruption_of_the_end_leaves_no_program_running(
    folder: LakeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = LakePipeline(folder)
    programs = [GuardedProcess(["sleep", "60"], folder.job_log, {}) for _ in range(2)]
    connector, job = programs
    for name, process in ("the connector", connector), ("the Spark job", job):
        pipeline._programs[name] = Program(process, folder.job_log, 0)

    def interrupted() -> None:
        raise KeyboardInterrupt

    terminate, was_running = connector.terminate, []

    def end() -> None:
        was_running.append(job.is_running)
        terminate()

    monkeypatch.setattr(job, "terminate", interrupted)
    monkeypatch.setattr(connector, "terminate", end)
    with pytest.raises(KeyboardInterrupt):
        pipeline._end()
    assert was_running == [False]
    assert (job.exit_code, connector.exit_code) == (137, 143)


def test_a_program_that_was_started_by_itself_is_not_started_again(
    folder: LakeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_pipeline, "_END_SECONDS", 0.1)
    pipeline = LakePipeline(folder)
    address = pipeline._settings.metrics.listen
    assert address is not None
    host, _, port = address.rpartition(":")
    with (
        socket.create_server((host, int(port))),
        pytest.raises(ConfigError) as raised,
        pipeline,
    ):
        pass
    facts = {"address": address, "folder": folder.path, "state": folder.state}
    assert str(raised.value) == shown(lake_errors.ADDRESS, **facts)


@pytest.mark.parametrize(
    ("why", "code", "config"),
    [
        ("[M218] no", lake_errors.LEFT_OUT, "stream_job.toml"),
        (COPY_FAILED, lake_errors.COPY_FAILED, "connector.toml"),
        (f"shop.a: {COPY_FAILED}", lake_errors.COPY_FAILED, "connector.toml"),
    ],
)
def test_a_table_with_a_key_that_a_cut_leaves_out_is_an_error(
    folder: LakeFolder, monkeypatch: pytest.MonkeyPatch, why: str, code: ErrorCode, config: str
) -> None:
    pipeline = LakePipeline(folder)
    monkeypatch.setattr(pipeline, "status", lambda: facts_in(State.STREAMING))
    pipeline.require_all(dataclasses.replace(CUT, left_out={"shop.events": NO_KEY}), no_look)
    with pytest.raises(DefiniteError) as raised:
        pipeline.require_all(dataclasses.replace(CUT, left_out={"shop.orders": why}), no_look)
    facts = {"folder": folder.path, "table": "shop.orders", "config": folder.state / config}
    assert str(raised.value) == shown(code, **facts, why=why)


def test_a_table_whose_changes_are_in_quarantine_is_an_error(
    folder: LakeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_pipeline, "_LOOK_SECONDS", 0.0)
    pipeline = LakePipeline(folder)
    answers = iter([None, facts_in(State.QUARANTINE)])
    looks: list[None] = []
    monkeypatch.setattr(pipeline, "status", lambda: next(answers))
    with pytest.raises(DefiniteError) as raised:
        pipeline.require_all(CUT, lambda: looks.append(None))
    assert len(looks) == 1
    facts = {"folder": folder.path, "tables": ["shop.orders"], "config": folder.connector_config}
    assert str(raised.value) == shown(lake_errors.HELD_BACK, **facts)


def test_changes_of_a_table_without_a_key_may_be_in_quarantine(
    folder: LakeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = LakePipeline(folder)
    monkeypatch.setattr(pipeline, "status", lambda: facts_in(State.QUARANTINE))
    pipeline.require_all(dataclasses.replace(CUT, left_out={"shop.orders": NO_KEY}), no_look)


def test_a_cut_from_the_middle_of_a_copy_does_not_count_although_the_source_is_idle(
    folder: LakeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = SourceLog("uuid", {"binlog.000001": 4}, None, 0, 0, 0.0)
    monkeypatch.setattr(lake_pipeline, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(MysqlServer, "connect", lambda _: nullcontext())
    monkeypatch.setattr(lake_pipeline, "read_source_log", lambda _: idle)
    own = LakePipeline(folder)
    monkeypatch.setattr(own, "status", lambda: facts_in(State.STREAMING))
    kafka = Kafka(folder.log.as_uri(), "lake")
    whys = {"shop.a": COPYING, "shop.all": f"shop.a: {COPYING}"}
    cuts: list[Cut] = []
    looks: list[None] = []

    def look() -> None:
        looks.append(None)
        if len(looks) == 1:
            # Before the first progress record, nobody knows what a cut must have.
            with kafka.transaction():
                seq = str(kafka.progress())
            kafka.settle()
            cuts.extend(dataclasses.replace(CUT, seq=seq, left_out=why) for why in (whys, {}))

    monkeypatch.setattr(own, "last_cut", lambda: [CUT, CUT, *cuts][len(looks)])
    assert own.catch_up(look) is cuts[1]
    kafka.close()
    door.close()


def test_a_full_disk_is_said_once_until_there_was_room(
    folder: LakeFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = LakePipeline(folder)
    lines = LakeLines(pipeline)
    lines.show()
    assert pipeline.state_words() == "starting"
    said = shown(lake_errors.DISK_FULL, folder=folder.path)
    for _ in range(2):
        monkeypatch.setattr(lake_folder, "_ROOM_BYTES", 1 << 60)
        lines.show()
        lines.show()
        assert capsys.readouterr() == ("", f"warning: {said}\n")
        assert "the disk is full" in pipeline.state_words()
        monkeypatch.setattr(lake_folder, "_ROOM_BYTES", 0)
        lines.show()
    assert capsys.readouterr() == ("", "")
    folder.path.rename(folder.path.with_name("moved"))
    assert folder.problem is None


@pytest.mark.parametrize(
    ("gtid", "time_ms", "said"),
    [
        ("7d819525:1-77", TIME_MS, f"1 table at {TIME} UTC, 7d819525:1-77"),
        (None, TIME_MS, f"1 table at {TIME} UTC, binlog.000001:4"),
        ("7d819525:1-77", None, "1 table at 7d819525:1-77"),
    ],
)
def test_a_terminal_shows_the_last_cut_above_the_state(
    folder: LakeFolder,
    monkeypatch: pytest.MonkeyPatch,
    gtid: str | None,
    time_ms: int | None,
    said: str,
) -> None:
    pipeline = LakePipeline(folder)
    monkeypatch.setattr(pipeline, "status", lambda: facts_in(State.STREAMING))
    assert "last cut" not in "\n".join(drawn(pipeline))
    tables = {"shop.orders": CutTable("shop/orders", 3, "id")}
    cut = dataclasses.replace(CUT, number=1, tables=tables, gtid=gtid, source_time_ms=time_ms)
    assert CutStore(storage_of(str(folder.path))).put(cut)
    first, *others = drawn(pipeline)
    assert first == f"last cut  1: {said}"
    assert "● streaming" in "\n".join(others)


def test_a_program_that_ends_on_a_disk_without_room_names_the_disk(
    folder: LakeFolder,
) -> None:
    pipeline = LakePipeline(folder)
    process = GuardedProcess(["sh", "-c", "exit 1"], folder.job_lines, {})
    assert process.wait(10.0)
    pipeline._programs["the Spark job"] = Program(process, folder.job_lines, 0)
    assert folder.refusal() is None
    assert not (folder.state / "probe").exists()
    # As on a full disk: the system takes no byte of a file.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(DefiniteError) as raised:
            pipeline.check()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    facts = {"folder": folder.path, "program": "the Spark job", "exit_code": 1}
    assert str(raised.value) == shown(lake_errors.UNWRITABLE, **facts, why="File too large")
    assert not (folder.state / "probe").exists()
