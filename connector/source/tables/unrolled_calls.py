"""CALL becomes the statements of its procedure, and of the procedures that this one calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from connector.logging_rules.sql_facts import parse
from connector.logging_rules.statement_facts import Kind
from connector.logging_rules.unrolled import Unrolled, UnrolledStatement
from connector.source.tables.parsed_programs import parsed_program

if TYPE_CHECKING:
    from connector.logging_rules.parsed_statement import ParsedStatement
    from connector.source.tables.statement_tables import StatementTables


def unrolled(text: str, tables: StatementTables) -> Unrolled:
    """Return the statements of a CALL, or the one statement of another text.

    Raises ConfigError for what is not understood or not there.
    """
    parsed = parse(text)
    if parsed.kind is Kind.CALL:
        return _called(parsed, tables, tables.database, 0)
    return Unrolled((UnrolledStatement(text, tables.facts(parsed)),))


def _called(
    parsed: ParsedStatement, tables: StatementTables, database: str, depth: int
) -> Unrolled:
    found: list[UnrolledStatement] = []
    if parsed.functions or parsed.stored:
        # A function of an argument is logged for itself if it changes rows.
        arguments = tables.facts(replace(parsed, kind=Kind.SELECT), database)
        if arguments.written:
            found.append(UnrolledStatement("the arguments of the CALL", arguments))
    procedure = tables.procedure(parsed, database)
    program = parsed_program(procedure, depth)
    in_order = program.in_order
    for text, statement in program.statements:
        if statement.kind is Kind.CALL:
            inner = _called(statement, tables, procedure.database, depth + 1)
            found += inner.statements
            in_order &= inner.in_order
            continue
        facts = tables.facts(statement, procedure.database)
        if facts.kind is not Kind.SELECT or facts.written:
            found.append(UnrolledStatement(text, facts))
    return Unrolled(tuple(found), in_order, called=True)
