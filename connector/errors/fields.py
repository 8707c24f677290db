"""What went wrong, as fields of a line of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors.message import Message

if TYPE_CHECKING:
    from connector.errors.code import ErrorCode
    from connector.errors.kinds import ConnectorError


def fields(error: ConnectorError | Message) -> dict[str, str]:
    """Return the text of an error, and its code."""
    message = error if isinstance(error, Message) else error.message
    return {"error": message.text, "code": message.shown_code.code}


def line(code: ErrorCode, **facts: object) -> dict[str, str]:
    """Return a line that nothing is raised for: its text, and its code."""
    message = Message(code, facts)
    return {"event": message.text, "code": code.code}
