"""What an application does to the tables of many databases: rows, tenants that move, a release.

Each shard is a database with the same tables. A release adds a column, widens one, renames one and
drops one, in one table after the other and in one shard after the other; the next release does the
same to the columns of the one before. Column `at` has the time of the last change, in microseconds.
"""

from __future__ import annotations

import random
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pymysql

from local_stack import connect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pymysql.cursors import Cursor

    from local_stack import Endpoint

_COLUMNS: Final = "id INT PRIMARY KEY, tenant INT, n BIGINT, at BIGINT NOT NULL, note VARCHAR(40)"
# What the releases before the first one have left.
_RELEASED: Final = "c2 INT DEFAULT 2, c1 BIGINT DEFAULT 1, d0 BIGINT DEFAULT 0"
_FIRST_RELEASE: Final = 3
_STATEMENTS: Final = 4
_TENANTS: Final = 20
# Rows of a statement.
_SPAN: Final = 10
_MOVED_TABLES: Final = 3
_MICROSECONDS: Final = 1e6
_RETRY_SECONDS: Final = 0.2
# Column exists, is unknown, or cannot be dropped: the server was killed after the ALTER.
_DONE: Final = frozenset({1060, 1054, 1091})


class Fleet:
    """The tables `shop_S.tN` of a server."""

    def __init__(self, endpoint: Endpoint, shards: int, tables: int, rows: int) -> None:
        """Have so many shards, tables in each and keys in each table."""
        self.endpoint = endpoint
        self.shards = [f"shop_{number}" for number in range(shards)]
        self.tables = [f"t{number}" for number in range(tables)]
        self.rows = rows

    def create(self) -> None:
        """Create all tables, half full."""
        values = ", ".join(
            f"({key}, {key % _TENANTS}, {key}, 0, 'old')" for key in range(0, self.rows, 2)
        )
        with connect(self.endpoint) as connection, connection.cursor() as cursor:
            for shard in self.shards:
                cursor.execute(f"CREATE DATABASE {shard}")
                for table in self.tables:
                    name = f"{shard}.{table}"
                    cursor.execute(f"CREATE TABLE {name} ({_COLUMNS}, {_RELEASED})")
                    cursor.execute(f"INSERT INTO {name} (id, tenant, n, at, note) VALUES {values}")

    def rows_of(self, table: str) -> dict[str, list[dict[str, object]]]:
        """Return the rows of a table in each shard, in the order of their keys."""
        found = {}
        with connect(self.endpoint) as connection, connection.cursor() as cursor:
            for number, shard in enumerate(self.shards):
                cursor.execute(f"SELECT * FROM {shard}.{table} ORDER BY id")
                names = [column[0] for column in cursor.description]
                rows = [dict(zip(names, row, strict=True)) for row in cursor]
                found[str(number)] = rows
        return found


class Client(threading.Thread):
    """Works on the tables until it is stopped; it can pause, and the server may be away."""

    def __init__(self, fleet: Fleet) -> None:
        """Work on `fleet`."""
        super().__init__(daemon=True)
        self.fleet = fleet
        self.turn = threading.Lock()  # held during a transaction
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End."""
        self._stopped.set()
        self.join()

    def run(self) -> None:
        """Connect again and again, and work."""
        while not self._stopped.is_set():
            with (
                suppress(pymysql.err.Error, OSError),
                connect(self.fleet.endpoint) as connection,
                connection.cursor() as cursor,
            ):
                self.work(cursor)
            self._stopped.wait(_RETRY_SECONDS)

    def work(self, cursor: Cursor) -> None:
        """Work until the client is stopped, or an error ends it."""
        raise NotImplementedError


class Writer(Client):
    """Changes rows, at most so many in a second."""

    def __init__(self, fleet: Fleet, rate_per_s: int, seed: int) -> None:
        """Change about `rate_per_s` rows of `fleet` in a second."""
        super().__init__(fleet)
        self._rate_per_s = rate_per_s
        self._dice = random.Random(seed)
        self.changes = self.moves = 0

    def work(self, cursor: Cursor) -> None:
        began, before = time.monotonic(), self.changes
        while not self._stopped.is_set():
            with self.turn:
                self.changes += self._transact(cursor)
            ahead = (self.changes - before) / self._rate_per_s - (time.monotonic() - began)
            if ahead > 0:
                self._stopped.wait(ahead)
            elif ahead < -1:
                # What a pause or a slow server has missed is not made up for.
                began, before = time.monotonic(), self.changes

    def _transact(self, cursor: Cursor) -> int:
        """Change some rows in a transaction; return how many."""
        dice, now = self._dice, int(time.time() * _MICROSECONDS)
        chance = dice.random()
        if chance < 0.01:
            return self._move(cursor, now)
        table = f"{dice.choice(self.fleet.shards)}.{dice.choice(self.fleet.tables)}"
        key, number = dice.randrange(self.fleet.rows), dice.getrandbits(40)
        span = f"id BETWEEN {key} AND {key + _SPAN - 1}"
        if chance < 0.2:
            return cursor.execute(f"DELETE FROM {table} WHERE {span} AND id % 2 = {number % 2}")
        if chance < 0.5:
            values = ", ".join(
                f"({each}, {each % _TENANTS}, {number}, {now}, 'n{number}')"
                for each in range(key, key + _SPAN)
            )
            cursor.execute(f"REPLACE INTO {table} (id, tenant, n, at, note) VALUES {values}")
            return _SPAN
        change = f"n = {number}, note = 'u{number}'"
        if chance < 0.55:
            change = f"note = NULL, id = id + {self.fleet.rows}"
        return cursor.execute(f"UPDATE IGNORE {table} SET {change}, at = {now} WHERE {span}")

    def _move(self, cursor: Cursor, now: int) -> int:
        """Move the rows of a tenant to another shard."""
        dice, count = self._dice, 0
        old, new = dice.choice(self.fleet.shards), dice.choice(self.fleet.shards)
        if old == new:
            return 0
        tables = dice.sample(self.fleet.tables, min(_MOVED_TABLES, len(self.fleet.tables)))
        tenant = f"tenant = {dice.randrange(_TENANTS)}"
        cursor.execute("BEGIN")
        for table in tables:
            rows = f"SELECT id, tenant, n, {now}, note FROM {old}.{table} WHERE {tenant}"
            columns = "(id, tenant, n, at, note)"
            cursor.execute(f"REPLACE INTO {new}.{table} {columns} {rows}")
            count += 2 * cursor.execute(f"DELETE FROM {old}.{table} WHERE {tenant}")
        cursor.execute("COMMIT")
        self.moves += 1
        return count


class Releases(Client):
    """Rolls releases over the shards, one after the other."""

    def __init__(self, fleet: Fleet, seconds: float) -> None:
        """Let a release take so long."""
        super().__init__(fleet)
        count = len(fleet.shards) * len(fleet.tables) * _STATEMENTS
        self._pause_seconds = seconds / count
        self._left = self._statements()
        self._next = next(self._left)
        self.alters = 0

    def work(self, cursor: Cursor) -> None:
        while not self._stopped.wait(self._pause_seconds):
            with self.turn:
                try:
                    cursor.execute(self._next)
                except pymysql.err.MySQLError as error:
                    if error.args[0] not in _DONE:
                        raise
                self._next = next(self._left)
                self.alters += 1

    @property
    def shards_passed(self) -> float:
        """How many shards have had a release, of all releases together."""
        return self.alters / len(self.fleet.tables) / _STATEMENTS

    def _statements(self) -> Iterator[str]:
        release = _FIRST_RELEASE
        while True:
            for shard in self.fleet.shards:
                for table in self.fleet.tables:
                    yield from _release(f"ALTER TABLE {shard}.{table}", release)
            release += 1


def _release(alter: str, number: int) -> Iterable[str]:
    """Return what a release does to a table."""
    return (
        f"{alter} ADD COLUMN c{number} INT DEFAULT {number}",
        f"{alter} MODIFY COLUMN c{number - 1} BIGINT DEFAULT {number - 1}",
        f"{alter} RENAME COLUMN c{number - 2} TO d{number - 2}",
        f"{alter} DROP COLUMN d{number - 3}",
    )
