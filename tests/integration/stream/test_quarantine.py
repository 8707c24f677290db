"""Changes that cannot be carried, on real servers: kept back, over restarts, and replayed."""

from __future__ import annotations

import json
import random
import re
import string
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from connector.cli import command_errors
from connector.foundation.errors.message import Message
from connector.kafka.kafka_python import network_client
from connector.stream.changes import changes_errors
from connector.stream.envelope import record_errors
from connector.stream.quarantine import quarantine_errors
from local_stack import connect
from tests import forked_command
from tests.foundation.errors.texts import shown, shown_by_fence
from tests.integration.harness import (
    read_committed,
    topics_of,
    wait_until,
    wait_until_settled,
)
from tests.integration.proof.delivered import proven
from tests.length import full_only

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess, Seen

pytestmark = [pytest.mark.server, pytest.mark.kafka, pytest.mark.timeout(300)]

TABLE = "CREATE TABLE {} (id INT PRIMARY KEY, v LONGTEXT) ENGINE=InnoDB"
SMALL, LARGE = 20_000, 1_000_000
ROOMY = {"kafka__record_bytes_max": LARGE}


def random_text(length: int) -> str:
    """Return text that no compression makes small."""
    return "".join(random.Random(length).choices(string.ascii_letters + string.digits, k=length))


def quarantine(command: str, config: Path, *arguments: str) -> tuple[int, str]:
    """Run `binlog-connector quarantine`; return its exit code and what it printed."""
    done = forked_command.run("quarantine", command, str(config), *arguments, COLUMNS="200")
    return done.returncode, done.stdout + done.stderr


def in_order(stream: Stream) -> list[Seen]:
    """Return changes and `t` records as Kafka has them."""
    found = read_committed(stream.broker, stream.prefix)
    return [record for record in found if record.value is not None]


def fences(config: Path) -> list[dict[str, Any]]:
    code, output = quarantine("list", config, "--json")
    assert code == 0, output
    return [json.loads(line) for line in output.splitlines()]


def raise_limits(stream: Stream) -> None:
    """Let the topics take larger records, as the error asks for."""
    topics = topics_of(stream.broker, stream.prefix, control=False)
    topics += topics_of(stream.broker, stream.prefix, control=True)
    admin = KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    try:
        admin.alter_configs(
            [
                ConfigResource(ConfigResourceType.TOPIC, topic, {"max.message.bytes": str(LARGE)})
                for topic in topics
            ]
        )
    finally:
        admin.close()


def rows_of(stream: Stream, table: str) -> dict[int, str]:
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT id, v FROM {table}")
        return {int(row[0]): str(row[1]) for row in cursor.fetchall()}


def folded(changes: list[Seen], table: str) -> dict[int, str]:
    """Return the rows that a consumer ends with."""
    rows: dict[int, str] = {}
    for change in changes:
        if not change.topic.endswith(f".{table}"):
            continue
        if change.op == "t":
            rows.clear()
        elif change.op == "d":
            rows.pop(change.key["id"], None)
        else:
            rows[change.key["id"]] = change.value["after"]["v"]
    return rows


def ids(changes: list[Seen], table: str) -> list[int]:
    return [change.key["id"] for change in changes if change.topic.endswith(f".{table}")]


def requests(stream: Stream) -> list[Seen]:
    found = read_committed(stream.broker, stream.prefix, control=True)
    return [record for record in found if record.topic.endswith(".commands")]


def require_once_in_order(stream: Stream) -> None:
    wait_until_settled(stream.broker, stream.prefix)
    found = stream.changes()
    sources = [
        (change.topic, source["file"], source["pos"], source["row"], change.op)
        for change in found
        if (source := change.value["source"])
    ]
    assert len(set(sources)) == len(sources)
    assert len({change.seq for change in found}) == len(found)
    by_partition: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for change in found:
        by_partition.setdefault((change.topic, change.partition), []).append(
            (change.offset, change.seq)
        )
    for records in by_partition.values():
        records.sort()
        assert [seq for _, seq in records] == sorted(seq for _, seq in records)


@pytest.fixture
def connectors() -> Iterator[list[ConnectorProcess]]:
    """End the processes of a test."""
    started: list[ConnectorProcess] = []
    yield started
    for connector in started:
        connector.__exit__()


def start(
    stream: Stream, connectors: list[ConnectorProcess], **changed: object
) -> ConnectorProcess:
    limits: dict[str, object] = {"kafka__record_bytes_max": SMALL}
    connector = stream.connector(**(limits | changed)).start()
    connectors.append(connector)
    return connector


def test_a_key_waits_until_its_row_can_be_written(
    either_stream: Stream, connectors: list[ConnectorProcess]
) -> None:
    stream = either_stream
    policy = {"quarantine__policy": "fence-key"}
    stream.execute(TABLE.format("t"), TABLE.format("u"))
    connector = start(stream, connectors, **policy)
    large = random_text(50_000)
    stream.execute(f"INSERT INTO t VALUES (1, 'a'), (2, '{large}'), (3, 'c')")
    stream.transaction("UPDATE t SET v = 'b' WHERE id = 2", "INSERT INTO u VALUES (2, 'x')")
    stream.wait_for_changes(3, connector)
    connector.kill()
    connector = start(stream, connectors, **policy)
    stream.execute("UPDATE t SET id = 5 WHERE id = 2", "UPDATE t SET v = 'again' WHERE id = 1")
    stream.wait_for_changes(4, connector)
    assert ids(stream.changes(), "t") == [1, 3, 1]
    kept = fences(connector.config)
    assert [(fence["key"], fence["rows"]) for fence in kept] == [('{"id":2}', 3), ('{"id":5}', 1)]
    assert "a record is larger than Kafka takes; raise kafka.record_bytes_max" in kept[0]["reason"]
    code, output = quarantine("show", connector.config, f"{stream.database}.t", "--limit", "1")
    assert code == 0, output
    assert "] kafka " in output
    assert 'column v (BLOB): "' in output
    code, output = quarantine("list", connector.config)
    assert code == 0, output
    assert '{"id":5}' in output

    wait_until_settled(stream.broker, stream.prefix)
    outcome = proven(connector.config)
    assert (dict(outcome.differences), dict(outcome.others)) == ({}, {"in quarantine": 5})

    code, output = quarantine("replay", connector.config, f"{stream.database}.t")
    assert code == 3, output
    assert "raise kafka.record_bytes_max" in output

    assert connector.terminate() == 0
    raise_limits(stream)
    connector = start(stream, connectors, **policy, **ROOMY)
    code, output = quarantine("replay", connector.config, f"{stream.database}.t")
    assert (code, "the fence is lifted" in output) == (0, True), output + connector.output()
    stream.execute("UPDATE t SET v = 'free' WHERE id = 5")
    stream.wait_for_changes(9, connector)
    assert fences(connector.config) == []
    assert (
        folded(stream.changes(), "t")
        == rows_of(stream, "t")
        == {
            1: "again",
            3: "c",
            5: "free",
        }
    )
    require_once_in_order(stream)


@contextmanager
def always_changed(stream: Stream) -> Iterator[None]:
    """Change a row of table t all the time, more often than a pipeline commits to Kafka."""
    stream.execute(
        "CREATE TABLE gate (open INT PRIMARY KEY)",
        "INSERT INTO gate VALUES (1)",
        "CREATE PROCEDURE change_always() WHILE EXISTS (SELECT * FROM gate) DO "
        "UPDATE t SET v = v + 1 WHERE id = 2; DO SLEEP(0.001); END WHILE",
    )
    with ThreadPoolExecutor() as pool:
        changes = pool.submit(stream.execute, "CALL change_always()")
        try:
            yield
        finally:
            stream.execute("DELETE FROM gate")
        changes.result()


@full_only
def test_the_replay_of_a_table_that_always_changes_ends(
    stream: Stream, connectors: list[ConnectorProcess]
) -> None:
    policy = {"quarantine__policy": "fence-table"}
    stream.execute(TABLE.format("t"))
    connector = start(stream, connectors, **policy)
    stream.execute(f"INSERT INTO t VALUES (1, '{random_text(50_000)}'), (2, '0')")
    wait_until(lambda: fences(connector.config), connector.output)
    assert connector.terminate() == 0
    raise_limits(stream)
    with always_changed(stream):
        connector = start(stream, connectors, **policy, **ROOMY)
        wait_until(lambda: fences(connector.config)[0]["rows"] > 100, connector.output)
        code, output = quarantine("replay", connector.config, f"{stream.database}.t")
        assert (code, "the fence is lifted" in output) == (0, True), output + connector.output()
    wait_until(
        lambda: folded(stream.changes(), "t") == rows_of(stream, "t"),
        connector.output,
    )
    assert fences(connector.config) == []
    require_once_in_order(stream)


@full_only
def test_a_replay_goes_on_after_a_kill_while_changes_come(
    stream: Stream, connectors: list[ConnectorProcess]
) -> None:
    policy = {"quarantine__policy": "fence-table"}
    stream.execute(TABLE.format("t"), TABLE.format("u"))
    connector = start(stream, connectors, **policy)
    for number in range(1, 41):
        # Larger than what is written in one turn.
        text = random_text(400_000 + number)
        stream.execute(f"INSERT INTO t VALUES ({number}, '{text}')")
    stream.execute("INSERT INTO u VALUES (1, 'x')")
    stream.wait_for_changes(1, connector)
    assert connector.terminate() == 0
    raise_limits(stream)
    connector = start(stream, connectors, **policy, **ROOMY)
    config = connector.config
    command = "-m", "connector", "quarantine", "replay", str(config), f"{stream.database}.t"
    asked = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        text=True,
    )
    connector.wait_for("replaying what is in quarantine")
    wait_until(lambda: ids(stream.changes(), "t"), connector.output)
    connector.kill()
    stream.execute("UPDATE t SET v = 'later' WHERE id <= 20")
    connector = start(stream, connectors, **policy, **ROOMY)
    stream.execute("UPDATE t SET v = 'last' WHERE id <= 10")
    output, _ = asked.communicate(timeout=60)
    assert asked.returncode == 0, output + connector.output()
    stream.wait_for_changes(71, connector)
    assert folded(stream.changes(), "t") == rows_of(stream, "t")
    assert fences(config) == []
    require_once_in_order(stream)


def test_a_replay_tells_that_a_copy_is_missing_which_the_fence_has_ended(
    stream: Stream, connectors: list[ConnectorProcess]
) -> None:
    stream.execute(
        TABLE.format("t"),
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "CREATE TABLE gate (busy INT PRIMARY KEY)",
        "INSERT INTO gate VALUES (1)",
    )
    name = f"{stream.database}.t"
    changed = {
        "source__start": "snapshot",
        "source__tables": [name],
        "snapshot__pause_query": f"SELECT busy FROM {stream.database}.gate",
        "quarantine__policy": "fence-table",
    }
    connector = start(stream, connectors, **changed)
    connector.wait_for("snapshot.pause_query returns 1")
    stream.execute(f"INSERT INTO t VALUES (3, '{random_text(30_000)}')")
    wait_until(lambda: fences(connector.config), connector.output)
    stream.execute("UPDATE gate SET busy = 0")
    connector.wait_for("a copy failed")
    assert connector.terminate() == 0
    raise_limits(stream)
    connector = start(stream, connectors, **changed, **ROOMY)
    config = connector.config
    code, output = quarantine("replay", config, name)
    assert (code, "the fence is lifted" in output) == (3, True), output + connector.output()
    assert shown(command_errors.COPY_HAS_FAILED, table=name, config=config) in output
    assert folded(in_order(stream), "t").keys() == {3}
    done = forked_command.run("snapshot", str(config), name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert folded(in_order(stream), "t") == rows_of(stream, "t")


@pytest.mark.parametrize("policy", ["fence-key", "fence-table"])
def test_a_row_without_all_its_columns_is_kept_back(
    stream: Stream, connectors: list[ConnectorProcess], policy: str
) -> None:
    stream.execute(TABLE.format("t"), "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    stream.execute("SET SESSION binlog_row_image = MINIMAL", "UPDATE t SET v = 'x' WHERE id = 1")
    stream.execute("UPDATE t SET v = 'y'")
    connector = start(stream, connectors, quarantine__policy=policy)
    stream.wait_for_changes(3 if policy == "fence-key" else 2, connector)
    code, output = quarantine("replay", connector.config, f"{stream.database}.t")
    assert code == 3, output
    assert "was logged without column" in output
    (fence,) = fences(connector.config)
    assert fence["rows"] == 2
    assert fence["key"] == ('{"id":1}' if policy == "fence-key" else None)

    done = forked_command.run("snapshot", str(connector.config), f"{stream.database}.t")
    assert done.returncode == 0, done.stdout + done.stderr
    assert fences(connector.config) == []
    stream.execute("UPDATE t SET v = 'z' WHERE id = 1")
    wait_until(
        lambda: folded(in_order(stream), "t") == {1: "z", 2: "y"},
        lambda: f"{folded(in_order(stream), 't')}\n{connector.output()}",
    )


def test_a_statement_fences_the_database(
    stream: Stream, connectors: list[ConnectorProcess]
) -> None:
    other = f"{stream.database}_other"
    stream.execute(
        TABLE.format("t"),
        "INSERT INTO t VALUES (1, 'a')",
        f"CREATE DATABASE {other}",
        TABLE.format(f"{other}.v"),
    )
    stream.execute("SET SESSION binlog_format = STATEMENT", "UPDATE t SET v = 'x'")
    stream.execute(
        "INSERT INTO t VALUES (2, 'b')",
        f"INSERT INTO {other}.v VALUES (1, 'v')",
        TABLE.format("new"),
        "INSERT INTO new VALUES (1, 'n')",
    )
    tables = [f"{stream.database}.*", f"{other}.*"]
    connector = start(stream, connectors, quarantine__policy="fence-key", source__tables=tables)
    try:
        found = stream.wait_for_changes(3, connector)
        assert [change.topic.rpartition(".")[2] for change in found] == ["t", "v", "new"]
        kept = fences(connector.config)
        assert [(fence["table"], fence["rows"], fence["exempt"]) for fence in kept] == [
            ("*", 1, ["new"]),
            ("t", 1, []),
        ]
        assert "logged as a statement" in kept[0]["reason"]
        code, output = quarantine("replay", connector.config, f"{stream.database}.*")
        assert code == 3, output
        all_tables = f"{stream.database}.*"
        assert shown(quarantine_errors.REPLAY_STATEMENT, table=all_tables) in output
        done = forked_command.run("snapshot", str(connector.config), all_tables)
        assert done.returncode == 0, done.stdout + done.stderr
        wait_until(lambda: not fences(connector.config), connector.output)
        assert folded(in_order(stream), "t") == rows_of(stream, "t") == {1: "x", 2: "b"}
    finally:
        stream.execute(f"DROP DATABASE {other}")


def test_a_table_is_shown_below_the_fence_of_its_database(
    stream: Stream, connectors: list[ConnectorProcess]
) -> None:
    stream.execute(TABLE.format("t"), TABLE.format("new"), "INSERT INTO t VALUES (1, 'a')")
    stream.execute("SET SESSION binlog_format = STATEMENT", "UPDATE t SET v = 'x'")
    stream.execute(TABLE.format("later"), "INSERT INTO later VALUES (1, 'n')")
    connector = start(stream, connectors, quarantine__policy="fence-table")
    stream.wait_for_changes(2, connector)
    (fence,) = fences(connector.config)
    every = f"{stream.database}.*"
    update = {
        "log_position": fence["since"],
        "verb": "UPDATE",
        "schema": stream.database,
        "rule": Message(changes_errors.BY_EITHER_FORMAT, {}),
    }
    transaction = re.search(r"transaction ([^)]+)", fence["reason"])
    assert transaction is not None, fence
    why = Message(changes_errors.STATEMENT, {**update, "transaction": transaction[1]})
    assert fence["reason"] == shown_by_fence(
        quarantine_errors.DATABASE_KEPT_BACK, table=every, why=why
    )
    assert "give the pipeline a new name" not in connector.output()

    for name in (f"{stream.database}.t", f"{stream.database}.new", every):
        code, output = quarantine("show", connector.config, name)
        assert code == 0, output
        first, offset, position, *_ = output.splitlines()
        whole = f"all of database {stream.database} is kept back"
        assert first == f"{name}: {whole}: {fence['reason']}"
        assert offset.startswith("offset ")
        assert position == f"{every} at {fence['since']}"
    for key in (None, '{"id":1}'):
        name = f"{stream.database}.t"
        with_key = ["--key", key] if key else []
        code, output = quarantine("replay", connector.config, name, *with_key)
        said = shown(
            quarantine_errors.DATABASE_FENCED,
            table=name,
            database=stream.database,
            since=fence["since"],
        )
        assert (code, output) == (2, f"error: {said}\n")
    # The fence does not hold for one that was created since.
    created = f"{stream.database}.later"
    code, output = quarantine("show", connector.config, created)
    nothing = shown(command_errors.NOT_IN_QUARANTINE, what=created, pipeline=stream.prefix)
    assert (code, output) == (2, f"error: {nothing}\n")


def test_a_fence_says_how_it_is_lifted(stream: Stream, connectors: list[ConnectorProcess]) -> None:
    stream.execute(TABLE.format("t"), "INSERT INTO t VALUES (1, 'a')")
    stream.execute("SET SESSION binlog_row_image = MINIMAL", "UPDATE t SET v = 'x' WHERE id = 1")
    connector = start(stream, connectors, quarantine__policy="fence-table")
    wait_until(lambda: len(fences(connector.config)) == 1, connector.output)
    (fence,) = fences(connector.config)
    name = f"{stream.database}.t"
    why = Message(record_errors.COLUMN_ABSENT, {"column": "v"})
    row = Message(
        record_errors.IN_EVENT, {"log_position": fence["since"], "table": name, "why": why}
    )
    kept = shown_by_fence(quarantine_errors.KEPT_BACK, table=name, why=row)
    assert fence["reason"] == kept
    code, output = quarantine("replay", connector.config, name)
    said = shown_by_fence(quarantine_errors.KEPT_BACK, table=name, why=why)
    assert (code, said in output) == (3, True), output
    assert "give the pipeline a new name" not in output + connector.output()

    # A pipeline that takes up two requests at once answers both of them.
    assert connector.terminate() == 0
    command = ("quarantine", "replay", str(connector.config), name)
    with ThreadPoolExecutor() as pool:
        both = pool.submit(forked_command.run_all, [command, command], COLUMNS="200")
        wait_until(lambda: len(requests(stream)) == 3, lambda: str(requests(stream)))
        start(stream, connectors, quarantine__policy="fence-table")
        for done in both.result():
            assert (done.returncode, said in done.stdout) == (3, True), done.stdout + done.stderr


def test_a_request_waits_for_a_pipeline(stream: Stream, connectors: list[ConnectorProcess]) -> None:
    stream.execute(TABLE.format("t"), TABLE.format("u"))
    stream.execute(f"INSERT INTO t VALUES (1, '{random_text(30_000)}')")
    stream.execute("INSERT INTO u VALUES (1, 'u')")
    connector = start(stream, connectors, quarantine__policy="fence-table")
    stream.wait_for_changes(1, connector)
    assert connector.terminate() == 0
    name = f"{stream.database}.t"
    code, output = quarantine("replay", connector.config, name)
    waits = shown(command_errors.NOT_TAKEN_UP, pipeline=stream.prefix)
    assert (code, waits in output) == (1, True), output
    raise_limits(stream)
    connector = start(stream, connectors, **ROOMY)
    stream.wait_for_changes(2, connector)
    wait_until(lambda: not fences(connector.config), connector.output)
    code, output = quarantine("replay", connector.config, name)
    assert code == 2, output
    assert shown(quarantine_errors.NOT_KEPT_BACK, table=name) in output
    code, output = quarantine("replay", connector.config, name, "--key", "1")
    assert code == 2, output
    assert shown(quarantine_errors.KEY_NOT_KEPT_BACK, table=name, key="1") in output
    code, output = quarantine("show", connector.config, "shop.absent")
    expected = shown(command_errors.NOT_IN_QUARANTINE, what="shop.absent", pipeline=stream.prefix)
    assert (code, expected in output) == (2, True), output
