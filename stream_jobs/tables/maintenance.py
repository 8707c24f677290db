"""Maintenance of the mirrors after the commits of a batch: compaction, checkpoints and cleanup.

    compaction   small files become one, dead rows go away: by Spark tasks, within a budget
    checkpoint   a reader opens the table without reading its whole log
    cleanup      files and versions that are older than the retention are deleted

Only tables that had records in the batch are looked at: an idle table costs nothing. Nobody has to
call OPTIMIZE or VACUUM.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, NamedTuple

from stream_jobs.apply.task_messages import CompactedFiles, PartResult, Task, results_by_topic
from stream_jobs.delta.compaction import CompactionLimits, plan
from stream_jobs.delta.housekeeping import clean_up, is_checkpoint_due
from stream_jobs.delta.log import Moment, now
from stream_jobs.errors import CommitConflict, MirrorError, StopRequested
from stream_jobs.tables.commit_threads import map_tables
from stream_jobs.tables.mirror_creation import remove_files
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.task_plan import divide_work


class ChangedTable(NamedTuple):
    """A table that a batch has changed."""

    topic: str
    mirror: MirrorTable
    key: tuple[str, ...]  # by which rows of a file are found
    # 0: that of all tables.
    target_bytes: int = 0


# Bytes that a batch compacts; what is left waits for the next one.
_BUDGET_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TableMaintenance:
    """The upkeep of all tables."""

    template: Task
    run: Callable[[Sequence[Task]], list[PartResult]]
    cores: Callable[[], int]
    threads: int
    target_bytes: int
    # The time for which a table is cleaned up, if it is done at a time: milliseconds since 1970.
    kept_since: Callable[[ChangedTable, int], int] = lambda _, at: at

    def after(
        self, tables: Sequence[ChangedTable], at: int | None = None
    ) -> dict[str, MirrorError]:
        """Do what is due for the tables of a batch; return errors by topic.

        What is older than the retention `at`, milliseconds since 1970, is deleted; by default, now.
        """
        at = now() if at is None else at
        cores = self.cores()
        work = self._compactions(tables, cores)
        tasks = [
            self.template.doing(compacted=share) for share in divide_work(work, cores, _bytes_of)
        ]
        mirrors = {table.topic: table.mirror for table in tables}
        failed = self._compact(mirrors, tasks) if tasks else {}
        # Shards share one table.
        once = {table.mirror.delta.path: table for table in tables}
        due, unclear = _due(once.values())
        failed |= unclear
        if due:
            with ThreadPoolExecutor(self.threads) as pool:
                errors = pool.map(lambda table: self._cleaned_up(table, at), due)
                failed |= {
                    table.topic: error
                    for table, error in zip(due, errors, strict=True)
                    if error is not None
                }
        return failed

    def _compactions(self, tables: Sequence[ChangedTable], cores: int) -> list[CompactedFiles]:
        """Return the files to compact, up to the budget; a group that exceeds it goes alone."""
        work: list[CompactedFiles] = []
        left = _BUDGET_BYTES
        for topic, own, key, target in tables:
            own.began = Moment.here()
            snapshot = own.delta.snapshot
            limits = CompactionLimits(target or self.target_bytes, left, cores)
            for group in plan(snapshot.files.values(), limits):
                columns = snapshot.metadata.file_columns
                files, path = tuple(group), own.delta.path
                compaction = CompactedFiles(topic, path, files, columns, key, snapshot.clustering)
                size = _bytes_of(compaction)
                if work and size > left:
                    continue
                left -= size
                work.append(compaction)
        return work

    def _compact(
        self, tables: dict[str, MirrorTable], tasks: Sequence[Task]
    ) -> dict[str, MirrorError]:
        results = results_by_topic(self.run(tasks))
        with ThreadPoolExecutor(self.threads) as pool:
            committed = map_tables(
                pool,
                results,
                lambda topic: tables[topic].delta.path,
                lambda topic: self._commit(tables[topic], results[topic]),
            )
        return {topic: error for topic, error in committed if error is not None}

    def _commit(self, own: MirrorTable, results: Sequence[PartResult]) -> MirrorError | None:
        error = next((result.error for result in results if result.error is not None), None)
        if error is not None:
            return error
        try:
            own.commit_compaction(results)
        except (CommitConflict, StopRequested):
            # The next batch reads the new version, and plans again.
            remove_files(own.delta.storage, own.delta.path, results)
        except MirrorError as failure:
            return failure
        return None

    def _cleaned_up(self, table: ChangedTable, at: int) -> MirrorError | None:
        try:
            delta = table.mirror.delta
            with delta.exclusive():
                # After a pause of this process, a later batch does it.
                if delta.may_clean_up:
                    clean_up(delta.whole, self.kept_since(table, at))
        except MirrorError as error:
            return error
        return None


def _due(
    tables: Iterable[ChangedTable],
) -> tuple[list[ChangedTable], dict[str, MirrorError]]:
    """Return the tables that a checkpoint is due for.

    And the errors of those whose properties are invalid.
    """
    due, failed = [], {}
    for table in tables:
        try:
            if is_checkpoint_due(table.mirror.delta.whole):
                due.append(table)
        except MirrorError as error:
            failed[table.topic] = error
    return due, failed


def _bytes_of(work: CompactedFiles) -> int:
    return sum(file.size for file in work.files)
