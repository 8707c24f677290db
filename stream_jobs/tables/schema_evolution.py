"""The schema evolution of one mirror in one batch: which column list it follows next.

Some changes write the files of the mirror anew. Such a change is a *step*, which is committed
after the round that writes the files. Others are committed at once.

A statement can also give a table a column list without any row having it. The connector writes
such a list when ALTER TABLE itself says it (`stated` in a schema record). A mirror follows it
when it has everything that was written before: then no row of another list can come, and all
values are in the mirror or in the record. The newest record of a table decides. Rows with another
list bring a newer record.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from stream_jobs.apply.task_messages import PartResult, RecordMapping, SchemaUse
from stream_jobs.errors import MirrorError, delta_errors
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.column_changes import SchemaChange, has_same_key
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.mirror_creation import MirrorProposal
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.table_ranges import TableRanges, TableTruncates
from stream_jobs.tables.topic_state import TopicState, TopicStates

# What is not read yet comes with the next batches of the stream.
_RECORDS: Final = 20_000


def statement_schema(
    services: MirrorContext,
    state: TopicState,
    starts: Mapping[int, int],
    bound: PackedSequence | None,
) -> dict[str, SchemaUse]:
    """Return the list that the mirror of a table is to follow without rows; mostly nothing.

    `starts` are where the next records of the table are read. The mirror is to stay below `bound`.
    """
    stated = services.registry.stated(state.topic)
    if stated is None or state.mirror is None or state.schema is None:
        return {}
    sequence, schema_id = stated
    if schema_id == state.schema.schema_id or (bound is not None and sequence >= bound):
        return {}
    client = services.client
    written = client.written_offsets(client.partitions(state.topic))
    if any(starts.get(number, 0) < end for (_, number), end in written.items()):
        # Also of a transaction that has not ended: its rows can be older than the statement.
        return {}
    return {schema_id: SchemaUse(sequence, sequence, sequence)}


def statement_schema_ranges(
    services: MirrorContext, states: TopicStates, others: Collection[str]
) -> list[OffsetRange]:
    """Return what is not read of tables that have a stated list, of one partition maybe nothing.

    Topics in `others` are left out. Raises MirrorError if Kafka does not answer.
    """
    registry, client = services.registry, services.client
    spans: list[OffsetRange] = []
    for topic in registry.topics():
        stated = registry.stated(topic)
        if stated is None or topic in others:
            continue
        try:
            state = states.of(topic)
        except MirrorError:
            # The next batch of this table says why.
            continue
        own = state.mirror
        if own is None or state.schema is None or state.schema.schema_id == stated[1]:
            continue
        partitions = client.partitions(topic)
        first, ends = client.first_offsets(partitions), client.end_offsets(partitions)
        for place in partitions:
            number = place[1]
            start = own.progress.offsets.get(number, first[place])
            start = max(start, state.cursor.get(number, start))
            spans.append(OffsetRange(topic, number, start, min(ends[place], start + _RECORDS)))
    return spans


class SchemaEvolution:
    """The columns of one mirror in one batch."""

    def __init__(
        self, services: MirrorContext, state: TopicState, truncates: TableTruncates
    ) -> None:
        """Begin with the list of the mirror, if there is one."""
        self._services = services
        self._state = state
        self._truncates = truncates
        # By schema id, how records become rows of the mirror.
        self.parses: dict[str, RecordMapping] = {}
        # The change that the next round writes files for.
        self.step: SchemaChange | None = None
        if state.mirror is not None:
            self.follow()

    @property
    def schema(self) -> TableSchema:
        """The schema of the mirror, which exists."""
        assert self._state.schema is not None
        return self._state.schema

    def follow(self) -> None:
        """Take what is known from the mirror, after it was loaded or has changed.

        Raises MirrorError if another program has renamed or dropped columns, or dropped a feature.
        """
        own = self._state.mirror
        assert own is not None
        # Before tasks write files that no commit would name.
        own.delta.snapshot.features.refuse_missing(own.delta.path)
        schema_id = own.progress.schema_id
        schema = self._services.registry.require(self._state.topic, {schema_id})[schema_id]
        gone = schema.by_name.keys() - {column.name for column in own.delta.snapshot.columns}
        if gone:
            facts = {"path": own.delta.path, "columns": sorted(gone)}
            raise MirrorError(delta_errors.COLUMNS_GONE, **facts)
        self._state.schema = schema
        # Without it, tasks write nothing, and `begin` finds the step that makes the columns fit.
        self.parses = {schema_id: RecordMapping(schema, {})} if own.holds(schema) else {}
        self.step = None
        self._truncates.follow(own)

    def accept(self, proposal: MirrorProposal) -> None:
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
        keyed.sort(key=lambda pair: pair[0])
        others = (lowest for lowest, schema in keyed if not has_same_key(schema, keyed[0][1]))
        return next(others, None)

    def begin(self, own: MirrorTable, used: Mapping[str, SchemaUse]) -> bool:
        """Follow the list that the rows in `used` have; return whether it is another one.

        It is followed now, or with the files that the next round writes. Shards of one mirror take
        turns. Raises ShardOvertaken if another one has changed the types of columns, and
        CommitConflict if another process has committed meanwhile.
        """
        state, current = self._state, self.schema.schema_id
        if used.keys() <= {current} and current in self.parses:
            # Mostly. Nothing has to wait for the other shards, which only add to the columns; if
            # they have changed a type, the commit of the rows is refused.
            return False
        with own.delta.turn():
            step = self._services.rules.next(state.topic, self.schema, own, used, state.mode)
            if step is not None and step.is_shared:
                own.take_turn()
                # Others may have changed the columns before that.
                step = self._services.rules.next(state.topic, self.schema, own, used, state.mode)
            if step is not None:
                self._begin(own, step)
        return step is not None

    def _begin(self, own: MirrorTable, step: SchemaChange) -> None:
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
        return statement_schema(self._services, self._state, ranges.starts, ranges.bound)

    def _commit(
        self, own: MirrorTable, step: SchemaChange, results: Sequence[PartResult] | None
    ) -> None:
        own.commit_schema(step, results)
        self._state.schema = step.schema
        self.follow()
