"""Requests of strangers: what they may not do, they cannot do, and the stream goes on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaProducer

from connector.cli import command_errors
from connector.foundation.errors.message import Message
from connector.kafka.kafka_python import network_client
from connector.stream.commands import request_errors
from connector.stream.envelope import record_errors
from connector.stream.snapshot import copy_errors
from connector.stream.source import table_errors
from local_stack import connect
from tests.foundation.errors.texts import shown, text_of
from tests.integration.harness import wait_until
from tests.integration.snapshots.snapshot_load import failure_messages
from tests.integration.snapshots.test_snapshot import refusal, results, run_snapshot, states

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = pytest.mark.kafka

PATIENCE_SECONDS = 30.0
UNION = "1=0) UNION ALL SELECT 777, (SELECT v FROM {}.notfollowed) -- "
FOR_UPDATE = "1=1) FOR UPDATE -- "
CLOSES = Message(table_errors.CLOSES, {})


def send(stream: Stream, *values: object) -> None:
    """Write to the topic of requests; bytes as they are, other values as JSON."""
    producer = KafkaProducer(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    try:
        for value in values:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            sent = producer.send(
                f"{stream.prefix}.commands", data, key=stream.prefix.encode(), partition=0
            )
            sent.get(PATIENCE_SECONDS)
    finally:
        producer.close()


def copy_of(stream: Stream, where: str, table: str = "followed") -> dict[str, Any]:
    tables = [[stream.database, table]]
    return {"command": "snapshot", "tables": tables, "where": where}


def fill(stream: Stream) -> dict[str, object]:
    """Make a table that is followed and one that is not; return the settings for that."""
    stream.execute(
        "CREATE TABLE followed (id INT PRIMARY KEY, v VARCHAR(50))",
        "CREATE TABLE notfollowed (v VARCHAR(50))",
        "INSERT INTO followed VALUES (1, 'one')",
        "INSERT INTO notfollowed VALUES ('a secret')",
    )
    excluded = [f"{stream.database}.notfollowed"]
    return {"source__start": "latest", "source__exclude_tables": excluded}


def test_sql_that_is_put_into_a_request_is_not_run(either_stream: Stream) -> None:
    stream = either_stream
    settings = fill(stream)
    followed = f"{stream.database}.followed"
    with stream.connector(**settings) as connector:
        connector.wait_for("streaming")
        send(
            stream,
            copy_of(stream, UNION.format(stream.database)),
            copy_of(stream, FOR_UPDATE),
            copy_of(stream, "SLEEP(100)"),
            copy_of(stream, f"notfollowed.v = 'a secret' OR {stream.database}.notfollowed.v = 1"),
        )

        def errors() -> list[str]:
            return [state["error"] for state in results(stream).values()]

        # A copy that waits for its table has no error yet.
        wait_until(lambda: len(errors()) == 4 and all(errors()), connector.output)
        sleeps = Message(table_errors.FUNCTION, {"word": "SLEEP"})
        other = Message(table_errors.OTHER_TABLE, {"table": followed})
        assert errors() == [
            shown(record_errors.IN_COPY, table=followed, why=why)
            for why in (CLOSES, CLOSES, sleeps, other)
        ]
        for where in (UNION.format(stream.database), FOR_UPDATE):
            done = run_snapshot(connector.config, followed, "--where", where)
            expected = f"error: {shown(table_errors.ARGUMENT, why=CLOSES)}\n"
            assert (done.returncode, done.stderr) == (2, expected)
        assert stream.changes() == []
        assert run_snapshot(connector.config, followed, "--where", "v = 'one'").returncode == 0
        stream.execute("INSERT INTO followed VALUES (2, 'two')")
        seen = stream.wait_for_changes(2, connector)
        assert [record.value["after"]["id"] for record in seen] == [1, 2]
        assert connector.terminate() == 0
    assert "(__main__.py snapshot, pid " in connector.output()
    assert "a secret" not in connector.output()


def test_no_request_ends_the_stream(stream: Stream) -> None:
    settings = fill(stream)
    absent = copy_of(stream, "", "absent")
    with stream.connector(**settings) as connector:
        connector.wait_for("streaming")
        stream.execute("UPDATE followed SET v = 'x'")
        stream.wait_for_changes(1, connector)
        send(
            stream,
            b"",
            b"\xff",
            b"[" * 50_000,
            b" " * 300_000,
            b'"command"',
            {"command": ["snapshot"]},
            {"command": "reboot"},
            {"command": "snapshot"},
            {"command": "snapshot", "tables": "all"},
            {"command": "snapshot", "tables": [["a", "b", "c"]]},
            {"command": "snapshot", "tables": [[stream.database, {}]]},
            {"command": "snapshot", "tables": [[stream.database, "\ud800"]]},
            {"command": "snapshot", "tables": [[stream.database, "a/b"]], "where": 7},
            {"command": "snapshot", "tables": [], "where": "x" * 5000},
            {"command": "snapshot", "tables": [], "limit": 5},
            {"command": "replay", "database": 1, "table": None},
            {"command": "replay", "database": stream.database, "table": "t", "key": []},
            {"command": "replay", "database": stream.database, "table": "t", "all": True},
            absent,
            copy_of(stream, "", "a/b\x1b[2J"),
            copy_of(stream, "id = 1") | {"keys": '{"id":1}'},
            copy_of(stream, "id = 1") | {"keys": [1]},
            copy_of(stream, "id = 1") | {"keys": ["\ud800"]},
            copy_of(stream, "id = 1") | {"keys": ["7"] * 501},
            copy_of(stream, "id = 1") | {"keys": ["7" * 100_000]},
            copy_of(stream, "") | {"keys": ['{"id":1}']},
            {"command": "snapshot", "tables": [], "where": "FALSE", "keys": ["1"]},
            copy_of(stream, "v = '\ud800'"),
        )
        wait_until(
            lambda: connector.output().count('"message": "a copy failed"') == 2, connector.output
        )
        # Nothing was taken back for a table that is not there.
        assert [record.op for record in stream.changes()] == ["u"]
        stream.execute("INSERT INTO followed VALUES (2, 'two')")
        stream.wait_for_changes(2, connector)
        assert connector.terminate() == 0
    lines = [json.loads(line) for line in connector.output().splitlines()]
    refused = [line for line in lines if line["message"] == "a request is refused"]
    assert [
        (line["cdc.offset"], line["error.message"]) for line in sorted(refused, key=offset_of)
    ] == [
        (0, "it is not JSON"),
        (1, "it is not JSON"),
        (2, "it is not JSON"),
        (3, "it has 300000 bytes, of 262144 at most"),
        (4, "it is not a JSON object with a command"),
        (5, "it is not a JSON object with a command"),
        (6, "its command is not known"),
        (7, "tables is not a list of pairs of names"),
        (8, "tables is not a list of pairs of names"),
        (9, "tables is not a list of pairs of names"),
        (10, "it names a table that no server can have"),
        (11, "it names a table that no server can have"),
        (12, "where is not a text of 4096 characters at most"),
        (13, "where is not a text of 4096 characters at most"),
        (14, "it has unknown keys: limit"),
        (15, "it names a table that no server can have"),
        (16, "key is not a text"),
        (17, "it has unknown keys: all"),
        *(
            (offset, "keys is not a list of 500 texts at most, of 98304 characters together")
            for offset in range(20, 25)
        ),
        (25, "it has keys, and not one table and a condition"),
        (26, "it has keys, and not one table and a condition"),
        (27, "where is not a text of 4096 characters at most"),
    ]
    (unknown,) = [line for line in refused if line["cdc.offset"] == 6]
    assert unknown["error.code"] == request_errors.UNKNOWN_COMMAND.code
    assert unknown["cdc.command"] == "reboot"


def test_a_row_that_is_there_cannot_be_taken_back(either_stream: Stream) -> None:
    stream = either_stream
    settings = fill(stream)
    stream.execute(
        "INSERT INTO followed VALUES (-3, 'x'), (3, 'y')",
        "CREATE TABLE spelled (id VARCHAR(9) PRIMARY KEY)",
        "INSERT INTO spelled VALUES ('a'), ('b')",
        "CREATE TABLE inexact (id DOUBLE PRIMARY KEY)",
        "CREATE TABLE keyless (id INT)",
    )
    wrong = [' {"id":1}', '{"id":1.0}', '{"id":"1"}', '{"id":1,"v":"one"}', '{"id":01}', "\0", ""]
    with stream.connector(**settings) as connector:
        connector.wait_for("streaming")
        send(
            stream,
            *(copy_of(stream, "FALSE") | {"keys": ['{"id":9}', key]} for key in wrong),
            copy_of(stream, "FALSE", "inexact") | {"keys": ['{"id":1.0}']},
            copy_of(stream, "FALSE", "keyless") | {"keys": ['{"id":1}']},
            copy_of(stream, "id < 0") | {"keys": [f'{{"id":{n}}}' for n in (7, 3, 1, -3, 7)]},
            copy_of(stream, "FALSE", "spelled") | {"keys": ['{"id":"A"}', '{"id":"b"}']},
        )
        count = len(wrong) + 4
        wait_until(
            lambda: (
                [state["phase"] for state in results(stream).values()].count("complete") == 2
                and len(results(stream)) == count
            ),
            connector.output,
        )
        found = list(results(stream).values())
        assert connector.terminate() == 0
    errors = [state["error"] for state in found if state["phase"] == "failed"]
    database = stream.database
    assert sorted(errors) == sorted(
        [
            *[shown(copy_errors.NOT_A_KEY, table=f"{database}.followed", place=1)] * len(wrong),
            shown(copy_errors.KEY_TYPE, table=f"{database}.inexact", column="id"),
            shown(copy_errors.NO_KEY, table=f"{database}.keyless"),
        ]
    )
    assert [state["keys"] for state in found] == [[]] * count
    seen = [(record.op, record.key) for record in stream.changes()]
    assert sorted(seen, key=str) == [
        ("d", {"id": "A"}),
        ("d", {"id": 7}),
        ("r", {"id": -3}),
    ]
    deleted = next(record for record in stream.changes() if record.key == {"id": 7})
    assert (deleted.value["before"], deleted.value["after"]) == ({"id": 7}, None)


def test_keys_are_taken_back_although_the_pipeline_is_killed(either_stream: Stream) -> None:
    stream = either_stream
    settings = fill(stream)
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        with stream.connector(**settings) as connector:
            connector.wait_for("streaming")
            # Nobody can read the table.
            cursor.execute("LOCK TABLES followed WRITE")
            send(stream, copy_of(stream, "id = 1") | {"keys": ['{"id":7}', '{"id":1}']})
            wait_until(lambda: len(states(stream)) == 1, connector.output)
            connector.kill()
        (state,) = states(stream).values()
        assert state["keys"] == ['{"id":7}', '{"id":1}']
        cursor.execute("UNLOCK TABLES")
    with stream.connector(**settings) as connector:
        seen = stream.wait_for_changes(2, connector)
        assert [(record.op, record.key) for record in seen] == [("d", {"id": 7}), ("r", {"id": 1})]
        assert connector.terminate() == 0


# Conditions that would tell values by the number of rows, by the column that they read.
HIDDEN = {
    "ssn": "ssn LIKE '9%'",
    "mail": "id = 1 AND LEFT(mail, 1) = 'z'",
    "initial": "COALESCE(initial, '') = 'z'",
}


def test_a_condition_does_not_tell_values_that_records_hide(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE users (id INT PRIMARY KEY, ssn VARCHAR(20), mail VARCHAR(40) NOT NULL UNIQUE,"
        " initial CHAR(1) AS (LEFT(mail, 1)) VIRTUAL)",
        "INSERT INTO users (id, ssn, mail) VALUES (1, '987', 'zaphod'), (2, '123', 'arthur')",
        "CREATE TABLE signals (id INT PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048))",
    )
    users = f"{stream.database}.users"
    settings = {
        "source__start": "latest",
        "source__exclude_columns": [f"{users}.ssn", f"{users}.initial"],
        "source__masks": [{"columns": [f"{users}.mail"], "chars": 3}],
        "signals__table": f"{stream.database}.signals",
    }
    signals: list[dict[str, object]] = [
        {"data-collections": [users], "surrogate-key": "mail"},
        {
            "data-collections": [users],
            "additional-conditions": [{"data-collection": users, "filter": "ssn = 987"}],
        },
    ]
    with stream.connector(**settings) as connector:
        connector.wait_for("streaming")
        send(stream, *(copy_of(stream, where, "users") for where in HIDDEN.values()))
        wait_until(lambda: len(results(stream)) == len(HIDDEN), connector.output)
        for number, signal in enumerate(signals):
            stream.execute(
                f"INSERT INTO signals VALUES ({number}, 'execute-snapshot', '{json.dumps(signal)}')"
            )
        failures = len(HIDDEN) + len(signals)
        wait_until(
            lambda: connector.output().count('"message": "a copy failed"') == failures,
            connector.output,
        )
        said = failure_messages(connector.output())
        for column, where in HIDDEN.items():
            why = Message(table_errors.HIDDEN_COLUMN, {"table": users, "column": column})
            assert text_of(record_errors.IN_COPY, table=users, why=why) in said
            done = run_snapshot(connector.config, users, "--where", where)
            refused = shown(table_errors.ARGUMENT_OF_TABLE, table=users, why=why)
            assert (done.returncode, done.stderr) == (2, f"error: {refused}\n")
        assert text_of(table_errors.SURROGATE_KEY_MASKED, table=users, column="mail") in said
        # What records show may be compared.
        assert run_snapshot(connector.config, users, "--where", "id = 1").returncode == 0
        seen = [each for each in stream.changes() if each.topic.endswith(".users")]
        assert [each.value["after"] for each in seen] == [{"id": 1, "mail": "***"}]
        assert connector.terminate() == 0


def test_rows_are_taken_back_in_the_form_of_debezium(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE t (a DATE, b BIGINT UNSIGNED, v INT NOT NULL, PRIMARY KEY (b, a))",
        "INSERT INTO t VALUES ('1970-01-03', 7, 1), ('1970-01-04', 8, 1)",
        "DELETE FROM t WHERE b = 7",
    )
    with stream.connector(envelope__profile="debezium") as connector:
        (_, _, deleted) = stream.wait_for_changes(3, connector)
        send(
            stream,
            copy_of(stream, "FALSE", "t")
            | {"keys": ['{"b":"7","a":"1970-01-03"}', '{"b":"8","a":"1970-01-04"}']},
        )
        (*_, again) = stream.wait_for_changes(4, connector)
        assert connector.terminate() == 0
    assert (again.op, again.key, again.value["before"]) == ("d", deleted.key, deleted.key)
    assert again.value["source"]["snapshot"] == "true"
    assert again.seq > deleted.seq


def test_a_request_that_fails_is_over_and_leaves_what_was(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE good (id INT PRIMARY KEY)",
        "INSERT INTO good VALUES (1)",
        "CREATE TABLE bad (id ENUM('', 'a') PRIMARY KEY)",
        "INSERT IGNORE INTO bad VALUES (0), (2)",
        "CREATE TABLE signals (id INT PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048))",
    )
    good, bad = f"{stream.database}.good", f"{stream.database}.bad"
    settings = {
        "source__start": "latest",
        "signals__table": f"{stream.database}.signals",
        "quarantine__policy": "stop",
    }
    with stream.connector(**settings) as connector:
        connector.wait_for("streaming")
        assert run_snapshot(connector.config, good).returncode == 0
        # Consumers lack its rows: they were taken back.
        failed = run_snapshot(connector.config, bad)
        why = Message(record_errors.SAME_KEY, {"column": "id", "number": 0})
        error = shown(record_errors.IN_COPY, table=bad, why=why)
        assert (failed.returncode, failed.stderr) == (3, f"error: {bad}: {error}\n")
        kept = {good: "complete", bad: "failed"}
        assert {name: state["phase"] for name, state in states(stream).items()} == kept
        send(
            stream,
            copy_of(stream, "", "absent"),
            {"command": "snapshot", "tables": [["other", "t"]]},
            copy_of(stream, "nothing = 1", "good"),
        )
        wait_until(lambda: len(failure_messages(connector.output())) == 4, connector.output)
        for number, name in enumerate((good, bad, f"{stream.database}.absent")):
            data = json.dumps({"data-collections": [name], "surrogate-key": "x"})
            stream.execute(f"INSERT INTO signals VALUES ({number}, 'execute-snapshot', '{data}')")
        wait_until(lambda: len(failure_messages(connector.output())) == 7, connector.output)
        wait_until(lambda: len(states(stream)) == 2, connector.output)
        found = states(stream)
        assert {name: state["phase"] for name, state in found.items()} == kept
        assert found[bad]["error"] == error
        connector.kill()
    # What was committed says the same after a restart, and a dismissed failure is over.
    with stream.connector(**settings) as connector:
        connector.wait_for("streaming")
        assert refusal(connector.config, good, "--dismiss") == (
            2,
            f"error: {shown(copy_errors.NONE_FAILED, pattern=good)}\n",
        )
        assert refusal(connector.config, bad, "--dismiss", "--where", "TRUE") == (
            2,
            f"error: {shown(command_errors.DISMISSED_ROWS)}\n",
        )
        done = run_snapshot(connector.config, f"{stream.database}.*", "--dismiss")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{bad}: its failed copy is dismissed\n"
        assert states(stream)[bad]["phase"] == "complete"
        # A copy that succeeds ends the failure of the one before.
        assert run_snapshot(connector.config, bad).returncode == 3
        stream.execute("TRUNCATE bad")
        assert run_snapshot(connector.config, bad).returncode == 0
        assert {state["phase"] for state in states(stream).values()} == {"complete"}
        assert connector.terminate() == 0


def offset_of(line: dict[str, Any]) -> int:
    offset: int = line["cdc.offset"]
    return offset


def test_the_command_says_that_a_condition_is_too_long(stream: Stream) -> None:
    code, said = refusal(stream.config(), f"{stream.database}.*", "--where", "v" * 5000)
    why = Message(table_errors.LENGTH, {"length": 5000, "limit": 4096})
    assert (code, said) == (2, f"error: {shown(table_errors.ARGUMENT, why=why)}\n")
