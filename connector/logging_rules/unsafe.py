"""Why a statement is unsafe: a replica that runs its text could end with other rows.

Unsafeness does not depend on `binlog_format`: MIXED logs an unsafe statement as rows, STATEMENT
logs its text and warns.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from connector.logging_rules.mixed_engines import is_mixed, writes_after_transactional
from connector.logging_rules.statement_facts import Kind
from connector.logging_rules.unsafe_functions import SAFE_VARIABLES, unsafe_functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.logging_rules.server_version import ServerVersion
    from connector.logging_rules.session_state import SessionState
    from connector.logging_rules.statement_facts import StatementFacts
    from connector.logging_rules.table import Table


class Reason(Enum):
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
) -> frozenset[Reason]:
    """Return every reason for which the statement is unsafe; none if it is safe."""
    return frozenset(
        (
            *_of_words(facts, server),
            *_of_order(facts, server),
            *_of_auto_increment(facts),
            *_of_tables(facts, session, server),
        )
    )


def _of_words(facts: StatementFacts, server: ServerVersion) -> Iterator[Reason]:
    """Yield what the text alone shows, with that of its sub-statements."""
    if facts.functions & unsafe_functions(server) or facts.unsafe_default:
        yield Reason.SYSTEM_FUNCTION
    if facts.variables - SAFE_VARIABLES:
        yield Reason.SYSTEM_VARIABLE
    if facts.udf:
        yield Reason.UDF
    if facts.limit:
        yield Reason.LIMIT
    if facts.delayed and _has_delayed_inserts(server):
        yield Reason.DELAYED
    if facts.fulltext_plugin:
        yield Reason.FULLTEXT_PLUGIN
    if facts.skip_locked and not server.is_mariadb:
        yield Reason.SKIP_LOCKED
    if facts.nowait and server.mysql_since(8, 0, 1):
        yield Reason.NOWAIT


def _has_delayed_inserts(server: ServerVersion) -> bool:
    """MySQL 5.7 made INSERT DELAYED an INSERT; MariaDB does so in STATEMENT and MIXED format."""
    return not server.is_mariadb and server.number < (5, 7, 0)


def _of_order(facts: StatementFacts, server: ServerVersion) -> Iterator[Reason]:
    """Yield the reasons by which the order of the rows decides what is stored."""
    kind = facts.kind
    if kind is Kind.INSERT_SELECT and facts.ignore:
        yield Reason.INSERT_IGNORE_SELECT
    if kind is Kind.INSERT_SELECT and facts.on_duplicate:
        yield Reason.INSERT_SELECT_UPDATE
    if kind is Kind.REPLACE_SELECT:
        yield Reason.REPLACE_SELECT
    if kind is Kind.UPDATE and facts.ignore:
        yield Reason.UPDATE_IGNORE
    if kind is Kind.CREATE_TABLE_SELECT:
        if facts.ignore:
            yield Reason.CREATE_IGNORE_SELECT
        if facts.replace:
            yield Reason.CREATE_REPLACE_SELECT
        if _has_auto_increment(facts.written):
            yield Reason.CREATE_SELECT_AUTO_INCREMENT
    if kind is Kind.INSERT and facts.on_duplicate and _may_double(facts, server):
        yield Reason.INSERT_TWO_KEYS


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


def _of_auto_increment(facts: StatementFacts) -> Iterator[Reason]:
    """Yield the reasons by which AUTO_INCREMENT values could differ."""
    if _has_auto_increment(use.table for use in facts.uses if use.in_sub_statement and use.writes):
        yield Reason.SUB_STATEMENT_AUTO_INCREMENT
    # The servers look at locks, not at the kind of the statement, and at those of triggers, too.
    if facts.only_read and _has_auto_increment(facts.written):
        yield Reason.WRITE_AUTO_INCREMENT_SELECT
    if any(table.auto_increment_not_first for table in facts.written):
        yield Reason.AUTO_INCREMENT_NOT_FIRST


def _has_auto_increment(tables: Iterator[Table] | list[Table]) -> bool:
    return any(table.auto_increment is not None for table in tables)


def _of_tables(
    facts: StatementFacts, session: SessionState, server: ServerVersion
) -> Iterator[Reason]:
    """Yield the reasons that the tables, their engines and the transaction give."""
    uses = facts.uses
    if any(use.table.log_table for use in uses):
        yield Reason.SYSTEM_TABLE
    # R-unsafe-nontransactional, as the servers have it: see `mixed_engines`.
    if is_mixed(facts, session, server):
        yield Reason.MIXED_STATEMENT
    elif writes_after_transactional(facts, session):
        yield Reason.NON_TRANSACTIONAL_AFTER_TRANSACTIONAL
    # R-unsafe-self-logging: the servers ask whether engines are mixed in one statement.
    engines = {use.table.engine.name for use in uses}
    if len(engines) > 1 and any(use.table.engine.self_logging for use in uses):
        yield Reason.SELF_LOGGING
    if session.in_xa and facts.written and not server.is_mariadb:
        yield Reason.XA
    if server.mysql_since(8, 0, 13) and any(
        use.in_sub_statement
        and use.writes
        and any(column.unsafe_default for column in use.table.columns)
        for use in uses
    ):
        yield Reason.UNSAFE_DEFAULT
    if (
        server.mysql_since(8, 0, 22)
        and facts.written
        and any(each.acl_table for each in facts.read)
    ):
        yield Reason.ACL_TABLE_READ
