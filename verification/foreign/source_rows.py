"""A table of the source, read without a pipeline: rows in the types of a mirror, no locks.

A SELECT sees committed rows only. Which of them are newer than the log says is not asked here: the
log is read up to its end after the SELECT.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa

from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.stream.envelope.copied_chunk import Chunk
from connector.stream.snapshot.keyset import can_be_paged, select_chunk
from connector.stream.snapshot.table_reader import read_rows
from connector.stream.snapshot.table_state import KeyBounds
from connector.stream.snapshot.time_limits import TIMEOUTS, time_limits
from connector.stream.source.select_session import SelectSession
from verification.foreign.server_table import ServerTable
from verification.foreign.source_server import SourceServer
from verification.key_ranges import KeyNumber, KeyRanges
from verification.source_table import RowKey

# Of the bytes that a page may have: rows are not all of one size.
_FILLED_PART: Final = 0.8


class SourceRows:
    """Reads one table."""

    def __init__(self, server: SourceServer, name: tuple[str, str]) -> None:
        """Look at the table; a lost connection is made again with the patience of `server`.

        Raises as `SelectedTable.describe`, and the errors of connecting.
        """
        self.server = server
        self.patience = server.patience
        self.pace = server.pace
        # What is altered later is in the log since then.
        self.described = server.definition_moment()
        self._table = table = ServerTable(server.session, name)
        # It reads rows; one thread uses it.
        self.session = server.reading_session()
        self.selected, self.schema = table.selected, table.schema
        self.estimated_rows = table.estimated_rows
        key = self.selected.key_columns[:1]
        # The first column of the key, if its values are numbers.
        self.key_number = KeyNumber.of(key[0], self.schema.by_name[key[0].name]) if key else None

    @property
    def no_rows(self) -> pa.Table:
        """No row, with the columns and types of rows."""
        return self._table.columns.empty_table()

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
        for where in self._table.conditions(keys):
            yield from self.session.again(partial(self._all, where))

    def rows_in(self, session: SelectSession, keys: Sequence[RowKey]) -> Iterator[pa.Table]:
        """Yield the rows with these keys as a session sees them."""
        for where in self._table.conditions(keys):
            yield from self._table.rows(where, session=session)

    def _all(self, where: str) -> list[pa.Table]:
        return list(self._table.rows(where, session=self.session))

    def server_time_us(self) -> int:
        """Return the time of the server's clock, in microseconds since 1970."""
        return self.server.time_us()

    def _pages(self, where: str) -> Iterator[pa.Table]:
        after: list[bytes] = []
        settings = self.pace.settings
        most = settings.chunk_rows
        limit = self._fitting(self._table.row_bytes, most)
        before, hint = time_limits(self.session, settings)

        def sql(after: Sequence[bytes], limit: int) -> str:
            return before + select_chunk(self.selected, KeyBounds(), after, where, limit, hint)

        while True:
            try:
                page, is_last = self.session.again(partial(self._page, sql, after, limit))
            except (SourceRefused, SourceUnavailable) as error:
                if error.number not in TIMEOUTS or limit == 1:
                    raise
                limit = most = max(1, min(limit, self.pace.statement_rows) // 2)
                continue
            yield from self._table.typed(page)
            if is_last:
                return
            after = page.last_key
            limit = self._fitting(page.size // page.count, most)

    def _page(
        self, sql: Callable[[Sequence[bytes], int], str], after: Sequence[bytes], limit: int
    ) -> tuple[Chunk, bool]:
        """Return the rows of a page, and whether no row follows them."""
        writer, most = self.selected.writer(), (limit, self.pace.settings.chunk_bytes_max)
        closing = self.patience.closing
        with self.pace.read(self.session, closing, self.schema.name) as turn:
            page, is_last = read_rows(self.session, turn, writer, sql, after, most)
            turn.rows = page.count
        return page, is_last

    def _fitting(self, row_bytes: int, most: int) -> int:
        """Return how many rows of a size a page may have, `most` at most."""
        fitting = int(self.pace.settings.chunk_bytes_max * _FILLED_PART) // max(1, row_bytes)
        return max(1, min(fitting, most))
