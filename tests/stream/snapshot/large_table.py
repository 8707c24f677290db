"""A table of ten columns, with as many rows as are wanted, and writers who keep it moving."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

from local_stack import connect

if TYPE_CHECKING:
    from local_stack import Endpoint

DATABASE = "proof"
TABLE = "orders"

_CREATE = f"""
    CREATE TABLE {TABLE} (
        id BIGINT NOT NULL PRIMARY KEY, customer INT NOT NULL, status TINYINT NOT NULL,
        version INT NOT NULL, amount BIGINT NOT NULL, name VARCHAR(40) NOT NULL,
        street VARCHAR(60) NOT NULL, city VARCHAR(40) NOT NULL, note VARCHAR(80), weight INT
    )
"""
_FIRST = 1000

# The row as the records have it.
JSON_TEXT = (
    "CONCAT('{\"id\":', id, ',\"customer\":', customer, ',\"status\":', status, "
    '\',"version":\', version, \',"amount":\', amount, \',"name":"\', name, '
    '\'","street":"\', street, \'","city":"\', city, \'","note":\', '
    "IF(note IS NULL, 'null', CONCAT('\"', note, '\"')), ',\"weight\":', "
    "IFNULL(weight, 'null'), '}')"
)


def create(source: Endpoint, rows: int) -> None:
    """Create the table with ids 0 up to `rows`, which the log does not hold."""
    with connect(source) as connection, connection.cursor() as cursor:
        connection.autocommit(True)
        cursor.execute(f"CREATE DATABASE {DATABASE}")
        cursor.execute(f"USE {DATABASE}")
        cursor.execute("SET SESSION sql_log_bin = 0")
        cursor.execute(_CREATE)
        cursor.executemany(
            f"INSERT INTO {TABLE} VALUES (%s, %s, 1, 0, %s, %s, %s, 'Springfield', NULL, %s)",
            [
                (n, n * 7 % 1000, n * 1999, f"customer {n * 7}", f"{n} Evergreen Terrace", n % 50)
                for n in range(min(_FIRST, rows))
            ],
        )
        there = min(_FIRST, rows)
        while there < rows:
            more = min(there, rows - there, 500_000)
            cursor.execute(
                f"INSERT INTO {TABLE} SELECT id + {there}, customer, status, version, amount + 1, "
                f"name, street, city, note, weight FROM {TABLE} WHERE id < {more}"
            )
            there += more
        cursor.execute(f"ANALYZE TABLE {TABLE}")
        cursor.fetchall()


def rows_read(source: Endpoint) -> int:
    """Return how many rows the server's engine has read since it started."""
    with connect(source) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_rows_read'")
        (_, value) = cursor.fetchone() or ("", "0")
        return int(value)


class LoadWriter(threading.Thread):
    """Changes, deletes, inserts and moves rows at a rate, until stopped."""

    def __init__(self, source: Endpoint, rows: int, seed: int, rate: float) -> None:
        super().__init__(daemon=True)
        self._source = source
        self._rows = rows
        self._random = random.Random(seed)
        self._pause = 1 / rate
        self._stopped = threading.Event()
        self.transactions = 0
        self.rows_read = 0
        self.error: Exception | None = None

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
        with connect(self._source, DATABASE) as connection, connection.cursor() as cursor:
            connection.autocommit(False)
            began = time.monotonic()
            while not self._stopped.wait(
                max(0.0, began + self.transactions * self._pause - time.monotonic())
            ):
                row = self._random.randrange(self._rows)
                other = self._rows + self._random.randrange(self._rows)
                for statement in (
                    f"UPDATE {TABLE} SET version = version + 1, note = 'changed' WHERE id = {row}",
                    self._random.choice(
                        (
                            f"DELETE FROM {TABLE} WHERE id = {row + 1}",
                            f"UPDATE IGNORE {TABLE} SET id = {other} WHERE id = {row}",
                            (
                                f"INSERT IGNORE INTO {TABLE} VALUES ({other}, 1, 1, 1, 1, 'new', "
                                "'street', 'city', 'note', NULL)"
                            ),
                            f"UPDATE {TABLE} SET amount = amount + 1 WHERE id = {row + 2}",
                        )
                    ),
                ):
                    self.rows_read += cursor.execute(statement)
                connection.commit()
                self.transactions += 1
