"""The 38 digits of `cdc.seq` become two BIGINTs that order in the same way, and back.

::

    hi   0 | epoch 11 bits | file 20 bits | position 32 bits
    lo   event 31 bits | row 32 bits

Both are never negative, so (hi, lo) compares as signed numbers do. A sequence outside these
widths is an error, not a wrap.
"""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from connector.foundation import contract
from stream_jobs.errors import MirrorError, job_errors

EPOCH_BITS = 11
FILE_BITS = 20
POSITION_BITS = 32
ROW_BITS = 32

_WIDTHS = (
    contract.SEQ_EPOCH_DIGITS,
    contract.SEQ_FILE_DIGITS,
    contract.SEQ_POSITION_DIGITS,
    contract.SEQ_EVENT_DIGITS,
    contract.SEQ_ROW_DIGITS,
)
# Where each number begins and ends.
_SPANS = tuple((end - width, end) for width, end in zip(_WIDTHS, accumulate(_WIDTHS), strict=True))
_NINE = 9


def _weights() -> NDArray[np.float64]:
    """Return what each digit counts in each of the five numbers."""
    weights = np.zeros((contract.SEQ_DIGITS, len(_WIDTHS)))
    for number, (start, end) in enumerate(_SPANS):
        weights[start:end, number] = 10.0 ** np.arange(end - start - 1, -1, -1)
    return weights


_WEIGHTS = _weights()
# NumPy takes longer to begin than Python takes for so few sequences.
_FEW = 50


def _numbers_of_few(text: bytes) -> NDArray[np.int64]:
    """Return the five numbers of each sequence; `text` has digits alone."""
    starts = range(0, len(text), contract.SEQ_DIGITS)
    rows = [[int(text[at + start : at + end]) for start, end in _SPANS] for at in starts]
    return np.array(rows, np.int64)


# The columns of a mirror with the sequence of each row's last change.
HI = "_cdc_hi"
LO = "_cdc_lo"


class PackedSequence(NamedTuple):
    """A stored sequence; it compares like a `Sequence`."""

    hi: int
    lo: int

    @classmethod
    def pack(cls, sequence: contract.Sequence) -> "PackedSequence":
        """Pack the five numbers.

        Raises MirrorError for a number that is too large for its field.
        """
        if (
            sequence.epoch >> EPOCH_BITS
            or sequence.file >> FILE_BITS
            or sequence.position >> POSITION_BITS
        ):
            raise MirrorError(job_errors.SEQUENCE_BEYOND, seq=sequence)
        epoch_file = sequence.epoch << FILE_BITS | sequence.file
        return cls(
            epoch_file << POSITION_BITS | sequence.position,
            sequence.event << ROW_BITS | sequence.row,
        )

    def unpack(self) -> contract.Sequence:
        """Return the five numbers."""
        file_mask, position_mask, row_mask = (
            (1 << bits) - 1 for bits in (FILE_BITS, POSITION_BITS, ROW_BITS)
        )
        return contract.Sequence(
            epoch=self.hi >> (FILE_BITS + POSITION_BITS),
            file=self.hi >> POSITION_BITS & file_mask,
            position=self.hi & position_mask,
            event=self.lo >> ROW_BITS,
            row=self.lo & row_mask,
        )


class Truncate(NamedTuple):
    """A record that says that all rows of the table with lower sequences are gone."""

    sequence: PackedSequence
    us: int  # when the source committed it: microseconds since 1970


class PackedSequences:
    """The sequences of many records, as arrays.

    Those that `PackedSequence.pack` would refuse are 0, and do not `fit`.
    """

    def __init__(self, text: bytes) -> None:
        """Pack the digits of all records, without anything between them."""
        are_digits: Any = True
        if len(text) <= _FEW * contract.SEQ_DIGITS and text.isdigit():
            numbers = _numbers_of_few(text)
        else:
            digits = np.frombuffer(text, np.uint8).reshape(-1, contract.SEQ_DIGITS) - ord("0")
            # One product. It is exact: the sums have less than 53 bits.
            numbers = (digits.astype(np.float64) @ _WEIGHTS).astype(np.int64)
            are_digits = (digits <= _NINE).all(axis=1)
        epoch, file, position, event, row = numbers.T
        self.fits: NDArray[np.bool_] = (
            are_digits
            & (epoch >> EPOCH_BITS == 0)
            & (file >> FILE_BITS == 0)
            & (position >> POSITION_BITS == 0)
        )
        hi = (epoch << FILE_BITS | file) << POSITION_BITS | position
        self.hi: NDArray[np.int64] = np.where(self.fits, hi, 0)
        self.lo: NDArray[np.int64] = np.where(self.fits, event << ROW_BITS | row, 0)

    def at(self, place: int) -> PackedSequence:
        """Return the sequence of one record."""
        return PackedSequence(int(self.hi[place]), int(self.lo[place]))

    def are_above(self, bound: PackedSequence) -> NDArray[np.bool_]:
        """Return which ones are greater than `bound`."""
        return is_above(self.hi, self.lo, *bound)

    def are_below(self, bound: PackedSequence) -> NDArray[np.bool_]:
        """Return which ones are less than `bound`."""
        return is_above(bound.hi, bound.lo, self.hi, self.lo)

    def highest(self, places: NDArray[np.intp]) -> PackedSequence | None:
        """Return the highest sequence of some records; None of no records."""
        if len(places) <= _FEW:
            return max(self._few(places), default=None)
        hi = self.hi[places].max()
        return PackedSequence(int(hi), int(self.lo[places[self.hi[places] == hi]].max()))

    def _few(self, places: NDArray[np.intp]) -> Iterator[PackedSequence]:
        return map(PackedSequence, self.hi[places].tolist(), self.lo[places].tolist())

    def lowest(self, places: NDArray[np.intp]) -> PackedSequence | None:
        """Return the lowest sequence of some records; None of no records."""
        if len(places) <= _FEW:
            return min(self._few(places), default=None)
        hi = self.hi[places].min()
        return PackedSequence(int(hi), int(self.lo[places[self.hi[places] == hi]].min()))


def is_above(hi: Any, lo: Any, than_hi: Any, than_lo: Any) -> NDArray[np.bool_]:
    """Return where (hi, lo) is greater than (than_hi, than_lo); both are one, or many."""
    above: NDArray[np.bool_] = (hi > than_hi) | ((hi == than_hi) & (lo > than_lo))
    return above
