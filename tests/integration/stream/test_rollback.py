"""What servers log of transactions that are rolled back, and what becomes of it.

In row format, rows of tables without transactions are logged in groups of their own, which end in
COMMIT; rows that were rolled back are logged only beside what cannot be, such as a temporary table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from local_stack import MariadbServer, MysqlServer, connect
from tests.integration.harness import wait_until_settled
from tests.integration.restarts import CrashingStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from local_stack import Endpoint, Server
    from tests.integration.database_stream import Stream

pytestmark = pytest.mark.server

# Engines can be mixed in a transaction only without GTIDs.
WITHOUT_GTIDS = {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}
SERVERS: dict[str, Callable[[Path], Server]] = {
    "mysql 8.0": lambda folder: MysqlServer(folder, settings=WITHOUT_GTIDS),
    "mysql 9": lambda folder: MysqlServer(folder, version="9", settings=WITHOUT_GTIDS),
    "mariadb 10.11": lambda folder: MariadbServer(folder, version="10.11"),
    "mariadb 11.8": MariadbServer,
}
TEMPORARY = ["CREATE TEMPORARY TABLE x (a INT) ENGINE=InnoDB", "INSERT INTO x VALUES (1)"]
BOTH = ["INSERT INTO t VALUES (1)", "INSERT INTO m VALUES (1)"]
CASES: dict[str, list[str]] = {
    "rolled back": ["BEGIN", *BOTH, "ROLLBACK"],
    "rolled back, the other first": ["BEGIN", *reversed(BOTH), "ROLLBACK"],
    "in one statement": ["BEGIN", *BOTH, "UPDATE t, m SET t.id = 2, m.id = 2", "ROLLBACK"],
    "by a trigger": ["BEGIN", "INSERT INTO triggering VALUES (1)", "ROLLBACK"],
    "to a savepoint": [
        "BEGIN",
        "INSERT INTO t VALUES (7)",
        "SAVEPOINT s",
        *BOTH,
        "ROLLBACK TO s",
        "INSERT INTO t VALUES (8)",
        "COMMIT",
    ],
    "to the first of two savepoints": [
        "BEGIN",
        "SAVEPOINT a",
        "INSERT INTO t VALUES (7)",
        "SAVEPOINT b",
        *BOTH,
        *TEMPORARY,
        "SAVEPOINT A",
        "INSERT INTO t VALUES (9)",
        "ROLLBACK TO a",
        "COMMIT",
    ],
    "with a temporary table": ["BEGIN", *BOTH, *TEMPORARY, "ROLLBACK"],
    "to a savepoint, with a temporary table": [
        "BEGIN",
        "INSERT INTO t VALUES (7)",
        "SAVEPOINT s",
        *BOTH,
        *TEMPORARY,
        "ROLLBACK TO s",
        "INSERT INTO t VALUES (8)",
        "COMMIT",
    ],
    "with a temporary table that is dropped": [
        "BEGIN",
        *BOTH,
        "CREATE TEMPORARY TABLE x (a INT) ENGINE=MyISAM",
        "INSERT INTO x VALUES (1)",
        "DROP TEMPORARY TABLE x",
        "ROLLBACK",
    ],
    "in mixed format": [
        "SET SESSION binlog_format = MIXED",
        "BEGIN",
        *(f"INSERT INTO {table} VALUES (UUID_SHORT() % 1000)" for table in ("t", "m")),
        "ROLLBACK",
        "SET SESSION binlog_format = ROW",
    ],
    "logged at once": [
        "SET SESSION binlog_direct_non_transactional_updates = ON",
        "BEGIN",
        *BOTH,
        "ROLLBACK",
    ],
    "in part, by an error": ["INSERT IGNORE INTO m VALUES (3), (4), (3)", "BEGIN", "ROLLBACK"],
    "in two phases": ["XA START 'x'", *BOTH, "XA END 'x'", "XA PREPARE 'x'", "XA ROLLBACK 'x'"],
}


@pytest.fixture(scope="module", params=SERVERS)
def source(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Endpoint]:
    with SERVERS[request.param](tmp_path_factory.mktemp("source")) as server:
        yield server.endpoint


def execute(source: Endpoint, *statements: str, database: str | None = None) -> list[Any]:
    with connect(source, database) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return list(cursor.fetchall())


@pytest.mark.parametrize("case", CASES)
def test_what_stayed_is_delivered_and_nothing_else(source: Endpoint, case: str) -> None:
    name = f"d{list(CASES).index(case)}"
    execute(source, f"CREATE DATABASE {name}")
    execute(
        source,
        "CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB",
        "CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MyISAM",
        "CREATE TABLE triggering (id INT PRIMARY KEY) ENGINE=InnoDB",
        "CREATE TRIGGER tr BEFORE INSERT ON triggering FOR EACH ROW INSERT INTO m VALUES (NEW.id)",
        *CASES[case],
        "INSERT INTO t VALUES (100)",
        database=name,
    )
    stream = CrashingStream(source, "earliest", f"{name}.*")
    stream.run()
    for table in ("t", "m", "triggering"):
        rows: dict[bytes | None, bytes | None] = {}
        for record in stream.committed:
            if record.topic == f"p.{name}.{table}":
                rows[record.key] = record.value
        found = sorted(key.decode() for key, value in rows.items() if key and value is not None)
        expected = execute(source, f"SELECT id FROM {name}.{table}")
        assert found == sorted(f'{{"id":{n}}}' for (n,) in expected), (table, case)


@pytest.mark.kafka
def test_a_long_transaction_that_is_rolled_back_does_not_end_the_stream(
    mariadb_stream: Stream,
) -> None:
    stream = mariadb_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY, v MEDIUMTEXT)")
    insert = "INSERT INTO t VALUES ({}, REPEAT('x', 700000))"
    with stream.connector() as connector:
        for start in (1, 11):
            stream.execute(insert.format(start))
            stream.transaction(
                *(insert.format(n) for n in range(start + 1, start + 4)),
                "CREATE TEMPORARY TABLE x (a INT)",
                end="ROLLBACK",
            )
        stream.execute(insert.format(20))
        changes = stream.wait_for_changes(3, connector)
        assert connector.terminate() == 0
    wait_until_settled(stream.broker, stream.prefix)
    assert [change.key["id"] for change in changes] == [1, 11, 20]
    assert [change.key["id"] for change in stream.changes()] == [1, 11, 20]
    assert connector.output().count("reading again without its rows") == 2
