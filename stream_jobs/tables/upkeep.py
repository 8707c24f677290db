"""Keeps the mirrors small and fast to open, after the commits of a batch.

    compaction   small files become one, dead rows go away: by Spark tasks, within a budget
    checkpoint   a reader opens the table without reading its whole log
    clean-up     files and versions that are older than the retention are deleted

Only tables that had records in the batch are looked at: an idle table costs nothing. Nobody has to
call OPTIMIZE or VACUUM.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from connector.errors import CommitConflict, MirrorError
from stream_jobs.apply.facts import CompactedFiles, PartResult, Task, by_topic
from stream_jobs.delta.compaction import Limits, plan
from stream_jobs.delta.housekeeping import clean_up, is_checkpoint_due
from stream_jobs.tables.plan import shares
from stream_jobs.tables.table_checks import remove_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream_jobs.delta.table import DeltaTable
    from stream_jobs.tables.mirror_table import MirrorTable


class KeptTable(NamedTuple):
    """A table that a batch has changed."""

    topic: str
    mirror: MirrorTable
    key: tuple[str, ...]  # by which rows of a file are found
    # 0: that of all tables.
    target_bytes: int = 0


# Bytes that a batch compacts; what is left waits for the next one.
_BUDGET_BYTES: Final = 64 * 1024 * 1024
# A group of this part of a file's target size is divided if cores are idle, into parts of so many
# files at least. To write a million rows again takes a core some seconds.
_TARGET_PARTS: Final = 16
_HALF_FILES: Final = 3


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The upkeep of all tables."""

    template: Task
    run: Callable[[Sequence[Task]], list[PartResult]]
    cores: Callable[[], int]
    threads: int
    target_bytes: int

    def after(self, tables: Sequence[KeptTable], at: int | None = None) -> dict[str, MirrorError]:
        """Do what is due for the tables of a batch; return errors by topic.

        What is older than the retention `at`, milliseconds since 1970, is deleted; by default, now.
        """
        work = self._compactions(tables)
        failed = self._compact({each.topic: each.mirror for each in tables}, work) if work else {}
        due = [table for table in tables if is_checkpoint_due(table.mirror.delta)]
        if due:
            with ThreadPoolExecutor(self.threads) as pool:
                errors = pool.map(lambda table: _cleaned_up(table.mirror.delta, at), due)
                failed |= {
                    table.topic: error
                    for table, error in zip(due, errors, strict=True)
                    if error is not None
                }
        return failed

    def _compactions(self, tables: Sequence[KeptTable]) -> list[CompactedFiles]:
        """Return the files to compact, up to the budget; a group that exceeds it goes alone."""
        work: list[CompactedFiles] = []
        left = _BUDGET_BYTES
        for topic, own, key, target in tables:
            snapshot = own.delta.snapshot
            limits = Limits(target or self.target_bytes, left)
            for group in plan(snapshot.files.values(), limits):
                size = sum(file.size for file in group)
                if work and size > left:
                    continue
                left -= size
                columns = snapshot.metadata.file_columns
                files, path = tuple(group), own.delta.path
                work.append(CompactedFiles(topic, path, files, columns, key, snapshot.clustering))
        return work

    def _compact(
        self, tables: dict[str, MirrorTable], work: Sequence[CompactedFiles]
    ) -> dict[str, MirrorError]:
        cores = self.cores()
        if len(work) < cores:
            least = self.target_bytes // _TARGET_PARTS
            work = [half for each in work for half in _halves(each, least)]
        tasks = [self.template.doing(compacted=share) for share in shares(work, cores)]
        failed = {}
        for topic, found in by_topic(self.run(tasks)).items():
            try:
                self._commit(tables[topic], found)
            except MirrorError as error:
                failed[topic] = error
        return failed

    def _commit(self, own: MirrorTable, results: Sequence[PartResult]) -> None:
        error = next((each.error for each in results if each.error is not None), None)
        if error is not None:
            raise error
        try:
            own.commit_compaction(results)
        except CommitConflict:
            # The next batch reads the new version, and plans again.
            remove_files(own.delta.storage, own.delta.path, results)


def _halves(work: CompactedFiles, least: int) -> tuple[CompactedFiles, ...]:
    """Return a group of `least` bytes or more as two: the batch waits for its compaction.

    Two files take its place instead of one. More of them would often be written again.
    """
    total = sum(file.size for file in work.files)
    if total < least:
        return (work,)
    # The files are in the order of time; what was written together stays together.
    size = middle = 0
    while size < total / 2:
        size += work.files[middle].size
        middle += 1
    first, second = work.files[:middle], work.files[middle:]
    if min(len(first), len(second)) < _HALF_FILES:
        return (work,)
    return replace(work, files=first), replace(work, files=second)


def _cleaned_up(table: DeltaTable, at: int | None) -> MirrorError | None:
    try:
        clean_up(table, at)
    except MirrorError as error:
        return error
    return None
