"""CALL is unrolled: what each statement of the procedure may leave in the log.

Which branch is taken, how often a loop runs and where a handler steps in is in the data. So each
statement is decided for every state of the session in which it could run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from connector.foundation.server_version import ServerVersion
from connector.rules.logging_format import Decision, LoggedAs, decide_logging_format
from connector.rules.server import SessionState
from connector.rules.statement_facts import COMMITS_FIRST, Kind, StatementFacts
from connector.rules.unsafe_statements import UnsafeReason

_STARTS: Final = frozenset({Kind.BEGIN, Kind.XA_START})
_ENDS: Final = COMMITS_FIRST | {
    Kind.COMMIT,
    Kind.ROLLBACK,
    Kind.XA_PREPARE,
    Kind.XA_COMMIT_ONE_PHASE,
    Kind.XA_ROLLBACK,
}


@dataclass(frozen=True, slots=True)
class UnrolledStatement:
    """A statement that is logged for itself."""

    text: str
    facts: StatementFacts


@dataclass(frozen=True, slots=True)
class UnrolledCall:
    """The statements of a CALL with those of the procedures that it calls."""

    statements: tuple[UnrolledStatement, ...]
    in_order: bool = True  # each runs once, in this order
    called: bool = False  # by CALL; else it is one statement alone


def possible_decisions(
    unrolled: UnrolledCall, state: SessionState, server: ServerVersion
) -> list[tuple[Decision, ...]]:
    """Return, for each statement, the different decisions that are possible, at least one.

    `state` is that of the session before the CALL.
    """
    statements = unrolled.statements
    if unrolled.in_order:
        decisions = []
        states = frozenset({state})
        for statement in statements:
            decisions.append(_decisions(statement.facts, states, server, frozenset()))
            states = frozenset(after for one in states for after in _after(statement, one, server))
        return decisions
    states = _reachable(statements, state, server)
    # The session keeps a parsed statement, with the reasons for which it was unsafe before.
    return [
        _decisions(statement.facts, states, server, _reasons(statement, states, server))
        for statement in statements
    ]


def _decisions(
    facts: StatementFacts,
    states: frozenset[SessionState],
    server: ServerVersion,
    kept: frozenset[UnsafeReason],
) -> tuple[Decision, ...]:
    made = [
        decide_logging_format(facts, state, server, earlier)
        for state in sorted(states, key=_order)
        for earlier in (frozenset[UnsafeReason](), kept)
    ]
    return tuple(dict.fromkeys(made))


def _order(state: SessionState) -> tuple[bool, bool, bool]:
    return state.in_transaction, state.logged_in_transaction, state.row_format_stays


def _reasons(
    statement: UnrolledStatement, states: frozenset[SessionState], server: ServerVersion
) -> frozenset[UnsafeReason]:
    return frozenset(
        reason
        for decision in _decisions(statement.facts, states, server, frozenset())
        for reason in decision.reasons
    )


def _reachable(
    statements: Sequence[UnrolledStatement], start: SessionState, server: ServerVersion
) -> frozenset[SessionState]:
    """Return the states that statements can lead to, in any order and number."""
    known = {start}
    waiting = [start]
    while waiting:
        state = waiting.pop()
        for statement in statements:
            for after in _after(statement, state, server):
                if after not in known:
                    known.add(after)
                    waiting.append(after)
    return frozenset(known)


def _after(
    statement: UnrolledStatement, state: SessionState, server: ServerVersion
) -> Iterator[SessionState]:
    """Yield the states in which a statement can leave the session."""
    kind = statement.facts.kind
    if kind in _STARTS:
        in_xa = kind is Kind.XA_START
        yield replace(state, in_transaction=True, in_xa=in_xa, logged_in_transaction=False)
        return
    if kind in _ENDS:
        yield replace(state, in_transaction=False, in_xa=False, logged_in_transaction=False)
        return
    decision = decide_logging_format(statement.facts, state, server)
    # Until the end of the CALL, MIXED does not go back to statements.
    after = replace(state, row_format_stays=state.row_format_stays or decision.row_format)
    yield after
    to_transaction = (
        kind is Kind.DROP_TEMPORARY
        or UnsafeReason.MIXED_STATEMENT in decision.reasons
        or any(table.engine.transactional for table in statement.facts.written)
    )
    if state.in_transaction and to_transaction and decision.logged_as is not LoggedAs.NOTHING:
        # Rows are there only if the statement finds some, and it can fail before a handler.
        yield replace(after, logged_in_transaction=True)
