"""The parts of a batch become about as many tasks as there are cores.

A table stays in one task if that is possible: each task writes a file of its own. A large one is
split by its partitions, which share no key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream_jobs.apply.facts import TablePart
    from stream_jobs.source.ranges import OffsetRange

_T = TypeVar("_T")

# Fewer records are not worth another file.
_SPLIT_RECORDS: Final = 20_000
# Fewer records in all are not worth another task.
_TASK_RECORDS: Final = 200


def spread(
    parts: Sequence[TablePart], tasks: int, whole: frozenset[str] = frozenset()
) -> list[list[TablePart]]:
    """Return the parts of each task; topics in `whole` are not split."""
    total = sum(_records(part) for part in parts)
    tasks = max(1, min(tasks, total // _TASK_RECORDS))
    share = max(_SPLIT_RECORDS, -(-total // tasks))
    pieces = []
    for part in parts:
        is_large = _records(part) > share and part.topic not in whole
        pieces += _pieces(part, tasks) if is_large else [part]
    bins: list[list[TablePart]] = [[] for _ in range(tasks)]
    for part in sorted(pieces, key=_records, reverse=True):
        # A task has one part of a table.
        free = [own for own in bins if all(each.topic != part.topic for each in own)]
        min(free or bins, key=_load).append(part)
    return [own for own in bins if own]


def shares(work: Sequence[_T], tasks: int, size: Callable[[_T], int]) -> list[tuple[_T, ...]]:
    """Return `work` in shares of about the same size, at most `tasks`, without empty ones."""
    bins: list[list[_T]] = [[] for _ in range(min(tasks, len(work)))]
    for each in sorted(work, key=size, reverse=True):
        min(bins, key=lambda own: sum(map(size, own))).append(each)
    return [tuple(own) for own in bins if own]


def _pieces(part: TablePart, count: int) -> list[TablePart]:
    groups: list[list[OffsetRange]] = [[] for _ in range(count)]
    for each in sorted(part.ranges, key=_length, reverse=True):
        min(groups, key=lambda own: sum(map(_length, own))).append(each)
    return [replace(part, ranges=tuple(own)) for own in groups if own]


def _length(each: OffsetRange) -> int:
    return max(0, each.end - each.start)


def _records(part: TablePart) -> int:
    return sum(map(_length, part.ranges))


def _load(parts: Sequence[TablePart]) -> int:
    return sum(map(_records, parts))
