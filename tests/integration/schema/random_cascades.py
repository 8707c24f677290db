"""Random tables whose foreign keys cascade to each other, and random changes of their rows."""

from __future__ import annotations

import threading
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Self

from pymysql.err import MySQLError

from local_stack import connect

if TYPE_CHECKING:
    from pymysql import Connection
    from pymysql.cursors import Cursor

    from tests.integration.database_stream import Stream

TABLES = ["t0", "t1", "t2", "t3", "t4"]
_NUMBERS = 40
# Rows of these tables are never gone by a cascade, so no copy of all rows hides a wrong condition.
_KEPT = TABLES[:3]
_PAUSE_SECONDS = 0.02


def create(random: Random) -> list[str]:
    """Return statements that create the tables, each with keys to itself and to earlier ones."""
    statements: list[str] = []
    for number, table in enumerate(TABLES):
        keys: list[str] = []
        for column in ("r", "s"):
            parent = random.choice(TABLES[: number + 1])
            # InnoDB refuses ON UPDATE CASCADE between rows of the same table.
            update = random.choice(["CASCADE", "SET NULL"]) if parent != table else "RESTRICT"
            delete = "SET NULL" if table in _KEPT else random.choice(["CASCADE", "SET NULL"])
            keys.append(
                f"FOREIGN KEY ({column}) REFERENCES {parent} ({random.choice(['id', 'k'])}) "
                f"ON DELETE {delete} ON UPDATE {update}"
            )
        statements.append(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, k INT UNIQUE, r INT, s INT, v INT, "
            f"{', '.join(keys)})"
        )
    # A cascade changes the key of its rows.
    statements.append(
        f"ALTER TABLE {TABLES[-1]} ADD FOREIGN KEY (id) REFERENCES {TABLES[0]} (id) "
        "ON DELETE CASCADE ON UPDATE CASCADE"
    )
    return statements


class Writer(threading.Thread):
    """Changes rows until it is stopped; what the server refuses is left out."""

    def __init__(self, stream: Stream, seed: int) -> None:
        super().__init__()
        self._stream = stream
        self._random = Random(seed)
        self._stopped = threading.Event()
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self.join()

    def run(self) -> None:
        try:
            with connect(self._stream.source, self._stream.database) as connection:
                while not self._stopped.wait(_PAUSE_SECONDS):
                    self._transaction(connection)
        except Exception as error:  # noqa: BLE001 - the test raises it
            self.error = error

    def _transaction(self, connection: Connection[Cursor]) -> None:
        random = self._random
        with connection.cursor() as cursor:
            cursor.execute(f"SET foreign_key_checks = {int(random.random() < 0.97)}")
            cursor.execute("BEGIN")
            for _ in range(random.randint(1, 4)):
                # A row without its parent, a key that is taken, a deadlock.
                with suppress(MySQLError):
                    cursor.execute(self._statement())
            cursor.execute(random.choice(["COMMIT"] * 6 + ["ROLLBACK"]))

    def _statement(self) -> str:
        random = self._random
        table = random.choice(TABLES)
        one, other, third = (random.randrange(_NUMBERS) for _ in range(3))
        null = random.choice([str(third), "NULL"])
        return random.choice(
            [
                f"REPLACE INTO {table} VALUES ({one}, {other}, {null}, NULL, 0)",
                f"INSERT INTO {table} VALUES ({one}, {other}, {third}, {null}, 1)",
                f"INSERT INTO {table} VALUES ({one}, {other}, NULL, NULL, 2)",
                f"INSERT INTO {table} VALUES ({one}, NULL, NULL, {null}, 3)",
                f"UPDATE {table} SET id = {one} WHERE id = {other}",
                f"UPDATE {table} SET k = {one} WHERE id = {other}",
                f"UPDATE {table} SET v = v + 1 WHERE id < {one}",
                f"UPDATE {table} SET r = {one}, v = -1 WHERE id = {other}",
                f"DELETE FROM {table} WHERE id = {one}",
                f"DELETE FROM {table} WHERE k = {one}",
            ]
        )
