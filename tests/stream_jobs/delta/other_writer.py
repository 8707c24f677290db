"""Another program that compacts a table, as OPTIMIZE does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_jobs.delta import compaction
from stream_jobs.delta.table import TableCommit
from stream_jobs.errors import CommitConflict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_jobs.delta.compaction import CompactionLimits
    from stream_jobs.delta.table import DeltaTable


def compact(table: DeltaTable, key: Sequence[str], limits: CompactionLimits) -> int:
    """Rewrite groups of files; return how many files were replaced, 0 if a writer was faster."""
    snapshot = table.snapshot
    groups = compaction.plan(snapshot.files.values(), limits)
    columns = snapshot.metadata.file_columns
    clustering = snapshot.clustering
    new = [
        file
        for group in groups
        for file in compaction.rewrite(table.storage, table.path, columns, group, key, clustering)
    ]
    old = [file for group in groups for file in group]
    if not old:
        return 0
    try:
        table.commit(TableCommit(new=new, removed=old, data_change=False), "OPTIMIZE")
    except CommitConflict:
        return 0
    return len(old)
