"""A model of a session: its statements become the groups that arrive in the log.

The tests play random sessions on servers, and compare their logs with the model. CREATE TABLE …
SELECT and temporary tables leave entries of their own kinds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from connector.rules.logging_format import Decision, LoggedAs, Refusal, decide_logging_format
from connector.rules.server import BinlogFormat, SessionState
from connector.rules.statement_facts import COMMITS_FIRST, DML, Kind
from connector.rules.unsafe_statements import UnsafeReason
from tests.rules.binlog_caches import (
    Caches,
    Ending,
    Group,
    LoggedFile,
    LoggedHead,
    LoggedRows,
    LoggedTable,
    LoggedText,
    joined,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.foundation.server_version import ServerVersion
    from connector.rules.statement_facts import Table
    from tests.rules.binlog_caches import Entry, PlayedStatement

_GTID_REFUSALS = frozenset(
    {
        Refusal.ER_GTID_UNSAFE_NON_TRANSACTIONAL_TABLE,
        Refusal.ER_GTID_UNSAFE_CREATE_SELECT,
        Refusal.ER_GTID_UNSAFE_CREATE_DROP_TEMPORARY_TABLE_IN_TRANSACTION,
        Refusal.ER_CLIENT_GTID_UNSAFE_CREATE_DROP_TEMP_TABLE_IN_TRX_IN_SBR,
    }
)


def write_create_select(
    caches: Caches, server: ServerVersion, statement: PlayedStatement, decision: Decision
) -> None:
    """R-log-create-select-statement-format, R-log-create-select-row-format.

    With atomic DDL (InnoDB since MySQL 8.0.21) and on MariaDB, table and rows are one group.
    """
    if decision.logged_as is LoggedAs.STATEMENT:
        caches.write_alone(LoggedText(statement.text))
        return
    table = statement.facts.written[0]
    commits = table.engine.commits and (bool(statement.done) or not server.is_mariadb)
    ending = Ending.XID if commits else Ending.COMMIT
    rows = [LoggedRows(done.table.name, done.change) for done in statement.done]
    created = LoggedTable(table.name)
    atomic = server.mysql_since(8, 0, 21) and table.engine.commits
    if atomic or server.is_mariadb:
        caches.groups.append(Group(joined([created, *rows]), ending))
        return
    caches.write_alone(created)
    if rows:
        caches.groups.append(Group(joined([*rows]), ending))


class TemporaryTables:
    """The temporary tables of one session."""

    def __init__(self, server: ServerVersion, caches: Caches) -> None:
        """Start without tables."""
        self._server = server
        self._caches = caches
        # Whether their CREATE is in the log, and whether they are T-tables.
        self._tables: dict[str, tuple[bool, bool]] = {}

    @property
    def exist(self) -> bool:
        """Whether the session has any."""
        return bool(self._tables)

    def create(self, statement: PlayedStatement, state: SessionState, *, logged: bool) -> None:
        """Add the table that the statement creates."""
        transactional = any(table.engine.transactional for table in statement.facts.written)
        self._tables[statement.name] = logged, transactional
        self._log(statement.text if logged else "", state, transactional=transactional)

    def drop(self, statement: PlayedStatement, state: SessionState) -> bool:
        """Remove the table that the statement drops; return whether the log tells of it."""
        created, transactional = self._tables.pop(statement.name)
        text = statement.text if created and not state.row_format_stays else ""
        # Older servers do not know whether a replica has the table; MariaDB remembers its CREATE.
        uncertain = created or not self._server.is_mariadb
        if not text and uncertain and not self._server.mysql_since(8, 0, 4):
            text = f"DROP TEMPORARY TABLE IF EXISTS `{statement.name}`"
        self._log(text, state, transactional=transactional)
        return bool(text)

    def _log(self, text: str, state: SessionState, *, transactional: bool) -> None:
        """In a transaction, the statement goes to the TC and cannot be rolled back."""
        if not state.in_transaction:
            if text:
                self._caches.write_alone(LoggedText(text))
            return
        direct = state.row_format_stays and self._server.is_mariadb
        to_transaction = transactional or (bool(self._caches.transaction) and not direct)
        if text:
            self._caches.add(LoggedText(text), to_transaction=to_transaction)
            self._caches.flush_statement()
        if (to_transaction and text) or self._server.is_mariadb:
            self._caches.keeps = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """The decision for a statement, and the warnings that its client gets."""

    decision: Decision
    warnings: frozenset[UnsafeReason]


def _has_rows_in_log(table: Table) -> bool:
    return not table.temporary and not table.log_table


class SessionModel:
    """One session from its start; `groups` grows as the log does."""

    def __init__(self, server: ServerVersion, state: SessionState) -> None:
        """Start outside of a transaction, with the settings of `state`."""
        self._server = server
        self._settings = state
        self._caches = Caches(server)
        self._in_transaction = False
        self._xa = ""
        self._row_format_stays = False
        self._call_text = ""
        self._of_procedures: dict[tuple[str, str], frozenset[UnsafeReason]] = {}
        self._prepared = False  # the first half of an XA transaction is in the log
        self._temporary = TemporaryTables(server, self._caches)
        self._handlers: dict[Kind, Callable[[PlayedStatement], None]] = {
            Kind.BEGIN: self._begin,
            Kind.COMMIT: lambda _: self._end(self._caches.commit),
            Kind.ROLLBACK: lambda _: self._end(self._caches.rollback),
            Kind.SAVEPOINT: self._savepoint,
            Kind.ROLLBACK_TO_SAVEPOINT: lambda each: self._caches.rollback_to_savepoint(each.name),
            Kind.RELEASE_SAVEPOINT: lambda each: self._caches.release_savepoint(each.name),
            Kind.CREATE_TEMPORARY: self._create_temporary,
            Kind.CREATE_TEMPORARY_SELECT: self._create_temporary,
            Kind.DROP_TEMPORARY: self._drop_temporary,
            Kind.CREATE_TABLE_SELECT: self._create_select,
            Kind.XA_START: self._xa_start,
            Kind.XA_END: lambda _: None,
            Kind.XA_PREPARE: lambda _: self._xa_end(Ending.PREPARE),
            Kind.XA_COMMIT_ONE_PHASE: lambda _: self._xa_end(Ending.ONE_PHASE),
            Kind.XA_COMMIT: self._xa_complete,
            Kind.XA_ROLLBACK: self._xa_rollback,
        }

    @property
    def groups(self) -> list[Group]:
        """The groups in the log so far."""
        return self._caches.groups

    @property
    def state(self) -> SessionState:
        """The session as the next statement finds it."""
        return replace(
            self._settings,
            in_transaction=self._in_transaction or bool(self._xa),
            in_xa=bool(self._xa),
            logged_in_transaction=bool(self._caches.transaction),
            row_format_stays=self._row_format_stays,
        )

    def execute(self, statement: PlayedStatement) -> Outcome:
        """Run a statement; a refused one changes nothing."""
        if statement.facts.kind is Kind.CALL:
            return self._call(statement)
        if statement.facts.kind in COMMITS_FIRST:
            self._end(self._caches.commit)
        self._leave_row_format()
        decision = self._decide(statement)
        self._row_format_stays |= decision.row_format
        if decision.refusal is None:
            used = any(use.table.engine.commits for use in statement.facts.uses)
            self._caches.engine_used |= used
        if decision.refusal is not None:
            return Outcome(decision, frozenset())
        if statement.facts.kind in DML:
            written = self._change_rows(statement, decision)
            return Outcome(decision, decision.warnings if written else frozenset())
        self._decision = decision
        self._handlers.get(statement.facts.kind, self._of_text)(statement)
        return Outcome(decision, frozenset() if statement.fails else decision.warnings)

    def _decide(self, statement: PlayedStatement) -> Decision:
        """Decide; a session keeps a parsed procedure, and with it the reasons of earlier runs."""
        place = self._call_text, statement.text
        earlier = self._of_procedures.get(place, frozenset())
        decision = decide_logging_format(statement.facts, self.state, self._server, earlier)
        if self._call_text:
            self._of_procedures[place] = decision.reasons
        return decision

    def _leave_row_format(self) -> None:
        """Go back to statement format in MIXED, if nothing holds the session in row format."""
        held = self._temporary.exist and not self._server.mysql_since(8, 0, 4)
        if not self._call_text and not held:
            self._row_format_stays = False

    def _call(self, statement: PlayedStatement) -> Outcome:
        """CALL is unrolled: each statement of the procedure is logged for itself."""
        warnings: frozenset[UnsafeReason] = frozenset()
        decision = Decision(LoggedAs.NOTHING, "CALL is unrolled")
        self._leave_row_format()
        self._call_text = statement.text
        for each in statement.body:
            outcome = self.execute(each)
            warnings |= outcome.warnings
            if (each.fails and not each.handled) or outcome.decision.refusal is not None:
                decision = outcome.decision
                warnings |= self._warned_of_refused(decision)
                break
        self._call_text = ""
        return Outcome(decision, warnings)

    def _warned_of_refused(self, decision: Decision) -> frozenset[UnsafeReason]:
        """Consistency of GTIDs is checked after the warnings are noted; CALL still issues them."""
        if (
            self.state.binlog_format is BinlogFormat.STATEMENT
            and decision.refusal in _GTID_REFUSALS
        ):
            return decision.reasons
        return frozenset()

    def _change_rows(self, statement: PlayedStatement, decision: Decision) -> bool:
        """Log a statement in either format; return whether its text was written."""
        caches = self._caches
        n_writes = any(not done.table.engine.transactional for done in statement.done)
        # The document's note on rows of T-tables that are kept: MariaDB does so in MIXED format for
        # a statement that is a transaction by itself.
        mixed = self._settings.binlog_format is BinlogFormat.MIXED and self._server.is_mariadb
        kept_rows = n_writes and mixed and not self.state.in_transaction
        before = len(caches.transaction)
        written = False
        if decision.logged_as is LoggedAs.STATEMENT:
            self._log_file(statement, n_writes=n_writes)
            written = self._log_text(statement, decision, n_writes=n_writes)
        elif decision.logged_as is LoggedAs.ROW:
            self._log_rows(statement)
            if statement.fails and not kept_rows:
                caches.took_back |= n_writes and len(caches.transaction) > before
                del caches.transaction[before:]
        if self.state.in_transaction:
            caches.flush_statement()
        caches.keeps |= kept_rows
        caches.wrote_n_table |= n_writes
        by_statement = self._settings.binlog_format is BinlogFormat.STATEMENT
        caches.keeps |= n_writes and by_statement and self._server.is_mariadb
        if not statement.fails:
            caches.engine_commits |= any(
                done.table.engine.commits and not done.table.temporary for done in statement.done
            )
        if not self.state.in_transaction:
            (caches.rollback if statement.fails else caches.commit)()
        return written

    def _log_file(self, statement: PlayedStatement, *, n_writes: bool) -> None:
        """The file of LOAD DATA is in the cache of its own table, wherever the statement is."""
        if statement.facts.kind is Kind.LOAD_DATA:
            table = statement.facts.written[0]
            transactional = table.engine.transactional
            if not (transactional and statement.fails and not n_writes):
                joins = self._server.is_mariadb and bool(self._caches.transaction)
                self._caches.add(LoggedHead(table.name), to_transaction=transactional or joins)
            # MariaDB still counts it as something that the transaction has logged.
            self._caches.registered |= self._server.is_mariadb

    def _log_text(self, statement: PlayedStatement, decision: Decision, *, n_writes: bool) -> bool:
        """R-log-statement-format."""
        if (statement.fails and not n_writes) or not self._is_logged(statement):
            return False
        to_transaction = (
            bool(self._caches.transaction)
            or UnsafeReason.MIXED_STATEMENT in decision.reasons
            or any(use.table.engine.transactional for use in statement.facts.uses if use.writes)
        )
        entry: Entry = LoggedText(statement.text)
        if statement.facts.kind is Kind.LOAD_DATA:
            entry = LoggedFile(statement.facts.written[0].name)
        self._caches.add(entry, to_transaction=to_transaction)
        if to_transaction and n_writes:
            self._caches.keeps = True
        return True

    @staticmethod
    def _is_logged(statement: PlayedStatement) -> bool:
        """A SELECT is logged if a function of it changed rows."""
        return statement.facts.kind is not Kind.SELECT or bool(statement.done)

    def _log_rows(self, statement: PlayedStatement) -> None:
        """R-log-row-format; on MySQL, the first row brings the maps of all tables."""
        logged = [each for each in statement.done if _has_rows_in_log(each.table)]
        mariadb = self._server.is_mariadb
        # MariaDB 11.8.9 does so for T-tables, after it has taken back rows of a transaction.
        again = mariadb and self._server.number >= (11, 8, 9) and self._caches.took_back
        if logged and (again or not mariadb):
            for table in filter(_has_rows_in_log, statement.facts.written):
                if mariadb and not table.engine.transactional:
                    continue
                entry = LoggedHead(table.name)
                self._caches.add(entry, to_transaction=table.engine.transactional)
        for done in logged:
            rows = LoggedRows(done.table.name, done.change)
            self._caches.add(rows, to_transaction=done.table.engine.transactional)

    def _begin(self, _: PlayedStatement) -> None:
        self._end(self._caches.commit)
        self._in_transaction = True

    def _end(self, how: Callable[[], None]) -> None:
        how()
        self._in_transaction = False

    def _savepoint(self, statement: PlayedStatement) -> None:
        if self.state.in_transaction:
            self._caches.set_savepoint(statement.name)

    def _of_text(self, statement: PlayedStatement) -> None:
        if self._decision.logged_as is LoggedAs.STATEMENT:
            self._alone(statement)

    def _alone(self, statement: PlayedStatement) -> None:
        if not statement.fails:
            self._caches.write_alone(LoggedText(statement.text))

    def _create_temporary(self, statement: PlayedStatement) -> None:
        if not statement.fails:
            logged = self._decision.logged_as is LoggedAs.STATEMENT
            self._temporary.create(statement, self.state, logged=logged)

    def _drop_temporary(self, statement: PlayedStatement) -> None:
        is_logged = self._temporary.drop(statement, self.state)
        # Only the session knows whether the CREATE was logged.
        assert not is_logged or self._decision.logged_as is LoggedAs.STATEMENT

    def _create_select(self, statement: PlayedStatement) -> None:
        if not statement.fails:
            write_create_select(self._caches, self._server, statement, self._decision)

    def _xa_start(self, statement: PlayedStatement) -> None:
        self._xa = statement.name

    def _xa_end(self, ending: Ending) -> None:
        one_phase = ending is Ending.ONE_PHASE
        self._xa = ""
        if one_phase and self._server.is_mariadb:
            self._caches.commit()
        else:
            mariadb = self._server.is_mariadb
            caches = self._caches
            self._prepared = caches.registered if mariadb else bool(caches.transaction)
            self._caches.prepare(ending)

    def _xa_rollback(self, statement: PlayedStatement) -> None:
        if self._xa:
            self._xa = ""
            # Other than at ROLLBACK, MariaDB asks for any N-write, also in the SC.
            self._caches.keeps |= self._server.is_mariadb and self._caches.wrote_n_table
            self._caches.rollback()
        else:
            self._xa_complete(statement)

    def _xa_complete(self, statement: PlayedStatement) -> None:
        if self._prepared:
            self._alone(statement)
