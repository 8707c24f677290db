"""After foreign keys have changed rows, consumers have the rows that the server has.

MySQL before 9.6 and MariaDB log the change of the parent alone. MySQL 9 logs all changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.foundation.settings.configuration import load_settings
from connector.stream.snapshot.copy_requests import failed_copies
from tests.integration.database_stream import new_stream
from tests.integration.harness import wait_until
from tests.integration.schema.cascading_tables import ops, wait_until_equal
from tests.integration.snapshots.test_snapshot import run_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import KafkaBroker, Server
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

HIDING = ["mysql_server", "mariadb_server"]


@pytest.fixture(params=HIDING)
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
    (
        "CREATE TABLE b (id INT PRIMARY KEY, a INT, "
        "FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE)"
    ),
    (
        "CREATE TABLE c (id INT PRIMARY KEY, b INT, "
        "FOREIGN KEY (b) REFERENCES b (id) ON DELETE CASCADE ON UPDATE CASCADE)"
    ),
    (
        "CREATE TABLE n (id INT PRIMARY KEY, v INT, b INT, "
        "FOREIGN KEY (b) REFERENCES b (id) ON DELETE SET NULL ON UPDATE SET NULL)"
    ),
    (
        "CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9), "
        "FOREIGN KEY (code) REFERENCES a (code) ON DELETE SET NULL ON UPDATE CASCADE)"
    ),
    "INSERT INTO a VALUES (1, 'x'), (2, 'y'), (3, 'it''s'), (4, NULL), (5, 'z')",
    "INSERT INTO b VALUES (10, 1), (11, 1), (20, 2), (30, 3), (40, 4), (50, NULL)",
    "INSERT INTO c VALUES (100, 10), (101, 10), (110, 11), (200, 20), (300, 30)",
    "INSERT INTO n VALUES (1, 1, 10), (2, 2, 20), (3, 3, 30), (4, 4, NULL)",
    "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'it''s'), (4, NULL), (5, 'z')",
)
OTHERS = (
    # The columns of a key in another order, and as a part of the child's own key.
    "CREATE TABLE p2 (x INT, y INT, PRIMARY KEY (x, y))",
    (
        "CREATE TABLE k2 (id INT PRIMARY KEY, py INT, px INT, "
        "FOREIGN KEY (px, py) REFERENCES p2 (x, y) ON DELETE SET NULL ON UPDATE CASCADE)"
    ),
    (
        "CREATE TABLE l2 (px INT, py INT, line INT, PRIMARY KEY (px, py, line), "
        "FOREIGN KEY (px, py) REFERENCES p2 (x, y) ON DELETE CASCADE ON UPDATE CASCADE)"
    ),
    (
        "CREATE TABLE s (id INT PRIMARY KEY, up INT, "
        "FOREIGN KEY (up) REFERENCES s (id) ON DELETE CASCADE)"
    ),
    (
        "CREATE TABLE f (id INT PRIMARY KEY, up INT, "
        "FOREIGN KEY (up) REFERENCES f (id) ON DELETE SET NULL)"
    ),
    "INSERT INTO p2 VALUES (1, 1), (1, 2), (2, 1)",
    "INSERT INTO k2 VALUES (1, 1, 1), (2, 2, 1), (3, 1, 2), (4, NULL, 2)",
    "INSERT INTO l2 VALUES (1, 1, 1), (1, 1, 2), (1, 2, 1), (2, 1, 1)",
    "INSERT INTO s VALUES (1, NULL), (2, 1), (3, 2), (4, NULL), (5, 4)",
    "INSERT INTO f VALUES (1, NULL), (2, 1), (3, 2), (4, NULL), (5, 4)",
)
TABLES = ["a", "b", "c", "n", "t", "p2", "k2", "l2", "s", "f"]
STORIES: list[tuple[str, ...]] = [
    (
        "UPDATE a SET code = 'new' WHERE id = 1",
        "UPDATE a SET code = 'it''s it' WHERE id = 3",
        "UPDATE p2 SET x = 7 WHERE y = 2",
    ),
    ("UPDATE a SET id = 22 WHERE id = 2", "UPDATE p2 SET x = 3, y = 3 WHERE x = 2"),
    (
        "UPDATE a SET id = 23 WHERE id = 22",
        "UPDATE a SET id = 24, code = NULL WHERE id = 23",
        "DELETE FROM p2 WHERE y = 1",
    ),
    ("DELETE FROM a WHERE id = 1", "DELETE FROM p2", "DELETE FROM s WHERE id = 1"),
    ("BEGIN", "UPDATE c SET b = 40 WHERE id = 300", "DELETE FROM a WHERE id = 3", "COMMIT"),
    ("REPLACE INTO a VALUES (4, 'r')", "DELETE FROM f WHERE id IN (1, 4)"),
    (
        "XA START 'k'",
        "DELETE FROM a WHERE id = 24",
        "XA END 'k'",
        "XA PREPARE 'k'",
        "XA COMMIT 'k'",
    ),
    ("SET foreign_key_checks = 0", "DELETE FROM s WHERE id = 4"),
]


def play(stream: Stream) -> None:
    """Have a consumer compared with the server after each story."""
    stream.execute(*CHAIN, *OTHERS)
    # Of one partition, because all topics are read after each story.
    with stream.connector(schema__cascade_seconds=0, kafka__partitions=1) as connector:
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


ORDERS = (
    "CREATE TABLE orders (id INT PRIMARY KEY)",
    (
        "CREATE TABLE items (id INT PRIMARY KEY, o INT, "
        "CONSTRAINT fk FOREIGN KEY (o) REFERENCES orders (id) ON DELETE CASCADE)"
    ),
    "INSERT INTO orders VALUES (1), (2), (3), (4), (5), (6), (7), (8)",
    "INSERT INTO items VALUES (10, 1), (20, 2), (30, 3), (40, 4), (50, 5), (60, 6), (80, 8)",
)
ITEMS = ["orders", "items"]


def test_copies_of_many_cascades_are_joined_and_survive_a_restart(hiding: Stream) -> None:
    hiding.execute(*ORDERS)
    with hiding.connector(schema__cascade_seconds=3600) as connector:
        wait_until_equal(hiding, connector, ITEMS)
        hiding.execute("DELETE FROM orders WHERE id = 1")
        assert ops(wait_until_equal(hiding, connector, ITEMS), "items").count("t") == 1
        hiding.execute(*(f"DELETE FROM orders WHERE id = {number}" for number in range(2, 7)))
        records = wait_until_equal(hiding, connector, ["orders"])
        assert ops(records, "items").count("t") == 1
        # The copy is wanted since these deletes, and has not begun.
        connector.kill()
    with hiding.connector(schema__cascade_seconds=3600) as connector:
        assert ops(wait_until_equal(hiding, connector, ITEMS), "items").count("t") == 2
        assert "foreign keys change rows of these tables" in connector.output()


def test_parents_need_not_be_followed(hiding: Stream) -> None:
    hiding.execute(*CHAIN)
    left_out = [f"{hiding.database}.a", f"{hiding.database}.b"]
    followed = ["c", "n", "t"]
    with hiding.connector(schema__cascade_seconds=0, source__exclude_tables=left_out) as connector:
        wait_until_equal(hiding, connector, followed)
        # From a through b to c.
        hiding.execute("UPDATE a SET code = 'w' WHERE id = 1", "DELETE FROM a WHERE id = 2")
        wait_until_equal(hiding, connector, followed)
        hiding.execute("DELETE FROM b WHERE id = 10")
        hiding.execute("XA START 'k'", "DELETE FROM a WHERE id = 3", "XA END 'k'", "XA PREPARE 'k'")
        records = wait_until_equal(hiding, connector, followed)
        connector.kill()
    with hiding.connector(schema__cascade_seconds=0, source__exclude_tables=left_out) as connector:
        connector.wait_for("streaming")
        hiding.execute("XA COMMIT 'k'")
        records = wait_until_equal(hiding, connector, followed)
    assert {r.topic.rpartition(".")[2] for r in records} == {*followed}


def test_keys_are_known_that_come_and_go_while_the_stream_runs(hiding: Stream) -> None:
    hiding.execute(*ORDERS, "ALTER TABLE items DROP FOREIGN KEY fk")
    key = "FOREIGN KEY (o) REFERENCES orders (id) ON DELETE"
    with hiding.connector(schema__cascade_seconds=0) as connector:
        wait_until_equal(hiding, connector, ITEMS)
        hiding.execute(
            f"ALTER TABLE items ADD CONSTRAINT fk {key} CASCADE", "DELETE FROM orders WHERE id = 1"
        )
        wait_until_equal(hiding, connector, ITEMS)
        hiding.execute(
            "ALTER TABLE items DROP FOREIGN KEY fk",
            f"ALTER TABLE items ADD CONSTRAINT f2 {key} SET NULL",
            "RENAME TABLE orders TO sales",
            "DELETE FROM sales WHERE id = 2",
        )
        wait_until_equal(hiding, connector, ["sales", "items"])


def test_a_key_that_was_dropped_while_the_pipeline_stood_still_is_not_missed(
    hiding: Stream,
) -> None:
    hiding.execute(*ORDERS)
    with hiding.connector(schema__cascade_seconds=0) as connector:
        wait_until_equal(hiding, connector, ITEMS)
        assert connector.terminate() == 0
    hiding.execute("DELETE FROM orders WHERE id = 1", "ALTER TABLE items DROP FOREIGN KEY fk")
    with hiding.connector(schema__cascade_seconds=0) as connector:
        wait_until_equal(hiding, connector, ITEMS)


def test_a_table_without_a_primary_key_is_copied_as_a_whole(hiding: Stream) -> None:
    hiding.execute(
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE c (id INT NOT NULL, p INT NOT NULL, UNIQUE (p), "
        "FOREIGN KEY (p) REFERENCES p (id) ON UPDATE CASCADE)",
        "INSERT INTO p VALUES (1), (2)",
        "INSERT INTO c VALUES (1, 1), (2, 2)",
    )
    with hiding.connector(schema__cascade_seconds=0) as connector:
        wait_until_equal(hiding, connector, ["p", "c"])
        hiding.execute("UPDATE p SET id = 3 WHERE id = 1")
        assert "t" in ops(wait_until_equal(hiding, connector, ["p", "c"]), "c")


def test_a_condition_that_fails_becomes_a_copy_of_all_rows(hiding: Stream) -> None:
    hiding.execute(*CHAIN)
    with hiding.connector(schema__cascade_seconds=2) as connector:
        wait_until_equal(hiding, connector, TABLES[:5])
        hiding.execute("UPDATE a SET code = 'w1' WHERE id = 1")
        wait_until_equal(hiding, connector, TABLES[:5])
        # The column that the condition names is gone when the copy begins.
        hiding.execute("UPDATE a SET code = 'w2' WHERE id = 1")
        hiding.execute("ALTER TABLE t DROP FOREIGN KEY t_ibfk_1, DROP COLUMN code")
        connector.wait_for("rows cannot be copied by a condition")
        wait_until_equal(hiding, connector, TABLES[:5])


def test_a_stopped_copy_of_changed_rows_fails_for_the_whole_table(hiding: Stream) -> None:
    hiding.execute(
        "CREATE TABLE a (id INT PRIMARY KEY, code VARCHAR(9) UNIQUE)",
        "CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9), "
        "FOREIGN KEY (code) REFERENCES a (code) ON UPDATE CASCADE)",
        "CREATE TABLE signals (id VARCHAR(9) PRIMARY KEY, type VARCHAR(32), data VARCHAR(9))",
        "INSERT INTO a VALUES (1, 'x'), (2, 'y')",
        "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
    )
    name = f"{hiding.database}.t"
    chosen = {"signals__table": f"{hiding.database}.signals", "schema__cascade_seconds": 0}
    with hiding.connector(**chosen) as connector:
        wait_until_equal(hiding, connector, ["a", "t"])
        hiding.execute(
            "INSERT INTO signals VALUES ('1', 'pause-snapshot', '{}')",
            "UPDATE a SET code = 'new' WHERE id = 1",
        )
        connector.wait_for("foreign keys have changed rows")
        hiding.execute(
            "INSERT INTO signals VALUES ('2', 'stop-snapshot', '{}')",
            "INSERT INTO signals VALUES ('3', 'resume-snapshot', '{}')",
        )
        connector.wait_for("copying goes on")
        settings = load_settings(connector.config)

        def failed() -> bool:
            return failed_copies(settings.kafka, settings.name) == [(hiding.database, "t")]

        wait_until(failed, connector.output)
        copied = run_snapshot(connector.config, name)
        assert (copied.returncode, copied.stderr) == (0, "")
        wait_until_equal(hiding, connector, ["a", "t"])
        assert not failed_copies(settings.kafka, settings.name)


def test_cascades_can_be_left_out(hiding: Stream) -> None:
    hiding.execute(*ORDERS)
    with hiding.connector(schema__on_cascade="warn") as connector:
        wait_until_equal(hiding, connector, ITEMS)
        hiding.execute("DELETE FROM orders WHERE id = 1", "INSERT INTO items VALUES (9, 8)")

        def has_row() -> bool:
            return any(record.key == {"id": 9} for record in hiding.changes())

        wait_until(has_row, connector.output)
        name = f"{hiding.database}.items"
        assert (
            f"foreign keys change rows of these tables without a trace in the log of this server: "
            f"{name}; consumers keep rows that the source does not have; set schema.on_cascade to "
            "copy" in connector.output()
        )
    assert {record.op for record in hiding.changes()} == {"c", "d"}
