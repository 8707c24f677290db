"""Compaction: it merges small files, and removes dead rows.

Files are compacted with others of about their size, eight at least. So a row is written again each
time its file becomes eight times as large, and not each time a small file is added.

Several tasks share a large group: each writes one file. A table that is written by several tasks
has as many more files, which are as much smaller. So such a group waits until there are eight files
for each of two tasks: otherwise each row would be written again more often than by one task.

Other programs write files of any size. A large one is read part by part, and each part becomes a
file: a task has the memory for one.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.columns import Column
from stream_jobs.delta.parquet_file import live_positions, live_rows, rows_at, write_file
from stream_jobs.delta.storage import Storage

# Files of one size that are compacted, and how much larger the next size is.
GROUP_FILES = 8
_SMALLEST = 32 * 1024
# A file is rewritten when this part of its rows is dead. For a small one, that costs more than it
# saves: it waits until it is compacted with others.
DEAD_SHARE = 0.3
# A task rewrites this part of the target size at least, if it shares a group with others. To write
# a million rows again takes a core some seconds, for which the batch waits.
_TARGET_PARTS = 32
# A group waits for the files of so many tasks. A table may have one new file in a batch, however
# many cores there are.
_AWAITED_TASKS = 2
# So much of a file is read at once.
PART_BYTES = 128 * 1024 * 1024


class CompactionLimits(NamedTuple):
    """How large files become, how much is read at once, and how many tasks do it."""

    target: int  # bytes
    budget: int  # bytes
    tasks: int = 1

    def sharing(self, size: float) -> int:
        """Return how many tasks share files of `size` bytes."""
        return max(1, min(self.tasks, int(size * _TARGET_PARTS // self.target)))


def plan(files: Collection[DataFile], limits: CompactionLimits) -> list[list[DataFile]]:
    """Return groups of files, each to be rewritten as one file; together within the budget.

    A group that is larger than the whole budget is planned alone, so that it is done at all.
    """
    if len(files) < GROUP_FILES and not any(map(_is_worn, files)):
        # Each changed table is asked after each batch, and most have few files.
        return []
    chosen: list[list[DataFile]] = []
    total = 0
    for group in sorted(_groups(files, limits), key=_gain, reverse=True):
        size = sum(file.size for file in group)
        if not chosen or total + size <= limits.budget:
            chosen.append(group)
            total += size
    return chosen


def rewrite(
    storage: Storage,
    table: str,
    columns: Sequence[Column],
    files: Sequence[DataFile],
    key: Sequence[str],
    clustering: Sequence[str] = (),
) -> list[DataFile]:
    """Write the live rows of `files` as one new file, or of one large file as several.

    There is none without rows. `columns` are those of the new files. A column may have another type
    than in `files` if all its values fit: that is how a type is widened. The rows are sorted by
    `clustering`, else by `key` if it is one integer. `files` have the same partition values and
    tags. Raises MirrorError if a file cannot be read, or if a value does not fit.
    """
    parts = (part for file in files for part in live_parts(storage, table, file, columns))
    groups = parts if len(files) == 1 else [pa.concat_tables(parts)]
    return [
        write_file(
            storage,
            table,
            columns,
            _sorted(data, key, clustering),
            key=[*key, *clustering],
            partition_values=files[0].partition_values,
            tags=files[0].tags,
        )
        for data in groups
        if data.num_rows
    ]


def live_parts(
    storage: Storage, table: str, file: DataFile, columns: Sequence[Column]
) -> Iterator[pa.Table]:
    """Yield the live rows of a file in their order; for each part, about `PART_BYTES` are read."""
    if file.size <= PART_BYTES or file.rows <= 0:
        yield live_rows(storage, table, file, columns)
        return
    count = -(-file.size // PART_BYTES)
    positions = live_positions(storage, table, file, columns)
    ends = [file.rows * number // count for number in range(1, count)]
    for own in np.split(positions, np.searchsorted(positions, ends)):
        yield rows_at(storage, table, file, columns, own)


def _sorted(data: pa.Table, key: Sequence[str], clustering: Sequence[str]) -> pa.Table:
    # Arrow sorts many small chunks slowly.
    data = data.combine_chunks()
    if clustering:
        return data.sort_by([(name, "ascending") for name in clustering])
    return in_key_order(data, key)


def in_key_order(data: pa.Table, key: Sequence[str]) -> pa.Table:
    """Return rows in the order of their key, if that is one integer: files then overlap less."""
    # Within a partition, the column of the partition is constant, and not part of the files.
    is_sorted = (
        data.num_rows > 1
        and len(key) == 1
        and key[0] in data.column_names
        and pa.types.is_integer(data[key[0]].type)
    )
    return data.sort_by(key[0]) if is_sorted else data


def _groups(files: Iterable[DataFile], limits: CompactionLimits) -> Iterator[list[DataFile]]:
    sizes: dict[object, list[DataFile]] = {}
    for file in files:
        live = _live_size(file)
        place = (tuple(sorted(file.partition_values.items())), tuple(sorted(file.tags.items())))
        if live < limits.target / 2:
            sizes.setdefault((place, _size_class(live)), []).append(file)
        elif _is_worn(file):
            yield [file]
    for alike in sizes.values():
        awaited = min(_AWAITED_TASKS, limits.sharing(sum(map(_live_size, alike))))
        is_due = len(alike) >= GROUP_FILES * awaited
        groups = _cut(alike, limits) if is_due else [[f] for f in alike]
        yield from (group for group in groups if len(group) > 1 or _is_worn(group[0]))


def _cut(files: list[DataFile], limits: CompactionLimits) -> Iterator[list[DataFile]]:
    """Divide files into groups of at most the target size, and these among tasks."""
    group: list[DataFile] = []
    size = 0.0
    # What was written together stays together.
    for file in sorted(files, key=lambda file: file.modified):
        if group and size + _live_size(file) > limits.target:
            yield from _divided(group, limits.sharing(size))
            group, size = [], 0.0
        group.append(file)
        size += _live_size(file)
    yield from _divided(group, limits.sharing(size))


def _divided(group: list[DataFile], tasks: int) -> Iterator[list[DataFile]]:
    """Divide a group into parts of about the same size, one for each of `tasks` at most."""
    parts = max(1, min(tasks, len(group) // GROUP_FILES))
    share = sum(map(_live_size, group)) / parts
    part: list[DataFile] = []
    size = 0.0
    for file in group:
        # The part that ends nearest to its share.
        if part and size + _live_size(file) / 2 > share:
            yield part
            part, size = [], size - share
        part.append(file)
        size += _live_size(file)
    yield part


def _gain(group: list[DataFile]) -> float:
    """Return how many files and dead rows go away for each byte that is read."""
    dead = sum(file.deleted / max(file.rows, 1) for file in group)
    return (len(group) - 1 + dead) / max(sum(file.size for file in group), 1)


def _is_worn(file: DataFile) -> bool:
    return file.size > _SMALLEST and file.deleted >= DEAD_SHARE * file.rows > 0


def _live_size(file: DataFile) -> float:
    return file.size * file.live / file.rows if file.rows > 0 else file.size


def _size_class(size: float) -> int:
    place = 0
    while size > _SMALLEST:
        size /= GROUP_FILES
        place += 1
    return place
