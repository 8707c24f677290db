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

from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Final

from connector.binlog import sql_text


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
    tokens: list[sql_text.Token] = field(default_factory=list)
    # Old and new names, in the order in which they take effect.
    renames: list[tuple[sql_text.TableName, sql_text.TableName]] = field(default_factory=list)
    replaces_rows: str = ""  # the clause of ALTER TABLE with this effect, such as DROP PARTITION
    trigger: str = ""  # the name in CREATE TRIGGER and DROP TRIGGER
    savepoint: str = ""  # the savepoint that is set, or rolled back to

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

# Words that are allowed between the verb and TABLE.
_MODIFIERS = ("OR", "REPLACE", "TEMPORARY", "ONLINE", "OFFLINE", "IGNORE")


# Objects besides tables and databases that CREATE and DROP can name, if their names matter here.
_PARTS = (
    "INDEX", "TRIGGER", "VIEW", "PROCEDURE", "FUNCTION", "EVENT", "USER", "ROLE", "SERVER",
    "SEQUENCE",
)  # fmt: skip


def classify(query: str) -> Statement:
    """Return the kind of `query` and the tables that it names."""
    # The most frequent statement by far, so it is tested first.
    if query == "BEGIN":
        return Statement(StatementKind.BEGIN, "BEGIN")
    tokens = _without_settings(sql_text.tokenize(query))
    verb = tokens[0].text.upper() if tokens else ""
    simple = {"BEGIN": StatementKind.BEGIN, "COMMIT": StatementKind.COMMIT, "XA": StatementKind.XA}
    if verb in simple:
        return Statement(simple[verb], verb)
    if verb == "START" and len(tokens) > 1 and tokens[1].is_word("TRANSACTION"):
        return Statement(StatementKind.BEGIN, verb)
    if verb == "ROLLBACK":
        to_savepoint = any(token.is_word("TO") for token in tokens[1:])
        if to_savepoint:
            return Statement(StatementKind.ROLLBACK_TO, verb, savepoint=tokens[-1].name)
        return Statement(StatementKind.ROLLBACK, verb)
    if verb in ("SAVEPOINT", "RELEASE"):
        name = tokens[-1].name if verb == "SAVEPOINT" else ""
        return Statement(StatementKind.SAVEPOINT, verb, savepoint=name)
    if verb in _DML_VERBS:
        return Statement(StatementKind.DML, verb, tokens=tokens)
    return _classify_ddl(verb, tokens)


def _without_settings(tokens: list[sql_text.Token]) -> list[sql_text.Token]:
    """Return the statement after MariaDB's `SET STATEMENT variable = value, … FOR`."""
    if len(tokens) > 1 and tokens[0].is_word("SET") and tokens[1].is_word("STATEMENT"):
        depths = sql_text.open_parentheses(tokens)
        for index, token in enumerate(tokens):
            if depths[index] == 0 and token.is_word("FOR"):
                return tokens[index + 1 :]
    return tokens


def _classify_ddl(verb: str, tokens: list[sql_text.Token]) -> Statement:
    index = 1
    while index < len(tokens) and tokens[index].is_word(*_MODIFIERS):
        index += 1
    words = [token.text.upper() for token in tokens[1:index]]
    names_table = index < len(tokens) and tokens[index].is_word("TABLE", "TABLES")
    if verb == "TRUNCATE":
        names = sql_text.table_names(tokens, index + 1 if names_table else 1)
        return Statement(StatementKind.TRUNCATE, verb, names[:1])
    if index < len(tokens) and tokens[index].is_word("DATABASE", "SCHEMA"):
        return _classify_database(verb, words, tokens[index + 1 :])
    # DROP TEMPORARY TABLE drops no followed table.
    if "TEMPORARY" in words:
        return Statement(StatementKind.OTHER, verb)
    if not names_table:
        return _classify_part(verb, tokens)
    names = sql_text.table_names(tokens, index + 1)
    if verb == "CREATE":
        return _classify_create_table(words, names, tokens[index + 1 :])
    if verb == "DROP":
        return Statement(StatementKind.DROP_TABLE, verb, names)
    if verb == "RENAME":
        names = sql_text.table_names(sql_text.without_wait_options(tokens), index + 1)
        renames = list(zip(names[::2], names[1::2], strict=False))
        return Statement(StatementKind.RENAME_TABLE, verb, names, renames=renames)
    if verb != "ALTER":
        return Statement(StatementKind.OTHER, verb)
    return _classify_alter_table(words, names, tokens, index + 1)


def _classify_database(verb: str, words: list[str], rest: list[sql_text.Token]) -> Statement:
    name = next((t.name for t in rest if not t.is_word("IF", "NOT", "EXISTS")), "")
    # MariaDB drops a database that it replaces, and logs only this statement.
    if verb == "DROP" or words == ["OR", "REPLACE"]:
        return Statement(StatementKind.DROP_DATABASE, verb, [(name, "")])
    if verb == "CREATE":
        return Statement(StatementKind.CREATE_DATABASE, verb, [(name, "")])
    return Statement(StatementKind.OTHER, verb)


def _classify_part(verb: str, tokens: list[sql_text.Token]) -> Statement:
    """Classify a statement that creates or drops another object than a table or a database."""
    if verb not in ("CREATE", "DROP"):
        return Statement(StatementKind.OTHER, verb)
    index = next((n for n, token in enumerate(tokens) if token.is_word(*_PARTS)), 0)
    on = next((n for n, t in enumerate(tokens[index:], index + 1) if t.is_word("ON")), len(tokens))
    table = sql_text.table_names(tokens, on)[:1]
    if tokens[index].is_word("INDEX"):
        return Statement(StatementKind.INDEX, verb, table)
    if tokens[index].is_word("SEQUENCE") and verb == "CREATE" and tokens[1].is_word("OR"):
        # MariaDB: a sequence can replace a table.
        return Statement(
            StatementKind.DROP_TABLE, verb, sql_text.table_names(tokens, index + 1)[:1]
        )
    if not tokens[index].is_word("TRIGGER"):
        return Statement(StatementKind.OTHER, verb)
    name = sql_text.table_names(tokens, index + 1)[:1]
    trigger = name[0][1] if name else ""
    if verb == "CREATE":
        return Statement(StatementKind.CREATE_TRIGGER, verb, table, trigger=trigger)
    # The statement names no table, only its database.
    return Statement(
        StatementKind.DROP_TRIGGER, verb, [(database, "") for database, _ in name], trigger=trigger
    )


def _classify_alter_table(
    words: list[str], names: list[sql_text.TableName], tokens: list[sql_text.Token], start: int
) -> Statement:
    clauses = tokens[start:]
    renamed = sql_text.alter_table_targets(clauses, by_rename=True)
    return Statement(
        StatementKind.ALTER_TABLE,
        "ALTER",
        [*names[:1], *sql_text.alter_table_targets(clauses)],
        tokens,
        renames=[(names[0], name) for name in renamed[-1:] if names],
        replaces_rows="IGNORE" if "IGNORE" in words else _row_replacing_clause(clauses),
    )


def _classify_create_table(
    words: list[str], names: list[sql_text.TableName], rest: list[sql_text.Token]
) -> Statement:
    if _selects(rest):
        return Statement(StatementKind.DML, "CREATE TABLE … SELECT", names[:1])
    if words[:2] == ["OR", "REPLACE"]:
        return Statement(StatementKind.DROP_TABLE, "CREATE", names[:1])
    return Statement(StatementKind.CREATE_TABLE, "CREATE", names[:1])


def _selects(tokens: list[sql_text.Token]) -> bool:
    """Return whether CREATE TABLE fills the table: from SELECT, TABLE t, or VALUES rows."""
    return any(
        token.is_word("SELECT", "TABLE")
        or (token.is_word("VALUES") and (following.is_word("ROW") or following.text == "("))
        for token, following in pairwise(tokens)
    )


def _row_replacing_clause(tokens: list[sql_text.Token]) -> str:
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
