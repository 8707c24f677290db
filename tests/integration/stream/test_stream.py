"""What arrives in Kafka when things happen on the source."""

from __future__ import annotations

import signal
from itertools import count
from typing import TYPE_CHECKING

import pytest

from connector.foundation.contract import SEQ_ROW_DIGITS
from local_stack import KafkaBroker, MariadbServer, MysqlServer
from tests.integration.database_stream import new_stream
from tests.integration.harness import failure_of, read_committed, wait_until
from tests.integration.packet_proxy import PacketProxy, ends_a_transaction
from tests.length import full_only

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]


def test_inserts_updates_and_deletes_arrive_with_old_and_new_values(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20) CHARACTER SET utf8mb4)",
        "INSERT INTO t VALUES (1, 'Zoë'), (2, NULL)",
        "UPDATE t SET name = 'Ann' WHERE id = 1",
        "DELETE FROM t WHERE id = 2",
    )
    with stream.connector() as connector:
        seen = stream.wait_for_changes(4, connector)
        assert connector.terminate() == 0
    assert [(s.op, s.key, s.value["before"], s.value["after"]) for s in seen] == [
        ("c", {"id": 1}, None, {"id": 1, "name": "Zoë"}),
        ("c", {"id": 2}, None, {"id": 2, "name": None}),
        ("u", {"id": 1}, {"id": 1, "name": "Zoë"}, {"id": 1, "name": "Ann"}),
        ("d", {"id": 2}, {"id": 2, "name": None}, None),
    ]
    source = seen[0].value["source"]
    assert (source["db"], source["table"], source["row"]) == (stream.database, "t", 0)
    assert source["gtid"] == seen[0].headers["cdc.txn"]
    assert seen[0].headers["cdc.txn"] == seen[1].headers["cdc.txn"]


def test_a_rolled_back_transaction_leaves_nothing(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    stream.transaction("INSERT INTO t VALUES (1)", end="ROLLBACK")
    stream.transaction(
        "INSERT INTO t VALUES (2)",
        "SAVEPOINT s",
        "INSERT INTO t VALUES (3)",
        "ROLLBACK TO SAVEPOINT s",
        "INSERT INTO t VALUES (4)",
    )
    with stream.connector() as connector:
        seen = stream.wait_for_changes(2, connector)
    assert [s.key["id"] for s in seen] == [2, 4]


def test_rows_of_an_engine_without_transactions_arrive(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY) ENGINE=MyISAM",
        "INSERT INTO t VALUES (1), (2)",
    )
    with stream.connector() as connector:
        seen = stream.wait_for_changes(2, connector)
        assert connector.terminate() == 0
    assert [s.key["id"] for s in seen] == [1, 2]


def test_a_primary_key_change_is_a_delete_a_tombstone_and_a_create(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 7)",
        "UPDATE t SET id = 9 WHERE id = 1",
    )
    with stream.connector() as connector:
        seen = stream.wait_for_changes(3, connector)
    _, deleted, created = seen
    assert (deleted.op, deleted.key, deleted.value["after"]) == ("d", {"id": 1}, None)
    assert (created.op, created.key) == ("c", {"id": 9})
    assert created.value["after"] == {"id": 9, "v": 7}
    assert deleted.headers["__debezium.newkey"] == '{"id":9}'
    assert created.headers["__debezium.oldkey"] == '{"id":1}'
    assert int(created.seq) == int(deleted.seq) + 1
    tombstones = [s for s in read_committed(stream.broker, stream.prefix) if s.value is None]
    assert [(s.key, s.seq) for s in tombstones] == [({"id": 1}, deleted.seq)]


def test_a_table_without_a_key_keeps_its_order_in_one_partition(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (v INT)", "INSERT INTO t VALUES (1), (2), (3)")
    with stream.connector() as connector:
        seen = stream.wait_for_changes(3, connector)
    assert [(s.key, s.partition, s.value["after"]["v"]) for s in seen] == [
        (None, 0, 1),
        (None, 0, 2),
        (None, 0, 3),
    ]


def test_compressed_transactions_arrive_like_others(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v TEXT)",
        "INSERT INTO t VALUES (1, REPEAT('x', 1000))",
        "SET binlog_transaction_compression = ON",
        "BEGIN",
        "INSERT INTO t VALUES (2, REPEAT('y', 1000)), (3, NULL)",
        "UPDATE t SET v = 'z' WHERE id = 1",
        "COMMIT",
        "DELETE FROM t WHERE id = 2",
    )
    with stream.connector() as connector:
        seen = stream.wait_for_changes(5, connector)
        assert connector.terminate() == 0
    assert [(s.op, s.key["id"]) for s in seen] == [("c", 1), ("c", 2), ("c", 3), ("u", 1), ("d", 2)]
    assert seen[3].value["before"] == {"id": 1, "v": "x" * 1000}
    assert seen[4].value["before"] == {"id": 2, "v": "y" * 1000}
    # The events inside are counted, as if nothing were compressed.
    assert seen[1].headers["cdc.txn"] == seen[3].headers["cdc.txn"] != seen[4].headers["cdc.txn"]
    events = [s.seq[:-SEQ_ROW_DIGITS] for s in seen]
    assert events[1] == events[2]
    assert int(events[3]) == int(events[2]) + 1


# tests/integration/decoding/test_transactions.py compares their rows with those of plain ones, and
# the life of a pipeline on MariaDB has them.
@full_only
def test_compressed_events_of_mariadb_arrive_like_others(
    kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    settings = {"log_bin_compress": "ON", "log_bin_compress_min_len": "10"}
    with MariadbServer(tmp_path / "mariadb", settings=settings) as server:
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        stream.execute(
            "CREATE TABLE t (id INT PRIMARY KEY, v TEXT)",
            "INSERT INTO t VALUES (1, REPEAT('x', 1000)), (2, REPEAT('y', 1000))",
            "UPDATE t SET v = REPEAT('z', 1000) WHERE id = 1",
            "DELETE FROM t WHERE id = 2",
            "TRUNCATE TABLE t /* a statement that is long enough to be compressed */",
        )
        with stream.connector() as connector:
            seen = stream.wait_for_changes(5, connector)
            assert connector.terminate() == 0
    assert [(s.op, s.key) for s in seen] == [
        ("c", {"id": 1}),
        ("c", {"id": 2}),
        ("u", {"id": 1}),
        ("d", {"id": 2}),
        ("t", None),
    ]
    assert seen[2].value["after"] == {"id": 1, "v": "z" * 1000}


def test_a_column_that_mariadb_adds_in_two_phases_is_added_once(mariadb_stream: Stream) -> None:
    stream = mariadb_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "SET SESSION binlog_alter_two_phase = 1",
        "ALTER TABLE t ADD COLUMN v INT DEFAULT 7",
        "INSERT INTO t (id) VALUES (2)",
    )
    with stream.connector() as connector:
        seen = stream.wait_for_changes(2, connector)
        assert connector.terminate() == 0
    assert [s.value["after"] for s in seen] == [{"id": 1}, {"id": 2, "v": 7}]
    # Between the rows the statement counts once, when it is committed.
    assert seen[0].headers["cdc.schema"] != seen[1].headers["cdc.schema"]


def test_an_xa_transaction_in_one_phase_arrives(
    private_mysql_stream: tuple[Stream, MysqlServer],
) -> None:
    stream, _ = private_mysql_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "XA START 'x'",
        "INSERT INTO t VALUES (1)",
        "XA END 'x'",
        "XA COMMIT 'x' ONE PHASE",
        "INSERT INTO t VALUES (2)",
    )
    with stream.connector() as connector:
        seen = stream.wait_for_changes(2, connector)
    assert [s.key["id"] for s in seen] == [1, 2]


def test_truncate_says_that_earlier_rows_are_gone(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "TRUNCATE TABLE t",
        "INSERT INTO t VALUES (2)",
        "DROP TABLE t",
    )
    with stream.connector() as connector:
        seen = stream.wait_for_changes(4, connector)
    assert [(s.op, s.key) for s in seen] == [
        ("c", {"id": 1}),
        ("t", None),
        ("c", {"id": 2}),
        ("t", None),
    ]


def test_dropping_the_database_empties_the_tables_that_were_published(stream: Stream) -> None:
    other = f"{stream.database}_b"
    stream.execute(
        f"CREATE DATABASE {other}",
        f"CREATE TABLE {other}.t (id INT PRIMARY KEY)",
        f"CREATE TABLE {other}.empty (id INT PRIMARY KEY)",
        f"INSERT INTO {other}.t VALUES (1)",
        f"DROP DATABASE {other}",
    )
    with stream.connector(source__tables=[f"{other}.*"]) as connector:
        seen = stream.wait_for_changes(2, connector)
    assert [(s.topic, s.op) for s in seen] == [
        (f"{stream.prefix}.{other}.t", "c"),
        (f"{stream.prefix}.{other}.t", "t"),
    ]


def test_an_added_column_says_what_existing_rows_hold(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "ALTER TABLE t ADD COLUMN price DECIMAL(8,2) NOT NULL DEFAULT 1.5, ADD note TEXT",
    )
    with stream.connector() as connector:
        stream.wait_for_changes(1, connector)
        assert connector.terminate() == 0
    # The statement is remembered across the restart until rows tell the new column list.
    stream.execute("INSERT INTO t VALUES (2, 3, 'x')")
    with stream.connector() as connector:
        seen = stream.wait_for_changes(2, connector)
    assert seen[1].value["after"] == {"id": 2, "price": "3.00", "note": "x"}
    schemas = {
        s.value["schema_id"]: s.value["columns"]
        for s in read_committed(stream.broker, stream.prefix, control=True)
        if s.topic == f"{stream.prefix}.schema"
    }
    assert len(schemas) == 2
    columns = {c["name"]: c for c in schemas[seen[1].headers["cdc.schema"]]}
    assert columns["price"]["added_default"] == "1.50"
    assert "added_default" not in columns["note"]


def test_tables_that_are_not_followed_do_not_arrive(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY)",
        "INSERT INTO a VALUES (1)",
        "INSERT INTO b VALUES (1)",
        "INSERT INTO a VALUES (2)",
    )
    with stream.connector(source__exclude_tables=[f"{stream.database}.b"]) as connector:
        seen = stream.wait_for_changes(2, connector)
        assert connector.terminate() == 0
    assert [s.topic for s in stream.changes()] == [f"{stream.prefix}.{stream.database}.a"] * 2
    assert [s.key["id"] for s in seen] == [1, 2]


def test_statements_of_a_database_that_is_not_followed_pass(stream: Stream, database: str) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    stream.execute(
        f"USE {database}",
        "CREATE TABLE u (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT)",
        "SET SESSION binlog_format = STATEMENT",
        "SET @v = 'x'",
        "INSERT INTO u (v) VALUES (CONCAT(@v, RAND()))",
    )
    stream.execute("INSERT INTO t VALUES (2)")
    with stream.connector() as connector:
        seen = stream.wait_for_changes(2, connector)
    assert [s.key["id"] for s in seen] == [1, 2]


def test_a_restart_goes_on_where_the_last_run_committed(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    for last in (1, 2, 3):
        with stream.connector() as connector:
            stream.wait_for_changes(last, connector)
            assert connector.terminate() == 0
        stream.execute(f"INSERT INTO t VALUES ({last + 1})")
    assert [s.key["id"] for s in stream.changes()] == [1, 2, 3]


# tests/integration/stream/test_restarts.py dies at each event by position, and the life of a
# pipeline without GTIDs has a broker.
@full_only
def test_a_stream_by_position_restarts_as_exactly(
    mysql_without_gtid_stream: Stream,
) -> None:
    stream = mysql_without_gtid_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    for last in (1, 2):
        with stream.connector() as connector:
            stream.wait_for_changes(last, connector)
            assert connector.terminate() == 0
        stream.execute(f"INSERT INTO t VALUES ({last + 1})", "FLUSH BINARY LOGS")
    seen = stream.changes()
    assert [s.key["id"] for s in seen] == [1, 2]
    assert seen[0].value["source"]["gtid"] is None
    assert seen[0].headers["cdc.txn"].startswith("binlog.")


def test_a_transaction_larger_than_a_batch_arrives_whole(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(2000))",
        "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
        "WHERE i < 900) SELECT i, REPEAT('x', 2000) FROM n",
    )
    with stream.connector(
        delivery__batch_bytes_max=65536, delivery__in_flight_bytes_max=131072
    ) as connector:
        seen = stream.wait_for_changes(900, connector)
        assert connector.terminate() == 0
    assert [s.key["id"] for s in seen] == list(range(1, 901))
    assert len({s.headers["cdc.txn"] for s in seen}) == 1


def test_a_transaction_is_delivered_although_the_next_one_always_has_begun(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    with (
        PacketProxy(stream.source, waits=ends_a_transaction) as proxy,
        stream.connector(source__port=proxy.port, **{"source.tls__mode": "disabled"}) as connector,
    ):
        connector.wait_for('"message": "streaming"')
        numbers = count()

        def delivered() -> bool:
            # Its end comes with the beginning of the next one.
            stream.execute(f"INSERT INTO t VALUES ({next(numbers)})")
            return bool(stream.changes())

        wait_until(delivered, connector.output, seconds=20)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_stop_ends_with_exit_code_0(stream: Stream, number: signal.Signals) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    with stream.connector() as connector:
        connector.wait_for('"message": "streaming"')
        stream.execute("INSERT INTO t VALUES (1)")
        stream.wait_for_changes(1, connector)
        connector.signal(number)
        assert connector.wait() == 0, connector.output()


def test_a_second_instance_fences_the_first(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with stream.connector() as first:
        stream.wait_for_changes(1, first)
        config = stream.config(source__server_id=4711)
        second_config = config.with_name("second.toml")
        second_config.write_text(config.read_text())
        with type(first)(second_config) as second:
            second.wait_for('"message": "streaming"')
            stream.execute("INSERT INTO t VALUES (2)")
            assert first.wait() == 3
            said = failure_of(first.output())
            assert said.startswith(
                f"pipeline {stream.prefix}: another instance took over (process "
                f"{second.process.pid if second.process else 0} on "
            )
            assert "stop one of the two, or give this one another name" in said
            stream.wait_for_changes(2, second)
            assert second.terminate() == 0
    assert [s.key["id"] for s in stream.changes()] == [1, 2]


def test_a_pipeline_that_starts_over_writes_after_what_is_in_its_topics(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with stream.connector() as connector:
        stream.wait_for_changes(1, connector)
        assert connector.terminate() == 0
    stream.execute("INSERT INTO t VALUES (2)")
    with stream.connector(name=f"{stream.prefix}_2") as connector:
        # From the beginning of the log: what is read again is older than what is there.
        stream.wait_for_changes(3, connector)
        assert connector.terminate() == 0
    seen = sorted(stream.changes(), key=lambda change: change.seq)
    assert [change.key["id"] for change in seen] == [1, 1, 2]
    assert [change.seq[:4] for change in seen] == ["0001", "0002", "0002"]


def test_a_source_that_restarts_is_followed_again(
    private_mysql_stream: tuple[Stream, object],
) -> None:
    stream, server = private_mysql_stream
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with stream.connector() as connector:
        stream.wait_for_changes(1, connector)
        server.kill()  # type: ignore[attr-defined]
        connector.wait_for('"message": "interrupted"')
        server.start()  # type: ignore[attr-defined]
        stream.execute("INSERT INTO t VALUES (2)")
        seen = stream.wait_for_changes(2, connector)
        assert connector.terminate() == 0
    assert [s.key["id"] for s in seen] == [1, 2]


@pytest.mark.parametrize("kind", [MysqlServer, MariadbServer])
def test_files_with_and_without_checksums_are_followed(
    kind: type[MysqlServer | MariadbServer], kafka_broker: KafkaBroker, tmp_path: Path
) -> None:
    with kind(tmp_path / "source", settings={"binlog-checksum": "NONE"}) as server:
        stream = new_stream(server.endpoint, kafka_broker.endpoint, tmp_path)
        stream.execute(
            "CREATE TABLE t (id INT PRIMARY KEY)",
            "INSERT INTO t VALUES (1)",
            "SET GLOBAL binlog_checksum = CRC32",
            "INSERT INTO t VALUES (2)",
            "SET GLOBAL binlog_checksum = NONE",
            "INSERT INTO t VALUES (3)",
        )
        with stream.connector() as connector:
            seen = stream.wait_for_changes(3, connector)
            assert connector.terminate() == 0
    assert [s.key["id"] for s in seen] == [1, 2, 3]


def test_a_broker_that_is_killed_is_written_to_again(
    mysql_server: MysqlServer, tmp_path: Path
) -> None:
    with KafkaBroker(tmp_path / "kafka") as broker:
        stream = new_stream(mysql_server.endpoint, broker.endpoint, tmp_path)
        stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        with stream.connector(
            kafka__request_timeout_seconds=2, kafka__transaction_timeout_seconds=4
        ) as connector:
            stream.wait_for_changes(1, connector)
            broker.kill()
            stream.execute("INSERT INTO t VALUES (2)")
            connector.wait_for('"message": "interrupted"')
            stream.execute("INSERT INTO t VALUES (3)")
            broker.start()
            seen = stream.wait_for_changes(3, connector)
            assert connector.terminate() == 0
        assert [s.key["id"] for s in seen] == [1, 2, 3]
