"""The connector and the mirror with a log in a folder: no broker runs, and processes are killed."""

from __future__ import annotations

import json
import threading
from random import Random
from typing import TYPE_CHECKING

import pytest

from connector.kafka.folder import door
from connector.lake.demo.stack import read_mirror
from local_stack import connect
from tests import forked_command
from tests.integration.database_stream import Stream, new_stream
from tests.integration.folder_broker import FolderEndpoint
from tests.integration.harness import changes, wait_until
from tests.stream_jobs import command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import MysqlServer
    from tests.integration.harness import Seen

KILLS = 4
ROWS_MIN = 60


@pytest.fixture
def stream(mysql_server: MysqlServer, tmp_path: Path) -> Iterator[Stream]:
    """Follow a new database into a folder."""
    broker = FolderEndpoint(tmp_path / "log")
    stream = new_stream(mysql_server.endpoint, broker, tmp_path)
    yield stream
    stream.execute(f"DROP DATABASE {stream.database}")
    door.close()


class Load(threading.Thread):
    """Writes transactions of some rows until it is told to stop."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._ended = threading.Event()
        self.rows = 0
        self.start()

    def run(self) -> None:
        random = Random(7)
        with connect(self._stream.source, self._stream.database) as connection:
            cursor = connection.cursor()
            while not self._ended.wait(0.002):
                cursor.execute("BEGIN")
                for _ in range(random.choice([1, 3, 40])):
                    cursor.execute(f"INSERT INTO t VALUES ({self.rows}, 0)")
                    self.rows += 1
                cursor.execute("COMMIT")
                cursor.execute(f"UPDATE t SET n = n + 1 WHERE id = {self.rows - 1}")

    def wait_for(self, rows: int) -> None:
        wait_until(lambda: self.rows > rows, lambda: "the load writes nothing")

    def end(self) -> int:
        self._ended.set()
        self.join()
        return self.rows


@pytest.mark.server
def test_each_change_comes_once_though_the_connector_is_killed_again_and_again(
    stream: Stream,
) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    load = Load(stream)
    for _ in range(KILLS):
        # The connector is the first to come, so it is the one that serves the folder.
        door.close()
        with stream.connector() as connector:
            connector.wait_for("streaming", times=connector.output().count("streaming") + 1)
            load.wait_for(load.rows + ROWS_MIN)
            connector.kill()
    rows = load.end()
    with stream.connector() as connector:
        stream.execute("INSERT INTO t VALUES (-1, 0)")
        wait_until(lambda: _keys(stream.changes())[-1:] == [-1], connector.output, look_seconds=0.5)
        assert connector.terminate() == 0
    found = stream.changes()
    assert [each.key["id"] for each in found if each.op == "c"] == [*range(rows), -1]
    last: dict[int, int] = {}
    for each in found:
        last[each.key["id"]] = each.value["after"]["n"]
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, n FROM t")
        assert last == dict(cursor.fetchall())
    assert len({each.seq for each in found}) == len(found)


def _keys(found: list[Seen]) -> list[int]:
    return [each.key["id"] for each in changes(found)]


@pytest.mark.server
def test_commands_use_the_folder_beside_the_connector_and_without_it(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    config = stream.config()
    checked = forked_command.run("check", str(config))
    assert checked.returncode == 0, checked.stderr
    with stream.connector() as connector:
        stream.wait_for_changes(2, connector)
        copied = forked_command.run("snapshot", str(config), f"{stream.database}.t")
        assert copied.returncode == 0, copied.stderr
        found = stream.wait_for_changes(5, connector)
        told = sorted((each.op, each.key["id"]) for each in found if each.op != "t")
        assert told == [("c", 1), ("c", 2), ("r", 1), ("r", 2)]
        assert forked_command.run("check", str(config)).returncode == 0
        assert connector.terminate() == 0
    status = forked_command.run("status", str(config))
    assert stream.prefix in status.stdout + status.stderr


@pytest.mark.server
@pytest.mark.spark
def test_the_mirror_follows_the_folder_while_the_connector_is_killed(
    stream: Stream, tmp_path: Path
) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 1)")
    trigger = "interval_seconds = 0.2"
    config = command.write_config(tmp_path, stream.broker.bootstrap, stream.prefix, trigger)
    table = f"{stream.database}.t"
    with stream.connector() as connector, command.Command(config) as job:
        assert job.applied(table)["upserts"] == 1
        connector.kill()
        stream.execute("INSERT INTO t VALUES (2, 2)", "UPDATE t SET n = 3 WHERE id = 1")
        with stream.connector():
            rows: dict[int, int] = {}
            while rows != {1: 3, 2: 2}:
                job.applied(table)
                mirror = read_mirror(tmp_path / "mirror" / stream.database / "t")
                rows = dict(zip(*(mirror[name].to_pylist() for name in ("id", "n")), strict=True))
        job.stop()
        assert job.end() == 0, json.dumps(job.errors())
