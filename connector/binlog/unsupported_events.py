"""Event types that this version does not read become the reason, and what to do about it."""

from __future__ import annotations

from connector.binlog.event_types import EventType

_PRE_GA = "rows of 5.1 pre-releases are not supported: upgrade the server"

_REASONS: dict[int, str] = {
    EventType.PRE_GA_WRITE_ROWS_EVENT: _PRE_GA,
    EventType.PRE_GA_UPDATE_ROWS_EVENT: _PRE_GA,
    EventType.PRE_GA_DELETE_ROWS_EVENT: _PRE_GA,
}


def why_unsupported(type_code: int) -> str:
    """Return why an event of this type cannot be read, and what to do."""
    return _REASONS.get(
        type_code, "this type is not known and not flagged as ignorable: upgrade the connector"
    )
