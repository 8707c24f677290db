"""What the connection to the source does not protect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.errors import source_setup
from connector.errors.message import Message
from connector.settings.values import is_loopback
from connector.source.checks.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.settings.sections import SourceSettings

_WANTED: Final = "verify_identity"
_UNPROTECTED: Final = {
    "disabled": source_setup.NOT_ENCRYPTED,
    "preferred": source_setup.PREFERRED_TLS,
    "required": source_setup.UNVERIFIED_TLS,
}


def check_encryption(settings: SourceSettings) -> Iterator[Finding]:
    """Yield the finding about `source.tls.mode`; none if the source is on this machine."""
    if is_loopback(settings.host):
        return
    mode = settings.tls.mode
    code = _UNPROTECTED.get(mode, source_setup.UNVERIFIED_TLS)
    problem = Message(code, {"value": mode, "host": settings.host})
    ok = mode not in _UNPROTECTED
    yield Finding("source.tls.mode", mode, _WANTED, ok, problem, Severity.WARNING)
