"""A private server is started, stopped, killed and started again; its data stays."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from kafka.admin import KafkaAdminClient

from local_stack import KafkaBroker, MariadbServer, MysqlServer, connect
from local_stack.cache import Cache
from tests.length import full_only

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.server
def test_mysql_starts_as_a_source(mysql_server: MysqlServer) -> None:
    with connect(mysql_server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT @@log_bin, @@binlog_format, @@binlog_row_image, @@binlog_row_metadata,"
            " @@gtid_mode"
        )
        assert cursor.fetchone() == (1, "ROW", "FULL", "FULL", "ON")


@pytest.mark.server
def test_mariadb_starts_as_a_source(mariadb_server: MariadbServer) -> None:
    with connect(mariadb_server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT @@log_bin, @@binlog_format, @@binlog_row_image, @@binlog_row_metadata"
        )
        assert cursor.fetchone() == (1, "ROW", "FULL", "FULL")


@pytest.mark.server
def test_a_killed_server_comes_back_with_its_rows_on_the_same_port(
    mysql_server: MysqlServer, database: str
) -> None:
    before = mysql_server.endpoint
    with connect(before, database) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        cursor.execute("INSERT INTO t VALUES (1)")
    mysql_server.kill()
    assert mysql_server.start() == before
    with connect(before, database) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id FROM t")
        assert cursor.fetchall() == ((1,),)


@pytest.mark.kafka
@full_only
def test_a_killed_broker_comes_back_with_its_topics_on_the_same_port(tmp_path: Path) -> None:
    classes = tmp_path / "own" / "classes"

    class OwnClasses(Cache):
        @property
        def classes(self) -> Path:
            return classes

    cache = OwnClasses(Cache.of_environment().directory)
    with KafkaBroker(tmp_path / "kafka", cache=cache) as broker:
        before = broker.endpoint
        with closing(KafkaAdminClient(bootstrap_servers=before.bootstrap)) as admin:
            admin.create_topics({"kept": {"num_partitions": 1, "replication_factor": 1}})
        assert len(list(classes.iterdir())) == 1
        broker.kill()
        # It has written no archive, so the next one does.
        assert list(classes.iterdir()) == []
        assert broker.start() == before
        with closing(KafkaAdminClient(bootstrap_servers=before.bootstrap)) as admin:
            assert "kept" in admin.list_topics()
    (written,) = classes.iterdir()
    assert written.stat().st_size > 1 << 20


@pytest.mark.server
@pytest.mark.parametrize("version", ["5.7", "8.0.15", "9"])
def test_each_mysql_starts_as_a_source(tmp_path: Path, version: str) -> None:
    with (
        MysqlServer(tmp_path, version=version) as server,
        connect(server.endpoint) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT VERSION(), @@log_bin, @@binlog_format, @@gtid_mode")
        said, *settings = cursor.fetchone() or ()
        assert said.startswith(version)
        assert settings == [1, "ROW", "ON"]


@pytest.mark.server
@pytest.mark.parametrize("version", ["10.5", "10.11"])
def test_each_mariadb_starts_as_a_source(tmp_path: Path, version: str) -> None:
    with (
        MariadbServer(tmp_path, version=version) as server,
        connect(server.endpoint) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT VERSION(), @@log_bin, @@binlog_format, @@binlog_row_metadata")
        said, *settings = cursor.fetchone() or ()
        assert said.startswith(version)
        assert settings == [1, "ROW", "FULL"]


@pytest.mark.server
def test_a_setting_of_the_caller_wins_and_none_drops_one(tmp_path: Path) -> None:
    settings = {"binlog_format": "STATEMENT", "gtid_mode": None, "binlog_row_metadata": None}
    with (
        MysqlServer(tmp_path, settings=settings) as server,
        connect(server.endpoint) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT @@binlog_format, @@gtid_mode, @@binlog_row_metadata")
        assert cursor.fetchone() == ("STATEMENT", "OFF", "MINIMAL")


@pytest.mark.server
def test_an_empty_setting_is_an_option_without_a_value(tmp_path: Path) -> None:
    settings = {"skip_log_bin": "", "log_bin": None}
    with (
        MysqlServer(tmp_path, settings=settings) as server,
        connect(server.endpoint) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT @@log_bin")
        assert cursor.fetchone() == (0,)


@pytest.mark.server
def test_a_setting_that_the_data_directory_is_made_with_makes_one_of_its_own(
    tmp_path: Path,
) -> None:
    with (
        MysqlServer(tmp_path, settings={"lower_case_table_names": "1"}) as server,
        connect(server.endpoint) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT @@lower_case_table_names")
        assert cursor.fetchone() == (1,)


@pytest.mark.server
def test_two_servers_have_ports_and_identities_of_their_own(
    mysql_server: MysqlServer, tmp_path: Path
) -> None:
    def identity(server: MysqlServer) -> object:
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT @@server_uuid")
            return cursor.fetchone()

    with MysqlServer(tmp_path) as other:
        assert other.endpoint.port != mysql_server.endpoint.port
        assert identity(other) != identity(mysql_server)


@pytest.mark.server
def test_another_owner_serves_the_folder_as_it_is(tmp_path: Path) -> None:
    with MariadbServer(tmp_path) as first:
        endpoint = first.endpoint
        with connect(endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE kept")
    with MariadbServer(tmp_path) as second:
        assert second.endpoint == endpoint
        with connect(endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW DATABASES LIKE 'kept'")
            assert cursor.fetchone() == ("kept",)


@pytest.mark.server
def test_starting_a_running_server_starts_no_other(mysql_server: MysqlServer) -> None:
    pid = mysql_server.pid
    assert mysql_server.start() == mysql_server.endpoint
    assert mysql_server.pid == pid


@pytest.mark.server
def test_a_server_with_a_long_path_can_be_reached(tmp_path: Path) -> None:
    deep = tmp_path / "a-folder-of-a-long-name" / ("x" * 100)
    with MariadbServer(deep) as server:
        connect(server.endpoint).close()


OWNER = """
import sys, time
from pathlib import Path
from local_stack import MysqlServer
from tests.length import full_only
server = MysqlServer(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.server
def test_a_mysql_whose_owner_is_killed_shuts_down_cleanly(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        descriptor = os.pidfd_open(int(owner.stdout.readline()))
        owner.kill()
        select.select([descriptor], [], [])
        os.close(descriptor)
    assert "Shutdown complete" in (tmp_path / "server.log").read_text()
