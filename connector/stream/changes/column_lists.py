"""The column list of a table as consumers know it, and how ALTER TABLE edits it.

Consumers learn a column list from the first row that has it. A table may have no row after ADD
COLUMN or DROP COLUMN, so the list is taken from the statement itself where that says it all. What
depends on anything else (defaults of the server, session or table) is left to the next row.
`PublishedColumns` is the interface to what consumers know; the envelope implements it.

*Types of text.* The log does not say the default character set of a table. So a column gets
neither character set nor length from its statement. If the default is `binary`, the column has
bytes; a table with a column of text counts as one whose default is another one.

*Keys.* Servers take a unique index without NULL as the key of a table without a primary key. So a
statement with such an index determines nothing, nor does DROP COLUMN on a table without a key.

*Hidden columns* of MariaDB stay the last ones: those of versions, and of long unique indexes.

https://dev.mysql.com/doc/refman/8.4/en/alter-table.html
https://mariadb.com/kb/en/alter-table/
"""

from collections.abc import Iterable
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from connector.binlog.events.query import QueryEvent
from connector.binlog.events.status_variables import has_other_types
from connector.binlog.sql_text import Token
from connector.binlog.statement import THREAD_SPECIFIC, Statement, StatementKind
from connector.foundation.contract import INTEGER_TYPES, SchemaColumn
from connector.stream.changes import alter_table

# A rebuild outside strict mode can turn partial dates of these types into zeros.
_DATES: Final = ("date", "datetime", "timestamp")


@final
class KnownColumns:
    """The columns of the rows that consumers have, and names that no new column can have."""

    def __init__(self, columns: Iterable[SchemaColumn] = (), taken: Iterable[str] = ()) -> None:
        """Know `columns`.

        `taken` are names of columns that have had no row since ADD COLUMN, or that earlier rows
        have: consumers could take those for columns that are added under these names.
        """
        # Names compare without case, as on the servers.
        self._columns = {column["name"].lower(): column for column in columns}
        self._taken = frozenset(name.lower() for name in taken)

    @property
    def nothing(self) -> bool:
        """Whether consumers have no rows of the table, so that no change can make them wrong."""
        return not self._columns

    @property
    def has_dates(self) -> bool:
        """Whether a column can hold a partial date."""
        return any(column["type"] in _DATES for column in self._columns.values())

    def column(self, name: str) -> SchemaColumn | None:
        """Return the column that consumers know under `name`."""
        return self._columns.get(name.lower())

    def uses(self, name: str) -> bool:
        """Return whether a column has, or has had, this name."""
        return name.lower() in self._columns or name.lower() in self._taken


@mypyc_attr(allow_interpreted_subclasses=True)
class PublishedColumns:
    """The columns that consumers know, for each table; this base class knows none."""

    def known(self, database: str, table: str) -> KnownColumns | None:
        """Return what consumers know of a table; None if it is not certain."""
        del database, table
        return None


_TEXTS: Final = ("char", "varchar", "text")
_INDEXES: Final = ("INDEX", "KEY")
# Words after DROP if it does not drop a column.
_NOT_A_COLUMN: Final = (
    "INDEX", "KEY", "PRIMARY", "FOREIGN", "CHECK", "CONSTRAINT", "PARTITION", "PERIOD", "SYSTEM"
)  # fmt: skip
_DESCRIPTIONS: Final = ("ALGORITHM", "LOCK", "COMMENT")
# A key, another type, or another form in the log.
_OTHERWISE: Final = ("UNIQUE", "BINARY", "BYTE", "COMPRESSED")
# Longer ones can become TEXT or BLOB outside strict mode.
_LENGTHS_MAX: Final = {"char": 255, "varchar": 16_383, "binary": 255, "varbinary": 65_535}
_WITHOUT_FACTS: Final = ("text", "blob", "date", "year", "geometry")
_OF_VERSIONS: Final = ("row_start", "row_end")
_OF_LONG_INDEX: Final = "db_row_hash_"
_VERSION_COMMENTS: Final = ("/*!", "/*M!")
_DIGITS: Final = 10


@final
class ColumnAddition:
    """A column that a statement adds, and where."""

    __slots__ = ("after", "column", "is_text", "moves")

    def __init__(self, column: SchemaColumn, *, is_text: bool, moves: bool, after: str) -> None:
        """The column is the last one unless it `moves`: after the column `after`, or to the front.

        `is_text` says that its type holds for text, with the default character set of the table.
        """
        self.column = column
        self.is_text = is_text
        self.moves = moves
        self.after = after


@final
class ColumnListEdits:
    """What a statement does to a column list."""

    __slots__ = ("added", "dropped")

    def __init__(self) -> None:
        self.dropped: list[str] = []
        self.added: list[ColumnAddition] = []

    def applied(self, columns: list[SchemaColumn]) -> list[SchemaColumn] | None:
        """Return the list that `columns` become; None if that is not certain."""
        has_text = any(column["type"] in _TEXTS for column in columns)
        if any(_is_hidden(column["name"].lower()) for column in columns):
            return None
        if self.dropped and not any(column["key"] for column in columns):
            return None
        edited = list(columns)
        for name in self.dropped:
            at = _index(edited, name)
            if at < 0 or edited[at]["key"]:
                return None
            del edited[at]
        for added in self.added:
            if _index(edited, added.column["name"]) >= 0 or (added.is_text and not has_text):
                return None
            at = len(edited)
            if added.moves:
                before = _index(edited, added.after) if added.after else -1
                if added.after and before < 0:
                    return None
                at = before + 1
            edited.insert(at, added.column)
        return edited


def column_list_edits(
    statement: Statement, body: QueryEvent, flags: i64, *, is_mariadb: bool
) -> ColumnListEdits | None:
    """Return what ALTER TABLE does to the table's column list; None if that is not certain.

    `flags` are those of the event with the `body`.
    """
    if statement.kind is not StatementKind.ALTER_TABLE or statement.renames:
        return None
    if body.error_code or flags & THREAD_SPECIFIC:
        return None
    mode = body.status_variables.sql_mode
    if mode is None or has_other_types(mode):
        return None
    if any(mark in body.query for mark in _VERSION_COMMENTS):
        # The version of the server decides whether that is code.
        return None
    edits = ColumnListEdits()
    clauses = alter_table.alter_clauses(statement.tokens)
    for clause in clauses:
        if not _takes(edits, clause, is_mariadb=is_mariadb):
            return None
    return edits if clauses else None


def _takes(edits: ColumnListEdits, clause: list[Token], *, is_mariadb: bool) -> bool:
    """Add the edits of a clause; return whether they are certain."""
    rest = clause[1:]
    if clause[0].is_word(*_DESCRIPTIONS):
        return alter_table.is_descriptive_option(clause)
    if not rest or not clause[0].is_word("ADD", "DROP"):
        return False
    at = alter_table.skip_words(rest, 0, "COLUMN", "IF", "NOT", "EXISTS")
    if at >= len(rest):
        return False
    if clause[0].is_word("DROP"):
        if rest[0].is_word(*_NOT_A_COLUMN) or not rest[at].is_name:
            return False
        edits.dropped.append(rest[at].name)
        return alter_table.skip_words(rest, at + 1, "RESTRICT", "CASCADE") == len(rest)
    parts = [rest[at:]]
    if rest[at].kind == "mark":
        parts = alter_table.split(rest[at + 1 : -1])
    for part in parts:
        if part[0].is_word(*_INDEXES):
            continue
        added = _added(part, is_mariadb=is_mariadb)
        if added is None:
            return False
        edits.added.append(added)
    return True


def _added(described: list[Token], *, is_mariadb: bool) -> ColumnAddition | None:
    """Return the column of a definition that begins with its name; None if it is not certain."""
    name = described[0]
    definition = alter_table.read_definition(described[1:])
    if not name.is_name or not name.name.isascii() or definition is None:
        return None
    for token in described[2:]:
        if token.text.strip("'\"").upper() in _OTHERWISE:
            return None
    # REAL is FLOAT in a mode.
    if described[1].is_word("REAL") or (is_mariadb and definition.kind == "json"):
        return None
    column = _column(name.name, definition)
    if column is None:
        return None
    is_text = definition.kind in _TEXTS and not definition.named_charset
    if described[-1].is_word("FIRST"):
        return ColumnAddition(column, is_text=is_text, moves=True, after="")
    if described[-2].is_word("AFTER"):
        return ColumnAddition(column, is_text=is_text, moves=True, after=described[-1].name)
    return ColumnAddition(column, is_text=is_text, moves=False, after="")


def _column(name: str, definition: alter_table.ColumnDefinition) -> SchemaColumn | None:
    """Return the description of a column for consumers."""
    kind = definition.kind
    if definition.auto_increment:
        return None
    if kind == "timestamp" and not definition.null and not definition.not_null:
        # A setting of the server decides.
        return None
    column: SchemaColumn = {
        "name": name,
        "type": kind,
        "nullable": not definition.not_null,
        "key": 0,
    }
    if kind in ("enum", "set"):
        labels = definition.labels
        if labels is None or any(label.endswith(" ") for label in labels):
            return None
        column["labels"] = labels
        return column
    numbers = definition.numbers
    if numbers is None:
        return None
    return column if _describes(column, kind, numbers, unsigned=definition.unsigned) else None


def _describes(column: SchemaColumn, kind: str, numbers: list[int], *, unsigned: bool) -> bool:
    """Add the facts of a type with `numbers` in parentheses; return whether they are certain."""
    first = numbers[0] if numbers else -1
    if kind in INTEGER_TYPES:
        column["unsigned"] = unsigned
    elif kind in ("float", "double"):
        # FLOAT(30) is DOUBLE.
        column["unsigned"] = unsigned
        return len(numbers) != 1
    elif kind == "decimal":
        column["unsigned"] = unsigned
        column["precision"] = first if first > 0 else _DIGITS
        column["scale"] = numbers[1] if len(numbers) > 1 else 0
    elif kind in ("time", "datetime", "timestamp"):
        column["fraction"] = max(first, 0)
    elif kind == "bit":
        column["length"] = first if numbers else 1
        return column["length"] > 0
    elif kind in _LENGTHS_MAX:
        if kind in ("binary", "varbinary"):
            column["length"] = first if numbers else 1
        return first <= _LENGTHS_MAX[kind]
    elif kind == "json":
        return True
    else:
        return kind in _WITHOUT_FACTS
    return True


def _is_hidden(name: str) -> bool:
    return name in _OF_VERSIONS or name.startswith(_OF_LONG_INDEX)


def _index(columns: list[SchemaColumn], name: str) -> int:
    """Return the index of a column; -1 if there is none. Names compare without case."""
    for at, column in enumerate(columns):
        if column["name"].lower() == name.lower():
            return at
    return -1
