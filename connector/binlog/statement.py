"""A statement of a QUERY event: its kind, and the tables that it names.

A ROW-format log holds SQL text only for transaction control and for DDL. Any other text is a change
that was logged as a statement, which cannot be turned into rows. Only as much SQL is parsed as is
needed to distinguish these: the tokens, the leading verb, the table names and renames.

*Temporary tables* are seen by their session alone, and hide tables of the same name there. In row
format, their rows and most statements on them are not logged; these are:

- `RENAME TABLE` of MariaDB, in each format, without a sign of it. MySQL renames no temporary table.
- In statement and mixed format, ALTER TABLE, TRUNCATE and CREATE or DROP INDEX, with a flag. This
  flag says that the statement depends on its session, so an expression with CONNECTION_ID() in a
  column of another table sets it, too.

Only the server knows what such a statement did to the tables of these names. CREATE TEMPORARY and
DROP TEMPORARY name themselves, and the server logs one DROP TABLE for each kind.

https://dev.mysql.com/doc/refman/8.4/en/sql-statements.html
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain, islice, pairwise
from typing import Final

from connector.binlog import sql_text
from connector.binlog.events.query import QueryEvent, client_charset
from connector.binlog.events.status_variables import ANSI_QUOTES, NO_BACKSLASH_ESCAPES
from connector.binlog.sql_text import SessionSyntax, Token


class StatementKind(Enum):
    """The effect of a QUERY event on the stream."""

    BEGIN = "BEGIN"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"
    SAVEPOINT = "SAVEPOINT"
    ROLLBACK_TO = "ROLLBACK TO SAVEPOINT"
    XA = "XA"
    ALTER_TABLE = "ALTER TABLE"
    TRUNCATE = "TRUNCATE TABLE"
    CREATE_TABLE = "CREATE TABLE"
    DROP_TABLE = "DROP TABLE"
    RENAME_TABLE = "RENAME TABLE"
    CREATE_DATABASE = "CREATE DATABASE"
    DROP_DATABASE = "DROP DATABASE"
    INDEX = "INDEX"  # CREATE INDEX, DROP INDEX
    CREATE_TRIGGER = "CREATE TRIGGER"
    DROP_TRIGGER = "DROP TRIGGER"
    DML = "DML"
    OTHER = "OTHER"

    @property
    def ends_tables(self) -> bool:
        """Whether the names have no table afterwards, unless another statement follows."""
        return self in (
            StatementKind.DROP_TABLE,
            StatementKind.DROP_DATABASE,
            StatementKind.RENAME_TABLE,
        )

    @property
    def empties_tables(self) -> bool:
        """Whether the names have no rows afterwards."""
        return self is StatementKind.TRUNCATE or self.ends_tables

    @property
    def changes_columns(self) -> bool:
        """Whether the names can have other columns afterwards."""
        return self.ends_tables or self in (
            StatementKind.ALTER_TABLE,
            StatementKind.CREATE_TABLE,
            StatementKind.INDEX,
            StatementKind.DML,  # CREATE TABLE … SELECT; others name no table
        )


@dataclass(slots=True)
class Statement:
    """A classified statement; `tables` are (database, table), database "" for the current one."""

    kind: StatementKind
    verb: str
    tables: list[sql_text.TableName] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)  # of ALTER TABLE
    # Old and new names, in the order in which they take effect.
    renames: list[tuple[sql_text.TableName, sql_text.TableName]] = field(default_factory=list)
    replaces_rows: str = ""  # the clause of ALTER TABLE with this effect, such as DROP PARTITION
    trigger: str = ""  # the name in CREATE TRIGGER and DROP TRIGGER
    savepoint: str = ""  # the savepoint that is set, or rolled back to
    xa_phase: str = ""  # the word after XA, such as START

    def resolve(self, database: str, *, lower_case: bool) -> None:
        """Put names without a database into `database`, the session's current one.

        With `lower_case` the names become lower case, as on the server.
        """

        def resolved(name: sql_text.TableName) -> sql_text.TableName:
            schema, table = name[0] or database, name[1]
            return (schema.lower(), table.lower()) if lower_case else (schema, table)

        self.tables = [resolved(name) for name in self.tables]
        self.renames = [(resolved(old), resolved(new)) for old, new in self.renames]


_DML_VERBS = frozenset(
    {"INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CALL", "SELECT", "DO", "WITH", "HANDLER"}
)

_DDL_VERBS = frozenset({"CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"})
_BEGIN = "BEGIN"

# The character sets of clients in which U+00A0 has several bytes, and for text of no known one.
_WIDE_NO_BREAK_SPACE = frozenset({None, "binary", "utf8mb3", "utf8mb4", "gb18030"})

# Words that are allowed between the verb and TABLE.
_MODIFIERS = ("OR", "REPLACE", "TEMPORARY", "ONLINE", "OFFLINE", "IGNORE")


# Objects besides tables and databases that CREATE and DROP can name, if their names matter here.
_PARTS = (
    "INDEX", "TRIGGER", "VIEW", "PROCEDURE", "FUNCTION", "EVENT", "USER", "ROLE", "SERVER",
    "SEQUENCE",
)  # fmt: skip


def statement_of(body: QueryEvent) -> Statement:
    """Return the kind of a logged statement and the tables that it names."""
    # The most frequent statement by far, so its session is not looked at.
    if body.query == _BEGIN:
        return Statement(StatementKind.BEGIN, _BEGIN)
    return classify(body.query, _syntax_of(body))


def _syntax_of(body: QueryEvent) -> SessionSyntax:
    # In the other sets it is a character of several bytes, which servers take for a letter.
    spaces = (
        "\xa0" in body.query and client_charset(body.status_variables) not in _WIDE_NO_BREAK_SPACE
    )
    return session_syntax(body.status_variables.sql_mode or 0, no_break_space=spaces)


def session_syntax(mode: int, *, no_break_space: bool = False) -> SessionSyntax:
    """Return the syntax of a session with a sql_mode."""
    return SessionSyntax(
        backslash_escapes=not mode & NO_BACKSLASH_ESCAPES,
        ansi_quotes=mode & ANSI_QUOTES != 0,
        no_break_space=no_break_space,
    )


def classify(query: str, syntax: SessionSyntax = sql_text.DEFAULT_SYNTAX) -> Statement:
    """Return the kind of `query` and the tables that it names.

    Of a long text only what decides about these is read, so that it takes no memory.
    """
    tokens = sql_text.tokenize(query, syntax)
    first = next(tokens, None)
    if first is not None and first.is_word("SET"):
        first = _after_settings(tokens) or first
    if first is not None and first.is_word("ANALYZE"):
        first = _analyzed(tokens) or first
    if first is None:
        return Statement(StatementKind.OTHER, "")
    verb = first.text.upper()
    simple = {"BEGIN": StatementKind.BEGIN, "COMMIT": StatementKind.COMMIT}
    if verb in simple:
        return Statement(simple[verb], verb)
    if verb in _DML_VERBS:
        return Statement(StatementKind.DML, verb)
    if verb in _DDL_VERBS:
        return _classify_ddl(first, tokens)
    return _classify_control(verb, tokens)


def _after_settings(tokens: Iterator[Token]) -> Token | None:
    """Read on to the statement after MariaDB's `SET STATEMENT variable = value, … FOR`.

    Return its first token, None if this is another SET.
    """
    following = next(tokens, None)
    if following is None or not following.is_word("STATEMENT"):
        return None
    depth = 0
    for token in tokens:
        if token.kind == "mark":
            depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.is_word("FOR"):
            return next(tokens, None)
    return None


def _analyzed(tokens: Iterator[Token]) -> Token | None:
    """Read on to the statement that MariaDB's `ANALYZE [FORMAT = name]` runs and also logs.

    Return its first token, None for `ANALYZE TABLE`.
    """
    following = next(tokens, None)
    if following is not None and following.is_word("FORMAT"):
        following = next(islice(tokens, 2, None), None)
    return following if following is not None and following.is_word(*_DML_VERBS) else None


def _classify_control(verb: str, tokens: Iterator[Token]) -> Statement:
    """Classify a statement that controls a transaction, or is of no other kind."""
    if verb == "XA":
        phase = next(tokens, None)
        word = "" if phase is None else phase.text.upper()
        return Statement(StatementKind.XA, verb, xa_phase=word)
    if verb == "START":
        following = next(tokens, None)
        if following is not None and following.is_word("TRANSACTION"):
            return Statement(StatementKind.BEGIN, verb)
    if verb == "ROLLBACK":
        rest = list(tokens)
        if any(token.is_word("TO") for token in rest):
            return Statement(StatementKind.ROLLBACK_TO, verb, savepoint=rest[-1].name)
        return Statement(StatementKind.ROLLBACK, verb)
    if verb in ("SAVEPOINT", "RELEASE"):
        rest = list(tokens)
        name = rest[-1].name if rest and verb == "SAVEPOINT" else ""
        return Statement(StatementKind.SAVEPOINT, verb, savepoint=name)
    return Statement(StatementKind.OTHER, verb)


def named_databases(body: QueryEvent) -> Iterator[str]:
    """Yield the databases that a statement can concern: its default one, and those in its text.

    The latter are the names before a dot, so there are also tables and aliases with columns.
    """
    yield body.schema
    for token, dot in pairwise(sql_text.tokenize(body.query, _syntax_of(body))):
        if dot.text == "." and token.is_name:
            yield token.name


def _classify_ddl(first: Token, rest: Iterator[Token]) -> Statement:
    verb = first.text.upper()
    leading = [first]
    for token in rest:
        leading.append(token)
        if not token.is_word(*_MODIFIERS):
            break
    words = [token.text.upper() for token in leading[1:-1]]
    last = leading[-1]
    names_table = last.is_word("TABLE", "TABLES")
    if verb == "TRUNCATE":
        tokens = rest if names_table else chain(leading[1:], rest)
        return Statement(StatementKind.TRUNCATE, verb, _first_table(tokens))
    if last.is_word("DATABASE", "SCHEMA"):
        return _classify_database(verb, words, rest)
    # DROP TEMPORARY TABLE drops no followed table.
    if "TEMPORARY" in words:
        return Statement(StatementKind.OTHER, verb)
    if not names_table:
        return _classify_part(verb, words, chain(leading[1:], rest))
    if verb == "CREATE":
        return _classify_create_table(words, rest)
    if verb == "DROP":
        return Statement(StatementKind.DROP_TABLE, verb, sql_text.table_names(rest))
    if verb == "RENAME":
        names = sql_text.table_names(sql_text.without_wait_options(list(rest)))
        renames = list(zip(names[::2], names[1::2], strict=False))
        return Statement(StatementKind.RENAME_TABLE, verb, names, renames=renames)
    clauses = list(rest)
    return _classify_alter_table(words, leading, clauses)


def _first_table(tokens: Iterable[Token]) -> list[sql_text.TableName]:
    """Return the table whose name comes next, if there is one."""
    return sql_text.table_names(islice(tokens, sql_text.NAME_TOKENS))[:1]


def _classify_database(verb: str, words: list[str], rest: Iterator[Token]) -> Statement:
    name = next((t.name for t in rest if not t.is_word("IF", "NOT", "EXISTS")), "")
    # MariaDB drops a database that it replaces, and logs only this statement.
    if verb == "DROP" or words == ["OR", "REPLACE"]:
        return Statement(StatementKind.DROP_DATABASE, verb, [(name, "")])
    if verb == "CREATE":
        return Statement(StatementKind.CREATE_DATABASE, verb, [(name, "")])
    return Statement(StatementKind.OTHER, verb)


def _classify_part(verb: str, words: list[str], tokens: Iterator[Token]) -> Statement:
    """Classify a statement that creates or drops another object than a table or a database."""
    if verb not in ("CREATE", "DROP"):
        return Statement(StatementKind.OTHER, verb)
    part = next((token for token in tokens if token.is_word(*_PARTS)), None)
    if part is None:
        return Statement(StatementKind.OTHER, verb)
    if part.is_word("INDEX"):
        return Statement(StatementKind.INDEX, verb, _table_after_on(tokens))
    if part.is_word("SEQUENCE") and verb == "CREATE" and words[:1] == ["OR"]:
        # MariaDB: a sequence can replace a table.
        return Statement(StatementKind.DROP_TABLE, verb, _first_table(tokens))
    if not part.is_word("TRIGGER"):
        return Statement(StatementKind.OTHER, verb)
    head = list(islice(tokens, sql_text.NAME_TOKENS))
    name = sql_text.table_names(head)[:1]
    trigger = name[0][1] if name else ""
    if verb == "CREATE":
        table = _table_after_on(chain(head, tokens))
        return Statement(StatementKind.CREATE_TRIGGER, verb, table, trigger=trigger)
    # The statement names no table, only its database.
    return Statement(
        StatementKind.DROP_TRIGGER, verb, [(database, "") for database, _ in name], trigger=trigger
    )


def _table_after_on(tokens: Iterator[Token]) -> list[sql_text.TableName]:
    for token in tokens:
        if token.is_word("ON"):
            return _first_table(tokens)
    return []


def _classify_alter_table(
    words: list[str], leading: list[Token], clauses: list[Token]
) -> Statement:
    names = _first_table(clauses)
    renamed = sql_text.alter_table_targets(clauses, by_rename=True)
    return Statement(
        StatementKind.ALTER_TABLE,
        "ALTER",
        [*names, *sql_text.alter_table_targets(clauses)],
        [*leading, *clauses],
        renames=[(names[0], name) for name in renamed[-1:] if names],
        replaces_rows="IGNORE" if "IGNORE" in words else _row_replacing_clause(clauses),
    )


def _classify_create_table(words: list[str], rest: Iterator[Token]) -> Statement:
    head = list(islice(rest, sql_text.NAME_TOKENS))
    table = sql_text.table_names(head)[:1]
    if _selects(chain(head, rest)):
        return Statement(StatementKind.DML, "CREATE TABLE … SELECT", table)
    if words[:2] == ["OR", "REPLACE"]:
        return Statement(StatementKind.DROP_TABLE, "CREATE", table)
    return Statement(StatementKind.CREATE_TABLE, "CREATE", table)


def _selects(tokens: Iterator[Token]) -> bool:
    """Return whether CREATE TABLE fills the table: from SELECT, TABLE t, or VALUES rows."""
    return any(
        token.is_word("SELECT", "TABLE")
        or (token.is_word("VALUES") and (following.is_word("ROW") or following.text == "("))
        for token, following in pairwise(tokens)
    )


def _row_replacing_clause(tokens: list[Token]) -> str:
    for token, following in pairwise(tokens):
        if token.is_word("DROP", "TRUNCATE", "EXCHANGE") and following.is_word("PARTITION"):
            return f"{token.text.upper()} PARTITION"
        # MariaDB: a partition becomes a table, or a table a partition.
        if token.is_word("CONVERT") and following.is_word("PARTITION", "TABLE"):
            return f"CONVERT {following.text.upper()}"
        if token.is_word("DISCARD", "IMPORT") and following.is_word("TABLESPACE", "PARTITION"):
            return f"{token.text.upper()} {following.text.upper()}"
        # MariaDB: historical rows are removed.
        if token.is_word("DROP") and following.is_word("SYSTEM"):
            return "DROP SYSTEM VERSIONING"
        # The rows stay, but get new keys, so published records of them cannot be found by key.
        if token.is_word("PRIMARY") and following.is_word("KEY"):
            return "PRIMARY KEY"
    return ""


# LOG_EVENT_THREAD_SPECIFIC_F in the header of the event.
THREAD_SPECIFIC: Final = 0x0004

_FLAGGED: Final = (StatementKind.ALTER_TABLE, StatementKind.TRUNCATE, StatementKind.INDEX)


def may_be_temporary(statement: Statement, flags: int, *, is_mariadb: bool) -> bool:
    """Return whether a statement, whose event has `flags`, may be about temporary tables."""
    if statement.kind is StatementKind.RENAME_TABLE:
        return is_mariadb
    return flags & THREAD_SPECIFIC != 0 and statement.kind in _FLAGGED
