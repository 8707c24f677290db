from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import ConfigError, SourceRefused, SourceUnavailable
from connector.reader import open_binlogs, open_server
from connector.replication import dump_errors
from local_stack import MariadbServer, MysqlServer, connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode
    from connector.reader import BinlogReader

pytestmark = pytest.mark.server

PRODUCTS = ["mysql 8.0", "mysql 5.7", "mysql 9", "mariadb 11.8", "mariadb 10.5"]


class Source:
    """A server of its own, with two logs of which `d.t` has four rows."""

    def __init__(self, server: MysqlServer | MariadbServer) -> None:
        self.endpoint = server.endpoint
        self.url = (
            f"mysql://{self.endpoint.user}:{self.endpoint.password}"
            f"@{self.endpoint.host}:{self.endpoint.port}/"
        )

    def execute(self, *statements: str) -> tuple[tuple[Any, ...], ...]:
        rows: tuple[tuple[Any, ...], ...] = ()
        with connect(self.endpoint) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = cursor.fetchall()
        return rows

    def logs(self) -> list[str]:
        return [str(row[0]) for row in self.execute("SHOW BINARY LOGS")]

    def open(self, **options: Any) -> BinlogReader:
        return open_server(self.url, **options)


@pytest.fixture(scope="module", params=PRODUCTS)
def source(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Source]:
    product, version = request.param.split()
    kind = MariadbServer if product == "mariadb" else MysqlServer
    with kind(tmp_path_factory.mktemp("source"), version=version) as server:
        source = Source(server)
        source.execute(
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(10))",
            "INSERT INTO d.t VALUES (1, 'a'), (2, 'b')",
            "UPDATE d.t SET v = 'c'",
            "FLUSH BINARY LOGS",
            "INSERT INTO d.t VALUES (3, 'd')",
            "DELETE FROM d.t WHERE id = 1",
            "INSERT INTO d.t VALUES (1, 'e')",
        )
        yield source


def events_of_files(source: Source) -> set[tuple[str, int, bytes]]:
    ((base,),) = source.execute("SELECT @@log_bin_basename")
    folder = str(base).rpartition("/")[0]
    with open_binlogs([f"{folder}/{name}" for name in source.logs()]) as log:
        # The flag for a log in use is not sent.
        return {
            (event.file, event.position, event.data)
            for event in log
            if event.header.type_code != 15
        }


def test_the_network_and_the_files_give_the_same_events(source: Source) -> None:
    before = events_of_files(source)
    with source.open(stop_at_end=True) as log:
        from_server = {
            (event.file, event.position, event.data)
            for event in log
            if event.header.type_code != 15 and not event.header.artificial
        }
        assert (log.name, log.position) == max(
            (file, position + len(data)) for file, position, data in from_server
        )
    # MariaDB notes a checkpoint when it has time.
    assert before <= from_server <= events_of_files(source)


def test_a_server_and_its_files_give_the_same_changes(source: Source) -> None:
    ((base,),) = source.execute("SELECT @@log_bin_basename")
    folder = str(base).rpartition("/")[0]
    with open_binlogs([f"{folder}/{name}" for name in source.logs()]) as log:
        from_files = list(log.row_changes())
    with source.open(stop_at_end=True) as log:
        assert list(log.row_changes()) == from_files
    assert [change.op for change in from_files][:4] == ["insert", "insert", "update", "update"]


def test_a_stream_begins_after_a_gtid_set(source: Source) -> None:
    with source.open(stop_at_end=True) as log:
        gtids = [transaction.gtid for transaction in log.transactions()]
    first = gtids[0]
    assert first is not None
    with source.open(start=f"gtid:{first}", stop_at_end=True) as log:
        assert [transaction.gtid for transaction in log.transactions()] == gtids[1:]


def test_a_stream_begins_at_a_position(source: Source) -> None:
    with source.open(stop_at_end=True) as log:
        starts = [(each.file, each.position, each.gtid) for each in log.transactions()]
    for number, (file, position, _) in enumerate(starts):
        with source.open(start=f"position:{file}:{position}", stop_at_end=True) as log:
            found = [(each.file, each.position, each.gtid) for each in log.transactions()]
        assert found == starts[number:]


def test_a_stream_from_the_latest_position_has_nothing_yet(source: Source) -> None:
    with source.open(start="latest", stop_at_end=True) as log:
        assert list(log.transactions()) == []


def test_a_server_is_followed_until_it_is_closed(source: Source) -> None:
    ids: list[object] = []
    log = source.open(start="latest")

    def follow() -> None:
        # 5.7 has no names of columns in its log.
        ids.extend(
            next(iter(change.after.values())) for change in log.row_changes() if change.after
        )

    thread = threading.Thread(target=follow)
    thread.start()
    source.execute("REPLACE INTO d.t VALUES (77, 'x')")
    deadline = time.monotonic() + 10
    while not ids and time.monotonic() < deadline:
        time.sleep(0.05)
    log.close()
    thread.join(10)
    assert not thread.is_alive()
    assert ids == [77]


def test_following_a_server_ends_when_nothing_comes_for_a_while(source: Source) -> None:
    started = time.monotonic()
    with source.open(start="latest", idle_timeout_seconds=0.3) as log:
        assert list(log.transactions()) == []
    assert 0.3 <= time.monotonic() - started < 5


def test_transactions_of_a_server_are_selected_by_time(source: Source) -> None:
    now = datetime.now(UTC)
    with source.open(stop_at_end=True, start_time=now + timedelta(hours=1)) as log:
        assert list(log.transactions()) == []
    with source.open(stop_at_end=True, stop_time=now + timedelta(hours=1)) as log:
        assert list(log.transactions())


def test_a_position_that_the_server_does_not_have_is_refused(source: Source) -> None:
    first = source.logs()[0]
    with pytest.raises(SourceRefused, match="the server does not have nowhere"):
        source.open(start="position:nowhere.000001:4")
    with pytest.raises(SourceRefused, match=f"{first} ends at"):
        source.open(start=f"position:{first}:99999999")
    with (
        source.open(start=f"position:{first}:5", stop_at_end=True) as log,
        pytest.raises((SourceRefused, SourceUnavailable)),
    ):
        list(log)


FORMS = "earliest, latest, gtid:SET or position:FILE:POSITION; write one of these"
POSITION_FORM = "position:FILE:POSITION; write it like position:binlog.000042:4"


@pytest.mark.parametrize(
    ("start", "code", "forms"),
    [
        ("yesterday", dump_errors.START, FORMS),
        ("position:x", dump_errors.START_POSITION, POSITION_FORM),
        ("position:x:y", dump_errors.START_POSITION, POSITION_FORM),
    ],
)
def test_a_start_that_is_none_is_refused(
    mysql_server: MysqlServer, start: str, code: ErrorCode, forms: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        Source(mysql_server).open(start=start)
    assert raised.value.code is code
    assert raised.value.text == f"start {start!r} is not {forms}"


def test_a_login_that_is_refused_says_so_without_the_password(mysql_server: MysqlServer) -> None:
    endpoint = mysql_server.endpoint
    with pytest.raises(SourceRefused) as raised:
        open_server(f"mysql://nobody:secret@{endpoint.host}:{endpoint.port}/")
    assert "nobody" in raised.value.text
    assert "secret" not in raised.value.text
    # In the words of what was given, which is no configuration.
    _, _, advice = raised.value.text.partition("; ")
    assert advice == (
        "check the URL's user and password, and that the account may log in from this host"
    )


def test_a_log_of_a_server_that_stops_ends_with_an_error(tmp_path: Path) -> None:
    with MysqlServer(tmp_path) as server:
        log = Source(server).open(start="latest")
        server.kill()
        with log, pytest.raises(SourceUnavailable):
            list(log)
