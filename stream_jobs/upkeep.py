"""Keeps the mirrors small and fast to open, after the commits of a batch.

    compaction   small files become one, dead rows go away: by Spark tasks, within a budget
    checkpoint   a reader opens the table without reading its whole log
    clean-up     files and versions that are older than the retention are deleted

Only tables that had records in the batch are looked at: an idle table costs nothing. Nobody has to
call OPTIMIZE or VACUUM.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from connector.errors import CommitConflict
from stream_jobs.apply.facts import CompactedFiles, PartResult, Task, by_topic
from stream_jobs.delta.compaction import Limits, plan
from stream_jobs.delta.housekeeping import clean_up, is_checkpoint_due
from stream_jobs.plan import shares
from stream_jobs.table_checks import remove_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stream_jobs.mirror_table import MirrorTable


class KeptTable(NamedTuple):
    """A table that a batch has changed."""

    topic: str
    mirror: MirrorTable
    key: tuple[str, ...]


# Bytes that a batch compacts; what is left waits for the next one.
_BUDGET_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The upkeep of all tables."""

    template: Task
    run: Callable[[Sequence[Task]], list[PartResult]]
    cores: int
    threads: int
    target_bytes: int

    def after(self, tables: Sequence[KeptTable]) -> None:
        """Do what is due for the tables of a batch. Raises MirrorError if that fails."""
        work = self._compactions(tables)
        if work:
            self._compact({table.topic: table.mirror for table in tables}, work)
        due = [table.mirror.delta for table in tables if is_checkpoint_due(table.mirror.delta)]
        if due:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(clean_up, due))

    def _compactions(self, tables: Sequence[KeptTable]) -> list[CompactedFiles]:
        """Return the files to compact, up to the budget; a group that exceeds it goes alone."""
        work: list[CompactedFiles] = []
        left = _BUDGET_BYTES
        for topic, own, key in tables:
            snapshot = own.delta.snapshot
            for group in plan(snapshot.files.values(), Limits(self.target_bytes, left)):
                size = sum(file.size for file in group)
                if work and size > left:
                    continue
                left -= size
                columns = snapshot.metadata.file_columns
                files, path = tuple(group), own.delta.path
                work.append(CompactedFiles(topic, path, files, columns, key, snapshot.clustering))
        return work

    def _compact(self, tables: dict[str, MirrorTable], work: Sequence[CompactedFiles]) -> None:
        tasks = [self.template.doing(compacted=share) for share in shares(work, self.cores)]
        for topic, found in by_topic(self.run(tasks)).items():
            self._commit(tables[topic], found)

    def _commit(self, own: MirrorTable, results: Sequence[PartResult]) -> None:
        error = next((each.error for each in results if each.error is not None), None)
        if error is not None:
            raise error
        try:
            own.commit_compaction(results)
        except CommitConflict:
            # The next batch reads the new version, and plans again.
            remove_files(own.delta.storage, own.delta.path, results)
