"""The text of a QUERY event becomes a kind of statement and the tables it names.

A ROW-format log holds SQL text only for transaction control and for DDL. Any other text is a change
that was logged as a statement, which cannot be turned into rows. This module parses only as much
SQL as it needs to distinguish these: the tokens, the leading verb, the table names and renames.

https://dev.mysql.com/doc/refman/8.4/en/sql-statements.html
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from connector.changes.statement import Statement, StatementKind
from connector.changes.table_names import other_tables, table_names, without_waiting
from connector.changes.tokens import open_parentheses, tokenize

if TYPE_CHECKING:
    from connector.changes.table_names import TableName
    from connector.changes.tokens import Token

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
    tokens = _without_settings(tokenize(query))
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


def _without_settings(tokens: list[Token]) -> list[Token]:
    """Return the statement after MariaDB's `SET STATEMENT variable = value, … FOR`."""
    if len(tokens) > 1 and tokens[0].is_word("SET") and tokens[1].is_word("STATEMENT"):
        depths = open_parentheses(tokens)
        for index, token in enumerate(tokens):
            if depths[index] == 0 and token.is_word("FOR"):
                return tokens[index + 1 :]
    return tokens


def _classify_ddl(verb: str, tokens: list[Token]) -> Statement:
    index = 1
    while index < len(tokens) and tokens[index].is_word(*_MODIFIERS):
        index += 1
    words = [token.text.upper() for token in tokens[1:index]]
    names_table = index < len(tokens) and tokens[index].is_word("TABLE", "TABLES")
    if verb == "TRUNCATE":
        names = table_names(tokens, index + 1 if names_table else 1)
        return Statement(StatementKind.TRUNCATE, verb, names[:1])
    if index < len(tokens) and tokens[index].is_word("DATABASE", "SCHEMA"):
        return _classify_database(verb, tokens[index + 1 :])
    # DROP TEMPORARY TABLE drops no followed table.
    if "TEMPORARY" in words:
        return Statement(StatementKind.OTHER, verb)
    if not names_table:
        return _classify_part(verb, tokens)
    names = table_names(tokens, index + 1)
    if verb == "CREATE":
        return _classify_create_table(words, names, tokens[index + 1 :])
    if verb == "DROP":
        return Statement(StatementKind.DROP_TABLE, verb, names)
    if verb == "RENAME":
        names = table_names(without_waiting(tokens), index + 1)
        renames = list(zip(names[::2], names[1::2], strict=False))
        return Statement(StatementKind.RENAME_TABLE, verb, names, renames=renames)
    if verb != "ALTER":
        return Statement(StatementKind.OTHER, verb)
    return _classify_alter_table(words, names, tokens, index + 1)


def _classify_database(verb: str, rest: list[Token]) -> Statement:
    name = next((t.name for t in rest if not t.is_word("IF", "NOT", "EXISTS")), "")
    if verb == "DROP":
        return Statement(StatementKind.DROP_DATABASE, verb, [(name, "")])
    if verb == "CREATE":
        return Statement(StatementKind.CREATE_DATABASE, verb, [(name, "")])
    return Statement(StatementKind.OTHER, verb)


def _classify_part(verb: str, tokens: list[Token]) -> Statement:
    """Classify a statement that creates or drops another object than a table or a database."""
    if verb not in ("CREATE", "DROP"):
        return Statement(StatementKind.OTHER, verb)
    index = next((n for n, token in enumerate(tokens) if token.is_word(*_PARTS)), 0)
    on = next((n for n, t in enumerate(tokens[index:], index + 1) if t.is_word("ON")), len(tokens))
    table = table_names(tokens, on)[:1]
    if tokens[index].is_word("INDEX"):
        return Statement(StatementKind.INDEX, verb, table)
    if tokens[index].is_word("SEQUENCE") and verb == "CREATE" and tokens[1].is_word("OR"):
        # MariaDB: a sequence can replace a table.
        return Statement(StatementKind.DROP_TABLE, verb, table_names(tokens, index + 1)[:1])
    if not tokens[index].is_word("TRIGGER"):
        return Statement(StatementKind.OTHER, verb)
    name = table_names(tokens, index + 1)[:1]
    trigger = name[0][1] if name else ""
    if verb == "CREATE":
        return Statement(StatementKind.CREATE_TRIGGER, verb, table, trigger=trigger)
    # The statement names no table, only its database.
    return Statement(
        StatementKind.DROP_TRIGGER, verb, [(database, "") for database, _ in name], trigger=trigger
    )


def _classify_alter_table(
    words: list[str], names: list[TableName], tokens: list[Token], start: int
) -> Statement:
    clauses = tokens[start:]
    renamed = other_tables(clauses, by_rename=True)
    return Statement(
        StatementKind.ALTER_TABLE,
        "ALTER",
        [*names[:1], *other_tables(clauses)],
        tokens,
        renames=[(names[0], name) for name in renamed[-1:] if names],
        replaces_rows="IGNORE" if "IGNORE" in words else _row_replacing_clause(clauses),
    )


def _classify_create_table(
    words: list[str], names: list[TableName], rest: list[Token]
) -> Statement:
    if _selects(rest):
        return Statement(StatementKind.DML, "CREATE TABLE … SELECT", names[:1])
    if words[:2] == ["OR", "REPLACE"]:
        return Statement(StatementKind.DROP_TABLE, "CREATE", names[:1])
    return Statement(StatementKind.CREATE_TABLE, "CREATE", names[:1])


def _selects(tokens: list[Token]) -> bool:
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
