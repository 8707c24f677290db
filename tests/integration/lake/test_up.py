"""`up` as a user runs it: a process, a folder of tables, and a source that goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from deltalake.exceptions import TableNotFoundError

from connector.foundation.settings.configuration import load_settings
from connector.lake import lake_errors, mirror
from connector.lake.demo.stack import read_mirror
from local_stack.server import free_port
from tests.foundation.errors.texts import shown
from tests.integration.harness import wait_until
from tests.integration.lake.shop import (
    ENCODED,
    PASSWORD,
    PATIENCE_SECONDS,
    Shop,
    children,
    running,
    stream_processes,
    up,
)
from tests.length import FULL
from tests.stream_jobs.iceberg.readers import pyiceberg_rows

pytestmark = pytest.mark.server


def rows(lake: Path, shop: Shop) -> list[dict[str, Any]]:
    try:
        found = read_mirror(lake / shop.name / "orders").select(["id", "note"]).to_pylist()
    except TableNotFoundError:
        return []
    return sorted(found, key=lambda row: row["id"])


@pytest.mark.spark
def test_tables_follow_a_source_until_sigterm_and_the_same_command_goes_on(
    shop: Shop, tmp_path: Path
) -> None:
    shop.grant()
    lake, log = tmp_path / "lake", tmp_path / "up.log"
    with running(log, shop.url, "--to", lake) as process:

        def has(count: int) -> bool:
            assert process.poll() is None, log.read_text()
            return len(rows(lake, shop)) == count

        wait_until(lambda: has(2), log.read_text, PATIENCE_SECONDS)
        shop.execute(f"INSERT INTO {shop.name}.orders VALUES (3, 'three')")
        wait_until(lambda: has(3), log.read_text, PATIENCE_SECONDS)
        other = up(shop.url, "--to", lake)
        config = lake / "_cdc" / "connector.toml"
        said = shown(lake_errors.IN_USE, folder=lake, config=config)
        assert (other.returncode, other.stderr) == (2, f"error: {said}\n")
        streams = stream_processes(lake)
        assert streams
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    # One that outlives the job can take over the log of the lake. By itself, it ends half a minute
    # later.
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in streams), log.read_text, 15)
    text = log.read_text()
    assert f"new tables: {shop.name}.orders" in text
    assert "\ncut " in text
    assert PASSWORD not in text
    assert load_settings(config).source.read_password() == PASSWORD
    assert (config.parent / "source.password").stat().st_mode & 0o077 == 0
    others = up(shop.url, "--tables", "other.*", "--to", lake)
    facts = {"option": "--tables", "recorded": f"{shop.name}.*", "wanted": "other.*"}
    said = shown(lake_errors.OTHER_LAKE, folder=lake, state=config.parent, **facts)
    assert (others.returncode, others.stderr) == (2, f"error: {said}\n")
    shop.execute(
        f"UPDATE {shop.name}.orders SET note = 'changed' WHERE id = 1",
        f"DELETE FROM {shop.name}.orders WHERE id = 2",
        f"CREATE TABLE {shop.name}.later (id INT PRIMARY KEY)",
        f"INSERT INTO {shop.name}.later VALUES (7)",
    )
    done = up("--to", lake, "--once", "--verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 equal" in done.stdout
    assert rows(lake, shop) == [{"id": 1, "note": "changed"}, {"id": 3, "note": "three"}]
    assert read_mirror(lake / shop.name / "later").num_rows == 1


@pytest.mark.skipif(not FULL, reason="half a minute with Spark; `make test-all` runs it")
@pytest.mark.spark
def test_a_lake_of_both_formats_shows_its_page_at_the_address_that_was_chosen(
    shop: Shop, tmp_path: Path
) -> None:
    shop.grant()
    lake, log, address = tmp_path / "lake", tmp_path / "up.log", f"127.0.0.1:{free_port()}"
    arguments = (shop.url, "--to", lake, "--format", "both", "--listen", address)
    table = lake / "_iceberg" / shop.name / "orders"
    with running(log, *arguments) as process:
        hint = table / "metadata" / "version-hint.text"
        wait_until(hint.exists, log.read_text, PATIENCE_SECONDS)
        with urllib.request.urlopen(f"http://{address}/", timeout=5) as answer:
            assert f"{shop.name}.orders" in answer.read().decode()
        shop.execute(f"INSERT INTO {shop.name}.orders VALUES (3, 'three')")

        def published() -> list[int]:
            assert process.poll() is None, log.read_text()
            return sorted(row[0] for row in pyiceberg_rows(table))

        wait_until(lambda: published() == [1, 2, 3], log.read_text, PATIENCE_SECONDS)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    assert [row["id"] for row in rows(lake, shop)] == [1, 2, 3]
    done = up(*arguments, "--once", "--verify")
    assert done.returncode == 0, done.stdout + done.stderr
    other = up(*arguments[:-1], f"127.0.0.1:{free_port()}", "--once")
    assert (other.returncode, lake_errors.OTHER_LAKE.code in other.stderr) == (2, True)


def test_what_cannot_be_followed_is_refused_before_anything_is_written(
    shop: Shop, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    done = up(shop.url, "--to", lake)
    assert done.returncode == 3
    # The table of findings names each right that is missing, and how to give it.
    assert "REPLICATION SLAVE" in done.stdout
    assert not lake.exists()
    assert PASSWORD not in done.stdout + done.stderr


def test_a_folder_is_one_lake(shop: Shop, tmp_path: Path) -> None:
    shop.grant()
    lake = tmp_path / "lake"
    nothing = up("--to", lake)
    assert (nothing.returncode, nothing.stderr) == (
        2,
        f"error: {shown(lake_errors.NO_SOURCE, folder=lake)}\n",
    )
    shown_files = up(shop.url, "--to", lake, "--show-config")
    assert shown_files.returncode == 0
    assert not lake.exists()
    for name in ("connector.toml", "stream_job.toml"):
        assert f"# {lake / '_cdc' / name}" in shown_files.stdout
    assert PASSWORD not in shown_files.stdout
    file = tmp_path / "file"
    file.touch()
    no_folder = up(shop.url, "--to", file / "lake")
    assert no_folder.returncode == 2
    assert lake_errors.FOLDER.code in no_folder.stderr


@pytest.mark.spark
def test_a_password_of_the_environment_is_given_at_each_start(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.grant()
    lake = tmp_path / "lake"
    url = shop.url.replace(f":{ENCODED}", "")
    variable = "BINLOG_CONNECTOR_SOURCE__PASSWORD"
    monkeypatch.setenv(variable, PASSWORD)
    first = up(url, "--to", lake, "--once")
    assert first.returncode == 0, first.stdout + first.stderr
    shop.execute(
        f"ALTER USER {shop.name}@'%' IDENTIFIED BY 'an0ther'",
        f"INSERT INTO {shop.name}.orders VALUES (3, 'three')",
    )
    monkeypatch.setenv(variable, "an0ther")
    again = up(url, "--to", lake, "--once", "--verify")
    assert again.returncode == 0, again.stdout + again.stderr
    if FULL:
        shop.execute(f"INSERT INTO {shop.name}.orders VALUES (4, 'four')")
        with mirror(None, lake) as same:
            same.wait(PATIENCE_SECONDS)
    assert [row["id"] for row in rows(lake, shop)] == [1, 2, 3, 4][: 4 if FULL else 3]
    files = [path for path in lake.rglob("*") if path.is_file()]
    for word in (PASSWORD.encode(), b"an0ther"):
        assert not [path for path in files if word in path.read_bytes()]
    monkeypatch.delenv(variable)
    without = up("--to", lake, "--once")
    facts = {"folder": lake, "variable": variable, "url": url.rpartition("/")[0]}
    said = shown(lake_errors.NO_PASSWORD, **facts)
    assert (without.returncode, without.stderr) == (2, f"error: {said}\n")


def test_one_program_does_not_go_on_without_the_other(shop: Shop, tmp_path: Path) -> None:
    shop.grant()
    lake, log = tmp_path / "lake", tmp_path / "up.log"
    config = lake / "_cdc" / "connector.toml"
    with running(log, shop.url, "--to", lake) as process:
        wait_until(lambda: children("run", config), log.read_text, PATIENCE_SECONDS)
        for pid in children("run", config):
            os.kill(pid, signal.SIGKILL)
        assert process.wait(PATIENCE_SECONDS) == 3
    assert (
        f"[{lake_errors.ENDED.code}] the connector has ended with exit code 137" in log.read_text()
    )
    assert children(lake) == []


def test_without_spark_the_extra_is_named(tmp_path: Path) -> None:
    program = "import sys; sys.modules['pyspark'] = None; from connector.cli import main; main()"
    command = [sys.executable, "-c", program, "up", "mysql://cdc:x@127.0.0.1/shop"]
    done = subprocess.run(
        [*command, "--to", str(tmp_path / "lake")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"[{lake_errors.EXTRA.code}]" in done.stderr
    assert "pip install 'binlog-connector[mirror]'" in done.stderr
