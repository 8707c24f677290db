"""Tables that are written to while they are copied, and what must come of it."""

from __future__ import annotations

import json
import random
import threading
from typing import TYPE_CHECKING, Any, Self

from local_stack import connect

if TYPE_CHECKING:
    from local_stack import Endpoint
    from tests.integration.harness import Seen

CREATE = """
    CREATE TABLE {table} (
        id INT NOT NULL, part INT NOT NULL, version INT NOT NULL, text VARCHAR(40),
        PRIMARY KEY ({key})
    )
"""

# Bursts, so that changes meet the chunk that is being read; and pauses, so that a connector that is
# slow, since its lines are counted on a busy machine, keeps up: a chunk waits for the stream.
BURST = 20
PAUSE_SECONDS = 0.2


def fill(source: Endpoint, database: str, table: str, rows: int, *, key: str = "id") -> None:
    """Create a table with rows 0 up to `rows`, all of version 0."""
    with connect(source, database) as connection, connection.cursor() as cursor:
        cursor.execute(CREATE.format(table=table, key=key))
        for start in range(0, rows, 5000):
            cursor.executemany(
                f"INSERT INTO {table} VALUES (%s, %s, 0, %s)",
                [(n, n % 7, f"text {n}") for n in range(start, min(start + 5000, rows))],
            )
        connection.commit()
        cursor.execute(f"ANALYZE TABLE {table}")
        cursor.fetchall()


class Writer(threading.Thread):
    """Inserts, updates, deletes and moves rows of a table until it is stopped."""

    def __init__(self, source: Endpoint, database: str, table: str, rows: int, seed: int) -> None:
        super().__init__()
        self._source = source
        self._database = database
        self._table = table
        self._rows = rows
        self._random = random.Random(seed)
        self._stopped = threading.Event()
        self.transactions = 0
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Write no more."""
        self._stopped.set()
        self.join()
        if self.error is not None:
            raise self.error

    def run(self) -> None:
        try:
            self._write()
        except Exception as error:  # noqa: BLE001 - raised by stop
            self.error = error

    def _write(self) -> None:
        choose = self._random
        with connect(self._source, self._database) as connection, connection.cursor() as cursor:
            connection.autocommit(False)
            while not self._stopped.is_set():
                for _ in range(choose.randrange(1, 6)):
                    row = choose.randrange(self._rows)
                    other = self._rows + choose.randrange(self._rows)
                    statement = choose.choice(
                        (
                            f"UPDATE {self._table} SET version = version + 1 WHERE id = {row}",
                            f"DELETE FROM {self._table} WHERE id = {row}",
                            f"REPLACE INTO {self._table} VALUES ({row}, 1, 1, 'new')",
                            f"UPDATE IGNORE {self._table} SET id = {other} WHERE id = {row}",
                            f"UPDATE IGNORE {self._table} SET id = {row} WHERE id = {other}",
                        )
                    )
                    cursor.execute(statement)
                if choose.randrange(10):
                    connection.commit()
                else:
                    connection.rollback()
                self.transactions += 1
                if self.transactions % BURST == 0:
                    self._stopped.wait(PAUSE_SECONDS)


def all_rows(source: Endpoint, database: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    with connect(source, database) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def rows_of(source: Endpoint, database: str, table: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a table by its key, as the records have them."""
    rows = all_rows(source, database, table)
    with connect(source, database) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name FROM information_schema.key_column_usage "
            "WHERE table_schema = %s AND table_name = %s AND constraint_name = 'PRIMARY' "
            "ORDER BY ordinal_position",
            (database, table),
        )
        key = [name for (name,) in cursor.fetchall()]
    return {json.dumps({name: row[name] for name in key}): row for row in rows}


def folded(seen: list[Seen], topic: str) -> dict[str, dict[str, Any]]:
    """Return the state that the records of a topic lead to, key by key, in the order of Kafka.

    Within a partition the sequence strictly rises, tombstones aside.
    """
    state: dict[str, dict[str, Any]] = {}
    gone = ""
    last: dict[int, str] = {}
    records = [record for record in seen if record.topic == topic]
    for record in records:
        if record.value is None:
            continue
        assert record.seq > last.get(record.partition, ""), record
        last[record.partition] = record.seq
    truncates = [record.seq for record in records if record.value is not None and record.op == "t"]
    gone = max(truncates, default="")
    for record in records:
        if record.value is None or record.seq <= gone:
            continue
        key = json.dumps(record.key)
        if record.op == "d":
            state.pop(key, None)
        else:
            state[key] = record.value["after"]
    return state


def never_outdated(seen: list[Seen], topic: str) -> None:
    """Assert that no row of a copy comes behind a newer state of its key."""
    versions: dict[str, dict[str, Any]] = {}
    for record in seen:
        if record.topic != topic or record.value is None:
            continue
        key = json.dumps(record.key)
        if record.op == "u":
            # The stream goes on from exactly the state before.
            assert versions.get(key, record.value["before"]) == record.value["before"], record
        if record.op == "d":
            assert versions.get(key, record.value["before"]) == record.value["before"], record
            versions.pop(key, None)
        elif record.op != "t":
            versions[key] = record.value["after"]


def slow_table(table: str, rows: int) -> list[str]:
    """Return the statements that make a table of which each row takes a while to look at."""
    values = ", ".join(f"({n})" for n in range(rows))
    slow = "LENGTH(SHA2(REPEAT('x', 2000000 + id), 512))"
    return [
        f"CREATE TABLE {table} (id INT PRIMARY KEY, slow SMALLINT AS ({slow}) VIRTUAL)",
        f"INSERT INTO {table} (id) VALUES {values}",
    ]


def failure_messages(output: str) -> list[str]:
    """Return the errors of the copies that have failed."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [line["error.message"] for line in lines if line["message"] == "a copy failed"]
