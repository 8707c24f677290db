"""The rights of a pipeline's account at its source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from connector.errors import source_setup
from connector.errors.message import Message
from connector.source.checks.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.errors.code import ErrorCode
    from connector.settings.sections import SourceSettings
    from connector.source.server.mysql_server import MysqlServer

_GLOBAL_GRANT = re.compile(r"GRANT (?P<privileges>.+) ON \*\.\* TO ")
# With this start point, tables are copied.
_SNAPSHOT = "snapshot"
_VISIBLE = """
    SELECT 1 FROM information_schema.tables
    WHERE table_schema NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') LIMIT 1
"""


def check_grants(server: MysqlServer, settings: SourceSettings) -> Iterator[Finding]:
    """Yield a finding for each right that the account needs."""
    granted = global_privileges(server)
    to = account_of(server, settings)
    # MariaDB renamed REPLICATION CLIENT, and grants the new name when asked for the old one.
    for names in (("REPLICATION SLAVE",), ("REPLICATION CLIENT", "BINLOG MONITOR", "SUPER")):
        held = granted.intersection(names) or granted.intersection({"ALL PRIVILEGES"})
        facts = {"right": names[0], "account": to}
        yield _grant(source_setup.GRANT, names[0], facts, held=bool(held))
    if settings.start == _SNAPSHOT:
        statements = [f"GRANT SELECT ON {tables} TO {to}" for tables in settings.tables]
        facts = {"statements": "; ".join(statements)}
        held_select = _may_read_tables(server)
        yield _grant(source_setup.GRANT_SELECT, "SELECT", facts, held=held_select)


def _grant(code: ErrorCode, right: str, facts: dict[str, str], *, held: bool) -> Finding:
    name, value, wanted = f"grant {right}", "granted" if held else "missing", "granted"
    problem = Message(code, {"name": name, "value": value, "wanted": wanted, **facts})
    return Finding(name, value, wanted, held, problem, Severity.ERROR)


def _may_read_tables(server: MysqlServer) -> bool:
    """Return whether the account may read some table.

    A server hides tables that an account has no right to, without an error. If an account may read
    none, every database looks empty.
    """
    grants = [str(text) for row in server.query("SHOW GRANTS") for text in row.values()]
    if any(name in text for text in grants for name in ("SELECT", "ALL PRIVILEGES")):
        return True
    return bool(server.query(_VISIBLE))


def account_of(server: MysqlServer, settings: SourceSettings) -> str:
    """Return the account of the session, as GRANT names it."""
    account = str(server.query("SELECT CURRENT_USER() AS account")[0]["account"])
    user, _, host = account.rpartition("@")
    return f"'{user or settings.user}'@'{host}'"


def global_privileges(server: MysqlServer) -> set[str]:
    """Return the global privileges of the account and of its active roles."""
    granted: set[str] = set()
    for row in server.query("SHOW GRANTS"):
        for text in row.values():
            if match := _GLOBAL_GRANT.match(str(text)):
                granted.update(name.strip().upper() for name in match["privileges"].split(","))
    return granted
