"""Signals in the form of Debezium, to a running pipeline."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaAdminClient, KafkaProducer

from connector.kafka.kafka_python import network_client
from connector.stream.commands import request_errors
from connector.stream.source import table_errors
from tests.integration.harness import failure_of, run_to_end, wait_until
from tests.integration.operation.test_story_of_a_log import end_streams

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess

pytestmark = pytest.mark.kafka

PATIENCE_SECONDS = 30.0


def copied(stream: Stream) -> list[int]:
    """Return the ids of the rows that were copied."""
    return [each.key["id"] for each in stream.changes() if each.op == "r"]


def test_the_rows_of_a_table_are_signals(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1), (2)",
        "CREATE TABLE signals (id VARCHAR(42) PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048))",
    )
    table = f"{stream.database}.t"
    data = json.dumps({"data-collections": [table]})

    def by_column(name: str) -> str:
        return json.dumps({"data-collections": [f"{stream.database}.u"], "surrogate-key": name})

    chosen = {"source__start": "latest", "signals__table": f"{stream.database}.signals"}
    with stream.connector(**chosen) as connector:
        connector.wait_for("streaming")
        stream.execute(
            "INSERT INTO signals VALUES ('a', 'log', '{\"message\": \"heard\"}')",
            "INSERT INTO signals VALUES ('b', 'log', 'no JSON'), ('c', NULL, NULL)",
            f"INSERT INTO signals VALUES ('d', 'execute-snapshot', '{data}')",
            "UPDATE signals SET type = 'execute-snapshot' WHERE id = 'a'",
            "DELETE FROM signals",
        )
        wait_until(lambda: sorted(copied(stream)) == [1, 2], connector.output)
        stream.execute(
            "CREATE TABLE u (id INT PRIMARY KEY, n INT NOT NULL UNIQUE, m INT UNIQUE)",
            "INSERT INTO u VALUES (1, 30, 1), (2, 20, 2), (3, 10, 3)",
            f"INSERT INTO signals VALUES ('e', 'execute-snapshot', '{by_column('n')}')",
        )
        wait_until(lambda: copied(stream)[2:] == [3, 2, 1], connector.output)
        stream.execute(f"INSERT INTO signals VALUES ('f', 'execute-snapshot', '{by_column('m')}')")
        connector.wait_for(f'"error.code": "{table_errors.SURROGATE_KEY.code}"')
        # Copies by different conditions do not replace each other.
        first, second = (
            json.dumps(
                {
                    "data-collections": [table],
                    "additional-conditions": [{"data-collection": table, "filter": f"id = {key}"}],
                }
            )
            for key in (1, 2)
        )
        stream.execute(
            "INSERT INTO signals VALUES ('g', 'pause-snapshot', '{}'),"
            f" ('h', 'execute-snapshot', '{first}'), ('i', 'execute-snapshot', '{second}'),"
            " ('j', 'resume-snapshot', '{}')"
        )
        wait_until(lambda: sorted(copied(stream)) == [1, 1, 1, 2, 2, 2, 3], connector.output)
        output = connector.output()
        assert '"cdc.said": "heard"' in output
        assert output.count('"error.code": "R131"') == 2
        assert '"cdc.reason": "signal 0"' in output
    code, output = run_to_end(stream.config(signals__table="other.signals"))
    assert code == 2
    assert failure_of(output) == (
        "signals.table names other.signals, which is not followed; name it in source.tables"
    )


def test_signals_of_a_file_are_done_once_also_after_a_kill(stream: Stream, tmp_path: Path) -> None:
    rows = range(1, 31)
    file = tmp_path / "signals" / "file-signals.txt"
    file.parent.mkdir()
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES " + ",".join(f"({n})" for n in rows),
    )
    table = f"{stream.database}.t"
    # By a condition, the rows are copied over those of consumers.
    conditions = [{"data-collection": table, "filter": "id > 0"}]
    data = {"data-collections": [table], "additional-conditions": conditions}
    line = json.dumps({"id": "1", "type": "execute-snapshot", "data": data})
    chosen = {"source__start": "latest", "signals__file": str(file), "snapshot__chunk_rows": 1}
    with stream.connector(**chosen) as connector:
        connector.wait_for("streaming")
        with file.open("a") as opened:
            opened.write(f"{line}\n")
        stream.wait_for_changes(3, connector)
        connector.kill()
    with stream.connector(**chosen) as connector:
        stream.wait_for_changes(len(rows), connector)
        wait_until(lambda: not list(file.parent.iterdir()), connector.output)
        file.write_text('{"type": "log", "data": {"message": "the last"}}')
        connector.wait_for("the last")
    assert sorted(copied(stream)) == [*rows]


def test_signals_start_pause_and_stop_copies_once(either_stream: Stream) -> None:
    stream = either_stream
    topic, table = f"{stream.prefix}-signals", f"{stream.database}.t"
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2), (3), (4)")
    with closing(
        KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    ) as admin:
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})

    def send(kind: str, key: str = stream.prefix, **data: object) -> None:
        value = {"type": kind, "data": {name.replace("_", "-"): of for name, of in data.items()}}
        producer.send(topic, json.dumps(value).encode(), key=key.encode()).get(PATIENCE_SECONDS)

    def heard(connector: ConnectorProcess) -> bool:
        send("log", message="now at {}")
        return "now at " in connector.output()

    chosen = {
        "source__start": "latest",
        "signals__kafka_topic": topic,
        "envelope__profile": "debezium",
    }
    with closing(
        KafkaProducer(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    ) as producer:
        # Before the pipeline knew the topic.
        send("log", message="too early")
        with stream.connector(**chosen) as connector:
            connector.wait_for("streaming")
            # What was sent before the pipeline has found the end of the topic is not for it.
            wait_until(lambda: heard(connector), connector.output)
            send("log", key="other", message="not for us")
            send(
                "execute-snapshot",
                data_collections=[table],
                additional_conditions=[{"data-collection": table, "filter": "id > 2"}],
            )
            stream.wait_for_changes(2, connector)
            assert sorted(copied(stream)) == [3, 4]
            send("execute-snapshot", type="FULL", data_collections=[table])
            connector.wait_for(request_errors.SNAPSHOT_TYPE.code)
            send("pause-snapshot")
            send("execute-snapshot", data_collections=[table])
            connector.wait_for("copying pauses")
            # The next pipeline of the process pauses, too.
            end_streams(stream)
            connector.wait_for('"cdc.resumed": true')
            send("stop-snapshot")
            connector.wait_for("the copy was stopped by a signal")
            send("resume-snapshot")
            connector.wait_for("copying goes on")
            send("execute-snapshot", data_collections=[table])
            stream.wait_for_changes(6, connector)
            assert "too early" not in connector.output()
            assert "not for us" not in connector.output()
        with stream.connector(**chosen) as connector:
            connector.wait_for('"cdc.resumed": true')
            before = connector.output().count('"a signal"')
            send("log", message="second run")
            connector.wait_for("second run")
            # What was done before is not done again.
            assert connector.output().count('"a signal"') == before + 1
    assert len(stream.changes()) == 6
