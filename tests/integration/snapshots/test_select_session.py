from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.envelope.selected_rows import SelectRowWriter
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from tests.integration.snapshots.chunks import whole_chunk
from tests.integration.snapshots.test_selected_rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.foundation.contract import SchemaColumn
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server


def session_on(source: Source, **changes: Any) -> SelectSession:
    return SelectSession(source.settings(**changes))


def test_a_query_returns_rows_by_name(source: Source) -> None:
    with session_on(source) as session:
        assert session.query("SELECT 1 AS one, NULL AS none, 'é' AS text") == [
            {"one": "1", "none": None, "text": "é"}
        ]
        assert session.query("SELECT 1 AS one FROM DUAL WHERE FALSE") == []
        assert session.query("DO 1") == []
        assert session.identity.flavour == ("mariadb" if source.is_mariadb else "mysql")


@pytest.mark.parametrize("mode", ["disabled", "required"])
def test_rows_are_whole_with_and_without_tls(source: Source, mode: str) -> None:
    tls = {"mode": mode, "get_server_public_key": mode == "disabled"}
    with session_on(source, tls=tls) as session:
        sql = "SELECT REPEAT('x', 3000000) AS a UNION ALL SELECT REPEAT('y', 100)"
        assert session.query(sql) == [{"a": "x" * 3_000_000}, {"a": "y" * 100}]
        (row,) = session.query("SHOW STATUS LIKE 'Ssl_cipher'")
        assert bool(row["Value"]) == (mode == "required")


def test_the_settings_of_the_server_do_not_change_what_is_read(source: Source, schema: str) -> None:
    """Times come in UTC, text as stored, CHAR without its padding, names without ANSI quotes."""
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, c CHAR(5), s TIMESTAMP NULL,"
        " l VARCHAR(5) CHARACTER SET latin1)",
        "SET time_zone = '+00:00'",
        f"INSERT INTO {schema}.t VALUES (1, 'a', '2024-01-02 03:04:05', 'é')",
    )
    user = source.create_account("SELECT")
    before = source.execute("SELECT @@GLOBAL.sql_mode, @@GLOBAL.time_zone")[0]
    source.execute(
        "SET GLOBAL sql_mode = 'ANSI,PAD_CHAR_TO_FULL_LENGTH'", "SET GLOBAL time_zone = '+05:00'"
    )
    try:
        with session_on(source, user=user) as session:
            table = SelectedTable.describe(session, schema, "t")
            sql = f"SELECT {table.select_list} FROM {table.quoted_name}"
            chunk = whole_chunk(session, sql, table.writer())
    finally:
        source.execute(
            f"SET GLOBAL sql_mode = '{before[0]}'", f"SET GLOBAL time_zone = '{before[1]}'"
        )
    after = '{"id":1,"c":"a","s":"2024-01-02T03:04:05Z","l":"é"}'
    assert rows_of(chunk) == [(b'{"id":1}', after.encode())]


def test_an_error_of_the_server_leaves_the_session_usable(source: Source) -> None:
    with session_on(source) as session:
        with pytest.raises(SourceRefused) as caught:
            session.query("SELECT * FROM mysql.user")
        assert caught.value.text.startswith(f"{source.name}: error 1142: SELECT command denied")
        assert session.query("SELECT 2 AS n") == [{"n": "2"}]


def test_an_error_between_rows_is_the_server_s(source: Source) -> None:
    user = source.create_account("SELECT")
    sql = (
        "SELECT SLEEP(0.02) AS s FROM information_schema.collations c1, "
        "information_schema.collations c2"
    )
    with session_on(source, user=user) as session:
        (row,) = session.query("SELECT CONNECTION_ID() AS id")
        killer = when(lambda: is_running(source, user), lambda: kill_query(source, row["id"]))
        with pytest.raises((SourceUnavailable, SourceRefused)) as caught:
            session.query(sql)
        killer.join()
        assert "error 1317" in caught.value.text
        assert session.query("SELECT 2 AS n") == [{"n": "2"}]


def test_closing_wakes_a_session_that_waits(source: Source) -> None:
    user = source.create_account()
    session = session_on(source, user=user)
    closer = when(lambda: is_running(source, user), session.close)
    with pytest.raises(SourceUnavailable) as caught:
        session.query("SELECT SLEEP(600)")
    closer.join()
    assert caught.value.text == f"{source.name}: the session was closed here"
    with pytest.raises(SourceUnavailable, match="the session was closed here"):
        session.query("SELECT 1")
    session.close()


def test_a_killed_connection_is_named(source: Source) -> None:
    user = source.create_account()
    session = session_on(source, user=user)
    (row,) = session.query("SELECT CONNECTION_ID() AS id")
    source.execute(f"KILL {row['id']}")
    with pytest.raises(SourceUnavailable) as caught:
        session.query("SELECT SLEEP(600)")
    assert caught.value.text.startswith(f"{source.name}: ")


def test_a_server_that_is_silent_for_too_long_is_given_up(source: Source) -> None:
    session = SelectSession(source.settings(read_timeout_seconds=1), 0.5)
    with pytest.raises(SourceUnavailable) as caught:
        session.query("SELECT SLEEP(60)")
    assert caught.value.text == (
        f"{source.name}: no answer to a query in 1.5 seconds: the server or the network is gone, "
        "or the query is slow; look at SHOW PROCESSLIST, and at source.read_timeout_seconds"
    )


def test_a_value_without_a_form_is_told_with_the_chunk(source: Source) -> None:
    column: SchemaColumn = {
        "name": "t", "type": "varchar", "nullable": True, "key": 0, "charset": "utf8mb4",
    }  # fmt: skip
    writer = SelectRowWriter(TableSchema.of_columns("shop", "t", (column,)))
    with session_on(source) as session:
        sql = "SELECT 'a' UNION ALL SELECT X'FF' UNION ALL SELECT 'c'"
        chunk = whole_chunk(session, sql, writer)
        assert session.query("SELECT 1 AS n") == [{"n": "1"}]
    assert (chunk.count, [refused.data for refused in chunk.refused]) == (3, [b"\x01\xff"])
    assert writer.size == 0


def test_a_statement_that_fails_leaves_no_rows_in_the_writer(source: Source, schema: str) -> None:
    source.execute(f"CREATE TABLE {schema}.t (id INT PRIMARY KEY)")
    source.execute(f"INSERT INTO {schema}.t VALUES (1), (2)")
    with session_on(source, user=source.create_account("SELECT")) as session:
        table = SelectedTable.describe(session, schema, "t")
        writer = table.writer()
        with pytest.raises(SourceRefused, match="1242"):
            # The first row is sent before the second one cannot be.
            whole_chunk(
                session,
                f"SELECT IF(id = 1, id, (SELECT id FROM {schema}.t)) FROM {schema}.t",
                writer,
            )
        chunk = whole_chunk(session, f"SELECT id FROM {schema}.t", writer)
    assert chunk.count == 2


def filled(source: Source, schema: str, rows: int) -> SelectedTable:
    """Return a table with that many rows of about 1 kB."""
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, v VARCHAR(1000) CHARACTER SET latin1)",
        f"INSERT INTO {schema}.t VALUES "
        + ", ".join(f"({n}, REPEAT('v', 1000))" for n in range(rows)),
    )
    with session_on(source, user=source.create_account("SELECT")) as session:
        return SelectedTable.describe(session, schema, "t")


def test_a_large_result_comes_in_chunks(source: Source, schema: str) -> None:
    table = filled(source, schema, 3000)
    sql = f"SELECT {table.select_list} FROM {table.quoted_name} ORDER BY id"
    with session_on(source, user=source.create_account("SELECT")) as session:
        read = list(session.read_chunks(sql, table.writer(), 500_000))
        whole = whole_chunk(session, sql, table.writer())
        assert session.query("SELECT 2 AS n") == [{"n": "2"}]
    assert len(read) > 3
    assert [is_last for _, is_last in read] == [False] * (len(read) - 1) + [True]
    # One piece of the network more at most.
    assert all(500_000 <= chunk.size < 1_000_000 for chunk, is_last in read if not is_last)
    assert [row for chunk, _ in read for row in rows_of(chunk)] == rows_of(whole)


def test_a_result_without_rows_is_one_chunk_without_rows(source: Source, schema: str) -> None:
    table = filled(source, schema, 1)
    sql = f"SELECT {table.select_list} FROM {table.quoted_name} WHERE id > 1"
    with session_on(source, user=source.create_account("SELECT")) as session:
        ((chunk, is_last),) = session.read_chunks(sql, table.writer(), 1000)
    assert (chunk.count, is_last) == (0, True)


def test_a_result_that_is_not_read_to_its_end_ends_the_session(source: Source, schema: str) -> None:
    table = filled(source, schema, 3000)
    writer = table.writer()
    session = session_on(source, user=source.create_account("SELECT"))
    chunks = session.read_chunks(
        f"SELECT {table.select_list} FROM {table.quoted_name}", writer, 100_000
    )
    assert not next(chunks)[1]
    chunks.close()
    assert writer.size == 0
    with pytest.raises(SourceUnavailable, match="the session was closed here"):
        session.query("SELECT 1")


def is_running(source: Source, user: str) -> bool:
    """Return whether a statement of `user` sleeps."""
    rows = source.execute(
        f"SELECT 1 FROM information_schema.processlist WHERE user = '{user}'"
        " AND state = 'User sleep'"
    )
    return bool(rows)


def kill_query(source: Source, number: str | None) -> None:
    source.execute(f"KILL QUERY {number}")


def when(happens: Callable[[], bool], then: Callable[[], None]) -> threading.Thread:
    """Do something in a thread as soon as something else has happened."""

    def wait() -> None:
        while not happens():
            time.sleep(0.01)
        then()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread
