"""Several processes write what one writes: lines, gaps, errors and exit codes."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from connector.logs import undo_errors
from tests.foundation.errors.texts import with_code
from tests.golden.golden import logs
from tests.logs.dump.command import dump, start_dump

if TYPE_CHECKING:
    from pathlib import Path

LOGS = [log.path for log in logs() if log.name.startswith("mysql-8.0.31/")][:5]
TRUNCATED = 2
CORRUPT = 3
INTERRUPTED = 130


@pytest.mark.parametrize("written_as", ["text", "events", "json", "envelope"])
def test_the_lines_of_several_processes_are_those_of_one(tmp_path: Path, written_as: str) -> None:
    one, several = tmp_path / "one", tmp_path / "several"
    arguments = ("--format", written_as, *LOGS, "--stop-position", 300)
    if written_as == "envelope":
        # These files have the same number, and the time of encoding differs.
        arguments = ("--format", written_as, LOGS[0], LOGS[0], "--table", "no.tables")
    assert dump(*arguments, "--output", one).code == 0
    assert dump(*arguments, "--output", several, "--jobs", 2).code == 0
    assert several.read_bytes() == one.read_bytes()


def test_the_first_error_ends_the_dump_after_the_lines_before_it(tmp_path: Path) -> None:
    cut = tmp_path / "binlog.000007"
    cut.write_bytes(LOGS[1].read_bytes()[:-5])
    missing = tmp_path / "binlog.000008"
    arguments = ("--format", "json", LOGS[0], cut, LOGS[2], missing)
    one, several = dump(*arguments), dump(*arguments, "--jobs", 3)
    assert several == one
    assert (several.code, several.errors.count("binlog.000007")) == (TRUNCATED, 1)


def test_gaps_are_reported_in_the_order_of_the_files(tmp_path: Path) -> None:
    damaged = []
    for number, log in enumerate(LOGS[:3]):
        data = bytearray(log.read_bytes())
        data[len(data) // 2] ^= 0x10
        damaged.append(tmp_path / f"binlog.{number:06}")
        damaged[-1].write_bytes(data)
    arguments = ("--format", "text", "--recover", *damaged)
    one, several = dump(*arguments), dump(*arguments, "--jobs", 2)
    assert several == one
    # One of the logs has no checksums.
    assert (several.code, several.errors.count("gap:")) == (CORRUPT, 2)


def test_a_process_that_is_ended_is_an_error(tmp_path: Path) -> None:
    # Nobody writes into it, so the process that reads it waits.
    waits = tmp_path / "binlog.000009"
    os.mkfifo(waits)
    killer = threading.Thread(target=_kill_children)
    killer.start()
    done = dump("--format", "json", waits, LOGS[0], "--jobs", 2)
    killer.join()
    text = with_code(
        undo_errors.JOB_ENDED,
        f"{waits}: the process that read this log has ended with signal 9; look for what ended it, "
        "such as a lack of memory, and repeat the command, with fewer --jobs",
    )
    assert (done.code, done.output, done.errors) == (1, "", f"error: {text}\n")


def test_a_process_that_gets_sigterm_leaves_no_lines_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    # More lines than a pipe takes: nobody reads them.
    process = start_dump("--jobs", 2, *LOGS * 20)
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob("binlog-connector-*/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(tmp_path.glob("binlog-connector-*/*"))
    process.terminate()
    process.communicate()
    assert (process.returncode, list(tmp_path.iterdir())) == (INTERRUPTED, [])


def _kill_children() -> None:
    while not (children := multiprocessing.active_children()):
        time.sleep(0.01)
    for process in children:
        process.kill()
