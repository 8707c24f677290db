"""Stories of tables that are not empty when the log begins, and change while they are copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.story import (
    KEYLESS,
    OTHER_TABLE,
    TABLES,
    AddColumn,
    Cascade,
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
# Tables whose rows go, or get another text, with a row of OTHER_TABLE.
LOSING = ("orders", KEYLESS)
MOVING = "items"
_IDS_MAX = 2000
_ROWS_MAX = 14


def copied_story(
    random: Random, groups: int, *, rows_max: int = 3, cascades: bool = False
) -> tuple[dict[str, Rows], Story]:
    """Return what tables hold when the log begins, and about as many groups.

    The first of them changes every table, so that all are known to the stream from then on. With
    `cascades`, some of them change rows without a trace.
    """
    ids = random.sample(range(1, _IDS_MAX), _IDS_MAX - 1)
    initial = {
        table: {
            row_id: f"{table} {row_id} initial"
            for row_id in sorted(ids.pop() for _ in range(random.randint(0, _ROWS_MAX)))
        }
        for table in (*ALL_TABLES, OTHER_TABLE)
    }
    teller = _CopiedTeller(random, rows_max, initial, ids, cascades=cascades)
    steps: list[Step] = [teller.first()]
    while len(steps) < groups:
        steps += teller.groups()
        if random.random() < 0.1:
            steps.append(Rotation())
    return initial, Story(tuple(steps))


class _CopiedTeller(Teller):
    """Invents groups; ids are taken anywhere, and again once they are free."""

    def __init__(
        self,
        random: Random,
        rows_max: int,
        initial: dict[str, Rows],
        ids: list[int],
        *,
        cascades: bool,
    ) -> None:
        super().__init__(random, rows_max)
        self._cascades = cascades
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
        if self._cascades and random.random() < 0.4:
            return [self._cascade()]
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

    def _cascade(self) -> Step:
        random, parents = self._random, self._rows[OTHER_TABLE]
        changes = self._changes(ALL_TABLES, 2)
        if not parents:
            return Transaction((*changes, self._insert(OTHER_TABLE)))
        parent = random.choice(list(parents))
        if random.random() < 0.5:
            hidden = tuple(self._lose(table, row) for table in LOSING for row in self._some(table))
            deleted = Change(OTHER_TABLE, "d", parent, parents.pop(parent))
            return Cascade((*changes, deleted), hidden=hidden)
        text = parents[parent] = f"parent {parent} {random.randrange(1000)}"
        rows = self._rows[MOVING]
        rows |= dict.fromkeys(self._some(MOVING), text)
        hidden = tuple(Change(MOVING, "u", row, text) for row in rows if rows[row] == text)
        return Cascade((*changes, Change(OTHER_TABLE, "u", parent, text)), hidden=hidden)

    def _some(self, table: str) -> list[int]:
        """Return ids of some rows."""
        rows = list(self._rows[table])
        return self._random.sample(rows, self._random.randint(0, min(3, len(rows))))

    def _lose(self, table: str, row_id: int) -> Change:
        self._gone[table].append(row_id)
        return Change(table, "d", row_id, self._rows[table].pop(row_id))

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
