"""What happens on a source, step by step, and the records that must come of it.

A story knows nothing of bytes: `log_writer` writes it as a server of either product would, and
`verdict` compares what has become of it. A new kind is a class with what it publishes, and a method
of the writer with its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from random import Random

DATABASE = "shop"
# Tables that are followed; and one that is not.
TABLES = ("orders", "items", "ships")
OTHER_TABLE = "private"
# A table without a key, in stories in which tables are copied.
KEYLESS = "notes"

Operation = Literal["c", "u", "d", "t"]


class Change(NamedTuple):
    """A row that is changed; `new_id` is that of an update which moves it to another key."""

    table: str
    operation: Operation
    id: int
    text: str
    new_id: int | None = None


class Published(NamedTuple):
    """A record, as far as a story knows it; a tombstone has neither operation nor text.

    The text of DDL is published without a table.
    """

    table: str
    id: int | None
    operation: str
    text: str | None


@dataclass(frozen=True)
class Step:
    """One group of the log."""

    @property
    def published(self) -> list[Published]:
        """The records that it brings."""
        return []


@dataclass(frozen=True)
class Transaction(Step):
    """A transaction of rows; `rows_per_event` of them share an event."""

    changes: tuple[Change, ...]
    rows_per_event: int = 2

    @property
    def published(self) -> list[Published]:
        """The records of its rows."""
        return [record for change in self.changes for record in _records(change)]


@dataclass(frozen=True)
class Compressed(Transaction):
    """The same, in a TRANSACTION_PAYLOAD_EVENT; MariaDB has none and writes it plainly."""


@dataclass(frozen=True)
class Cascade(Transaction):
    """A transaction whose foreign keys do to other tables what the log does not say."""

    hidden: tuple[Change, ...] = ()


@dataclass(frozen=True)
class OnePhase(Transaction):
    """An XA transaction that is prepared and committed at once; MariaDB logs it as any other."""


@dataclass(frozen=True)
class Prepared(Step):
    """XA PREPARE: the rows wait for their outcome."""

    xid: str
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Outcome(Step):
    """XA COMMIT of what was prepared, or XA ROLLBACK."""

    prepared: Prepared
    committed: bool

    @property
    def published(self) -> list[Published]:
        """The rows, now that they are committed."""
        if not self.committed:
            return []
        return [record for change in self.prepared.changes for record in _records(change)]


@dataclass(frozen=True)
class RolledBack(Step):
    """A group that ends in ROLLBACK."""

    changes: tuple[Change, ...]


@dataclass(frozen=True)
class PartlyRolledBack(Step):
    """Rows, a savepoint, rows that are taken back, and more rows."""

    before: tuple[Change, ...]
    taken_back: tuple[Change, ...]
    after: tuple[Change, ...]

    @property
    def published(self) -> list[Published]:
        """The rows that stayed."""
        return [record for change in (*self.before, *self.after) for record in _records(change)]


@dataclass(frozen=True)
class Truncate(Step):
    """TRUNCATE TABLE; `known` says whether the table has had rows before."""

    table: str
    known: bool

    @property
    def text(self) -> str:
        """The statement."""
        return f"TRUNCATE TABLE {self.table}"

    @property
    def published(self) -> list[Published]:
        """The statement, and the record which says that the rows are gone."""
        gone = [Published(self.table, None, "t", None)] if self.known else []
        return [*gone, Published("", None, "", self.text)]


@dataclass(frozen=True)
class AddColumn(Step):
    """ALTER TABLE that adds a column, which is NULL in every row; `number` makes its name."""

    table: str
    number: int

    @property
    def text(self) -> str:
        """The statement."""
        return f"ALTER TABLE {self.table} ADD COLUMN more{self.number} INT"

    @property
    def published(self) -> list[Published]:
        """The statement."""
        return [Published("", None, "", self.text)]


@dataclass(frozen=True)
class Exchange(Step):
    """EXCHANGE PARTITION, which brings rows without writing them; `ids` are replaced, or new."""

    table: str
    ids: tuple[int, ...]

    @property
    def text(self) -> str:
        """The statement."""
        return f"ALTER TABLE {self.table} EXCHANGE PARTITION p0 WITH TABLE other"

    @property
    def rows(self) -> dict[int, str]:
        """The rows that it brings, by id."""
        return {row_id: f"{self.table} {row_id} exchanged" for row_id in self.ids}

    @property
    def published(self) -> list[Published]:
        """The statement."""
        return [Published("", None, "", self.text)]


@dataclass(frozen=True)
class Drop(Step):
    """DROP TABLE of one that has had rows."""

    table: str

    @property
    def text(self) -> str:
        """The statement."""
        return f"DROP TABLE {self.table}"

    @property
    def published(self) -> list[Published]:
        """The statement, and the record which says that the rows are gone."""
        return [Published(self.table, None, "t", None), Published("", None, "", self.text)]


@dataclass(frozen=True)
class Create(Step):
    """CREATE TABLE with the columns that all begin with."""

    table: str

    @property
    def text(self) -> str:
        """The statement."""
        key = "" if self.table == KEYLESS else " PRIMARY KEY"
        return f"CREATE TABLE {self.table} (id INT{key}, text VARCHAR(30))"

    @property
    def published(self) -> list[Published]:
        """The statement."""
        return [Published("", None, "", self.text)]


@dataclass(frozen=True)
class Statement(Step):
    """DDL of a table that is not followed."""

    text: str


@dataclass(frozen=True)
class Unlogged(Step):
    """A change of a followed table in statement format, which the stream must not pass over."""

    table: str


@dataclass(frozen=True)
class Rotation(Step):
    """The log goes on in the next file; it is no group."""


@dataclass(frozen=True)
class Story:
    """Steps in the order of the log."""

    steps: tuple[Step, ...]

    @property
    def groups(self) -> list[Step]:
        """The steps that are groups of the log, each of which has a GTID where there are any."""
        return [step for step in self.steps if not isinstance(step, Rotation)]


def _records(change: Change) -> list[Published]:
    table, operation, row_id, text, new_id = change
    if table == OTHER_TABLE:
        return []
    if table == KEYLESS:
        return [Published(table, None, operation, text)]
    tombstone = Published(table, row_id, "", None)
    if operation == "d":
        return [Published(table, row_id, "d", text), tombstone]
    if new_id is None:
        return [Published(table, row_id, operation, text)]
    moved = Published(table, new_id, "c", text)
    return [Published(table, row_id, "d", text), tombstone, moved]


def random_story(random: Random, groups: int, *, rows_max: int = 4) -> Story:
    """Return a story of `groups` groups, with rotations between some of them."""
    teller = Teller(random, rows_max)
    steps: list[Step] = []
    for _ in range(groups):
        steps.append(teller.group())
        if random.random() < 0.15:
            steps.append(Rotation())
    return Story(tuple(steps))


class Teller:
    """Invents steps; remembers which rows there are."""

    def __init__(self, random: Random, rows_max: int) -> None:
        self._random = random
        self._rows_max = rows_max
        self._rows: dict[str, dict[int, str]] = {table: {} for table in (*TABLES, OTHER_TABLE)}
        self._published: set[str] = set()
        self._prepared: list[Prepared] = []
        self._next_id = 1

    def group(self) -> Step:
        """Return the next group."""
        random = self._random
        kind = random.random()
        if kind < 0.06:
            return self._truncate()
        if kind < 0.10:
            return Statement(f"CREATE TABLE {DATABASE}.other{random.randrange(1000)} (x int)")
        if kind < 0.16:
            return Transaction(self._changes((OTHER_TABLE,), 2))
        if kind < 0.22:
            return Compressed(self._changes(TABLES, self._rows_max))
        if kind < 0.26:
            return Transaction(self._changes(TABLES, 12 * self._rows_max), rows_per_event=5)
        if kind < 0.40:
            return self._xa()
        if kind < 0.44:
            return RolledBack(self._inserts())
        if kind < 0.48:
            before, taken_back, after = self._inserts(), self._inserts(), self._inserts()
            self._keep((*before, *after))
            return PartlyRolledBack(before, taken_back, after)
        return Transaction(self._changes((*TABLES, OTHER_TABLE), self._rows_max))

    def _truncate(self) -> Step:
        locked = {change.table for prepared in self._prepared for change in prepared.changes}
        table = self._random.choice(TABLES)
        if table in locked:
            return Transaction(self._changes((OTHER_TABLE,), 1))
        self._rows[table].clear()
        return Truncate(table, table in self._published)

    def _xa(self) -> Step:
        random = self._random
        if random.random() < 0.2:
            return OnePhase(self._changes(TABLES, self._rows_max))
        if not self._prepared or random.random() < 0.4:
            xid = f"X'{self._next_id:08x}',X'',1"
            prepared = Prepared(xid, self._inserts((*TABLES, OTHER_TABLE)))
            self._prepared.append(prepared)
            return prepared
        prepared = self._prepared.pop(random.randrange(len(self._prepared)))
        committed = random.random() < 0.7
        if committed:
            self._keep(prepared.changes)
        return Outcome(prepared, committed)

    def _inserts(self, tables: tuple[str, ...] = TABLES) -> tuple[Change, ...]:
        """Return new rows, which nobody else sees yet."""
        inserts = []
        for _ in range(self._random.randint(1, self._rows_max)):
            table = self._random.choice(tables)
            row_id = self._new_id()
            inserts.append(Change(table, "c", row_id, f"{table} {row_id}"))
        return tuple(inserts)

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _keep(self, inserts: tuple[Change, ...]) -> None:
        for change in inserts:
            self._rows[change.table][change.id] = change.text
            self._published.add(change.table)

    def _changes(self, tables: tuple[str, ...], rows_max: int) -> tuple[Change, ...]:
        count = self._random.randint(1, rows_max)
        return tuple(self._change(self._random.choice(tables)) for _ in range(count))

    def _change(self, table: str) -> Change:
        random, rows = self._random, self._rows[table]
        if table in TABLES:
            self._published.add(table)
        if not rows or random.random() < 0.5:
            row_id = self._new_id()
            rows[row_id] = text = f"{table} {row_id}"
            return Change(table, "c", row_id, text)
        row_id = random.choice(list(rows))
        if random.random() < 0.3:
            return Change(table, "d", row_id, rows.pop(row_id))
        if random.random() < 0.3:
            new_id = self._new_id()
            text = rows[new_id] = rows.pop(row_id)
            return Change(table, "u", row_id, text, new_id)
        rows[row_id] = text = f"{table} {row_id} changed {random.randrange(100)}"
        return Change(table, "u", row_id, text)
