"""The mirror knows how the newest run of its job ended, also if the disk is full."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from connector.foundation.errors.message import Message
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.errors import MirrorError, job_errors
from stream_jobs.pipeline_folder import Owner
from stream_jobs.run.job_state import RunFailure, RunRecord, job_status

MESSAGE = Message(job_errors.SPARK_FAILED, {"kind": "KeyError", "said": "7"})
OWNER = Owner.here("shop", "shop")
# A tmpfs of its own, that other processes do not see.
FULL_DISK = """
mount -t tmpfs -o size=64k none "$0" || exit 77
exec "$1" -m tests.stream_jobs.report.full_disk "$0"
"""


def of(root: Path, trigger: str = "processingTime") -> RunRecord:
    return RunRecord(LocalStorage(str(root)), "/mirror", trigger)


def state(root: Path, owner: Owner = OWNER) -> dict[str, Any]:
    """What `status` makes of the file."""
    found = job_status(owner, of(root).newest())
    return {"state": found.state, "missing": found.is_missing, "failure": found.last_failure}


def test_a_run_that_failed_says_why_and_so_does_the_next_one(tmp_path: Path) -> None:
    first = of(tmp_path)
    assert first.begin(OWNER.epoch) is None
    assert state(tmp_path) == {"state": "running", "missing": False, "failure": None}
    failure = first.failed(MESSAGE)
    assert failure == RunFailure(failure.at, "M101", MESSAGE.text)
    assert state(tmp_path) == {"state": "failed", "missing": True, "failure": failure}
    assert of(tmp_path).begin(OWNER.epoch) == failure
    assert state(tmp_path) == {"state": "running", "missing": False, "failure": failure}


@pytest.mark.parametrize(
    ("trigger", "missing"), [("processingTime", True), ("availableNow", False)]
)
def test_a_run_that_was_stopped_is_missing_unless_it_ends_by_itself(
    tmp_path: Path, trigger: str, *, missing: bool
) -> None:
    record = of(tmp_path, trigger)
    record.begin(OWNER.epoch)
    record.stopped()
    assert state(tmp_path) == {"state": "stopped", "missing": missing, "failure": None}


def test_a_process_that_was_killed_is_gone(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    killed = Owner("shop", "shop", socket.gethostname(), ended.pid, OWNER.since, "an epoch")
    of(tmp_path).begin(killed.epoch)
    assert state(tmp_path, killed) == {"state": "gone", "missing": True, "failure": None}


def test_nobody_knows_whether_a_process_of_another_machine_runs(tmp_path: Path) -> None:
    far = Owner("shop", "shop", "far-away.example", os.getpid(), OWNER.since, "an epoch")
    of(tmp_path).begin(far.epoch)
    assert state(tmp_path, far) == {"state": "elsewhere", "missing": False, "failure": None}


def test_a_run_that_was_replaced_leaves_the_file_of_the_new_one(tmp_path: Path) -> None:
    older, newer = of(tmp_path), Owner.here("shop", "shop")
    older.begin(OWNER.epoch)
    of(tmp_path).begin(newer.epoch)
    older.stopped()
    assert state(tmp_path, newer)["state"] == "running"


def test_a_run_that_never_took_the_mirror_does_not_hide_one_that_runs(tmp_path: Path) -> None:
    of(tmp_path).begin(OWNER.epoch)
    failure = of(tmp_path).failed(MESSAGE)
    assert state(tmp_path) == {"state": "running", "missing": False, "failure": failure}


def test_a_foreign_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "_cdc" / "run" / "newest.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"{}")
    with pytest.raises(MirrorError) as caught:
        of(tmp_path).newest()
    assert caught.value.code is job_errors.OWN_FILE


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs a file system of its own")
def test_a_full_disk_has_room_for_the_reason(tmp_path: Path) -> None:
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL_DISK]
    done = subprocess.run(
        [*command, str(tmp_path), sys.executable],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    if done.returncode in (1, 77) and "Operation not permitted" in done.stderr:
        pytest.skip("this user may mount nothing")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"state": "failed", "code": "M101"}
