"""What servers log of a change that foreign keys cascade, and which flags its events have."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import (
    NO_FOREIGN_KEY_CHECKS_F,
    STMT_END_F,
    USE_SQL_FOREIGN_KEY_F,
)
from local_stack import connect
from tests.binlog.source_log import SourceLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Server

pytestmark = pytest.mark.server

HIDING = ["mysql_5_7", "mysql_8_0_15", "mysql_server", "mariadb_10_5", "mariadb_server"]
UNCHECKED = "foreign_key_checks=0"
SQL = "cascades are logged"


@pytest.fixture
def log(request: pytest.FixtureRequest) -> Iterator[SourceLog]:
    """Tables whose rows go, or lose their parent, with a row of another table."""
    server: Server = request.getfixturevalue(request.param)
    database = f"cascades_{uuid.uuid4().hex[:10]}"
    with connect(server.endpoint) as connection:
        # The file is read anew after each statement.
        log = SourceLog(connection)
        for statement in (
            f"CREATE DATABASE {database}",
            f"USE {database}",
            "CREATE TABLE p (id INT PRIMARY KEY)",
            (
                "CREATE TABLE c (id INT PRIMARY KEY, p INT, "
                "FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)"
            ),
            (
                "CREATE TABLE n (id INT PRIMARY KEY, p INT, "
                "FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL ON UPDATE SET NULL)"
            ),
            "INSERT INTO p VALUES (1), (2), (3)",
            "INSERT INTO c VALUES (10, 1), (20, 2), (30, 3)",
            "INSERT INTO n VALUES (10, 1), (20, 2), (30, 3)",
        ):
            log.execute(statement)
        log.events()
        yield log
        log.execute("SET foreign_key_checks = 0")
        log.execute(f"DROP DATABASE {database}")


def logged(log: SourceLog, *statements: str) -> list[tuple[str, str, set[str]]]:
    """Return kind, table and flags of each rows event that statements write."""
    for statement in statements:
        log.execute(statement)
    found = []
    for event in log.events():
        rows = event.body
        if isinstance(rows, RowsEvent) and not rows.is_dummy:
            names = {NO_FOREIGN_KEY_CHECKS_F: UNCHECKED, USE_SQL_FOREIGN_KEY_F: SQL}
            assert rows.flags & ~STMT_END_F in (0, 2, 16, 18)
            flags = {name for flag, name in names.items() if rows.flags & flag}
            found.append((rows.kind.value, rows.table_map.table, flags))
    return found


@pytest.mark.parametrize("log", HIDING, indirect=True)
def test_most_servers_log_the_row_of_the_parent_alone(log: SourceLog) -> None:
    assert logged(log, "DELETE FROM p WHERE id = 1") == [("delete", "p", set())]
    assert logged(log, "UPDATE p SET id = 22 WHERE id = 2") == [("update", "p", set())]
    assert log.execute("SELECT * FROM c ORDER BY id") == ((20, 22), (30, 3))
    assert log.execute("SELECT * FROM n ORDER BY id") == ((10, None), (20, None), (30, 3))
    found = logged(log, "SET foreign_key_checks = 0", "DELETE FROM p WHERE id = 3")
    assert found == [("delete", "p", {UNCHECKED})]
    assert log.execute("SELECT * FROM c ORDER BY id") == ((20, 22), (30, 3))


@pytest.mark.parametrize("log", ["mysql_9"], indirect=True)
def test_mysql_9_logs_the_rows_of_the_children_too(log: SourceLog) -> None:
    assert logged(log, "DELETE FROM p WHERE id = 1") == [
        ("delete", "c", {UNCHECKED, SQL}),
        ("update", "n", {UNCHECKED, SQL}),
        ("delete", "p", {SQL}),
    ]
    assert logged(log, "UPDATE p SET id = 22 WHERE id = 2") == [
        ("update", "c", {UNCHECKED, SQL}),
        ("update", "n", {UNCHECKED, SQL}),
        ("update", "p", {SQL}),
    ]
    found = logged(log, "SET foreign_key_checks = 0", "DELETE FROM p WHERE id = 3")
    assert found == [("delete", "p", {UNCHECKED, SQL})]
