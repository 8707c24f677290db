"""A thread that changes rows without a pause, and knows every change."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

from local_stack import connect

if TYPE_CHECKING:
    from local_stack import Endpoint

# Operation, id and number of a change: no two are equal.
Change = tuple[str, int, int]
# The id of the last row.
END = -1


class Writer(threading.Thread):
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
            cursor.execute(f"INSERT INTO t VALUES ({END}, 0)")
        self.changes.append(("c", END, 0))

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
