"""The past of a table in the topics of the pipeline: its column lists, and copies of it."""

from typing import NamedTuple, Self

from connector.stream.sink.state_follower import StateFollower
from connector.stream.snapshot.table_state import TableState
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.column_changes import has_same_key

# Before every sequence.
NEVER = PackedSequence(-1, -1)


class TableHistory(NamedTuple):
    """The past of one table."""

    schemas: list[TableSchema]
    is_copied: bool  # all of it, by this pipeline
    is_under_way: bool  # whether a copy of it is not at its end

    @classmethod
    def of(cls, follower: StateFollower, database: str, table: str) -> Self:
        """Return what the topics of a pipeline have of a table."""
        name = f"{database}.{table}"
        every = [TableSchema.decode(value) for value in follower.schemas.get(name, {}).values()]
        # `a.b` and `c` have the same name as `a` and `b.c`.
        schemas = [
            schema for schema in every if (schema.database, schema.table) == (database, table)
        ]
        value = follower.snapshots.get(name)
        state = None if value is None else TableState.decode(value, name)
        is_own = state is not None and (state.database, state.table) == (database, table)
        return cls(
            schemas,
            state is not None and state.phase == "complete",
            state is not None and is_own and state.under_way,
        )

    def key_since(self) -> PackedSequence:
        """Return the sequence from which on the table has the key that it has now.

        Records of older lists may be gone, so it may be later.
        """
        schemas = sorted(self.schemas, key=lambda schema: schema.first, reverse=True)
        since = NEVER
        for schema in schemas:
            if not has_same_key(schema, schemas[0]):
                return since
            since = schema.first
        return NEVER

    def column_since(self, name: str) -> PackedSequence | None:
        """Return the sequence from which on all lists have a column; None if the newest has not.

        Records of older lists may be gone, so it may be later.
        """
        since = None
        for schema in sorted(self.schemas, key=lambda schema: schema.first, reverse=True):
            if name not in schema.by_name:
                break
            since = schema.first
        return since

    def late_columns(self, names: list[str], begin: PackedSequence) -> list[str]:
        """Return which of the columns came after the sequence `begin`, or may have done so."""
        schemas = sorted(self.schemas, key=lambda schema: schema.first)
        before = [schema for schema in schemas if schema.first <= begin]
        after = [schema for schema in schemas if schema.first > begin]
        used = [*before[-1:], *after]
        return [name for name in names if any(name not in schema.by_name for schema in used)]
