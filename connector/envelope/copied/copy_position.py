"""Where copied rows stand in the order of changes."""

from __future__ import annotations

from dataclasses import dataclass


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
    read_us: int  # time of the SELECT, in microseconds since 1970
