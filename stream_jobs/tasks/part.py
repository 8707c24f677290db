"""Applies the records of one table that a task has read: from records to a data file.

    records ─▶ changes to apply ─▶ the mode of the mirror ─▶ rows that die, and a file of new ones

If the driver has to decide something first (another column list, a truncate), nothing is written,
and the result says what was found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from connector.errors import MirrorError
from stream_jobs.apply.changes import TRUNCATE, Changes
from stream_jobs.apply.defects import DEFECTS, table_defect
from stream_jobs.apply.facts import PartResult, SchemaUse
from stream_jobs.apply.keys import Keys
from stream_jobs.apply.last_change import last_change
from stream_jobs.apply.modes.choice import MODES
from stream_jobs.apply.modes.mode import Truncation
from stream_jobs.apply.problems import WrongRecordError
from stream_jobs.apply.truncates import truncates_of
from stream_jobs.apply.work import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from connector.records.record_reader import RecordColumns
    from stream_jobs.apply.facts import TablePart, Task
    from stream_jobs.apply.modes.mode import Mode
    from stream_jobs.source.ranges import OffsetRange


def apply_part(
    task: Task, part: TablePart, pieces: Sequence[tuple[OffsetRange, RecordColumns]]
) -> PartResult:
    """Apply the records of `pieces`, or say why that is not possible yet, or at all."""
    changes = Changes(part.topic, pieces, part.skipped, part.bound)
    result = PartResult(part.topic, records=len(changes))
    result.offsets = {each.partition: each.end for each, _ in pieces} | changes.held
    result.held = set(changes.held)
    result.error = changes.error()
    if result.error is not None:
        return result
    mode = MODES[part.mode]
    try:
        live = _summarize(changes, part, mode, result)
        _apply(task, part, changes, mode, live, result)
        if result.is_applied:
            result.last = last_change(changes, live)
    except WrongRecordError as error:
        result.error = changes.position(error.place).corrupt(error.why)
    except MirrorError as error:
        result.error = error
    except DEFECTS as error:
        result.error = table_defect(part.topic, error)
    return result


def _summarize(
    changes: Changes, part: TablePart, mode: Mode, result: PartResult
) -> NDArray[np.intp]:
    """Fill in what `changes` holds, and return the places of what is to be applied."""
    sequences = changes.sequences
    are_truncates = changes.ops == TRUNCATE
    counted = changes.are_rows | are_truncates
    are_above_mark = np.ones(len(changes), np.bool_)
    every = np.arange(len(changes))
    for partition in result.offsets:
        own = changes.partitions == partition
        highest = sequences.highest(every[own & counted])
        if highest is not None:
            result.highest[partition] = highest
        mark = part.marks.get(partition)
        if mark is not None:
            are_above_mark[own] = sequences.are_above(mark)[own]
    live = every[mode.are_live(changes, are_above_mark, part.floor)]
    result.changes = int(counted.sum())
    result.applied = len(live)
    if mode.truncation is Truncation.IS_A_ROW:
        result.rows = result.changes
    else:
        result.rows = int(changes.are_rows.sum())
        _find_truncates(changes, every[are_truncates & are_above_mark], part, mode, result)
    _find_schemas(changes, live, part, result)
    for place in live.tolist() if None in changes.keys else ():
        if changes.keys[place] is None and changes.are_rows[place]:
            result.keyless = changes.position(place)
            break
    staying = live if part.floor is None else live[sequences.are_above(part.floor)[live]]
    for partition in result.offsets:
        own = staying[changes.partitions[staying] == partition]
        if len(own):
            result.first_row[partition] = int(changes.offsets[own[0]])
    return live


def _find_truncates(
    changes: Changes,
    places: NDArray[np.intp],
    part: TablePart,
    mode: Mode,
    result: PartResult,
) -> None:
    """Note the truncates that the driver does not know."""
    if part.floor is not None:
        places = places[changes.sequences.are_above(part.floor)[places]]
    result.truncated = changes.sequences.highest(places)
    if mode.truncation is Truncation.CHANGES:
        result.truncates = truncates_of(changes, places)


def _find_schemas(
    changes: Changes, live: NDArray[np.intp], part: TablePart, result: PartResult
) -> None:
    """Note which column lists the changes to apply have."""
    sequences = changes.sequences
    for number in np.unique(changes.schemas[live]).tolist():
        own = live[changes.schemas[live] == number]
        later = own if part.since is None else own[sequences.are_above(part.since)[own]]
        lowest, highest = sequences.lowest(own), sequences.highest(own)
        assert lowest is not None
        assert highest is not None
        use = SchemaUse(lowest, highest, sequences.lowest(later))
        result.schemas[changes.schema_ids[number]] = use


def _apply(
    task: Task,
    part: TablePart,
    changes: Changes,
    mode: Mode,
    live: NDArray[np.intp],
    result: PartResult,
) -> None:
    """Write what there is to write, unless the driver has to decide something first."""
    mirror = part.mirror
    if mirror is None or result.truncated is not None:
        return
    if result.keyless is not None and mirror.schema.key:
        return
    order = mode.file_order(mirror.schema)
    work = Work(task, part, mirror, changes, mode.is_filling, order, result)
    if result.schemas.keys() <= mirror.parses.keys():
        mode.apply(work, live)
        result.is_applied = True
    elif part.floor_is_new:
        # The rows of other columns come when those that are gone have made room.
        none = np.zeros(0, np.int64)
        lookup = work.lookup(mode.indexed(mirror))
        result.dead = lookup.find(Keys(none, None), none, none, part.floor).dead
