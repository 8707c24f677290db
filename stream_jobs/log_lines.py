"""The parts of every status line: the JSON envelope, or the time before the text.

The job and the replica share them. JSON lines have the field names of the connector's log.
"""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from connector.foundation.ecs import as_ecs
from connector.foundation.errors.message import visible_json
from connector.foundation.errors.secrets_in_urls import value_without_secrets
from connector.foundation.line_bounds import bounded
from connector.foundation.record_formats import utc_text

# Other lines with a code are warnings.
_ERRORS: Final = frozenset({"failed", "table_quarantined", "trace"})


class EcsLine:
    """Names the facts of lines."""

    def __init__(self, command: str, name: str | None) -> None:
        """Name `command`, such as `mirror`, and the `name` of the configuration if it is known."""
        self._named = as_ecs(command, name)

    def text(self, event: str, facts: Mapping[str, Any]) -> str:
        """Return the line of an event, without its end; it is bounded as `line_bounds` says."""
        level = "warning" if "code" in facts else "info"
        entry = {
            "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": "error" if event in _ERRORS else level,
            "event": event,
            **bounded(value_without_secrets(facts)),
        }
        return visible_json(self._named(None, "", entry), default=str)


def line_time(seconds: float, is_terminal: bool) -> str:
    """Return the time of day here; of a line that is kept, date and time in UTC.

    `seconds` count from 1970. The connector's log has the same form as what is kept.
    """
    if is_terminal:
        return time.strftime("%H:%M:%S", time.localtime(seconds))
    return utc_text(int(seconds))
