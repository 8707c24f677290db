"""Records of digests on disk, in buckets by the first bits of the digest.

One bucket at a time is in memory, so memory does not grow with the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_BUCKET_RECORDS: Final = 1 << 20
_BITS_MAX: Final = 10


class Buckets:
    """Files of records; the field `first` of a record chooses its file."""

    def __init__(self, folder: Path, count: int) -> None:
        """Keep files in `folder`; `count` is about the number of records."""
        bits = min(_BITS_MAX, max(0, (count // _BUCKET_RECORDS).bit_length()))
        self._shift = np.uint64(64 - bits)
        self.paths = [folder / f"rows-{number}" for number in range(1 << bits)]
        for path in self.paths:
            path.write_bytes(b"")

    def add(self, records: NDArray[Any]) -> None:
        """Append records to their files."""
        for number, places in self.places(records["first"]):
            with self.paths[number].open("ab") as file:
                file.write(records[places].tobytes())

    def places(self, first: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield the number of each bucket that has some of the digests, and their places."""
        if len(self.paths) == 1:
            yield 0, np.arange(len(first))
            return
        buckets = first.view(np.uint64) >> self._shift
        for number in np.unique(buckets).tolist():
            yield int(number), np.flatnonzero(buckets == number)
