"""Two servers, a log, the connector between them, writers before and a consumer behind it."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Any

import pymysql
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from local_stack import Endpoint, connect
from tests.chaos.connector_process import KILLED_BY_SIGTERM, Connector
from tests.chaos.failure import ChaosFailure
from tests.chaos.gate import Gate
from tests.chaos.pair import PASSWORD, USER, Pair
from tests.chaos.tables import HOT_ROWS, TABLES
from tests.chaos.topic_reader import TopicReader
from tests.chaos.verdict import Verdict, judge
from tests.chaos.writer import Writer
from tests.integration.harness import write_config

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.chaos.link import Link
    from tests.chaos.log import Log
    from tests.chaos.replication import Flavour

WRITERS = 4
# Silence of the source longer than this is a dead peer; stalls are longer.
READ_TIMEOUT_SECONDS = 2
REQUEST_TIMEOUT_SECONDS = 4
_PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.05
_STOP_SECONDS = 30.0
_REFUSED = 3


class Stage:
    """Everything that a run needs, and the names of what it follows at present."""

    def __init__(
        self,
        flavour: Flavour,
        directory: Path,
        seed: int,
        log: Log,
    ) -> None:
        self.flavour = flavour
        self.directory = directory
        self.chance = Random(seed)
        self.gate = Gate()
        self.pair = Pair(flavour, directory)
        self.log = log
        self.writers = [
            Writer(number, self.chance.randrange(2**32), self.gate, self.pair)
            for number in range(1, WRITERS + 1)
        ]
        self.defaults: dict[str, dict[str, Any]] = {}
        self.closed: list[Verdict] = []  # of generations that are over
        self._generation = 0
        self._instances: list[Connector] = []
        self._marker = 0

    def start(self) -> None:
        """Start servers, writers and the connector; raises ChaosFailure."""
        (self.directory / "connector").mkdir()
        self.pair.start()
        self.log.start()
        self.begin_generation()
        for writer in self.writers:
            writer.start()
        self.wait_until_streaming()

    def stop(self, *, keep_data: bool) -> None:
        """End everything that runs."""
        for writer in self.writers:
            writer.stop()
        for connector in self._instances:
            connector.kill()
        if self._instances:
            self.reader.stop()
        self.log.stop(keep_data=keep_data)
        self.pair.stop()

    def begin_generation(self) -> None:
        """Follow a new database under a new name, from where the source's log is now."""
        self._generation += 1
        self.database = self.name = f"chaos_{self._generation}"
        statements = [f"CREATE DATABASE {self.database}", f"USE {self.database}"]
        statements += [f"CREATE TABLE {table} ({columns})" for table, columns in TABLES.items()]
        statements += [f"INSERT INTO hot VALUES ({number}, 1)" for number in range(HOT_ROWS)]
        with closing(connect(self.pair.source)) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        self._marker = 0
        self.defaults = {}
        for writer in self.writers:
            writer.begin(self.database)
        self.config = self._write_config(self.pair.links)
        self.reader = TopicReader(self.log.client, self.name, self.database)
        self.reader.start()
        self.connector = self.new_connector()

    def new_connector(self) -> Connector:
        """Start one more instance."""
        log = self.directory / "connector" / f"{len(self._instances) + 1:04d}.log"
        self._instances.append(Connector(self.config, log))
        return self._instances[-1]

    def check(self) -> None:
        """Raise ChaosFailure when something that must run does not, or a record is wrong."""
        code = self.connector.exit_code
        if code is not None:
            reason = f"the connector ended with {code}:\n{self.connector.last_words()}"
            raise ChaosFailure(reason)
        for error in (self.reader.error, *(writer.error for writer in self.writers)):
            if error is not None:
                reason = f"a thread of ours ended: {error!r}"
                raise ChaosFailure(reason) from error
        if self.reader.problems:
            raise ChaosFailure("\n".join(self.reader.problems))

    def wait_for(
        self,
        condition: Callable[[], bool],
        what: str,
        seconds: float = _PATIENCE_SECONDS,
        *,
        connector_may_end: bool = False,
    ) -> None:
        """Wait until `condition` holds, and watch everything meanwhile; raises ChaosFailure."""
        deadline = time.monotonic() + seconds
        while not condition():
            if not connector_may_end:
                self.check()
            if time.monotonic() > deadline:
                reason = (
                    f"{what} did not come true within {seconds:.0f} seconds; the connector's last "
                    f"words:\n{self.connector.last_words()}"
                )
                raise ChaosFailure(reason)
            time.sleep(_LOOK_SECONDS)

    def wait_until_streaming(self) -> None:
        self.wait_for(self.connector.streams, "the connector streaming")

    def stop_connector(self) -> None:
        """Ask the connector to end, and wait; raises ChaosFailure when it does not end well."""
        is_silent = not self.connector.last_words()
        self.connector.send(signal.SIGTERM)
        code = self.connector.wait(_STOP_SECONDS)
        # A process that has just been started does not listen to signals yet.
        if code != 0 and not (is_silent and code == KILLED_BY_SIGTERM):
            reason = f"SIGTERM: the connector ended with {code}:\n{self.connector.last_words()}"
            raise ChaosFailure(reason)

    def wait_until_refused(self, connector: Connector, pattern: str) -> None:
        """Wait until an instance ends with exit code 3 and words that hold one of `pattern`."""
        code = connector.wait(_STOP_SECONDS)
        words = connector.last_words()
        if code != _REFUSED or not any(part in words for part in pattern.split("|")):
            reason = f"exit code {_REFUSED} and {pattern!r} were expected, but {code}:\n{words}"
            raise ChaosFailure(reason)

    def mark(self) -> int:
        """Commit a marker on the source; return its number."""
        self._marker += 1
        sql = "REPLACE INTO marker VALUES (1, %s)"
        if self._marker > 1:
            sql = "UPDATE marker SET n = %s"
        while True:
            try:
                with closing(connect(self.pair.source, self.database)) as connection:
                    connection.cursor().execute(sql, (self._marker,))
            except (pymysql.err.OperationalError, OSError):
                # It may have been done: then once more is no change.
                self.check()
                time.sleep(_LOOK_SECONDS)
            else:
                return self._marker

    def recover(self, begin: float) -> float:
        """Wait until a marker written now is visible; return the seconds since `begin`."""
        marker, reader = self.mark(), self.reader
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not reader.wait(lambda: reader.marker >= marker, _LOOK_SECONDS):
            self.check()
            if time.monotonic() > deadline:
                reason = (
                    f"no record arrived within {_PATIENCE_SECONDS:.0f} seconds; the connector's "
                    f"last words:\n{self.connector.last_words()}"
                )
                raise ChaosFailure(reason)
        seconds = time.monotonic() - begin
        self.check()
        return seconds

    def catch_up(self) -> None:
        """Wait until everything that is committed is visible, while the writers are held."""
        self.recover(time.monotonic())
        self.wait_for(self._settled, "an end of all Kafka transactions")
        if self._copying():
            self.wait_for(lambda: not self._copying(), "an end of all copies of tables")
            self.wait_for(self._settled, "an end of all Kafka transactions")

    def checkpoint(self) -> Verdict:
        """Compare everything, and go on; raises ChaosFailure when something differs."""
        with self.gate.held():
            return self.judge_held()

    def judge_held(self) -> Verdict:
        """Compare everything while the writers are held; raises ChaosFailure when it differs."""
        self.catch_up()
        ledgers = [writer.ledger for writer in self.writers]
        verdict = judge(self.pair.source, self.database, ledgers, self.reader, self.defaults)
        if verdict.problems:
            raise ChaosFailure("\n".join([str(verdict), *verdict.problems]))
        return verdict

    def go_on_without_replica(self) -> None:
        """Restart the connector so that it knows the present source alone."""
        self.stop_connector()
        source = [link for link in self.pair.links if link.target == self.pair.source]
        self.config = self._write_config(source)
        self.connector = self.new_connector()
        self.wait_until_streaming()

    def _write_config(self, links: Sequence[Link]) -> Path:
        first, *others = links
        return write_config(
            self.directory,
            Endpoint("127.0.0.1", first.port, USER, PASSWORD),
            self.log.endpoint,
            self.name,
            self.database,
            source__failover_hosts=[link.address for link in others],
            source__server_id=5800 + os.getpid() % 50_000,
            source__read_timeout_seconds=READ_TIMEOUT_SECONDS,
            source__connect_timeout_seconds=READ_TIMEOUT_SECONDS,
            kafka__request_timeout_seconds=REQUEST_TIMEOUT_SECONDS,
            kafka__transaction_timeout_seconds=15,
            # Small, so that the large transactions do not fit.
            delivery__batch_bytes_max=256 * 1024,
            delivery__in_flight_bytes_max=512 * 1024,
            retry__initial_seconds=0.1,
        )

    def _copying(self) -> bool:
        with self.reader.lock:
            return any(phase != "complete" for phase in self.reader.copies.values())

    def _settled(self) -> bool:
        """Return whether no transaction is open, and the reader has read everything."""
        try:
            committed, everything = self._ends("read_committed"), self._ends("read_uncommitted")
        except (KafkaError, OSError):
            return False
        return committed == everything and self.reader.has_read(committed)

    def _ends(self, isolation_level: str) -> dict[TopicPartition, int]:
        consumer = KafkaConsumer(
            **self.log.client,
            isolation_level=isolation_level,
            group_id=None,
            request_timeout_ms=5000,
        )
        try:
            partitions = [
                TopicPartition(topic, number)
                for topic in self.reader.topics
                for number in consumer.partitions_for_topic(topic) or ()
            ]
            ends: dict[TopicPartition, int] = consumer.end_offsets(partitions)
            return ends
        finally:
            consumer.close()
