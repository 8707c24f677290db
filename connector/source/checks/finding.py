"""One setting or grant of a source: its value, the value it should have, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from connector.errors import source_cloud, source_setup
from connector.errors.message import Message
from connector.source.server.cloud import Cloud

if TYPE_CHECKING:
    from connector.errors.code import ErrorCode
    from connector.source.server.mysql_server import MysqlServer

# SET PERSIST came with 8.0. Before, and in MariaDB, the option file must say it as well.
_PERSIST_SINCE = (8, 0, 0)
_ABSENT = "absent"
_IN_CLOUD = {
    Cloud.RDS: source_cloud.RDS_PARAMETER,
    Cloud.AURORA: source_cloud.AURORA_PARAMETER,
    Cloud.CLOUD_SQL: source_cloud.CLOUD_SQL_FLAG,
    Cloud.AZURE: source_cloud.AZURE_PARAMETER,
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
    code: ErrorCode = source_setup.SETTING,
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
    facts |= {"name": name, "value": shown, "wanted": wanted}
    if "how" in code.facts:
        facts.setdefault("how", set_global(server, name, wanted))
    return Finding(
        name,
        shown,
        wanted,
        absent_is_good if value is None else value.upper() == wanted,
        Message(code, facts),
        severity,
    )


def set_global(server: MysqlServer, name: str, value: str) -> str | Message:
    """Return what gives a setting a value, also after a restart: mostly a statement."""
    if server.cloud is not None:
        return Message(_IN_CLOUD[server.cloud], {"name": name, "value": value})
    word = value if value.isdigit() else f"'{value}'"
    statement = f"SET {set_verb(server)} {name} = {word}"
    if _persists(server):
        return statement
    facts = {"statement": statement, "name": name, "value": value or word}
    return Message(source_setup.STATEMENT_AND_FILE, facts)


def set_verb(server: MysqlServer) -> str:
    """Return the word after SET for a setting of the whole server."""
    return "PERSIST" if _persists(server) else "GLOBAL"


def _persists(server: MysqlServer) -> bool:
    identity = server.identity
    return identity.flavour == "mysql" and identity.version_number >= _PERSIST_SINCE
