"""Whatever is wrong with one table, the others go on."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from kafka import KafkaAdminClient

from connector.kafka.kafka_python import network_client
from tests import forked_command

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess

pytestmark = [pytest.mark.server, pytest.mark.kafka]


def aside(connector: ConnectorProcess, database: str) -> dict[str, str]:
    """Return the code of each table that was set aside, by its name after that of the database."""
    lines = [json.loads(line) for line in connector.output().splitlines()]
    fenced = [line for line in lines if line.get("cdc.fenced") == "the table"]
    failed = [line for line in lines if line["message"] == "a copy failed"]
    reasons = {line["cdc.table"]: line["cdc.reason"] for line in fenced}
    reasons |= {line["cdc.table"]: f"[{line['error.code']}]" for line in failed}
    return {name.removeprefix(database): reason[1:5] for name, reason in reasons.items()}


def test_names_that_kafka_takes_for_one_set_their_table_aside(either_stream: Stream) -> None:
    stream, name = either_stream, either_stream.database
    other = f"{name}_eu"
    created = {
        # Kafka has no `$` in names of topics.
        ".t_1": f"{name}.t_1",
        ".t$1": f"{name}.`t$1`",
        # In Kafka's figures, each `.` of a topic is `_`.
        ".eu_orders": f"{name}.eu_orders",
        "_eu.orders": f"{other}.orders",
        # Another program has a topic of such a name.
        ".taken": f"{name}.taken",
        ".good": f"{name}.good",
    }
    admin = KafkaAdminClient(bootstrap_servers=stream.broker.bootstrap, kafka_client=network_client)
    taken = {"num_partitions": 1, "replication_factor": 1}
    admin.create_topics({f"{stream.prefix}.{name}_taken": taken}, wait_for_metadata=True)
    admin.close()
    stream.execute(f"CREATE DATABASE {other}")
    try:
        changed = {"source__tables": [f"{name}.*", f"{other}.*"]}
        with stream.connector(**changed) as connector:
            connector.wait_for('"message": "streaming"')
            for table in created.values():
                stream.execute(
                    f"CREATE TABLE {table} (id INT PRIMARY KEY)",
                    f"INSERT INTO {table} VALUES (1)",
                )
            stream.wait_for_changes(3, connector)
            assert connector.terminate() == 0
            assert aside(connector, name) == {
                ".t$1": "T307",
                "_eu.orders": "T307",
                ".taken": "K119",
            }
        # A restart does not give a topic to the younger one.
        with stream.connector(**changed) as connector:
            for table in reversed(created.values()):
                stream.execute(f"INSERT INTO {table} VALUES (2)")
            changes = stream.wait_for_changes(6, connector)
            assert connector.terminate() == 0
        found = {change.topic.removeprefix(f"{stream.prefix}.{name}") for change in changes}
        assert found == {".t_1", ".eu_orders", ".good"}
        done = forked_command.run("check", str(stream.config(**changed)), COLUMNS="200")
        assert done.returncode == 0, done.stdout + done.stderr
        said = re.sub(rf"\b{name}", "it", done.stdout)
        assert "[T307] tables it.t$1 and it.t_1 would share topic it.it.t_1" in said
        assert (
            "[T307] Kafka takes topic it.it_eu.orders of table it_eu.orders for topic "
            "it.it.eu_orders of table it.eu_orders"
        ) in said
        stop = stream.config(**changed, quarantine__policy="stop")
        assert forked_command.run("check", str(stop)).returncode == 3
    finally:
        stream.execute(f"DROP DATABASE {other}")


def test_a_table_whose_labels_are_no_text_is_set_aside(stream: Stream) -> None:
    # MySQL converts the bytes of labels to UTF-16, and logs them as if they were characters of the
    # old set.
    stream.execute(
        "CREATE TABLE good (id INT PRIMARY KEY)",
        "CREATE TABLE labels (id INT PRIMARY KEY, s SET('a', 'b')) CHARACTER SET utf8mb4",
        "ALTER TABLE labels CONVERT TO CHARACTER SET utf16",
        "INSERT INTO labels VALUES (1, 1)",
        "INSERT INTO good VALUES (1)",
    )
    with stream.connector() as connector:
        stream.wait_for_changes(1, connector)
        stream.execute("INSERT INTO labels VALUES (2, 2)", "INSERT INTO good VALUES (2)")
        changes = stream.wait_for_changes(2, connector)
        assert connector.terminate() == 0
    assert [change.key for change in changes] == [{"id": 1}, {"id": 2}]
    assert aside(connector, stream.database) == {".labels": "T235"}
