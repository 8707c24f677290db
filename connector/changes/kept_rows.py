"""Which ALTER TABLE keeps the rows that consumers have.

Consumers know rows by the names and types of the newest published column list. A clause keeps the
rows if it is in the list below. After any other clause the table is copied again: the server may
have converted or replaced values, and it writes no row events about that.

*Names.* A column that is renamed, or added under a name that a column has had before, has values
that consumers have under another name, or not at all.

*Modes.* Outside strict mode, MODIFY can change values that do not fit, and a rebuild with
NO_ZERO_DATE or NO_ZERO_IN_DATE turns partial dates into zeros.

*Copies of online schema changes.* The tools fill them with INSERT IGNORE, which skips rows that a
new condition refuses, and never is strict.

https://dev.mysql.com/doc/refman/8.4/en/alter-table.html
https://mariadb.com/kb/en/alter-table/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.changes.added_columns import DefaultKind, added_column
from connector.changes.added_value import is_value_certain
from connector.changes.alter_table import alter_clauses, clause_name, skip_words, split
from connector.changes.column_definition import read_definition
from connector.changes.kept_column import keeps_values
from connector.changes.sql_mode import NO_BACKSLASH_ESCAPES, is_strict, zeroes_dates
from connector.changes.table_options import only_describes

if TYPE_CHECKING:
    from connector.changes.known_columns import KnownColumns
    from connector.changes.tokens import Token

_INDEXES: Final = ("INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL")
_CONDITIONS: Final = ("CHECK", "FOREIGN", "CONSTRAINT")
_KEPT_PARTITIONS: Final = (
    "ADD", "ANALYZE", "CHECK", "COALESCE", "OPTIMIZE", "REBUILD", "REORGANIZE"
)  # fmt: skip
# Clauses of two words, the second one a choice.
_PAIRS: Final[dict[str, tuple[str, ...]]] = {
    "ENABLE": ("KEYS",),
    "DISABLE": ("KEYS",),
    "WITH": ("VALIDATION",),
    "WITHOUT": ("VALIDATION",),
    "ORDER": ("BY",),
    "REMOVE": ("PARTITIONING",),
}
_SET_OF_COLUMN: Final = ("DEFAULT", "VISIBLE", "INVISIBLE")
_PRIMARY: Final = "PRIMARY"


def unproven_clause(
    tokens: list[Token], columns: KnownColumns | None, mode: int, *, by_tool: bool = False
) -> str:
    """Return the first clause of ALTER TABLE that may change what consumers have, "" if none.

    `columns` is what they know of the table, None if that is not certain; `mode` is the sql_mode of
    the session. With `by_tool`, the table is the copy that a tool fills with the rows.
    """
    clauses = alter_clauses(tokens)
    if not clauses or (columns is not None and columns.nothing and not by_tool):
        return ""
    if mode & NO_BACKSLASH_ESCAPES and any("\\" in token.text for token in tokens):
        # The tokens end elsewhere.
        return clause_name(clauses[0])
    if not by_tool and may_zero_dates(columns, mode):
        return f"{clause_name(clauses[0])} outside strict mode"
    judge = _Judge(columns, mode, by_tool=by_tool)
    ordered = False
    for clause in clauses:
        if ordered and _continues_order(clause):
            continue
        if not judge.keeps(clause):
            return clause_name(clause)
        ordered = clause[0].is_word("ORDER")
    return ""


def may_zero_dates(columns: KnownColumns | None, mode: int) -> bool:
    """Return whether a rebuild of a table can turn its partial dates into zeros."""
    return zeroes_dates(mode) and (columns is None or columns.has_dates)


@final
class _Judge:
    """Decides on the clauses of one statement."""

    def __init__(self, columns: KnownColumns | None, mode: int, *, by_tool: bool) -> None:
        self._columns = columns
        self._mode = mode
        self._by_tool = by_tool

    def keeps(self, clause: list[Token]) -> bool:
        """Return whether the clause keeps the rows."""
        verb = clause[0].text.upper() if clause[0].kind == "word" else ""
        rest = clause[1:]
        if rest and verb in _KEPT_PARTITIONS and rest[0].is_word("PARTITION"):
            return not self._by_tool
        if verb == "ADD":
            return self._adds(rest)
        if verb == "DROP":
            return self._drops(rest)
        if verb == "MODIFY":
            at = _column_at(rest)
            return at < len(rest) and self._modifies(rest[at].name, rest[at + 1 :])
        if verb == "CHANGE":
            return self._changes(rest)
        if verb == "ALTER":
            return self._alters(rest)
        if verb == "RENAME":
            # A new name of the table is a change of its own.
            return bool(rest) and not rest[0].is_word("COLUMN")
        if verb == "PARTITION":
            # The copy of a tool would lose rows that fit into no partition.
            return bool(rest) and rest[0].is_word("BY") and not self._by_tool
        if verb in _PAIRS:
            return bool(rest) and rest[0].is_word(*_PAIRS[verb])
        return (verb == "FORCE" and not rest) or only_describes(clause)

    def _adds(self, rest: list[Token]) -> bool:
        if not rest:
            return False
        if rest[0].is_word(*_INDEXES) or _names_vector_index(rest):
            return True
        if rest[0].is_word(*_CONDITIONS):
            return not self._by_tool and not any(token.is_word(_PRIMARY) for token in rest[:3])
        at = _column_at(rest)
        if at >= len(rest):
            return False
        if rest[at].text == "(" and rest[at].kind == "mark":
            return all(self._adds_part(part) for part in split(rest[at + 1 : -1]))
        return self._adds_column(rest[at:])

    def _adds_part(self, part: list[Token]) -> bool:
        """Decide on a column or an index between the parentheses of ADD."""
        if part[0].is_word(*_INDEXES) or part[0].is_word(*_CONDITIONS):
            return self._adds(part)
        return self._adds_column(part)

    def _adds_column(self, described: list[Token]) -> bool:
        columns = self._columns
        name = described[0]
        if not name.is_name or columns is None or columns.uses(name.name):
            return False
        definition = read_definition(described[1:])
        if definition is None or definition.auto_increment:
            return False
        if definition.checked and self._by_tool:
            return False
        # The time does not matter here, except for tools: they copy each row at another time.
        added = added_column(described, 0)
        if added.default is DefaultKind.NOW and self._by_tool:
            return False
        return is_value_certain(added, definition, self._mode)

    def _drops(self, rest: list[Token]) -> bool:
        if not rest:
            return False
        if rest[0].is_word("FOREIGN", "CHECK"):
            return True
        if rest[0].is_word("INDEX", "KEY", "CONSTRAINT"):
            # The primary key is the index PRIMARY.
            return rest[-1].name.upper() != _PRIMARY
        if rest[0].is_word(_PRIMARY, "PARTITION", "SYSTEM", "PERIOD"):
            return False
        at = _column_at(rest)
        columns = self._columns
        if columns is None or at >= len(rest) or skip_words(rest, at + 1, *_DROP_ENDS) < len(rest):
            return False
        column = columns.column(rest[at].name)
        return column is None or not column["key"]

    def _changes(self, rest: list[Token]) -> bool:
        at = _column_at(rest)
        if at + 1 >= len(rest) or rest[at].name != rest[at + 1].name:
            return False
        return self._modifies(rest[at].name, rest[at + 2 :])

    def _modifies(self, name: str, described: list[Token]) -> bool:
        columns = self._columns
        strict = is_strict(self._mode)
        if columns is None or not (strict or self._by_tool):
            return False
        old = columns.column(name)
        definition = read_definition(described)
        # Consumers know the name as it was written.
        if old is None or old["name"] != name or definition is None:
            return False
        if definition.checked and self._by_tool:
            return False
        return keeps_values(old, definition, self._mode, strict=strict and not self._by_tool)

    def _alters(self, rest: list[Token]) -> bool:
        if not rest:
            return False
        if rest[0].is_word("INDEX", "KEY"):
            return True
        if rest[0].is_word("CHECK", "CONSTRAINT"):
            return not self._by_tool
        at = _column_at(rest) + 1
        if at + 1 >= len(rest):
            return False
        verb, what = rest[at], rest[at + 1]
        return (verb.is_word("SET") and what.is_word(*_SET_OF_COLUMN)) or (
            verb.is_word("DROP") and what.is_word("DEFAULT")
        )


_DROP_ENDS: Final = ("RESTRICT", "CASCADE")


def _column_at(rest: list[Token]) -> int:
    """Return the index of the column's name after `[COLUMN] [IF [NOT] EXISTS]`."""
    return skip_words(rest, 0, "COLUMN", "IF", "NOT", "EXISTS")


def _names_vector_index(rest: list[Token]) -> bool:
    return len(rest) > 1 and rest[0].is_word("VECTOR") and rest[1].is_word("INDEX", "KEY")


def _continues_order(clause: list[Token]) -> bool:
    """Return whether the clause is another column of ORDER BY."""
    if len(clause) > 1 and clause[-1].is_word("ASC", "DESC"):
        clause = clause[:-1]
    return len(clause) == 1 and clause[0].is_name
