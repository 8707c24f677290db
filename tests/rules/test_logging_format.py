"""The decision for one statement: the format, the errors, the warnings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connector.rules.logging_format import LoggedAs, Refusal, decide_logging_format
from connector.rules.server import BinlogFormat, Isolation, SessionState
from connector.rules.statement_facts import Kind, StatementFacts, TableUse
from connector.rules.unsafe_statements import UnsafeReason
from tests.rules.samples import (
    EXAMPLE,
    MARIADB,
    MYSQL_5_7,
    MYSQL_8_0,
    N_TABLE,
    NDB,
    T_TABLE,
    insert,
)

ROWS_ONLY = replace(T_TABLE, engine=replace(NDB.engine, self_logging=False))
STATEMENT = SessionState(BinlogFormat.STATEMENT)
MIXED = SessionState(BinlogFormat.MIXED)
ROW = SessionState(BinlogFormat.ROW)


@pytest.mark.parametrize(
    ("facts", "session", "number"),
    [
        (insert(EXAMPLE, NDB), ROW, 1667),
        (
            insert(EXAMPLE, ROWS_ONLY),
            ROW,
            1661,
        ),
        (insert(EXAMPLE), ROW, 1662),
        (insert(EXAMPLE, limit=True), MIXED, 1663),
        (insert(EXAMPLE, row_injection=True), ROW, 1664),
        (insert(NDB), STATEMENT, 1665),
        (insert(T_TABLE), replace(STATEMENT, isolation=Isolation.READ_COMMITTED), 1665),
        (insert(T_TABLE, row_injection=True), STATEMENT, 1666),
    ],
)
def test_each_error_of_the_document_has_its_number(
    facts: StatementFacts, session: SessionState, number: int
) -> None:
    decision = decide_logging_format(facts, session, MYSQL_8_0)
    assert decision.refusal is not None
    assert (decision.refusal.number, decision.logged_as) == (number, LoggedAs.NOTHING)


def test_an_unsafe_statement_becomes_rows_in_mixed_format_and_a_warning_in_statement() -> None:
    facts = insert(T_TABLE, limit=True)
    mixed = decide_logging_format(facts, MIXED, MYSQL_8_0)
    statement = decide_logging_format(facts, STATEMENT, MYSQL_8_0)
    assert (mixed.logged_as, mixed.warnings) == (LoggedAs.ROW, frozenset())
    assert (statement.logged_as, statement.warnings) == (
        LoggedAs.STATEMENT,
        frozenset({UnsafeReason.LIMIT}),
    )


def test_a_temporary_table_is_logged_as_text_in_mixed_format_until_mysql_8_0_4() -> None:
    facts = StatementFacts(Kind.CREATE_TEMPORARY)
    assert decide_logging_format(facts, MIXED, MYSQL_5_7).logged_as is LoggedAs.STATEMENT
    assert decide_logging_format(facts, MIXED, MARIADB).logged_as is LoggedAs.STATEMENT
    assert decide_logging_format(facts, MIXED, MYSQL_8_0).logged_as is LoggedAs.NOTHING


def test_the_end_of_a_temporary_table_is_logged_as_its_begin_was() -> None:
    facts = StatementFacts(Kind.DROP_TEMPORARY)
    assert decide_logging_format(facts, ROW, MYSQL_8_0).logged_as is LoggedAs.NOTHING
    assert decide_logging_format(facts, MIXED, MYSQL_8_0).logged_as is LoggedAs.NOTHING
    assert decide_logging_format(facts, STATEMENT, MYSQL_8_0).logged_as is LoggedAs.STATEMENT
    assert decide_logging_format(facts, ROW, MARIADB).logged_as is LoggedAs.NOTHING
    # The CREATE was logged, whatever statement has come since.
    since = replace(MIXED, row_format_stays=True)
    assert decide_logging_format(facts, since, MARIADB).logged_as is LoggedAs.STATEMENT
    # The server does not know whether a replica has the table.
    assert decide_logging_format(facts, ROW, MYSQL_5_7).logged_as is LoggedAs.STATEMENT


def test_a_temporary_table_is_emptied_as_its_create_was_logged() -> None:
    table = replace(T_TABLE, temporary=True)
    facts = StatementFacts(Kind.TRUNCATE, (TableUse(table, writes=True),))
    for server in (MYSQL_5_7, MYSQL_8_0, MARIADB):
        assert decide_logging_format(facts, ROW, server).logged_as is LoggedAs.NOTHING
        assert decide_logging_format(facts, STATEMENT, server).logged_as is LoggedAs.STATEMENT
    lasting = StatementFacts(Kind.TRUNCATE, (TableUse(T_TABLE, writes=True),))
    assert decide_logging_format(lasting, ROW, MYSQL_8_0).logged_as is LoggedAs.STATEMENT


def test_a_temporary_table_is_altered_as_its_create_was_logged() -> None:
    table = replace(T_TABLE, temporary=True)
    facts = StatementFacts(Kind.DDL, (TableUse(table, writes=True),))
    for server in (MYSQL_5_7, MYSQL_8_0, MARIADB):
        assert decide_logging_format(facts, ROW, server).logged_as is LoggedAs.NOTHING
        assert decide_logging_format(facts, STATEMENT, server).logged_as is LoggedAs.STATEMENT
    assert decide_logging_format(facts, MIXED, MYSQL_8_0).logged_as is LoggedAs.NOTHING
    assert decide_logging_format(facts, MIXED, MARIADB).logged_as is LoggedAs.STATEMENT
    # On these servers, a session stays in row format as long as it has temporary tables.
    since = replace(MIXED, row_format_stays=True)
    assert decide_logging_format(facts, since, MARIADB).logged_as is LoggedAs.NOTHING
    other = StatementFacts(Kind.DDL)
    assert decide_logging_format(other, ROW, MYSQL_8_0).logged_as is LoggedAs.STATEMENT


def test_consistency_of_gtids_refuses_both_kinds_of_tables_in_one_statement() -> None:
    session = replace(ROW, enforce_gtid_consistency=True)
    decision = decide_logging_format(insert(T_TABLE, N_TABLE), session, MYSQL_8_0)
    assert decision.refusal is Refusal.ER_GTID_UNSAFE_NON_TRANSACTIONAL_TABLE
    assert decide_logging_format(insert(T_TABLE, N_TABLE), session, MARIADB).refusal is None
