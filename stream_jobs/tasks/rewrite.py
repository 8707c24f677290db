"""Writes the live rows of data files anew: other columns, after a truncate, or files as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from connector.errors import MirrorError
from stream_jobs.apply.defects import DEFECTS, table_defect
from stream_jobs.apply.facts import PartResult
from stream_jobs.apply.modes.choice import MODES
from stream_jobs.apply.rows import literal
from stream_jobs.delta.compaction import rewrite
from stream_jobs.delta.parquet_file import live_rows, write_file

if TYPE_CHECKING:
    from stream_jobs.apply.facts import CompactedFiles, RewrittenFile, Task


def rewritten_file(task: Task, each: RewrittenFile) -> PartResult:
    """Write the rows into a new file; a file without live rows has none.

    After a truncate that changes none of its rows, a file stays.
    """
    result = PartResult(each.topic, is_applied=True)
    try:
        data = live_rows(task.storage, each.path, each.file, each.columns)
        for name, column in each.added.items():
            place = data.column_names.index(name)
            value = literal(column, column.get("added_default")).cast(data[name].type)
            values = pa.chunked_array([pa.repeat(value, data.num_rows)])
            data = data.set_column(place, name, values)
        if each.truncates:
            emptied = MODES[each.mode].after_truncates(data, each.truncates)
            if emptied is None:
                return result
            data, result.replaced = emptied, (each.file,)
        if data.num_rows:
            file = write_file(
                task.storage,
                each.path,
                each.columns,
                data,
                key=each.key,
                partition_values=each.file.partition_values,
                tags=each.file.tags,
            )
            result.files = (file,)
    except MirrorError as error:
        result.error = error
    except DEFECTS as error:
        result.error = table_defect(each.topic, error)
    return result


def compacted_file(task: Task, each: CompactedFiles) -> PartResult:
    """Write the rows of several files into one; without live rows there is none."""
    result = PartResult(each.topic, replaced=each.files)
    try:
        file = rewrite(task.storage, each.path, each.columns, each.files, each.key, each.clustering)
        result.files = () if file is None else (file,)
    except MirrorError as error:
        result.error = error
    except DEFECTS as error:
        result.error = table_defect(each.topic, error)
    return result
