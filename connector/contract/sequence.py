"""The total order of changes, and its form on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Digits of each part of a sequence on the wire; the widths are also the limits.
SEQ_EPOCH_DIGITS: Final = 4
SEQ_FILE_DIGITS: Final = 8
SEQ_POSITION_DIGITS: Final = 10
SEQ_EVENT_DIGITS: Final = 8
SEQ_ROW_DIGITS: Final = 8
SEQ_DIGITS: Final = (
    SEQ_EPOCH_DIGITS + SEQ_FILE_DIGITS + SEQ_POSITION_DIGITS + SEQ_EVENT_DIGITS + SEQ_ROW_DIGITS
)


@dataclass(frozen=True, slots=True, order=True)
class Sequence:
    """A sequence: the position of a change in the total order; compared field by field, as numbers.

    `row` is the row's index in its event times two, plus one for the create side of a
    primary key change.
    """

    epoch: int
    file: int
    position: int
    event: int
    row: int

    def __str__(self) -> str:
        """Return the 38 digits of the header `cdc.seq`; text order equals number order."""
        return f"{self.epoch:04d}{self.file:08d}{self.position:010d}{self.event:08d}{self.row:08d}"

    @classmethod
    def parse(cls, text: str) -> Sequence:
        """Read the 38 digits of the header `cdc.seq`.

        Raises ValueError for anything else.
        """
        if len(text) != SEQ_DIGITS or not (text.isascii() and text.isdigit()):
            reason = f"a sequence has {SEQ_DIGITS} digits, not {text!r}"
            raise ValueError(reason)
        return cls(
            int(text[0:4]), int(text[4:12]), int(text[12:22]), int(text[22:30]), int(text[30:38])
        )
