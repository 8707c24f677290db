"""What keeps `up` from keeping a lake is said with a code and the next step."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from connector.errors import ConfigError, SourceRefused
from connector.foundation.errors.message import Message
from connector.lake import lake_errors, mirror
from connector.lake.lake_folder import LakeFolder
from connector.lake.lake_start import _look_at_tables, _take_password, options_of
from local_stack import MysqlServer
from tests.foundation.errors.texts import shown
from tests.integration.harness import wait_until
from tests.integration.lake.shop import ENCODED, PASSWORD, PATIENCE_SECONDS, Shop, running, up
from tests.length import FULL

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import Server

pytestmark = pytest.mark.server

IN_FULL = pytest.mark.skipif(not FULL, reason="a server of its own; `make test-all` runs it")


@IN_FULL
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"log_bin": None, "skip_log_bin": "", "gtid_mode": None}, "[S613] log_bin is OFF"),
        ({"binlog-format": "STATEMENT"}, "[S614] binlog_format is STATEMENT"),
        ({"binlog_row_image": "MINIMAL"}, "[S611] binlog_row_image is MINIMAL"),
    ],
)
def test_a_server_that_does_not_log_whole_rows_is_refused(
    tmp_path: Path, settings: dict[str, str | None], said: str
) -> None:
    with MysqlServer(tmp_path / "mysql", settings=settings) as server:
        shop = Shop(server)
        shop.grant()
        done = up(shop.url, "--to", tmp_path / "lake")
    assert done.returncode == 3
    assert said in done.stderr
    assert not (tmp_path / "lake").exists()


@IN_FULL
@pytest.mark.spark
def test_a_server_without_gtids_is_followed_by_positions(tmp_path: Path) -> None:
    settings: dict[str, str | None] = {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}
    with MysqlServer(tmp_path / "mysql", settings=settings) as server:
        shop = Shop(server)
        shop.grant()
        done = up(shop.url, "--to", tmp_path / "lake", "--once", "--verify")
        # The newest file has no transaction then.
        shop.execute("FLUSH LOGS")
        again = up("--to", tmp_path / "lake", "--once")
    assert done.returncode == 0, done.stderr
    assert f"{shop.name}.orders: equal: 2 rows at binlog." in done.stdout
    assert again.returncode == 0, again.stderr


def test_a_wrong_password_writes_nothing(shop: Shop, tmp_path: Path) -> None:
    done = up(shop.url.replace(ENCODED, "wrong"), "--to", tmp_path / "lake")
    assert done.returncode == 3
    assert "[S223] " in done.stderr
    assert not (tmp_path / "lake").exists()


def test_a_database_without_tables_is_refused(shop: Shop, tmp_path: Path) -> None:
    shop.grant()
    url = f"{shop.url}_of_others"
    with pytest.raises(ConfigError) as raised:
        mirror(url, tmp_path / "lake")
    endpoint = shop.server.endpoint
    facts = {"source": endpoint.bootstrap, "patterns": [f"{shop.name}_of_others.*"]}
    assert str(raised.value) == shown(lake_errors.NO_MATCH, **facts)
    assert not (tmp_path / "lake").exists()


def test_a_table_without_a_key_is_named_with_what_gives_it_a_mirror(
    shop: Shop, tmp_path: Path
) -> None:
    shop.grant()
    shop.execute(f"CREATE TABLE {shop.name}.events (kind INT)")
    told: list[Message] = []
    folder = LakeFolder(tmp_path / "lake")
    options = options_of(shop.url, None, [], iceberg=False)
    _look_at_tables(folder, options.followed, told.append)
    facts = {"job": folder.job_config, "connector": folder.connector_config}
    (notice,) = told
    assert str(notice) == shown(lake_errors.KEYLESS, **facts, tables=[f"{shop.name}.events"])


def test_a_new_password_is_kept_if_the_server_takes_it(shop: Shop, tmp_path: Path) -> None:
    folder = LakeFolder(tmp_path / "lake")
    options = options_of(shop.url, None, [], iceberg=False)
    folder.lock()
    folder.write(options)
    shop.execute(f"ALTER USER {shop.name}@'%' IDENTIFIED BY 'new'")
    new = options_of(shop.url, "new", [], iceberg=False)
    _take_password(folder, new.source)
    assert folder.read_password() == "new"
    # The old one is refused, and so the new one stays.
    with pytest.raises(SourceRefused, match="Access denied"):
        _take_password(folder, options.source)
    assert folder.read_password() == "new"
    folder.unlock()


def test_a_disk_that_takes_nothing_leaves_no_lake(shop: Shop, tmp_path: Path) -> None:
    shop.grant()
    lake = tmp_path / "lake"
    # As a full disk: the operating system refuses each byte of a file.
    script = 'ulimit -f 0; exec "$0" -B -m connector up "$1" --to "$2"'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable, shop.url, str(lake)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.endswith(
        f"error: {shown(lake_errors.FOLDER, folder=lake, why='File too large')}\n"
    )
    assert not LakeFolder(lake).is_lake


@IN_FULL
@pytest.mark.spark
def test_a_source_that_was_reset_ends_a_lake_whose_tables_stay(
    own_mysql: Server, tmp_path: Path
) -> None:
    shop = Shop(own_mysql)
    shop.grant()
    lake, log = tmp_path / "lake", tmp_path / "up.log"
    with running(log, shop.url, "--to", lake) as process:
        wait_until(lambda: "\ncut " in log.read_text(), log.read_text, PATIENCE_SECONDS)
        shop.execute("RESET MASTER", f"INSERT INTO {shop.name}.orders VALUES (7, 'seven')")
        assert process.wait(PATIENCE_SECONDS) == 3
    text = log.read_text()
    assert f"error: [{lake_errors.START_OVER.code}] the connector has ended" in text
    assert "[S431] " in text
    endpoint = own_mysql.endpoint
    url = f"mysql://{shop.name}@{endpoint.host}:{endpoint.port}"
    assert f"choose another folder: binlog-connector up {url} --to OTHER" in text
    assert PASSWORD not in text


@IN_FULL
@pytest.mark.spark
def test_a_log_that_is_moved_away_ends_a_lake_which_goes_on_when_it_is_back(
    shop: Shop, tmp_path: Path
) -> None:
    shop.grant()
    lake, said = tmp_path / "lake", tmp_path / "up.log"
    log, away = lake / "_cdc" / "log", tmp_path / "away"
    with running(said, shop.url, "--to", lake) as process:
        wait_until(lambda: "\ncut " in said.read_text(), said.read_text, PATIENCE_SECONDS)
        log.rename(away)
        assert process.wait(PATIENCE_SECONDS) == 3
    endpoint = shop.server.endpoint
    facts = {"url": f"mysql://{shop.name}@{endpoint.host}:{endpoint.port}"}
    gone = shown(lake_errors.LOG_GONE, folder=lake, log=log, **facts)
    assert f"error: {gone}\n" in said.read_text()
    if log.exists():
        log.rename(tmp_path / "made since")
    done = up("--to", lake, "--once")
    assert (done.returncode, done.stderr) == (3, f"error: {gone}\n")
    away.rename(log)
    shop.execute(f"INSERT INTO {shop.name}.orders VALUES (7, 'seven')")
    done = up("--to", lake, "--once", "--verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{shop.name}.orders: equal: 3 rows" in done.stdout
