"""The text of a QUERY event becomes a kind of statement and the tables it names.

A ROW-format log holds SQL text only for transaction control and for DDL; anything else is a
change that was logged as a statement, which cannot be turned into rows. Only as much SQL is
understood as is needed to tell these apart: the tokens, the leading verb, the table names and,
for ALTER TABLE, the columns that are added.

https://dev.mysql.com/doc/refman/8.4/en/comments.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

# Version comments (`/*! … */`, MariaDB `/*M! … */`) are code; their markers are dropped and their
# content stays. `#` and `-- ` comments and plain block comments are dropped whole.
_TOKEN = re.compile(
    r"""
    (?P<space>\s+|\#[^\n]*|--(?=\s|$)[^\n]*|/\*M?!\d*|\*/|/\*.*?\*/)
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<string>[xXbB]?'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
  | (?P<word>\d+\.\d+(?![A-Za-z_$])|[A-Za-z0-9_$@\u0080-\U0010ffff]+)
  | (?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class StatementKind(Enum):
    """What a QUERY event does, as far as the stream is concerned."""

    BEGIN = "BEGIN"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"
    SAVEPOINT = "SAVEPOINT"
    ROLLBACK_TO = "ROLLBACK TO SAVEPOINT"
    XA = "XA"
    ALTER_TABLE = "ALTER TABLE"
    TRUNCATE = "TRUNCATE TABLE"
    DROP_TABLE = "DROP TABLE"
    RENAME_TABLE = "RENAME TABLE"
    DROP_DATABASE = "DROP DATABASE"
    DML = "DML"
    OTHER = "OTHER"


@dataclass(slots=True)
class Token:
    """One word, identifier, string or mark of a statement."""

    text: str  # as written; identifiers without their backticks
    kind: str  # "word", "quoted", "string" or "mark"

    @property
    def is_name(self) -> bool:
        """Whether this can name a table: a word, `quoted`, or "quoted" under ANSI_QUOTES."""
        return self.kind in ("word", "quoted") or self.text.startswith('"')

    @property
    def name(self) -> str:
        """The identifier without quotes of any kind."""
        if self.kind == "string":
            return self.text[1:-1].replace('""', '"')
        return self.text

    def is_word(self, *words: str) -> bool:
        """Return whether this is one of the unquoted `words` (upper case)."""
        return self.kind == "word" and self.text.upper() in words


@dataclass(slots=True)
class Statement:
    """A classified statement; `tables` are (database, table), database "" for the current one."""

    kind: StatementKind
    verb: str
    tables: list[tuple[str, str]] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    renames: bool = False  # ALTER TABLE … RENAME TO
    replaces_rows: str = ""  # the clause of ALTER TABLE that does, such as DROP PARTITION


_DML_VERBS = frozenset(
    {"INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CALL", "SELECT", "DO", "WITH", "HANDLER"}
)


def classify(query: str) -> Statement:
    """Return the kind of `query` and the tables that it names."""
    # The most frequent statement by far; nothing else needs to be looked at.
    if query == "BEGIN":
        return Statement(StatementKind.BEGIN, "BEGIN")
    tokens = tokenize(query)
    verb = tokens[0].text.upper() if tokens else ""
    simple = {"BEGIN": StatementKind.BEGIN, "COMMIT": StatementKind.COMMIT, "XA": StatementKind.XA}
    if verb in simple:
        return Statement(simple[verb], verb)
    if verb == "START" and len(tokens) > 1 and tokens[1].is_word("TRANSACTION"):
        return Statement(StatementKind.BEGIN, verb)
    if verb == "ROLLBACK":
        to_savepoint = any(token.is_word("TO") for token in tokens[1:])
        return Statement(
            StatementKind.ROLLBACK_TO if to_savepoint else StatementKind.ROLLBACK, verb
        )
    if verb in ("SAVEPOINT", "RELEASE"):
        return Statement(StatementKind.SAVEPOINT, verb)
    if verb in _DML_VERBS:
        return Statement(StatementKind.DML, verb)
    return _classify_ddl(verb, tokens)


def _classify_ddl(verb: str, tokens: list[Token]) -> Statement:
    # Words that may stand between the verb and TABLE: DROP TEMPORARY TABLE touches no table
    # that is followed.
    words = [token.text.upper() for token in tokens[1:4] if token.kind == "word"]
    if "TEMPORARY" in words:
        return Statement(StatementKind.OTHER, verb)
    place = next(
        (n for n, token in enumerate(tokens[:5]) if token.is_word("TABLE", "TABLES")), None
    )
    if verb == "TRUNCATE":
        start = 1 if place is None else place + 1
        return Statement(StatementKind.TRUNCATE, verb, _table_names(tokens, start)[:1])
    if verb == "DROP" and len(tokens) > 1 and tokens[1].is_word("DATABASE", "SCHEMA"):
        name = next((t.name for t in tokens[2:] if not t.is_word("IF", "EXISTS")), "")
        return Statement(StatementKind.DROP_DATABASE, verb, [(name, "")])
    replaces_table = verb == "CREATE" and words[:2] == ["OR", "REPLACE"]
    if place is None or not (replaces_table or verb in ("DROP", "RENAME", "ALTER")):
        return Statement(StatementKind.OTHER, verb)
    names = _table_names(tokens, place + 1)
    if replaces_table:
        return Statement(StatementKind.DROP_TABLE, verb, names[:1])
    if verb == "DROP":
        return Statement(StatementKind.DROP_TABLE, verb, names)
    if verb == "RENAME":
        return Statement(StatementKind.RENAME_TABLE, verb, names)
    return Statement(
        StatementKind.ALTER_TABLE,
        verb,
        names[:1],
        tokens,
        renames=_renames_table(tokens),
        replaces_rows=_row_replacing_clause(tokens),
    )


def named_tables(query: str) -> list[tuple[str, str]]:
    """Return the tables that `query` names: those of `classify`, and the one that it creates."""
    statement = classify(query)
    if statement.tables or statement.verb != "CREATE":
        return statement.tables
    tokens = tokenize(query)
    place = next((n for n, token in enumerate(tokens[:5]) if token.is_word("TABLE")), None)
    return [] if place is None else _table_names(tokens, place + 1)[:1]


def _row_replacing_clause(tokens: list[Token]) -> str:
    for token, following in pairwise(tokens):
        if token.is_word("DROP", "TRUNCATE", "EXCHANGE") and following.is_word("PARTITION"):
            return f"{token.text.upper()} PARTITION"
        if token.is_word("DISCARD", "IMPORT") and following.is_word("TABLESPACE", "PARTITION"):
            return f"{token.text.upper()} TABLESPACE"
    return ""


def _renames_table(tokens: list[Token]) -> bool:
    """Return whether ALTER TABLE holds RENAME [TO|AS] name (not RENAME COLUMN, INDEX or KEY)."""
    return any(
        token.is_word("RENAME") and not following.is_word("COLUMN", "INDEX", "KEY")
        for token, following in pairwise(tokens)
    )


def _table_names(tokens: list[Token], start: int) -> list[tuple[str, str]]:
    """Return the names in `[IF [NOT] EXISTS] name[.name] {, | TO} …` from `start` on."""
    names: list[tuple[str, str]] = []
    parts: list[str] = []
    expects_name = True
    for token in tokens[start:]:
        if token.is_word("IF", "NOT", "EXISTS") and not parts:
            continue
        if token.kind == "mark" and token.text == ".":
            expects_name = True
        elif (token.kind == "mark" and token.text == ",") or token.is_word("TO"):
            _take_name(names, parts)
            expects_name = True
        elif expects_name and token.is_name:
            parts.append(token.name)
            expects_name = False
        else:
            break
    _take_name(names, parts)
    return names


def _take_name(names: list[tuple[str, str]], parts: list[str]) -> None:
    if parts:
        names.append((parts[-2] if len(parts) > 1 else "", parts[-1]))
        parts.clear()


def tokenize(query: str) -> list[Token]:
    """Return the tokens of `query` without comments and white space.

    A `database.table` written without quotes comes as three tokens, like a quoted one.
    """
    tokens: list[Token] = []
    for match in _TOKEN.finditer(query):
        kind = match.lastgroup or "mark"
        text = match.group()
        if kind == "space":
            continue
        if kind == "quoted":
            text = text[1:-1].replace("``", "`")
        tokens.append(Token(text, kind))
    return tokens
