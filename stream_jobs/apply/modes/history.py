"""Each version of each row, with the times from and to which the source had it.

A version that ends dies in its data file, and is written again with its end. Its values come from
that file, where its start is, too. The index of a file has the open versions, and the last ones of
keys that are gone: an older change of a row that a truncate has ended can still come from another
partition, and no later version of a key may begin before the end of an earlier one.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from connector.foundation.errors.message import Message
from stream_jobs.apply.changes import DELETE, READ, TRUNCATES
from stream_jobs.apply.key_index import IndexColumns
from stream_jobs.apply.modes import versions
from stream_jobs.apply.modes.mode import (
    CurrentRows,
    Mode,
    ModeColumn,
    ModeInput,
    Truncation,
    sequence_columns,
)
from stream_jobs.apply.row_hashes import digests_of_rows, distinct, keys_of
from stream_jobs.apply.rows import Rows, split, timestamps
from stream_jobs.apply.table_failures import InvalidRecordError
from stream_jobs.apply.task_messages import MirrorDescription
from stream_jobs.errors import record_errors
from stream_jobs.source.sequence import HI, LO, PackedSequence, Truncate, is_above

_TIME = pa.timestamp("us", "UTC")
_NO_END = 2**63 - 1


class History(Mode):
    """A row for each version."""

    name = "history"
    columns = (
        ModeColumn(versions.FROM, _TIME, "when the source committed this version"),
        ModeColumn(versions.TO, _TIME, "when the source committed its end; NULL if it is current"),
        ModeColumn(versions.IS_CURRENT, pa.bool_(), "whether the source has this version now"),
        ModeColumn(
            versions.END_OP, pa.string(), "what ended it: u update, d delete, t truncate, r copy"
        ),
        ModeColumn(versions.END_HI, pa.int64(), "cdc.seq of its end: epoch, file and position"),
        ModeColumn(versions.END_LO, pa.int64(), "cdc.seq of its end: event and row"),
    )
    keeps_columns = True
    truncation = Truncation.CHANGES
    current_rows = CurrentRows(versions.IS_CURRENT)

    def apply(self, work: ModeInput, due: NDArray[np.intp]) -> None:
        """Write the versions that begin, and those that end once more, with their end."""
        upserts, deletes = split(work.changes, due)
        indexed = self.indexed(work.mirror)
        rows = work.reader.rows(upserts, "after", work.source_columns)
        # The values of a version come from the mirror.
        gone = work.reader.keys(deletes, indexed.key)
        names = [column.name for column in indexed.key]
        both = pa.concat_tables([rows.data.select(names), gone.data.select(names)])
        keys, key_of_change = distinct(keys_of([both[name] for name in names]))
        known = versions.StoredVersions(work, keys, indexed)
        followed = _follow(work, rows, gone, key_of_change, known)
        begun = list(followed.opened.values())
        opened = rows.data.take(pa.array(list(followed.opened), pa.int64())).append_column(
            versions.FROM, timestamps(pa.array([version.us for version in begun], pa.int64()))
        )
        ended = known.rows.take(pa.array([known.place(key) for key in followed.closed], pa.int64()))
        work.result.dead = known.dead(followed.closed)
        data = pa.concat_tables(
            [
                _with_ends(opened, [version.end for version in begun]),
                _with_ends(ended, list(followed.closed.values())),
            ],
            promote_options="default",
        )
        work.write(work.in_order(data), indexed)
        work.count(len(upserts), len(deletes), rows, gone)

    def after_truncates(self, data: pa.Table, truncates: Sequence[Truncate]) -> pa.Table | None:
        """End the versions that were there at a truncate, each at the first one.

        A version may have a later end: its key's partition was read before that of the truncate.
        By their times, the end stays between the start of the version and that later end.
        """
        hi, lo = data[HI].to_numpy(), data[LO].to_numpy()
        end_hi, end_lo = (
            data[name].fill_null(_NO_END).to_numpy() for name in (versions.END_HI, versions.END_LO)
        )
        from_us, to_us = (
            versions.microseconds(data[versions.FROM]),
            versions.microseconds(data[versions.TO]),
        )
        ends: list[versions.VersionEnd | None] = [None] * data.num_rows
        for truncate in reversed(truncates):
            sequence = truncate.sequence
            at = np.full(len(hi), sequence.hi), np.full(len(lo), sequence.lo)
            were_there = is_above(*at, hi, lo) & is_above(end_hi, end_lo, *sequence)
            for place in np.flatnonzero(were_there).tolist():
                us = versions.later(from_us[place], truncate.us)
                us = min((time for time in (us, to_us[place]) if time is not None), default=None)
                ends[place] = versions.VersionEnd(sequence, us, "t")
        if not any(ends):
            return None
        have_end = pa.array([end is not None for end in ends])
        kept = data.filter(pc.invert(have_end))
        ended = _with_ends(data.filter(have_end), [end for end in ends if end is not None])
        return pa.concat_tables([kept, ended.select(kept.column_names)])

    def indexed(self, mirror: MirrorDescription) -> IndexColumns:
        """Return the key of the last versions of keys, and of those that a truncate has ended."""
        named = {column.name: column for column in mirror.columns}
        key = tuple(named[name] for name in mirror.schema.key)
        deciding = named[versions.IS_CURRENT], named[versions.END_OP]
        return IndexColumns(
            key,
            sequence_columns(named),
            deciding=deciding,
            are_found=_can_be_last,
            may_lack_key=True,
        )


def _follow(
    work: ModeInput,
    rows: Rows,
    gone: Rows,
    key_of_change: NDArray[np.intp],
    known: versions.StoredVersions,
) -> versions.Versions:
    """Go through the changes of each key, in the order of their sequences."""
    places = np.concatenate([rows.places, gone.places])
    ops = work.changes.ops[places].tolist()
    hi, lo = work.changes.sequences.hi[places], work.changes.sequences.lo[places]
    times = [*rows.times.to_pylist(), *gone.times.to_pylist()]
    new_values: Sequence[bytes] = ()
    known_values: Sequence[bytes] = ()
    if READ in ops:
        names = [name for name in work.mirror.schema.by_name if name in rows.data.column_names]
        new_values = _values_of(rows.data, names)
        known_values = _values_of(known.rows, names)
    are_covered = _are_covered(work, places)
    found = versions.Versions()
    order = np.lexsort((lo, hi, key_of_change))
    starts = np.flatnonzero(np.diff(key_of_change[order], prepend=-1))
    for own in np.split(order, starts[1:]) if len(order) else ():
        changes = [
            versions.KeyChange(
                PackedSequence(int(hi[place]), int(lo[place])),
                times[place],
                chr(ops[place]),
                -1 if ops[place] == DELETE else place,
                new_values[place] if new_values and ops[place] != DELETE else None,
                bool(are_covered[place]),
            )
            for place in own.tolist()
        ]
        key = int(key_of_change[own[0]])
        version = known.version(key, known_values)
        if version is not None and changes[0].sequence <= version.start:
            why = Message(record_errors.OUT_OF_ORDER, {})
            raise InvalidRecordError(int(places[own[0]]), why)
        found.follow(key, version, changes, work.part.truncates)
    return found


def _are_covered(work: ModeInput, places: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return at which changes all truncates below them are known."""
    changes, part = work.changes, work.part
    of_truncates = changes.partitions == TRUNCATES
    read = work.result.offsets.get(TRUNCATES, part.truncates_read)
    is_read = part.truncates_end is not None and read >= part.truncates_end
    if is_read or TRUNCATES in changes.held:
        return np.ones(len(places), np.bool_)
    known = [part.marks.get(TRUNCATES), changes.sequences.highest(np.flatnonzero(of_truncates))]
    until = max(
        (truncate for truncate in known if truncate is not None), default=PackedSequence(-1, -1)
    )
    covered: NDArray[np.bool_] = ~changes.sequences.are_above(until)[places]
    return covered


def _values_of(data: pa.Table, names: Sequence[str]) -> list[bytes]:
    """Return bytes for each row that are equal for equal values."""
    keys = digests_of_rows([data[name] for name in names])
    assert keys.second is not None
    return [a + b for a, b in zip(_halves(keys.first), _halves(keys.second), strict=True)]


def _halves(half: NDArray[np.int64]) -> list[bytes]:
    return [number.tobytes() for number in half]


def _can_be_last(data: pa.Table) -> NDArray[np.bool_]:
    is_last = pc.is_in(data[versions.END_OP], pa.array(["d", "t"], pa.string()))
    can = pc.or_(data[versions.IS_CURRENT], is_last)
    may_be_last: NDArray[np.bool_] = can.to_numpy()
    return may_be_last


def _with_ends(data: pa.Table, ends: Sequence[versions.VersionEnd | None]) -> pa.Table:
    """Return versions with their ends; None is an open one."""
    columns = {
        versions.TO: pa.array([None if end is None else end.us for end in ends], pa.int64()).cast(
            _TIME
        ),
        versions.IS_CURRENT: pa.array([end is None for end in ends], pa.bool_()),
        versions.END_OP: pa.array([None if end is None else end.op for end in ends], pa.string()),
        versions.END_HI: pa.array(
            [None if end is None else end.sequence.hi for end in ends], pa.int64()
        ),
        versions.END_LO: pa.array(
            [None if end is None else end.sequence.lo for end in ends], pa.int64()
        ),
    }
    data = data.drop_columns([name for name in columns if name in data.column_names])
    for name, values in columns.items():
        data = data.append_column(name, values)
    return data
