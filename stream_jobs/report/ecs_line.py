"""A status line as JSON, with the names of the connector's log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from connector.contract.ecs import as_ecs
from connector.errors.visible import visible_json

if TYPE_CHECKING:
    from collections.abc import Mapping

# Other lines with a code are warnings.
_ERRORS: Final = frozenset({"failed", "table_quarantined", "trace"})


class EcsLine:
    """Names the facts of lines."""

    def __init__(self, command: str, name: str | None) -> None:
        """Name `command`, such as `mirror`, and the `name` of the configuration if it is known."""
        self._named = as_ecs(command, name)

    def text(self, event: str, facts: Mapping[str, Any]) -> str:
        """Return the line of an event, without its end."""
        level = "warning" if "code" in facts else "info"
        entry = {
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": "error" if event in _ERRORS else level,
            "event": event,
            **facts,
        }
        return visible_json(self._named(None, "", entry), default=str)
