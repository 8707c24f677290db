"""What a writer has committed: for each of its rows, the changes in their order.

A change counts once the server has confirmed its transaction. When the connection is lost during
COMMIT, the writer's row in `book` tells later whether it was.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.chaos.tables import RowId

# The letter of cdc.op, and the row's `n`.
Change = tuple[str, int]


class Transaction:
    """The changes of one transaction of a writer, on top of what it has committed."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.changes: list[tuple[RowId, Change]] = []
        self.hot: Counter[int] = Counter()
        self._latest: dict[RowId, Change] = {}

    def latest(self, row: RowId) -> Change:
        """Return the last change of a row; a deleted one, or none yet, is ("d", n)."""
        return self._latest.get(row) or self._ledger.latest(row)

    def add(self, row: RowId, op: str) -> int:
        """Add the next change of a row; return its `n`, which a delete leaves as it is."""
        _, n = self.latest(row)
        n = n if op == "d" else n + 1
        self.changes.append((row, (op, n)))
        self._latest[row] = op, n
        return n

    def back_to(self, number: int) -> None:
        """Forget what came behind the first `number` changes."""
        del self.changes[number:]
        self._latest = dict(self.changes)


class Ledger:
    """All that one writer has committed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.changes: dict[RowId, list[Change]] = defaultdict(list)
        self.hot: Counter[int] = Counter()
        self.transactions = 0
        self._gone: dict[RowId, int] = {}

    def latest(self, row: RowId) -> Change:
        changes = self.changes.get(row)
        if not changes:
            return "d", 0
        op, n = changes[-1]
        return ("d", n) if self._gone.get(row) == len(changes) else (op, n)

    def commit(self, transaction: Transaction) -> None:
        with self.lock:
            self.transactions += 1
            for row, change in transaction.changes:
                self.changes[row].append(change)
            self.hot.update(transaction.hot)

    def truncate(self, table: str) -> None:
        """Take note that all rows of a table are gone, without a change of each."""
        with self.lock:
            for row, changes in self.changes.items():
                if row.table == table:
                    self._gone[row] = len(changes)
