"""The mirror of a table that has none yet: what it looks like, and its first commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stream_jobs.apply.facts import MirrorFacts, ParsedAs
from stream_jobs.column_changes import all_columns
from stream_jobs.mirror_table import MirrorTable
from stream_jobs.progress import Progress
from stream_jobs.table_checks import refuse_gone, refuse_rows_without_key
from stream_jobs.topic_state import path_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stream_jobs.apply.facts import PartResult, SchemaUse
    from stream_jobs.delta.columns import Column
    from stream_jobs.sequence import PackedSequence
    from stream_jobs.services import Services
    from stream_jobs.source.ranges import OffsetRange
    from stream_jobs.table_schema import TableSchema
    from stream_jobs.topic_state import TopicState


class Proposal(NamedTuple):
    """Columns for the mirror; tasks write files with them before the table exists."""

    schema: TableSchema
    since: PackedSequence
    columns: tuple[Column, ...]
    parses: Mapping[str, ParsedAs]


class FirstMirror:
    """The steps to the first mirror of one table."""

    def __init__(
        self, services: Services, state: TopicState, batch: Mapping[int, OffsetRange]
    ) -> None:
        """If the table had one column list so far, the mirror probably has it, too.

        If there is a mirror, nothing is proposed.
        """
        self._services = services
        self._state = state
        self._batch = batch
        self._proposal: Proposal | None = None
        if state.mirror is not None:
            return
        history = services.registry.history(state.topic)
        if len(history) == 1 and history[0].key:
            (schema,) = history
            parses = {schema.schema_id: ParsedAs(schema, {})}
            self._proposal = Proposal(schema, schema.first, all_columns(schema), parses)

    def facts(self) -> MirrorFacts | None:
        """Return what tasks need to know; None if they only look at the records."""
        found = self._proposal
        if found is None or self._state.is_keyless:
            return None
        return MirrorFacts(path_of(found.schema), found.schema, found.columns, (), found.parses)

    def accept(
        self,
        results: Sequence[PartResult],
        used: Mapping[str, SchemaUse],
        floor: PackedSequence | None,
    ) -> Proposal | None:
        """Return the columns if the rows of `results` have them; else propose others.

        Raises MirrorError if the table cannot have a mirror.
        """
        topic, rules = self._state.topic, self._services.rules
        target, since = rules.first(topic, used, floor)
        refuse_gone(self._services.base, target, results, self._batch)
        refuse_rows_without_key(results)
        found = self._proposal
        is_applied = all(each.is_applied for each in results)
        if found is not None and found.schema == target and is_applied:
            return found
        parses = rules.parses(topic, target, used, path_of(target))
        self._proposal = Proposal(target, since, all_columns(target), parses)
        return None

    def create(
        self,
        proposal: Proposal,
        floor: PackedSequence | None,
        starts: Mapping[int, int],
        applied: Sequence[PartResult] = (),
    ) -> MirrorTable:
        """Create the empty table, which begins at `starts`, or after what was `applied`."""
        schema = proposal.schema
        schema.refuse_unknown()
        progress = Progress(
            schema.schema_id, proposal.since, len(self._batch), floor=floor, offsets=dict(starts)
        ).after(applied)
        services = self._services
        own = MirrorTable.create(
            services.storage,
            path_of(schema),
            schema,
            proposal.columns,
            progress,
            services.properties,
        )
        self._state.mirror, self._state.schema = own, schema
        return own

    def create_truncated(
        self,
        floor: PackedSequence | None,
        starts: Mapping[int, int],
        applied: Sequence[PartResult],
    ) -> None:
        """If there was a truncate, create an empty mirror that remembers it for later rows."""
        history = self._services.registry.history(self._state.topic)
        if floor is not None and history and history[-1].key:
            schema = history[-1]
            proposal = Proposal(schema, schema.first, all_columns(schema), {})
            self.create(proposal, floor, starts, applied)
