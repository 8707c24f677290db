"""What tasks are told to do for one table in the next round of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stream_jobs.apply.facts import RewrittenFile, TablePart
from stream_jobs.apply.truncates import TRUNCATES

if TYPE_CHECKING:
    from stream_jobs.tables.first_mirror import FirstMirror
    from stream_jobs.tables.followed_columns import FollowedColumns
    from stream_jobs.tables.table_ranges import TableRanges
    from stream_jobs.tables.table_truncates import TableTruncates
    from stream_jobs.tables.topic_state import TopicState


class TableRound(NamedTuple):
    """The next round, of the state that the last one has left."""

    state: TopicState
    ranges: TableRanges
    truncates: TableTruncates
    columns: FollowedColumns
    first: FirstMirror
    skipped: frozenset[tuple[int, int]]

    def rewritten(self) -> list[RewrittenFile]:
        """Return the files that the round writes anew; it then does nothing else."""
        own, step, mode = self.state.mirror, self.columns.step, self.state.mode
        if own is None or not (self.truncates.is_changing or step is not None):
            return []
        snapshot = own.delta.snapshot
        metadata = snapshot.metadata
        columns = (metadata if step is None else metadata.with_columns(step.columns)).file_columns
        files = [file for file in snapshot.files.values() if file.live]
        return [
            RewrittenFile(
                self.state.topic,
                own.delta.path,
                columns,
                {} if step is None else step.rewrite or {},
                own.with_statistics(self.columns.schema if step is None else step.schema, mode),
                mode.name,
                self.truncates.known(own) if self.truncates.is_changing else (),
                file,
            )
            for file in files
        ]

    def part(self) -> TablePart:
        """Return what the round does with the records."""
        own, ranges, columns = self.state.mirror, self.ranges, self.columns
        progress = None if own is None else own.progress
        return TablePart(
            self.state.topic,
            ranges.left(),
            {} if progress is None else progress.marks,
            self.truncates.floor,
            None if progress is None else progress.since,
            self.first.facts() if own is None else own.facts(columns.schema, columns.parses),
            () if own is None else tuple(own.delta.snapshot.files.values()),
            self.truncates.is_killing,
            self.skipped,
            self.state.mode.name,
            self.truncates.known(own),
            ranges.starts.get(TRUNCATES, ranges.truncates_end),
            ranges.truncates_end if ranges.are_truncates_known else None,
            ranges.bound,
        )
