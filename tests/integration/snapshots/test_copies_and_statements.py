"""Copies of tables to which statements come, and of servers that are set up in unusual ways."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors.message import Message
from connector.foundation.settings.configuration import load_settings
from connector.stream.commands.requests import write_command
from connector.stream.envelope import record_errors
from connector.stream.snapshot import copy_errors
from connector.stream.source import table_errors
from local_stack import connect
from tests.foundation.errors.texts import shown, text_of
from tests.integration.harness import ConnectorProcess, read_committed, wait_until
from tests.integration.snapshots.snapshot_load import failure_messages
from tests.integration.snapshots.test_snapshot import (
    run_snapshot,
    states,
    topics_equal_the_source,
    wait_for_copies,
)
from tests.integration.stream.test_quarantine import fences, quarantine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka, pytest.mark.timeout(300)]


@pytest.fixture
def dirty_stream(either_stream: Stream) -> Iterator[Stream]:
    """Give a stream of a server whose sessions see what others have not committed."""
    stream = either_stream
    stream.execute("SET GLOBAL TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
    yield stream
    stream.execute("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")


@pytest.mark.parametrize("key", [", PRIMARY KEY (id)", ""], ids=["key", "no key"])
def test_what_is_not_committed_is_not_copied(dirty_stream: Stream, key: str) -> None:
    stream = dirty_stream
    stream.execute(f"CREATE TABLE orders (id INT NOT NULL{key})", "INSERT INTO orders VALUES (1)")
    with connect(stream.source, stream.database) as writer, writer.cursor() as cursor:
        writer.autocommit(False)
        cursor.execute("INSERT INTO orders VALUES (2)")
        with stream.connector(source__start="snapshot") as connector:
            if not key:
                # MySQL locks such a table for a moment, and this transaction uses it.
                connector.wait_for("streaming")
                writer.rollback()
            wait_for_copies(stream, connector, f"{stream.database}.orders")
            writer.rollback()
            assert connector.terminate() == 0
    copied = [r.value["after"] for r in read_committed(stream.broker, stream.prefix) if r.op == "r"]
    assert copied == [{"id": 1}]


def test_a_table_that_is_renamed_and_dropped_at_once_is_not_waited_for(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE orders (id INT PRIMARY KEY)",
        "INSERT INTO orders VALUES (1)",
        "CREATE TABLE orders_new (id INT PRIMARY KEY)",
        "RENAME TABLE orders TO orders_old, orders_new TO orders",
        "DROP TABLE orders_old",
        "INSERT INTO orders VALUES (2)",
    )
    with stream.connector(delivery__commit_interval_ms=1000) as connector:
        wait_for_copies(stream, connector, f"{stream.database}.orders")
        topics_equal_the_source(stream, connector, "orders")
        assert connector.terminate() == 0
    assert set(states(stream)) == {f"{stream.database}.orders"}


def test_a_database_that_comes_and_goes_at_once_is_not_waited_for(stream: Stream) -> None:
    other = f"{stream.database}_other"
    config = stream.config(
        source__start="snapshot",
        source__tables=[f"{stream.database}.*", f"{other}.*"],
        delivery__commit_interval_ms=1000,
    )
    stream.execute("CREATE TABLE orders (id INT PRIMARY KEY)")
    with ConnectorProcess(config) as connector:
        wait_for_copies(stream, connector, f"{stream.database}.orders")
        assert connector.terminate() == 0
    stream.execute(
        f"CREATE DATABASE {other}",
        f"CREATE TABLE {other}.short (id INT PRIMARY KEY)",
        f"INSERT INTO {other}.short VALUES (1)",
        f"DROP DATABASE {other}",
        "INSERT INTO orders VALUES (2)",
    )
    with ConnectorProcess(config) as connector:
        topics_equal_the_source(stream, connector, "orders")
        assert connector.terminate() == 0
    assert set(states(stream)) == {f"{stream.database}.orders"}


@pytest.mark.parametrize("policy", ["fence-key", "fence-table"])
def test_rows_of_a_copy_that_cannot_be_published_are_kept_back(
    either_stream: Stream, policy: str
) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE orders (id INT PRIMARY KEY, v LONGTEXT)",
        "INSERT INTO orders SELECT n, IF(n = 3, REPEAT('x', 100000), 'small') FROM "
        "(SELECT 1 AS n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5) numbers",
    )
    name = f"{stream.database}.orders"
    changed = {
        "source__start": "snapshot",
        "snapshot__chunk_rows": 3,
        "kafka__record_bytes_max": 20_000,
        "quarantine__policy": policy,
    }
    config = stream.config(**changed)
    with ConnectorProcess(config) as connector:
        connector.wait_for('"copied"' if policy == "fence-key" else "a copy failed")
        stream.execute("UPDATE orders SET v = 'shorter' WHERE id = 3")
        stream.execute("UPDATE orders SET v = 'changed' WHERE id = 4")
        (fence,) = wait_for_fences(config, rows=2 if policy == "fence-key" else 3)
        assert fence["key"] == ('{"id":3}' if policy == "fence-key" else None)
        assert f"topic {stream.prefix}.{name}: a record is larger than" in fence["reason"]
        seen = stream.changes()
        written = [(r.op, r.key["id"]) for r in seen]
        if policy == "fence-key":
            assert written == [("r", 1), ("r", 2), ("r", 4), ("r", 5), ("u", 4)]
            assert states(stream)[name]["kept_back"] == 1
        else:
            assert written == [("r", 1), ("r", 2)]
            assert "`binlog-connector snapshot CONFIG" in states(stream)[name]["error"]
        code, said = quarantine("show", config, name)
        assert code == 0
        assert '{"before":null,"' in said
        code, said = quarantine("replay", config, name)
        assert code == 3
        assert "it keeps back a row of a copy, and the log has no change of this row" in said
        assert connector.terminate() == 0
    # The row that is there now can be carried: copied anew, and its fence is lifted.
    with ConnectorProcess(config) as connector:
        connector.wait_for("streaming")
        done = run_snapshot(config, name)
        assert (done.returncode, done.stderr) == (0, "")
        assert fences(config) == []
        topics_equal_the_source(stream, connector, "orders")
        assert connector.terminate() == 0


def wait_for_fences(config: Path, rows: int) -> list[dict[str, Any]]:
    """Return the fences once the first one keeps back that much."""
    found: list[dict[str, Any]] = []

    def enough() -> bool:
        found[:] = fences(config)
        return bool(found) and found[0]["rows"] >= rows

    wait_until(enough, lambda: f"{found}")
    return found


def ask(config: Path, *arguments: str) -> subprocess.Popen[str]:
    """Begin `binlog-connector snapshot`."""
    return subprocess.Popen(
        [sys.executable, "-m", "connector", "snapshot", str(config), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_request_ends_when_its_table_is_dropped(stream: Stream) -> None:
    stream.execute("CREATE TABLE orders (id INT PRIMARY KEY)", "INSERT INTO orders VALUES (1)")
    # Nothing is read until the pause ends, which it does not.
    config = stream.config(source__start="latest", snapshot__pause_query="SELECT 1")
    with ConnectorProcess(config) as connector:
        connector.wait_for("streaming")
        asked = ask(config, f"{stream.database}.orders")
        connector.wait_for("reading is held back")
        stream.execute("DROP TABLE orders")
        _, said = asked.communicate(timeout=60)
        assert asked.returncode == 3
        assert said == f"error: {stream.database}.orders: {shown(copy_errors.ENDED)}\n"
        assert connector.terminate() == 0


def test_some_rows_of_a_table_without_a_key_cannot_be_copied(stream: Stream) -> None:
    stream.execute("CREATE TABLE log (n INT)", "INSERT INTO log VALUES (1), (2)")
    config = stream.config(source__start="latest")
    with ConnectorProcess(config) as connector:
        connector.wait_for("streaming")
        done = run_snapshot(config, f"{stream.database}.log", "--where", "n = 1")
        table = f"{stream.database}.log"
        expected = f"error: {table}: {shown(copy_errors.NO_KEY, table=table)}\n"
        assert (done.returncode, done.stderr) == (3, expected)
        assert stream.changes() == []
        assert connector.terminate() == 0


def test_a_request_that_cannot_be_done_any_more_fails_alone(stream: Stream) -> None:
    stream.execute("CREATE TABLE orders (id INT PRIMARY KEY, v INT)")
    settings = load_settings(stream.config(source__start="latest")).kafka
    tables = [[stream.database, "orders"]]
    # Asked for when there was such a column, such a table was followed, and by another version.
    write_command(settings, stream.prefix, "snapshot", tables=tables, where="gone = 1")
    write_command(settings, stream.prefix, "snapshot", tables=[["other", "t"]], where="")
    write_command(settings, stream.prefix, "snapshot", table=[1])
    write_command(settings, stream.prefix, "snapshot", tables=tables, where="")
    with stream.connector(source__start="latest") as connector:
        wait_for_copies(stream, connector, f"{stream.database}.orders")

        wait_until(lambda: len(failure_messages(connector.output())) == 2, connector.output)
        gone, other = sorted(failure_messages(connector.output()))
        orders = f"{stream.database}.orders"
        why = Message(table_errors.CONDITION_NO_COLUMN, {"table": orders, "column": "gone"})
        assert gone == text_of(record_errors.IN_COPY, table=orders, why=why)
        assert other == text_of(copy_errors.COPY_NOT_FOLLOWED, table="other.t")
        assert (
            '"error.message": "it has unknown keys: table", "error.code": "R131"'
            in connector.output()
        )
        assert connector.terminate() == 0


def test_a_copy_that_follows_a_request_is_nobodys(stream: Stream) -> None:
    """One that was asked for may fail alone; one that the stream needs ends the pipeline."""
    name = f"{stream.database}.orders"
    stream.execute(
        "CREATE TABLE orders (id INT PRIMARY KEY) PARTITION BY RANGE (id) "
        "(PARTITION low VALUES LESS THAN (10), PARTITION high VALUES LESS THAN (20))"
    )
    config = stream.config(source__start="latest")
    with ConnectorProcess(config) as connector:
        connector.wait_for("streaming")
        assert run_snapshot(config, name).returncode == 0
        assert states(stream)[name]["request"] >= 0
        stream.execute("ALTER TABLE orders DROP PARTITION high")
        connector.wait_for("DROP PARTITION")
        wait_for_copies(stream, connector, name)
        assert connector.terminate() == 0
    assert states(stream)[name]["request"] == -1


def test_a_condition_that_no_row_answers_in_time_is_refused(either_stream: Stream) -> None:
    stream = either_stream
    name = f"{stream.database}.orders"
    texts = ", ".join(f"({number}, REPEAT('a', 500000))" for number in range(40))
    stream.execute(
        "CREATE TABLE orders (id INT PRIMARY KEY, letters MEDIUMTEXT)",
        f"INSERT INTO orders VALUES {texts}",
    )
    config = stream.config(source__start="latest", snapshot__statement_seconds_max=0.05)
    with ConnectorProcess(config) as connector:
        connector.wait_for("streaming")
        done = run_snapshot(config, name, "--where", "letters LIKE '%ab%'")
        said = shown(copy_errors.SLOW_CONDITION, table=name, seconds=0.05)
        assert (done.returncode, done.stderr) == (3, f"error: {name}: {said}\n")
        assert connector.terminate() == 0
