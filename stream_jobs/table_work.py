"""The work of one batch for one table: rounds of tasks, decisions between them, and commits.

    round   the tasks read the records and either apply them, or say what they found
    ▼
    truncate?          a new floor; another round removes what is below it
    other columns?     the mirror gets them, in a commit of its own; another round
    otherwise          rows and progress are committed together

Most batches need one round. After a commit of somebody else, the round is run again on the new
version of the table. Each step can be repeated after a crash at any point.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from connector.errors import CommitConflict, MirrorError
from stream_jobs.apply.facts import ParsedAs, RewrittenFile, TablePart
from stream_jobs.first_mirror import FirstMirror
from stream_jobs.reports import TableReport
from stream_jobs.schema_step import merged_uses
from stream_jobs.source.ranges import OffsetRange
from stream_jobs.start_offsets import start_offsets
from stream_jobs.table_checks import refuse_rows_without_key, remove_files
from stream_jobs.topic_state import path_of
from stream_jobs.upkeep import KeptTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_jobs.apply.facts import PartResult, SchemaUse
    from stream_jobs.mirror_table import MirrorTable
    from stream_jobs.schema_step import SchemaStep
    from stream_jobs.sequence import PackedSequence
    from stream_jobs.services import Services
    from stream_jobs.table_schema import TableSchema
    from stream_jobs.topic_state import TopicState

# So often a commit of somebody else comes in between before the job gives up.
_CONFLICTS_MAX: Final = 20


class TableWork:
    """One table in one batch."""

    def __init__(
        self, services: Services, state: TopicState, ranges: Sequence[OffsetRange]
    ) -> None:
        """Apply the records of `state.topic` up to the ends of `ranges`."""
        self._services = services
        self._state = state
        self._batch = {each.partition: each for each in ranges}
        self._floor: PackedSequence | None = None
        self._floor_is_new = False
        self._parses: dict[str, ParsedAs] = {}
        self._step: SchemaStep | None = None
        self._conflicts = 0
        self._finished: list[PartResult] = []
        self.report: TableReport | None = None
        self.records = 0
        self.error: MirrorError | None = None
        if state.mirror is not None:
            self._follow_mirror()
        self._starts = start_offsets(self._services, self._state, self._batch)
        self._first = FirstMirror(services, state, self._batch)

    @property
    def topic(self) -> str:
        """The topic of the table."""
        return self._state.topic

    @property
    def name(self) -> str:
        """`database.table`, or the topic if that is not known."""
        history = self._services.registry.history(self.topic)
        return history[-1].name if history else self.topic

    @property
    def is_keyless(self) -> bool:
        """Whether the table has no key, and so no mirror."""
        return self._state.is_keyless

    @property
    def kept(self) -> KeptTable | None:
        """The table, if this work has committed something."""
        own, schema = self._state.mirror, self._state.schema
        if own is None or schema is None or self.report is None:
            return None
        return KeptTable(self.topic, own, schema.key)

    @property
    def must_stay_whole(self) -> bool:
        """Whether a key may have changes in two partitions."""
        own = self._state.mirror
        return own is not None and own.progress.are_keys_moved

    @property
    def _followed(self) -> TableSchema:
        """The schema of the mirror, which exists."""
        assert self._state.schema is not None
        return self._state.schema

    def ranges(self) -> tuple[OffsetRange, ...]:
        """Return what is to be read; nothing if everything was applied before."""
        return tuple(
            OffsetRange(self.topic, partition, start, self._batch[partition].end)
            for partition, start in sorted(self._starts.items())
            if start < self._batch[partition].end
        )

    def rewritten(self) -> list[RewrittenFile]:
        """Return the files that the next round writes anew; it then does nothing else."""
        own, step = self._state.mirror, self._step
        if own is None or step is None:
            return []
        return [
            RewrittenFile(
                self.topic, own.delta.path, file, step.columns, step.rewrite or {}, step.schema.key
            )
            for file in own.delta.snapshot.files.values()
            if file.live
        ]

    def part(self) -> TablePart:
        """Return what the next round does with the records."""
        own = self._state.mirror
        progress = None if own is None else own.progress
        return TablePart(
            self.topic,
            self.ranges(),
            {} if progress is None else progress.marks,
            self._floor,
            None if progress is None else progress.since,
            self._first.facts() if own is None else own.facts(self._followed, self._parses),
            self._floor_is_new,
        )

    def finish_round(self, results: Sequence[PartResult]) -> bool:
        """Decide and commit; return whether the work is done. Raises MirrorError if it cannot be.

        Files of a round that is not committed are removed, but not after an error of the storage:
        the commit may be there.
        """
        try:
            return self._finish(results)
        except CommitConflict:
            self._remove_files(results)
            self._conflicts += 1
            if self._conflicts > _CONFLICTS_MAX or self._state.mirror is None:
                raise
            self._state.mirror.refresh()
            # A commit of this job may be gone that another writer has overwritten.
            self._state.cursor.clear()
            self._step = None
            self._follow_mirror()
            self._starts = start_offsets(self._services, self._state, self._batch)
            return False

    def _finish(self, results: Sequence[PartResult]) -> bool:
        error = next((each.error for each in results if each.error is not None), None)
        if error is not None:
            self._remove_files(results)
            raise error
        own = self._state.mirror
        if self._step is not None:
            assert own is not None
            self._change_columns(own, self._step, results)
            return False
        truncated = max((r.truncated for r in results if r.truncated is not None), default=None)
        if truncated is not None:
            self._remove_files(results)
            self._floor, self._floor_is_new = truncated, own is not None
            return False
        used = merged_uses([each.schemas for each in results])
        if own is None:
            return self._finish_first(results, used)
        refuse_rows_without_key(results)
        is_applied = all(each.is_applied for each in results)
        if self._floor_is_new and not is_applied:
            self._remove_files(results)
            assert self._floor is not None
            own.commit_floor(results, self._floor)
            self._floor_is_new = False
            return False
        step = self._services.rules.next(self.topic, self._followed, own, used)
        if step is not None:
            self._remove_files(results)
            self._begin_step(own, step)
            return False
        if not is_applied:
            self._remove_files(results)
            path = own.delta.path
            self._parses |= self._services.rules.parses(self.topic, self._followed, used, path)
            return False
        return self._commit(own, results)

    def _finish_first(self, results: Sequence[PartResult], used: Mapping[str, SchemaUse]) -> bool:
        """Create the mirror with its first rows, or find out what it looks like."""
        state = self._state
        if not used:
            self._first.create_truncated(self._floor, self._starts, results)
            return self._done(results)
        schemas = self._services.registry.require(self.topic, used)
        newest = schemas[max(used, key=lambda schema_id: used[schema_id].highest)]
        if not newest.key:
            state.is_keyless = True
            return self._done(results)
        if state.is_keyless:
            # Rows from before the key may be in the topic; if a truncate took them, it is there.
            state.is_keyless = False
            self._starts = start_offsets(self._services, self._state, self._batch)
            return False
        proposal = self._first.accept(results, used, self._floor)
        if proposal is None:
            self._remove_files(results)
            return False
        own = self._first.create(proposal, self._floor, self._starts)
        self._parses = dict(proposal.parses)
        return self._commit(own, results)

    def _commit(self, own: MirrorTable, results: Sequence[PartResult]) -> bool:
        progress = replace(own.progress.after(results), floor=self._floor)
        if any(each.applied for each in results) or progress.floor != own.progress.floor:
            own.commit_rows(results, progress)
        self._floor_is_new = False
        return self._done(results)

    def _done(self, results: Sequence[PartResult]) -> bool:
        """Count what was applied; return whether everything was read, or another round is due."""
        for each in results:
            self._state.cursor |= each.offsets
            self._starts |= each.offsets
        self._finished += results
        self.records = sum(each.records for each in self._finished)
        if self.records:
            self.report = TableReport.of(self._finished)
        return not self.ranges()

    def _begin_step(self, own: MirrorTable, step: SchemaStep) -> None:
        if step.rewrite is None:
            self._change_columns(own, step, () if step.is_replaced else None)
        else:
            self._step = step

    def _change_columns(
        self, own: MirrorTable, step: SchemaStep, results: Sequence[PartResult] | None
    ) -> None:
        own.commit_schema(step.schema, step.columns, results, step.since)
        self._step = None
        self._state.schema = step.schema
        self._follow_mirror()

    def _follow_mirror(self) -> None:
        """Take what is known from the mirror, after it was loaded or has changed."""
        own = self._state.mirror
        assert own is not None
        schema_id = own.progress.schema_id
        schema = self._services.registry.require(self.topic, {schema_id})[schema_id]
        self._state.schema = schema
        self._parses = {schema_id: ParsedAs(schema, {})}
        floors = [each for each in (self._floor, own.progress.floor) if each is not None]
        self._floor = max(floors, default=None)

    def _remove_files(self, results: Sequence[PartResult]) -> None:
        own = self._state.mirror
        history = self._services.registry.history(self.topic)
        if own is not None:
            remove_files(self._services.storage, own.delta.path, results)
        elif history:
            remove_files(self._services.storage, path_of(history[-1]), results)
