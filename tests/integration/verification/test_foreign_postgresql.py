"""Tables of PostgreSQL that other programs have made are compared with their source."""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from connector.foundation.errors import ConfigError, SourceUnavailable
from local_stack.postgresql import PostgresqlServer, connect_postgresql, obstacle
from local_stack.server import free_port
from stream_jobs.errors import MirrorError
from tests import forked_command
from tests.integration.harness import wait_until
from tests.integration.verification import foreign_tables
from tests.integration.verification.foreign_tables import ForeignTable
from verification import verify_errors
from verification.foreign import foreign_errors, postgresql_target
from verification.foreign.postgresql_target import opened
from verification.foreign.sql_target import table_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from local_stack import MysqlServer
    from tests.integration.verification.foreign_tables import Row
    from verification.foreign.foreign_check import ForeignCheck

pytestmark = pytest.mark.server

ROWS = 300
# As Debezium's sink makes it, but for an array, an interval and the mark.
DEFINITION = """
    CREATE TABLE orders (
        id BIGINT PRIMARY KEY, price NUMERIC(10, 2), weight DOUBLE PRECISION, note VARCHAR(80),
        kind TEXT, tags TEXT[], picture BYTEA, paid BOOLEAN, flags BYTEA, born DATE,
        made TIMESTAMP(6), seen TIMESTAMPTZ, took INTERVAL, "MadeIn" INTEGER, facts JSONB,
        big NUMERIC, is_new SMALLINT, __deleted BOOLEAN
    )
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresqlServer]:
    if (why := obstacle()) is not None:
        pytest.skip(f"PostgreSQL cannot run here: {why}")
    with PostgresqlServer(tmp_path_factory.mktemp("postgresql")) as running:
        yield running


@pytest.fixture
def own(server: PostgresqlServer) -> Iterator[psycopg.Connection[Any]]:
    """A connection to an empty schema."""
    with connect_postgresql(server.endpoint) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        yield connection


@pytest.fixture
def table(mysql_server: MysqlServer, database: str, tmp_path: Path) -> ForeignTable:
    made = ForeignTable(mysql_server.endpoint, database, tmp_path)
    made.execute(foreign_tables.DEFINITION)
    made.fill(1, ROWS)
    return made


def target_of(server: PostgresqlServer, user: str = "", table: str = "public.orders") -> str:
    end = server.endpoint
    account = user or f"{end.user}:{end.password}"
    return f"postgresql://{account}@{end.host}:{end.port}/postgres.{table}"


def insert(own: psycopg.Connection[Any], rows: list[Row]) -> None:
    places = ", ".join("%s" for _ in range(18))
    with own.cursor() as cursor:
        cursor.executemany(f"INSERT INTO orders VALUES ({places})", [_values(row) for row in rows])


def _values(row: Row) -> list[Any]:
    tags = [tag for tag in row["tags"].split(",") if tag]
    changed = {"tags": tags, "paid": row["paid"] == b"\1", "flags": row["flags"][::-1]}
    own = list({**row, **changed}.values())
    own[11] = own[11].isoformat() + "Z"
    return [*own, False]


def test_a_table_of_postgresql_is_compared(
    table: ForeignTable, server: PostgresqlServer, own: psycopg.Connection[Any]
) -> None:
    own.execute(DEFINITION)
    insert(own, table.rows())
    target = target_of(server)
    report = table.report("--lag", "1", target=target, code=0)
    assert (report["verdict"], report["rows"]) == ("equal", ROWS), report
    assert (report["columns_only_in_source"], report["deletion_mark"]) == ([], "__deleted")
    assert server.endpoint.password not in report["target"]
    faults = {
        "price": (10, "price + 0.01"), "note": (11, "note || ' '"), "tags": (12, "ARRAY['a','b']"),
        "picture": (13, "substring(picture from 2)"), "paid": (14, "NOT paid"),
        "born": (15, "born - 1"), "made": (16, "made + interval '1 microsecond'"),
        "seen": (17, "seen - interval '1 hour'"), "took": (18, "took * 2"),
        "facts": (19, "facts - 'i'"), "big": (20, "big + 1"), "weight": (23, "weight::float4"),
        "is_new": (22, "NULL"),
    }  # fmt: skip
    for column, (number, value) in faults.items():
        own.execute(f"UPDATE orders SET {column} = {value} WHERE id = {number}")
    own.execute("UPDATE orders SET __deleted = true WHERE id = 30")
    own.execute("DELETE FROM orders WHERE id = 31")
    own.execute("INSERT INTO orders (id) VALUES (9000)")
    report = table.report("--lag", "1", target=target, code=4)
    found = {each["key"]["id"]: each for each in report["differences"]}
    for column, (number, _) in faults.items():
        assert list(found.pop(number)["source"]) == [column]
    kinds = {number: each["kind"] for number, each in found.items()}
    assert kinds == {30: "missing", 31: "missing", 9000: "surplus"}


def test_types_that_are_rare_are_compared_by_value(
    table: ForeignTable, server: PostgresqlServer, own: psycopg.Connection[Any]
) -> None:
    table.execute(
        "CREATE TABLE rare (a VARCHAR(9), b INT UNSIGNED, c DECIMAL(40, 3), d CHAR(36), e TIME(3), "
        "f CHAR(5), g BIGINT, h FLOAT, PRIMARY KEY (a, b))",
        "INSERT INTO rare VALUES ('ä%', 4294967295, 1.5, '123e4567-e89b-12d3-a456-426614174000', "
        "'12:30:00.125', 'x', -5, 1.1), ('', 0, NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    own.execute("CREATE DOMAIN amount AS NUMERIC(40, 3)")
    own.execute(
        'CREATE TABLE "Rare%" (a TEXT, b BIGINT, c amount, d UUID, e TIME, f CHAR(5), '
        "g NUMERIC(20, 0), h REAL, p POINT, PRIMARY KEY (a, b))"
    )
    own.execute(
        "INSERT INTO \"Rare%\" VALUES ('ä%', 4294967295, 1.5, "
        "'123e4567-e89b-12d3-a456-426614174000', '12:30:00.125', 'x', -5, 1.1, '(1,2)')"
    )
    own.execute("INSERT INTO \"Rare%\" VALUES ('', 0)")
    place = f"{table.database}.rare={target_of(server, table='Rare%25')}"
    words = ("verify", table.url, "--table", place, "--lag", "1")
    done = forked_command.run(*words, seconds=100)
    assert done.returncode == 0, done.stdout
    assert "equal: 2 rows" in done.stdout
    assert "columns that only the target has, not compared: p" in done.stdout
    own.execute('UPDATE "Rare%" SET c = 1.501 WHERE b > 0')
    own.execute("UPDATE \"Rare%\" SET a = 'é%' WHERE b = 0")
    done = forked_command.run(*words, seconds=100)
    assert done.stdout.count("different {") == 1, done.stdout
    assert done.stdout.count("missing {") == done.stdout.count("surplus {") == 1


@pytest.mark.parametrize(
    ("user", "name", "code", "said"),
    [
        ("root:wrong", "orders", foreign_errors.TARGET_LOGIN, "password authentication failed"),
        ("poor:poor", "orders", foreign_errors.TARGET_RIGHTS, "permission denied for table orders"),
        ("", "nothing", foreign_errors.NO_TARGET, "there is no table at postgresql://root@"),
        ("", "odd", foreign_errors.TARGET_VALUE, "column day"),
        ("", "orders_of_nobody", foreign_errors.TARGET_REFUSED, "division by zero"),
    ],
)
def test_what_a_server_refuses_has_a_code(
    table: ForeignTable, server: PostgresqlServer, own: psycopg.Connection[Any],
    user: str, name: str, code: Any, said: str,
) -> None:  # fmt: skip
    own.execute(DEFINITION)
    own.execute("DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN PASSWORD 'poor'")
    own.execute("GRANT USAGE ON SCHEMA public TO poor")
    own.execute("CREATE TABLE odd (id BIGINT, day DATE)")
    own.execute("INSERT INTO odd VALUES (1, 'infinity')")
    own.execute("CREATE VIEW orders_of_nobody AS SELECT 1 / (id - 1) AS id FROM odd")
    table.execute("CREATE TABLE odd (id BIGINT PRIMARY KEY, day DATE)")
    source = "odd" if name.startswith(("odd", "orders_of")) else "orders"
    place = f"{table.database}.{source}={target_of(server, user, name)}"
    done = forked_command.run("verify", table.url, "--table", place, "--lag", "1", seconds=60)
    assert done.returncode == 1, done.stdout
    assert f"not finished: [{code.code}]" in done.stdout
    assert said in done.stdout
    assert ":wrong" not in done.stdout + done.stderr


def test_a_server_that_is_away_has_a_code(table: ForeignTable) -> None:
    port = free_port()
    report = table.report(
        "--lag", "1", target=f"postgresql://root:secret@127.0.0.1:{port}/a.b", code=1
    )
    assert foreign_errors.TARGET_AWAY.code in report["error"]
    assert f"127.0.0.1:{port}" in report["error"]
    assert "secret" not in str(report)


def test_options_of_a_url_replace_those_of_the_driver(
    server: PostgresqlServer, own: psycopg.Connection[Any]
) -> None:
    own.execute("CREATE TABLE orders (id INT)")
    place = target_of(server).removeprefix("postgresql:")
    target = opened("orders", f"{place}?connect_timeout=7&application_name=mine")
    try:
        found = own.execute("SELECT 1 FROM pg_stat_activity WHERE application_name = 'mine'")
        assert len(found.fetchall()) == 1
    finally:
        target.close()
    for option in ("autocommit=1", "nothing=1"):
        with pytest.raises(MirrorError) as raised:
            opened("orders", f"{place}?{option}")
        assert raised.value.code is foreign_errors.TARGET_REFUSED


@pytest.mark.parametrize(
    "place", ["//host", "//host/orders", "/a.b", "//host/a.b?password=x", "//h:x/a.b"]
)
def test_a_place_that_names_no_table_is_refused(place: str) -> None:
    with pytest.raises(ConfigError) as raised:
        opened("postgresql:…", place)
    assert raised.value.code is foreign_errors.SERVER_FORM
    assert "postgresql://USER:PASSWORD@HOST:PORT/DATABASE.SCHEMA.TABLE" in str(raised.value)


@pytest.fixture
def target(own: psycopg.Connection[Any], table: ForeignTable) -> psycopg.Connection[Any]:
    """A connection to a target that has all rows but one, one that differs and one more."""
    own.execute(DEFINITION)
    insert(own, table.rows())
    own.execute("DELETE FROM orders WHERE id = 17")
    own.execute("UPDATE orders SET note = 'other' WHERE id = 18")
    own.execute("UPDATE orders SET id = 9999 WHERE id = 19")
    return own


@contextmanager
def compared(server: PostgresqlServer, table: ForeignTable) -> Iterator[ForeignCheck]:
    """Yield a comparison with a table of the server that is about to run."""
    with (
        closing(opened("orders", target_of(server).removeprefix("postgresql:"))) as target,
        foreign_tables.comparison(table, target=target) as check,
    ):
        yield check


FOUND = [(17, "missing"), (18, "different"), (19, "missing"), (9999, "surplus")]


def test_rows_are_read_on_after_sessions_were_ended(
    server: PostgresqlServer,
    target: psycopg.Connection[Any],
    table: ForeignTable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[tuple[Any, ...]] = []
    pages = 0

    def ending(*arguments: Any) -> pa.Table:
        nonlocal pages
        pages += 1
        if pages % 4 == 2 and len(ended) < 3:
            ended.extend(
                target.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'binlog-connector verify'"
                ).fetchall()
            )
        return table_of(*arguments)

    monkeypatch.setattr(postgresql_target, "_ROWS", 100)
    monkeypatch.setattr(postgresql_target, "table_of", ending)
    with compared(server, table) as check:
        check.run()
    differences = check.result.differences
    assert sorted((each.key["id"], each.kind) for each in differences) == FOUND
    assert len(ended) == 3


def test_a_server_that_is_restarted_is_waited_for(
    server: PostgresqlServer, target: psycopg.Connection[Any], table: ForeignTable
) -> None:
    with compared(server, table) as check:
        target.close()
        server.kill()
        thread = threading.Timer(1.5, server.start)
        thread.start()
        check.run()
        thread.join()
    differences = check.result.differences
    assert sorted((each.key["id"], each.kind) for each in differences) == FOUND


def test_a_server_that_stays_away_is_named(
    server: PostgresqlServer, target: psycopg.Connection[Any], table: ForeignTable
) -> None:
    with compared(server, table) as check:
        check._sides.patience.seconds = 0.5
        target.close()
        server.kill()
        try:
            with pytest.raises(SourceUnavailable) as raised:
                check.run()
        finally:
            server.start()
    assert raised.value.code is verify_errors.AWAY
    assert "the target was away for 0.5 s: 127.0.0.1" in str(raised.value)


def test_another_server_has_no_rows_of_the_one_before(
    server: PostgresqlServer,
    target: psycopg.Connection[Any],
    table: ForeignTable,
    tmp_path: Path,
) -> None:
    other = PostgresqlServer(tmp_path / "other")
    other.directory.mkdir()
    (other.directory / "port").write_text(str(server.endpoint.port))
    with compared(server, table) as check:
        target.close()
        server.kill()
        try:
            with other, pytest.raises(SourceUnavailable) as raised:
                check.run()
        finally:
            server.start()
    assert raised.value.code is verify_errors.OTHER_ANSWERS


def test_no_session_is_left_of_a_server_that_does_not_say_which_one_it_is(
    server: PostgresqlServer, target: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql_target, "_MAY_IDENTIFY", "SELECT 1 / 0")
    with pytest.raises(MirrorError) as raised:
        opened("orders", target_of(server).removeprefix("postgresql:"))
    assert raised.value.code is foreign_errors.TARGET_REFUSED
    own = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'binlog-connector%'"
    wait_until(lambda: target.execute(own).fetchone() == (0,), lambda: "a session is left")


def test_a_standby_is_another_server_than_its_primary(
    server: PostgresqlServer, target: psycopg.Connection[Any], table: ForeignTable
) -> None:
    signal = server.directory / "data" / "standby.signal"
    with compared(server, table) as check:
        target.close()
        server.kill()
        # It goes on as a standby, with the identifier and the timeline that it had.
        signal.touch()
        server.start()
        try:
            with pytest.raises(SourceUnavailable) as raised:
                check.run()
        finally:
            server.kill()
            signal.unlink()
            server.start()
    assert raised.value.code is verify_errors.OTHER_ANSWERS
