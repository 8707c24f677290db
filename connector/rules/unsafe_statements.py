"""Why a statement is unsafe: a replica that runs its text could end with other rows.

Unsafeness does not depend on `binlog_format`: MIXED logs an unsafe statement as rows, STATEMENT
logs its text and warns.

*T-tables and N-tables* in one statement or one transaction (R-unsafe-nontransactional). The
document calls a statement unsafe if it touches an N-table, and if it or an earlier statement of
the transaction touched a T-table. The servers are more exact. They look only inside of a
transaction, ask whether the transaction cache holds anything (a read leaves nothing there), and
have a table of pairs for statements that use both kinds.

*DEFAULT expressions* with an unsafe function. MySQL (8.0.13) asks whether a row gets the value.
MariaDB asks whether the table is written at all.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from connector.foundation.server_version import ServerVersion
from connector.rules.functions import SAFE_VARIABLES, unsafe_functions
from connector.rules.server import Isolation, SessionState
from connector.rules.statement_facts import INSERTS, Kind, StatementFacts, Table
from connector.rules.statement_text import ParsedStatement


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
    accesses = set()
    for use in facts.uses:
        if use.table.log_table:
            continue
        table = use.table
        if use.writes:
            accesses.add(_Access(True, table.temporary, table.engine.transactional))
        # The servers count a table that is written as one that is read, too.
        accesses.add(_Access(False, table.temporary, table.engine.transactional))
    return accesses


class UnsafeReason(Enum):
    """A reason; its value begins the sentence of the servers' warning 1592 for it."""

    LIMIT = "The statement is unsafe because it uses a LIMIT clause"
    DELAYED = "The statement is unsafe because it uses INSERT DELAYED"
    SYSTEM_TABLE = "The statement is unsafe because it uses the general log"
    SUB_STATEMENT_AUTO_INCREMENT = (
        "Statement is unsafe because it invokes a trigger or a stored function that inserts"
    )
    UDF = "Statement is unsafe because it uses a UDF"
    SYSTEM_VARIABLE = "Statement is unsafe because it uses a system variable"
    SYSTEM_FUNCTION = "Statement is unsafe because it uses a system function"
    NON_TRANSACTIONAL_AFTER_TRANSACTIONAL = (
        "Statement is unsafe because it accesses a non-transactional table after accessing"
    )
    SELF_LOGGING = "Mixing self-logging and non-self-logging engines in a statement"
    MIXED_STATEMENT = "Statement accesses nontransactional table as well as transactional"
    INSERT_IGNORE_SELECT = "INSERT IGNORE... SELECT is unsafe"
    INSERT_SELECT_UPDATE = "INSERT... SELECT... ON DUPLICATE KEY UPDATE is unsafe"
    WRITE_AUTO_INCREMENT_SELECT = (
        "Statements writing to a table with an auto-increment column after selecting"
    )
    REPLACE_SELECT = "REPLACE... SELECT is unsafe"
    CREATE_IGNORE_SELECT = "CREATE... IGNORE SELECT is unsafe"
    CREATE_REPLACE_SELECT = "CREATE... REPLACE SELECT is unsafe"
    CREATE_SELECT_AUTO_INCREMENT = "CREATE TABLE... SELECT...  on a table with an auto-increment"
    UPDATE_IGNORE = "UPDATE IGNORE is unsafe"
    AUTO_INCREMENT_NOT_FIRST = "INSERT into autoincrement field which is not the first part"
    INSERT_TWO_KEYS = "INSERT... ON DUPLICATE KEY UPDATE  on a table with more than one UNIQUE"
    FULLTEXT_PLUGIN = "Statement is unsafe because it uses a fulltext parser plugin"
    SKIP_LOCKED = "Statement is unsafe because it uses SKIP LOCKED"
    NOWAIT = "Statement is unsafe because it uses NOWAIT"
    XA = "Statement is unsafe because it is being used inside a XA transaction"
    UNSAFE_DEFAULT = (
        "The statement is unsafe because it invokes a trigger or a stored function that modifies"
    )
    ACL_TABLE_READ = "The statement is unsafe because it updates a table depending on ACL table"


def unsafe_reasons(
    facts: StatementFacts, session: SessionState, server: ServerVersion
) -> frozenset[UnsafeReason]:
    """Return every reason for which the statement is unsafe; none if it is safe."""
    return frozenset(
        (
            *_of_words(facts, server),
            *_of_order(facts, server),
            *_of_auto_increment(facts),
            *_of_tables(facts, session, server),
        )
    )


def _of_words(facts: StatementFacts, server: ServerVersion) -> Iterator[UnsafeReason]:
    """Yield what the text alone shows, with that of its sub-statements."""
    if facts.functions & unsafe_functions(server) or facts.unsafe_default:
        yield UnsafeReason.SYSTEM_FUNCTION
    if facts.variables - SAFE_VARIABLES:
        yield UnsafeReason.SYSTEM_VARIABLE
    if facts.udf:
        yield UnsafeReason.UDF
    if facts.limit:
        yield UnsafeReason.LIMIT
    if facts.delayed and _has_delayed_inserts(server):
        yield UnsafeReason.DELAYED
    if facts.fulltext_plugin:
        yield UnsafeReason.FULLTEXT_PLUGIN
    if facts.skip_locked and not server.is_mariadb:
        yield UnsafeReason.SKIP_LOCKED
    if facts.nowait and server.mysql_since(8, 0, 1):
        yield UnsafeReason.NOWAIT


def _has_delayed_inserts(server: ServerVersion) -> bool:
    """MySQL 5.7 made INSERT DELAYED an INSERT; MariaDB does so in STATEMENT and MIXED format."""
    return not server.is_mariadb and server.number < (5, 7, 0)


def _of_order(facts: StatementFacts, server: ServerVersion) -> Iterator[UnsafeReason]:
    """Yield the reasons by which the order of the rows decides what is stored."""
    kind = facts.kind
    if kind is Kind.INSERT_SELECT and facts.ignore:
        yield UnsafeReason.INSERT_IGNORE_SELECT
    if kind is Kind.INSERT_SELECT and facts.on_duplicate:
        yield UnsafeReason.INSERT_SELECT_UPDATE
    if kind is Kind.REPLACE_SELECT:
        yield UnsafeReason.REPLACE_SELECT
    if kind is Kind.UPDATE and facts.ignore:
        yield UnsafeReason.UPDATE_IGNORE
    if kind is Kind.CREATE_TABLE_SELECT:
        if facts.ignore:
            yield UnsafeReason.CREATE_IGNORE_SELECT
        if facts.replace:
            yield UnsafeReason.CREATE_REPLACE_SELECT
        if _has_auto_increment(facts.written):
            yield UnsafeReason.CREATE_SELECT_AUTO_INCREMENT
    if kind is Kind.INSERT and facts.on_duplicate and _may_double(facts, server):
        yield UnsafeReason.INSERT_TWO_KEYS


def _may_double(facts: StatementFacts, server: ServerVersion) -> bool:
    """Return whether a row of an INSERT can be there already in more than one unique key."""
    own = [use.table for use in facts.uses if use.writes and not use.in_sub_statement]
    listed = facts.listed if server.is_mariadb and facts.listed else None
    return any(_duplicates_in(table, listed) > 1 for table in own)


def _duplicates_in(table: Table, listed: frozenset[str] | None) -> int:
    """Return in how many unique keys a row can be there already.

    MariaDB leaves out those that get a NULL, because the INSERT does not list the column.
    """
    nulls = {
        column.name
        for column in table.columns
        if listed is not None and column.null_by_default and column.name.lower() not in listed
    }
    return sum(nulls.isdisjoint(key.columns) for key in table.unique_keys)


def _of_auto_increment(facts: StatementFacts) -> Iterator[UnsafeReason]:
    """Yield the reasons by which AUTO_INCREMENT values could differ."""
    if _has_auto_increment(use.table for use in facts.uses if use.in_sub_statement and use.writes):
        yield UnsafeReason.SUB_STATEMENT_AUTO_INCREMENT
    # The servers look at locks, not at the kind of the statement, and at those of triggers, too.
    if facts.only_read and _has_auto_increment(facts.written):
        yield UnsafeReason.WRITE_AUTO_INCREMENT_SELECT
    if any(table.auto_increment_not_first for table in facts.written):
        yield UnsafeReason.AUTO_INCREMENT_NOT_FIRST


def _has_auto_increment(tables: Iterator[Table] | list[Table]) -> bool:
    return any(table.auto_increment is not None for table in tables)


def _of_tables(
    facts: StatementFacts, session: SessionState, server: ServerVersion
) -> Iterator[UnsafeReason]:
    """Yield the reasons that the tables, their engines and the transaction give."""
    uses = facts.uses
    if any(use.table.log_table for use in uses):
        yield UnsafeReason.SYSTEM_TABLE
    # R-unsafe-nontransactional, as the servers have it: see `mixed_engines`.
    if is_mixed(facts, session, server):
        yield UnsafeReason.MIXED_STATEMENT
    elif writes_after_transactional(facts, session):
        yield UnsafeReason.NON_TRANSACTIONAL_AFTER_TRANSACTIONAL
    # R-unsafe-self-logging: the servers ask whether engines are mixed in one statement.
    engines = {use.table.engine.name for use in uses}
    if len(engines) > 1 and any(use.table.engine.self_logging for use in uses):
        yield UnsafeReason.SELF_LOGGING
    if session.in_xa and facts.written and not server.is_mariadb:
        yield UnsafeReason.XA
    if server.mysql_since(8, 0, 13) and any(
        use.in_sub_statement
        and use.writes
        and any(column.unsafe_default for column in use.table.columns)
        for use in uses
    ):
        yield UnsafeReason.UNSAFE_DEFAULT
    if (
        server.mysql_since(8, 0, 22)
        and facts.written
        and any(table.acl_table for table in facts.read)
    ):
        yield UnsafeReason.ACL_TABLE_READ


_TAKE_DEFAULTS: Final = INSERTS | {Kind.REPLACE, Kind.REPLACE_SELECT, Kind.LOAD_DATA}


def takes_unsafe_default(parsed: ParsedStatement, table: Table, server: ServerVersion) -> bool:
    """Return whether the statement, which writes the table, is unsafe by one of its DEFAULTs."""
    unsafe = {
        column.name.lower(): place
        for place, column in enumerate(table.columns)
        if column.unsafe_default
    }
    if server.is_mariadb or not unsafe:
        return bool(unsafe)
    taken = {column.lower() for column in parsed.defaults}
    if parsed.kind in _TAKE_DEFAULTS and parsed.listed:
        listed = {column.lower() for column in parsed.listed}
        taken |= unsafe.keys() - listed
    elif parsed.kind in _TAKE_DEFAULTS:
        taken |= {name for name, place in unsafe.items() if place in parsed.default_places}
    return bool(unsafe.keys() & taken)
