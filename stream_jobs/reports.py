"""What a batch has done, for its status line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stream_jobs.apply.facts import PartResult


@dataclass(frozen=True, slots=True)
class TableReport:
    """The result of a batch for one table."""

    changes: int  # records of the batch, without tombstones
    upserts: int  # keys whose last change is an insert or an update
    deletes: int  # keys whose last change is a delete
    skipped: int  # changes that were applied before, are below a floor, or have no mirror
    source_ts_ms: int | None  # when the source committed the latest of the applied changes

    @classmethod
    def of(cls, results: Sequence[PartResult]) -> TableReport:
        """Sum up what tasks did; what has no mirror was skipped."""
        times = [each.source_ts_ms for each in results if each.source_ts_ms is not None]
        applied = sum(each.applied for each in results if each.is_applied)
        rows = sum(each.rows if each.is_applied else each.changes for each in results)
        return cls(
            changes=sum(each.changes for each in results),
            upserts=sum(each.upserts for each in results),
            deletes=sum(each.deletes for each in results),
            skipped=rows - applied,
            source_ts_ms=max(times, default=None),
        )


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The result of a batch."""

    seconds: float
    records: int  # including tombstones
    tables: dict[str, TableReport]  # by `database.table`
    keyless_topics: list[str]  # topics of tables without a mirror
    # Seconds of the parts of a batch: planning, tasks, commits.
    phases: dict[str, float]
