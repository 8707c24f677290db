"""The function that runs for each task: it reads the records of its tables and applies them.

    records ─▶ changes to apply ─▶ the mode of the mirror ─▶ rows that die, and a file of new ones

If the driver has to decide something first (another column list, a truncate), nothing is written,
and the result says what was found. A task may instead rewrite the live rows of data files: for
other columns, after a truncate, or to compact several files into one.

A Python worker runs one task after another, and keeps its connection to Kafka for the next one. It
seldom looks for garbage (`garbage.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from connector.foundation.record_reader import RecordColumns
from stream_jobs.apply import task_messages
from stream_jobs.apply.changes import TRUNCATE, Changes, last_change, truncates_of
from stream_jobs.apply.garbage import leave_objects_of_task
from stream_jobs.apply.modes import MODES
from stream_jobs.apply.modes.mode import Mode, ModeInput, Truncation
from stream_jobs.apply.overlapped_writes import overlapped_writes
from stream_jobs.apply.row_hashes import Keys
from stream_jobs.apply.rows import literal
from stream_jobs.apply.table_failures import DEFECT_TYPES, InvalidRecordError, table_defect
from stream_jobs.delta.compaction import live_parts, rewrite
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.errors import MirrorError
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topics import BrokerConfig, OffsetRange


def apply_part(
    task: task_messages.Task,
    part: task_messages.TablePart,
    pieces: Sequence[tuple[OffsetRange, RecordColumns]],
) -> task_messages.PartResult:
    """Apply the records of `pieces`, or say why that is not possible yet, or at all."""
    changes = Changes(part.topic, pieces, part.skipped, part.bound)
    result = task_messages.PartResult(part.topic, records=len(changes))
    result.offsets = {span.partition: span.end for span, _ in pieces} | changes.held
    result.held = set(changes.held)
    result.error = changes.error()
    if result.error is not None:
        return result
    mode = MODES[part.mode]
    try:
        due = _summarize(changes, part, mode, result)
        _apply(task, part, changes, mode, due, result)
        if result.is_applied:
            result.last = last_change(changes, due)
    except InvalidRecordError as error:
        result.error = changes.position(error.place).corrupt(error.why)
    except MirrorError as error:
        result.error = error
    except DEFECT_TYPES as error:
        result.error = table_defect(part.topic, error)
    return result


def _summarize(
    changes: Changes, part: task_messages.TablePart, mode: Mode, result: task_messages.PartResult
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
    due = every[mode.are_due(changes, are_above_mark, part.floor)]
    result.changes = int(counted.sum())
    result.applied = len(due)
    if mode.truncation is Truncation.IS_A_ROW:
        result.rows = result.changes
    else:
        result.rows = int(changes.are_rows.sum())
        _find_truncates(changes, every[are_truncates & are_above_mark], part, mode, result)
    _find_schemas(changes, due, part, result)
    for place in due.tolist() if None in changes.keys else ():
        if changes.keys[place] is None and changes.are_rows[place]:
            result.keyless = changes.position(place)
            break
    staying = due if part.floor is None else due[sequences.are_above(part.floor)[due]]
    for partition in result.offsets:
        own = staying[changes.partitions[staying] == partition]
        if len(own):
            result.first_row[partition] = int(changes.offsets[own[0]])
    return due


def _find_truncates(
    changes: Changes,
    places: NDArray[np.intp],
    part: task_messages.TablePart,
    mode: Mode,
    result: task_messages.PartResult,
) -> None:
    """Note the truncates that the driver does not know."""
    if part.floor is not None:
        places = places[changes.sequences.are_above(part.floor)[places]]
    result.truncated = changes.sequences.highest(places)
    if mode.truncation is Truncation.CHANGES:
        result.truncates = truncates_of(changes, places)


def _find_schemas(
    changes: Changes,
    due: NDArray[np.intp],
    part: task_messages.TablePart,
    result: task_messages.PartResult,
) -> None:
    """Note which column lists the changes to apply have."""
    sequences = changes.sequences
    for schema_id, own in changes.by_schema(due):
        later = own if part.since is None else own[sequences.are_above(part.since)[own]]
        lowest, highest = sequences.lowest(own), sequences.highest(own)
        assert lowest is not None
        assert highest is not None
        use = task_messages.SchemaUse(lowest, highest, sequences.lowest(later))
        result.schemas[schema_id] = use


def _apply(
    task: task_messages.Task,
    part: task_messages.TablePart,
    changes: Changes,
    mode: Mode,
    due: NDArray[np.intp],
    result: task_messages.PartResult,
) -> None:
    """Write what there is to write, unless the driver has to decide something first."""
    mirror = part.mirror
    if mirror is None or result.truncated is not None:
        return
    if result.keyless is not None and mirror.schema.key:
        return
    order = mode.file_order(mirror.schema)
    work = ModeInput(task, part, mirror, changes, mode.is_filling, order, result)
    if result.schemas.keys() <= mirror.parses.keys():
        mode.apply(work, due)
        result.is_applied = True
    elif part.floor_is_new:
        # The rows of other columns come when those that are gone have made room.
        none = np.zeros(0, np.int64)
        lookup = work.lookup(mode.indexed(mirror))
        result.dead = lookup.find(Keys(none, None), none, none, part.floor).dead


def rewrite_file(
    task: task_messages.Task, rewrite: task_messages.RewrittenFile
) -> task_messages.PartResult:
    """Write the rows into new files: one, or of a large file several.

    After a truncate that changes none of its rows, a file stays.
    """
    result = task_messages.PartResult(rewrite.topic, is_applied=True)
    try:
        result.files = tuple(
            write_file(
                task.storage,
                rewrite.path,
                rewrite.columns,
                data,
                key=rewrite.key,
                partition_values=rewrite.file.partition_values,
                tags=rewrite.file.tags,
            )
            for data in _rewritten_parts(task, rewrite)
            if data.num_rows
        )
        if rewrite.truncates and result.files:
            result.replaced = (rewrite.file,)
    except MirrorError as error:
        result.error = error
    except DEFECT_TYPES as error:
        result.error = table_defect(rewrite.topic, error)
    return result


def _rewritten_parts(
    task: task_messages.Task, rewrite: task_messages.RewrittenFile
) -> Iterator[pa.Table]:
    """Yield the rows part by part; none if truncates change none of them."""
    if not rewrite.truncates:
        yield from _live_parts(task, rewrite)
        return
    mode, unchanged, is_changed = MODES[rewrite.mode], 0, False
    for part in _live_parts(task, rewrite):
        emptied = mode.after_truncates(part, rewrite.truncates)
        if emptied is None and not is_changed:
            unchanged += 1
            continue
        if not is_changed:
            # They were not kept in memory.
            yield from islice(_live_parts(task, rewrite), unchanged)
            is_changed = True
        yield part if emptied is None else emptied


def _live_parts(
    task: task_messages.Task, rewrite: task_messages.RewrittenFile
) -> Iterator[pa.Table]:
    """Yield the rows of a file with the columns that they get."""
    for part in live_parts(task.storage, rewrite.path, rewrite.file, rewrite.columns):
        data = part
        for name, column in rewrite.added.items():
            place = data.column_names.index(name)
            value = literal(column, column.get("added_default")).cast(data[name].type)
            values = pa.chunked_array([pa.repeat(value, data.num_rows)])
            data = data.set_column(place, name, values)
        yield data


def compact_files(
    task: task_messages.Task, compaction: task_messages.CompactedFiles
) -> task_messages.PartResult:
    """Write the rows of several files into one, or of a large one into several."""
    result = task_messages.PartResult(compaction.topic, replaced=compaction.files)
    try:
        files = rewrite(
            task.storage,
            compaction.path,
            compaction.columns,
            compaction.files,
            compaction.key,
            compaction.clustering,
        )
        result.files = tuple(files)
    except MirrorError as error:
        result.error = error
    except DEFECT_TYPES as error:
        result.error = table_defect(compaction.topic, error)
    return result


_clients: dict[BrokerConfig, KafkaClient] = {}


def run_task(
    task: task_messages.Task, client: KafkaClient | None = None
) -> list[task_messages.PartResult]:
    """Do the work of `task`. Errors are results: those of one table do not stop others.

    Without a `client`, it uses the one that this process keeps for the brokers of the task.
    """
    with overlapped_writes(task.storage) as writes:
        own = replace(task, storage=writes)
        _note_tables(own)
        results = [
            *(_applied(own, client) if task.parts else ()),
            *(rewrite_file(own, file) for file in task.rewritten),
            *(compact_files(own, files) for files in task.compacted),
        ]
        writes.finish(results)
    return results


def run_worker_task(task: task_messages.Task) -> list[task_messages.PartResult]:
    """Do the work of `task` in a worker of Spark."""
    results = run_task(task)
    leave_objects_of_task()
    return results


def _note_tables(task: task_messages.Task) -> None:
    for part in task.parts:
        if part.mirror is not None:
            # Without a mirror, nothing says from which sequence on it has its columns.
            task.storage.note_table(part.mirror.path, exists=part.since is not None)
    paths = [rewrite.path for rewrite in task.rewritten]
    paths += [files.path for files in task.compacted]
    for path in paths:
        task.storage.note_table(path, exists=True)


def _applied(
    task: task_messages.Task, client: KafkaClient | None
) -> list[task_messages.PartResult]:
    """Apply all parts; an error that names a topic is that of its table alone."""
    left = {part.topic: part for part in task.parts}
    results: list[task_messages.PartResult] = []
    while left:
        try:
            used = _client(task.kafka) if client is None else client
            for result in _results(task, used, list(left.values())):
                results.append(result)
                del left[result.topic]
            break
        except MirrorError as error:
            if client is None:
                # The connection may be in any state.
                _forget(task.kafka)
            topic = error.message.facts.get("topic")
            for failed in [topic] if isinstance(topic, str) and topic in left else list(left):
                results.append(task_messages.PartResult(failed, error=error))
                del left[failed]
    return results


def _results(
    task: task_messages.Task, client: KafkaClient, parts: Sequence[task_messages.TablePart]
) -> Iterator[task_messages.PartResult]:
    """Yield the result of each part as soon as its records are there."""
    by_topic = {part.topic: part for part in parts}
    missing = {part.topic: len(part.ranges) for part in parts}
    pieces: dict[str, list[tuple[OffsetRange, RecordColumns]]] = {topic: [] for topic in by_topic}
    ranges = [span for part in parts for span in part.ranges]
    for span, columns in client.read_ranges(ranges, task.bytes_max):
        pieces[span.topic].append((span, columns))
        missing[span.topic] -= 1
        if not missing[span.topic]:
            yield apply_part(task, by_topic[span.topic], pieces.pop(span.topic))


def _client(facts: BrokerConfig) -> KafkaClient:
    if facts not in _clients:
        _clients[facts] = KafkaClient(facts)
    return _clients[facts]


def _forget(facts: BrokerConfig) -> None:
    client = _clients.pop(facts, None)
    if client is not None:
        client.close()
