"""What `enforce_gtid_consistency` refuses: a statement that cannot be in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.logging_rules.refusals import Refusal
from connector.logging_rules.session_state import BinlogFormat
from connector.logging_rules.statement_facts import DML, Kind

if TYPE_CHECKING:
    from connector.logging_rules.server_version import ServerVersion
    from connector.logging_rules.session_state import SessionState
    from connector.logging_rules.statement_facts import StatementFacts

_TEMPORARY = frozenset({Kind.CREATE_TEMPORARY, Kind.DROP_TEMPORARY, Kind.CREATE_TEMPORARY_SELECT})


def gtid_refusal(
    facts: StatementFacts, session: SessionState, server: ServerVersion, *, as_rows: bool
) -> Refusal | None:
    """Return the error by which MySQL refuses the statement, or None.

    Until 8.0.12, temporary tables are refused in a transaction in each format; since 8.0.13 only
    in STATEMENT format. Until 8.0.20, CREATE TABLE … SELECT is refused; since 8.0.21 only for
    engines without atomic DDL.
    """
    if server.is_mariadb or not session.enforce_gtid_consistency:
        return None
    if facts.kind is Kind.CREATE_TABLE_SELECT:
        atomic = server.mysql_since(8, 0, 21) and all(each.engine.commits for each in facts.written)
        return None if atomic else Refusal.ER_GTID_UNSAFE_CREATE_SELECT
    if facts.kind in _TEMPORARY and session.in_transaction:
        return _of_temporary_table(session, server)
    if facts.kind in DML:
        return _of_rows(facts, session, as_rows=as_rows)
    return None


def _of_temporary_table(session: SessionState, server: ServerVersion) -> Refusal | None:
    if not server.mysql_since(8, 0, 13):
        return Refusal.ER_GTID_UNSAFE_CREATE_DROP_TEMPORARY_TABLE_IN_TRANSACTION
    if session.binlog_format is BinlogFormat.STATEMENT:
        return Refusal.ER_CLIENT_GTID_UNSAFE_CREATE_DROP_TEMP_TABLE_IN_TRX_IN_SBR
    return None


def _of_rows(facts: StatementFacts, session: SessionState, *, as_rows: bool) -> Refusal | None:
    n_tables = [table for table in facts.written if not table.engine.transactional]
    if not n_tables or (as_rows and all(table.temporary for table in n_tables)):
        return None
    t_table = any(table.engine.transactional for table in facts.written)
    if t_table or session.logged_in_transaction:
        return Refusal.ER_GTID_UNSAFE_NON_TRANSACTIONAL_TABLE
    return None
