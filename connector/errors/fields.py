"""An error as fields of a line of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors.message import Message

if TYPE_CHECKING:
    from connector.errors.kinds import ConnectorError


def fields(error: ConnectorError | Message) -> dict[str, str]:
    """Return the text of an error, and its code."""
    message = error if isinstance(error, Message) else error.message
    return {"error": message.text, "code": message.shown_code.code}
