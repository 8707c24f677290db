"""A pipeline goes on from an offset of Debezium, also from within a transaction."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaProducer

from connector.kafka.kafka_python import network_client
from connector.stream.migration import migration_errors
from local_stack import connect
from tests import forked_command
from tests.foundation.errors.texts import text_of
from tests.integration.harness import ConnectorProcess, make_topic

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

# Three events with rows: of a table that is not followed, and of two that are.
TRANSACTION = [
    "INSERT INTO other VALUES (1), (2)",
    "INSERT INTO a VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "UPDATE a SET v = 'x' WHERE id IN (2, 3)",
    "INSERT INTO b VALUES (7, 'g'), (8, 'h'), (9, 'i')",
    "DELETE FROM a WHERE id = 1",
]
# BEGIN, and for each statement TABLE_MAP and its rows.
IN_UPDATE, IN_LAST_INSERT = 6, 8
REST = [("c", 9), ("d", 1)]


def logged(stream: Stream) -> list[dict[str, Any]]:
    """Return the log as SHOW BINLOG EVENTS has it, from the database's beginning on."""
    with connect(stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW BINARY LOGS")
        file = cursor.fetchall()[-1][0]
        cursor.execute(f"SHOW BINLOG EVENTS IN '{file}'")
        names = [each[0] for each in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def executed(stream: Stream) -> str:
    with connect(stream.source) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        mariadb = "MariaDB" in (cursor.fetchone() or [""])[0]
        cursor.execute(f"SELECT {'@@gtid_binlog_pos' if mariadb else '@@gtid_executed'}")
        return str((cursor.fetchone() or [""])[0]).replace("\n", "")


def offset_in_transaction(stream: Stream, *settings: str) -> dict[str, Any]:
    """Play the transaction; return the offset of its BEGIN."""
    stream.execute(
        "CREATE TABLE a (id INT PRIMARY KEY, v TEXT)",
        "CREATE TABLE b (id INT PRIMARY KEY, v TEXT)",
        "CREATE TABLE other (id INT PRIMARY KEY)",
        "INSERT INTO a VALUES (100, 'before')",
    )
    gtids = executed(stream)
    before = len(logged(stream))
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        for statement in (*settings, "BEGIN", *TRANSACTION, "COMMIT"):
            cursor.execute(statement)
    own = logged(stream)[before:]
    # MariaDB's GTID event implies BEGIN.
    begin = own[0] if own[0]["Event_type"] == "Gtid" and "BEGIN" in own[0]["Info"] else own[1]
    offset = {"ts_sec": 1, "file": begin["Log_name"], "pos": begin["Pos"], "server_id": 1}
    return offset | ({"gtids": gtids} if gtids else {})


def connector_json(stream: Stream, **changed: str) -> Path:
    """Write the configuration of a connector that follows `a` and `b`."""
    source = stream.source
    properties = {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "database.hostname": source.host,
        "database.port": str(source.port),
        "database.user": source.user,
        "database.password": source.password,
        "database.server.id": "5877",
        "topic.prefix": stream.prefix,
        "table.include.list": rf"{stream.database}\.(a|b)",
        "schema.history.internal.kafka.bootstrap.servers": stream.broker.bootstrap,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    } | changed
    path = stream.directory / "connector.json"
    path.write_text(json.dumps({"name": "from-debezium", "config": properties}))
    return path


def put_offsets(stream: Stream, topic: str, *values: dict[str, Any] | None) -> None:
    key = json.dumps(["from-debezium", {"server": stream.prefix}]).encode()
    make_topic(stream.broker, topic)
    with closing(
        KafkaProducer(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    ) as producer:
        producer.send(topic, key=b'["another",{"server":"x"}]', value=b'{"file":"x.1","pos":4}')
        for value in values:
            producer.send(topic, key=key, value=value and json.dumps(value).encode())
        producer.flush()


def imported(stream: Stream, offsets: str, **changed: str) -> tuple[int, str, Path]:
    """Run the command; return its exit code, what it said, and the configuration."""
    config = stream.directory / "imported.toml"
    done = forked_command.run(
        "import-debezium",
        str(connector_json(stream, **changed)),
        "--offsets",
        offsets,
        "--secrets",
        "-o",
        str(config),
    )
    return done.returncode, done.stderr, config


def of_rows(stream: Stream) -> list[tuple[str, int]]:
    found = []
    for seen in stream.changes():
        if seen.topic.count(".") > 1:
            row = seen.value["after"] or seen.value["before"]
            found.append((seen.value["op"], row["id"]))
    return found


@pytest.mark.parametrize("rows", [0, 1])
def test_the_rest_of_a_transaction_arrives_and_nothing_twice(
    either_stream: Stream, rows: int
) -> None:
    stream = either_stream
    offset = offset_in_transaction(stream)
    topic = f"{stream.prefix}-offsets"
    put_offsets(stream, topic, {**offset, "event": 2}, {**offset, "event": IN_UPDATE, "row": rows})
    code, said, config = imported(stream, topic)
    assert (code, said) == (0, "")
    wanted = [("u", 2), ("u", 3), ("c", 7), ("c", 8), *REST][rows:]
    with ConnectorProcess(config) as connector:
        stream.wait_for_changes(len(wanted), connector)
        stream.execute("INSERT INTO b VALUES (10, 'next')")
        stream.wait_for_changes(len(wanted) + 1, connector)
    assert of_rows(stream) == [*wanted, ("c", 10)]
    # The numbers of the rows are those of the log.
    assert stream.changes()[0].value["source"]["row"] == rows
    if rows:
        proof = forked_command.run("verify", str(config), "--topics")
        assert proof.returncode == 0, proof.stdout + proof.stderr


@pytest.mark.parametrize("case", ["compressed", "by position"])
def test_a_compressed_transaction_and_one_without_gtid_are_begun_in_the_middle(
    case: str, request: pytest.FixtureRequest
) -> None:
    by_position = case == "by position"
    stream: Stream = request.getfixturevalue(
        "mysql_without_gtid_stream" if by_position else "stream"
    )
    setting = [] if by_position else ["SET SESSION binlog_transaction_compression = ON"]
    offset = offset_in_transaction(stream, *setting)
    answer = {
        "offsets": [
            {
                "partition": {"server": stream.prefix},
                "offset": {**offset, "event": IN_LAST_INSERT, "row": 2},
            }
        ]
    }
    path = stream.directory / "offsets.json"
    path.write_text(json.dumps(answer))
    code, said, config = imported(stream, str(path))
    assert (code, said) == (0, "")
    assert "+3+2" in config.read_text()
    with ConnectorProcess(config) as connector:
        stream.wait_for_changes(len(REST), connector)
        connector.kill()
    with ConnectorProcess(config) as connector:
        stream.execute("INSERT INTO b VALUES (10, 'next')")
        stream.wait_for_changes(len(REST) + 1, connector)
    assert of_rows(stream) == [*REST, ("c", 10)]


def test_an_offset_of_another_log_is_refused(stream: Stream) -> None:
    offset = offset_in_transaction(stream)
    path = stream.directory / "offsets.json"

    def refused(**changed: Any) -> str:
        entry = {"partition": {"server": stream.prefix}, "offset": {**offset, **changed}}
        path.write_text(json.dumps({"offsets": [entry]}))
        code, said, _ = imported(stream, str(path))
        assert code == 3
        return said.replace(f"{stream.source.host}:{stream.source.port}", "SOURCE")

    place = f"{offset['file']}:{offset['pos']}"
    for read in ({"event": 60}, {"event": 6, "row": 3}, {"event": 1, "row": 1}):
        shown = f"{place} and {read['event']} events and {read.get('row', 0)} rows"
        facts = {"server": "source SOURCE", "read": shown}
        assert f"[S313] {text_of(migration_errors.OTHER_LOG, **facts)}" in refused(**read)
    assert "[S310]" in refused(file="binlog.999999", event=6)
    assert "[S309]" in refused(pos=offset["pos"] + 1, event=6)


def test_an_offset_within_an_xa_transaction_is_refused(stream: Stream) -> None:
    offset = offset_in_transaction(stream)
    gtids = executed(stream)
    before = len(logged(stream))
    stream.execute("XA START 'x'", "INSERT INTO a VALUES (50, '')", "XA END 'x'", "XA PREPARE 'x'")
    try:
        rows = next(each for each in logged(stream)[before:] if each["Event_type"] == "Write_rows")
        read = {"file": offset["file"], "pos": rows["End_log_pos"], "gtids": gtids}
        path = stream.directory / "offsets.json"
        entry = {"partition": {"server": stream.prefix}, "offset": read}
        path.write_text(json.dumps({"offsets": [entry]}))
        code, said, _ = imported(stream, str(path))
        assert (code, "[S313]" in said) == (3, True), said
        # Between two transactions, one that is prepared is a line on standard error.
        read["gtids"] = executed(stream)
        read["pos"] = logged(stream)[-1]["End_log_pos"]
        path.write_text(json.dumps({"offsets": [entry]}))
        code, said, _ = imported(stream, str(path))
        assert (code, "XA transactions wait" in said) == (0, True), said
    finally:
        stream.execute("XA ROLLBACK 'x'")


def test_a_statement_before_the_offset_is_not_read_again(stream: Stream) -> None:
    """Debezium adds the GTID of a statement to its set when the next transaction begins."""
    offset = offset_in_transaction(stream)
    gtids = executed(stream)
    stream.execute("TRUNCATE TABLE b")
    end = logged(stream)[-1]["End_log_pos"]
    path = stream.directory / "offsets.json"
    entry = {
        "partition": {"server": stream.prefix},
        "offset": {**offset, "pos": end, "gtids": gtids},
    }
    path.write_text(json.dumps({"offsets": [entry]}))
    # A connector that has learned the schema again has a mode without a counterpart.
    code, said, config = imported(stream, str(path), **{"snapshot.mode": "recovery"})
    assert (code, said) == (0, "")
    assert f'start = "gtid:{executed(stream)}"' in config.read_text()


def test_a_topic_without_an_offset_of_the_connector(stream: Stream) -> None:
    topic = f"{stream.prefix}-offsets"
    for values in ((), ({"file": "binlog.000001", "pos": 4}, None)):
        put_offsets(stream, topic, *values)
        code, said, _ = imported(stream, topic)
        facts = {"offsets": topic, "name": "from-debezium", "prefix": stream.prefix}
        assert (code, said) == (
            2,
            f"error: [C812] {text_of(migration_errors.NO_OFFSET, **facts)}\n",
        )
