"""The servers that a client reads from, and our pipelines in the formats that it is shown."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.builds import Builds
from benchmarks.home import Home
from local_stack import KafkaBroker, MysqlServer, connect
from tests.debezium.clients import workload
from tests.integration.harness import (
    ConnectorProcess,
    consumer_of,
    partitions_of,
    records_of,
    write_config,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from local_stack import Endpoint
    from local_stack.kafka import SchemaRegistryServer

PATIENCE_SECONDS = 240.0
LOOK_SECONDS = 0.3
_PARTITIONS = 3
# Records of the last table: of the copy and of the changes.
_LAST_RECORDS = 2
WITH_SCHEMA = {"key_format": "json_with_schema", "value_format": "json_with_schema"}
AVRO = {"key_format": "avro", "value_format": "avro", "field_names": "avro", "schema_names": "avro"}


@dataclass
class Servers:
    """A source, a broker and a registry that run, with records of ours."""

    folder: Path
    mysql: MysqlServer
    kafka: KafkaBroker
    registry: SchemaRegistryServer
    home: Home = field(default_factory=lambda: Home(0))

    @property
    def builds(self) -> Builds:
        """What clients are made of."""
        return Builds(self.home.cache)

    @property
    def source(self) -> Endpoint:
        """Where the source answers."""
        return self.mysql.endpoint

    @property
    def broker(self) -> Endpoint:
        """Where the broker answers."""
        return self.kafka.endpoint

    def stream(self, formats: dict[str, dict[str, object]], seed: int) -> None:
        """Write the workload with a pipeline for each prefix of `formats`, and stop them.

        The values of `formats` are keys of `[envelope]`.
        """
        chance = random.Random(seed)
        play(self.source, [f"CREATE DATABASE {workload.DATABASE} CHARACTER SET utf8mb4"])
        play(self.source, workload.beginning(chance), workload.DATABASE)
        with ExitStack() as started:
            ours = [
                started.enter_context(ConnectorProcess(self._config(prefix, number, envelope)))
                for number, (prefix, envelope) in enumerate(formats.items())
            ]
            self._wait_for_last(ours, 1)
            play(self.source, workload.changes(chance), workload.DATABASE)
            self._wait_for_last(ours, _LAST_RECORDS)
            for each in ours:
                each.terminate()

    def topics(self, prefix: str) -> list[str]:
        """Return the topics of rows."""
        return [f"{prefix}.{workload.DATABASE}.{table}" for table in workload.TABLES]

    def records(self, topic: str) -> list[Any]:
        """Return all committed records of a topic, by partition."""
        with closing(consumer_of(self.broker)) as consumer:
            if topic not in consumer.topics():
                return []
            return records_of(consumer, partitions_of(consumer, topic))

    def _config(self, prefix: str, number: int, envelope: dict[str, object]) -> Path:
        registered = envelope.get("value_format") in {"avro", "json_schema"}
        registry = {"registry__urls": [self.registry.url]} if registered else {}
        return write_config(
            self.folder,
            self.source,
            self.broker,
            prefix,
            workload.DATABASE,
            source__start="snapshot",
            source__server_id=5801 + number,
            kafka__partitions=_PARTITIONS,
            envelope__profile="debezium",
            **{f"envelope__{key}": value for key, value in envelope.items()},
            **registry,
        )

    def _wait_for_last(self, pipelines: Iterable[ConnectorProcess], count: int) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        for each in pipelines:
            topic = f"{each.config.stem}.{workload.DATABASE}.{workload.LAST_TABLE}"
            while len(self.records(topic)) < count:
                assert each.process is not None
                if each.process.poll() is not None or time.monotonic() > deadline:
                    message = f"{topic} has not {count} records: {each.output()[-2000:]}"
                    raise TimeoutError(message)
                time.sleep(LOOK_SECONDS)


def play(endpoint: Endpoint, statements: Iterable[str], database: str | None = None) -> None:
    """Execute statements, one after the other."""
    with connect(endpoint, database) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
