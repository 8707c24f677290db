"""The small packets beside events and rows: ERR and EOF.

The first byte of a response says what it is; the caller removes it before ERR or EOF is decoded.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_response_packets.html
"""

from dataclasses import dataclass
from typing import Final

from connector.binlog.payload_reader import PayloadReader

OK: Final = 0x00
EOF: Final = 0xFE
ERR: Final = 0xFF

# A longer payload after 0xFE would be a length-encoded integer, not an EOF.
EOF_LENGTH_MAX: Final = 8

_SQLSTATE_MARKER = b"#"
_SQLSTATE_LENGTH = 5


@dataclass(frozen=True, slots=True)
class ErrPacket:
    """The server refuses, or ends the connection.

    ::

        ff | code u16 | "#", sqlstate 5 | message, up to the end

    The sqlstate is absent before the login is complete.
    """

    code: int
    sqlstate: str  # "" if the server sends none
    message: str

    @classmethod
    def decode(cls, body: PayloadReader) -> "ErrPacket":
        """Decode the bytes after 0xFF."""
        code = body.read_uint16()
        rest = body.read_rest()
        sqlstate = b""
        if rest.startswith(_SQLSTATE_MARKER):
            sqlstate, rest = rest[1 : 1 + _SQLSTATE_LENGTH], rest[1 + _SQLSTATE_LENGTH :]
        # A message may quote file names in any charset.
        return cls(code, sqlstate.decode("ascii", "replace"), rest.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class EofPacket:
    """The dump is over: the end of the log if NON_BLOCK was asked for, else a shutdown.

    ::

        fe | warnings u16 | status flags u16
    """

    warnings: int
    status: int

    @classmethod
    def decode(cls, body: PayloadReader) -> "EofPacket":
        """Decode the bytes after 0xFE; servers before 4.1 send none."""
        if not body.remaining:
            return cls(0, 0)
        return cls(body.read_uint16(), body.read_uint16())
