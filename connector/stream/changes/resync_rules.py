"""The rules by which ALTER TABLE keeps the rows of consumers, or the table is copied again.

Consumers know rows by the names and types of the newest published column list. A clause keeps the
rows if it is in the list below. After any other clause the table is copied again: the server may
have converted or replaced values, and it writes no row events about that.

*Names.* A column that is renamed, or added under a name that a column has had before, has values
that consumers have under another name, or not at all.

*Types.* A new definition of a column must keep each of its values, in the form that consumers
have.

*Modes.* Outside strict mode, MODIFY can change values that do not fit, and a rebuild with
NO_ZERO_DATE or NO_ZERO_IN_DATE turns partial dates into zeros.

*Copies of online schema changes.* The tools fill them with INSERT IGNORE, which skips rows that a
new condition refuses, and never is strict.

https://dev.mysql.com/doc/refman/8.4/en/alter-table.html
https://mariadb.com/kb/en/alter-table/
"""

from typing import Final, final

from connector.binlog.events import status_variables
from connector.binlog.sql_text import Token
from connector.foundation.contract import INTEGER_TYPES, SchemaColumn
from connector.stream.changes import alter_table
from connector.stream.changes.column_defaults import DefaultKind, added_column, is_value_certain
from connector.stream.changes.column_lists import KnownColumns

# Types without parameters; FLOAT and DOUBLE with digits round.
_WITHOUT_PARAMETERS: Final = ("float", "double", "date", "year")
_WITH_FRACTION: Final = ("time", "datetime", "timestamp")
_DEFAULT_DIGITS: Final = 10


def keeps_values(
    old: SchemaColumn, new: alter_table.ColumnDefinition, mode: int, *, strict: bool
) -> bool:
    """Return whether every value of `old` is the same in `new`, in records too.

    Without `strict`, a value that does not fit becomes another one instead of an error.
    """
    if new.auto_increment and (
        old["nullable"] or not mode & status_variables.NO_AUTO_VALUE_ON_ZERO
    ):
        # NULL gets a number, and so does 0.
        return False
    # NULL becomes an error or zero; in TIMESTAMP, which can be NOT NULL by itself, the time.
    changes_null = (new.not_null and not strict) or new.kind == "timestamp"
    if old["nullable"] and not new.null and changes_null:
        return False
    return _keeps_type(old, new)


def _keeps_type(old: SchemaColumn, new: alter_table.ColumnDefinition) -> bool:
    kind = new.kind
    if kind in ("enum", "set"):
        labels, known = new.labels, old.get("labels")
        return (
            old["type"] == kind
            and not new.named_charset
            and labels is not None
            and known is not None
            and labels[: len(known)] == known
        )
    numbers = new.numbers
    if numbers is None or new.named_charset:
        return False
    if kind in INTEGER_TYPES:
        return _keeps_integer(old, new)
    if old["type"] != kind:
        return False
    if kind == "decimal":
        return _keeps_decimal(old, new, numbers)
    if kind in _WITHOUT_PARAMETERS:
        # YEAR(4) is YEAR.
        same_sign = old.get("unsigned", False) == new.unsigned or kind == "year"
        return same_sign and (not numbers or kind == "year")
    if kind in _WITH_FRACTION:
        return old.get("fraction", 0) == (numbers[0] if numbers else 0)
    length = numbers[0] if numbers else 1
    if kind in ("binary", "bit"):
        return old.get("length") == length
    return kind == "varbinary" and old.get("length", length + 1) <= length


def _keeps_integer(old: SchemaColumn, new: alter_table.ColumnDefinition) -> bool:
    before = old["type"]
    if before not in INTEGER_TYPES or old.get("unsigned", False) != new.unsigned:
        return False
    if new.unsigned and new.kind == "bigint" and before != "bigint":
        # In records, BIGINT UNSIGNED is a string.
        return False
    return INTEGER_TYPES.index(before) <= INTEGER_TYPES.index(new.kind)


def _keeps_decimal(
    old: SchemaColumn, new: alter_table.ColumnDefinition, numbers: list[int]
) -> bool:
    precision = numbers[0] if numbers else _DEFAULT_DIGITS
    scale = numbers[1] if len(numbers) > 1 else 0
    return (
        old.get("unsigned", False) == new.unsigned
        and old.get("scale") == scale
        and old.get("precision", precision + 1) <= precision
    )


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


def unsafe_clause(
    tokens: list[Token], columns: KnownColumns | None, mode: int, *, by_tool: bool = False
) -> str:
    """Return the first clause of ALTER TABLE that may change what consumers have, "" if none.

    `columns` is what they know of the table, None if that is not certain; `mode` is the sql_mode of
    the session. With `by_tool`, the table is the copy that a tool fills with the rows.
    """
    clauses = alter_table.alter_clauses(tokens)
    if not clauses or (columns is not None and columns.nothing and not by_tool):
        return ""
    if mode & status_variables.NO_BACKSLASH_ESCAPES and any("\\" in token.text for token in tokens):
        # If the log does not say the mode, tokens may end elsewhere.
        return alter_table.clause_name(clauses[0])
    if not by_tool and may_zero_dates(columns, mode):
        return f"{alter_table.clause_name(clauses[0])} outside strict mode"
    judge = _ClauseRules(columns, mode, by_tool=by_tool)
    ordered = False
    for clause in clauses:
        if ordered and _continues_order(clause):
            continue
        if not judge.keeps(clause):
            return alter_table.clause_name(clause)
        ordered = clause[0].is_word("ORDER")
    return ""


def may_zero_dates(columns: KnownColumns | None, mode: int) -> bool:
    """Return whether a rebuild of a table can turn its partial dates into zeros."""
    return status_variables.zeroes_dates(mode) and (columns is None or columns.has_dates)


@final
class _ClauseRules:
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
        return (verb == "FORCE" and not rest) or alter_table.is_descriptive_option(clause)

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
            return all(self._adds_part(part) for part in alter_table.split(rest[at + 1 : -1]))
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
        definition = alter_table.read_definition(described[1:])
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
        if (
            columns is None
            or at >= len(rest)
            or alter_table.skip_words(rest, at + 1, *_DROP_ENDS) < len(rest)
        ):
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
        strict = status_variables.is_strict(self._mode)
        if columns is None or not (strict or self._by_tool):
            return False
        old = columns.column(name)
        definition = alter_table.read_definition(described)
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
    return alter_table.skip_words(rest, 0, "COLUMN", "IF", "NOT", "EXISTS")


def _names_vector_index(rest: list[Token]) -> bool:
    return len(rest) > 1 and rest[0].is_word("VECTOR") and rest[1].is_word("INDEX", "KEY")


def _continues_order(clause: list[Token]) -> bool:
    """Return whether the clause is another column of ORDER BY."""
    if len(clause) > 1 and clause[-1].is_word("ASC", "DESC"):
        clause = clause[:-1]
    return len(clause) == 1 and clause[0].is_name
