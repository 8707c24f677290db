"""Copies of tables to which statements come, and of servers that are set up in unusual ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import connect
from tests.integration.harness import ConnectorProcess, read_committed
from tests.integration.test_snapshot import states, topics_equal_the_source, wait_for_copies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.conftest import Stream

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
