"""A table of the replica: its rows, each SELECT as one stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connector.snapshot.keyset import select_rows
from connector.source.tables.selected_table import SelectedTable
from stream_jobs.schema.sequence import PackedSequence
from stream_jobs.schema.table_schema import TableSchema
from verification.typed_rows import TypedRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from connector.source.server.select_session import SelectSession
    from stream_jobs.replica.statements import TableName

# Of rows that are in memory at a time.
_BYTES: Final = 8 * 1024 * 1024
_SNAPSHOT: Final = "START TRANSACTION WITH CONSISTENT SNAPSHOT"


class ReplicaTable:
    """Reads one table over one session."""

    def __init__(self, session: SelectSession, place: TableName) -> None:
        """Look at the table at `place`. Raises as `SelectedTable.describe`."""
        self._session = session
        selected = SelectedTable.describe(session, *place)
        self._selected = selected
        none = PackedSequence(0, 0)
        self.schema = TableSchema(*place, selected.schema.schema_id, none, selected.schema.columns)
        self.key_columns = selected.key_columns
        self._rows = TypedRows(self.schema, "error")

    def begin(self) -> None:
        """Let all reads until `end` see one moment."""
        self._session.query(_SNAPSHOT)

    def end(self) -> None:
        """End what `begin` began."""
        self._session.query("COMMIT")

    def rows(self, where: str = "") -> Iterator[pa.Table]:
        """Yield the rows that meet a condition, in any order and in the types of the replica.

        Raises MirrorError for a row that no mirror can hold, and the errors of the session.
        """
        sql = select_rows(self._selected, (), where)
        for chunk, _ in self._session.read_chunks(sql, self._selected.writer(), _BYTES):
            if chunk.refused:
                raise chunk.refused[0].error
            if chunk.count:
                yield self._rows.of(chunk.values(), "after")
