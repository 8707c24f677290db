"""The work of one batch: rounds of tasks for all tables, decisions between them, and commits.

    round   the tasks read the records and either apply them, or say what they found
    ▼
    truncate?          a new floor; another round removes what is below it
    other columns?     the mirror gets them, in a commit of its own; another round. Also if no row
                       has them yet, and a statement says them
    otherwise          rows and progress are committed together

`Rounds` runs the tasks of all tables as one Spark job. Most tables are done after one round, and
the next round has only the others. After a commit of another writer, the round is run again on
the new version of the table. Each step can be repeated after a crash at any point.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final

from stream_jobs.apply.table_failures import DEFECT_TYPES, concerns_existing_rows, table_defect
from stream_jobs.apply.task_messages import PartResult, SchemaUse, Task, results_by_topic
from stream_jobs.delta.log import Moment
from stream_jobs.errors import (
    CommitConflict,
    MirrorError,
    ShardOvertaken,
    StopRequested,
    record_errors,
)
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.batch_report import TableResult
from stream_jobs.tables.commit_threads import map_tables
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.mirror_creation import (
    MirrorCreation,
    mirror_gone,
    refuse_rows_without_key,
    remove_files,
)
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.schema_evolution import SchemaEvolution
from stream_jobs.tables.schema_rules import merge_schema_uses
from stream_jobs.tables.table_ranges import TableRanges, TableTruncates
from stream_jobs.tables.task_plan import TableRound, distribute_parts, divide_work
from stream_jobs.tables.topic_state import TopicState, path_in

# Runs tasks somewhere, and returns the results of all.
Runner = Callable[[Sequence[Task]], list[PartResult]]


class Rounds:
    """How rounds are run."""

    def __init__(
        self,
        template: Task,
        run: Runner,
        cores: Callable[[], int],
        threads: int,
        rewriting: AbstractContextManager[object],
    ) -> None:
        """Run tasks like `template` on `cores`, and commit in `threads`.

        The number of cores is asked for each round: workers of a cluster come and go. Whoever else
        commits to a mirror of shards holds `rewriting`.
        """
        self._rewriting = rewriting
        self._template = template
        self._run = run
        self._cores = cores
        self._threads = threads

    def run(self, every: "Sequence[TableWork]", phases: dict[str, float]) -> None:
        """Run rounds until each table has been committed, or has an error; add up `phases`."""
        pending = [work for work in every if work.is_pending]
        if not pending:
            return
        with ThreadPoolExecutor(self._threads) as pool:
            pending = self._round(pending, pool, phases)
            if not pending:
                return
            # Mostly, one round is enough. In later ones, a shard may write all files of its mirror
            # again, and rows that are loaded must not come in between every time.
            with self._rewriting:
                while pending:
                    pending = self._round(pending, pool, phases)

    def _round(
        self, pending: "Sequence[TableWork]", pool: ThreadPoolExecutor, phases: dict[str, float]
    ) -> "list[TableWork]":
        """Run one round, and return what needs another one."""
        at = time.monotonic()
        tasks = self._tasks(pending)
        phases["plan"] += time.monotonic() - at
        at = time.monotonic()
        results = results_by_topic(self._run(tasks) if tasks else ())
        phases["tasks"] += time.monotonic() - at
        at = time.monotonic()
        done = map_tables(
            pool,
            pending,
            lambda work: work.path or work.topic,
            lambda work: _finished(work, results.get(work.topic, [])),
        )
        phases["commit"] += time.monotonic() - at
        return [work for work, is_done in done if not is_done]

    def _tasks(self, pending: "Sequence[TableWork]") -> list[Task]:
        cores, parts, files = self._cores(), [], []
        for work in pending:
            try:
                own = work.next_round()
                rewritten = own.rewritten()
                if not rewritten:
                    parts.append(own.part())
            except DEFECT_TYPES as error:
                # It ends with this round.
                work.error = table_defect(work.topic, error)
            else:
                files += rewritten
        whole = frozenset(work.topic for work in pending if work.must_stay_whole)
        tasks = [
            self._template.doing(parts=tuple(own)) for own in distribute_parts(parts, cores, whole)
        ]
        by_size = divide_work(files, cores, lambda rewrite: rewrite.file.size)
        return tasks + [self._template.doing(rewritten=own) for own in by_size]


def _finished(work: "TableWork", results: Sequence[PartResult]) -> bool:
    if work.error is not None:
        return True
    try:
        return work.finish_round(results)
    except MirrorError as error:
        work.error = error
    except DEFECT_TYPES as error:
        work.error = table_defect(work.topic, error)
    return True


# So often a commit of somebody else comes in between before the job gives up.
_CONFLICTS_MAX: Final = 20


class TableWork:
    """One table in one batch."""

    def __init__(
        self,
        services: MirrorContext,
        state: TopicState,
        ranges: Sequence[OffsetRange],
        skipped: frozenset[tuple[int, int]] = frozenset(),
        bound: PackedSequence | None = None,
    ) -> None:
        """Apply the records of `state.topic` up to the ends of `ranges`, and below `bound`.

        Records in `skipped` are left out: partition and offset.
        """
        self._services = services
        self._state = state
        self._skipped = skipped
        self._truncates = TableTruncates(state.mode)
        self._columns = SchemaEvolution(services, state, self._truncates)
        self.ranges = TableRanges(services, state, ranges, bound)
        self._first = MirrorCreation(services, state, self.ranges.batch)
        self._conflicts = 0
        self.outcome = TableResult(services, state)
        self.error: MirrorError | None = None
        if state.is_mirror_lost and state.mirror is None and self.ranges.is_deleted:
            self.error = mirror_gone(services, services.registry.history(state.topic)[-1])

    @property
    def topic(self) -> str:
        """The topic of the table."""
        return self._state.topic

    @property
    def path(self) -> str:
        """The path of the mirror; empty without one."""
        own = self._state.mirror
        return "" if own is None else own.delta.path

    @property
    def is_keyless(self) -> bool:
        """Whether the table has no key that its mode needs, and so no mirror."""
        return self._state.is_keyless

    @property
    def must_stay_whole(self) -> bool:
        """Whether a key may have changes in two partitions."""
        own = self._state.mirror
        return own is not None and own.progress.are_keys_moved

    @property
    def is_pending(self) -> bool:
        """Whether there is something to read, or a list to follow that no row has."""
        return bool(self.ranges.left() or self._columns.stated(self.ranges))

    def is_before(self, ranges: Sequence[OffsetRange]) -> bool:
        """Return whether the bound keeps records from the table that are in its `ranges`."""
        return self.error is None and self.ranges.is_before(ranges)

    def refuse_forged(self, ranges: Sequence[OffsetRange], progress: str) -> None:
        """Refuse the first record in its `ranges` that the bound keeps from the table.

        The bound is above each change that the topic `progress` tells of.
        """
        first = self.ranges.held_ranges(ranges)[0]
        self.error = MirrorError(
            record_errors.BEYOND_PROGRESS,
            topic=self.topic,
            partition=first.partition,
            offset=first.start,
            progress=progress,
        )

    def next_round(self) -> TableRound:
        """Return what tasks are to do next."""
        if self._state.mirror is not None:
            self._state.mirror.began = Moment.here()
        return TableRound(
            self._state, self.ranges, self._truncates, self._columns, self._first, self._skipped
        )

    def go_on(self, bound: PackedSequence | None, ends: Mapping[int, int]) -> None:
        """Apply records below another bound, up to the ends of the ranges, or to `ends`."""
        self.ranges.go_on(bound, ends)
        self._first = MirrorCreation(self._services, self._state, self.ranges.batch)

    def finish_round(self, results: Sequence[PartResult]) -> bool:
        """Decide and commit; return whether the work is done. Raises MirrorError if it cannot be.

        Raises StopRequested if the job is to stop while the table waits for another process.

        Files of a round that is not committed are removed, but not after an error of the storage:
        the commit may be there.
        """
        try:
            if self._columns.step is None and not self.ranges.left():
                return self._follow_statement()
            return self._finish(results)
        except CommitConflict as conflict:
            self._remove_files(results)
            if not isinstance(conflict, ShardOvertaken):
                self._conflicts += 1
            if self._conflicts > _CONFLICTS_MAX or self._state.mirror is None:
                raise
            self._state.mirror.refresh()
            # A commit of this job may be gone that another writer has overwritten.
            self._state.cursor.clear()
            self._columns.follow()
            self.ranges.find_starts()
            return False
        except StopRequested:
            self._remove_files(results)
            raise
        except MirrorError as error:
            if not (concerns_existing_rows(error) and self.ranges.read_further()):
                raise
            self._first = MirrorCreation(self._services, self._state, self.ranges.batch)
            self._remove_files(results)
            return False

    def end_load(self) -> None:
        """Commit that nothing of a load is missing, unless the table has an error.

        After a commit of another writer, the next batch of the table does it.
        """
        own = self._state.mirror
        if self.error is not None or own is None:
            return
        try:
            own.commit_load_end()
        except CommitConflict:
            own.refresh()
        except MirrorError as error:
            self.error = error
        else:
            self.outcome.add_commit()

    def _finish(self, results: Sequence[PartResult]) -> bool:
        error = next((result.error for result in results if result.error is not None), None)
        if error is not None:
            self._remove_files(results)
            raise error
        own = self._state.mirror
        if self._truncates.is_changing:
            assert own is not None
            self._truncates.commit_changed(own, results)
            return False
        if self._columns.step is not None:
            assert own is not None
            self._columns.commit_step(own, results)
            return False
        truncated = max((r.truncated for r in results if r.truncated is not None), default=None)
        if truncated is not None:
            self._remove_files(results)
            self._truncates.add(own, truncated, results)
            return False
        used = merge_schema_uses([result.schemas for result in results])
        key_change = self._columns.key_change(used)
        if key_change is not None:
            # What has the key before it is applied with that key.
            self._remove_files(results)
            self.ranges.stop_before(key_change)
            return False
        if own is None:
            return self._finish_first(results, used)
        return self._finish_next(own, results, used)

    def _finish_next(
        self, own: MirrorTable, results: Sequence[PartResult], used: Mapping[str, SchemaUse]
    ) -> bool:
        """Commit the rows, or the columns that they need."""
        is_applied = all(result.is_applied for result in results)
        if self._truncates.is_killing and not is_applied:
            self._remove_files(results)
            self._truncates.commit_killed(own, results)
            return False
        if self._columns.begin(own, used):
            self._remove_files(results)
            return False
        if self._columns.schema.key:
            refuse_rows_without_key(results)
        if not is_applied:
            self._remove_files(results)
            self._columns.add(own, used)
            return False
        return self._commit(own, results)

    def _finish_first(self, results: Sequence[PartResult], used: Mapping[str, SchemaUse]) -> bool:
        """Create the mirror with its first rows, or find out what it looks like."""
        state, starts = self._state, self.ranges.starts
        if not used:
            own_truncates = self._truncates
            if own_truncates.floor is not None or self._has_skipped(starts, results):
                self._first.create_empty(
                    own_truncates.floor, starts, results, own_truncates.known(None)
                )
            return self._done(results)
        schemas = self._services.registry.require(self.topic, used)
        newest = schemas[max(used, key=lambda schema_id: used[schema_id].highest)]
        if newest.chosen.is_skipped:
            # Its schema record was not there when the batch began.
            return self._done(results)
        if not newest.key and state.mode.needs_key:
            state.is_keyless = True
            return self._done(results)
        if state.is_keyless:
            # Rows from before the key may be in the topic; if a truncate took them, it is there,
            # maybe among what was read while there was no mirror.
            state.is_keyless = False
            state.cursor.clear()
            self.ranges.find_starts()
            return False
        truncates = self._truncates.known(None)
        floor = self._truncates.floor
        proposal = self._first.accept(results, used, floor, starts)
        if proposal is None:
            self._remove_files(results)
            return False
        own = self._first.create(proposal, floor, starts, truncates=truncates)
        if own.is_shard:
            # The next round writes its rows: it knows the columns of the other shards.
            self._columns.follow()
            return False
        self._columns.accept(proposal)
        return self._commit(own, results)

    def _commit(self, own: MirrorTable, results: Sequence[PartResult]) -> bool:
        truncates = self._truncates
        progress = own.progress.with_truncates(truncates.floor, truncates.known(own)).after(results)
        if self._state.topic_id not in {"", progress.topic_id}:
            progress = replace(progress, topic_id=self._state.topic_id)
        if (
            any(result.applied for result in results)
            or progress.topic_id != own.progress.topic_id
            or progress.floor != own.progress.floor
            or self._has_skipped(own.progress.offsets, results)
        ):
            own.commit_rows(results, progress)
        self._truncates.is_killing = False
        return self._done(results)

    def _has_skipped(self, starts: Mapping[int, int], results: Sequence[PartResult]) -> bool:
        """Return whether a record was left out by request that is not before `starts`.

        Nothing else remembers that when the table goes on.
        """
        ends = {number: end for result in results for number, end in result.offsets.items()}
        return any(starts.get(n, 0) <= offset < ends.get(n, 0) for n, offset in self._skipped)

    def _done(self, results: Sequence[PartResult]) -> bool:
        """Count what was applied; return whether the work is done, or another round is due."""
        self.ranges.advance(results)
        self.outcome.add(results)
        return not self.is_pending

    def _follow_statement(self) -> bool:
        """Begin to follow a stated column list; return whether there is none."""
        own, used = self._state.mirror, self._columns.stated(self.ranges)
        if own is None or not used or not self._columns.begin(own, used):
            return True
        self.outcome.add_commit()
        return False

    def _remove_files(self, results: Sequence[PartResult]) -> None:
        own = self._state.mirror
        history = self._services.registry.history(self.topic)
        if own is not None:
            remove_files(self._services.storage, own.delta.path, results)
        elif history:
            storage = self._services.storage
            remove_files(storage, path_in(storage, history[-1]), results)
