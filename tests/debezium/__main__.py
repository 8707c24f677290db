"""Debezium and the connector read one server, and their records are compared.

::

    python -m tests.debezium              MySQL 9
    python -m tests.debezium 8.0          another version
    python -m tests.debezium --record     keeps Debezium's records, and the log, for the suite

It needs Maven, and Java for Debezium. The differences that docs/debezium.md explains are not
printed.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from kafka import KafkaConsumer, TopicPartition

from benchmarks import debezium
from benchmarks.builds import Builds
from benchmarks.debezium import LOW_LATENCY, DebeziumConnector
from benchmarks.home import Home
from benchmarks.stack import PASSWORD, USER, Stack
from local_stack import KafkaBroker, MysqlServer, connect
from tests.debezium import story
from tests.debezium.comparison import GOLDEN, by_table, differences, keep, seen
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
    parser.add_argument("version", nargs="?", default="9", help="of MySQL")
    parser.add_argument("--record", action="store_true", help="keep what Debezium writes")
    arguments = parser.parse_args()
    debezium.PATIENCE_SECONDS = _PATIENCE_SECONDS
    with tempfile.TemporaryDirectory() as folder:
        found = _compare(Path(folder), arguments.version, record=arguments.record)
    print("\n".join(found) or "no differences but those of docs/debezium.md")
    raise SystemExit(bool(found))


def _compare(folder: Path, version: str, *, record: bool) -> list[str]:
    home = Home(0)
    class_path = Builds(home.cache).connect()
    settings = {"character_set_server": "utf8mb4"}
    vectors = version.startswith("9")
    with (
        MysqlServer(folder / "mysql", version=version, settings=settings) as server,
        KafkaBroker(folder / "kafka") as kafka,
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
        _play(endpoint, story.DATABASE, story.beginning(vectors=vectors))
        stack = Stack(home, server, kafka)
        theirs = DebeziumConnector(stack, "theirs", story.DATABASE, class_path, LOW_LATENCY)
        config = write_config(
            folder,
            endpoint,
            kafka.endpoint,
            "ours",
            story.DATABASE,
            source__start="snapshot",
            envelope__profile="debezium",
            kafka__partitions=1,
        )
        topics = _Topics(kafka.endpoint)
        with closing(topics), ConnectorProcess(config) as ours:
            try:
                theirs.copy(f"{story.DATABASE}.*")
                topics.wait_for_end(_COPIED, theirs.check)
                _play(endpoint, story.DATABASE, story.changes(vectors=vectors))
                topics.wait_for_end(_CHANGED, theirs.check)
            finally:
                theirs.stop()
            ours.terminate()
            records = {name: topics.read(name) for name in ("theirs", "ours")}
        if record:
            GOLDEN.mkdir(exist_ok=True)
            keep(GOLDEN / "records.jsonl.gz", records["theirs"])
            log = folder / "mysql/data/binlog.000001"
            (GOLDEN / "binlog.000001.gz").write_bytes(gzip.compress(log.read_bytes(), mtime=0))
    both = [by_table(seen(*each) for each in records[name]) for name in ("ours", "theirs")]
    return [
        line
        for table, wanted in both[1].items()
        for line in differences(_in_their_order(both[0].get(table, [])), wanted)
    ]


def _in_their_order(records: list[Any]) -> list[Any]:
    """Return copied rows by their keys, as Debezium copies them, and then the changes."""
    return sorted(records, key=lambda each: not each.copied)


def _play(endpoint: Endpoint, database: str, statements: Iterable[str]) -> None:
    with connect(endpoint, database or None) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


class _Topics:
    """The row topics of both; each has one partition."""

    def __init__(self, broker: Endpoint) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=broker.bootstrap,
            isolation_level="read_committed",
            enable_auto_commit=False,
            group_id=None,
        )

    def wait_for_end(self, count: int, check: Callable[[], None]) -> None:
        """Wait until both have so many records of the last table."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for prefix in ("theirs", "ours"):
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
