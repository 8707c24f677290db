"""The tables of a run: rows that change all the time, and schemas that change at random."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Final, Protocol

import pymysql

from local_stack import connect
from tests.integration.schema.random_alters import RandomAlters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from random import Random

    from pymysql.cursors import Cursor

    from local_stack import Endpoint, Server
    from tests.chaos.mirror.modes import Mode
    from tests.chaos.mirror.source_log import SourceLog

# Zero dates are refused: no type of Spark holds them.
_MODE: Final = "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE"
# How many rows a table keeps, about.
_ROWS: Final = 300
# The row of random values may be refused; so often another one is tried.
_ATTEMPTS: Final = 30


class Changing(Protocol):
    """A database of a run: what changes in it, and what its mirrors must hold then."""

    database: str
    mode: Mode
    done: Counter[str]

    def step(self, cursor: Cursor) -> None:
        """Change something. Raises pymysql's errors if the server goes away."""

    def touch(self, cursor: Cursor) -> None:
        """Change every row of every table."""

    def differences(self, source: Endpoint, log: SourceLog, mirrors: Path) -> list[str]:
        """Return how its mirrors differ, while nothing changes."""

    def told(self, found: list[str]) -> str:
        """Return differences for people, with what led to them."""


class Table:
    """The table `t` in a database of its own."""

    def __init__(self, database: str, mode: Mode, chance: Random) -> None:
        self.database = database
        self.mode = mode
        self._chance = chance
        self._random = RandomAlters(chance)
        # Whether the columns are unknown, because the server went away during a statement.
        self._is_doubtful = True
        self.done: Counter[str] = Counter()

    def step(self, cursor: Cursor) -> None:
        """Change some rows, or the schema. Raises pymysql's errors if the server goes away."""
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {self.database}")
        cursor.execute(f"USE {self.database}")
        cursor.execute("SET SESSION sql_mode = %s", (_MODE,))
        if self._is_doubtful or self._chance.random() < 0.002:  # a probability
            self._create(cursor)
        elif self._chance.random() < 0.02:
            self._alter(cursor)
        else:
            self._rows(cursor)

    def touch(self, cursor: Cursor) -> None:
        """Change every row, and have one: a mirror gets the columns of now with a row."""
        cursor.execute(f"USE {self.database}")
        cursor.execute("SET SESSION sql_mode = %s", (_MODE,))
        if self._is_doubtful:
            self._create(cursor)
        # The server may take new rows, and refuse to change an old one.
        while not (
            self._change(cursor)
            or (any(self._insert(cursor) for _ in range(_ATTEMPTS)) and self._change(cursor))
        ):
            self._create(cursor)

    def differences(self, source: Endpoint, log: SourceLog, mirrors: Path) -> list[str]:
        """Return how the mirror differs, while nothing changes."""
        return self.mode.differences(source, log, self.database, mirrors / self.database)

    def told(self, found: list[str]) -> str:
        """Return differences for people."""
        return f"{self.database}, {self.mode.name}: {'; '.join(found)}"

    def _create(self, cursor: Cursor) -> None:
        self._is_doubtful = True
        cursor.execute("DROP TABLE IF EXISTS t, t2")
        while True:
            statement = self._random.table()
            if not self.mode.has_key:
                statement = statement.replace("id INT PRIMARY KEY", "id INT NOT NULL")
            if self._try(cursor, "CREATE TABLE", statement):
                break
        self._is_doubtful = False

    def _alter(self, cursor: Cursor) -> None:
        self._is_doubtful = True
        kind = self._chance.randrange(12)
        if kind == 0:
            self._try(cursor, "TRUNCATE", "TRUNCATE TABLE t")
        elif kind == 1:
            if self._try(cursor, "RENAME TABLE", "RENAME TABLE t TO t2"):
                cursor.execute("RENAME TABLE t2 TO t")
        else:
            statement, columns = self._random.alter()
            if self._try(cursor, "ALTER TABLE", statement):
                self._random.altered(columns)
        self._is_doubtful = False

    def _rows(self, cursor: Cursor) -> None:
        cursor.execute("BEGIN")
        for _ in range(self._chance.randint(1, 6)):
            kind = self._chance.randrange(10)
            if kind < 5:
                self._insert(cursor)
            elif kind < 8:
                number = self._chance.randrange(20)
                self._try(cursor, "rows", f"UPDATE t SET tick = tick + 1 WHERE id % 20 = {number}")
            elif kind == 8:
                self._try(
                    cursor, "rows", "UPDATE t SET id = id + 1000000 WHERE id < 1000000 LIMIT 1"
                )
            else:
                number = self._chance.randrange(10)
                self._try(cursor, "rows", f"DELETE FROM t WHERE id % 10 = {number} LIMIT 5")
        cursor.execute(self._chance.choice(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"]))
        cursor.execute("SELECT COUNT(*) FROM t")
        found = cursor.fetchone()
        if found and found[0] > _ROWS:
            self._try(cursor, "rows", f"DELETE FROM t ORDER BY id LIMIT {_ROWS // 2}")

    def _change(self, cursor: Cursor) -> bool:
        return self._try(cursor, "rows", "UPDATE t SET tick = tick + 1")

    def _insert(self, cursor: Cursor) -> bool:
        return self._try(cursor, "rows", self._random.row())

    def _try(self, cursor: Cursor, kind: str, statement: str) -> bool:
        """Run a statement that the server may refuse; return whether it changed anything."""
        try:
            count = cursor.execute(statement)
        except (pymysql.err.DataError, pymysql.err.IntegrityError, pymysql.err.NotSupportedError):
            return False
        except (pymysql.err.ProgrammingError, pymysql.err.OperationalError) as error:
            if is_lost(error):
                raise
            return False
        self.done[kind] += count if kind == "rows" else 1
        return kind != "rows" or count > 0


def is_lost(error: Exception) -> bool:
    """Return whether the server went away."""
    code = error.args[0] if error.args else 0
    return not isinstance(code, int) or code in {0, 1053, 1152, 1927, 2002, 2003, 2006, 2013}


def touch_all(server: Server, tables: Sequence[Changing]) -> None:
    """Change all rows of all tables of a running server."""
    with closing(connect(server.endpoint)) as connection, connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {table.database}")
            table.touch(cursor)
