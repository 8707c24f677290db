"""The plan of a round: what tasks do for each table, divided among about as many tasks as cores.

A table stays in one task if that is possible, because each task writes a file of its own. A large
table is split by its partitions, which share no key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from stream_jobs.apply.changes import TRUNCATES
from stream_jobs.apply.task_messages import RewrittenFile, TablePart
from stream_jobs.source.topics import OffsetRange

if TYPE_CHECKING:
    from stream_jobs.tables.mirror_creation import MirrorCreation
    from stream_jobs.tables.schema_evolution import SchemaEvolution
    from stream_jobs.tables.table_ranges import TableRanges, TableTruncates
    from stream_jobs.tables.topic_state import TopicState


class TableRound(NamedTuple):
    """The next round, of the state that the last one has left."""

    state: TopicState
    ranges: TableRanges
    truncates: TableTruncates
    columns: SchemaEvolution
    first: MirrorCreation
    skipped: frozenset[tuple[int, int]]

    def rewritten(self) -> list[RewrittenFile]:
        """Return the files that the round writes anew; it then does nothing else."""
        own, step, mode = self.state.mirror, self.columns.step, self.state.mode
        if own is None or not (self.truncates.is_changing or step is not None):
            return []
        snapshot = own.delta.snapshot
        files = [(file, snapshot.metadata.file_columns) for file in snapshot.files.values()]
        if step is not None:
            files = own.replaced_files(step)
        added = {} if step is None else step.rewrite or {}
        return [
            RewrittenFile(
                self.state.topic,
                own.delta.path,
                columns,
                # Other shards do not get the values.
                added if file.path in snapshot.files else {},
                own.with_statistics(self.columns.schema if step is None else step.schema, mode),
                mode.name,
                self.truncates.known(own) if self.truncates.is_changing else (),
                file,
            )
            for file, columns in files
            if file.live
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


_T = TypeVar("_T")

# Fewer records are not worth another file.
_SPLIT_RECORDS: Final = 20_000
# Fewer records in all are not worth another task.
_TASK_RECORDS: Final = 200


def distribute_parts(
    parts: Sequence[TablePart], tasks: int, whole: frozenset[str] = frozenset()
) -> list[list[TablePart]]:
    """Return the parts of each task; topics in `whole` are not split."""
    total = sum(records_of(part) for part in parts)
    tasks = max(1, min(tasks, total // _TASK_RECORDS))
    share = max(_SPLIT_RECORDS, -(-total // tasks))
    pieces = []
    for part in parts:
        is_large = records_of(part) > share and part.topic not in whole
        pieces += _pieces(part, tasks) if is_large else [part]
    bins: list[list[TablePart]] = [[] for _ in range(tasks)]
    # What each has already: to add it up for each part takes the square of their number.
    loads, topics = [0] * tasks, [set[str]() for _ in range(tasks)]
    for part in sorted(pieces, key=records_of, reverse=True):
        # A task has one part of a table.
        free = [number for number in range(tasks) if part.topic not in topics[number]]
        least = min(free or range(tasks), key=loads.__getitem__)
        bins[least].append(part)
        loads[least] += records_of(part)
        topics[least].add(part.topic)
    return [own for own in bins if own]


def divide_work(work: Sequence[_T], tasks: int, size: Callable[[_T], int]) -> list[tuple[_T, ...]]:
    """Return `work` in shares of about the same size, at most `tasks`, without empty ones."""
    bins: list[list[_T]] = [[] for _ in range(min(tasks, len(work)))]
    loads = [0] * len(bins)
    for item in sorted(work, key=size, reverse=True):
        least = min(range(len(bins)), key=loads.__getitem__)
        bins[least].append(item)
        loads[least] += size(item)
    return [tuple(own) for own in bins if own]


def _pieces(part: TablePart, count: int) -> list[TablePart]:
    return [replace(part, ranges=own) for own in divide_work(part.ranges, count, _length)]


def _length(span: OffsetRange) -> int:
    return max(0, span.end - span.start)


def records_of(part: TablePart) -> int:
    """Return how many records a part reads at most."""
    return sum(map(_length, part.ranges))
