"""A table of the source: its rows with the columns and the types of its mirror.

A row takes the way of a copied row: the SELECT of `connector.snapshot`, the JSON of the envelope,
the columns of `stream_jobs.apply`. So hashes, masks, zero dates and character sets are those of the
mirror.
"""

from __future__ import annotations

import time
from threading import Event
from typing import TYPE_CHECKING

from connector.snapshot.jobs import ChunkJob, ChunkRead, Failed, PlanJob, TableBusy, TableChanged
from connector.snapshot.plan import plan
from connector.snapshot.table_reader import Pause, TableReader
from connector.snapshot.table_state import KeyRange
from stream_jobs.schema.sequence import PackedSequence
from stream_jobs.schema.table_schema import TableSchema
from verification.clear_keys import ClearKeys
from verification.key_ranges import KeyNumber
from verification.typed_rows import TypedRows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa

    from connector.settings.sections import SnapshotSettings
    from connector.snapshot.watermark import Delivered
    from connector.source.server.select_session import SelectSession
    from connector.source.tables.selected_table import SelectedTable
    from stream_jobs.apply.values import ZeroDates
    from stream_jobs.choices.table_choices import TableChoices
    from verification.key_ranges import KeyRanges

# Before rows are read again that the server was too busy to read.
_BUSY_SECONDS = 10.0


class SourceTable:
    """Reads one table; a context manager closes its connection."""

    def __init__(
        self,
        session: SelectSession,
        open_session: Callable[[], AbstractContextManager[SelectSession]],
        name: tuple[str, str],
        settings: SnapshotSettings,
        choices: TableChoices,
        zero_dates: ZeroDates,
    ) -> None:
        """Look at the table `name`, a database and a table.

        Raises the errors of the session, as `SelectedTable.describe` does.
        """
        self._settings = settings.model_copy(update={"connections": 1})
        planned = plan(session, PlanJob(0, *name), self._settings)
        self._planned = planned
        self._reader = TableReader(open_session, self._settings, Event())
        selected = planned.table.schema
        own = TableSchema(*name, selected.schema_id, PackedSequence(0, 0), selected.columns)
        self.schema = choices.applied(own, [])
        self._rows = TypedRows(self.schema, zero_dates)
        self._form: Callable[[pa.Table], pa.Table] | None = None
        self.key_columns = planned.table.key_columns
        self.quoted_name = planned.table.quoted_name
        self.clear_keys = ClearKeys(self.schema, selected.columns, zero_dates)
        # The first column of the key, if its values are numbers, in the mirror, too.
        self.key_number = next(
            (
                KeyNumber.of(column, self.schema.by_name[column.name])
                for column in self.key_columns[:1]
                if not self.clear_keys.names
            ),
            None,
        )
        self.estimated_rows = planned.estimated_rows

    @property
    def has_order(self) -> bool:
        """Whether the table can be read in chunks, in the order of its key."""
        return bool(self._planned.ranges)

    @property
    def has_snapshots(self) -> bool:
        """Whether the engine of the table has consistent snapshots."""
        return self._planned.transactional

    @property
    def selected(self) -> SelectedTable:
        """How the table is read."""
        return self._planned.table

    def chunks(self, delivered: Delivered, where: str = "") -> Iterator[pa.Table]:
        """Yield the rows in the order of the key; `where` is SQL.

        Each SELECT sees at least what the stream had `delivered`. Raises SourceRefused if the table
        changes, MirrorError for a row that a mirror cannot hold, and the errors of the session.
        """
        after: list[bytes] = []
        limit = self._settings.chunk_rows
        while True:
            read = self._read(delivered, where, after, limit)
            if read.chunk.refused:
                raise read.chunk.refused[0].error
            if read.chunk.count:
                yield self.typed(read.chunk.values(), "after")
            if read.is_last:
                return
            after, limit = read.chunk.last_key, read.limit

    def typed(
        self, values: Sequence[bytes], image: str, names: Collection[str] | None = None
    ) -> pa.Table:
        """Return the image `before` or `after` of records; rows without it have NULLs.

        All columns, or those of `names`. Raises MirrorError for a row that a mirror cannot hold.
        """
        rows = self._rows.of(values, image, names)
        if self._form is not None and names is None:
            rows = self._form(rows)
        return self.clear_keys.added_to(rows, values, image)

    def conditions(self, ranges: KeyRanges | None) -> Iterator[str]:
        """Yield the SQL for rows whose keys are in `ranges`, some ranges at a time; None: all."""
        if ranges is None:
            yield ""
            return
        assert self.key_number is not None
        yield from self.key_number.conditions(ranges)

    def compare_in(self, form: Callable[[pa.Table], pa.Table]) -> None:
        """Return whole rows as `form` makes them from now on."""
        self._form = form

    def close(self) -> None:
        """Close the connection."""
        self._reader.close()

    def _read(self, delivered: Delivered, where: str, after: list[bytes], limit: int) -> ChunkRead:
        planned = self._planned
        job = ChunkJob(
            copy=0,
            table=planned.table,
            transactional=planned.transactional,
            part=0,
            range=KeyRange(),
            after=after,
            where=where,
            limit=limit,
            bytes_max=self._settings.chunk_bytes_max,
            delivered=delivered,
            window=0,
            changes=0,
        )
        while True:
            for answer in self._reader.answers(job):
                if isinstance(answer, ChunkRead):
                    return answer
                if isinstance(answer, Pause):
                    time.sleep(answer.seconds)
                elif isinstance(answer, TableBusy):
                    time.sleep(_BUSY_SECONDS)
                elif isinstance(answer, (Failed, TableChanged)):
                    raise answer.error
