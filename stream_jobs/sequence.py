"""The 38 digits of `cdc.seq` become two BIGINTs that order in the same way, and back.

::

    hi   0 | epoch 11 bits | file 20 bits | position 32 bits
    lo   event 31 bits | row 32 bits

Both are never negative, so (hi, lo) compares as signed numbers do. A sequence outside these
widths is an error, not a wrap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use

from connector.contract import (
    SEQ_DIGITS,
    SEQ_EPOCH_DIGITS,
    SEQ_EVENT_DIGITS,
    SEQ_FILE_DIGITS,
    SEQ_POSITION_DIGITS,
    SEQ_ROW_DIGITS,
    Sequence,
)
from connector.errors import MirrorError, mirror

if TYPE_CHECKING:
    from pyspark.sql import Column

EPOCH_BITS = 11
FILE_BITS = 20
POSITION_BITS = 32
ROW_BITS = 32

# The columns of a mirror with the sequence of each row's last change.
HI = "_cdc_hi"
LO = "_cdc_lo"


class PackedSequence(NamedTuple):
    """A stored sequence; it compares like a `Sequence`."""

    hi: int
    lo: int

    @classmethod
    def pack(cls, sequence: Sequence) -> PackedSequence:
        """Pack the five numbers.

        Raises MirrorError for a number that is too large for its field.
        """
        if (
            sequence.epoch >> EPOCH_BITS
            or sequence.file >> FILE_BITS
            or sequence.position >> POSITION_BITS
        ):
            raise MirrorError(mirror.SEQUENCE_BEYOND, seq=sequence)
        epoch_file = sequence.epoch << FILE_BITS | sequence.file
        return cls(
            epoch_file << POSITION_BITS | sequence.position,
            sequence.event << ROW_BITS | sequence.row,
        )

    def unpack(self) -> Sequence:
        """Return the five numbers."""
        file_mask, position_mask, row_mask = (
            (1 << bits) - 1 for bits in (FILE_BITS, POSITION_BITS, ROW_BITS)
        )
        return Sequence(
            epoch=self.hi >> (FILE_BITS + POSITION_BITS),
            file=self.hi >> POSITION_BITS & file_mask,
            position=self.hi & position_mask,
            event=self.lo >> ROW_BITS,
            row=self.lo & row_mask,
        )


def pack_columns(text: Column) -> tuple[Column, Column]:
    """Return (hi, lo) of a string column; both are NULL if `PackedSequence.pack` would raise."""
    numbers: list[Column] = []
    start = 1
    for digits in (
        SEQ_EPOCH_DIGITS,
        SEQ_FILE_DIGITS,
        SEQ_POSITION_DIGITS,
        SEQ_EVENT_DIGITS,
        SEQ_ROW_DIGITS,
    ):
        numbers.append(F.substring(text, start, digits).try_cast("bigint"))
        start += digits
    epoch, file, position, event, row = numbers
    fits = (
        text.rlike(f"^[0-9]{{{SEQ_DIGITS}}}$")
        & (epoch < 1 << EPOCH_BITS)
        & (file < 1 << FILE_BITS)
        & (position < 1 << POSITION_BITS)
    )
    hi = (
        F.shiftleft(epoch, FILE_BITS + POSITION_BITS)
        .bitwiseOR(F.shiftleft(file, POSITION_BITS))
        .bitwiseOR(position)
    )
    lo = F.shiftleft(event, ROW_BITS).bitwiseOR(row)
    return F.when(fits, hi), F.when(fits, lo)


def is_above(hi: Column, lo: Column, bound: PackedSequence) -> Column:
    """Return whether (hi, lo) is greater than `bound`."""
    return (hi > bound.hi) | ((hi == bound.hi) & (lo > bound.lo))
