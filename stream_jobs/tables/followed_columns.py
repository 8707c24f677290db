"""The column list that the mirror of one table follows, which one batch may change.

Some changes write the files of the mirror anew: then they are a *step*, which is committed after
the round that writes the files. Others are committed at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stream_jobs.apply.facts import ParsedAs
from stream_jobs.tables.kept_columns import has_same_key
from stream_jobs.tables.stated_lists import stated_use

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_jobs.apply.facts import PartResult, SchemaUse
    from stream_jobs.schema.sequence import PackedSequence
    from stream_jobs.schema.table_schema import TableSchema
    from stream_jobs.tables.first_mirror import Proposal
    from stream_jobs.tables.mirror_table import MirrorTable
    from stream_jobs.tables.schema_step import SchemaStep
    from stream_jobs.tables.services import Services
    from stream_jobs.tables.table_ranges import TableRanges
    from stream_jobs.tables.table_truncates import TableTruncates
    from stream_jobs.tables.topic_state import TopicState


class FollowedColumns:
    """The columns of one mirror in one batch."""

    def __init__(self, services: Services, state: TopicState, truncates: TableTruncates) -> None:
        """Begin with the list of the mirror, if there is one."""
        self._services = services
        self._state = state
        self._truncates = truncates
        # By schema id, how records become rows of the mirror.
        self.parses: dict[str, ParsedAs] = {}
        # The change that the next round writes files for.
        self.step: SchemaStep | None = None
        if state.mirror is not None:
            self.follow()

    @property
    def schema(self) -> TableSchema:
        """The schema of the mirror, which exists."""
        assert self._state.schema is not None
        return self._state.schema

    def follow(self) -> None:
        """Take what is known from the mirror, after it was loaded or has changed."""
        own = self._state.mirror
        assert own is not None
        schema_id = own.progress.schema_id
        schema = self._services.registry.require(self._state.topic, {schema_id})[schema_id]
        self._state.schema = schema
        self.parses = {schema_id: ParsedAs(schema, {})}
        self.step = None
        self._truncates.follow(own)

    def accept(self, proposal: Proposal) -> None:
        """Take the list of a mirror that was just made."""
        self.parses = dict(proposal.parses)

    def add(self, own: MirrorTable, used: Mapping[str, SchemaUse]) -> None:
        """Find out how records of other lists become rows of the mirror."""
        state, snapshot = self._state, own.delta.snapshot
        self.parses |= self._services.rules.parses(
            state.topic, self.schema, used, own.delta.path, snapshot.columns, state.mode
        )

    def key_change(self, used: Mapping[str, SchemaUse]) -> PackedSequence | None:
        """Return from where on rows in `used` have another key than those before; mostly None.

        Rows are looked up by their key, so all rows of one key come first. If a truncate takes the
        older rows away, that does not matter.
        """
        mode = self._state.mode
        if not (mode.keeps_columns and mode.needs_key):
            return None
        schemas = self._services.registry.require(self._state.topic, used)
        # Rows without a key are refused, or a truncate has taken them away.
        keyed = [(use.lowest, schemas[id_]) for id_, use in used.items() if schemas[id_].key]
        keyed.sort(key=lambda each: each[0])
        others = (lowest for lowest, each in keyed if not has_same_key(each, keyed[0][1]))
        return next(others, None)

    def next(self, own: MirrorTable, used: Mapping[str, SchemaUse]) -> SchemaStep | None:
        """Return the change to the list that the rows in `used` have; None if it is no other."""
        state = self._state
        return self._services.rules.next(state.topic, self.schema, own, used, state.mode)

    def begin(self, own: MirrorTable, step: SchemaStep) -> None:
        """Follow another list now, or with the files that the next round writes."""
        if step.rewrite is None:
            self._commit(own, step, () if step.is_replaced else None)
        else:
            self.step = step

    def commit_step(self, own: MirrorTable, results: Sequence[PartResult]) -> None:
        """Commit the step with the files that tasks have written."""
        assert self.step is not None
        self._commit(own, self.step, results)

    def stated(self, ranges: TableRanges) -> dict[str, SchemaUse]:
        """Return the list that no row has and that is to be followed now; mostly nothing."""
        return stated_use(self._services, self._state, ranges.starts, ranges.bound)

    def _commit(
        self, own: MirrorTable, step: SchemaStep, results: Sequence[PartResult] | None
    ) -> None:
        own.commit_schema(step.schema, step.columns, results, step.since)
        self._state.schema = step.schema
        self.follow()
