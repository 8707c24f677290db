"""Where copied rows stand in the order of changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# What `source` says of a copied row, unless it is the first or the last of a snapshot.
COPIED: Final = "true"
_FIRST: Final = "first"
_LAST: Final = "last"


@dataclass(frozen=True, slots=True)
class CopyPosition:
    """Where the rows of a chunk stand in the log and in the order of changes.

    Their sequences are (epoch, number of `file`, position - 1, n // 10^8, n % 10^8), n counting
    from `first_row`: after every change that was delivered before, and before all that follow.
    """

    epoch: int
    file: str
    file_number: int
    position: int  # first byte after the last delivered transaction
    first_row: int  # number of copied rows that were written at this position before
    read_us: int  # time of the SELECT by the connector's clock, in microseconds since 1970
    time_us: int  # when the source was at `position`, by its log, in microseconds since 1970
    # What `source` says of the first and of the last row of the chunk.
    first: str = COPIED
    last: str = COPIED

    @property
    def is_marked(self) -> bool:
        """Whether a row of the chunk is the first or the last of a table."""
        return self.first != COPIED or self.last != COPIED

    def mark(self, *, is_first: bool, is_last: bool) -> str:
        """Return what `source` says of a row; if two marks fit, Debezium's choice."""
        first = self.first if is_first else COPIED
        last = self.last if is_last else COPIED
        return first if last == COPIED or (first == _FIRST and last != _LAST) else last
