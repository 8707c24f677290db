"""Debezium and the connector read one server, and their records are compared.

::

    python -m tests.debezium                mysql-9
    python -m tests.debezium mysql-8.0      another server: mysql-8.0 or mariadb
    python -m tests.debezium --record       keeps Debezium's records, and the log, for the suite

Each option set is a connector of its own on both sides; all read the same server. It needs Maven,
and Java for Debezium. The differences that docs/debezium.md explains are not printed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
import urllib.request
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kafka import KafkaConsumer, TopicPartition

from benchmarks import debezium
from benchmarks.builds import Builds
from benchmarks.debezium import FAIR, MARIADB, DebeziumConnector
from benchmarks.home import Home
from benchmarks.stack import PASSWORD, USER, Stack
from local_stack import KafkaBroker, MariadbServer, MysqlServer, connect
from local_stack.kafka import SchemaRegistryServer
from tests.debezium import story
from tests.debezium.comparison import (
    GOLDEN,
    LOG,
    RECORDS,
    by_table,
    differences,
    keep,
    seen,
)
from tests.debezium.option_sets import SETS, OptionSet, registry_options
from tests.debezium.registered import readable
from tests.integration.harness import ConnectorProcess, write_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from local_stack import Endpoint

_PATIENCE_SECONDS = 400.0
_LOOK_SECONDS = 0.2
# Records of the table that ends the story: of the copy, and of the changes.
_COPIED, _CHANGED = 1, 2


def main() -> None:
    """Compare on the server that the command line names; exit with 1 for a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.debezium", description=__doc__)
    parser.add_argument("server", nargs="?", default=story.SERVERS[0], choices=story.SERVERS)
    parser.add_argument("--record", action="store_true", help="keep what Debezium writes")
    arguments = parser.parse_args()
    debezium.PATIENCE_SECONDS = _PATIENCE_SECONDS
    with tempfile.TemporaryDirectory() as folder:
        found = _compare(Path(folder), arguments.server, record=arguments.record)
    print("\n".join(found) or "no differences but those of docs/debezium.md")
    raise SystemExit(bool(found))


def _compare(folder: Path, kind: str, *, record: bool) -> list[str]:
    home = Home(0)
    is_mariadb = kind == "mariadb"
    builds = Builds(home.cache)
    class_path = builds.connect_mariadb() if is_mariadb else builds.connect()
    settings = {"character_set_server": "utf8mb4"}
    flavour = MARIADB if is_mariadb else {}
    with (
        (
            MariadbServer(folder / "data", settings=settings)
            if is_mariadb
            else MysqlServer(
                folder / "data", version=kind.removeprefix("mysql-"), settings=settings
            )
        ) as server,
        KafkaBroker(folder / "kafka") as kafka,
        SchemaRegistryServer(folder / "registry") as registry,
    ):
        endpoint = server.endpoint
        _play(
            endpoint,
            "",
            [
                f"CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'",
                f"GRANT ALL PRIVILEGES ON *.* TO {USER}",
                f"CREATE DATABASE {story.DATABASE} CHARACTER SET utf8mb4",
            ],
        )
        _play(endpoint, story.DATABASE, story.beginning(kind))
        stack = Stack(home, server, kafka)
        first, *others = SETS
        theirs = DebeziumConnector(
            stack,
            _theirs(first),
            story.DATABASE,
            class_path,
            {**FAIR, **flavour, **first.theirs},
        )
        topics = _Topics(kafka.endpoint)
        with closing(topics), ExitStack() as started:
            ours = [
                started.enter_context(
                    ConnectorProcess(_config(folder, endpoint, kafka, registry, number))
                )
                for number in range(len(SETS))
            ]
            try:
                beside = {_theirs(each): _with_registry(each, registry) for each in others}
                theirs.copy(f"{story.DATABASE}.*", beside)
                topics.wait_for_end(_COPIED, theirs.check)
                _play(endpoint, story.DATABASE, story.changes(kind))
                topics.wait_for_end(_CHANGED, theirs.check)
            finally:
                theirs.stop()
            for each in ours:
                each.terminate()
            written = {each.name: topics.read(_theirs(each)) for each in SETS}
            own = {each.name: topics.read(_ours(each)) for each in SETS}
            for records in (written, own):
                for chosen in SETS:
                    if chosen.is_avro:
                        records[chosen.name] = _readable(records[chosen.name], registry)
        if record:
            (GOLDEN / kind).mkdir(parents=True, exist_ok=True)
            keep(GOLDEN / kind / RECORDS, written)
            log = (folder / "data/data/binlog.000001").read_bytes()
            (GOLDEN / kind / LOG).write_bytes(gzip.compress(log, mtime=0))
    return [
        f"{name}: {line}"
        for name, records in written.items()
        for line in _differences(own[name], records)
    ]


def _with_registry(options: OptionSet, registry: SchemaRegistryServer) -> dict[str, str]:
    if not options.is_avro:
        return options.theirs
    address = registry.endpoint
    return options.theirs | registry_options(f"http://{address.host}:{address.port}")


def _readable(records: list[Any], registry: SchemaRegistryServer) -> list[Any]:
    """Return records in Avro as JSON with their schemas."""

    @cache
    def text_of(number: int) -> str:
        with urllib.request.urlopen(f"{registry.url}/schemas/ids/{number}") as answer:
            text: str = json.load(answer)["schema"]
        return text

    return [
        (
            topic,
            None if key is None else readable(key, text_of),
            None if value is None else readable(value, text_of),
            headers,
        )
        for topic, key, value, headers in records
    ]


def _differences(ours: list[Any], theirs: list[Any]) -> list[str]:
    own = by_table(seen(*each) for each in ours)
    wanted = by_table(seen(*each) for each in theirs)
    found = [
        line
        for table, records in wanted.items()
        for line in differences(_in_their_order(own.get(table, [])), records)
    ]
    return found + [f"{table}: Debezium has no record" for table in own.keys() - wanted.keys()]


def _theirs(options: OptionSet) -> str:
    return f"theirs-{options.name}"


def _ours(options: OptionSet) -> str:
    return f"ours-{options.name}"


def _config(
    folder: Path,
    source: Endpoint,
    kafka: KafkaBroker,
    registry: SchemaRegistryServer,
    number: int,
) -> Path:
    chosen = {"registry__urls": [registry.url]} if SETS[number].is_avro else {}
    return write_config(
        folder,
        source,
        kafka.endpoint,
        _ours(SETS[number]),
        story.DATABASE,
        source__start="snapshot",
        source__server_id=5801 + number,
        kafka__partitions=1,
        **SETS[number].settings,
        **chosen,
    )


def _in_their_order(records: list[Any]) -> list[Any]:
    """Return copied rows by their keys, as Debezium copies them, and then the changes."""
    return sorted(records, key=lambda each: not each.copied)


def _play(endpoint: Endpoint, database: str, statements: Iterable[str]) -> None:
    with connect(endpoint, database or None) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


class _Topics:
    """The row topics of all; each has one partition."""

    def __init__(self, broker: Endpoint) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=broker.bootstrap,
            isolation_level="read_committed",
            enable_auto_commit=False,
            group_id=None,
        )

    def wait_for_end(self, count: int, check: Callable[[], None]) -> None:
        """Wait until each has so many records of the last table."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for prefix in (name(each) for each in SETS for name in (_theirs, _ours)):
            topic = f"{prefix}.{story.DATABASE}.{story.LAST_TABLE}"
            while len(self._records(topic)) < count:
                check()
                if time.monotonic() > deadline:
                    message = f"{topic} has not {count} records"
                    raise TimeoutError(message)
                time.sleep(_LOOK_SECONDS)

    def read(self, prefix: str) -> list[Any]:
        """Return topic, key, value and headers of all records of rows."""
        start = f"{prefix}.{story.DATABASE}."
        topics = sorted(name for name in self._consumer.topics() if name.startswith(start))
        return [record for topic in topics for record in self._records(topic)]

    def _records(self, topic: str) -> list[Any]:
        if topic not in self._consumer.topics():
            return []
        partition = TopicPartition(topic, 0)
        self._consumer.assign([partition])
        self._consumer.seek_to_beginning(partition)
        end = self._consumer.end_offsets([partition])[partition]
        found = []
        while self._consumer.position(partition) < end:
            for records in self._consumer.poll(timeout_ms=200).values():
                found += [(topic, each.key, each.value, each.headers) for each in records]
        return found

    def close(self) -> None:
        self._consumer.close()


if __name__ == "__main__":
    main()
