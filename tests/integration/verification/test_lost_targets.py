"""Connections that are lost in the middle of a comparison with the table of a server.

Those to the target of `--replica` and `--table`, and to the source of `--table`, are made again.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pymysql
import pytest

from connector.foundation.errors import SourceUnavailable
from connector.replication.server.addresses import source_settings
from connector.stream.source.select_session import SelectSession
from local_stack import MysqlServer, connect
from tests.foundation.errors.texts import shown
from tests.integration.packet_proxy import PacketProxy
from tests.integration.verification.foreign_tables import ForeignTable
from tests.integration.verification.replica_pair import replica_pair_of
from verification import verify_errors
from verification.pass_state import PassState
from verification.same_server import SameServer

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import Endpoint, Server
    from tests.integration.database_stream import Stream
    from tests.integration.verification.replica_pair import ReplicaPair

pytestmark = [pytest.mark.server, pytest.mark.kafka]

# More than those of small tables.
ROWS = 2400
DEFINITIONS = (
    "CREATE TABLE orders (id {key} PRIMARY KEY, v VARCHAR(30))",
    "CREATE TABLE digits (n INT)",
    f"INSERT INTO digits VALUES {', '.join(f'({digit})' for digit in range(10))}",
    f"""
        INSERT INTO orders SELECT i, CONCAT('row ', i) FROM (
            SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS i
            FROM digits a, digits b, digits c, digits d
        ) numbers WHERE i < {ROWS}
    """,
)
# The proxy reads packets.
PLAIN = "?ssl-mode=DISABLED"


@dataclass
class Losses:
    """Ends all connections of a proxy when a packet is due, for as often as there are left."""

    left: int
    # Packets between two losses: each row is one.
    packets: int
    # Whose sessions are killed; without it, the connections are cut.
    killed: Endpoint | None = None
    proxy: PacketProxy | None = None
    seen: int = 0

    def __call__(self, payload: bytes) -> bytes:
        self.seen += 1
        if self.proxy is not None and self.left and self.seen % self.packets == 0:
            self.left -= 1
            if self.killed is None:
                raise OSError
            kill(self.killed, self.proxy.ports)
        return payload


def kill(endpoint: Endpoint, ports: list[int]) -> None:
    """Kill the sessions that came from these ports."""
    with connect(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, host FROM information_schema.processlist")
        for number, host in list(cursor.fetchall()):
            if str(host).rpartition(":")[2] in {str(port) for port in ports}:
                # It may have ended meanwhile.
                with suppress(pymysql.err.OperationalError):
                    cursor.execute(f"KILL {number}")


class Moving(PacketProxy):
    """Cuts its connections when it sees a row; then it leads to another server."""

    def __init__(self, server: Endpoint, other: Endpoint, row: bytes) -> None:
        super().__init__(server, self._cut_after)
        self._server, self._other, self._row = server, other, row
        self._has_moved = threading.Event()

    def endpoint(self) -> Endpoint:
        return self._other if self._has_moved.is_set() else self._server

    def _cut_after(self, payload: bytes) -> bytes:
        if self._row in payload:
            self._has_moved.set()
            self.cut()
        return payload


def at(endpoint: Endpoint, port: int) -> str:
    """Return the URL of a server that is reached by another port."""
    return f"mysql://{endpoint.user}:{endpoint.password}@{endpoint.host}:{port}"


def reported(pair: ReplicaPair, port: int, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Compare with the replica behind a port; return the exit code and the tables by name."""
    job, own = pair.job_config, f":{pair.target.endpoint.port}/"
    job.write_text(job.read_text().replace(own, f":{port}/{PLAIN}"))
    config = str(pair.connector.config)
    done = pair.run("verify", config, "--replica", str(job), "--json", *arguments)
    assert done.stdout, done.stderr
    tables = json.loads(done.stdout)["tables"]
    return done.returncode, {each["table"].partition(".")[2]: each for each in tables}


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_replica_is_read_on_and_what_differs_is_found_and_nothing_else(
    either_stream: Stream, mysql_server: Server, mariadb_server: Server, *, is_killed: bool
) -> None:
    stream, servers = either_stream, (mysql_server, mariadb_server)
    (server,) = [each for each in servers if each.endpoint != stream.source]
    stream.execute(
        *(each.format(key="INT") for each in DEFINITIONS),
        "RENAME TABLE orders TO large",
        "DROP TABLE digits",
        "CREATE TABLE texts (id VARCHAR(10) PRIMARY KEY, v VARCHAR(30))",
        "CREATE TABLE small (id INT PRIMARY KEY, v CHAR(1))",
        "INSERT INTO texts SELECT * FROM large",
        "INSERT INTO small VALUES (1, 'x'), (2, 'y')",
    )
    with replica_pair_of(stream, server.endpoint) as pair:
        pair.catch_up(10 + 2 * ROWS + 2)
        pair.sql(
            "UPDATE large SET v = '?' WHERE id = 7",
            "DELETE FROM texts WHERE id = '1007'",
            "INSERT INTO texts VALUES ('x', 'y')",
            "UPDATE small SET v = '?' WHERE id = 1",
        )
        losses = Losses(6, 600, server.endpoint if is_killed else None)
        with PacketProxy(server.endpoint, losses) as proxy:
            losses.proxy = proxy
            code, found = reported(pair, proxy.port)
    kinds = {
        name: sorted((each["kind"], each["key"]["id"]) for each in table["differences"])
        for name, table in found.items()
        if table["verdict"] != "equal"
    }
    assert (code, kinds) == (
        4,
        {
            "large": [("different", 7)],
            "texts": [("missing", "1007"), ("surplus", "x")],
            "small": [("different", 1)],
        },
    ), found
    assert losses.left == 0


def test_a_replica_that_stays_away_is_not_waited_for_without_end(
    stream: Stream, mysql_server: Server
) -> None:
    stream.execute(
        "CREATE TABLE t (id VARCHAR(9) PRIMARY KEY, v CHAR(20))",
        "INSERT INTO t VALUES ('a', 'a row of the table')",
    )
    with replica_pair_of(stream, mysql_server.endpoint) as pair:
        pair.catch_up(1)

        def lost(payload: bytes) -> bytes:
            if b"a row of the table" in payload:
                proxy.refuse()
            return payload

        with PacketProxy(mysql_server.endpoint, lost) as proxy:
            code, found = reported(pair, proxy.port, "--patience", "1")
    table = found["t"]
    assert (code, table["verdict"]) == (1, "not finished"), table
    server = f"target {mysql_server.endpoint.host}:{proxy.port}"
    text = f"[{verify_errors.AWAY}] the target was away for 1 s: {server}: "
    assert table["error"].startswith(text), table


def test_rows_of_another_server_are_not_those_of_the_replica(
    stream: Stream, mysql_server: Server, mariadb_server: Server
) -> None:
    stream.execute(
        "CREATE TABLE t (id VARCHAR(9) PRIMARY KEY, v CHAR(20))",
        "INSERT INTO t VALUES ('a', 'a row of the table')",
    )
    with replica_pair_of(stream, mysql_server.endpoint) as pair:
        pair.catch_up(1)

        path = stream.directory / "pass.state"
        with Moving(mysql_server.endpoint, mariadb_server.endpoint, b"a row of") as proxy:
            code, found = reported(pair, proxy.port, "--state", str(path))
            # The configuration is that of the first run.
            job = str(stream.directory / "stream_job.toml")
            again = pair.run(
                "verify", str(pair.connector.config), "--replica", job, "--state", str(path)
            )
    state_other = shown(verify_errors.STATE_OTHER, path=path, names=["server of the replica"])
    assert (again.returncode, again.stderr) == (2, f"error: {state_other}\n")
    assert (code, found["t"]["verdict"]) == (1, "not finished")
    server = f"target {mysql_server.endpoint.host}:{proxy.port}"
    text = f"[{verify_errors.OTHER_ANSWERS}] {server}: another server answers since"
    assert found["t"]["error"].startswith(text), found


@dataclass
class Both:
    """A table of a source, and its copy at a target."""

    source: ForeignTable
    target: ForeignTable

    def fill(self, key: str) -> None:
        """Make the table on both sides, with damage of the copy."""
        for side in (self.source, self.target):
            side.execute(*(each.format(key=key) for each in DEFINITIONS))
        self.target.execute(
            "UPDATE orders SET v = 'other' WHERE id = '7'",
            "DELETE FROM orders WHERE id = '8'",
            "INSERT INTO orders VALUES ('9999', 'x')",
        )

    def place(self, port: int) -> str:
        """The target behind a port, as the command takes it."""
        return f"{at(self.target.endpoint, port)}/{self.target.database}.orders{PLAIN}"


@pytest.fixture(params=["mysql", "mariadb"])
def both(
    request: pytest.FixtureRequest,
    mysql_server: Server,
    mariadb_server: Server,
    database: str,
    tmp_path: Path,
) -> Any:
    servers = [mysql_server, mariadb_server]
    source, target = servers if request.param == "mysql" else servers[::-1]
    # The fixture has made the database at MySQL.
    with connect(mariadb_server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {database}")
        yield Both(
            ForeignTable(source.endpoint, database, tmp_path),
            ForeignTable(target.endpoint, database, tmp_path),
        )
        cursor.execute(f"DROP DATABASE {database}")


class Behind(ForeignTable):
    """A table whose source is reached without TLS."""

    @property
    def url(self) -> str:
        return f"{super().url}/{PLAIN}"


def behind(table: ForeignTable, port: int) -> Behind:
    """Return the same table behind a port."""
    end = table.endpoint
    return Behind(type(end)(end.host, port, end.user, end.password), table.database, table.path)


@pytest.mark.parametrize(("key", "is_killed"), [("INT", False), ("VARCHAR(9)", True)])
def test_both_servers_of_other_tables_are_read_on(both: Both, key: str, *, is_killed: bool) -> None:
    both.fill(key)
    ends = [both.source.endpoint, both.target.endpoint]
    # Of a table with ranges that are equal by their sums, the source sends few rows.
    losses = [Losses(3, 400, end if is_killed else None) for end in ends]
    with PacketProxy(ends[0], losses[0]) as source, PacketProxy(ends[1], losses[1]) as target:
        losses[0].proxy, losses[1].proxy = source, target
        report = behind(both.source, source.port).report(
            "--lag", "1", target=both.place(target.port), code=4
        )
    found = {str(each["key"]["id"]): each["kind"] for each in report["differences"]}
    assert found == {"7": "different", "8": "missing", "9999": "surplus"}
    assert [each.left for each in losses] == [0, 0]


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_server_of_other_tables_that_stays_away_is_named(both: Both, side: str) -> None:
    both.fill("VARCHAR(9)")

    def lost(payload: bytes) -> bytes:
        if b"row 1234" in payload:
            proxies[side].refuse()
        return payload

    with (
        PacketProxy(both.source.endpoint, lost if side == "source" else bytes) as source,
        PacketProxy(both.target.endpoint, lost if side == "target" else bytes) as target,
    ):
        proxies = {"source": source, "target": target}
        report = behind(both.source, source.port).report(
            "--lag", "1", "--patience", "1", target=both.place(target.port), code=1
        )
    server = f"{side} 127.0.0.1:{proxies[side].port}"
    text = f"[{verify_errors.AWAY}] the {side} was away for 1 s: {server}: "
    assert report["error"].startswith(text), report


@pytest.mark.parametrize("side", ["source", "target"])
def test_another_server_has_no_rows_of_the_one_before(both: Both, side: str) -> None:
    both.fill("VARCHAR(9)")

    ends = {"source": both.source.endpoint, "target": both.target.endpoint}
    (other,) = [end for name, end in ends.items() if name != side]
    proxies: dict[str, PacketProxy] = {
        name: Moving(end, other, b"row 1234") if name == side else PacketProxy(end)
        for name, end in ends.items()
    }
    with proxies["source"] as source, proxies["target"] as target:
        report = behind(both.source, source.port).report(
            "--lag", "1", target=both.place(target.port), code=1
        )
    text = f"{side} 127.0.0.1:{proxies[side].port}: another server answers since"
    assert report["error"].startswith(f"[{verify_errors.OTHER_ANSWERS}] {text}"), report


def test_a_server_that_was_reset_is_named_with_what_is_lost(tmp_path: Path) -> None:
    with MysqlServer(tmp_path / "own") as server:
        settings = source_settings(at(server.endpoint, server.endpoint.port))
        same = SameServer(lambda: SelectSession(settings))
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            same.open_session().close()
            same.open_session().close()
            path = tmp_path / "pass.state"
            for _ in range(2):
                PassState(path, {}, same)
            cursor.execute("RESET MASTER")
        with pytest.raises(SourceUnavailable) as raised:
            same.open_session()
        assert raised.value.code is verify_errors.LOST
        # Another run of the same pass.
        again = SameServer(lambda: SelectSession(settings))
        again.open_session().close()
        with pytest.raises(SourceUnavailable) as raised:
            PassState(path, {}, again)
    assert raised.value.code is verify_errors.LOST
    server_text = f"source {server.endpoint.host}:{server.endpoint.port}"
    assert f"{server_text} lacks what was there when tables were compared: " in str(raised.value)
