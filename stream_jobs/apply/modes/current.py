"""The rows of the source as they are now: of each key, the last change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from stream_jobs.apply.keys import keys_of
from stream_jobs.apply.modes.mode import Mode
from stream_jobs.apply.rows import split
from stream_jobs.schema.sequence import HI, LO

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stream_jobs.apply.work import Work


class Current(Mode):
    """A row is replaced by an update, and gone after a delete."""

    name = "current"
    # The sequence of the row in the mirror tells a repeated record.
    is_counting = False

    def apply(self, work: Work, live: NDArray[np.intp]) -> None:
        """Write the last row of each key; the rows that it replaces die."""
        upserts, deletes = split(work.changes, work.changes.last_of_keys(live))
        indexed = self.indexed(work.mirror)
        rows = work.reader.rows(upserts, "after", work.source_columns)
        gone = work.reader.keys(deletes, indexed.key)
        data = work.in_order(rows.data)
        names = [column.name for column in indexed.key]
        both = pa.concat_tables([data.select([*names, HI, LO]), gone.data.select([*names, HI, LO])])
        keys = keys_of([both[name] for name in names])
        floor = work.part.floor if work.part.floor_is_new else None
        hi, lo = both[HI].to_numpy(), both[LO].to_numpy()
        found = work.lookup(indexed).find(keys, hi, lo, floor)
        work.result.dead = found.dead
        are_new = found.are_new[: data.num_rows]
        if not are_new.all():
            data = data.filter(pa.array(are_new))
        work.write(data, indexed)
        work.count(len(upserts), len(deletes), rows, gone)
