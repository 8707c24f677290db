"""What the account of a pipeline may do at its source."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from connector.source.checks.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.settings.sections import SourceSettings
    from connector.source.server.mysql_server import MysqlServer

_GLOBAL_GRANT = re.compile(r"GRANT (?P<privileges>.+) ON \*\.\* TO ")
# The start point that has tables copied.
_SNAPSHOT = "snapshot"
_VISIBLE = """
    SELECT 1 FROM information_schema.tables
    WHERE table_schema NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') LIMIT 1
"""


def check_grants(server: MysqlServer, settings: SourceSettings) -> Iterator[Finding]:
    """Yield a finding for each right that the account needs."""
    granted = _global_privileges(server)
    account = str(server.query("SELECT CURRENT_USER() AS account")[0]["account"])
    user, _, host = account.rpartition("@")
    # MariaDB renamed REPLICATION CLIENT, and grants the new name when asked for the old one.
    for names in (("REPLICATION SLAVE",), ("REPLICATION CLIENT", "BINLOG MONITOR", "SUPER")):
        held = granted.intersection(names) or granted.intersection({"ALL PRIVILEGES"})
        yield Finding(
            f"grant {names[0]}",
            "granted" if held else "missing",
            "granted",
            bool(held),
            f"GRANT {names[0]} ON *.* TO '{user or settings.user}'@'{host}'",
            Severity.ERROR,
        )
    if settings.start == _SNAPSHOT:
        to = f"TO '{user or settings.user}'@'{host}'"
        readable = _may_read_tables(server)
        yield Finding(
            "grant SELECT",
            "granted" if readable else "missing",
            "granted",
            readable,
            "; ".join(f"GRANT SELECT ON {tables} {to}" for tables in settings.tables)
            + "; or set source.start to where the stream begins without copies of the tables",
            Severity.ERROR,
        )


def _may_read_tables(server: MysqlServer) -> bool:
    """Return whether the account may read some table.

    Servers hide tables that an account has no right to, and do not say that they do: to an account
    that may read none, every database is empty.
    """
    grants = [str(text) for row in server.query("SHOW GRANTS") for text in row.values()]
    if any(name in text for text in grants for name in ("SELECT", "ALL PRIVILEGES")):
        return True
    return bool(server.query(_VISIBLE))


def _global_privileges(server: MysqlServer) -> set[str]:
    """Return what the account, with its active roles, may do everywhere."""
    granted: set[str] = set()
    for row in server.query("SHOW GRANTS"):
        for text in row.values():
            if match := _GLOBAL_GRANT.match(str(text)):
                granted.update(name.strip().upper() for name in match["privileges"].split(","))
    return granted
