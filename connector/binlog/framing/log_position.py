"""Event headers become positions: a file and a 64-bit offset that never wraps.

A header holds the end of its event modulo 2**32, or 0: events that the server made up for the
replica have no position, and MariaDB (11.4) does not know the position of an event inside a
transaction when it writes the event. So positions are counted, and corrected by headers:

*Gaps.* A server that skips transactions of the replica continues at a later position. The next
position is the first one from the running position on that fits the 32 bits.

*Determinism.* The first and the last event of every transaction have their end in their header, so
their positions depend on the file's bytes alone, whatever was read before. Between them, MariaDB's
events are counted. The count is too low if the server leaves out ANNOTATE_ROWS events because
the replica did not ask for them.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Log__event__header.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, final

from connector.errors import UnsupportedChange, table_rows

if TYPE_CHECKING:
    from connector.binlog.framing.header import EventHeader

# Of the first event, after the four bytes that start a file.
FIRST_POSITION: Final = 4

# Name of the log in messages before the server has named it.
UNNAMED_LOG = "stream"

# No log is that large; from here on, positions would soon exceed 63 bits.
POSITION_MAX: Final = (1 << 62) - 1

_WRAP: Final = 1 << 32
_LOW_BITS: Final = _WRAP - 1

_FILE_NUMBER = re.compile(r"\.(\d+)$")


@final
class PositionCounter:
    """Counts where the next event starts."""

    __slots__ = ("file", "position")

    def __init__(self, file: str, position: int) -> None:
        """Expect the next event at `position` of `file`."""
        self.file = file
        self.position = position

    def start_of(self, header: EventHeader, *, occupies: bool) -> int:
        """Return where the event with this header starts.

        `occupies` is false for an event that is not in the file; it starts where the next one does.
        """
        if header.log_pos == 0 or not occupies:
            return self.position
        low_bits = header.log_pos - header.event_size & _LOW_BITS
        position = self.position
        # Nearly always: directly after the event before it.
        return position if position & _LOW_BITS == low_bits else self._lift(low_bits)

    def advance_to(self, low_bits: int) -> None:
        """Expect the next event at the position that has these low 32 bits."""
        self.position = self._lift(low_bits)

    def _lift(self, low_bits: int) -> int:
        """Return the position with these low 32 bits that continues from the running one."""
        forward = (low_bits - self.position) % _WRAP
        back = _WRAP - forward
        if back < forward and back <= self.position - FIRST_POSITION:
            # Less than half the range back: the header is right, for example in a relay log.
            return self.position - back
        return self.position + forward


def file_number(file: str) -> int:
    """Return the number at the end of a log file's name: 42 for `binlog.000042`.

    Raises UnsupportedChange if the name has none.
    """
    match = _FILE_NUMBER.search(file)
    if match is None:
        raise UnsupportedChange(table_rows.FILE_NUMBER, file=file)
    return int(match[1])
