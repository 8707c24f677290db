"""`python -m tests.stream.snapshot.proof`: a large table is copied under writes and kills.

A table of ten columns is copied while writers change, delete, insert and move its rows. The
connector is killed with SIGKILL: while it plans, while it reads, with a chunk in Kafka that is not
committed, between two chunks, in the last chunk, and at times in between. Then the topic is folded
by key, in Kafka's order, and compared row by row with the source.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kafka import TopicPartition

from local_stack import KafkaBroker, MariadbServer, MysqlServer, connect
from tests.integration.harness import ConnectorProcess, consumer_of, write_config
from tests.stream.snapshot.folding import compare, fold
from tests.stream.snapshot.large_table import DATABASE, TABLE, LoadWriter, create, rows_read

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_stack import Endpoint

PREFIX = "proof"
TOPIC = f"{PREFIX}.{DATABASE}.{TABLE}"
WRITERS = 2
LOOK_SECONDS = 0.02
# Without a change of the copy's state.
STUCK_SECONDS = 120.0


def main() -> int:
    """Run, and return the exit code: 1 when the topic does not lead to what the source has."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.stream.snapshot.proof", description=__doc__
    )
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--flavour", choices=["mysql", "mariadb"], default="mysql")
    parser.add_argument("--rate", type=float, default=200.0, help="transactions a second")
    parser.add_argument("--chunk-rows", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=4, help="besides those in each phase")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="snapshot-proof-") as folder:
        path = Path(folder)
        source = (
            MysqlServer(path / "source", version="9")
            if arguments.flavour == "mysql"
            else MariadbServer(path / "source")
        )
        with source as server, KafkaBroker(path / "kafka") as broker:
            proof = Proof(arguments, server.endpoint, broker.endpoint, path)
            return proof.run()


class Proof:
    """One run on servers of its own."""

    def __init__(
        self, arguments: argparse.Namespace, source: Endpoint, broker: Endpoint, folder: Path
    ) -> None:
        self._arguments = arguments
        self._source = source
        self._broker = broker
        self._random = random.Random(arguments.seed)
        self._config = write_config(
            folder,
            source,
            broker,
            PREFIX,
            DATABASE,
            source__start="snapshot",
            snapshot__chunk_rows=arguments.chunk_rows,
            delivery__commit_interval_ms=100,
        )
        self._connector = ConnectorProcess(self._config)
        self._states = _States(broker)
        self._kills: list[str] = []

    def run(self) -> int:
        rows = self._arguments.rows
        began = time.monotonic()
        create(self._source, rows)
        self._say(f"{rows:,} rows of 10 columns", began)
        before = rows_read(self._source)
        began = time.monotonic()
        writers = [
            LoadWriter(self._source, rows, seed, self._arguments.rate / WRITERS)
            for seed in range(WRITERS)
        ]
        for writer in writers:
            writer.start()
        copied_seconds = self._copy()
        read = rows_read(self._source) - before
        for writer in writers:
            writer.stop()
        transactions = sum(writer.transactions for writer in writers)
        kills = len(self._kills)
        self._say(f"copied under {transactions:,} transactions, killed {kills} times", began)
        for kill in self._kills:
            print(f"    {kill}")
        written = int(str(self._states.last["rows"]))
        again = max(0, read - rows - sum(writer.rows_read for writer in writers))
        print(f"    {written / copied_seconds:,.0f} rows/s, starts included")
        print(f"    about {again:,} rows read more than once: {again // max(1, kills):,} a kill")
        began = time.monotonic()
        self._wait_until_delivered()
        self._connector.terminate()
        folded = fold(self._broker, TOPIC, 2 * rows)
        self._say(f"{folded.records:,} records read, {folded.copied:,} of them copied rows", began)
        began = time.monotonic()
        problems = folded.problems + compare(self._source, folded)
        self._say("compared row by row", began)
        for problem in problems:
            print(f"    {problem}")
        print("the topic does NOT equal the source" if problems else "the topic equals the source")
        return 1 if problems else 0

    def _copy(self) -> float:
        """Copy with a kill in each phase; return how long that took."""
        rows = self._arguments.rows
        began = time.monotonic()
        shares = sorted(self._random.uniform(0.05, 0.9) for _ in range(self._arguments.kills))
        phases: list[tuple[str, Callable[[], bool]]] = [
            ("planned", lambda: self._states.phase in ("waiting", "copying")),
            ("reading", self._is_reading),
            ("written, not committed", self._is_open),
            ("between two chunks", self._states.moved),
            *(
                (f"at {share:.0%}", lambda share=share: self._states.rows >= share * rows)
                for share in shares
            ),
            (
                "in the last chunks",
                lambda: self._states.rows >= rows - 6 * self._arguments.chunk_rows,
            ),
        ]
        for name, reached in phases:
            self._connector.start()
            self._wait(reached, name)
            if self._states.phase == "complete":
                self._kills.append(f"{name}: too late")
                break
            self._connector.kill()
            self._kills.append(f"{name}, at {self._states.rows:,} rows")
        if self._connector.process is None or self._connector.process.poll() is not None:
            self._connector.start()
        self._wait(lambda: False, "the end")
        return time.monotonic() - began

    def _wait(self, reached: Callable[[], bool], name: str) -> None:
        """Wait until a phase is reached, or the copy is complete."""
        seen, deadline = -1, time.monotonic() + STUCK_SECONDS
        while not reached() and self._states.look() != "complete":
            if self._states.rows != seen:
                seen, deadline = self._states.rows, time.monotonic() + STUCK_SECONDS
            assert time.monotonic() < deadline, f"{name}: {self._connector.output()[-3000:]}"
            time.sleep(LOOK_SECONDS)

    def _is_reading(self) -> bool:
        with connect(self._source) as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE %s "
                "AND id <> CONNECTION_ID()",
                (f"SELECT%`{TABLE}`%LIMIT%",),
            )
            (found,) = cursor.fetchone() or (0,)
        return bool(found)

    def _is_open(self) -> bool:
        return self._states.is_open(TOPIC)

    def _wait_until_delivered(self) -> None:
        """Wait until the stream has delivered a change that is made now."""
        with connect(self._source, DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE last (id INT PRIMARY KEY)")
            cursor.execute("INSERT INTO last VALUES (1)")
            connection.commit()
        place = TopicPartition(f"{PREFIX}.{DATABASE}.last", 0)
        deadline = time.monotonic() + STUCK_SECONDS
        consumer = consumer_of(self._broker)
        try:
            while True:
                partitions = [
                    TopicPartition(place.topic, number)
                    for number in consumer.partitions_for_topic(place.topic) or ()
                ]
                if any(consumer.end_offsets(partitions).values()):
                    return
                assert time.monotonic() < deadline, self._connector.output()[-3000:]
                time.sleep(0.2)
        finally:
            consumer.close()

    def _say(self, what: str, began: float) -> None:
        print(f"{what}: {time.monotonic() - began:.1f} s", flush=True)


class _States:
    """The committed states of the copy, as they come."""

    def __init__(self, broker: Endpoint) -> None:
        self._committed = consumer_of(broker)
        self._uncommitted = consumer_of(broker, "read_uncommitted")
        self._place = TopicPartition(f"{PREFIX}.snapshot", 0)
        self._count = 0
        self._seen = 0
        self._assigned = False
        self.last: dict[str, object] = {}

    @property
    def phase(self) -> object:
        self.look()
        return self.last.get("phase", "")

    @property
    def rows(self) -> int:
        return int(str(self.last.get("rows", 0)))

    def look(self) -> object:
        """Take what was committed since; return the phase."""
        consumer = self._committed
        if not self._assigned:
            if not consumer.partitions_for_topic(self._place.topic):
                return ""
            consumer.assign([self._place])
            consumer.seek_to_beginning(self._place)
            self._assigned = True
        for record in consumer.poll(timeout_ms=20).get(self._place, ()):
            if record.value is not None and record.key.endswith(f".{TABLE}".encode()):
                self.last = json.loads(record.value)
                self._count += 1
        return self.last.get("phase", "")

    def moved(self) -> bool:
        """Return whether a chunk was committed since the last call."""
        self.look()
        moved, self._seen = self._count > self._seen, self._count
        return moved

    def is_open(self, topic: str) -> bool:
        """Return whether there are records that are not committed."""
        places = [
            TopicPartition(topic, number)
            for number in self._uncommitted.partitions_for_topic(topic) or ()
        ]
        if not places:
            return False
        everything = self._uncommitted.end_offsets(places)
        return bool(everything != self._committed.end_offsets(places))


if __name__ == "__main__":
    sys.exit(main())
