"""The statements of a stored program, parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from connector.errors import ConfigError, logging_rules
from connector.logging_rules.program_text import split_program
from connector.logging_rules.sql_facts import parse

if TYPE_CHECKING:
    from connector.logging_rules.parsed_statement import ParsedStatement
    from connector.source.tables.stored_programs import StoredBody

_DEPTH_MAX: Final = 8
# What the rest of a program leaves in the log is decided by these, and by their values.
_DECISIVE: Final = frozenset(
    {
        "autocommit",
        "binlog_direct_non_transactional_updates",
        "binlog_format",
        "sql_log_bin",
        "transaction",
        "transaction_isolation",
        "tx_isolation",
    }
)


@dataclass(frozen=True, slots=True)
class ParsedProgram:
    """The statements with their texts, and whether each runs once, in this order."""

    statements: tuple[tuple[str, ParsedStatement], ...]
    in_order: bool


def parsed_program(stored: StoredBody, depth: int) -> ParsedProgram:
    """Return the statements of a program that `depth` others have invoked.

    Raises ConfigError for a program that is hidden or not understood.
    """
    refused = ConfigError(logging_rules.PROGRAM_NOT_UNDERSTOOD, program=stored.shown)
    if stored.body is None or depth >= _DEPTH_MAX:
        raise refused
    try:
        program = split_program(stored.body)
        statements = tuple((text, parse(text)) for text in program.statements)
    except ConfigError as error:
        raise refused from error
    if any(parsed.settings & _DECISIVE for _, parsed in statements):
        raise refused
    return ParsedProgram(statements, program.in_order)
