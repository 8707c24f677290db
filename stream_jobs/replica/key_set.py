"""Keys of many rows, and whether other keys are among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stream_jobs.apply.keys import keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

_PAIR = np.dtype([("first", "<i8"), ("second", "<i8")])


class KeySet:
    """The keys of some rows, 16 bytes each."""

    def __init__(self, rows: Iterable[pa.Table], key: Sequence[str]) -> None:
        """Take the columns `key` of `rows`."""
        parts = [_numbers(each, key) for each in rows]
        self._numbers = np.concatenate(parts) if parts else None

    def has(self, rows: pa.Table, key: Sequence[str]) -> NDArray[np.bool_]:
        """Return which rows have a key that is in the set."""
        if self._numbers is None:
            return np.zeros(rows.num_rows, np.bool_)
        return np.isin(_numbers(rows, key), self._numbers)


def _numbers(rows: pa.Table, key: Sequence[str]) -> NDArray[Any]:
    keys = keys_of([rows[name] for name in key])
    if keys.second is None:
        return keys.first
    pairs = np.empty(len(keys.first), _PAIR)
    pairs["first"], pairs["second"] = keys.first, keys.second
    return pairs
