"""Sums over rows that do not depend on their order: of each range of keys, on both sides.

The sum of a range is the number of its rows, and the XOR of 64 bits of the SHA-256 of each row's
text. A text has the whole row with its key, so values that were swapped between rows change the
sum.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


def sql_of_hash(text: str) -> str:
    """Return the expression whose BIT_XOR is the sum; `text` is that of a row."""
    return f"CAST(CONV(LEFT(SHA2({text}, 256), 16), 16, 10) AS UNSIGNED)"


class Sums:
    """The sums of some ranges."""

    def __init__(self, count: int) -> None:
        """Begin with no rows in `count` ranges."""
        self.rows = np.zeros(count, np.int64)
        self.xors = np.zeros(count, np.uint64)

    def add(self, places: NDArray[np.intp], texts: Iterable[list[bytes]]) -> None:
        """Add rows to the ranges at `places`; `texts` are those of the rows, some at a time."""
        sha256 = hashlib.sha256
        digests = [digest for some in texts for digest in [sha256(text).digest() for text in some]]
        hashes = np.frombuffer(b"".join(digests), ">u8")[::4].astype(np.uint64)
        np.add.at(self.rows, places, 1)
        np.bitwise_xor.at(self.xors, places, hashes)
