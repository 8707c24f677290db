"""CALL: what each statement of a procedure may leave in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.rules.logging_format import LoggedAs
from connector.rules.procedure_calls import UnrolledCall, UnrolledStatement, possible_decisions
from connector.rules.server import BinlogFormat, SessionState
from connector.rules.statement_facts import Kind, StatementFacts
from connector.rules.unsafe_statements import UnsafeReason
from tests.rules.samples import MYSQL_8_0, N_TABLE, T_TABLE, insert

if TYPE_CHECKING:
    from connector.rules.logging_format import Decision

MIXED = SessionState(BinlogFormat.MIXED)
SAFE = insert(T_TABLE)
UNSAFE = insert(T_TABLE, limit=True)
TEXT, ROWS = {LoggedAs.STATEMENT}, {LoggedAs.ROW}


def decided(*statements: StatementFacts, in_order: bool = True) -> list[tuple[Decision, ...]]:
    unrolled = UnrolledCall(tuple(UnrolledStatement("", each) for each in statements), in_order)
    return possible_decisions(unrolled, MIXED, MYSQL_8_0)


def forms(decisions: list[tuple[Decision, ...]]) -> list[set[LoggedAs]]:
    return [{each.logged_as for each in some} for some in decisions]


def test_row_format_stays_until_the_end_of_a_call() -> None:
    assert forms(decided(SAFE, UNSAFE, SAFE)) == [TEXT, ROWS, ROWS]


def test_in_a_loop_a_statement_can_come_after_each_other_one() -> None:
    assert forms(decided(SAFE, UNSAFE, in_order=False)) == [TEXT | ROWS, ROWS]
    assert forms(decided(SAFE, in_order=False)) == [TEXT]


def test_a_transaction_in_a_procedure_makes_its_later_statements_unsafe() -> None:
    begin, commit = StatementFacts(Kind.BEGIN), StatementFacts(Kind.COMMIT)
    found = decided(begin, SAFE, insert(N_TABLE), commit, insert(N_TABLE))
    # Whether the first INSERT has logged something is not certain.
    after = UnsafeReason.NON_TRANSACTIONAL_AFTER_TRANSACTIONAL
    assert [sorted(len(each.reasons) for each in some) for some in found][1:3] == [[0], [0, 1]]
    assert {reason for each in found[2] for reason in each.reasons} == {after}
    assert forms(found)[2] == TEXT | ROWS


def test_a_statement_of_an_xa_transaction_is_unsafe_on_mysql() -> None:
    start, end = StatementFacts(Kind.XA_START), StatementFacts(Kind.XA_COMMIT_ONE_PHASE)
    found = decided(start, SAFE, end, in_order=False)
    assert {each.reasons for each in found[1]} == {frozenset(), frozenset({UnsafeReason.XA})}


def test_each_statement_of_a_transaction_names_its_rule() -> None:
    for kind in (Kind.COMMIT, Kind.ROLLBACK, Kind.SAVEPOINT, Kind.XA_PREPARE):
        ((decision,),) = decided(StatementFacts(kind))
        assert decision.logged_as is LoggedAs.NOTHING
        assert decision.rule.startswith(("R-log-commit", "R-log-rollback", "XA"))
