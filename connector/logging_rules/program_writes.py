"""Which tables the program of a trigger, an event or a procedure writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from sqlglot.tokenizer_core import TokenType

from connector.errors import ConfigError
from connector.logging_rules.program_text import split_program
from connector.logging_rules.sql_facts import parse
from connector.logging_rules.sql_tokens import tokens_of, word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.logging_rules.parsed_statement import TableName

_CHANGES: Final = frozenset(
    {"INSERT", "REPLACE", "UPDATE", "DELETE", "TRUNCATE", "WITH", "CALL", "SET"}
)
# The tables of these are in a string that the program makes.
_DYNAMIC: Final = frozenset({"EXECUTE", "PREPARE"})
_NAMES: Final = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_LOG_SETTINGS: Final = frozenset({"binlog_format", "binlog_row_image", "sql_log_bin"})


@dataclass(slots=True)
class ProgramWrites:
    """What a program does; names without a database are in that of the program."""

    tables: set[TableName] = field(default_factory=set)
    procedures: set[TableName] = field(default_factory=set)
    functions: set[TableName] = field(default_factory=set)  # stored or built in
    log_settings: bool = False  # it sets one of those that say how its session logs
    # Statements that are not understood; "" stands for one that can write any table.
    unknown: list[str] = field(default_factory=list)


def names_log_settings(body: str) -> bool:
    """Return whether the text has the name of a setting about the log, so that it may set it."""
    words = body.lower()
    return any(name in words for name in _LOG_SETTINGS)


def program_writes(body: str) -> ProgramWrites:
    """Return what the program with this body writes and calls."""
    found = ProgramWrites()
    try:
        found.functions.update(_functions(body))
        statements = split_program(body).statements
    except ConfigError:
        found.unknown.append(body)
        return found
    for statement in statements:
        _take(statement, found)
    return found


def _functions(body: str) -> Iterator[TableName]:
    """Yield each name before a parenthesis, also of a table before its columns."""
    tokens = tokens_of(body)
    for index, (token, after) in enumerate(pairwise(tokens)):
        if after.token_type is TokenType.L_PAREN and token.token_type in _NAMES:
            dotted = index > 1 and tokens[index - 1].token_type is TokenType.DOT
            yield tokens[index - 2].text if dotted else "", token.text


def _take(statement: str, found: ProgramWrites) -> None:
    verb = word(tokens_of(statement), 0)
    if verb in _DYNAMIC:
        found.unknown.append("")
    if verb not in _CHANGES:
        return
    try:
        parsed = parse(statement)
    except ConfigError:
        found.unknown.append(statement)
        return
    found.tables.update(parsed.written)
    found.procedures.update([parsed.called] if parsed.called is not None else [])
    found.log_settings |= bool(parsed.settings & _LOG_SETTINGS)
