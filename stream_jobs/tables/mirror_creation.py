"""The creation of a mirror: its columns, its first commit, and the checks before a commit.

Tasks write files before the table exists, so files are removed if a check fails. But where a mirror
was, nothing is written before it is known that nobody misses it: it may be moved back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from connector.foundation.errors.message import Message
from stream_jobs.apply.task_messages import MirrorDescription, PartResult, RecordMapping, SchemaUse
from stream_jobs.delta.columns import Column
from stream_jobs.delta.storage import Storage
from stream_jobs.errors import MirrorError, job_errors, record_errors
from stream_jobs.source.sequence import PackedSequence, Truncate
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.source.topics import OffsetRange
from stream_jobs.tables.column_changes import all_columns
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.mirror_metadata import Progress
from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.topic_state import TopicState, path_of


def mirror_gone(services: MirrorContext, schema: TableSchema) -> MirrorError:
    """Return the error of a table whose mirror somebody has taken away."""
    path = f"{services.base}/{path_of(schema)}"
    return MirrorError(job_errors.MIRROR_GONE, table=schema.name, path=path)


def refuse_deleted_records(
    services: MirrorContext,
    schema: TableSchema,
    results: Sequence[PartResult],
    batch: Mapping[int, OffsetRange],
    *,
    is_partial: bool,
) -> None:
    """Raise MirrorError if a table without a mirror has rows from before `batch`.

    If the topic `is_partial`, and no truncate says that nothing is missing, any row is refused.
    """
    for result in results:
        for partition, offset in result.first_row.items():
            if is_partial or offset < batch[partition].start:
                raise mirror_gone(services, schema)


def refuse_rows_without_key(results: Sequence[PartResult]) -> None:
    """Raise MirrorError for the first row without a key, in a table that has one."""
    errors = [result.keyless for result in results if result.keyless is not None]
    if errors:
        raise min(errors).corrupt(Message(record_errors.NO_KEY, {}))


def remove_files(storage: Storage, path: str, results: Sequence[PartResult]) -> None:
    """Remove files of the table at `path` that no commit names, nor will name."""
    for result in results:
        for file in result.files:
            storage.delete(f"{path}/{file.location}")
        result.files = ()


class MirrorProposal(NamedTuple):
    """Columns for the mirror; tasks write files with them before the table exists."""

    schema: TableSchema
    since: PackedSequence
    columns: tuple[Column, ...]
    parses: Mapping[str, RecordMapping]


class MirrorCreation:
    """The steps to the first mirror of one table."""

    def __init__(
        self, services: MirrorContext, state: TopicState, batch: Mapping[int, OffsetRange]
    ) -> None:
        """If the table had one column list so far, the mirror probably has it, too.

        If there is a mirror, nothing is proposed.
        """
        self._services = services
        self._state = state
        self._batch = batch
        self._proposal: MirrorProposal | None = None
        if state.mirror is not None:
            return
        history = services.registry.history(state.topic)
        if state.is_mirror_lost or state.merged is not None:
            # The records say whether a lost one is missed; and the columns of a shard depend on
            # those of the others.
            return
        if len(history) == 1 and state.mode.suits(history[0]):
            (schema,) = history
            if not schema.is_storable:
                # `accept` says why.
                return
            parses = {schema.schema_id: RecordMapping(schema, {})}
            columns = all_columns(schema, 0, state.mode.columns)
            self._proposal = MirrorProposal(schema, schema.first, columns, parses)

    def facts(self) -> MirrorDescription | None:
        """Return what tasks need to know; None if they only look at the records."""
        proposal = self._proposal
        if proposal is None or self._state.is_keyless:
            return None
        schema, chosen = proposal.schema, proposal.schema.chosen
        return MirrorDescription(
            path_of(schema),
            schema,
            proposal.columns,
            proposal.parses,
            chosen.partition_by,
            chosen.cluster_by,
        )

    def accept(
        self,
        results: Sequence[PartResult],
        used: Mapping[str, SchemaUse],
        floor: PackedSequence | None,
        starts: Mapping[int, int],
    ) -> MirrorProposal | None:
        """Return the columns if the rows of `results` have them; else propose others.

        The records of `results` begin at `starts`. Raises MirrorError if the table cannot have a
        mirror.
        """
        topic, rules, mode = self._state.topic, self._services.rules, self._state.mode
        target, since = rules.first(topic, used, floor, mode)
        is_partial = self._state.is_mirror_lost and floor is None and any(starts.values())
        refuse_deleted_records(self._services, target, results, self._batch, is_partial=is_partial)
        if target.key:
            refuse_rows_without_key(results)
        if self._state.merged is not None:
            return MirrorProposal(target, since, all_columns(target, 0, mode.columns), {})
        proposal = self._proposal
        is_applied = all(result.is_applied for result in results)
        if proposal is not None and proposal.schema == target and is_applied:
            return proposal
        columns = rules.first_columns(topic, target, used, mode)
        parses = rules.parses(topic, target, used, path_of(target), columns, mode)
        self._proposal = MirrorProposal(target, since, columns, parses)
        return None

    def create(
        self,
        proposal: MirrorProposal,
        floor: PackedSequence | None,
        starts: Mapping[int, int],
        applied: Sequence[PartResult] = (),
        truncates: Iterable[Truncate] = (),
    ) -> MirrorTable:
        """Create the empty table, which begins at `starts`, or after what was `applied`."""
        schema = proposal.schema
        schema.refuse_unknown()
        begun = Progress(
            schema.schema_id,
            proposal.since,
            len(self._batch),
            offsets=dict(starts),
            topic_id=self._state.topic_id,
        )
        progress = begun.with_truncates(floor, truncates).after(applied)
        services, mode, columns = self._services, self._state.mode, proposal.columns
        properties = services.properties
        if self._state.merged is not None:
            own = MirrorTable.add_shard(
                self._state.merged, schema, columns, progress, properties, mode
            )
        else:
            own = MirrorTable.create(
                services.storage, path_of(schema), schema, columns, progress, properties, mode
            )
        self._state.mirror, self._state.schema = own, schema
        return own

    def create_empty(
        self,
        floor: PackedSequence | None,
        starts: Mapping[int, int],
        applied: Sequence[PartResult],
        truncates: Iterable[Truncate],
    ) -> None:
        """Create an empty mirror if the table can have one: it remembers what `applied` has.

        That is a truncate, for rows that come later, or a record that was left out.
        """
        history = self._services.registry.history(self._state.topic)
        mode = self._state.mode
        if history and mode.suits(history[-1]):
            schema = history[-1]
            schema.refuse_unknown()
            columns = all_columns(schema, 0, mode.columns)
            proposal = MirrorProposal(schema, schema.first, columns, {})
            self.create(proposal, floor, starts, applied, truncates)
