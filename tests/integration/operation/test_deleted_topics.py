"""Topics that somebody deletes: the pipeline notices within seconds, and says what it does."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from kafka import KafkaAdminClient

from connector.foundation.errors.message import Message
from connector.kafka.kafka_python import network_client
from connector.stream.sink import kafka_errors
from connector.stream.snapshot import copy_errors
from tests.integration.harness import failure_of, read_committed, run_to_end, wait_until
from tests.integration.operation.test_health import READY, asked
from tests.integration.operation.test_metrics import free_port
from tests.integration.operation.test_status import status
from tests.integration.snapshots.test_snapshot import run_snapshot

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess, Seen

pytestmark = pytest.mark.kafka

SETTINGS: dict[str, object] = {"source__start": "snapshot"}


def delete(stream: Stream, name: str) -> str:
    topic = f"{stream.prefix}.{name}"
    with closing(
        KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    ) as admin:
        admin.delete_topics([topic])
    return topic


def codes(connector: ConnectorProcess) -> list[str]:
    """Return the codes of the log's lines, in order, but for summaries, which repeat one."""
    lines = [json.loads(line) for line in connector.output().splitlines() if line[:1] == "{"]
    return [
        line["error.code"]
        for line in lines
        if "error.code" in line and line["message"] != "summary"
    ]


def control(stream: Stream) -> list[Seen]:
    return read_committed(stream.broker, stream.prefix, control=True)


def copied(stream: Stream) -> list[int]:
    return sorted(each.value["after"]["id"] for each in stream.changes() if each.op == "r")


def fill(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1), (2)",
        "CREATE TABLE other (id INT PRIMARY KEY)",
        "INSERT INTO other VALUES (1)",
    )


def test_the_rows_of_a_deleted_topic_are_copied_again(either_stream: Stream) -> None:
    stream = either_stream
    fill(stream)
    table = f"{stream.database}.t"
    with stream.connector(**SETTINGS) as connector:
        stream.wait_for_changes(3, connector)
        topic = delete(stream, table)
        # Into a topic that is gone, while nobody has noticed.
        stream.execute("INSERT INTO t VALUES (3)")
        wait_until(lambda: copied(stream) == [1, 1, 2, 3], connector.output)
        stream.execute("INSERT INTO t VALUES (4)")
        wait_until(lambda: len(stream.changes()) >= 6, connector.output)
        said = [(kafka_errors.TOPIC_DELETED, {"servers": stream.broker.bootstrap, "topic": topic})]
        said += [(copy_errors.ROWS_DELETED, {"topic": topic, "table": table})]
        for code, facts in said:
            assert Message(code, facts).text in connector.output()
        assert connector.terminate() == 0
    # While the pipeline is stopped; the broker answers before it has deleted the topic.
    topic = delete(stream, table)
    with closing(
        KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    ) as admin:
        wait_until(lambda: topic not in admin.list_topics(), lambda: f"{topic} is still there")
    with stream.connector(**SETTINGS) as connector:
        wait_until(lambda: copied(stream) == [1, 1, 2, 3, 4], connector.output)
        assert connector.terminate() == 0
    deleted, gone = kafka_errors.TOPIC_DELETED.code, copy_errors.ROWS_DELETED.code
    assert codes(connector) == [deleted, gone, gone]


def test_a_pipeline_can_be_stopped_although_its_topic_is_gone(stream: Stream) -> None:
    fill(stream)
    port = free_port()
    settings = {**SETTINGS, "retry__initial_seconds": 60.0, "metrics__listen": f"127.0.0.1:{port}"}
    with stream.connector(**settings) as connector:
        stream.wait_for_changes(3, connector)
        wait_until(lambda: asked(port, "/readyz") == (200, READY), connector.output)
        topic = delete(stream, f"{stream.database}.t")
        stream.execute("INSERT INTO t VALUES (3)")
        wait_until(lambda: asked(port, "/readyz")[0] == 503, connector.output)
        # Before the next attempt, which makes the topic anew.
        said = Message(
            kafka_errors.TOPIC_DELETED, {"servers": stream.broker.bootstrap, "topic": topic}
        )
        assert f"\nthe stream is not open: {said}\n" in asked(port, "/readyz")[1]
        code, shown = status(connector)
        assert (code, str(said) in " ".join(shown.split())) == (1, True), shown
        assert connector.terminate() == 0


def test_without_its_position_a_pipeline_does_not_begin_again(either_stream: Stream) -> None:
    stream = either_stream
    fill(stream)
    with stream.connector(**SETTINGS) as connector:
        stream.wait_for_changes(3, connector)
        topic = delete(stream, "progress")
        assert connector.wait() == 3
    before = f"kafka {stream.broker.bootstrap}: topic {topic} was deleted while the pipeline uses"
    said = failure_of(connector.output())
    assert said.startswith(before)
    assert "had come to binlog." in said
    assert codes(connector)[-1] == kafka_errors.POSITION_DELETED.code
    code, output = run_to_end(stream.config(**SETTINGS))
    facts: dict[str, Any] = {
        "servers": stream.broker.bootstrap,
        "topic": topic,
        "pipeline": stream.prefix,
        "traces": f"{stream.prefix}.fences or {stream.prefix}.snapshot",
    }
    assert (code, failure_of(output)) == (3, Message(kafka_errors.NO_POSITION, facts).text)


def test_what_other_topics_held_is_written_again(stream: Stream) -> None:
    fill(stream)
    table = f"{stream.database}.t"
    with stream.connector(**SETTINGS) as connector:
        stream.wait_for_changes(3, connector)
        assert run_snapshot(connector.config, table).returncode == 0
        for name in ("schema", "commands"):
            topic = delete(stream, name)
            facts = {"servers": stream.broker.bootstrap, "topic": topic}
            connector.wait_for(Message(kafka_errors.TOPIC_DELETED, facts).text)
            wait_until(
                lambda: (
                    connector.output().count('"message": "streaming"') == 1 + len(codes(connector))
                ),
                connector.output,
            )
        # The numbers of requests begin again.
        assert run_snapshot(connector.config, table).returncode == 0
        stream.execute("INSERT INTO other VALUES (2)")
        wait_until(lambda: stream.changes()[-1].value["after"] == {"id": 2}, connector.output)
        assert connector.terminate() == 0
    assert codes(connector) == [kafka_errors.TOPIC_DELETED.code] * 2


def test_a_pipeline_ends_if_the_changes_that_it_keeps_back_are_gone(stream: Stream) -> None:
    fill(stream)
    stream.execute("CREATE TABLE bad (id ENUM('', 'a') PRIMARY KEY)")
    with stream.connector(**SETTINGS, quarantine__policy="fence-key") as connector:
        stream.wait_for_changes(3, connector)
        stream.execute("INSERT IGNORE INTO bad VALUES (0)")
        kept = f"{stream.prefix}.quarantine"
        wait_until(lambda: kept in {each.topic for each in control(stream)}, connector.output)
        topic = delete(stream, "quarantine")
        assert connector.wait() == 3
    facts = {"servers": stream.broker.bootstrap, "topic": topic}
    assert failure_of(connector.output()) == Message(kafka_errors.KEPT_BACK_DELETED, facts).text
