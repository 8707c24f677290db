"""The modes `Current` and `SoftDelete`: the newest row of each key.

In `Current`, an update replaces a row and a delete removes it. In `SoftDelete`, rows that are
gone stay and say so: a delete writes the row again, with the values that it had. A truncate does
so with all rows below it; a row below it that comes later is written as a deleted one.

If a delete has the key alone, its values come from the previous change of the key, if that is in
the same batch, and otherwise from the row of the mirror. A key that the mirror never had has no
row. A copy deletes rows in this way.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from stream_jobs.apply.changes import DELETE, Changes
from stream_jobs.apply.key_index import IndexColumns
from stream_jobs.apply.modes.mode import CurrentRows, Mode, ModeColumn, ModeInput, Truncation
from stream_jobs.apply.row_hashes import Keys, distinct, keys_of
from stream_jobs.apply.rows import split
from stream_jobs.delta.parquet_file import rows_at
from stream_jobs.source.sequence import HI, LO, PackedSequence, Truncate, is_above


class Current(Mode):
    """A row is replaced by an update, and gone after a delete."""

    name = "current"
    # The sequence of the row in the mirror tells a repeated record.
    is_counting = False
    current_rows = CurrentRows()

    def apply(self, work: ModeInput, due: NDArray[np.intp]) -> None:
        """Write the last row of each key; the rows that it replaces die."""
        upserts, deletes = split(work.changes, work.changes.last_of_keys(due))
        indexed, reader = self.indexed(work.mirror), work.reader
        rows = reader.rows(upserts, "after", work.source_columns)
        changed = data = work.in_order(rows.data)
        parts = [rows]
        names = [column.name for column in indexed.key]
        if len(deletes):
            gone = reader.keys(deletes, indexed.key)
            parts.append(gone)
            every = [*names, HI, LO]
            changed = pa.concat_tables([data.select(every), gone.data.select(every)])
        keys = keys_of([changed[name] for name in names])
        floor = work.part.floor if work.part.floor_is_new else None
        hi, lo = changed[HI].to_numpy(), changed[LO].to_numpy()
        lookup = work.lookup(indexed).find(keys, hi, lo, floor)
        work.result.dead = lookup.dead
        are_new = lookup.are_new[: data.num_rows]
        if not are_new.all():
            data = data.filter(pa.array(are_new))
        work.write(data, indexed)
        work.count(len(upserts), len(deletes), *parts)


DELETED = "_cdc_deleted"


def deleted_by_key(
    work: ModeInput, indexed: IndexColumns, data: pa.Table, bare: pa.Table
) -> pa.Table:
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
    deleted = [_deleted(data, hi[own], lo[own])]
    alone = of_bare[~has_row[of_bare]]
    for rows, places in _rows_of(work, indexed, keys.take(alone)):
        number = alone[places]
        old = rows.select(data.column_names)
        newer = is_above(hi[number], lo[number], old[HI].to_numpy(), old[LO].to_numpy())
        kept = _deleted(old, hi[number], lo[number]).filter(pa.array(newer))
        deleted.append(kept.cast(data.schema))
    return pa.concat_tables(deleted)


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


def _rows_of(
    work: ModeInput, indexed: IndexColumns, keys: Keys
) -> list[tuple[pa.Table, NDArray[np.intp]]]:
    """Return the rows of the mirror with some keys, file by file, and the places of their keys."""
    old_rows = []
    for lookup in work.lookup(indexed).live_rows(keys):
        storage, mirror = work.task.storage, work.mirror
        rows = rows_at(storage, mirror.path, lookup.file, mirror.columns, lookup.positions)
        old_rows.append((rows, lookup.change))
    return old_rows


class SoftDelete(Mode):
    """Each key that ever was has a row."""

    name = "soft_delete"
    columns = (ModeColumn(DELETED, pa.bool_(), "whether the source has deleted the row"),)
    keeps_columns = True
    truncation = Truncation.CHANGES
    is_counting = False
    current_rows = CurrentRows(DELETED, value=False)

    def apply(self, work: ModeInput, due: NDArray[np.intp]) -> None:
        """Write the last row of each key, also of deleted ones; the rows before it die."""
        changes, indexed = work.changes, self.indexed(work.mirror)
        are_bare = _are_bare(changes, due)
        upserts, deletes = split(changes, changes.last_of_keys(due[~are_bare]))
        rows = work.reader.rows(upserts, "after", work.source_columns)
        gone = work.reader.rows(deletes, "before", work.source_columns)
        data = pa.concat_tables([rows.data, gone.data])
        hi, lo = data[HI].to_numpy(), data[LO].to_numpy()
        are_deleted = np.arange(data.num_rows) >= rows.data.num_rows
        if work.part.floor is not None:
            are_deleted |= _are_below(hi, lo, work.part.floor)
        data = data.append_column(DELETED, pa.array(are_deleted))
        bare = work.reader.keys(changes.last_of_keys(due[are_bare]), indexed.key)
        if bare.data.num_rows:
            data = deleted_by_key(work, indexed, data, bare.data)
            hi, lo = data[HI].to_numpy(), data[LO].to_numpy()
        keys = keys_of([data[column.name] for column in indexed.key])
        lookup = work.lookup(indexed).find(keys, hi, lo, None)
        work.result.dead = lookup.dead
        work.write(work.in_order(data.filter(pa.array(lookup.are_new))), indexed)
        work.count(len(upserts), len(deletes) + bare.data.num_rows, rows, gone, bare)

    def after_truncates(self, data: pa.Table, truncates: Sequence[Truncate]) -> pa.Table | None:
        """Mark the rows below the last truncate as deleted."""
        below = _are_below(data[HI].to_numpy(), data[LO].to_numpy(), truncates[-1].sequence)
        deleted = data[DELETED]
        marked = pc.or_(deleted, pa.array(below))
        if marked.equals(deleted):
            return None
        return data.set_column(data.column_names.index(DELETED), DELETED, marked)


def _are_bare(changes: Changes, due: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which changes are deletes that have the key alone."""
    are_bare: NDArray[np.bool_] = changes.ops[due] == DELETE
    are_bare[are_bare] = changes.are_bare(due[are_bare])
    return are_bare


def _are_below(
    hi: NDArray[np.int64], lo: NDArray[np.int64], floor: PackedSequence
) -> NDArray[np.bool_]:
    return ~is_above(hi, lo, floor.hi, floor.lo - 1)
