"""An error as fields of a line of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connector.errors.kinds import ConnectorError
    from connector.errors.message import Message


def fields(error: ConnectorError | Message) -> dict[str, str]:
    """Return the text of an error, and its code."""
    return {"error": error.text, "code": error.code.code}
