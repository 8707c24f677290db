"""Whether the source would execute the statement of heartbeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.errors import SourceRefused, source_setup
from connector.errors.message import Message
from connector.source.checks.finding import Finding, Severity, check_setting
from connector.source.checks.grants import account_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.settings.sections import SourceSettings
    from connector.source.server.mysql_server import MysqlServer

_NAME: Final = "source.heartbeat_statement"
# ER_UNSUPPORTED_PS: only its execution tells whether the statement succeeds.
_NOT_PREPARED: Final = 1295


def check_heartbeat(server: MysqlServer, settings: SourceSettings) -> Iterator[Finding]:
    """Yield the findings about `source.heartbeat_statement`; none without one.

    The server prepares the statement: that checks tables and rights, and executes nothing. Raises
    SourceUnavailable if the connection breaks.
    """
    if not settings.heartbeat_statement:
        return
    said = _refusal(server, settings.heartbeat_statement)
    value, wanted = "refused" if said else "accepted", "accepted"
    facts = {
        "name": _NAME,
        "value": value,
        "wanted": wanted,
        "said": said,
        "account": account_of(server, settings),
    }
    problem = Message(source_setup.HEARTBEAT_REFUSED, facts)
    yield Finding(_NAME, value, wanted, not said, problem, Severity.WARNING)
    code = source_setup.HEARTBEAT_READ_ONLY
    yield check_setting(server, "read_only", "OFF", code, severity=Severity.WARNING)


def _refusal(server: MysqlServer, statement: str) -> str:
    """Return what the server says against the statement; "" if it would execute it."""
    try:
        server.query("PREPARE heartbeat FROM %s", (statement,))
    except SourceRefused as error:
        facts = error.message.facts
        return "" if facts["number"] == _NOT_PREPARED else str(facts["said"])
    server.query("DEALLOCATE PREPARE heartbeat")
    return ""
