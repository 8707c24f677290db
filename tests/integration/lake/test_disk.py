"""A disk that is full or read-only, and parts of a lake that are moved away, while it runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from connector.lake import lake_errors
from stream_jobs.errors import delta_errors
from tests.integration.harness import wait_until
from tests.integration.lake.shop import PATIENCE_SECONDS, Shop, running, up
from tests.integration.lake.small_disk import SmallDisk
from tests.length import FULL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.server,
    pytest.mark.spark,
    pytest.mark.skipif(not FULL, reason="minutes; `make test-all` runs it"),
]

_FULL_SECONDS = 10.0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    own = SmallDisk(tmp_path / "disk", 400)
    yield own
    own.remove()


@contextmanager
def following(shop: Shop, lake: Path, said: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `up` under load, from its first cut on; its output goes to the file `said`."""
    shop.grant()
    with running(said, shop.url, "--to", lake) as process, shop.load():
        wait_until(lambda: "\ncut " in said.read_text(), said.read_text, PATIENCE_SECONDS)
        yield process


def require_equal(lake: Path) -> None:
    """Let the lake go on, and compare it with the source."""
    done = up("--to", lake, "--once", "--verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ".orders: equal: " in done.stdout


def test_a_full_disk_is_said_and_the_lake_goes_on_after_it(
    shop: Shop, disk: SmallDisk, tmp_path: Path
) -> None:
    lake, said = disk.folder / "lake", tmp_path / "up.log"
    with following(shop, lake, said) as process:
        disk.fill()
        # Both programs meet it, and say so on the same disk.
        time.sleep(_FULL_SECONDS)
        if process.poll() is None:
            assert f"warning: [{lake_errors.DISK_FULL.code}] {lake}: " in said.read_text()
            disk.empty()
            more = said.read_text().count("\ncut ") + 3
            wait_until(
                lambda: said.read_text().count("\ncut ") >= more or process.poll() is not None,
                said.read_text,
                PATIENCE_SECONDS,
            )
        else:
            disk.empty()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_SECONDS) == 0, said.read_text()
        else:
            # It was full in the middle of a batch; the job may have said so in its own log.
            assert process.wait() == 3
            text = said.read_text()
            codes = lake_errors.UNWRITABLE.code, lake_errors.ENDED.code
            assert any(f"error: [{code}] " in text for code in codes), text
            assert "No space left on device" in text
    require_equal(lake)


def test_a_read_only_disk_ends_a_lake_which_goes_on_after_the_repair(
    shop: Shop, disk: SmallDisk, tmp_path: Path
) -> None:
    lake, said = disk.folder / "lake", tmp_path / "up.log"
    with following(shop, lake, said) as process:
        disk.fail()
        assert process.wait(PATIENCE_SECONDS) == 3
    text = said.read_text()
    assert f"error: [{lake_errors.UNWRITABLE.code}] {lake}: " in text
    assert "because its disk takes no files: Read-only file system" in text
    disk.repair()
    require_equal(lake)


@pytest.mark.parametrize("part", [".", "_cdc"])
def test_a_part_that_is_moved_away_ends_a_lake_which_goes_on_when_it_is_back(
    shop: Shop, tmp_path: Path, part: str
) -> None:
    lake, said, away = tmp_path / "lake", tmp_path / "up.log", tmp_path / "away"
    moved = lake / part
    with following(shop, lake, said) as process:
        moved.rename(away)
        assert process.wait(PATIENCE_SECONDS) == 3
    assert f"error: [{lake_errors.LOG_GONE.code}] {lake}: " in said.read_text()
    if moved.exists():
        # Spark makes the folder of its checkpoint.
        assert not list(moved.rglob("_delta_log"))
        assert not list(moved.rglob("*.parquet"))
        moved.rename(tmp_path / "made since")
    away.rename(moved)
    require_equal(lake)


def test_the_folder_of_a_table_that_is_moved_away_sets_it_aside_until_it_is_back(
    shop: Shop, tmp_path: Path
) -> None:
    lake, said, away = tmp_path / "lake", tmp_path / "up.log", tmp_path / "away"
    folder = lake / shop.name / "orders"
    with following(shop, lake, said) as process:
        folder.rename(away)
        records = lake / "_cdc" / "quarantine"
        wait_until(lambda: list(records.glob("*.json")), said.read_text, PATIENCE_SECONDS)
        (aside,) = records.glob("*.json")
        # To be made again, or to change one of its rows.
        codes = delta_errors.FOLDER_GONE, delta_errors.FILE_MISSING
        assert json.loads(aside.read_text())["code"] in {code.code for code in codes}
        assert not folder.exists()
        away.rename(folder)
        config = str(lake / "_cdc" / "stream_job.toml")
        command = [sys.executable, "-m", "stream_jobs", "resume", config, f"{shop.name}.orders"]
        subprocess.run(command, check=True)
        wait_until(lambda: not aside.exists(), said.read_text, PATIENCE_SECONDS)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0, said.read_text()
    require_equal(lake)
