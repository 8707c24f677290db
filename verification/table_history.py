"""What Kafka knows of a table's past: its column lists, and whether it was copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from connector.sink.recovery import recover
from connector.snapshot.table_state import TableState
from stream_jobs.schema.sequence import PackedSequence
from stream_jobs.schema.table_schema import TableSchema
from stream_jobs.tables.kept_columns import has_same_key

# Before every sequence.
NEVER = PackedSequence(-1, -1)

if TYPE_CHECKING:
    from connector.settings.sections import Settings


class TableHistory(NamedTuple):
    """The past of one table."""

    schemas: list[TableSchema]
    is_copied: bool  # all of it, by this pipeline

    @classmethod
    def read(cls, settings: Settings, database: str, table: str) -> TableHistory:
        """Read the topics of a pipeline. Raises SinkUnavailable or SinkRefused."""
        recovered = recover(settings.kafka, settings.name)
        name = f"{database}.{table}"
        every = [
            TableSchema.decode(value)
            for key, value in recovered.schemas.items()
            if key.startswith(f"{name}/")
        ]
        schemas = [each for each in every if (each.database, each.table) == (database, table)]
        state = recovered.snapshots.get(name)
        is_copied = state is not None and TableState.decode(state, name).phase == "complete"
        return cls(schemas, is_copied)

    def key_since(self) -> PackedSequence:
        """Return the sequence from which on the table has the key that it has now.

        Records of older lists may be gone, so it may be later.
        """
        schemas = sorted(self.schemas, key=lambda each: each.first, reverse=True)
        since = NEVER
        for each in schemas:
            if not has_same_key(each, schemas[0]):
                return since
            since = each.first
        return NEVER

    def late_columns(self, names: list[str], begin: PackedSequence) -> list[str]:
        """Return which of the columns came after the sequence `begin`, or may have done so."""
        schemas = sorted(self.schemas, key=lambda each: each.first)
        before = [each for each in schemas if each.first <= begin]
        after = [each for each in schemas if each.first > begin]
        used = [*before[-1:], *after]
        return [name for name in names if any(name not in each.by_name for each in used)]
