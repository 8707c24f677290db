"""The findings of a check of the source: settings and grants, and gaps in row logging.

A finding has a name, the value, the wanted value, and what to do. The grants of the account are
here, because they are findings themselves and name the account in what others advise.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from connector.foundation.errors import SourceRefused
from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import Message
from connector.foundation.settings.sections import SourceSettings
from connector.replication.server.identity import Cloud
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import replica_status_query
from connector.stream.source import setup_errors

# SET PERSIST came with 8.0. Before, and in MariaDB, the option file must say it as well.
_PERSIST_SINCE = (8, 0, 0)
_ABSENT = "absent"
_IN_CLOUD = {
    Cloud.RDS: setup_errors.RDS_PARAMETER,
    Cloud.AURORA: setup_errors.AURORA_PARAMETER,
    Cloud.CLOUD_SQL: setup_errors.CLOUD_SQL_FLAG,
    Cloud.AZURE: setup_errors.AZURE_PARAMETER,
}


class Severity(StrEnum):
    """The effect of a finding that is not good."""

    ERROR = "error"  # the pipeline does not start
    WARNING = "warning"  # advice


@dataclass(frozen=True, slots=True)
class Finding:
    """One setting or grant: its value, the value it should have, and what to do."""

    name: str
    value: str
    wanted: str
    ok: bool
    problem: Message  # what to say if it is not `ok`
    severity: Severity


def check_setting(
    server: MysqlServer,
    name: str,
    wanted: str,
    code: ErrorCode = setup_errors.SETTING,
    *,
    severity: Severity = Severity.ERROR,
    absent_is_good: bool = False,
    **facts: object,
) -> Finding:
    """Return whether a setting has the value that is `wanted`, in capital letters.

    If it has another value, `code` says what to do, with `facts` or with the statement that changes
    it.
    """
    value = server.variable(name)
    shown = _ABSENT if value is None else value or "''"
    if "how" in code.facts:
        facts.setdefault("how", set_global(server, name, wanted))
    ok = absent_is_good if value is None else value.upper() == wanted
    return finding(code, name, shown, wanted, ok=ok, severity=severity, **facts)


def finding(
    code: ErrorCode,
    name: str,
    value: str,
    wanted: str,
    *,
    ok: bool,
    severity: Severity = Severity.WARNING,
    **facts: object,
) -> Finding:
    """Return a finding whose `code` names the setting, its value and the wanted one."""
    facts |= {"name": name, "value": value, "wanted": wanted}
    return Finding(name, value, wanted, ok, Message(code, facts), severity)


def set_global(server: MysqlServer, name: str, value: str) -> str | Message:
    """Return what gives a setting a value, also after a restart: mostly a statement."""
    if server.cloud is not None:
        return Message(_IN_CLOUD[server.cloud], {"name": name, "value": value})
    word = value if value.isdigit() else f"'{value}'"
    statement = f"SET {set_verb(server)} {name} = {word}"
    if _persists(server):
        return statement
    facts = {"statement": statement, "name": name, "value": value or word}
    return Message(setup_errors.STATEMENT_AND_FILE, facts)


def set_verb(server: MysqlServer) -> str:
    """Return the word after SET for a setting of the whole server."""
    return "PERSIST" if _persists(server) else "GLOBAL"


def _persists(server: MysqlServer) -> bool:
    identity = server.identity
    return identity.flavour == "mysql" and identity.version_number >= _PERSIST_SINCE


@dataclass(frozen=True, slots=True)
class RowLoggingGap:
    """One rule of a server that leaves changes out of the rows of its log.

    `rule` has a name of docs/logging-rules.md. `places` are tables or programs, each with the
    statement that fixes it, with more about it, or with "".
    """

    rule: str
    problem: Message
    places: tuple[tuple[str, str], ...] = ()


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
        yield _grant(setup_errors.GRANT, names[0], facts, held=bool(held))
    if settings.start == _SNAPSHOT:
        statements = "; ".join(f"GRANT SELECT ON {tables} TO {to}" for tables in settings.tables)
        facts, may_read = {"statements": statements}, _may_read_tables(server)
        yield _grant(setup_errors.GRANT_SELECT, "SELECT", facts, held=may_read)


def check_lag(server: MysqlServer, settings: SourceSettings) -> Iterator[Finding]:
    """Yield whether a replica of MariaDB tells the account its lag; none for other servers.

    On MySQL, a right that every account needs is enough.
    """
    if server.identity.flavour != "mariadb" or not server.global_value("gtid_slave_pos"):
        return
    try:
        server.query(replica_status_query(server.identity))
        value = "granted"
    except SourceRefused:
        value = "missing"
    code, name, account = (
        setup_errors.GRANT_LAG,
        "grant SLAVE MONITOR",
        account_of(server, settings),
    )
    yield finding(code, name, value, "granted", ok=value == "granted", account=account)


def _grant(code: ErrorCode, right: str, facts: dict[str, str], *, held: bool) -> Finding:
    name, value = f"grant {right}", "granted" if held else "missing"
    return finding(code, name, value, "granted", ok=held, severity=Severity.ERROR, **facts)


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
