"""Debezium is stopped at a random moment, and a pipeline goes on from its offsets.

::

    python -m tests.debezium.takeover                       ten rounds on MySQL
    python -m tests.debezium.takeover mariadb --rounds 2    on MariaDB

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
import threading
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import debezium
from benchmarks.builds import Builds
from benchmarks.debezium import FAIR, MARIADB, MEMORY, DebeziumConnector
from benchmarks.home import Home
from benchmarks.process import start
from benchmarks.stack import PASSWORD, USER, Stack
from local_stack import KafkaBroker, MariadbServer, MysqlServer, connect
from local_stack.java import java_runtime
from tests import forked_command
from tests.integration.harness import (
    ConnectorProcess,
    Seen,
    consumer_of,
    partitions_of,
    read_committed,
    wait_until,
)

if TYPE_CHECKING:
    from local_stack import Endpoint

_PATIENCE_SECONDS = 120.0
_JSON = "org.apache.kafka.connect.json.JsonConverter"
# The table's last row, and the records among which it is looked for.
_END, _TAIL = -1, 100
# So that batches end within transactions, and a killed worker's transaction ends soon.
_SMALL = {
    "max.batch.size": "97",
    "max.queue.size": "211",
    "poll.interval.ms": "5",
    "producer.override.transaction.timeout.ms": "10000",
}
_SETTINGS = {"binlog_row_event_max_size": "1024"}

# Operation, id and number of a change: no two are equal.
Change = tuple[str, int, int]


def main() -> None:
    """Play the rounds; exit with 1 if a change is missing or comes twice."""
    parser = argparse.ArgumentParser(prog="python -m tests.debezium.takeover", description=__doc__)
    parser.add_argument("server", nargs="?", default="mysql-9", choices=("mysql-9", "mariadb"))
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
            server = MysqlServer(folder / "data", version="9", settings=_SETTINGS)
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


class _Worker(DebeziumConnector):
    """One connector in a distributed worker, which writes exactly once."""

    def __init__(
        self, stack: Stack, name: str, class_path: str, settings: dict[str, str], server_id: int
    ) -> None:
        super().__init__(stack, name, name, class_path, settings)
        self._server_id = server_id

    def follow(self) -> None:
        """Start the worker and the connector, without a snapshot."""
        self._history.unlink(missing_ok=True)
        self._start_worker()
        self._call("POST", "/connectors", {"name": self.prefix, "config": self._config()})
        self._wait_until("RUNNING")

    def stop_connector(self) -> None:
        """Stop the connector as its operator would."""
        self._call("PUT", f"/connectors/{self.prefix}/stop")
        self._wait_until("STOPPED")

    def go_on_after(self, offset: dict[str, object]) -> None:
        """Let the stopped connector go on at an offset."""
        entry = {"partition": {"server": self.prefix}, "offset": offset}
        self._call("PATCH", f"/connectors/{self.prefix}/offsets", {"offsets": [entry]})
        self._call("PUT", f"/connectors/{self.prefix}/resume")
        self._wait_until("RUNNING")

    def kill(self) -> None:
        """End the worker as the kernel would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def json(self) -> str:
        """Return what GET /connectors/NAME answers."""
        return json.dumps({"name": self.prefix, "config": self._config()})

    def _config(self) -> dict[str, str]:
        return super()._config() | {"database.server.id": str(self._server_id)}

    def _start_worker(self) -> None:
        names = {
            f"{topic}.storage.topic": f"connect-{topic}-{self.prefix}"
            for topic in ("config", "offset", "status")
        }
        settings = {
            "bootstrap.servers": self.stack.bootstrap,
            "group.id": f"connect-{self.prefix}",
            "key.converter": _JSON,
            "value.converter": _JSON,
            "exactly.once.source.support": "enabled",
            "offset.storage.partitions": "3",
            "listeners": self._rest,
            **names,
            **{
                f"{topic}.storage.replication.factor": "1"
                for topic in ("config", "offset", "status")
            },
        }
        properties = self.folder / f"{self.prefix}.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        java = str(java_runtime(self.stack.home.cache))
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
        command = [java, *MEMORY, quiet, "-cp", self._class_path, main_class, str(properties)]
        self._process = start(command, self.log)
        self._wait(self._answers)


class _Writer(threading.Thread):
    """Changes rows until it is told to end; knows all changes in their order."""

    def __init__(self, source: Endpoint, database: str, seed: int) -> None:
        super().__init__()
        self._source, self._database = source, database
        self._chance = random.Random(seed)
        self._rows: dict[int, int] = {}
        self._number = 0
        self._next_id = 1
        self.changes: list[Change] = []
        self.ending = threading.Event()

    def run(self) -> None:
        """Commit one transaction after the other, and a last row."""
        with connect(self._source, self._database) as connection, connection.cursor() as cursor:
            while not self.ending.is_set():
                cursor.execute("BEGIN")
                for _ in range(self._chance.randint(1, 6)):
                    cursor.execute(self._statement())
                cursor.execute("COMMIT")
                time.sleep(self._chance.choice((0, 0.01, 0.02, 0.1)))
            cursor.execute(f"INSERT INTO t VALUES ({_END}, 0)")
        self.changes.append(("c", _END, 0))

    def _statement(self) -> str:
        self._number += 1
        number, size = self._number, self._chance.choice((1, 20, 200, 500))
        kind = self._chance.random()
        if kind < 0.5 or len(self._rows) < 1000:
            ids = list(range(self._next_id, self._next_id + size))
            self._next_id += size
            self._rows |= dict.fromkeys(ids, number)
            self.changes += [("c", each, number) for each in ids]
            return "INSERT INTO t VALUES " + ",".join(f"({each}, {number})" for each in ids)
        first = self._chance.randrange(self._next_id)
        ids = [each for each in range(first, first + size) if each in self._rows]
        where = f"WHERE id BETWEEN {first} AND {first + size - 1} ORDER BY id"
        if kind < 0.8:
            self._rows |= dict.fromkeys(ids, number)
            self.changes += [("u", each, number) for each in ids]
            return f"UPDATE t SET n = {number} {where}"
        self.changes += [("d", each, self._rows.pop(each)) for each in ids]
        return f"DELETE FROM t {where}"


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
        self._theirs = _Worker(stack, name, class_path, settings, 5700 + number)
        with connect(self._source) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
            cursor.execute(f"CREATE TABLE {name}.t (id INT PRIMARY KEY, n INT)")
            cursor.execute(f"CREATE TABLE {name}.begun (id INT AUTO_INCREMENT PRIMARY KEY)")
        self._writer = _Writer(self._source, name, number)

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
                lambda: self._has_come(_END),
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
        offset = {"file": file, "pos": int(position), "gtids": said["gtid_set"]}
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
