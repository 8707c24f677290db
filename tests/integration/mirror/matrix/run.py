"""All schema changes on one server at once: a table for each, one connector, and one job.

    tables and rows ─▶ mirrors ─▶ the changes ─▶ later rows ─▶ source and mirrors are compared

Each change has a database of its own, so that its statements can name tables as the page does.
"""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

import pymysql
from kafka import TopicPartition

from connector.lake.demo.processes import JsonLines
from local_stack import MariadbServer, connect
from tests.integration.harness import ConnectorProcess, consumer_of, topics_of, write_config
from tests.integration.mirror.matrix.batch import apply_all
from tests.integration.mirror.matrix.equality import differences_of, reader_differences_of
from tests.integration.mirror.matrix.outcome import Outcome, last_version, read_log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from local_stack import KafkaBroker, Server
    from tests.integration.mirror.matrix.change import Change
    from tests.stream_jobs.iceberg.reader_table import Reader

_PATIENCE_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.2
_THREADS: Final = 8
# The connector says that it copies a table in the log, before it does.
_QUIET_SECONDS: Final = 1.0
_COPIES: Final = ("a table is to be copied",)
_COPIED: Final = (
    "copied",
    "the copy ends: the table is gone",
    "the copy ends: the name holds no table",
    "a copy failed",
)


class MatrixRun:
    """One run of `changes` on one server; in the end, `readers` read all mirrors."""

    def __init__(
        self,
        server: Server,
        broker: KafkaBroker,
        folder: Path,
        changes: Sequence[Change],
        readers: Sequence[Reader],
    ) -> None:
        self.server = server
        self.broker = broker.endpoint
        self.prefix = f"m{uuid.uuid4().hex[:8]}"
        self.changes = changes
        self.readers = readers
        self.outcomes = [Outcome() for _ in changes]
        self.folder = folder
        self._versions: dict[Path, int] = {}
        self._offsets: dict[TopicPartition, int] = {}
        self._copying: set[str] = set()

    def run(self) -> list[Outcome]:
        """Return what was found about each change, in their order."""
        config = write_config(
            self.folder,
            self.server.endpoint,
            self.broker,
            self.prefix,
            f"{self.prefix}_*",
            kafka__partitions=2,
            source__start="latest",
            snapshot__connections=2,
        )
        try:
            with ConnectorProcess(config) as connector:
                self._log = JsonLines(connector.log)
                connector.wait_for("streaming")
                self._in_each("before")
                self._settle(connector)
                self._apply()
                self._remember()
                self._in_each("statements")
                self._in_each("later")
                self._settle(connector)
                self._judge()
        finally:
            self._drop()
        return self.outcomes

    def _database(self, number: int) -> str:
        return f"{self.prefix}_{number:03}"

    def _in_each(self, phase: str) -> None:
        with closing(connect(self.server.endpoint)) as connection, connection.cursor() as cursor:
            for number, change in enumerate(self.changes):
                outcome, database = self.outcomes[number], self._database(number)
                if outcome.refused:
                    continue
                if phase == "before":
                    cursor.execute(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
                cursor.execute(f"USE {database}")
                mode = "" if phase == "later" else change.mode
                cursor.execute("SET SESSION sql_mode = %s", (mode,))
                statements: tuple[str, ...] = getattr(change, phase)
                for statement in statements:
                    try:
                        cursor.execute(statement)
                    except pymysql.err.MySQLError as error:
                        if phase != "statements":
                            error.add_note(f"{change.title}: {statement}")
                            raise
                        outcome.refused = str(error)
                        break

    def _settle(self, connector: ConnectorProcess) -> None:
        """Wait until the connector has published everything, and has copied all tables."""
        with connect(self.server.endpoint) as connection, connection.cursor() as cursor:
            mark = f"{self.prefix}_mark"
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {mark}")
            cursor.execute(f"CREATE OR REPLACE VIEW {mark}.v AS SELECT 1")
            cursor.execute(f"DROP TABLE IF EXISTS {mark}.t")
            cursor.execute(f"CREATE TABLE {mark}.t (id INT PRIMARY KEY)")
        quiet, is_seen = time.monotonic(), False
        while not is_seen or self._copying or time.monotonic() - quiet < _QUIET_SECONDS:
            assert time.monotonic() - quiet < _PATIENCE_SECONDS, connector.output()[-2000:]
            time.sleep(_LOOK_SECONDS)
            for line in self._log.read():
                quiet = time.monotonic()
                is_seen |= (
                    line.get("cdc.table") == f"{mark}.t" and line.get("cdc.kind") == "CREATE TABLE"
                )
                if line["message"] in _COPIES:
                    self._copying.add(line["cdc.table"])
                elif line["message"] in _COPIED:
                    self._copying.discard(line["cdc.table"])

    def _apply(self) -> dict[str, str]:
        """Apply what the topics hold; return the code of each database that could not go on."""
        stopped = apply_all(self.broker.bootstrap, self.prefix, self.folder)
        return {topic.split(".")[1]: code for topic, code in stopped.items()}

    def _remember(self) -> None:
        self._offsets = self._ends()
        for database in (self.folder / "mirror").glob(f"{self.prefix}_*"):
            self._versions |= {mirror: last_version(mirror) for mirror in database.iterdir()}

    def _judge(self) -> None:
        stopped = self._apply()
        operations = self._operations()
        done = [number for number, outcome in enumerate(self.outcomes) if not outcome.refused]
        for number in done:
            database = self._database(number)
            self.outcomes[number].operations = operations.get(database, set())
            self.outcomes[number].stopped = stopped.get(database, "")
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(self._compare, done))
        for number in done:
            mirrors = self.folder / "mirror" / self._database(number)
            self.outcomes[number].reader_differences = reader_differences_of(self.readers, mirrors)

    def _compare(self, number: int) -> None:
        outcome, database = self.outcomes[number], self._database(number)
        mirrors = self.folder / "mirror" / database
        for mirror in mirrors.iterdir() if mirrors.is_dir() else ():
            if mirror in self._versions:
                read_log(mirror, self._versions[mirror], outcome)
        left_out = self._left_out(database)
        found = [
            each
            for each in differences_of(self.server.endpoint, database, mirrors)
            if each not in left_out
        ]
        outcome.differences = found
        outcome.waits = not self.changes[number].later and all(": column " in f for f in found)

    def _left_out(self, database: str) -> set[str]:
        """Return what is said of generated columns, which MariaDB does not always log."""
        if not isinstance(self.server, MariadbServer):
            return set()
        with connect(self.server.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT table_name, column_name FROM information_schema.columns "
                "WHERE table_schema = %s AND generation_expression IS NOT NULL",
                (database,),
            )
            return {
                f"{table}: column {column} is missing from the mirror"
                for table, column in cursor.fetchall()
            }

    def _ends(self) -> dict[TopicPartition, int]:
        with closing(consumer_of(self.broker)) as consumer:
            partitions = [
                TopicPartition(topic, number)
                for topic in topics_of(self.broker, self.prefix, control=False)
                for number in consumer.partitions_for_topic(topic) or ()
            ]
            ends: dict[TopicPartition, int] = consumer.end_offsets(partitions)
            return ends

    def _operations(self) -> dict[str, set[str]]:
        """Return the operations of all records since the change, by database."""
        ends = self._ends()
        found: dict[str, set[str]] = {}
        with closing(consumer_of(self.broker)) as consumer:
            consumer.assign(list(ends))
            for partition in ends:
                consumer.seek(partition, self._offsets.get(partition, 0))
            left = {p for p, end in ends.items() if self._offsets.get(p, 0) < end}
            while left:
                for partition, records in consumer.poll(timeout_ms=500).items():
                    own = found.setdefault(partition.topic.split(".")[1], set())
                    own |= {dict(record.headers)["cdc.op"].decode() for record in records}
                left = {p for p in left if consumer.position(p) < ends[p]}
        return found

    def _drop(self) -> None:
        with connect(self.server.endpoint) as connection, connection.cursor() as cursor:
            for number in range(len(self.changes)):
                with suppress(pymysql.err.MySQLError):
                    cursor.execute(f"DROP DATABASE {self._database(number)}")
