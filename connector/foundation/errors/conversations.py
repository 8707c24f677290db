"""L500: the conversation with a server."""

from __future__ import annotations

from connector.foundation.errors.code import ErrorCode

_LOOK = (
    "bytes were lost, or something between here and the server changed them: look at proxies, or "
    "set {source.tls.mode} to required"
)
_URL_LOOK = _LOOK.replace("to required", "to REQUIRED")
_RULES = "The packets of a server follow rules, and this one breaks them."


def _garbled(code: str, what: str, **example: object) -> ErrorCode:
    return ErrorCode(
        code,
        f"{{server}}: {what}",
        _LOOK,
        url_fix=_URL_LOOK,
        cause=_RULES,
        example={"server": "db1:3306", **example},
    )


STREAM_UNREADABLE = _garbled(
    "L501",
    "the replication stream has a packet that cannot be read ({why})",
    why="need 2 bytes at offset 0, but the payload ends at 1",
)
STREAM_EMPTY_PACKET = _garbled(
    "L502", "the replication stream has an empty packet at the start of an event"
)
STREAM_EVENT_SIZE = _garbled(
    "L503", "the replication stream has an event of more than {limit} bytes", limit=1 << 30
)
STREAM_NUMBER = _garbled(
    "L504",
    "the replication stream has packet number {number}, but {needed} must follow",
    number=7,
    needed=5,
)
STREAM_FIRST_BYTE = _garbled(
    "L505",
    "the replication stream has a payload of {length} bytes that starts with {first:#04x}; only "
    "0x00 (an event), 0xff (an error) and 0xfe (its end) may",
    length=40,
    first=0x21,
)
ANSWER_UNREADABLE = _garbled(
    "L511",
    "the answer to a query has a packet that cannot be read ({why})",
    why="need 2 bytes at offset 0, but the payload ends at 1",
)
ANSWER_EMPTY_PACKET = _garbled("L512", "the answer to a query has an empty packet")
ANSWER_ROW_SIZE = _garbled(
    "L513",
    "the answer to a query has a row of more than {limit} bytes",
    limit=(1 << 30) + (1 << 16),
)
ANSWER_NUMBER = _garbled(
    "L514",
    "the answer to a query has packet number {number}, but {needed} must follow",
    number=7,
    needed=5,
)
ANSWER_PACKET = _garbled("L515", "the answer to a query has a packet that does not belong there")
ANSWER_FILE = _garbled("L516", "the answer to a query has a request for a file")
ANSWER_END = _garbled("L517", "the answer to a query has an end that does not belong there")
SEMI_SYNC_HEADER = ErrorCode(
    "L521",
    "an event of semi-synchronous replication starts with ef and a flag, not with {found!r}",
    cause=(
        "A server was asked to wait for this reader, and marks each event. This event has no mark."
    ),
    example={"found": "00 01"},
)
