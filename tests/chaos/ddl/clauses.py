"""Definitions of columns, and the clauses of ALTER TABLE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.chaos.ddl.words import COLUMNS, NAMES, TYPES

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.chaos.ddl.catalogue import Shape

# What stays in each table: its key, and what counts its changes.
KEPT: Final = ("id", "tick")
_RANGES: Final = (
    "PARTITION p0 VALUES LESS THAN (50), PARTITION p1 VALUES LESS THAN (500), "
    "PARTITION p2 VALUES LESS THAN MAXVALUE"
)
PARTITIONS: Final = (
    "PARTITION BY HASH ({id}) PARTITIONS 2",
    f"PARTITION BY RANGE ({{id}}) ({_RANGES})",
    "REMOVE PARTITIONING",
)
_CLAUSES: Final = (
    "FORCE",
    "ENGINE = InnoDB",
    "ALGORITHM = COPY, FORCE",
    "COMMENT = 'x'",
    "CONVERT TO CHARACTER SET utf8mb4",
    "CHARACTER SET latin1",
    "ORDER BY {id} DESC",
    "AUTO_INCREMENT = 100000",
)


class Clauses:
    """What `random` chooses."""

    def __init__(
        self, random: Random, quoted: Callable[[str], str], *, is_mariadb: bool, is_keyed: bool
    ) -> None:
        """`quoted` writes a name as the session reads it."""
        self._random = random
        self._q = quoted
        self._is_mariadb = is_mariadb
        self._is_keyed = is_keyed

    def definition(self, name: str) -> str:
        """Return the definition of a column with a type, or of a generated one."""
        random, q = self._random, self._q
        kind = random.choice([*TYPES])
        if random.random() < 0.15:
            where = random.choice(["STORED", "VIRTUAL"])
            return f"{q(name)} INT AS ({q('tick')} * 2) {where}"
        null = "" if kind.endswith(" NULL") else random.choice(["", "", " NOT NULL", " NULL"])
        default = ""
        if kind not in ("TEXT", "BLOB", "JSON") and random.random() < 0.5:
            default = f" DEFAULT {random.choice(TYPES[kind])}"
        if "DATE" in kind:
            # INSERT IGNORE without a value, and existing rows, would get a zero date.
            null = ""
        hidden = ""
        if self._is_mariadb and random.random() < 0.1 and (default or null != " NOT NULL"):
            hidden = " INVISIBLE"
        return f"{q(name)} {kind}{null}{default}{hidden}"

    def addition(self) -> str:
        """Return ADD COLUMN."""
        return f"ADD COLUMN {self.definition(self._random.choice(COLUMNS))}"

    def clause(self, shape: Shape) -> str:
        """Return a clause of ALTER TABLE for a table; `id` and `tick` stay."""
        random, q = self._random, self._q
        there = [name for name in shape.names if name not in KEPT]
        name = random.choice(there) if there else random.choice(COLUMNS)
        choice = random.randrange(22)
        place = random.choice(["", "", "", " FIRST", f" AFTER {q('id')}"])
        if choice < 6 or not there:
            return f"{self.addition()}{place}"
        if choice < 9:
            return f"DROP COLUMN {q(name)}"
        if choice < 12:
            return f"MODIFY COLUMN {self.definition(name)}{place}"
        if choice < 15:
            return self._new_name(name, there, place)
        return self._other(shape, name, choice)

    def _new_name(self, name: str, there: list[str], place: str) -> str:
        random, q = self._random, self._q
        if random.random() < 0.3:
            return f"CHANGE COLUMN {q(name)} {self.definition(random.choice(COLUMNS))}{place}"
        other = random.choice([*there, *COLUMNS])
        # In a circle, if the other one is there.
        back = f", RENAME COLUMN {q(other)} TO {q(name)}" if other in there else ""
        return f"RENAME COLUMN {q(name)} TO {q(other)}{back}"

    def _other(self, shape: Shape, name: str, choice: int) -> str:
        random, q = self._random, self._q
        if choice < 16:
            return f"ADD {random.choice(['INDEX', 'UNIQUE'])} ({q(name)})"
        if choice < 17:
            return random.choice(PARTITIONS).format(id=q("id"))
        if choice < 18 and self._is_keyed:
            return self._key(shape)
        if choice < 19:
            return f"RENAME TO {q(random.choice(NAMES))}"
        if choice < 20:
            return f"ALTER COLUMN {q(name)} {random.choice(['SET INVISIBLE', 'DROP DEFAULT'])}"
        return random.choice(_CLAUSES).format(id=q("id"))

    def _key(self, shape: Shape) -> str:
        key = f"ADD PRIMARY KEY ({self._q('id')})"
        if not shape.key:
            return key
        return self._random.choice(["DROP PRIMARY KEY", f"DROP PRIMARY KEY, {key}"])
