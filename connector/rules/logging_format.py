"""`decide_logging_format`: row, statement or nothing, or the error that refuses the statement.

Servers refuse what they could not log, and with `enforce_gtid_consistency` also a statement that
cannot be in one transaction. The numbers of the errors are the same on MySQL since 5.5 and on
MariaDB; MariaDB has none for consistency of GTIDs.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from connector.foundation.server_version import ServerVersion
from connector.rules.server import BinlogFormat, Isolation, SessionState
from connector.rules.statement_facts import DML, Kind, StatementFacts, Table
from connector.rules.unsafe_statements import UnsafeReason, unsafe_reasons


class Refusal(Enum):
    """An error, by its number; its name is that of the servers."""

    ER_BINLOG_ROW_ENGINE_AND_STMT_ENGINE = 1661
    ER_BINLOG_ROW_MODE_AND_STMT_ENGINE = 1662
    ER_BINLOG_UNSAFE_AND_STMT_ENGINE = 1663
    ER_BINLOG_ROW_INJECTION_AND_STMT_ENGINE = 1664
    ER_BINLOG_STMT_MODE_AND_ROW_ENGINE = 1665
    ER_BINLOG_ROW_INJECTION_AND_STMT_MODE = 1666
    ER_BINLOG_MULTIPLE_ENGINES_AND_SELF_LOGGING_ENGINE = 1667
    ER_GTID_UNSAFE_NON_TRANSACTIONAL_TABLE = 1785
    ER_GTID_UNSAFE_CREATE_SELECT = 1786
    # Until MySQL 8.0.12; then the one after it.
    ER_GTID_UNSAFE_CREATE_DROP_TEMPORARY_TABLE_IN_TRANSACTION = 1787
    ER_CLIENT_GTID_UNSAFE_CREATE_DROP_TEMP_TABLE_IN_TRX_IN_SBR = 3748

    @property
    def number(self) -> int:
        """The number that clients get."""
        return self.value


_TEMPORARY_TABLE_DDL = frozenset(
    {Kind.CREATE_TEMPORARY, Kind.DROP_TEMPORARY, Kind.CREATE_TEMPORARY_SELECT}
)


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
        atomic = server.mysql_since(8, 0, 21) and all(
            table.engine.commits for table in facts.written
        )
        return None if atomic else Refusal.ER_GTID_UNSAFE_CREATE_SELECT
    if facts.kind in _TEMPORARY_TABLE_DDL and session.in_transaction:
        return _temporary_table_refusal(session, server)
    if facts.kind in DML:
        return _row_refusal(facts, session, as_rows=as_rows)
    return None


def _temporary_table_refusal(session: SessionState, server: ServerVersion) -> Refusal | None:
    if not server.mysql_since(8, 0, 13):
        return Refusal.ER_GTID_UNSAFE_CREATE_DROP_TEMPORARY_TABLE_IN_TRANSACTION
    if session.binlog_format is BinlogFormat.STATEMENT:
        return Refusal.ER_CLIENT_GTID_UNSAFE_CREATE_DROP_TEMP_TABLE_IN_TRX_IN_SBR
    return None


def _row_refusal(facts: StatementFacts, session: SessionState, *, as_rows: bool) -> Refusal | None:
    n_tables = [table for table in facts.written if not table.engine.transactional]
    if not n_tables or (as_rows and all(table.temporary for table in n_tables)):
        return None
    t_table = any(table.engine.transactional for table in facts.written)
    if t_table or session.logged_in_transaction:
        return Refusal.ER_GTID_UNSAFE_NON_TRANSACTIONAL_TABLE
    return None


class LoggedAs(Enum):
    """What a statement leaves in the log."""

    ROW = "row"
    STATEMENT = "statement"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Decision:
    """How a statement is logged, and by which rule.

    `warnings` are issued when the statement is written to the log. If it fails before, it is not
    written, and nobody sees them. `row_format` says that rows are logged if they can be: those of
    temporary tables cannot.
    """

    logged_as: LoggedAs
    rule: str
    reasons: frozenset[UnsafeReason] = frozenset()
    warnings: frozenset[UnsafeReason] = frozenset()
    refusal: Refusal | None = None
    row_format: bool = False


_TABLE_SELECTS = frozenset({Kind.CREATE_TABLE_SELECT, Kind.CREATE_TEMPORARY_SELECT})
_TEMPORARY_ROWS: Final = "R-log-row-format: temporary tables are not logged"
# Such a statement has nothing of its own in the log, but decides when the caches are written to it.
_OF_TRANSACTIONS: Final = {
    Kind.BEGIN: "R-log-commit: what came before is committed",
    Kind.COMMIT: "R-log-commit: the transaction cache is written",
    Kind.ROLLBACK: "R-log-rollback: the transaction cache is written if it has an N-write",
    Kind.SAVEPOINT: "R-log-rollback-to-savepoint: in the transaction cache if that has something",
    Kind.ROLLBACK_TO_SAVEPOINT: "R-log-rollback-to-savepoint",
    Kind.RELEASE_SAVEPOINT: "R-log-rollback-to-savepoint: the log does not say so",
    Kind.XA_START: "XA: the group begins with it",
    Kind.XA_END: "XA: it is before XA PREPARE",
    Kind.XA_PREPARE: "XA: the transaction cache is written, and ends with it",
    Kind.XA_COMMIT_ONE_PHASE: "R-log-commit: the transaction cache is written",
    Kind.XA_ROLLBACK: "R-log-rollback; after XA PREPARE, a group of its own",
}
_TEMPORARY = frozenset({Kind.CREATE_TEMPORARY, Kind.CREATE_TEMPORARY_SELECT})
# DDL names a table if it is ALTER TABLE, CREATE INDEX or DROP INDEX.
_CHANGES = frozenset({Kind.TRUNCATE, Kind.DDL})


def decide_logging_format(
    facts: StatementFacts,
    session: SessionState,
    server: ServerVersion,
    earlier: frozenset[UnsafeReason] = frozenset(),
) -> Decision:
    """Decide as the servers do before a statement runs.

    `earlier` are reasons that a cached statement of a procedure keeps from its last run.

    The document's cases are checked in the order of the servers. A statement that neither changes
    rows nor creates a table from a SELECT is logged as its text.
    """
    if facts.kind in _OF_TRANSACTIONS:
        return Decision(LoggedAs.NOTHING, _OF_TRANSACTIONS[facts.kind])
    if facts.kind not in DML | _TABLE_SELECTS:
        return _of_other(facts, session, server)
    if facts.kind is Kind.SELECT and not facts.written:
        return Decision(LoggedAs.NOTHING, "a statement that changes nothing")
    reasons = unsafe_reasons(facts, session, server) | earlier
    refusal = _engine_refusal(facts, session, reasons)
    if refusal is None and not server.is_mariadb:
        as_rows = session.binlog_format is BinlogFormat.ROW or (
            session.binlog_format is BinlogFormat.MIXED
            and (bool(reasons) or facts.kind is Kind.LOAD_DATA or session.row_format_stays)
        )
        refusal = gtid_refusal(facts, session, server, as_rows=as_rows)
        if refusal is not None:
            nothing = LoggedAs.NOTHING
            return Decision(nothing, refusal.name, reasons, refusal=refusal, row_format=as_rows)
    if refusal is not None:
        return Decision(LoggedAs.NOTHING, refusal.name, reasons, refusal=refusal)
    if facts.written and all(table.log_table for table in facts.written):
        return Decision(LoggedAs.NOTHING, "rows of log tables are never logged", reasons)
    return _of_rows(facts, session, server, reasons)


def _of_other(facts: StatementFacts, session: SessionState, server: ServerVersion) -> Decision:
    refusal = gtid_refusal(facts, session, server, as_rows=False)
    if refusal is not None:
        return Decision(LoggedAs.NOTHING, refusal.name, refusal=refusal)
    logged = logs_temporary_tables(session.binlog_format, server)
    if facts.kind is Kind.DROP_TEMPORARY:
        # It follows the CREATE of the table, but older servers do not remember that.
        remembers = server.is_mariadb or server.mysql_since(8, 0, 4)
        is_logged = logged or not remembers
    else:
        is_logged = (logged and not session.row_format_stays) or not _is_of_temporary(facts)
    if is_logged:
        return Decision(LoggedAs.STATEMENT, "R-log-statement-format")
    return Decision(LoggedAs.NOTHING, _TEMPORARY_ROWS)


def _is_of_temporary(facts: StatementFacts) -> bool:
    """Return whether the statement creates or changes a temporary table."""
    tables = facts.written
    changes = facts.kind in _CHANGES and bool(tables) and all(each.temporary for each in tables)
    return facts.kind in _TEMPORARY or changes


def logs_temporary_tables(binlog_format: BinlogFormat, server: ServerVersion) -> bool:
    """Return whether CREATE TEMPORARY TABLE is logged; MySQL 8.0.4 stopped that for MIXED."""
    if binlog_format is BinlogFormat.ROW:
        return False
    return binlog_format is BinlogFormat.STATEMENT or not server.mysql_since(8, 0, 4)


def _engine_refusal(
    facts: StatementFacts, session: SessionState, reasons: frozenset[UnsafeReason]
) -> Refusal | None:
    written = facts.written
    engines = {table.engine.name for table in written}
    if len(engines) > 1 and any(table.engine.self_logging for table in written):
        return Refusal.ER_BINLOG_MULTIPLE_ENGINES_AND_SELF_LOGGING_ENGINE
    row_capable = all(table.engine.row_capable for table in written)
    statement_capable = all(_statement_capable(table, session) for table in written)
    if not row_capable and not statement_capable:
        return Refusal.ER_BINLOG_ROW_ENGINE_AND_STMT_ENGINE
    if not row_capable:
        if facts.row_injection:
            return Refusal.ER_BINLOG_ROW_INJECTION_AND_STMT_ENGINE
        if session.binlog_format is BinlogFormat.ROW:
            return Refusal.ER_BINLOG_ROW_MODE_AND_STMT_ENGINE
        if session.binlog_format is BinlogFormat.MIXED and reasons:
            return Refusal.ER_BINLOG_UNSAFE_AND_STMT_ENGINE
        return None
    if session.binlog_format is BinlogFormat.STATEMENT:
        if facts.row_injection:
            return Refusal.ER_BINLOG_ROW_INJECTION_AND_STMT_MODE
        if not statement_capable:
            return Refusal.ER_BINLOG_STMT_MODE_AND_ROW_ENGINE
    return None


def _statement_capable(table: Table, session: SessionState) -> bool:
    engine = table.engine
    weak = engine.needs_repeatable_read and session.isolation < Isolation.REPEATABLE_READ
    return engine.statement_capable and not weak


def _of_rows(
    facts: StatementFacts,
    session: SessionState,
    server: ServerVersion,
    reasons: frozenset[UnsafeReason],
) -> Decision:
    if session.binlog_format is BinlogFormat.STATEMENT:
        # The servers do not warn of LOAD DATA, whatever else is unsafe in it.
        warnings = frozenset() if facts.kind is Kind.LOAD_DATA else reasons
        return Decision(LoggedAs.STATEMENT, "R-log-statement-format (1)", reasons, warnings)
    if not all(table.engine.row_capable for table in facts.written):
        return Decision(LoggedAs.STATEMENT, "R-log-statement-format (2)", reasons)
    if session.binlog_format is BinlogFormat.ROW:
        rule = "R-log-row-format (1)"
    elif reasons or facts.row_injection:
        rule = "R-log-row-format (2)"
    elif facts.kind is Kind.LOAD_DATA:
        rule = "R-log-row-format (2): LOAD DATA"
    elif not all(_statement_capable(table, session) for table in facts.written):
        rule = "R-log-row-format: an engine that cannot log statements"
    elif session.row_format_stays:
        rule = "R-log-row-format: row format stays from an earlier statement"
    elif server.mysql_since(8, 0, 4) and any(use.table.temporary for use in facts.uses):
        rule = "R-log-row-format: a replica does not have the temporary table"
    else:
        return Decision(LoggedAs.STATEMENT, "R-log-statement-format (2)")
    if all(table.temporary for table in facts.written):
        return Decision(LoggedAs.NOTHING, _TEMPORARY_ROWS, reasons, row_format=True)
    return Decision(LoggedAs.ROW, rule, reasons, row_format=True)
