"""After foreign keys have changed rows, consumers have the rows that the server has.

MySQL before 9.6 and MariaDB log the change of the parent alone. MySQL 9 logs all changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.database_stream import new_stream
from tests.integration.harness import wait_until
from tests.integration.schema.cascading_tables import ops, wait_until_equal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import KafkaBroker, Server
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

HIDING = ["mysql_server", "mariadb_server"]


@pytest.fixture(params=HIDING, ids=["mysql-8.0", "mariadb"])
def hiding(
    request: pytest.FixtureRequest, kafka_broker: KafkaBroker, tmp_path: Path
) -> Iterator[Stream]:
    """A database on a server that does not log what cascades."""
    server: Server = request.getfixturevalue(request.param)
    stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
    yield stream
    stream.execute(f"DROP DATABASE {stream.database}")


CHAIN = (
    "CREATE TABLE a (id INT PRIMARY KEY, code VARCHAR(9) UNIQUE)",
    "CREATE TABLE b (id INT PRIMARY KEY, a INT, "
    "FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE c (id INT PRIMARY KEY, b INT, "
    "FOREIGN KEY (b) REFERENCES b (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE n (id INT PRIMARY KEY, v INT, b INT, "
    "FOREIGN KEY (b) REFERENCES b (id) ON DELETE SET NULL ON UPDATE SET NULL)",
    "CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9), "
    "FOREIGN KEY (code) REFERENCES a (code) ON DELETE SET NULL ON UPDATE CASCADE)",
    "INSERT INTO a VALUES (1, 'x'), (2, 'y'), (3, 'it''s'), (4, NULL), (5, 'z')",
    "INSERT INTO b VALUES (10, 1), (11, 1), (20, 2), (30, 3), (40, 4), (50, NULL)",
    "INSERT INTO c VALUES (100, 10), (101, 10), (110, 11), (200, 20), (300, 30)",
    "INSERT INTO n VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30), (4, 4, NULL)",
    "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'it''s'), (4, NULL), (5, 'z')",
)
OTHERS = (
    # The columns of a key in another order, and as a part of the child's own key.
    "CREATE TABLE p2 (x INT, y INT, PRIMARY KEY (x, y))",
    "CREATE TABLE k2 (id INT PRIMARY KEY, py INT, px INT, "
    "FOREIGN KEY (px, py) REFERENCES p2 (x, y) ON DELETE SET NULL ON UPDATE CASCADE)",
    "CREATE TABLE l2 (px INT, py INT, line INT, PRIMARY KEY (px, py, line), "
    "FOREIGN KEY (px, py) REFERENCES p2 (x, y) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE s (id INT PRIMARY KEY, up INT, "
    "FOREIGN KEY (up) REFERENCES s (id) ON DELETE CASCADE)",
    "CREATE TABLE f (id INT PRIMARY KEY, up INT, "
    "FOREIGN KEY (up) REFERENCES f (id) ON DELETE SET NULL)",
    "INSERT INTO p2 VALUES (1, 1), (1, 2), (2, 1)",
    "INSERT INTO k2 VALUES (1, 1, 1), (2, 2, 1), (3, 1, 2), (4, NULL, 2)",
    "INSERT INTO l2 VALUES (1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1)",
    "INSERT INTO s VALUES (1, NULL), (2, 1), (3, 2), (4, NULL), (5, 4)",
    "INSERT INTO f VALUES (1, NULL), (2, 1), (3, 2), (4, NULL), (5, 4)",
)
TABLES = ["a", "b", "c", "n", "t", "p2", "k2", "l2", "s", "f"]
STORIES: list[tuple[str, ...]] = [
    ("UPDATE a SET code = 'new' WHERE id = 1", "UPDATE a SET code = 'it''s it' WHERE id = 3"),
    ("UPDATE a SET id = 22 WHERE id = 2",),
    ("UPDATE a SET id = 23 WHERE id = 22", "UPDATE a SET id = 24, code = NULL WHERE id = 23"),
    ("DELETE FROM a WHERE id = 1",),
    ("BEGIN", "UPDATE c SET b = 40 WHERE id = 300", "DELETE FROM a WHERE id = 3", "COMMIT"),
    ("REPLACE INTO a VALUES (4, 'r')",),
    ("UPDATE p2 SET x = 7 WHERE y = 2",),
    ("UPDATE p2 SET x = 3, y = 3 WHERE x = 2",),
    ("DELETE FROM p2 WHERE y = 1",),
    ("DELETE FROM p2",),
    ("DELETE FROM s WHERE id = 1",),
    ("DELETE FROM f WHERE id IN (1, 4)",),
    ("XA START 'k'", "DELETE FROM a WHERE id = 24", "XA END 'k'", "XA PREPARE 'k'", "XA COMMIT 'k'"),
    ("SET foreign_key_checks = 0", "DELETE FROM s WHERE id = 4"),
]


def play(stream: Stream) -> None:
    """Have a consumer compared with the server after each story."""
    stream.execute(*CHAIN, *OTHERS)
    with stream.connector(schema__cascade_seconds=0) as connector:
        wait_until_equal(stream, connector, TABLES)
        for story in STORIES:
            stream.execute(*story)
            wait_until_equal(stream, connector, TABLES)
        assert connector.terminate() == 0


def test_consumers_have_what_the_server_has_after_each_cascade(hiding: Stream) -> None:
    play(hiding)


def test_a_server_that_logs_cascades_needs_no_copy(
    mysql_9: Server, kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    stream = new_stream(mysql_9.endpoint, kafka_broker.endpoint, tmp_path)
    play(stream)
    with stream.connector() as connector:
        records = wait_until_equal(stream, connector, TABLES)
        assert "S651" not in connector.output()
    assert {r.op for r in records if r.value} == {"c", "u", "d"}
    stream.execute(f"DROP DATABASE {stream.database}")
