"""CREATE TABLE … SELECT in the log: its text, or the table and its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.logging_rules.format_decision import LoggedAs
from connector.logging_rules.log_groups import (
    Ending,
    Group,
    LoggedRows,
    LoggedTable,
    LoggedText,
    joined,
)

if TYPE_CHECKING:
    from connector.logging_rules.caches import Caches
    from connector.logging_rules.format_decision import Decision
    from connector.logging_rules.played_statement import PlayedStatement
    from connector.logging_rules.server_version import ServerVersion


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
