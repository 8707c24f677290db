"""Rows become digests of 128 bits: of the key, and of all values.

Two different rows have the same digest once in 10^38 pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stream_jobs.apply.row_digests import digests_of_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_jobs.apply.keys import Keys


Digest = tuple[int, int]


def pairs(keys: Keys) -> list[Digest]:
    """Return digests as pairs of numbers."""
    assert keys.second is not None
    return list(zip(keys.first.tolist(), keys.second.tolist(), strict=True))


def places_of(wanted: Keys, own: Keys) -> list[int]:
    """Return the places of those digests in `own` that are wanted."""
    known = set(pairs(wanted))
    places = np.flatnonzero(np.isin(own.first, wanted.first))
    found = zip(places.tolist(), pairs(own.take(places)), strict=True)
    return [place for place, digest in found if digest in known]


def digests(data: pa.Table, names: Sequence[str]) -> Keys:
    """Return the digests of some columns; NULL equals NULL and nothing else."""
    return digests_of_rows([_exact(data[name]) for name in names])


def named(
    data: pa.Table, names: Sequence[str], keys: Keys, places: NDArray[np.intp]
) -> tuple[list[Digest], list[tuple[object, ...]]]:
    """Return the digests and the values of some keys; `names` are their columns in `data`."""
    columns = [data[name].take(places).to_pylist() for name in names]
    return pairs(keys.take(places)), list(zip(*columns, strict=True))


def _exact(values: pa.ChunkedArray) -> pa.ChunkedArray:
    # As numbers, the two zeros would be equal.
    bits = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}.get(values.type)
    if bits is None:
        return values
    return pa.chunked_array([chunk.view(bits) for chunk in values.chunks], bits)
