"""A pipeline's life: what happens to source, connector and mirror between the copy and the verdict.

Each step leaves changes, and waits until they are in Kafka. Rows of `marks` say that: their numbers
are in the topic once each, in their order, whatever was killed meanwhile.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from local_stack import connect
from tests.integration.harness import (
    consumer_of,
    partitions_of,
    records_of,
    wait_until,
    wait_until_settled,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from local_stack import MariadbServer, MysqlServer
    from tests.integration.database_stream import Stream
    from tests.integration.harness import ConnectorProcess
    from tests.integration.life.servers import Kind
    from tests.integration.replication_pair import ReplicationPair
    from tests.integration.verification.pair import Pair

# One table for each mode of a mirror; those of the last two have no key.
MODES: Final = {
    "plain": "current",
    "kept": "soft_delete",
    "versions": "history",
    "log": "journal",
    "bag": "rows",
}
_KEYED: Final = ("plain", "kept", "versions")
_KEYLESS: Final = ("log", "bag")
_COLUMNS: Final = "name VARCHAR(20), n INT, price DECIMAL(6,2)"
_CREATE: Final = (
    *(f"CREATE TABLE {table} (id INT PRIMARY KEY, {_COLUMNS})" for table in _KEYED),
    *(f"CREATE TABLE {table} (id INT, {_COLUMNS})" for table in _KEYLESS),
    f"CREATE TABLE shaped (id INT PRIMARY KEY, {_COLUMNS})",
    "CREATE TABLE marks (id INT PRIMARY KEY)",
    "CREATE TABLE parent (id INT PRIMARY KEY, code VARCHAR(9) UNIQUE)",
    (
        "CREATE TABLE child (id INT PRIMARY KEY, up INT, code VARCHAR(9), "
        "FOREIGN KEY (up) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE, "
        "FOREIGN KEY (code) REFERENCES parent (code) ON DELETE SET NULL ON UPDATE CASCADE)"
    ),
    "INSERT INTO shaped VALUES (1, 'a', 1, 1.5), (2, NULL, NULL, NULL), (3, 'c', 3, 3)",
)
# One of each kind of DDL, with changes before and after it.
_DDL: Final = (
    "ALTER TABLE shaped ADD COLUMN more INT NOT NULL DEFAULT 7",
    "UPDATE shaped SET more = more + id WHERE id > 1",
    "ALTER TABLE shaped ADD COLUMN head VARCHAR(9) DEFAULT 'x' FIRST, ADD COLUMN tail DATE",
    "INSERT INTO shaped (id, tail) VALUES (4, '2026-01-01')",
    "ALTER TABLE shaped MODIFY name VARCHAR(60)",
    "ALTER TABLE shaped CHANGE name title VARCHAR(60)",
    "UPDATE shaped SET title = REPEAT('t', 50) WHERE id = 1",
    "ALTER TABLE shaped MODIFY n BIGINT",
    "UPDATE shaped SET n = 5000000000 WHERE id = 3",
    "ALTER TABLE shaped DROP COLUMN head",
    "ALTER TABLE shaped ADD INDEX by_title (title)",
    "CREATE INDEX by_n ON shaped (n)",
    "DROP INDEX by_n ON shaped",
    "ALTER TABLE shaped CONVERT TO CHARACTER SET utf8mb4",
    "ALTER TABLE shaped COMMENT = 'it has changed', ENGINE = InnoDB",
    "INSERT INTO shaped (id, title) VALUES (5, 'ж')",
    "RENAME TABLE shaped TO renamed",
    "INSERT INTO renamed (id, title) VALUES (6, 'renamed')",
    "ALTER TABLE renamed RENAME TO shaped",
    "CREATE TABLE alike LIKE shaped",
    "INSERT INTO alike SELECT * FROM shaped WHERE id < 3",
    "RENAME TABLE alike TO between_both, shaped TO alike, between_both TO shaped",
    "INSERT INTO shaped (id, title) VALUES (9, 'swapped')",
    "TRUNCATE TABLE alike",
    "INSERT INTO alike (id, title) VALUES (7, 'after it')",
    "CREATE TABLE brief (id INT PRIMARY KEY)",
    "INSERT INTO brief VALUES (1)",
    "DROP TABLE brief",
    "CREATE TABLE brief (id VARCHAR(9) PRIMARY KEY, v INT)",
    "INSERT INTO brief VALUES ('one', 1)",
    "ALTER TABLE brief DROP PRIMARY KEY, ADD COLUMN number INT NOT NULL PRIMARY KEY",
    "INSERT INTO brief VALUES ('two', 2, 2)",
    (
        "CREATE TABLE parts (id INT PRIMARY KEY, n INT) PARTITION BY RANGE (id) (PARTITION p0 "
        "VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN "
        "MAXVALUE)"
    ),
    "INSERT INTO parts VALUES (1, 1), (11, 1), (21, 1)",
    "ALTER TABLE parts TRUNCATE PARTITION p0",
    "INSERT INTO parts VALUES (2, 2)",
    "ALTER TABLE parts DROP PARTITION p1",
    "UPDATE parts SET n = 3",
    "CREATE VIEW seen AS SELECT id FROM shaped",
    "DROP VIEW seen",
    *(f"ALTER TABLE {table} ADD COLUMN later INT DEFAULT 1" for table in (*_KEYED, *_KEYLESS)),
    *(f"UPDATE {table} SET later = n WHERE n > 2" for table in (*_KEYED, *_KEYLESS)),
    *(f"ALTER TABLE {table} DROP COLUMN price" for table in _KEYED),
)
# While nobody reads.
_MEANWHILE: Final = (
    "ALTER TABLE plain ADD COLUMN extra INT DEFAULT 3",
    "UPDATE plain SET extra = n WHERE n > 4",
    "ALTER TABLE plain DROP COLUMN extra",
    "UPDATE plain SET n = 8 WHERE id < 5",
    "ALTER TABLE versions MODIFY name VARCHAR(90)",
    "UPDATE versions SET name = REPEAT('v', 80) WHERE n = 4",
    "CREATE TABLE short_lived (id INT PRIMARY KEY)",
    "INSERT INTO short_lived VALUES (1)",
    "DROP TABLE short_lived",
)
# Nothing is left that a second round would find.
_UNDONE: Final = (
    "DROP TABLE shaped, alike, brief, parts",
    f"CREATE TABLE shaped (id INT PRIMARY KEY, {_COLUMNS})",
    *(f"ALTER TABLE {table} DROP COLUMN later" for table in (*_KEYED, *_KEYLESS)),
    *(f"ALTER TABLE {table} ADD COLUMN price DECIMAL(6,2)" for table in _KEYED),
)
_CASCADES: Final = (
    "INSERT INTO parent VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "INSERT INTO child VALUES (10, 1, 'a'), (11, 1, 'b'), (20, 2, 'b'), (30, 3, 'c')",
    "UPDATE parent SET code = 'new' WHERE id = 2",
    "UPDATE parent SET id = 33 WHERE id = 3",
    "DELETE FROM parent WHERE id = 1",
)
_DOMAIN: Final = 7


@dataclass
class Life:
    """A pipeline, its source, and what was written so far."""

    kind: Kind
    server: MysqlServer | MariadbServer
    replicas: ReplicationPair | None
    stream: Stream
    random: Random
    marks: int = 0
    writes: list[str] = field(default_factory=list)

    def create(self, rows: int) -> None:
        """Create the tables, with so many rows in each of most of them."""
        self.execute(*_CREATE)
        values = ", ".join(
            f"({number}, 'row {number}', {number % 7}, 1.5)" for number in range(rows)
        )
        self.execute(*(f"INSERT INTO {table} VALUES {values}" for table in (*_KEYED, *_KEYLESS)))

    def execute(self, *statements: str, domain: int = 0) -> None:
        """Run statements; MariaDB logs them in a domain."""
        if self.kind.folds_names:
            names = "|".join((*MODES, "shaped", "child", "brief"))
            statements = tuple(
                re.sub(rf"\b({names})\b", lambda found: found[1].upper(), each)
                for each in statements
            )
        if domain and self.kind.is_mariadb:
            statements = (f"SET SESSION gtid_domain_id = {domain}", *statements)
        self.stream.execute(*statements)

    def delivered(self, connector: ConnectorProcess) -> None:
        """Wait until everything that was written is in Kafka."""
        self.marks += 1
        self.execute(f"INSERT INTO marks VALUES ({self.marks})")
        found: list[int] = []

        def is_there() -> bool:
            found[:] = self.delivered_marks()
            return self.marks in found

        wait_until(
            is_there,
            lambda: f"mark {self.marks} is not in Kafka, only {found}\n{connector.output()}",
            look_seconds=0.2,
        )

    def delivered_marks(self) -> list[int]:
        """Return the marks in Kafka, in their order; those of the copy are left out."""
        topic = f"{self.stream.prefix}.{self.stream.database}.marks"
        with closing(consumer_of(self.stream.broker)) as consumer:
            if topic not in consumer.topics():
                return []
            records = records_of(consumer, partitions_of(consumer, topic))
        found = [(dict(record.headers), record.key) for record in records]
        inserted = [each for each in found if each[0]["cdc.op"] == b"c"]
        inserted.sort(key=lambda each: each[0]["cdc.seq"])
        return [json.loads(key)["id"] for _, key in inserted]

    def write(self, count: int) -> None:
        """Change rows of all modes, in transactions of some statements."""
        random = self.random
        for _ in range(count):
            statements = [self._change() for _ in range(random.randint(1, 4))]
            end = random.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK"))
            domain = random.choice((0, 0, 3))
            self.execute("BEGIN", *statements, end, domain=domain)

    def _change(self) -> str:
        random = self.random
        table = random.choice((*_KEYED, *_KEYLESS))
        row, n = random.randrange(400), random.randrange(9)
        match random.randrange(4):
            case 0 | 1:
                verb = "REPLACE" if table in _KEYED else "INSERT"
                return f"{verb} INTO {table} (id, name, n) VALUES ({row}, 'new {n}', {n})"
            case 2:
                return f"UPDATE {table} SET n = {n}, name = 'changed' WHERE id = {row}"
        return f"DELETE FROM {table} WHERE id = {row}"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write all the time, until the end of the block."""
        ended = threading.Event()
        failed: list[BaseException] = []

        def write() -> None:
            try:
                while not ended.wait(0.01):
                    self.write(1)
            except BaseException as error:  # noqa: BLE001  # raised below
                failed.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        if failed:
            raise failed[0]

    def copy(self, connector: ConnectorProcess) -> None:
        """Copy under writes, with a death in the middle of it."""
        with self.writing():
            connector.wait_for("a table is to be copied")
            connector.kill()
            connector.start()
            connector.wait_for('"copied"')
        self.delivered(connector)

    def die_in_a_file(self, connector: ConnectorProcess) -> None:
        """Kill the connector while it reads a file; schemas change before it goes on."""
        self.write(5)
        connector.kill()
        self.write(5)
        self.execute(*_MEANWHILE)
        connector.start()
        self.delivered(connector)

    def rotate_and_purge(self, connector: ConnectorProcess) -> None:
        """Begin files under the stream, delete all before, and restart at rest."""
        self.write(3)
        self.execute("FLUSH BINARY LOGS")
        self.write(3)
        self.execute("FLUSH BINARY LOGS")
        self.delivered(connector)
        self._purge()
        assert connector.terminate() == 0, connector.output()
        connector.start()
        self.delivered(connector)

    def _purge(self) -> None:
        """Delete all files but the newest; MariaDB keeps some until nothing needs them."""

        def is_alone() -> bool:
            *_, newest = self._logs()
            self.execute(f"PURGE BINARY LOGS TO '{newest}'")
            return self._logs() == [newest]

        wait_until(is_alone, lambda: f"not purged: {self._logs()}")

    def _logs(self) -> list[str]:
        return [str(row[0]) for row in self.asked("SHOW BINARY LOGS")]

    def asked(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with connect(self.stream.source) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def change_schemas(self, connector: ConnectorProcess) -> None:
        """Run each kind of DDL."""
        self.execute(*_DDL)
        self.delivered(connector)

    def undo_schemas(self, connector: ConnectorProcess) -> None:
        """Prepare for another round."""
        self.execute(*_UNDONE, "DELETE FROM parent", "DELETE FROM child")
        self.delivered(connector)

    def cascade(self, connector: ConnectorProcess) -> None:
        """Change rows by foreign keys."""
        self.execute(*_CASCADES)
        self.delivered(connector)

    def prepare(self, connector: ConnectorProcess) -> None:
        """Commit and roll back XA transactions in another file, after a death."""
        self._prepare("committed", 9001)
        self._prepare("forgotten", 9002)
        self.execute("INSERT INTO plain (id) VALUES (9003)", "FLUSH BINARY LOGS")
        self.delivered(connector)
        connector.kill()
        connector.start()
        self._wait_for_prepared(2)
        self.execute("XA ROLLBACK 'forgotten'")
        self.execute("XA COMMIT 'committed'")
        self.delivered(connector)
        self.execute("DELETE FROM plain WHERE id > 9000")

    def _prepare(self, name: str, row: int) -> None:
        self.execute(
            f"XA START '{name}'",
            f"INSERT INTO plain (id, name) VALUES ({row}, '{name}')",
            f"INSERT INTO log (id, name) VALUES ({row}, '{name}')",
            f"XA END '{name}'",
            f"XA PREPARE '{name}'",
        )

    def _wait_for_prepared(self, count: int) -> None:
        """Wait until the server has so many; it lists one only after its session has ended."""
        wait_until(lambda: len(self.asked("XA RECOVER")) == count, lambda: f"not {count} prepared")

    def delete_domain(self, connector: ConnectorProcess) -> None:
        """Delete a domain of MariaDB under the stream, and restart after it."""
        if not self.kind.is_mariadb:
            return
        self.execute("INSERT INTO plain (id) VALUES (9100)", domain=_DOMAIN)
        self.execute("DELETE FROM plain WHERE id = 9100", domain=_DOMAIN)
        self.execute("FLUSH BINARY LOGS")
        self.delivered(connector)
        self._purge()
        self.execute(f"FLUSH BINARY LOGS DELETE_DOMAIN_ID = ({_DOMAIN})")
        self.delivered(connector)
        assert "does not come after transactions" not in connector.output()
        connector.kill()
        connector.start()
        self.delivered(connector)

    def fail_over(self, connector: ConnectorProcess) -> None:
        """Let the replica take over."""
        if self.replicas is None:
            return
        # Until now there was no reason to leave the source.
        assert "another server goes on" not in connector.output()
        self._prepare("crossing", 9200)
        self.delivered(connector)
        self.replicas.wait_for_replica()
        self.server.kill()
        self.replicas.promote()
        self.server = self.replicas.replica
        self.stream = replace(self.stream, source=self.server.endpoint)
        self._wait_for_prepared(1)
        self.delivered(connector)
        self.execute("XA COMMIT 'crossing'")
        self.write(5)
        self.delivered(connector)

    def end(self, pair: Pair) -> dict[str, Any]:
        """Let the mirror catch up, and return what `verify` says."""
        self.delivered(pair.connector)
        wait_until_settled(self.stream.broker, self.stream.prefix)
        report: dict[str, Any] = {}

        def is_equal() -> bool:
            pair.apply()
            code, found = pair.report()
            report.update(found)
            return code == 0

        wait_until(is_equal, lambda: f"{_unequal(report)}\n{pair.connector.output()[-6000:]}")
        return report


def _unequal(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [table for table in report.get("tables", []) if table["verdict"] != "equal"]
