"""Applies the records of one table that a task has read: from records to a data file.

    records ─▶ rows to apply ─▶ last of each key ─▶ typed rows ─▶ rows that they replace ─▶ file

If the driver has to decide something first (another column list, a truncate), nothing is written,
and the result says what was found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from connector.errors import MirrorError
from stream_jobs.apply.changes import TRUNCATE, Changes
from stream_jobs.apply.facts import PartResult, SchemaUse
from stream_jobs.apply.keys import Keys, keys_of
from stream_jobs.apply.lookup import Lookup
from stream_jobs.apply.problems import WrongRecordError
from stream_jobs.apply.rows import deleted_keys, split, upserted_rows
from stream_jobs.delta.compaction import in_key_order
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.sequence import HI, LO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from connector.records.record_reader import RecordColumns
    from stream_jobs.apply.facts import MirrorFacts, TablePart, Task
    from stream_jobs.delta.columns import Column
    from stream_jobs.delta.data_file import DataFile
    from stream_jobs.source.ranges import OffsetRange


def apply_part(
    task: Task, part: TablePart, pieces: Sequence[tuple[OffsetRange, RecordColumns]]
) -> PartResult:
    """Apply the records of `pieces`, or say why that is not possible yet, or at all."""
    changes = Changes(part.topic, pieces)
    result = PartResult(part.topic, records=len(changes))
    result.offsets = {each.partition: each.end for each, _ in pieces}
    result.error = changes.error()
    if result.error is not None:
        return result
    live = _summarize(changes, part, result)
    mirror = part.mirror
    if mirror is None or (result.truncated is not None) or result.keyless is not None:
        return result
    try:
        if result.schemas.keys() <= mirror.parses.keys():
            _apply(task, part, mirror, changes, live, result)
        elif part.floor_is_new:
            # The rows of other columns come when those that are gone have made room.
            lookup = _lookup(task, mirror)
            none = np.zeros(0, np.int64)
            result.dead = lookup.find(Keys(none, None), none, none, part.floor).dead
    except WrongRecordError as error:
        result.error = changes.position(error.place).corrupt(error.why)
    except MirrorError as error:
        result.error = error
    return result


def _summarize(changes: Changes, part: TablePart, result: PartResult) -> NDArray[np.intp]:
    """Fill in what `changes` holds, and return the places of the rows to apply."""
    sequences = changes.sequences
    are_rows = changes.are_rows
    are_truncates = changes.ops == TRUNCATE
    is_above_mark = np.ones(len(changes), np.bool_)
    every = np.arange(len(changes))
    for partition in result.offsets:
        own = changes.partitions == partition
        highest = sequences.highest(every[own & (are_rows | are_truncates)])
        if highest is not None:
            result.highest[partition] = highest
        mark = part.marks.get(partition)
        if mark is not None:
            is_above_mark[own] = sequences.are_above(mark)[own]
    is_new = is_above_mark
    if part.floor is not None:
        is_new = is_new & sequences.are_above(part.floor)
    live = every[are_rows & is_new]
    result.changes = int((are_rows | are_truncates).sum())
    result.rows = int(are_rows.sum())
    result.applied = len(live)
    result.truncated = sequences.highest(every[are_truncates & is_new])
    for number in np.unique(changes.schemas[live]).tolist():
        own = live[changes.schemas[live] == number]
        later = own if part.since is None else own[sequences.are_above(part.since)[own]]
        lowest, highest = sequences.lowest(own), sequences.highest(own)
        assert lowest is not None
        assert highest is not None
        use = SchemaUse(lowest, highest, sequences.lowest(later))
        result.schemas[changes.schema_ids[number]] = use
    for place in live.tolist() if None in changes.keys else ():
        if changes.keys[place] is None:
            result.keyless = changes.position(place)
            break
    for partition in result.offsets:
        own = live[changes.partitions[live] == partition]
        if len(own):
            result.first_row[partition] = int(changes.offsets[own[0]])
    return live


def _apply(
    task: Task,
    part: TablePart,
    mirror: MirrorFacts,
    changes: Changes,
    live: NDArray[np.intp],
    result: PartResult,
) -> None:
    upserts, deletes = split(changes, changes.last_of_keys(live))
    target = mirror.schema
    rows = upserted_rows(changes, upserts, target, mirror.parses, task.zero_dates)
    gone = deleted_keys(changes, deletes, target, mirror.parses, task.zero_dates)
    data = in_key_order(rows.data, target.key)
    key = [*target.key, HI, LO]
    both = pa.concat_tables([data.select(key), gone.data.select(key)])
    keys = keys_of([both[name] for name in target.key])
    lookup = _lookup(task, mirror)
    hi, lo = both[HI].to_numpy(), both[LO].to_numpy()
    found = lookup.find(keys, hi, lo, part.floor if part.floor_is_new else None)
    result.dead = found.dead
    are_new = found.are_new[: data.num_rows]
    if not are_new.all():
        data = data.filter(pa.array(are_new))
    if data.num_rows:
        result.file = _written(task, mirror, data)
    result.upserts, result.deletes = len(upserts), len(deletes)
    times = [time for time in (rows.source_ts_ms, gone.source_ts_ms) if time is not None]
    result.source_ts_ms = max(times, default=None)
    result.is_applied = True


def _lookup(task: Task, mirror: MirrorFacts) -> Lookup:
    return Lookup(task.storage, task.index, mirror.path, _indexed(mirror), mirror.files)


def _indexed(mirror: MirrorFacts) -> list[Column]:
    """Return the columns of an index: the key, in key order, and the sequence."""
    by_name = {column.name: column for column in mirror.columns}
    return [by_name[name] for name in (*mirror.schema.key, HI, LO)]


def _written(task: Task, mirror: MirrorFacts, data: pa.Table) -> DataFile:
    """Write rows into a new file, and keep its index."""
    file = write_file(task.storage, mirror.path, mirror.columns, data, key=mirror.schema.key)
    task.index.keep(mirror.path, file, _indexed(mirror), data)
    return file
