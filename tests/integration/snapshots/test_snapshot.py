"""Tables are copied while they are written to, by the daemon as a user runs it."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from connector.cli import command_errors
from connector.foundation.errors.message import Message
from connector.stream.snapshot import copy_errors
from connector.stream.source import table_errors
from tests import forked_command
from tests.foundation.errors.texts import shown
from tests.integration.harness import (
    ConnectorProcess,
    failure_of,
    read_committed,
    run_to_end,
    wait_until,
)
from tests.integration.snapshots.snapshot_load import (
    Writer,
    all_rows,
    fill,
    folded,
    never_outdated,
    rows_of,
)
from tests.length import full_only, length

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

    from tests.integration.database_stream import Stream
    from tests.integration.harness import Seen

pytestmark = [pytest.mark.server, pytest.mark.kafka]

# What happens between chunks depends on how many there are, not on how large they are.
ROWS = 2400
SMALL_CHUNKS = {"source__start": "snapshot", "snapshot__chunk_rows": 100}


def states(stream: Stream) -> dict[str, dict[str, Any]]:
    """Return the last state of each table's copy, by its key."""
    found: dict[str, dict[str, Any]] = {}
    for record in read_committed(stream.broker, stream.prefix, control=True):
        if record.topic == f"{stream.prefix}.snapshot":
            key = str(record.key).partition("/")[2]
            found.pop(key, None)
            if record.value is not None:
                found[key] = record.value
    return found


def results(stream: Stream) -> dict[str, dict[str, Any]]:
    """Return how each copy has ended or goes on, also of those that are over, by their keys."""
    found: dict[str, dict[str, Any]] = {}
    for record in read_committed(stream.broker, stream.prefix, control=True):
        if record.topic == f"{stream.prefix}.snapshot" and record.value is not None:
            found[str(record.key).partition("/")[2]] = record.value
    return found


def wait_for_copies(stream: Stream, connector: ConnectorProcess, *names: str) -> None:
    def complete() -> bool:
        found = states(stream)
        return all(found.get(name, {}).get("phase") == "complete" for name in names)

    wait_until(complete, lambda: f"{json.dumps(states(stream))}\n{connector.output()}")


def topics_equal_the_source(
    stream: Stream, connector: ConnectorProcess, *tables: str
) -> list[Seen]:
    """Wait until the topics lead to what the tables hold; return all records."""
    seen: list[Seen] = []

    def equal() -> bool:
        seen[:] = read_committed(stream.broker, stream.prefix)
        return all(
            folded(seen, f"{stream.prefix}.{stream.database}.{table}")
            == rows_of(stream.source, stream.database, table)
            for table in tables
        )

    def difference() -> str:
        lines = []
        for table in tables:
            ours = folded(seen, f"{stream.prefix}.{stream.database}.{table}")
            theirs = rows_of(stream.source, stream.database, table)
            wrong = [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
            lines += [f"{table}: {len(wrong)} rows differ"]
            lines += [f"{key}: {ours.get(key)} is {theirs.get(key)}" for key in wrong[:5]]
        return "\n".join(lines) + connector.output()

    wait_until(equal, difference)
    return seen


# The next one does the same, and is killed on the way.
@full_only
def test_tables_are_copied_while_they_are_written_to(either_stream: Stream) -> None:
    stream = either_stream
    fill(stream.source, stream.database, "orders", ROWS)
    fill(stream.source, stream.database, "items", ROWS, key="part, id")
    with (
        Writer(stream.source, stream.database, "orders", ROWS, 1) as orders,
        Writer(stream.source, stream.database, "items", ROWS, 2) as items,
        stream.connector(**SMALL_CHUNKS) as connector,
    ):
        wait_for_copies(stream, connector, f"{stream.database}.orders", f"{stream.database}.items")
        orders.stop()
        items.stop()
        seen = topics_equal_the_source(stream, connector, "orders", "items")
        assert connector.terminate() == 0
    assert orders.transactions
    assert items.transactions
    for table in ("orders", "items"):
        topic = f"{stream.prefix}.{stream.database}.{table}"
        assert {r.op for r in seen if r.topic == topic and r.value} >= {"r", "u", "c", "d"}
        never_outdated(seen, topic)


@pytest.mark.parametrize("seed", range(1, 1 + length(short=1, full=4)))
def test_a_copy_goes_on_at_its_chunk_whenever_it_is_killed(
    either_stream: Stream, seed: int
) -> None:
    stream = either_stream
    moments = random.Random(seed)
    fill(stream.source, stream.database, "orders", 2 * ROWS)
    name = f"{stream.database}.orders"
    config = stream.config(**SMALL_CHUNKS)
    kills = 0
    with Writer(stream.source, stream.database, "orders", 2 * ROWS, seed) as writer:
        while kills < 4:
            with ConnectorProcess(config) as connector:
                connector.wait_for("streaming")
                time.sleep(moments.random())
                kills += 1
                connector.kill()
        with ConnectorProcess(config) as connector:
            wait_for_copies(stream, connector, name)
            writer.stop()
            seen = topics_equal_the_source(stream, connector, "orders")
    topic = f"{stream.prefix}.{name}"
    never_outdated(seen, topic)
    # What was committed is not read again: each part was copied in the order of its key.
    copied = [record.key["id"] for record in seen if record.topic == topic and record.op == "r"]
    assert len(set(copied)) == len(copied)


def test_rows_without_a_key_are_those_of_one_position(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute("CREATE TABLE log (n INT NOT NULL, text VARCHAR(20))")
    values = ", ".join(f"({n}, 'before')" for n in range(3000))
    stream.execute(f"INSERT INTO log VALUES {values}")
    stopped = threading.Event()
    inserted = 0

    def insert() -> None:
        nonlocal inserted
        while not stopped.is_set():
            inserted += 1
            stream.execute(
                f"INSERT INTO log VALUES ({3000 + inserted}, 'later')",
                f"UPDATE log SET text = 'changed' WHERE n = {inserted}",
                f"DELETE FROM log WHERE n = {1500 + inserted}",
            )

    writer = threading.Thread(target=insert)
    writer.start()
    try:
        with stream.connector(**SMALL_CHUNKS, snapshot__chunk_bytes_max=65536) as connector:
            wait_for_copies(stream, connector, f"{stream.database}.log")
            stopped.set()
            writer.join()
            # Without a key, what is there is a bag of rows.
            expected = Counter(
                (row["n"], row["text"]) for row in all_rows(stream.source, stream.database, "log")
            )
            seen: list[Seen] = []

            def equal() -> bool:
                seen[:] = read_committed(stream.broker, stream.prefix)
                return folded_bag(seen) == expected

            wait_until(equal, lambda: f"{folded_bag(seen) - expected}\n{connector.output()}")
    finally:
        stopped.set()
        writer.join()
    assert [record.op for record in seen].count("t") == 1


def folded_bag(seen: list[Seen]) -> Counter[tuple[int, str]]:
    """Return the rows that the records of a table without a key lead to."""
    bag: Counter[tuple[int, str]] = Counter()
    last = ""
    for record in seen:
        assert record.seq > last
        last = record.seq
        if record.op == "t":
            bag.clear()
            continue
        for side, count in (("before", -1), ("after", 1)):
            row = record.value[side]
            if row is not None:
                bag[row["n"], row["text"]] += count
    return +bag


def test_tables_are_copied_on_request(either_stream: Stream) -> None:
    stream = either_stream
    fill(stream.source, stream.database, "orders", 1000)
    fill(stream.source, stream.database, "other", 10)
    latest = {"source__start": "latest", "snapshot__chunk_rows": 250}
    config = stream.config(**latest)
    with ConnectorProcess(config) as connector:
        connector.wait_for("streaming")
        stream.execute("UPDATE orders SET version = 5 WHERE id = 3")
        stream.wait_for_changes(1, connector)
        part = run_snapshot(config, f"{stream.database}.orders", "--where", "id < 100")
        assert (part.returncode, part.stderr) == (0, "")
        assert f"{stream.database}.orders: 100 rows in" in part.stdout
        assert [record.op for record in stream.changes()] == ["u", *["r"] * 100]
        whole = run_snapshot(config, f"{stream.database}.*")
        assert (whole.returncode, whole.stderr) == (0, "")
        assert f"{stream.database}.other: 10 rows in" in whole.stdout
        seen = topics_equal_the_source(stream, connector, "orders", "other")
        # Nothing of the other table was published before, so there was nothing to take back.
        assert [record.op for record in seen].count("t") == 1
        assert connector.terminate() == 0


def test_what_cannot_be_copied_is_said(stream: Stream) -> None:
    stream.execute("CREATE TABLE orders (id INT PRIMARY KEY)")
    config = stream.config(source__start="latest")
    server_name = f"source {stream.source.host}:{stream.source.port}"
    absent = f"{stream.database}.absent"
    assert refusal(config, absent) == (
        2,
        f"error: {shown(copy_errors.NO_TABLE, pattern=absent, server=server_name)}\n",
    )
    assert refusal(config, "mysql.user") == (
        2,
        f"error: {shown(copy_errors.NOT_FOLLOWED, pattern='mysql.user')}\n",
    )
    orders = f"{stream.database}.orders"
    why = Message(table_errors.CONDITION_NO_COLUMN, {"table": orders, "column": "absent"})
    assert refusal(config, orders, "--where", "absent = 1") == (
        2,
        f"error: {shown(table_errors.ARGUMENT_OF_TABLE, table=orders, why=why)}\n",
    )
    code, said = refusal(config, orders, "--where", "LOWER(id, id)")
    assert code == 3
    where = "error 1582: Incorrect parameter count in the call to native function 'LOWER'"
    refused = shown(copy_errors.CONDITION_REFUSED, table=orders, why=f"{server_name}: {where}")
    assert said.startswith(f"error: {refused.removesuffix('; correct it')}")
    assert said.endswith("; correct it\n")
    waits = shown(command_errors.COPY_NOT_TAKEN_UP, pipeline=stream.prefix, seconds=15.0)
    assert refusal(config, f"{stream.database}.orders") == (1, f"error: {waits}\n")


def run_snapshot(config: Path, *arguments: str) -> CompletedProcess[str]:
    return forked_command.run("snapshot", str(config), *arguments)


def refusal(config: Path, *arguments: str) -> tuple[int, str]:
    done = run_snapshot(config, *arguments)
    return done.returncode, done.stderr


def test_what_happens_to_tables_meanwhile(either_stream: Stream) -> None:
    stream = either_stream
    for table in ("altered", "dropped", "truncated", "renamed", "kept"):
        fill(stream.source, stream.database, table, 1500)
    with stream.connector(**SMALL_CHUNKS | {"snapshot__chunk_rows": 50}) as connector:
        connector.wait_for("streaming")
        stream.execute(
            "ALTER TABLE altered ADD COLUMN added INT NOT NULL DEFAULT 7",
            "DROP TABLE dropped",
            "TRUNCATE TABLE truncated",
            "INSERT INTO truncated VALUES (1, 1, 1, 'after')",
            "RENAME TABLE renamed TO other",
            "CREATE TABLE created (id INT PRIMARY KEY, part INT)",
            "INSERT INTO created VALUES (1, 1)",
            "UPDATE altered SET added = 8 WHERE id = 77",
        )
        names = ("altered", "truncated", "other", "kept", "created")
        wait_for_copies(stream, connector, *(f"{stream.database}.{name}" for name in names))
        found = states(stream)
        assert f"{stream.database}.dropped" not in found
        assert f"{stream.database}.renamed" not in found
        assert found[f"{stream.database}.created"]["reason"] == "created"
        topics_equal_with_defaults(stream, connector, *names)
        assert connector.terminate() == 0
    seen = read_committed(stream.broker, stream.prefix)
    assert not folded(seen, f"{stream.prefix}.{stream.database}.renamed")
    assert not folded(seen, f"{stream.prefix}.{stream.database}.dropped")
    assert not [r for r in seen if r.topic.endswith(".created") and r.op == "r"]


def test_a_key_that_sorts_otherwise_when_the_copy_goes_on_is_read_from_its_beginning(
    either_stream: Stream,
) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE words (id VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY)"
    )
    words = [f"{letter}{n}" for letter in "Za" for n in range(2500)]
    stream.execute(f"INSERT INTO words VALUES {', '.join(f'({word!r})' for word in words)}")
    name = f"{stream.database}.words"
    slow = SMALL_CHUNKS | {"snapshot__chunk_rows": 1, "snapshot__connections": 1}
    with stream.connector(**slow) as connector:
        wait_until(lambda: states(stream).get(name, {}).get("rows", 0) > 0, connector.output)
        connector.kill()
    assert states(stream)[name]["phase"] == "copying"
    # Z stood before a, and what comes behind Z now is nothing.
    stream.execute(
        "ALTER TABLE words "
        "MODIFY id VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL"
    )
    with stream.connector(**SMALL_CHUNKS) as connector:
        wait_for_copies(stream, connector, name)
        topics_equal_the_source(stream, connector, "words")
        assert connector.terminate() == 0


def topics_equal_with_defaults(stream: Stream, connector: ConnectorProcess, *tables: str) -> None:
    """Like `topics_equal_the_source`, where rows of before an ALTER lack the added column."""
    seen: list[Seen] = []

    def equal() -> bool:
        seen[:] = read_committed(stream.broker, stream.prefix)
        for table in tables:
            ours = folded(seen, f"{stream.prefix}.{stream.database}.{table}")
            if table == "altered":
                ours = {key: {"added": 7} | row for key, row in ours.items()}
            if ours != rows_of(stream.source, stream.database, table):
                return False
        return True

    wait_until(equal, connector.output)


def test_tables_that_are_added_to_the_configuration_are_copied(stream: Stream) -> None:
    fill(stream.source, stream.database, "orders", 600)
    fill(stream.source, stream.database, "items", 600)
    only_orders = SMALL_CHUNKS | {"source__tables": [f"{stream.database}.orders"]}
    with stream.connector(**only_orders) as connector:
        wait_for_copies(stream, connector, f"{stream.database}.orders")
        assert connector.terminate() == 0
    stream.execute("UPDATE items SET version = 1 WHERE id < 5")
    with stream.connector(**SMALL_CHUNKS) as connector:
        wait_for_copies(stream, connector, f"{stream.database}.items")
        seen = topics_equal_the_source(stream, connector, "orders", "items")
        assert connector.terminate() == 0
    copied = Counter(record.topic.rpartition(".")[2] for record in seen if record.op == "r")
    assert copied == {"orders": 600, "items": 600}


@full_only
def test_tables_are_copied_where_there_are_no_gtids(mysql_without_gtid_stream: Stream) -> None:
    stream = mysql_without_gtid_stream
    fill(stream.source, stream.database, "orders", ROWS)
    with (
        Writer(stream.source, stream.database, "orders", ROWS, 3) as writer,
        stream.connector(**SMALL_CHUNKS) as connector,
    ):
        wait_for_copies(stream, connector, f"{stream.database}.orders")
        writer.stop()
        seen = topics_equal_the_source(stream, connector, "orders")
        assert connector.terminate() == 0
    never_outdated(seen, f"{stream.prefix}.{stream.database}.orders")


def test_a_table_that_may_not_be_read_is_not_passed_over(stream: Stream) -> None:
    fill(stream.source, stream.database, "seen", 10)
    fill(stream.source, stream.database, "hidden", 10)
    user, password = f"u_{stream.database}", "choose-a-password"
    stream.execute(
        f"CREATE USER {user} IDENTIFIED BY '{password}'",
        f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {user}",
    )
    account = {"source__user": user, "source__password": password} | SMALL_CHUNKS
    server_name = f"source {stream.source.host}:{stream.source.port}"
    code, said = run_to_end(stream.config(**account))
    assert code == 3
    assert failure_of(said).splitlines() == [
        f"{server_name}: the server cannot be followed as it is set up:",
        (
            "  [S632] grant SELECT is missing, wanted granted; "
            f"GRANT SELECT ON {stream.database}.* TO '{user}'@'%'; or set source.start to where "
            "the stream begins without copies of the tables"
        ),
    ]
    stream.execute(f"GRANT SELECT ON {stream.database}.seen TO {user}")
    with stream.connector(**account) as connector:
        wait_for_copies(stream, connector, f"{stream.database}.seen")
        stream.execute("UPDATE hidden SET version = 1 WHERE id = 3")
        said = (
            f"[S801] {server_name}: table {stream.database}.hidden does not exist, or the account "
            f"may not read it; GRANT SELECT ON {stream.database}.* TO the account of source.user"
        )
        connector.wait_for("a copy failed")
        state = states(stream)[f"{stream.database}.hidden"]
        assert (state["phase"], state["error"]) == ("failed", said)
        # The other table goes on.
        stream.execute("UPDATE seen SET version = 2 WHERE id = 3")
        topics_equal_the_source(stream, connector, "seen")
        assert connector.terminate() == 0
