"""R-unsafe-nontransactional: T-tables and N-tables in one statement or one transaction.

The document calls a statement unsafe if it touches an N-table, and if it or an earlier statement of
the transaction touched a T-table. The servers are more exact. They look only inside of a
transaction, ask whether the transaction cache holds anything (a read leaves nothing there), and
have a table of pairs for statements that use both kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from connector.logging_rules.session_state import Isolation
from connector.logging_rules.statement_facts import Kind

if TYPE_CHECKING:
    from connector.logging_rules.server_version import ServerVersion
    from connector.logging_rules.session_state import SessionState
    from connector.logging_rules.statement_facts import StatementFacts


class _Access(NamedTuple):
    """How tables of one kind are used."""

    writes: bool
    temporary: bool
    transactional: bool


_WRITES_T: Final = _Access(writes=True, temporary=False, transactional=True)
_WRITES_N: Final = _Access(writes=True, temporary=False, transactional=False)
_WRITES_TEMPORARY_T: Final = _Access(writes=True, temporary=True, transactional=True)
_WRITES_TEMPORARY_N: Final = _Access(writes=True, temporary=True, transactional=False)
_READS_T: Final = _Access(writes=False, temporary=False, transactional=True)
_READS_N: Final = _Access(writes=False, temporary=False, transactional=False)
_READS_TEMPORARY_T: Final = _Access(writes=False, temporary=True, transactional=True)
_READS_TEMPORARY_N: Final = _Access(writes=False, temporary=True, transactional=False)

_ALWAYS: Final = frozenset(
    {
        (_WRITES_T, _WRITES_N),
        (_WRITES_T, _READS_N),
        (_WRITES_N, _WRITES_TEMPORARY_T),
        (_WRITES_TEMPORARY_T, _READS_N),
    }
)
# With binlog_direct_non_transactional_updates.
_DIRECT: Final = frozenset(
    {
        (_WRITES_T, _WRITES_TEMPORARY_N),
        (_WRITES_T, _READS_TEMPORARY_N),
        (_WRITES_TEMPORARY_T, _WRITES_TEMPORARY_N),
        (_WRITES_TEMPORARY_T, _READS_TEMPORARY_N),
    }
)
# If the transaction cache holds something.
_LATER: Final = frozenset({(_WRITES_N, _READS_T), (_WRITES_N, _READS_TEMPORARY_T)})
# Below REPEATABLE READ, also outside of a transaction: other sessions may change what is read.
_WEAK: Final = frozenset(
    {
        (_WRITES_N, _READS_T),
        (_WRITES_N, _READS_TEMPORARY_T),
        (_WRITES_TEMPORARY_N, _READS_T),
        (_WRITES_TEMPORARY_N, _READS_TEMPORARY_T),
    }
)
_LATER_DIRECT: Final = frozenset(
    {(_WRITES_TEMPORARY_N, _READS_T), (_WRITES_TEMPORARY_N, _READS_TEMPORARY_T)}
)
_LATER_NOT_DIRECT: Final = frozenset({(_WRITES_TEMPORARY_N, _READS_N)})


def is_mixed(facts: StatementFacts, session: SessionState, server: ServerVersion) -> bool:
    """Return whether one statement mixes the two kinds in an unsafe way."""
    if facts.kind is Kind.CREATE_TABLE_SELECT and not server.mysql_since(8, 0):
        # The new table does not exist yet when the servers ask.
        return False
    direct = session.direct_non_transactional_updates
    unsafe: frozenset[tuple[_Access, _Access]] = frozenset()
    if session.isolation < Isolation.REPEATABLE_READ:
        unsafe |= _WEAK
    if session.in_transaction:
        unsafe |= _ALWAYS | (_DIRECT if direct else frozenset())
    if session.in_transaction and session.logged_in_transaction:
        unsafe |= _LATER | (_LATER_DIRECT if direct else _LATER_NOT_DIRECT)
    accesses = _accesses(facts)
    return any(one in accesses and other in accesses for one, other in unsafe)


def writes_after_transactional(facts: StatementFacts, session: SessionState) -> bool:
    """Return whether an N-table is written after the transaction has logged a change."""
    return (
        session.in_transaction
        and session.logged_in_transaction
        and not session.direct_non_transactional_updates
        and _WRITES_N in _accesses(facts)
    )


def _accesses(facts: StatementFacts) -> set[_Access]:
    found = set()
    for use in facts.uses:
        if use.table.log_table:
            continue
        table = use.table
        if use.writes:
            found.add(_Access(True, table.temporary, table.engine.transactional))
        # The servers count a table that is written as one that is read, too.
        found.add(_Access(False, table.temporary, table.engine.transactional))
    return found
