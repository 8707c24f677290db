"""What a lake says of programs that have ended, and how it waits for those of an earlier start."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import TYPE_CHECKING

from connector.lake.lake_pipeline import await_free, last_words

if TYPE_CHECKING:
    from pathlib import Path


def test_a_start_waits_for_the_programs_of_the_one_before() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    closed_at = []

    def close() -> None:
        closed_at.append(time.monotonic())
        listener.close()

    timer = threading.Timer(0.5, close)
    timer.start()
    await_free([address])
    assert closed_at
    assert time.monotonic() >= closed_at[0]
    timer.join()


def test_a_start_does_not_wait_for_others_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        await_free([f"127.0.0.1:{listener.getsockname()[1]}"], 0.3)


def test_the_last_error_of_a_log_is_what_a_person_needs(tmp_path: Path) -> None:
    log = tmp_path / "job.jsonl"
    error = {"message": "failed", "error.code": "C603", "error.message": "in use"}
    lines = [{"message": "started"}, error, {"message": "stopped"}]
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + "no JSON\n[1]\n")
    assert last_words(log) == "[C603] in use"


def test_without_an_error_the_last_lines_are_shown(tmp_path: Path) -> None:
    log = tmp_path / "job.jsonl"
    log.write_text('{"message": "started"}\nKilled\n')
    assert last_words(log) == '{"message": "started"}\nKilled'
