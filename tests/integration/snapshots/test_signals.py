"""Signals in the form of Debezium, to a running pipeline."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaAdminClient, KafkaProducer

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = pytest.mark.kafka

PATIENCE_SECONDS = 30.0


def test_signals_start_pause_and_stop_copies_once(either_stream: Stream) -> None:
    stream = either_stream
    topic, table = f"{stream.prefix}-signals", f"{stream.database}.t"
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2), (3), (4)")
    with closing(KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap)) as admin:
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})

    def send(kind: str, key: str = stream.prefix, **data: object) -> None:
        value = {"type": kind, "data": {name.replace("_", "-"): of for name, of in data.items()}}
        producer.send(topic, json.dumps(value).encode(), key=key.encode()).get(PATIENCE_SECONDS)

    chosen = {
        "source__start": "latest",
        "signals__kafka_topic": topic,
        "envelope__profile": "debezium",
    }
    with closing(KafkaProducer(bootstrap_servers=stream.broker.bootstrap)) as producer:
        # Before the pipeline knew the topic.
        send("log", message="too early")
        with stream.connector(**chosen) as connector:
            connector.wait_for("streaming")
            send("log", message="now at {}")
            send("log", key="other", message="not for us")
            connector.wait_for("now at 1")
            send(
                "execute-snapshot",
                data_collections=[table],
                additional_conditions=[{"data-collection": table, "filter": "id > 2"}],
            )
            copied = stream.wait_for_changes(2, connector)
            assert [(each.op, each.key["id"]) for each in copied] == [("r", 3), ("r", 4)]
            send("execute-snapshot", type="BLOCKING", data_collections=[table])
            connector.wait_for("R124")
            send("pause-snapshot")
            send("execute-snapshot", data_collections=[table])
            connector.wait_for("copying pauses")
            send("stop-snapshot")
            connector.wait_for("the copy was stopped by a signal")
            send("resume-snapshot")
            connector.wait_for("copying goes on")
            send("execute-snapshot", data_collections=[table])
            stream.wait_for_changes(6, connector)
            connector.wait_for('"rows": 4')
            assert "too early" not in connector.output()
            assert "not for us" not in connector.output()
        with stream.connector(**chosen) as connector:
            connector.wait_for('"resumed": true')
            before = connector.output().count('"a signal"')
            send("log", message="second run")
            connector.wait_for("second run")
            # What was done before is not done again.
            assert connector.output().count('"a signal"') == before + 1
    assert len(stream.changes()) == 6
