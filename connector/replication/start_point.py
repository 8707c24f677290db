"""The position in a source's log where a stream begins, and the server to whose log it belongs.

Both are plain values without I/O, because the progress of a stream is made of them.
"""

from dataclasses import dataclass, field
from typing import Literal

from connector.binlog.gtid import GtidSet, MariadbGtidSet

# The most characters of a GTID set in an error message.
_SHOWN_CHARACTERS_MAX = 300


@dataclass(frozen=True, slots=True)
class StartPoint:
    """A position in the source's log: after `gtid_set` if there is one, else file and offset."""

    flavour: Literal["mysql", "mariadb"]
    gtid_set: GtidSet | MariadbGtidSet | None
    file: str  # "" if only the set is known, or if it was read from another server
    position: int
    # The server's start of the file, seconds since the epoch; 0 if unknown.
    file_created: int = 0
    # What another program has delivered of the next transaction: the first rows events, and the
    # first rows of the event after them.
    begun_events: int = 0
    begun_rows: int = 0
    # The server's clock when the position was the end of its log, microseconds since the epoch; 0
    # for a position in the past. It is not a part of the position.
    time_us: int = field(default=0, compare=False)


def shortened_gtids(gtids: GtidSet | MariadbGtidSet) -> str:
    """Return the set for error messages; a long one is shortened."""
    text = str(gtids)
    if len(text) <= _SHOWN_CHARACTERS_MAX:
        return text
    return f"{text[:_SHOWN_CHARACTERS_MAX]}... ({len(text)} characters)"


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """The identity that the server reports."""

    flavour: Literal["mysql", "mariadb"]
    version: str  # as the server spells it
    version_number: tuple[int, int, int]
    server_uuid: str  # `server/identity.py` says how it is made
    server_id: int
    gtid: bool  # whether every transaction has a GTID
