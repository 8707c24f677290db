"""What real servers log of statements: the variables, seeds and files that these depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent, UserVarType
from connector.binlog.events.load import AppendBlockEvent, BeginLoadQueryEvent
from connector.binlog.events.query import DuplicateHandling, ExecuteLoadQueryEvent, QueryEvent
from tests.binlog.loaded_files import loaded_files
from tests.binlog.source_log import SourceLog, sending_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import MariadbServer, MysqlServer

pytestmark = pytest.mark.server

LONG_DECIMAL = "-1234567890.098765432100"

# SQL, type, and the value as the log tells it.
VALUES: list[tuple[str, UserVarType, object, bool]] = [
    ("-5", UserVarType.INT, -5, False),
    ("-9223372036854775808", UserVarType.INT, -(2**63), False),
    ("CAST(18446744073709551615 AS UNSIGNED)", UserVarType.INT, 2**64 - 1, True),
    ("1.20", UserVarType.DECIMAL, "1.20", False),
    ("-0.000000001", UserVarType.DECIMAL, "-0.000000001", False),
    ("CAST(-1234567890.0987654321 AS DECIMAL(30, 12))", UserVarType.DECIMAL, LONG_DECIMAL, False),
    ("0.1e0", UserVarType.REAL, 0.1, False),
    ("-1.7976931348623157e308", UserVarType.REAL, -1.7976931348623157e308, False),
    ("_utf8mb4 'é😀'", UserVarType.STRING, "é😀", False),
    ("_latin1 x'E980'", UserVarType.STRING, "é€", False),
    ("_ucs2 x'00E9'", UserVarType.STRING, "é", False),
    ("_binary x'00FF'", UserVarType.STRING, b"\x00\xff", False),
    ("''", UserVarType.STRING, "", False),
    ("NULL", UserVarType.STRING, None, False),
]


@pytest.fixture
def statement_log(source_log: SourceLog) -> SourceLog:
    """A connection to each kind of server that logs statements, to an empty table."""
    source_log.execute("CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, v LONGTEXT)")
    source_log.execute("SET SESSION binlog_format = STATEMENT")
    source_log.events()
    return source_log


@pytest.mark.parametrize(("sql", "value_type", "value", "unsigned"), VALUES)
def test_a_user_variable_has_the_value_that_the_statement_saw(
    statement_log: SourceLog, sql: str, value_type: UserVarType, value: object, unsigned: bool
) -> None:
    statement_log.execute(f"SET @`a v` = {sql}")
    statement_log.execute("INSERT INTO t (v) VALUES (@`a v`)")
    (variable,) = (e.body for e in statement_log.events() if isinstance(e.body, UserVarEvent))
    assert (variable.name, variable.type) == ("a v", value_type)
    assert (variable.value, variable.unsigned) == (value, unsigned)


def test_mariadb_names_the_sql_type_of_a_user_variable(mariadb_log: SourceLog) -> None:
    mariadb_log.execute("CREATE TABLE t (v POINT)")
    mariadb_log.execute("SET SESSION binlog_format = STATEMENT")
    mariadb_log.execute("SET @v = POINT(1, 2)")
    mariadb_log.execute("INSERT INTO t VALUES (@v)")
    (variable,) = (e.body for e in mariadb_log.events() if isinstance(e.body, UserVarEvent))
    assert isinstance(variable.value, bytes)
    assert (variable.data_type, len(variable.value)) == ("point", 25)


def test_identities_and_random_numbers_are_logged_before_their_statement(
    statement_log: SourceLog,
) -> None:
    statement_log.execute("SET INSERT_ID = 41")
    statement_log.execute("INSERT INTO t (v) VALUES ('x')")
    statement_log.execute("SET rand_seed1 = 17, rand_seed2 = 4711")
    statement_log.execute("INSERT INTO t (v) SELECT LAST_INSERT_ID() + RAND()")
    context = [
        e.body for e in statement_log.events() if isinstance(e.body, (IntvarEvent, RandEvent))
    ]
    assert [(body.name, body.value) for body in context if isinstance(body, IntvarEvent)] == [
        ("INSERT_ID", 41),
        ("LAST_INSERT_ID", 41),
        ("INSERT_ID", 42),
    ]
    assert [body for body in context if isinstance(body, RandEvent)] == [RandEvent(17, 4711)]


def test_a_statement_tells_the_session_that_it_ran_in(statement_log: SourceLog) -> None:
    statement_log.execute("SET SESSION auto_increment_increment = 10, auto_increment_offset = 3")
    statement_log.execute("SET SESSION lc_time_names = 'en_GB', time_zone = '+02:00'")
    statement_log.execute("SET SESSION sql_mode = 'ANSI_QUOTES'")
    statement_log.execute("INSERT INTO t (v) VALUES (DATE_FORMAT(NOW(6), '%W'))")
    (query,) = (
        e.body
        for e in statement_log.events()
        if isinstance(e.body, QueryEvent) and e.body.query.startswith("INSERT")
    )
    variables = query.status_variables
    assert variables.auto_increment == (10, 3)
    assert (variables.sql_mode, variables.time_zone) == (4, "+02:00")
    assert variables.lc_time_names == 1
    assert variables.microseconds is not None
    assert variables.unknown == b""


CONTENT = b"".join(f"{n}\tr{n}\n".encode() for n in range(1, 60_000))


@pytest.fixture(params=["mysql", "mariadb"])
def loading_log(
    request: pytest.FixtureRequest, mysql_server: MysqlServer, mariadb_server: MariadbServer
) -> Iterator[SourceLog]:
    """A connection that may send a file of its own."""
    mysql = request.param == "mysql"
    server = mysql_server if mysql else mariadb_server
    database = request.getfixturevalue("database" if mysql else "mariadb_database")
    with sending_files(server.endpoint, database) as connection:
        yield SourceLog(connection)


def test_a_file_that_was_loaded_is_put_together_again(
    loading_log: SourceLog, tmp_path: Path
) -> None:
    file = tmp_path / "rows.txt"
    file.write_bytes(CONTENT)
    loading_log.execute("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)")
    loading_log.execute("SET SESSION binlog_format = STATEMENT")
    loading_log.execute(f"LOAD DATA LOCAL INFILE '{file}' REPLACE INTO TABLE t")
    ((count,),) = loading_log.execute("SELECT COUNT(*) FROM t")
    assert count == 59_999
    events = loading_log.events()
    parts = [e for e in events if isinstance(e.body, (BeginLoadQueryEvent, AppendBlockEvent))]
    assert len(parts) > 1
    (content,) = loaded_files(events)
    assert content == CONTENT
    (execute,) = (e.body for e in events if isinstance(e.body, ExecuteLoadQueryEvent))
    assert execute.duplicate_handling is DuplicateHandling.REPLACE
    named = execute.query_bytes[execute.start_pos : execute.end_pos].decode()
    assert str(file) in named
