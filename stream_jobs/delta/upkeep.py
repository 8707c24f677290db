"""What the job does for a table between batches, so that nobody has to schedule it.

Checkpoints follow the number of commits, as does the rest: an idle table does not grow, and costs
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.errors import CommitConflict
from stream_jobs.delta import compaction, retention
from stream_jobs.delta.housekeeping import clean_log, is_checkpoint_due, vacuum, write_checkpoint
from stream_jobs.delta.retention import Retention
from stream_jobs.delta.table import Change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_jobs.delta.compaction import Limits
    from stream_jobs.delta.table import DeltaTable

# A table that changes every second has 86,400 versions a day. Delta's defaults, 30 days and one
# week, would keep millions of small files; a query or a stream that reads has six hours here.
PROPERTIES = {
    retention.CHECKPOINTS: "100",
    retention.LOG: "interval 6 hours",
    retention.FILES: "interval 6 hours",
}
# Listing all files of a table is worth it after so many checkpoints.
_CHECKPOINTS = 10
# Deleted at once; more than what is left by a thousand batches of a few files each.
_FILES_MAX = 20_000


class Cleaned(NamedTuple):
    """What was deleted: files of the log, other files, and the bytes of these."""

    log_files: int
    files: int
    bytes: int


class Compacted(NamedTuple):
    """How many files became how many, and the bytes that were read and written."""

    files: int
    new_files: int
    bytes: int


def clean_up(table: DeltaTable) -> Cleaned:
    """Write a checkpoint and delete what nobody needs, when it is time.

    Raises MirrorError if the log is damaged, or if the storage fails.
    """
    if not is_checkpoint_due(table):
        return Cleaned(0, 0, 0)
    commits = Retention.of(table.path, table.snapshot.configuration).commits
    before = max(table.snapshot.checkpoint, 0)
    write_checkpoint(table)
    period = commits * _CHECKPOINTS
    if table.snapshot.version // period == before // period:
        return Cleaned(0, 0, 0)
    log_files = clean_log(table)
    return Cleaned(log_files, *vacuum(table, _FILES_MAX))


def compact(table: DeltaTable, key: Sequence[str], limits: Limits) -> Compacted:
    """Rewrite small files and files with many dead rows, in one commit within the budget.

    If another writer was faster, nothing is changed, and the next commit of rows is told of it.
    Raises MirrorError if a file cannot be read, or if the storage fails.
    """
    snapshot = table.snapshot
    groups = compaction.plan(snapshot.files.values(), limits)
    if not groups:
        return Compacted(0, 0, 0)
    columns = snapshot.metadata.file_columns
    rewritten = [
        compaction.rewrite(table.storage, table.path, columns, group, key, snapshot.clustering)
        for group in groups
    ]
    new = [file for file in rewritten if file]
    old = [file for group in groups for file in group]
    try:
        table.commit(Change(new=new, removed=old, data_change=False), "OPTIMIZE")
    except CommitConflict:
        return Compacted(0, 0, 0)
    return Compacted(len(old), len(new), sum(file.size for file in (*old, *new)))
