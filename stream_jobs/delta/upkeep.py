"""What the job does for a table between batches, so that nobody has to schedule it.

Checkpoints follow the number of commits, as does the rest: an idle table does not grow, and costs
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stream_jobs.delta import retention
from stream_jobs.delta.housekeeping import clean_log, is_checkpoint_due, vacuum, write_checkpoint
from stream_jobs.delta.retention import Retention

if TYPE_CHECKING:
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
