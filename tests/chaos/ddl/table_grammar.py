"""Statements that create, alter, rename and drop, for what is there; a server may refuse some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.chaos.ddl.clauses import KEPT, PARTITIONS, Clauses
from tests.chaos.ddl.words import COLUMNS, NAMES

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.chaos.ddl.catalogue import Catalogue, Shape

_OF_PARTITIONS: Final = (
    "TRUNCATE PARTITION p0",
    "DROP PARTITION p0",
    "REORGANIZE PARTITION p0, p1 INTO (PARTITION p0 VALUES LESS THAN (500))",
    "REBUILD PARTITION p0",
    "COALESCE PARTITION 1",
    "ADD PARTITION PARTITIONS 1",
)


class TableGrammar:
    """Makes statements; with `is_keyed`, most tables have a primary key, else none has one."""

    def __init__(
        self,
        random: Random,
        quoted: Callable[[str], str],
        *,
        database: str,
        is_mariadb: bool,
        is_keyed: bool,
    ) -> None:
        """`quoted` writes a name as the session reads it."""
        self._random = random
        self._q = quoted
        self._database = database
        self._is_mariadb = is_mariadb
        self._is_keyed = is_keyed
        self._clauses = Clauses(random, quoted, is_mariadb=is_mariadb, is_keyed=is_keyed)
        self._forms: tuple[tuple[int, Callable[[Catalogue], list[str]]], ...] = (
            (6, self._create),
            (2, self._create_like),
            (1, self._create_select),
            (3, self._drop),
            (2, self._truncate),
            (16, self._alter),
            (3, self._rename),
            (3, self._rename_in_circle),
            (2, self._away_and_back),
            (2, self._view),
            (2, self._sequence if is_mariadb else self._view),
            (3, self._temporary),
            (3, self._partition),
            (1, self._exchange),
            (3, self._swap),
            (2, self._triggers),
        )

    def statements(self, catalogue: Catalogue) -> list[str]:
        """Return statements that belong together; none if there is no table for them."""
        weights = [weight for weight, _ in self._forms]
        (form,) = self._random.choices([form for _, form in self._forms], weights)
        return form(catalogue)

    def create(self, name: str, head: str = "CREATE TABLE") -> str:
        """Return CREATE TABLE with some columns."""
        random, q = self._random, self._q
        key = f"{q('id')} INT NOT NULL"
        if self._is_keyed:
            key = f"{q('id')} INT{random.choice(['', '', ' AUTO_INCREMENT'])} PRIMARY KEY"
        parts = [key, f"{q('tick')} INT NOT NULL DEFAULT 0"]
        chosen = random.sample(COLUMNS, random.randint(0, 3))
        parts += [self._clauses.definition(column) for column in chosen]
        random.shuffle(parts)
        charset = random.choice(["utf8mb4", "utf8mb4", "latin1"])
        return f"{head} {q(name)} ({', '.join(parts)}) CHARSET {charset}"

    def _name(self) -> str:
        return self._random.choice(NAMES)

    def _one(self, catalogue: Catalogue) -> Shape | None:
        return self._random.choice([*catalogue.tables.values()]) if catalogue.tables else None

    def _any(self, catalogue: Catalogue) -> str:
        """Return a name that may be that of a table, a view, a sequence, or of nothing."""
        there = [*catalogue.tables, *sorted(catalogue.views), *sorted(catalogue.sequences)]
        return self._random.choice([*there, *there, self._name()])

    def _create(self, _: Catalogue) -> list[str]:
        heads = ["CREATE TABLE", "CREATE TABLE", "CREATE TABLE IF NOT EXISTS"]
        if self._is_mariadb:
            heads.append("CREATE OR REPLACE TABLE")
        return [self.create(self._name(), self._random.choice(heads))]

    def _create_like(self, catalogue: Catalogue) -> list[str]:
        shape = self._one(catalogue)
        if shape is None:
            return []
        name = self._q(self._name())
        made = [f"CREATE TABLE {name} LIKE {self._q(shape.name)}"]
        if self._random.random() < 0.5 and not any(each.is_generated for each in shape.columns):
            made.append(f"INSERT INTO {name} SELECT * FROM {self._q(shape.name)}")
        return made

    def _create_select(self, catalogue: Catalogue) -> list[str]:
        shape = self._one(catalogue)
        if shape is None:
            return []
        key = f" (PRIMARY KEY ({self._q('id')}))" if self._is_keyed else ""
        return [f"CREATE TABLE {self._q(self._name())}{key} AS SELECT * FROM {self._q(shape.name)}"]

    def _drop(self, catalogue: Catalogue) -> list[str]:
        named = [self._any(catalogue) for _ in range(self._random.choice([1, 1, 2]))]
        names = ", ".join(map(self._q, dict.fromkeys(named)))
        kind = self._random.choice(["TABLE", "TABLE", "TABLE IF EXISTS", "VIEW IF EXISTS"])
        return [f"DROP {kind} {names}"]

    def _truncate(self, catalogue: Catalogue) -> list[str]:
        return [f"TRUNCATE TABLE {self._q(self._any(catalogue))}"]

    def _alter(self, catalogue: Catalogue) -> list[str]:
        shape = self._one(catalogue)
        if shape is None:
            return []
        count = self._random.choice([1, 1, 1, 2, 3])
        clauses = [self._clauses.clause(shape) for _ in range(count)]
        return [f"ALTER TABLE {self._q(shape.name)} {', '.join(clauses)}"]

    def _rename(self, catalogue: Catalogue) -> list[str]:
        words = "TABLE"
        if self._is_mariadb and self._random.random() < 0.3:
            words = "TABLE IF EXISTS"
        return [f"RENAME {words} {self._q(self._any(catalogue))} TO {self._q(self._name())}"]

    def _rename_in_circle(self, catalogue: Catalogue) -> list[str]:
        there = [*catalogue.tables]
        if len(there) < 2:
            return []
        circle = self._random.sample(there, self._random.choice([2, min(3, len(there))]))
        steps = [(circle[0], "between")]
        steps += [(name, circle[at]) for at, name in enumerate(circle[1:])]
        steps.append(("between", circle[-1]))
        renames = ", ".join(f"{self._q(old)} TO {self._q(new)}" for old, new in steps)
        return [f"RENAME TABLE {renames}"]

    def _away_and_back(self, catalogue: Catalogue) -> list[str]:
        """Rename into a database that is not followed, change something there, and come back."""
        shape = self._one(catalogue)
        if shape is None:
            return []
        here, away = self._q(shape.name), f"{self._database}_away.{self._q(shape.name)}"
        between = [
            f"UPDATE {away} SET {self._q('tick')} = {self._q('tick')} + 1",
            f"DELETE FROM {away} LIMIT 1",
            f"ALTER TABLE {away} {self._clauses.addition()}",
        ]
        return [
            f"RENAME TABLE {here} TO {away}",
            *self._random.sample(between, self._random.randint(0, 2)),
            f"RENAME TABLE {away} TO {here}",
        ]

    def _view(self, catalogue: Catalogue) -> list[str]:
        there = sorted(catalogue.views)
        shape = self._one(catalogue)
        name = self._q(self._random.choice([*NAMES, "vw"]))
        if there and self._random.random() < 0.5:
            view = self._q(self._random.choice(there))
            return [self._random.choice([f"RENAME TABLE {view} TO {name}", f"DROP VIEW {view}"])]
        if shape is None:
            return []
        columns = ", ".join(map(self._q, KEPT))
        head = self._random.choice(["CREATE VIEW", "CREATE OR REPLACE VIEW", "ALTER VIEW"])
        return [f"{head} {name} AS SELECT {columns} FROM {self._q(shape.name)}"]

    def _sequence(self, catalogue: Catalogue) -> list[str]:
        name = self._q(self._random.choice([*NAMES, "sq", *sorted(catalogue.sequences)]))
        return [
            self._random.choice(
                [
                    f"CREATE SEQUENCE {name}",
                    f"CREATE OR REPLACE SEQUENCE {name} START WITH 100",
                    f"DROP SEQUENCE IF EXISTS {name}",
                    f"ALTER SEQUENCE {name} RESTART 50",
                    f"RENAME TABLE {name} TO {self._q(self._name())}",
                    f"SELECT NEXTVAL({name})",
                ]
            )
        ]

    def _temporary(self, catalogue: Catalogue) -> list[str]:
        """Create a temporary table, often with the name of a table that is there, and use it."""
        name, other = self._any(catalogue), self._name()
        table, tick = self._q(name), self._q("tick")
        made = [self.create(name, "CREATE TEMPORARY TABLE")]
        uses = [
            f"INSERT INTO {table} ({self._q('id')}, {tick}) VALUES (1, 1), (2, 2)",
            f"UPDATE {table} SET {tick} = 5",
            f"DELETE FROM {table} WHERE {self._q('id')} = 1",
            f"TRUNCATE TABLE {table}",
            f"ALTER TABLE {table} {self._clauses.addition()}",
            f"ALTER TABLE {table} DROP COLUMN {tick}",
        ]
        made += self._random.sample(uses, self._random.randint(0, 3))
        if self._is_mariadb and self._random.random() < 0.3:
            # MySQL has no RENAME TABLE of temporary tables.
            made.append(f"RENAME TABLE {table} TO {self._q(other)}")
            name = other
        ends = ["DROP TEMPORARY TABLE", "DROP TEMPORARY TABLE IF EXISTS", "DROP TABLE"]
        return [*made, f"{self._random.choice(ends)} {self._q(name)}"]

    def _partition(self, catalogue: Catalogue) -> list[str]:
        shape = self._one(catalogue)
        if shape is None:
            return []
        clauses = _OF_PARTITIONS if shape.is_partitioned else PARTITIONS
        clause = self._random.choice(clauses).format(id=self._q("id"))
        return [f"ALTER TABLE {self._q(shape.name)} {clause}"]

    def _exchange(self, catalogue: Catalogue) -> list[str]:
        shapes = [shape for shape in catalogue.tables.values() if shape.is_partitioned]
        if not shapes:
            return []
        table = self._q(self._random.choice(shapes).name)
        with_what = self._q("beside")
        return [
            f"CREATE TABLE {with_what} LIKE {table}",
            f"ALTER TABLE {with_what} REMOVE PARTITIONING",
            f"ALTER TABLE {table} EXCHANGE PARTITION p0 WITH TABLE {with_what}",
            f"DROP TABLE {with_what}",
        ]

    def _swap(self, catalogue: Catalogue) -> list[str]:
        """Do as a tool for online schema changes does, in part and by hand."""
        shape = self._one(catalogue)
        if shape is None:
            return []
        table, tick, key = self._q(shape.name), self._q("tick"), self._q("id")
        copy, log, old = (
            (f"_{shape.name}_gho", f"_{shape.name}_ghc", f"_{shape.name}_del")
            if self._random.random() < 0.5
            else (f"_{shape.name}_new", "", f"_{shape.name}_old")
        )
        listed = f"{key}, {tick}"
        copied = f"INSERT IGNORE INTO {self._q(copy)} ({listed}) SELECT {listed} FROM {table}"
        between = [
            f"ALTER TABLE {self._q(copy)} {self._clauses.addition()}",
            copied,
            f"{copied} WHERE {key} % 3 > 0",
            f"UPDATE {self._q(copy)} SET {tick} = {tick} + 1 WHERE {key} % 2 = 0",
            f"DELETE FROM {self._q(copy)} WHERE {key} % 4 = 0",
            f"INSERT INTO {self._q(copy)} ({listed}) VALUES ({-self._random.randrange(10**6)}, 3)",
            f"DELETE FROM {table} WHERE {key} % 5 = 0",
        ]
        return [
            *([f"CREATE TABLE {self._q(log)} ({key} INT PRIMARY KEY, {tick} INT)"] if log else []),
            f"CREATE TABLE {self._q(copy)} LIKE {table}",
            *self._random.sample(between, self._random.randint(1, 5)),
            f"RENAME TABLE {table} TO {self._q(old)}, {self._q(copy)} TO {table}",
            *([f"DROP TABLE {self._q(log)}"] if log else []),
            *([f"DROP TABLE {self._q(old)}"] if self._random.random() < 0.7 else []),
        ]

    def _triggers(self, catalogue: Catalogue) -> list[str]:
        """Create a trigger as pt-online-schema-change names it, or drop it."""
        shape = self._one(catalogue)
        if shape is None:
            return []
        key, copy = self._q("id"), self._q(f"_{shape.name}_new")
        name = self._q(f"pt_osc_{self._database}_{shape.name}_del")
        made = (
            f"CREATE TRIGGER {name} AFTER DELETE ON {self._q(shape.name)} FOR EACH ROW "
            f"DELETE IGNORE FROM {copy} WHERE {copy}.{key} <=> OLD.{key}"
        )
        return [self._random.choice([made, f"DROP TRIGGER IF EXISTS {name}"])]
