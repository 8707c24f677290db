"""A schema change of the matrix, with the table that it is tried on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.integration.schema.altered_tables import HEAD, STRICT

# Rows 2 and 3 are changed after the schema change, and row 8 is added; row 1 stays as it was.
LATER: Final = (
    "UPDATE t SET tick = tick + 1 WHERE id = 2",
    "DELETE FROM t WHERE id = 3",
    "INSERT INTO t (id) VALUES (8)",
)
_NARROW: Final = (
    f"CREATE TABLE t ({HEAD}, v VARCHAR(20), n INT)",
    "INSERT INTO t VALUES (1, 0, 'Ж', 7), (2, 0, 'two', NULL), (3, 0, NULL, -3)",
)


@dataclass(frozen=True, slots=True)
class Change:
    """Statements over the table `t`, in a database of their own."""

    group: str
    statements: tuple[str, ...]
    before: tuple[str, ...] = _NARROW
    # What the source does with the rows afterwards.
    later: tuple[str, ...] = LATER
    mode: str = STRICT

    @property
    def key(self) -> str:
        """What no other change has: titles are those of statements over other tables, too."""
        return f"{self.group}: {self.title}"

    @property
    def title(self) -> str:
        """What the page shows."""
        text = "; ".join(self.statements)
        if self.mode != STRICT:
            text += ", outside strict mode"
        return text if self.later else f"{text}, and no row after it"


def of(group: str, *statements: str, later: tuple[str, ...] = LATER) -> Change:
    """A change of the narrow table."""
    return Change(group, statements, later=later)


def table(columns: str, *rows: str) -> tuple[str, ...]:
    """Statements that create another table `t`."""
    inserts = (f"INSERT INTO t VALUES {', '.join(rows)}",) if rows else ()
    return (f"CREATE TABLE t {columns}", *inserts)
