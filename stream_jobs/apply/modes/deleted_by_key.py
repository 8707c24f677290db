"""Rows that are deleted by their keys alone: their values are those that they had before.

A copy takes rows back in this way. The change before it of the same key has the values, if it is in
the same batch; if not, the row of the mirror has them. A key that the mirror never had has no row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stream_jobs.apply.keys import distinct, keys_of
from stream_jobs.delta.parquet_file import rows_at
from stream_jobs.schema.sequence import HI, LO, is_above

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stream_jobs.apply.key_index import Indexed
    from stream_jobs.apply.keys import Keys
    from stream_jobs.apply.work import Work

DELETED = "_cdc_deleted"


def deleted_by_key(work: Work, indexed: Indexed, data: pa.Table, bare: pa.Table) -> pa.Table:
    """Return the rows to write: those of `data`, and those that `bare` deletes.

    `data` has one row of a key, with its sequence and whether it is deleted. `bare` has keys, and
    the sequences of their deletes. A delete that is below its row changes nothing.
    """
    names = [column.name for column in indexed.key]
    both = pa.concat_tables([data.select(names), bare.select(names)])
    keys, numbers = distinct(keys_of([both[name] for name in names]))
    has_row = np.zeros(len(keys.first), np.bool_)
    has_row[numbers[: data.num_rows]] = True
    # The sequence of the delete, by number of the key; -1 without one.
    hi, lo = (np.full(len(keys.first), -1, np.int64) for _ in range(2))
    of_bare = numbers[data.num_rows :]
    hi[of_bare], lo[of_bare] = bare[HI].to_numpy(), bare[LO].to_numpy()
    own = numbers[: data.num_rows]
    found = [_deleted(data, hi[own], lo[own])]
    alone = of_bare[~has_row[of_bare]]
    for rows, places in _rows_of(work, indexed, keys.take(alone)):
        number = alone[places]
        old = rows.select(data.column_names)
        newer = is_above(hi[number], lo[number], old[HI].to_numpy(), old[LO].to_numpy())
        kept = _deleted(old, hi[number], lo[number]).filter(pa.array(newer))
        found.append(kept.cast(data.schema))
    return pa.concat_tables(found)


def _deleted(data: pa.Table, hi: NDArray[np.int64], lo: NDArray[np.int64]) -> pa.Table:
    """Return rows, those as deleted that have a lower sequence than their delete."""
    own_hi, own_lo = data[HI].to_numpy(), data[LO].to_numpy()
    newer = is_above(hi, lo, own_hi, own_lo)
    columns = {
        HI: np.where(newer, hi, own_hi),
        LO: np.where(newer, lo, own_lo),
        DELETED: data[DELETED].to_numpy() | newer,
    }
    for name, values in columns.items():
        place = data.column_names.index(name)
        data = data.set_column(place, data.schema.field(place), pa.array(values))
    return data


def _rows_of(work: Work, indexed: Indexed, keys: Keys) -> list[tuple[pa.Table, NDArray[np.intp]]]:
    """Return the rows of the mirror with some keys, file by file, and the places of their keys."""
    found = []
    for each in work.lookup(indexed).live_rows(keys):
        storage, mirror = work.task.storage, work.mirror
        rows = rows_at(storage, mirror.path, each.file, mirror.columns, each.positions)
        found.append((rows, each.change))
    return found
