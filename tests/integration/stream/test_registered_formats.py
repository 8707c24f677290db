"""A pipeline with a real schema registry: Avro, a registry that is away, one that says no."""

from __future__ import annotations

import json
import urllib.request
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.settings.sections import RegistrySettings
from connector.stream.sink.schema_registry import SchemaRegistry
from local_stack.kafka import SchemaRegistryServer
from tests import forked_command
from tests.debezium.registered import readable
from tests.integration.harness import (
    consumer_of,
    failure_of,
    partitions_of,
    records_of,
    run_to_end,
    wait_until,
)
from tests.length import full_only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess

pytestmark = pytest.mark.kafka

OLD = '{"type":"record","name":"Value","fields":[{"name":"other","type":"string"}]}'


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistryServer]:
    with SchemaRegistryServer(tmp_path_factory.mktemp("registry")) as server:
        yield server


def keys(registry: SchemaRegistryServer, kind: str = "avro") -> dict[str, Any]:
    """Return the settings of a pipeline with keys and values of a kind."""
    return {
        "envelope__profile": "debezium",
        "envelope__key_format": kind,
        "envelope__value_format": kind,
        "registry__urls": [registry.url],
    }


class Topic:
    """The records of one topic, in Avro."""

    def __init__(self, stream: Stream, table: str, registry: SchemaRegistryServer) -> None:
        self._stream = stream
        self._name = f"{stream.prefix}.{stream.database}.{table}"
        self._url = registry.url
        self._texts: dict[int, str] = {}

    def wait_for(self, count: int, connector: ConnectorProcess) -> list[tuple[Any, Any]]:
        """Return the records once there are `count` of them."""
        found: list[tuple[Any, Any]] = []
        with closing(consumer_of(self._stream.broker)) as consumer:

            def enough() -> bool:
                if self._name not in consumer.topics():
                    return False
                records = records_of(consumer, partitions_of(consumer, self._name))
                found[:] = [(self._read(each.key), self._read(each.value)) for each in records]
                return len(found) >= count

            wait_until(enough, lambda: f"{found}\n{connector.output()}")
        return found

    def _read(self, record: bytes | None) -> Any:
        return None if record is None else json.loads(readable(record, self._text))["payload"]

    def _text(self, number: int) -> str:
        """Return the schema that the registry has."""
        if number not in self._texts:
            with urllib.request.urlopen(f"{self._url}/schemas/ids/{number}") as answer:
                self._texts[number] = json.load(answer)["schema"]
        return self._texts[number]


def test_avro_is_copied_streamed_and_proven(
    either_stream: Stream, registry: SchemaRegistryServer
) -> None:
    stream = either_stream
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n DECIMAL(5,2), s VARCHAR(20))",
        """INSERT INTO t VALUES (1, 1.28, 'a"\\\\\\n')""",
    )
    settings = keys(registry) | {"source__start": "snapshot", "kafka__partitions": 1}
    topic = Topic(stream, "t", registry)
    with stream.connector(**settings) as connector:
        ((key, copied),) = topic.wait_for(1, connector)
        assert (key, copied["op"]) == ({"id": 1}, "r")
        assert copied["after"] == {"id": 1, "n": "AIA=", "s": 'a"\\\n'}
        stream.execute(
            "UPDATE t SET id = 2, s = NULL",
            # Another column list has another schema.
            "ALTER TABLE t ADD COLUMN b BIT(1) NOT NULL DEFAULT b'1'",
            "INSERT INTO t VALUES (3, 0, 'x', b'0')",
            "DELETE FROM t WHERE id = 3",
        )
        records = topic.wait_for(7, connector)
        assert connector.terminate() == 0
    _, *changed = records
    assert [(key["id"], value and value["op"]) for key, value in changed] == [
        (1, "d"), (1, None), (2, "c"), (3, "c"), (3, "d"), (3, None),
    ]  # fmt: skip
    assert changed[2][1]["after"] == {"id": 2, "n": "AIA=", "s": None}
    assert changed[3][1]["after"] == {"id": 3, "n": "AA==", "s": "x", "b": False}
    done = forked_command.run("verify", str(stream.config(**settings)), "--topics")
    assert done.returncode == 0, done.stdout + done.stderr


@full_only
def test_the_stream_waits_for_a_registry_that_is_away(
    stream: Stream, registry: SchemaRegistryServer
) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    topic = Topic(stream, "t", registry)
    checked = stream.config(**keys(registry))
    registry.stop()
    try:
        done = forked_command.run("check", str(checked))
        assert done.returncode == 1
        assert "[K401] schema registry" in done.stdout + done.stderr
        with stream.connector(**keys(registry)) as connector:
            connector.wait_for("K401")
            registry.start()
            assert topic.wait_for(1, connector)[0][0] == {"id": 1}
            # Its id is known.
            registry.stop()
            stream.execute("INSERT INTO t VALUES (2)")
            registry.start()
    finally:
        registry.start()
    done = forked_command.run("check", str(checked))
    assert f"Schema registry {registry.url}: answers" in done.stdout
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("policy", ["stop", "fence-table"])
def test_a_schema_that_is_not_compatible_stops_the_stream_or_fences_the_table(
    stream: Stream, registry: SchemaRegistryServer, policy: str
) -> None:
    subject = f"{stream.prefix}.{stream.database}.bad-value"
    SchemaRegistry(RegistrySettings(urls=[registry.url])).id_of(subject, "AVRO", OLD)
    body = json.dumps({"compatibility": "FULL"}).encode()
    request = urllib.request.Request(
        f"{registry.url}/config/{subject}", body, {"Content-Type": "application/json"}, method="PUT"
    )
    urllib.request.urlopen(request).close()
    stream.execute(
        "CREATE TABLE bad (id INT PRIMARY KEY)",
        "CREATE TABLE good (id INT PRIMARY KEY)",
        "INSERT INTO bad VALUES (1)",
        "INSERT INTO good VALUES (2)",
    )
    settings = keys(registry) | {"quarantine__policy": policy}
    if policy == "stop":
        code, output = run_to_end(stream.config(**settings))
        assert code == 3
        assert f"refuses the schema of {subject}" in failure_of(output)
        return
    with stream.connector(**settings) as connector:
        assert Topic(stream, "good", registry).wait_for(1, connector)[0][0] == {"id": 2}
        assert "T410" in connector.output()


def test_a_format_of_a_registry_needs_one(stream: Stream) -> None:
    code, output = run_to_end(
        stream.config(envelope__profile="debezium", envelope__value_format="avro")
    )
    assert code == 2
    said = 'CONFIG: envelope.value_format = "avro" needs the URLs of a schema registry; name them: '
    assert said in failure_of(output)
