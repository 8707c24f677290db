"""A table of the source, read without a pipeline: rows in the types of a mirror, no locks.

A SELECT sees committed rows only. Which of them are newer than the log says is not asked here: the
log is read up to its end after the SELECT.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from connector.binlog.sql_text import sql_text
from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.snapshot.keyset import can_be_paged, select_chunk, select_rows
from connector.stream.snapshot.table_reader import TIMEOUTS, time_limits
from connector.stream.snapshot.table_state import KeyRange
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from stream_jobs.source.column_types import ColumnType
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from verification.checksums import ReadRate
from verification.key_ranges import KeyNumber, KeyRanges
from verification.key_texts import condition_of_keys, select_literal
from verification.source_table import RowKey, TypedRows

# Of rows that are in memory at a time.
_BYTES: Final = 8 * 1024 * 1024
_KEYS_OF_A_SELECT: Final = 500
_ESTIMATE: Final = (
    "SELECT table_rows AS estimated FROM information_schema.tables "
    "WHERE table_schema = {} AND table_name = {}"
)


class SourceRows:
    """Reads one table over one session."""

    def __init__(
        self,
        session: SelectSession,
        open_session: Callable[[], SelectSession],
        name: tuple[str, str],
        settings: SnapshotSettings,
        pace: ReadRate,
    ) -> None:
        """Look at the table. Raises as `SelectedTable.describe`."""
        self.session = session
        self.open_session = open_session
        self.settings = settings
        self.pace = pace
        self.selected = SelectedTable.describe(session, *name)
        selected = self.selected.schema
        self.schema = TableSchema(*name, selected.schema_id, PackedSequence(0, 0), selected.columns)
        self._rows = TypedRows(self.schema, "null")
        database, table = map(sql_text, name)
        (row,) = session.query(_ESTIMATE.format(database, table)) or ({},)
        self.estimated_rows = int(row.get("estimated") or 0)
        key = self.selected.key_columns[:1]
        # The first column of the key, if its values are numbers.
        self.key_number = KeyNumber.of(key[0], self.schema.by_name[key[0].name]) if key else None

    @property
    def no_rows(self) -> pa.Table:
        """No row, with the columns and types of rows."""
        columns = self.schema.columns
        fields = [(c["name"], ColumnType.of_source(c).stored) for c in columns]
        return pa.schema(fields).empty_table()

    @property
    def has_order(self) -> bool:
        """Whether the table can be read in chunks, in the order of its key."""
        return can_be_paged(self.selected)

    def chunks(self, ranges: KeyRanges | None = None) -> Iterator[pa.Table]:
        """Yield the rows in the order of the key; with `ranges`, only rows in them."""
        if ranges is None:
            yield from self._pages("")
            return
        assert self.key_number is not None
        for where in self.key_number.conditions(ranges):
            yield from self._pages(where)

    def rows_of(self, keys: Sequence[RowKey]) -> Iterator[pa.Table]:
        """Yield the rows with these keys."""
        columns = self.selected.key_columns
        for start in range(0, len(keys), _KEYS_OF_A_SELECT):
            some = keys[start : start + _KEYS_OF_A_SELECT]
            where = condition_of_keys(columns, some, select_literal)
            yield from self._read(select_rows(self.selected, (), where))

    def server_time_us(self) -> int:
        """Return the time of the server's clock, in microseconds since 1970."""
        (row,) = self.session.query("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) AS t")
        return int(row["t"] or 0)

    def _pages(self, where: str) -> Iterator[pa.Table]:
        after: list[bytes] = []
        limit = self.settings.chunk_rows
        before, hint = time_limits(self.session, self.settings)
        while True:
            sql = select_chunk(self.selected, KeyRange(), after, where, limit, hint)
            writer = self.selected.writer()
            try:
                chunks = list(self.session.read_chunks(f"{before}{sql}", writer, _BYTES * 16))
            except (SourceRefused, SourceUnavailable) as error:
                if error.number not in TIMEOUTS or limit == 1:
                    raise
                limit = max(1, limit // 2)
                continue
            count = 0
            for chunk, _ in chunks:
                if chunk.refused:
                    raise chunk.refused[0].error
                if chunk.count:
                    yield self._rows.of(chunk.values(), "after")
                    count, after = count + chunk.count, chunk.last_key
            if count < limit:
                return
            time.sleep(self.pace.seconds(count))

    def _read(self, sql: str) -> Iterator[pa.Table]:
        for chunk, _ in self.session.read_chunks(sql, self.selected.writer(), _BYTES):
            if chunk.refused:
                raise chunk.refused[0].error
            if chunk.count:
                yield self._rows.of(chunk.values(), "after")
