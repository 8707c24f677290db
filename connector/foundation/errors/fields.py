"""An error as fields of a log line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.foundation.errors.message import Message

if TYPE_CHECKING:
    from connector.foundation.errors.code import ErrorCode
    from connector.foundation.errors.kinds import ConnectorError


def fields(error: ConnectorError | Message) -> dict[str, str]:
    """Return `error`, the text of an error, and `code`."""
    message = error if isinstance(error, Message) else error.message
    return {"error": message.text, "code": message.shown_code.code}


def line(code: ErrorCode, **facts: object) -> dict[str, str]:
    """Return `event`, a text of the catalogue, and `code`, for a log line without an error."""
    message = Message(code, facts)
    return {"event": message.text, "code": code.code}
