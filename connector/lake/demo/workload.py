"""The customers of the shop: a thread with one connection to the source.

It commits `rate` transactions a second if the source is fast enough, rolls some back, and counts
what it commits. Kafka must have a record of each committed row change, and no others. It remembers
when each table was changed, which tells how long a change waits for the mirror.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pymysql

from connector.lake.demo import demo_errors
from connector.lake.demo.shop import ADD_COLUMN, DATABASE
from connector.lake.demo.transactions import Shop
from local_stack.server import Endpoint, connect
from local_stack.stack_errors import LocalStackError

if TYPE_CHECKING:
    from pymysql.cursors import Cursor


class ChangeTimes:
    """The changes that are not in the mirror yet; all times are milliseconds since 1970."""

    def __init__(self, unit_ms: int = 1) -> None:
        """The source knows its times to `unit_ms`."""
        self._unit_ms = unit_ms
        self._waiting: dict[str, deque[int]] = {}

    @property
    def tables(self) -> set[str]:
        """The tables that have changed."""
        return set(self._waiting)

    def add(self, tables: Iterable[str], at_ms: int) -> None:
        """Note that `tables` change now: a commit begins `at_ms`."""
        for table in tables:
            self._waiting.setdefault(table, deque()).append(at_ms - at_ms % self._unit_ms)

    def lag_ms(self, table: str, applied_ms: int, now_ms: int) -> int | None:
        """Return how long the oldest change has waited; None if `table` never changed.

        The mirror has the changes up to `applied_ms`.
        """
        waiting = self._waiting.get(table)
        if waiting is None:
            return None
        while waiting and waiting[0] <= applied_ms:
            waiting.popleft()
        return max(0, now_ms - waiting[0]) if waiting else 0


CUSTOMERS = 200
PRODUCTS = 60
# One of so many transactions is rolled back.
ROLLBACK_EVERY = 25


class Workload:
    """Transactions on a shop at a steady rate, until stopped."""

    def __init__(self, endpoint: Endpoint, rate: float, seed: int = 1, unit_ms: int = 1) -> None:
        """Run on the shop of `endpoint`; the same seed makes the same changes.

        The source knows the times of commits to `unit_ms` milliseconds.
        """
        self._endpoint = endpoint
        self._rate = rate
        self._random = Random(seed)  # noqa: S311 - no secrets are drawn
        self._stop = threading.Event()
        self._column_wanted = threading.Event()
        self._thread = threading.Thread(target=self._run, name="workload", daemon=True)
        self._error: pymysql.err.Error | None = None
        self._lock = threading.Lock()
        self._records: Counter[str] = Counter()
        self._times = ChangeTimes(unit_ms)
        self.transactions = 0
        self.rollbacks = 0

    def start(self) -> None:
        """Open the shop, then begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the current transaction; returns when no more changes will come."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def add_column(self) -> None:
        """Add a column to `orders` between two transactions."""
        self._column_wanted.set()

    def check(self) -> None:
        """Raise LocalStackError if the source refused a statement."""
        if self._error is not None:
            raise LocalStackError(demo_errors.WORKLOAD, said=self._error) from self._error

    @property
    def records(self) -> dict[str, int]:
        """The number of records that the committed changes must cause, by table."""
        with self._lock:
            return dict(self._records)

    @property
    def changed_tables(self) -> set[str]:
        """The tables that have changed."""
        with self._lock:
            return self._times.tables

    def lag_ms(self, table: str, applied_ms: int) -> int | None:
        """Return how long the oldest change has waited that came after `applied_ms`.

        None if the table never changed.
        """
        with self._lock:
            return self._times.lag_ms(table, applied_ms, time.time_ns() // 10**6)

    def _run(self) -> None:
        try:
            with (
                closing(connect(self._endpoint, DATABASE)) as connection,
                connection.cursor() as cursor,
            ):
                self._trade(connection, cursor)
        except pymysql.err.Error as error:
            self._error = error

    def _trade(self, connection: pymysql.Connection[Cursor], cursor: Cursor) -> None:
        shop = Shop(cursor, self._random)
        # TIMESTAMP values of the workload are UTC, in every time zone.
        cursor.execute("SET time_zone = '+00:00'")
        connection.autocommit(False)
        shop.open(CUSTOMERS, PRODUCTS)
        self._commit(connection, shop)
        actions, weights = list(shop.transactions), list(shop.transactions.values())
        begin = time.monotonic()
        attempts = 0
        while not self._stop.wait(max(0.0, begin + attempts / self._rate - time.monotonic())):
            attempts += 1
            if self._column_wanted.is_set():
                self._column_wanted.clear()
                cursor.execute(ADD_COLUMN)
                shop.learn_channel()
            if attempts % ROLLBACK_EVERY == 0:
                shop.regret()
                connection.rollback()
                shop.pending.clear()
                self.rollbacks += 1
                continue
            (action,) = self._random.choices(actions, weights)
            action()
            self._commit(connection, shop)

    def _commit(self, connection: pymysql.Connection[Cursor], shop: Shop) -> None:
        # The time of the commit is not before this one.
        at_ms = time.time_ns() // 10**6
        connection.commit()
        with self._lock:
            self._records.update(shop.pending)
            self._times.add((table for table, number in shop.pending.items() if number), at_ms)
            self.transactions += 1
        shop.pending.clear()
