"""Statements that change rows, for the tables that are there; a server may refuse some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.chaos.ddl.words import value_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.chaos.ddl.catalogue import Catalogue, Shape

# By which a statement can be unsafe, beside what is safe.
_CALLS: Final = ("RAND() * 9", "UUID_SHORT() % 9", "UNIX_TIMESTAMP() % 9", "@@server_id % 9", "7")
_PARTS: Final = 10


class RowGrammar:
    """Makes statements; each row that it inserts has an `id` that no other row has."""

    def __init__(self, random: Random, quoted: Callable[[str], str]) -> None:
        """`quoted` writes a name as the session reads it."""
        self._random = random
        self._q = quoted
        self._id = 0
        self._forms: tuple[tuple[int, Callable[[Shape, Catalogue], str]], ...] = (
            (10, self._insert),
            (1, self._insert_with_subquery),
            (2, self._insert_select),
            (1, self._insert_or_update),
            (1, self._replace),
            (8, self._update),
            (1, self._update_all),
            (1, self._update_key),
            (1, self._update_with_subquery),
            (2, self._update_join),
            (1, self._update_limited),
            (3, self._delete),
            (1, self._delete_join),
            (1, self._delete_with_subquery),
            (2, self._through_view),
        )

    def statement(self, catalogue: Catalogue, names: list[str] | None = None) -> str:
        """Return a change of one of the tables `names`, or of any; "" if there is none."""
        wanted = list(catalogue.tables) if names is None else names
        shapes = [catalogue.tables[name] for name in wanted if name in catalogue.tables]
        shapes = [shape for shape in shapes if {"id", "tick"} <= set(shape.names)]
        if not shapes:
            return ""
        weights = [weight for weight, _ in self._forms]
        (form,) = self._random.choices([form for _, form in self._forms], weights)
        return form(self._random.choice(shapes), catalogue)

    def insert(self, shape: Shape) -> str:
        """Return an INSERT of one row with a value for each column that can have one."""
        return self._insert_of(shape, [column.name for column in shape.columns], "INSERT")

    def _fresh(self) -> int:
        self._id += 1
        return self._id

    def _insert_of(self, shape: Shape, names: list[str], verb: str) -> str:
        columns = [
            column
            for column in shape.columns
            if column.name in names and column.name != "id" and not column.is_generated
        ]
        rows = []
        for _ in range(self._random.choice([1, 1, 3])):
            values = [
                "0" if column.name == "tick" else value_of(self._random, column.kind)
                for column in columns
            ]
            rows.append(f"({', '.join([str(self._fresh()), *values])})")
        listed = ", ".join(map(self._q, ["id", *(column.name for column in columns)]))
        return f"{verb} INTO {self._q(shape.name)} ({listed}) VALUES {', '.join(rows)}"

    def _some(self, shape: Shape) -> list[str]:
        # Columns without a default must have a value more often than not.
        return [name for name in shape.names if self._random.random() < 0.9]

    def _insert(self, shape: Shape, _: Catalogue) -> str:
        verb = self._random.choice(["INSERT", "INSERT", "INSERT", "INSERT IGNORE"])
        return self._insert_of(shape, self._some(shape), verb)

    def _replace(self, shape: Shape, _: Catalogue) -> str:
        return self._insert_of(shape, self._some(shape), "REPLACE")

    def _insert_or_update(self, shape: Shape, _: Catalogue) -> str:
        number = self._random.randint(1, max(1, self._id))
        table, tick = self._q(shape.name), self._q("tick")
        return (
            f"INSERT INTO {table} ({self._q('id')}, {tick}) VALUES ({number}, 0) "
            f"ON DUPLICATE KEY UPDATE {tick} = {table}.{tick} + 1"
        )

    def _insert_with_subquery(self, shape: Shape, catalogue: Catalogue) -> str:
        other = self._other(catalogue)
        return (
            f"INSERT INTO {self._q(shape.name)} ({self._q('id')}, {self._q('tick')}) "
            f"VALUES ({self._fresh()}, (SELECT COUNT(*) FROM {other} x))"
        )

    def _insert_select(self, shape: Shape, catalogue: Catalogue) -> str:
        low, self._id = self._id + 1, self._id + 1_000
        return (
            f"INSERT INTO {self._q(shape.name)} ({self._q('id')}, {self._q('tick')}) "
            f"SELECT {low} + {self._q('id')} % 1000, {self._q('tick')} "
            f"FROM {self._other(catalogue)} x WHERE {self._part()} GROUP BY 1, 2"
        )

    def _other(self, catalogue: Catalogue) -> str:
        return self._q(self._random.choice([*catalogue.tables, *sorted(catalogue.views)]))

    def _part(self, prefix: str = "") -> str:
        return f"{prefix}{self._q('id')} % {_PARTS} = {self._random.randrange(_PARTS)}"

    def _set(self, shape: Shape, prefix: str = "") -> str:
        tick = f"{prefix}{self._q('tick')}"
        parts = [f"{tick} = {tick} + 1"]
        others = [
            column
            for column in shape.columns
            if column.name not in ("id", "tick") and not column.is_generated
        ]
        if others and self._random.random() < 0.6:
            column = self._random.choice(others)
            value = value_of(self._random, column.kind)
            if "int" in column.kind and self._random.random() < 0.3:
                value = self._random.choice(_CALLS)
            parts.append(f"{prefix}{self._q(column.name)} = {value}")
        return ", ".join(parts)

    def _update(self, shape: Shape, _: Catalogue) -> str:
        return f"UPDATE {self._q(shape.name)} SET {self._set(shape)} WHERE {self._part()}"

    def _update_all(self, shape: Shape, _: Catalogue) -> str:
        return f"UPDATE {self._q(shape.name)} SET {self._set(shape)}"

    def _update_limited(self, shape: Shape, _: Catalogue) -> str:
        return f"UPDATE {self._q(shape.name)} SET {self._set(shape)} LIMIT 2"

    def _update_key(self, shape: Shape, _: Catalogue) -> str:
        key = self._q("id")
        return f"UPDATE {self._q(shape.name)} SET {key} = {self._fresh()} ORDER BY {key} LIMIT 1"

    def _update_with_subquery(self, shape: Shape, catalogue: Catalogue) -> str:
        tick = self._q("tick")
        return (
            f"UPDATE {self._q(shape.name)} SET {tick} = {tick} + 1 "
            f"WHERE {self._q('id')} IN (SELECT {self._q('id')} FROM {self._other(catalogue)} x)"
        )

    def _update_join(self, shape: Shape, catalogue: Catalogue) -> str:
        key = self._q("id")
        return (
            f"UPDATE {self._q(shape.name)} x JOIN {self._other(catalogue)} y ON x.{key} = y.{key} "
            f"SET {self._set(shape, 'x.')} WHERE {self._part('x.')}"
        )

    def _delete(self, shape: Shape, _: Catalogue) -> str:
        limit = self._random.choice(["", " LIMIT 2"])
        return f"DELETE FROM {self._q(shape.name)} WHERE {self._part()}{limit}"

    def _delete_join(self, shape: Shape, catalogue: Catalogue) -> str:
        key = self._q("id")
        return (
            f"DELETE x FROM {self._q(shape.name)} x JOIN {self._other(catalogue)} y "
            f"ON x.{key} = y.{key} WHERE {self._part('x.')}"
        )

    def _delete_with_subquery(self, shape: Shape, catalogue: Catalogue) -> str:
        return (
            f"DELETE FROM {self._q(shape.name)} WHERE {self._part()} "
            f"AND {self._q('id')} < (SELECT COUNT(*) FROM {self._other(catalogue)} x)"
        )

    def _through_view(self, shape: Shape, catalogue: Catalogue) -> str:
        """Change the rows below a view; those of the table if there is none."""
        name = self._q(self._random.choice([*sorted(catalogue.views), shape.name]))
        key, tick = self._q("id"), self._q("tick")
        forms = (
            f"UPDATE {name} SET {tick} = {tick} + 1 WHERE {self._part()}",
            f"INSERT INTO {name} ({key}, {tick}) VALUES ({self._fresh()}, 2)",
            f"DELETE FROM {name} WHERE {self._part()}",
        )
        return self._random.choice(forms)
