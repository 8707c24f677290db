"""A table of a MySQL or MariaDB server: its columns, and its rows in the types of a mirror."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

import pyarrow as pa

from connector.binlog.sql_text import sql_text
from connector.stream.envelope.copied_chunk import Chunk
from connector.stream.snapshot.keyset import select_rows
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from stream_jobs.source.column_types import ColumnType
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from verification.key_texts import condition_of_keys, select_literal
from verification.source_table import RowKey, TypedRows

# Of rows that are in memory at a time.
_BYTES: Final = 8 * 1024 * 1024
_KEYS_OF_A_SELECT: Final = 500
_ESTIMATE: Final = (
    "SELECT table_rows AS estimated, avg_row_length AS size FROM information_schema.tables "
    "WHERE table_schema = {} AND table_name = {}"
)


class ServerTable:
    """Reads one table, as it is described now, over one session."""

    def __init__(self, session: SelectSession, name: tuple[str, str]) -> None:
        """Look at the table `name`, a database and a table; raises as `SelectedTable.describe`."""
        self._session = session
        self.selected = SelectedTable.describe(session, *name)
        own = self.selected.schema
        self.schema = TableSchema(*name, own.schema_id, PackedSequence(0, 0), own.columns)
        self._rows = TypedRows(self.schema, "null")
        # The columns and types of rows.
        self.columns = pa.schema(
            [(column["name"], ColumnType.of_source(column).stored) for column in own.columns]
        )
        database, table = map(sql_text, name)
        (row,) = session.query(_ESTIMATE.format(database, table)) or ({},)
        self.estimated_rows = int(row.get("estimated") or 0)
        self.row_bytes = int(row.get("size") or 0)  # about, on average

    def rows(
        self,
        where: str,
        names: Collection[str] | None = None,
        session: SelectSession | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the rows of a condition, some at a time: all columns, or those of `names`.

        A `session` reads them as it sees them.
        """
        sql = select_rows(self.selected, (), where)
        own = session or self._session
        for chunk, _ in own.read_chunks(sql, self.selected.writer(), _BYTES):
            yield from self.typed(chunk, names)

    def typed(self, chunk: Chunk, names: Collection[str] | None = None) -> Iterator[pa.Table]:
        """Yield the rows of a chunk, if there are any; raises why a row is refused."""
        if chunk.refused:
            raise chunk.refused[0].error
        if chunk.count:
            yield self._rows.of(chunk.values(), "after", names)

    def conditions(self, keys: Sequence[RowKey]) -> Iterator[str]:
        """Yield the SQL for the rows with these keys, some at a time."""
        for start in range(0, len(keys), _KEYS_OF_A_SELECT):
            some = keys[start : start + _KEYS_OF_A_SELECT]
            yield condition_of_keys(self.selected.key_columns, some, select_literal)
