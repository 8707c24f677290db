"""The mode `rows`: the current rows of a table without a key, each as often as the source has it.

Equal rows cannot be told apart, so a change counts: an insert one more, a delete one less, an
update both. All changes of such a table are in one partition, in order.

A truncate may come from the connector, which copies the table later. Until then, rows change that
the truncate has taken, so a row to take away may be missing. The copy begins with a truncate of its
own and brings all rows, so this does no harm. `missing` counts it.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyroaring import BitMap

from connector.foundation.errors.message import Message
from stream_jobs.apply.changes import DELETE, UPDATE
from stream_jobs.apply.key_index import IndexColumns
from stream_jobs.apply.modes.mode import CurrentRows, Mode, ModeInput, sequence_columns
from stream_jobs.apply.row_hashes import Keys, digests_of_rows, distinct
from stream_jobs.apply.table_failures import InvalidRecordError
from stream_jobs.apply.task_messages import MirrorDescription
from stream_jobs.errors import record_errors
from stream_jobs.source.sequence import HI, LO, is_above
from stream_jobs.source.table_schema import TableSchema


class RowCounts(Mode):
    """A multiset of rows."""

    name = "rows"
    needs_key = False
    refuses_key = True
    current_rows = CurrentRows()

    def apply(self, work: ModeInput, due: NDArray[np.intp]) -> None:
        """Add the rows that are more than before, and let die as many as are less."""
        ops = work.changes.ops[due]
        added = work.reader.rows(due[ops != DELETE], "after", work.source_columns)
        gone = work.reader.rows(
            due[(ops == DELETE) | (ops == UPDATE)], "before", work.source_columns
        )
        indexed = self.indexed(work.mirror)
        data = pa.concat_tables([added.data, gone.data])
        keys, row_of = distinct(digests_of_rows([data[column.name] for column in indexed.key]))
        signs = np.where(np.arange(data.num_rows) < added.data.num_rows, 1, -1)
        net = np.bincount(row_of, signs, len(keys.first)).astype(np.int64)
        self._kill(work, indexed, keys, net, gone.places, row_of[added.data.num_rows :])
        work.write(added.data.take(pa.array(_last(row_of[: added.data.num_rows], net))), indexed)
        work.count(len(added.places), len(gone.places), added, gone)

    def indexed(self, mirror: MirrorDescription) -> IndexColumns:
        """Return the whole row of the source."""
        named = {column.name: column for column in mirror.columns}
        key = tuple(named[name] for name in mirror.schema.by_name)
        return IndexColumns(key, sequence_columns(named), digests_of_rows)

    def file_order(self, schema: TableSchema) -> tuple[str, ...]:
        """Return the sequence, which has statistics: a floor needs them."""
        del schema
        return HI, LO

    def _kill(
        self,
        work: ModeInput,
        indexed: IndexColumns,
        keys: Keys,
        net: NDArray[np.int64],
        places: NDArray[np.intp],
        row_of: NDArray[np.intp],
    ) -> None:
        """Let rows below a new floor die, and as many of the others as `net` says."""
        lookup = work.lookup(indexed)
        floor = work.part.floor if work.part.floor_is_new else None
        dead: dict[str, bytes] = {}
        if floor is not None:
            none = np.zeros(0, np.int64)
            dead = lookup.find(Keys(none, none), none, none, floor).dead
        less = np.flatnonzero(net < 0)
        missing = -net[less]
        for file_rows in lookup.live_rows(keys.take(less)) if len(less) else ():
            change, positions = file_rows.change, file_rows.positions
            if floor is not None:
                stay = is_above(file_rows.hi, file_rows.lo, floor.hi, floor.lo - 1)
                change, positions = change[stay], positions[stay]
            # The first rows of each kind, as many as are to die.
            order = np.argsort(change, kind="stable")
            chosen = order[_rank(change[order]) < missing[change[order]]]
            if len(chosen):
                own = BitMap(positions[chosen].astype(np.uint32))
                if file_rows.file.path in dead:
                    own |= BitMap.deserialize(dead[file_rows.file.path])
                dead[file_rows.file.path] = own.serialize()
                missing -= np.bincount(change[chosen], minlength=len(missing))
        work.result.missing = int(missing.sum())
        if missing.any() and work.part.floor is None:
            wrong = np.isin(row_of, less[missing > 0])
            why = Message(record_errors.NO_SUCH_ROW, {})
            raise InvalidRecordError(int(places[wrong].min()), why)
        work.result.dead = dead


def _rank(groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the place of each within its group; equal ones are beside each other."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    lengths = np.diff(np.append(starts, len(groups)))
    places: NDArray[np.intp] = np.arange(len(groups)) - np.repeat(starts, lengths)
    return places


def _last(row_of: NDArray[np.intp], net: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the last rows of each kind, as many as there are more of it than before, in order."""
    order = np.argsort(row_of, kind="stable")[::-1]
    chosen = order[_rank(row_of[order]) < net[row_of[order]]]
    return np.sort(chosen)
