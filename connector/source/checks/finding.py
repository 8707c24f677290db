"""One thing that a source needs: what is, what should be, and how to get there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.source.server.mysql_server import MysqlServer

# SET PERSIST came with 8.0; before, and in MariaDB, the option file must say it as well.
_PERSIST_SINCE = (8, 0, 0)
_ABSENT = "absent"


class Severity(StrEnum):
    """What a finding that is not good means."""

    ERROR = "error"  # the pipeline does not start
    WARNING = "warning"  # advice


@dataclass(frozen=True, slots=True)
class Finding:
    """One setting or grant: what is, what should be, and how to get there."""

    name: str
    value: str
    wanted: str
    ok: bool
    fix: str  # a statement, or what to do where no statement will
    severity: Severity

    def __str__(self) -> str:
        """Return one line for the operator."""
        return f"{self.name} is {self.value}, wanted {self.wanted}: {self.fix}"


def check_setting(
    server: MysqlServer,
    name: str,
    wanted: str,
    *,
    fix: str = "",
    severity: Severity = Severity.ERROR,
    absent_is_good: bool = False,
) -> Finding:
    """Return whether a setting has the value that is `wanted`, in capital letters.

    `fix` says how it gets there, where one statement does not do.
    """
    value = server.variable(name)
    return Finding(
        name,
        _ABSENT if value is None else value or "''",
        wanted or "''",
        absent_is_good if value is None else value.upper() == wanted,
        fix or set_global(server, name, wanted),
        severity,
    )


def set_global(server: MysqlServer, name: str, value: str) -> str:
    """Return how a setting gets a value that outlives a restart."""
    word = value if value.isdigit() else f"'{value}'"
    statement = f"SET {set_verb(server)} {name} = {word}"
    if _persists(server):
        return statement
    return f"{statement}, and {name} = {value or word} in the server's option file"


def set_verb(server: MysqlServer) -> str:
    """Return the word behind SET for a setting of the whole server."""
    return "PERSIST" if _persists(server) else "GLOBAL"


def _persists(server: MysqlServer) -> bool:
    identity = server.identity
    return identity.flavour == "mysql" and identity.version_number >= _PERSIST_SINCE
