"""Names that hold no table of their own, or a temporary one: a view, a sequence, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import connect
from tests.integration.harness import read_committed, topics_of
from tests.integration.schema.folded_tables import wait_for

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

VIEWS = (
    "CREATE VIEW v AS SELECT * FROM a",
    "RENAME TABLE v TO v2",
    "CREATE VIEW v3 AS SELECT * FROM v2",
    "RENAME TABLE v3 TO v4",
    "DROP VIEW v4",
    # A table, and a view of its name after it.
    "CREATE TABLE u (id INT PRIMARY KEY)",
    "INSERT INTO u VALUES (1)",
    "RENAME TABLE u TO u2",
    "DROP TABLE u2",
    "CREATE VIEW u2 AS SELECT * FROM a",
)
SEQUENCES = (
    "RENAME TABLE IF EXISTS nope TO t5",
    "CREATE SEQUENCE s",
    "SELECT NEXTVAL(s)",
    "ALTER SEQUENCE s INCREMENT 5",
    "SELECT NEXTVAL(s)",
    "RENAME TABLE s TO s2",
    "ALTER TABLE s2 COMMENT 'numbers'",
    "DROP SEQUENCE s2",
    "CREATE SEQUENCE s3",
    "SELECT NEXTVAL(s3)",
    "RENAME TABLE s3 TO s4",
    # A sequence takes the place of a table.
    "CREATE OR REPLACE SEQUENCE r",
)


def test_what_is_no_table_is_not_copied_and_stops_nothing(
    either_stream: Stream, request: pytest.FixtureRequest
) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE r (id INT PRIMARY KEY)",
        "INSERT INTO a VALUES (1)",
        "INSERT INTO r VALUES (1)",
    )
    start = {"source__start": "snapshot"}
    with stream.connector(**start) as connector:
        wait_for(stream, connector, {"a": [1], "r": [1]})
        assert connector.terminate() == 0
    mariadb = "mariadb" in request.node.name
    stream.execute(*VIEWS, *(SEQUENCES if mariadb else ()), "INSERT INTO a VALUES (2)")
    rows = {"a": [1, 2], "r": [] if mariadb else [1], "u": [], "u2": []}
    with stream.connector(**start) as connector:
        wait_for(stream, connector, rows)
        connector.wait_for("the copy ends: the name holds no table")
        # Nothing is left to be copied at the next start.
        stream.execute("INSERT INTO a VALUES (3)")
        wait_for(stream, connector, {**rows, "a": [1, 2, 3]})
        assert connector.terminate() == 0
    with stream.connector(**start) as connector:
        stream.execute("INSERT INTO a VALUES (4)")
        wait_for(stream, connector, {**rows, "a": [1, 2, 3, 4]})
        assert connector.terminate() == 0
    topics = {
        name.rpartition(".")[2] for name in topics_of(stream.broker, stream.prefix, control=False)
    }
    assert topics <= {"a", "r", "u"}
    states = {
        str(each.key): each.value
        for each in read_committed(stream.broker, stream.prefix, control=True)
        if each.topic.endswith(".snapshot")
    }
    kept = {each["table"]: each["phase"] for each in states.values() if each}
    assert kept == {"a": "complete"} | ({} if mariadb else {"r": "complete"})


def test_a_temporary_table_hides_a_table_and_changes_no_row_of_it(either_stream: Stream) -> None:
    stream = either_stream
    with connect(stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        ((version,),) = cursor.fetchall()
    mariadb = "MariaDB" in version
    stream.execute(
        "CREATE TABLE w (id INT PRIMARY KEY)",
        "CREATE TABLE x (id INT PRIMARY KEY)",
        "INSERT INTO w VALUES (1), (2)",
        "INSERT INTO x VALUES (1)",
    )
    renamed = (
        "CREATE TEMPORARY TABLE w (a INT)",
        "RENAME TABLE w TO w9",
        "DROP TABLE w9",
        "INSERT INTO w VALUES (3)",
        # One statement on a table and on a temporary one.
        "CREATE TEMPORARY TABLE z (a INT)",
        "RENAME TABLE x TO x1, z TO x2",
        "INSERT INTO x1 VALUES (2)",
        "RENAME TABLE x1 TO x",
        "CREATE TEMPORARY TABLE x (a INT)",
        "CREATE TABLE y (id INT PRIMARY KEY)",
        "DROP TABLE x, y",
    )
    by_statement = (
        "SET SESSION binlog_format = STATEMENT",
        "CREATE TEMPORARY TABLE w (a INT)",
        "ALTER TABLE w ADD b INT, DROP COLUMN a",
        "CREATE INDEX i ON w (b)",
        "TRUNCATE TABLE w",
        *(("RENAME TABLE w TO w8", "CREATE OR REPLACE TEMPORARY TABLE w (a INT)") * mariadb),
        "DROP TEMPORARY TABLE w",
    )
    truncated = (*by_statement[:2], "TRUNCATE TABLE w", "DROP TEMPORARY TABLE w")
    rows = {"w": [1, 2], "x": [1]}
    with stream.connector() as connector:
        wait_for(stream, connector, rows)
        if mariadb:
            stream.execute(*renamed)
            rows = {"w": [1, 2, 3], "x": [1, 2]}
        # Each session has a table of its own.
        for number, session in enumerate((by_statement, truncated), 4):
            stream.execute(*session)
            stream.execute(f"INSERT INTO w VALUES ({number})", "DELETE FROM w WHERE id = 1")
            rows["w"] = [*(key for key in rows["w"] if key > 1), number]
            wait_for(stream, connector, rows)
        assert connector.terminate() == 0
    with stream.connector() as connector:
        stream.execute("INSERT INTO w VALUES (8)", "INSERT INTO x VALUES (8)")
        wait_for(stream, connector, {"w": [*rows["w"], 8], "x": [*rows["x"], 8]})
        assert connector.terminate() == 0
