"""The rows of the source as they are now, and those that are gone, which say so.

A delete writes the row again, with the values that it had; if the record has the key alone, these
are the values of the change before it, or of the mirror. A truncate does so with all rows below it;
a row below it that comes later is written as a deleted one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stream_jobs.apply.changes import DELETE
from stream_jobs.apply.keys import keys_of
from stream_jobs.apply.modes.deleted_by_key import DELETED, deleted_by_key
from stream_jobs.apply.modes.mode import Mode, OwnColumn, Truncation
from stream_jobs.apply.rows import split
from stream_jobs.schema.sequence import HI, LO, is_above

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from stream_jobs.apply.changes import Changes
    from stream_jobs.apply.work import Work
    from stream_jobs.schema.sequence import PackedSequence, Truncate


class SoftDelete(Mode):
    """Each key that ever was has a row."""

    name = "soft_delete"
    columns = (OwnColumn(DELETED, pa.bool_(), "whether the source has deleted the row"),)
    keeps_columns = True
    truncation = Truncation.CHANGES
    is_counting = False

    def apply(self, work: Work, live: NDArray[np.intp]) -> None:
        """Write the last row of each key, also of deleted ones; the rows before it die."""
        changes, indexed = work.changes, self.indexed(work.mirror)
        are_bare = _are_bare(changes, live)
        upserts, deletes = split(changes, changes.last_of_keys(live[~are_bare]))
        rows = work.reader.rows(upserts, "after", work.source_columns)
        gone = work.reader.rows(deletes, "before", work.source_columns)
        data = pa.concat_tables([rows.data, gone.data])
        hi, lo = data[HI].to_numpy(), data[LO].to_numpy()
        are_deleted = np.arange(data.num_rows) >= rows.data.num_rows
        if work.part.floor is not None:
            are_deleted |= _are_below(hi, lo, work.part.floor)
        data = data.append_column(DELETED, pa.array(are_deleted))
        bare = work.reader.keys(changes.last_of_keys(live[are_bare]), indexed.key)
        if bare.data.num_rows:
            data = deleted_by_key(work, indexed, data, bare.data)
            hi, lo = data[HI].to_numpy(), data[LO].to_numpy()
        keys = keys_of([data[column.name] for column in indexed.key])
        found = work.lookup(indexed).find(keys, hi, lo, None)
        work.result.dead = found.dead
        work.write(work.in_order(data.filter(pa.array(found.are_new))), indexed)
        work.count(len(upserts), len(deletes) + bare.data.num_rows, rows, gone, bare)

    def after_truncates(self, data: pa.Table, truncates: Sequence[Truncate]) -> pa.Table | None:
        """Mark the rows below the last truncate as deleted."""
        below = _are_below(data[HI].to_numpy(), data[LO].to_numpy(), truncates[-1].sequence)
        deleted = data[DELETED]
        marked = pc.or_(deleted, pa.array(below))
        if marked.equals(deleted):
            return None
        return data.set_column(data.column_names.index(DELETED), DELETED, marked)


def _are_bare(changes: Changes, live: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which changes are deletes that have the key alone."""
    are_bare: NDArray[np.bool_] = changes.ops[live] == DELETE
    are_bare[are_bare] = changes.are_bare(live[are_bare])
    return are_bare


def _are_below(
    hi: NDArray[np.int64], lo: NDArray[np.int64], floor: PackedSequence
) -> NDArray[np.bool_]:
    return ~is_above(hi, lo, floor.hi, floor.lo - 1)
