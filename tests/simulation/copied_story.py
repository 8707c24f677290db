"""Stories of tables that are not empty when the log begins, and change while they are copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.story import (
    KEYLESS,
    OTHER_TABLE,
    TABLES,
    AddColumn,
    Change,
    Compressed,
    Create,
    Drop,
    Exchange,
    PartlyRolledBack,
    RolledBack,
    Rotation,
    Story,
    Teller,
    Transaction,
    Truncate,
)

if TYPE_CHECKING:
    from random import Random

    from tests.simulation.story import Step
    from tests.simulation.table_history import Rows

ALL_TABLES = (*TABLES, KEYLESS)
_IDS_MAX = 2000
_ROWS_MAX = 14


def copied_story(
    random: Random, groups: int, *, rows_max: int = 3
) -> tuple[dict[str, Rows], Story]:
    """Return what tables hold when the log begins, and about as many groups.

    The first of them changes every table, so that all are known to the stream from then on.
    """
    ids = random.sample(range(1, _IDS_MAX), _IDS_MAX - 1)
    initial = {
        table: {
            row_id: f"{table} {row_id} initial"
            for row_id in sorted(ids.pop() for _ in range(random.randint(0, _ROWS_MAX)))
        }
        for table in (*ALL_TABLES, OTHER_TABLE)
    }
    teller = _CopiedTeller(random, rows_max, initial, ids)
    steps: list[Step] = [teller.first()]
    while len(steps) < groups:
        steps += teller.groups()
        if random.random() < 0.1:
            steps.append(Rotation())
    return initial, Story(tuple(steps))


class _CopiedTeller(Teller):
    """Invents groups; ids are taken anywhere, and again once they are free."""

    def __init__(
        self, random: Random, rows_max: int, initial: dict[str, Rows], ids: list[int]
    ) -> None:
        super().__init__(random, rows_max)
        self._rows = {table: dict(rows) for table, rows in initial.items()}
        self._added = dict.fromkeys(ALL_TABLES, 0)
        self._gone: dict[str, list[int]] = {table: [] for table in (*ALL_TABLES, OTHER_TABLE)}
        self._ids = ids

    def first(self) -> Step:
        """Return a transaction that changes every table."""
        return Transaction(tuple(self._insert(table) for table in ALL_TABLES))

    def groups(self) -> list[Step]:
        """Return what comes next, a group or a few."""
        random = self._random
        kind = random.random()
        if kind < 0.12:
            return self._ddl()
        if kind < 0.24:
            return [self._xa()]
        if kind < 0.28:
            return [RolledBack(self._inserts())]
        if kind < 0.32:
            before, taken_back, after = self._inserts(), self._inserts(), self._inserts()
            self._keep((*before, *after))
            return [PartlyRolledBack(before, taken_back, after)]
        if kind < 0.40:
            return [Compressed(self._changes(ALL_TABLES, self._rows_max))]
        if kind < 0.48:
            return [Transaction(self._changes((OTHER_TABLE,), 2))]
        return [Transaction(self._changes(ALL_TABLES, 2 * self._rows_max))]

    def _ddl(self) -> list[Step]:
        random = self._random
        held = {change.table for prepared in self._prepared for change in prepared.changes}
        table = random.choice(ALL_TABLES)
        kind = random.choice(("truncate", "add", "exchange", "again"))
        if table in held:
            return [Transaction(self._changes((OTHER_TABLE,), 1))]
        rows = self._rows[table]
        self._gone[table].clear()
        if kind == "truncate":
            rows.clear()
            return [Truncate(table, known=True)]
        if kind == "add":
            self._added[table] += 1
            return [AddColumn(table, self._added[table] - 1)]
        if kind == "exchange":
            exchange = Exchange(table, (self._new_id(), *list(rows)[:2]))
            rows |= exchange.rows
            return [exchange]
        rows.clear()
        self._added[table] = 0
        return [Drop(table), Create(table), Transaction((self._insert(table),))]

    def _insert(self, table: str) -> Change:
        row_id = self._new_id()
        text = self._rows[table][row_id] = f"{table} {row_id}"
        self._published.add(table)
        return Change(table, "c", row_id, text)

    def _change(self, table: str) -> Change:
        gone = self._gone[table]
        if gone and self._random.random() < 0.2:
            row_id = gone.pop()
            text = self._rows[table][row_id] = f"{table} {row_id} again"
            return Change(table, "c", row_id, text)
        change = super()._change(table)
        if change.operation == "d":
            gone.append(change.id)
        return change

    def _new_id(self) -> int:
        self._next_id += 1
        return self._ids.pop()
