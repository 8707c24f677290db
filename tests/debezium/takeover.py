"""Debezium is stopped at a random moment, and a pipeline goes on from its offsets.

::

    python -m tests.debezium.takeover                       ten rounds on MySQL
    python -m tests.debezium.takeover mariadb --rounds 2    on MariaDB
    python -m tests.debezium.takeover by-position           on MySQL without GTIDs

A writer changes rows without a pause, in transactions of several statements and many rows. The
worker of Kafka Connect writes exactly once; every second round kills it, the others stop the
connector by the REST interface. Small batches let most offsets lie within a transaction. Then
`import-debezium` makes a configuration from the connector's JSON and its offsets topic, and `run`
goes on. In the end, the topics must have each change of the writer once, and those of a row in
their order. Where the worker is alive, Debezium goes on again after the pipeline, as
docs/tasks/from-debezium.md tells it. It needs Maven, and Java for Debezium.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, closing
from pathlib import Path

from benchmarks import debezium
from benchmarks.builds import Builds
from benchmarks.debezium import FAIR, MARIADB
from benchmarks.home import Home
from benchmarks.stack import PASSWORD, USER, Stack
from local_stack import KafkaBroker, MariadbServer, MysqlServer, connect
from tests import forked_command
from tests.debezium.exactly_once_worker import ExactlyOnceWorker
from tests.debezium.writer import END, Change, Writer
from tests.integration.harness import (
    ConnectorProcess,
    Seen,
    consumer_of,
    partitions_of,
    read_committed,
    wait_until,
)

_PATIENCE_SECONDS = 120.0
# The latest records of a topic, among which a row is looked for.
_TAIL = 100
# So that batches end within transactions, and a killed worker's transaction ends soon.
_SMALL = {
    "max.batch.size": "97",
    "max.queue.size": "211",
    "poll.interval.ms": "5",
    "producer.override.transaction.timeout.ms": "10000",
}
_SETTINGS = {"binlog_row_event_max_size": "1024"}

_WITHOUT_GTIDS = {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}
_SERVERS = ("mysql-9", "mariadb", "by-position")


def main() -> None:
    """Play the rounds; exit with 1 if a change is missing or comes twice."""
    parser = argparse.ArgumentParser(prog="python -m tests.debezium.takeover", description=__doc__)
    parser.add_argument("server", nargs="?", default="mysql-9", choices=_SERVERS)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    debezium.PATIENCE_SECONDS = _PATIENCE_SECONDS
    chance = random.Random(arguments.seed)
    failed = 0
    with tempfile.TemporaryDirectory() as name, ExitStack() as started:
        folder = Path(name)
        home = Home(0)
        is_mariadb = arguments.server == "mariadb"
        builds = Builds(home.cache)
        class_path = builds.connect_mariadb() if is_mariadb else builds.connect()
        server: MysqlServer | MariadbServer
        if is_mariadb:
            server = MariadbServer(folder / "data", settings=_SETTINGS)
        else:
            others = _WITHOUT_GTIDS if arguments.server == "by-position" else {}
            server = MysqlServer(folder / "data", version="9", settings=_SETTINGS | others)
        started.enter_context(server)
        kafka = started.enter_context(KafkaBroker(folder / "kafka"))
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'")
            cursor.execute(f"GRANT ALL PRIVILEGES ON *.* TO {USER}")
        stack = Stack(home, server, kafka)
        for number in range(1, arguments.rounds + 1):
            found = _Round(stack, folder, class_path, number, is_mariadb).play(chance)
            failed += bool(found)
            print("\n".join(found) or "  each change once, in order", flush=True)
    print(f"{arguments.rounds - failed} of {arguments.rounds} rounds are right")
    raise SystemExit(bool(failed))


class _Round:
    """One takeover, in a database and under a prefix of its own."""

    def __init__(
        self,
        stack: Stack,
        folder: Path,
        class_path: str,
        number: int,
        is_mariadb: bool,
    ) -> None:
        self._name = name = f"takeover{number}"
        self._number = number
        self._stack, self._source, self._folder = stack, stack.source, folder
        settings = {**FAIR, **(MARIADB if is_mariadb else {}), **_SMALL}
        self._theirs = ExactlyOnceWorker(stack, name, class_path, settings, 5700 + number)
        with connect(self._source) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
            cursor.execute(f"CREATE TABLE {name}.t (id INT PRIMARY KEY, n INT)")
            cursor.execute(f"CREATE TABLE {name}.begun (id INT AUTO_INCREMENT PRIMARY KEY)")
        self._writer = Writer(self._source, name, number)

    def play(self, chance: random.Random) -> list[str]:
        """Play the round; return what is wrong."""
        theirs, writer = self._theirs, self._writer
        try:
            theirs.follow()
            wait_until(self._follows, lambda: "Debezium writes no record", _PATIENCE_SECONDS)
            writer.start()
            time.sleep(chance.uniform(1, 8))
            killed = self._number % 2 == 0
            if killed:
                theirs.kill()
            else:
                theirs.stop_connector()
            time.sleep(1)
            document = self._folder / f"{self._name}.json"
            document.write_text(theirs.json())
            writer.ending.set()
            writer.join()
            found = self._taken_over(document, "killed" if killed else "stopped")
            return found if found or killed else self._gone_back()
        finally:
            writer.ending.set()
            theirs.stop()

    def _taken_over(self, document: Path, how: str) -> list[str]:
        config = self._folder / f"{self._name}.toml"
        begun = time.monotonic()
        done = forked_command.run(
            "import-debezium",
            str(document),
            "--offsets",
            f"connect-offset-{self._name}",
            "--bootstrap-servers",
            self._stack.bootstrap,
            "--secrets",
            "-o",
            str(config),
        )
        if done.returncode:
            return [done.stderr]
        took = time.monotonic() - begun
        text = config.read_text()
        start_line = next(line for line in text.splitlines() if line.startswith("start = "))
        with ConnectorProcess(config, environment={"BINLOG_CONNECTOR_LOG__FORMAT": "json"}) as ours:
            wait_until(
                lambda: self._has_come(END),
                lambda: f"the last row does not arrive\n{ours.output()}",
                _PATIENCE_SECONDS,
            )
            ours.terminate()
        seen = self._seen()
        own = sum("cdc.seq" in each.headers for each in seen)
        inside = start_line.rstrip('"').partition("+")[2]
        print(
            f"round {self._number}: {how}, {'within a transaction +' + inside if inside else ''}"
            f"{'' if inside else 'between transactions'}; {len(seen) - own:,} changes of Debezium, "
            f"{own:,} of ours, {len(self._writer.changes):,} of the writer; import {took:.1f} s"
        )
        return _differences(self._writer.changes, [_change(each) for each in seen])

    def _gone_back(self) -> list[str]:
        """Let Debezium go on after the pipeline; return what is wrong."""
        log = (self._folder / f"{self._name}.log").read_text()
        said = next(
            each for each in map(json.loads, log.splitlines()) if each["event"] == "stopped"
        )
        file, _, position = said["position"].rpartition(":")
        offset = {"file": file, "pos": int(position)}
        if said["gtid_set"]:
            offset["gtids"] = said["gtid_set"]
        self._theirs.go_on_after(offset)
        with connect(self._source, self._name) as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO t VALUES (-2, 0), (-3, 0)")
        wait_until(
            lambda: self._has_come(-3),
            lambda: "the connector does not go on",
            _PATIENCE_SECONDS,
        )
        wanted = [*self._writer.changes, ("c", -2, 0), ("c", -3, 0)]
        return _differences(wanted, [_change(each) for each in self._seen()])

    def _follows(self) -> bool:
        """Return whether Debezium has come to a change; without a snapshot it begins somewhere."""
        self._theirs.check()
        with connect(self._source, self._name) as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO begun VALUES ()")
        return bool(self._seen("begun"))

    def _has_come(self, row_id: int) -> bool:
        """Return whether the latest records of the table have a row."""
        wanted = json.dumps({"id": row_id}, separators=(",", ":")).encode()
        with closing(consumer_of(self._stack.kafka.endpoint)) as consumer:
            partitions = partitions_of(consumer, f"{self._name}.{self._name}.t")
            ends = consumer.end_offsets(partitions)
            consumer.assign(partitions)
            for partition, end in ends.items():
                consumer.seek(partition, max(0, end - _TAIL))
            found = False
            while any(consumer.position(each) < ends[each] for each in partitions):
                for records in consumer.poll(timeout_ms=200).values():
                    found = found or any(record.key == wanted for record in records)
        return found

    def _seen(self, table: str = "t") -> list[Seen]:
        """Return the committed changes, in the order of the topic's one partition."""
        records = read_committed(self._stack.kafka.endpoint, self._name)
        ending = f".{table}"
        return [each for each in records if each.value is not None and each.topic.endswith(ending)]


def _change(seen: Seen) -> Change:
    row = seen.value["after"] or seen.value["before"]
    return seen.value["op"], row["id"], row["n"]


def _differences(wanted: list[Change], found: list[Change]) -> list[str]:
    wanted_counts, counts = Counter(wanted), Counter(found)
    missing = wanted_counts - counts
    others = counts - wanted_counts
    lines = [
        f"  {sum(each.values())} changes {what}, such as {sorted(each)[:3]}"
        for what, each in (("are missing", missing), ("come twice or from nowhere", others))
        if each
    ]
    if not lines:
        by_row: dict[int, list[Change]] = defaultdict(list)
        for change in found:
            by_row[change[1]].append(change)
        for change in reversed(wanted):
            if by_row[change[1]].pop() != change:
                return [f"  the changes of row {change[1]} have another order"]
    return lines


if __name__ == "__main__":
    main()
