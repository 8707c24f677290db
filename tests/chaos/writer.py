"""A thread that keeps changing its own rows, and everybody's hot ones, until it is stopped."""

from __future__ import annotations

import threading
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import pymysql

from local_stack import connect
from tests.chaos.ledger import Ledger, Transaction
from tests.chaos.tables import ACCOUNTS, BULK_ROWS, HOT_ROWS, RowId, first_account, first_bulk
from tests.chaos.xa import name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pymysql.cursors import Cursor

    from tests.chaos.gate import Gate
    from tests.chaos.pair import Pair

# Of four writers together about 80 transactions a second, with five records each.
_PAUSE_SECONDS = 0.04
_LOOK_SECONDS = 0.2
# The server cannot be reached or went away; a replica refuses to be written to.
_LOST = frozenset({0, 1040, 1053, 1152, 1290, 1836, 1927, 2003, 2006, 2013})
# A deadlock, and a lock that was not given in time.
_ROLLED_BACK = frozenset({1205, 1213})
# The first writer alone truncates.
TRUNCATES = 1


class Writer:
    """One session's changes, and the ledger of them."""

    def __init__(self, number: int, seed: int, gate: Gate, pair: Pair) -> None:
        self.number = number
        self.ledger = Ledger()
        self.error: Exception | None = None
        self._chance = Random(seed)
        self._gate = gate
        self._pair = pair
        self._database = ""
        self._stop = threading.Event()
        self._connection: pymysql.Connection[Cursor] | None = None
        self._moves = -1
        self._cursor: Cursor | None = None
        self._doubtful: Transaction | None = None
        self._thread = threading.Thread(target=self._run, name=f"writer {number}", daemon=True)
        # By weight.
        self._kinds: dict[Callable[[Transaction], bool], int] = {
            self._small: 60,
            self._hot: 15,
            self._keyless: 8,
            self._large: 1,
            self._regretted: 8,
            self._partly_regretted: 6,
            self._distributed: 6,
        }
        if number == TRUNCATES:
            self._kinds[self._scratch] = 6

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def begin(self, database: str) -> None:
        """Start over in an empty database, while the gate is held."""
        self.ledger = Ledger()
        self._database = database
        self._doubtful = None
        self._moves = -1

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._chance.expovariate(1 / _PAUSE_SECONDS)):
                with self._gate.passing():
                    self._pass()
        except Exception as error:  # noqa: BLE001  # told where the run is watched
            self.error = error

    def _pass(self) -> None:
        settled = False
        try:
            cursor = self._ready()
            settled = True
            cursor.execute("BEGIN")
            transaction = self._doubtful = Transaction(self.ledger)
            book = RowId("book", self.number)
            if transaction.latest(book)[0] == "d":
                cursor.execute("INSERT INTO book VALUES (%s, 1)", (self.number,))
                transaction.add(book, "c")
            else:
                cursor.execute("UPDATE book SET n = n + 1 WHERE writer = %s", (self.number,))
                transaction.add(book, "u")
            (kind,) = self._chance.choices(list(self._kinds), list(self._kinds.values()))
            committed = kind(transaction)
            self._doubtful = None
            if committed:
                self.ledger.commit(transaction)
        except (pymysql.err.MySQLError, OSError) as error:
            number = error.args[0] if error.args else 0
            if number in _ROLLED_BACK:
                if settled:
                    self._doubtful = None
                self._lose()
            elif number in _LOST or isinstance(error, (OSError, pymysql.err.InterfaceError)):
                self._lose()
                self._stop.wait(_LOOK_SECONDS)
            else:
                raise

    def _ready(self) -> Cursor:
        """Return a cursor on the present source, once the last transaction's fate is known."""
        if self._moves != self._pair.moves:
            self._lose()
        if self._cursor is None:
            self._moves = self._pair.moves
            self._connection = connect(self._pair.source, self._database)
            self._cursor = self._connection.cursor()
            self._cursor.execute("SET time_zone = '+00:00'")
            self._settle(self._cursor)
            self._connection.autocommit(False)
        return self._cursor

    def _settle(self, cursor: Cursor) -> None:
        # MariaDB lets nobody do that who is in a transaction, or does not commit by itself.
        for name in self._prepared(cursor):
            cursor.execute(f"XA ROLLBACK '{name}'")
        if self.number == TRUNCATES:
            cursor.execute("SELECT COUNT(*) FROM scratch")
            if cursor.fetchone() == (0,):
                # Whether the last TRUNCATE was done need not have been told.
                self.ledger.truncate("scratch")
        if self._doubtful is None:
            return
        # A session that may still be committing holds the row's lock.
        cursor.execute("BEGIN")
        cursor.execute("SELECT n FROM book WHERE writer = %s FOR UPDATE", (self.number,))
        (n,) = cursor.fetchone() or (0,)
        cursor.execute("ROLLBACK")
        if n == self.ledger.latest(RowId("book", self.number))[1] + 1:
            self.ledger.commit(self._doubtful)
        self._doubtful = None

    def _prepared(self, cursor: Cursor) -> list[str]:
        """Return this writer's transactions that were prepared and not ended."""
        cursor.execute("XA RECOVER")
        names = [name_of(row[3]) for row in cursor.fetchall()]
        return [name for name in names if name.startswith(f"w{self.number}-")]

    def _lose(self) -> None:
        if self._connection is not None:
            with suppress(pymysql.err.MySQLError, OSError):
                self._connection.close()
        self._connection = self._cursor = None

    def _execute(self, sql: str, *values: object) -> None:
        assert self._cursor is not None
        self._cursor.execute(sql, values)

    def _small(self, transaction: Transaction) -> bool:
        self._change_accounts(transaction)
        self._execute("COMMIT")
        return True

    def _change_accounts(self, transaction: Transaction) -> None:
        for _ in range(self._chance.randint(1, 6)):
            account = RowId(
                "account", first_account(self.number) + self._chance.randrange(ACCOUNTS)
            )
            note = "".join(self._chance.choices("abcdefgh ", k=self._chance.randint(0, 300)))
            if transaction.latest(account)[0] == "d":
                n = transaction.add(account, "c")
                sql = "INSERT INTO account (id, n, note) VALUES (%s, %s, %s)"
                self._execute(sql, account.key, n, note)
            elif self._chance.random() < 0.1:
                transaction.add(account, "d")
                self._execute("DELETE FROM account WHERE id = %s", account.key)
            else:
                n = transaction.add(account, "u")
                sql = "UPDATE account SET n = %s, note = %s WHERE id = %s"
                self._execute(sql, n, note, account.key)

    def _hot(self, transaction: Transaction) -> bool:
        row = self._chance.randrange(HOT_ROWS)
        self._change_accounts(transaction)
        self._execute("UPDATE hot SET n = n + 1 WHERE id = %s", row)
        transaction.hot[row] += 1
        self._execute("COMMIT")
        return True

    def _keyless(self, transaction: Transaction) -> bool:
        for _ in range(self._chance.randint(1, 3)):
            n = transaction.add(RowId("keyless", self.number), "c")
            self._execute("INSERT INTO keyless VALUES (%s, %s)", self.number, n)
        self._execute("COMMIT")
        return True

    def _large(self, transaction: Transaction) -> bool:
        first = first_bulk(self.number)
        rows = [RowId("bulk", first + number) for number in range(BULK_ROWS)]
        if transaction.latest(rows[0])[0] == "d":
            note = "x" * 500
            values = ",".join(f"({row.key}, {transaction.add(row, 'c')}, '{note}')" for row in rows)
            self._execute(f"INSERT INTO bulk VALUES {values}")
        else:
            for _ in range(self._chance.randint(1, 4)):
                for row in rows:
                    transaction.add(row, "u")
                sql = "UPDATE bulk SET n = n + 1 WHERE id >= %s AND id < %s"
                self._execute(sql, first, first + BULK_ROWS)
        self._execute("COMMIT")
        return True

    def _regretted(self, transaction: Transaction) -> bool:
        self._change_accounts(transaction)
        self._execute("ROLLBACK")
        return False

    def _partly_regretted(self, transaction: Transaction) -> bool:
        self._change_accounts(transaction)
        kept = len(transaction.changes)
        self._execute("SAVEPOINT here")
        self._change_accounts(transaction)
        self._execute("ROLLBACK TO SAVEPOINT here")
        transaction.back_to(kept)
        self._change_accounts(transaction)
        self._execute("COMMIT")
        return True

    def _scratch(self, transaction: Transaction) -> bool:
        for number in range(self._chance.randint(1, 10)):
            row = RowId("scratch", number)
            if transaction.latest(row)[0] == "d":
                n = transaction.add(row, "c")
                self._execute("INSERT INTO scratch VALUES (%s, %s)", number, n)
            else:
                n = transaction.add(row, "u")
                self._execute("UPDATE scratch SET n = %s WHERE id = %s", n, number)
        self._execute("COMMIT")
        self.ledger.commit(transaction)
        self._doubtful = None
        if self._chance.random() < 0.3:
            self._execute("TRUNCATE TABLE scratch")
            self.ledger.truncate("scratch")
        return False

    def _distributed(self, transaction: Transaction) -> bool:
        if not self.ledger.transactions:
            return self._small(transaction)
        # What `_pass` has begun is rolled back; the group does the same again.
        self._execute("ROLLBACK")
        transaction.back_to(0)
        name = f"w{self.number}-{self._chance.randrange(10**9)}"
        self._execute(f"XA START '{name}'")
        self._execute("UPDATE book SET n = n + 1 WHERE writer = %s", self.number)
        transaction.add(RowId("book", self.number), "u")
        self._change_accounts(transaction)
        self._execute(f"XA END '{name}'")
        self._execute(f"XA PREPARE '{name}'")
        committed = self._chance.random() < 0.7
        self._stop.wait(self._chance.uniform(0, 0.1))
        self._execute(f"XA {'COMMIT' if committed else 'ROLLBACK'} '{name}'")
        return committed
