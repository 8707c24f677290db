"""DDL on followed tables, from a server to Kafka: its text, and what it leaves of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import MysqlServer
from tests.integration.database_stream import new_stream
from tests.integration.harness import read_committed, wait_until
from tests.integration.proof.delivered import proven
from tests.integration.schema.folded_tables import folded, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack import KafkaBroker
    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]


def test_rows_follow_a_table_to_its_new_name(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY)",
        "INSERT INTO a VALUES (1), (2)",
        "INSERT INTO b VALUES (5)",
        "RENAME TABLE a TO x, b TO a, x TO b",
        "INSERT INTO a VALUES (6)",
        "ALTER TABLE b RENAME TO c",
        "INSERT INTO c VALUES (3)",
    )
    with stream.connector() as connector:
        wait_for(stream, connector, {"a": [5, 6], "b": [], "c": [1, 2, 3]})
        stream.execute("DELETE FROM c WHERE id = 2", "DELETE FROM a WHERE id = 5")
        wait_for(stream, connector, {"a": [6], "b": [], "c": [1, 3]})


def test_rows_of_a_partition_that_is_dropped_go(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY RANGE (id) "
        "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
        "INSERT INTO t VALUES (1), (11)",
        "ALTER TABLE t DROP PARTITION p0",
        "INSERT INTO t VALUES (2)",
    )
    with stream.connector() as connector:
        wait_for(stream, connector, {"t": [2, 11]})


def test_rows_come_under_a_key_that_was_changed(either_stream: Stream) -> None:
    stream = either_stream
    topic = f"{stream.prefix}.{stream.database}.t"
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, code INT NOT NULL)",
        "INSERT INTO t VALUES (1, 10), (2, 20)",
        "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (code)",
        "INSERT INTO t VALUES (2, 30)",
    )

    def keyed() -> dict[int, int]:
        records = [r for r in read_committed(stream.broker, stream.prefix) if r.topic == topic]
        gone = max((r.seq for r in records if r.value and r.op == "t"), default="")
        rows = [r for r in records if r.value and r.seq > gone]
        return {r.key["code"]: r.value["after"]["id"] for r in rows if "code" in r.key}

    with stream.connector() as connector:
        wait_until(lambda: keyed() == {10: 1, 20: 2, 30: 2}, connector.output)
        stream.execute("UPDATE t SET id = 7 WHERE code = 10")
        wait_until(lambda: keyed() == {10: 7, 20: 2, 30: 2}, connector.output)


def test_a_table_whose_columns_cannot_be_named_is_copied(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    settings = {"binlog_row_metadata": "MINIMAL"}
    with MysqlServer(tmp_path / "mysql", settings=settings) as server:
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        stream.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)",
            "CREATE TABLE other (id INT PRIMARY KEY)",
            "INSERT INTO t VALUES (1, 10, 20)",
            "INSERT INTO other VALUES (1)",
            "ALTER TABLE t CHANGE a b INT, CHANGE b a INT",
            "INSERT INTO t VALUES (2, 20, 10)",
        )
        with stream.connector() as connector:
            records = wait_for(stream, connector, {"t": [1, 2], "other": [1]})
            assert folded(records, "t") == {
                1: {"id": 1, "b": 10, "a": 20},
                2: {"id": 2, "b": 20, "a": 10},
            }
            assert "t" in [r.op for r in records if r.topic.endswith(".t")]
            stream.execute("UPDATE t SET a = 0 WHERE id = 1", "DELETE FROM t WHERE id = 2")
            records = wait_for(stream, connector, {"t": [1], "other": [1]})
            assert folded(records, "t") == {1: {"id": 1, "b": 10, "a": 0}}
        # The topics name the columns of all rows but those that the connector has dropped.
        outcome = proven(connector.config)
        assert dict(outcome.differences) == {}
        assert set(outcome.others) == {"columns unknown", "copied"}
        assert outcome.found == outcome.expected


def test_statements_come_in_the_order_of_the_rows(either_stream: Stream) -> None:
    stream = either_stream
    queries = [
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "ALTER TABLE t ADD COLUMN v INT DEFAULT 7",
        "TRUNCATE TABLE t",
        "DROP TABLE t",
    ]
    with stream.connector(source__exclude_tables=[f"{stream.database}.left_out"]) as connector:
        connector.wait_for("streaming")
        stream.execute(
            "CREATE TABLE left_out (id INT)",
            queries[0],
            "INSERT INTO t VALUES (1)",
            *queries[1:3],
            "INSERT INTO t VALUES (2, 2)",
            queries[3],
        )
        stream.wait_for_changes(4, connector)
    records = read_committed(stream.broker, stream.prefix, with_ddl=True)
    ddl = [r for r in records if r.topic == stream.prefix]
    texts = [r.value["ddl"] for r in ddl]
    assert [text.split(" /* ")[0].replace("`", "") for text in texts[-4:]] == queries
    assert ddl[-1].key == {"databaseName": stream.database}
    assert [change["type"] for r in ddl[-4:] for change in r.value["tableChanges"]] == [
        "CREATE",
        "ALTER",
        "DROP",
    ]
    assert ddl[-1].value["tableChanges"][0]["id"] == f'"{stream.database}"."t"'
    source = ddl[-1].value["source"]
    assert (source["db"], source["table"]) == (stream.database, "t")
    # Statements and rows are of one order: a statement comes before what it does to rows.
    rows = [r for r in records if r.topic == f"{stream.prefix}.{stream.database}.t"]
    order = sorted([*ddl[-4:], *rows], key=lambda r: (r.seq, r.topic))
    kinds = ["ddl" if r.topic == stream.prefix else r.op for r in order]
    assert kinds == ["ddl", "c", "ddl", "ddl", "t", "c", "ddl", "t"]
