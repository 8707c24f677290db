"""Writes the live rows of data files anew: with other columns, or several files as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from connector.errors import MirrorError
from stream_jobs.apply.facts import PartResult
from stream_jobs.apply.rows import literal
from stream_jobs.delta.compaction import rewrite
from stream_jobs.delta.parquet_file import live_rows, write_file

if TYPE_CHECKING:
    from stream_jobs.apply.facts import CompactedFiles, RewrittenFile, Task


def rewritten_file(task: Task, each: RewrittenFile) -> PartResult:
    """Write the rows into a new file; a file without live rows has none."""
    result = PartResult(each.topic)
    try:
        data = live_rows(task.storage, each.path, each.file, each.columns)
        for name, column in each.added.items():
            place = data.column_names.index(name)
            value = literal(column, column.get("added_default")).cast(data[name].type)
            values = pa.chunked_array([pa.repeat(value, data.num_rows)])
            data = data.set_column(place, name, values)
        if data.num_rows:
            result.file = write_file(
                task.storage, each.path, each.columns, data, key=each.key, tags=each.file.tags
            )
    except MirrorError as error:
        result.error = error
    result.is_applied = True
    return result


def compacted_file(task: Task, each: CompactedFiles) -> PartResult:
    """Write the rows of several files into one; without live rows there is none."""
    result = PartResult(each.topic, replaced=each.files)
    try:
        result.file = rewrite(
            task.storage, each.path, each.columns, each.files, each.key, each.clustering
        )
    except MirrorError as error:
        result.error = error
    return result
