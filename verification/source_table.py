"""A table of the source: its rows with the columns and the types of its mirror.

A row goes through the code that copies rows: the SELECT of a copy, the JSON of the envelope, the
columns of `stream_jobs.apply`. So hashes, masks, zero dates and character sets are the same as in
the mirror. Where the mirror has only the hash of a key, the row also has the key itself.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from threading import Event
from typing import Final

import pyarrow as pa

from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import ConnectorError, SourceRefused, UnsupportedChange
from connector.foundation.settings.sections import SnapshotSettings
from connector.replication.read_pace import chunk_rows
from connector.stream.snapshot import jobs
from connector.stream.snapshot.source_pace import SourcePace
from connector.stream.snapshot.table_plan import plan
from connector.stream.snapshot.table_reader import Pause, TableReader
from connector.stream.snapshot.table_state import KeyRange
from connector.stream.snapshot.watermark import DeliveredPosition
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from stream_jobs.apply.column_values import ZeroDates, stored_columns
from stream_jobs.apply.row_images import read_images
from stream_jobs.apply.table_failures import InvalidRecordError
from stream_jobs.errors import MirrorError
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.table_options import TableOptionsResolver
from verification import verify_errors
from verification.key_ranges import KeyNumber, KeyRanges
from verification.patience import Attempts, Patience

_NONE_MISSING: Final = pa.chunked_array([[False]])


class TypedRows:
    """Reads the rows of one table."""

    def __init__(self, schema: TableSchema, zero_dates: ZeroDates) -> None:
        """Read rows with the columns of `schema`."""
        self._schema = schema
        self._zero_dates = zero_dates
        self._columns = nullable(schema.columns)

    def of(
        self, values: Sequence[bytes], image: str, names: Collection[str] | None = None
    ) -> pa.Table:
        """Return the image `before` or `after` of records; rows without it have NULLs.

        All columns, or those of `names`. Raises MirrorError for a row that a mirror cannot hold.
        """
        columns = [column for column in self._columns if names is None or column["name"] in names]
        try:
            stored = stored_image(values, image, columns, self._schema.schema_id, self._zero_dates)
        except InvalidRecordError as error:
            raise MirrorError(
                verify_errors.UNFIT_ROW, table=self._schema.name, why=error.why
            ) from error
        return pa.Table.from_arrays(stored, names=[column["name"] for column in columns])


def nullable(columns: Iterable[SchemaColumn]) -> list[SchemaColumn]:
    """Return columns that take NULL: the image that a record lacks has NULL everywhere."""
    others = [column.copy() for column in columns]
    for other in others:
        other["nullable"], other["key"] = True, 0
    return others


def stored_image(
    values: Sequence[bytes],
    image: str,
    columns: Sequence[SchemaColumn],
    schema_id: str,
    zero_dates: ZeroDates,
) -> list[pa.Array]:
    """Return the nullable `columns` of the image `before` or `after` of records.

    Raises InvalidRecordError for a value that is not JSON of these columns.
    """
    images = read_images(values, image, columns, schema_id)
    return stored_columns(images._replace(missing=_NONE_MISSING), columns, zero_dates)


# The values of the key's columns.
RowKey = tuple[object, ...]
# Instead of a key that nobody can tell.
UNKNOWN_KEY: Final = ()
_KEY_COLUMN_PREFIX: Final = "\0"


class SourceKeys:
    """The hidden columns of a key, as the source has them."""

    def __init__(
        self, schema: TableSchema, columns: Sequence[SchemaColumn], zero_dates: ZeroDates
    ) -> None:
        """`schema` is that of the mirror, and `columns` are those of the source."""
        hidden = [name for name in schema.key if name in schema.chosen.hidden]
        self.names = hidden
        self._schema_id = schema.schema_id
        self._columns = nullable(column for column in columns if column["name"] in hidden)
        self._zero_dates = zero_dates

    def added_to(self, rows: pa.Table, values: Sequence[bytes], image: str) -> pa.Table:
        """Return rows of the mirror's form with these columns, under other names.

        Raises InvalidRecordError for a value that is not JSON of these columns.
        """
        if not self._columns:
            return rows
        stored = stored_image(values, image, self._columns, self._schema_id, self._zero_dates)
        for column, cells in zip(self._columns, stored, strict=True):
            rows = rows.append_column(_KEY_COLUMN_PREFIX + column["name"], cells)
        return rows

    def keys_of(self, rows: pa.Table, key: Sequence[str]) -> list[RowKey]:
        """Return the keys of rows as the source has them; `UNKNOWN` for rows of the mirror."""
        names = [_KEY_COLUMN_PREFIX + name if name in self.names else name for name in key]
        if not set(names) <= set(rows.column_names):
            return [UNKNOWN_KEY] * rows.num_rows
        return list(zip(*(rows[name].to_pylist() for name in names), strict=True))


# After a chunk that was read in time, the next one may have so many times its rows.
_GROWTH: Final = 2
# Before rows are read again that the server was too busy to read.
_BUSY_SECONDS = 10.0


def table_plan(
    session: SelectSession, name: tuple[str, str], settings: SnapshotSettings
) -> jobs.TablePlan:
    """Look at a table, by database and name; raises as `SelectedTable.describe` does."""
    one_range = settings.model_copy(update={"connections": 1})
    return plan(session, jobs.PlanJob(0, *name), one_range)


def altered_error(
    session: SelectSession, planned: SelectedTable, error: ConnectorError
) -> ConnectorError:
    """Return that a table is not the `planned` one any more, because of which there was an error.

    Return `error` itself if it still is. Raises SourceUnavailable if the source is away.
    """
    if not isinstance(error, (SourceRefused, MirrorError)):
        return error
    schema = planned.schema
    try:
        now = SelectedTable.describe(session, schema.database, schema.table)
    except (SourceRefused, UnsupportedChange):
        now = None
    if now == planned:
        return error
    return MirrorError(verify_errors.ALTERED, table=schema.name, why=error)


class SourceTable:
    """Reads one table; a context manager closes its connection."""

    def __init__(
        self,
        lent_session: Callable[[], AbstractContextManager[SelectSession]],
        planned: jobs.TablePlan,
        pace: SourcePace,
        choices: TableOptionsResolver,
        zero_dates: ZeroDates,
        patience: Patience,
    ) -> None:
        """Read the table as it is `planned`; raises ConfigError for its choices.

        `lent_session` lends a connection for each chunk, which is read at the `pace` of the source,
        and again with `patience` after a lost connection.
        """
        self._settings = pace.settings
        self._planned = planned
        self._patience = patience
        self._reader = TableReader(lent_session, pace, Event())
        selected = planned.table.schema
        name = planned.job.database, planned.job.table
        own = TableSchema(*name, selected.schema_id, PackedSequence(0, 0), selected.columns)
        self.schema = choices.applied(own, [])
        self._rows = TypedRows(self.schema, zero_dates)
        self._form: Callable[[pa.Table], pa.Table] | None = None
        self.key_columns = planned.table.key_columns
        self.quoted_name = planned.table.quoted_name
        self.clear_keys = SourceKeys(self.schema, selected.columns, zero_dates)
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

    def chunks(self, delivered: DeliveredPosition, where: str = "") -> Iterator[pa.Table]:
        """Yield the rows in the order of the key; `where` is SQL.

        Each SELECT sees at least what the stream had `delivered`. Raises SourceRefused if the table
        changes, MirrorError for a row that a mirror cannot hold, and the errors of the session.
        """
        after: list[bytes] = []
        limit = self._settings.chunk_rows
        while True:
            try:
                read = self._read(delivered, where, after, limit)
            finally:
                # Others may read while these rows are compared.
                self._reader.close()
            if read.chunk.refused:
                raise read.chunk.refused[0].error
            if read.chunk.count:
                yield self.typed(read.chunk.values(), "after")
            if read.is_last:
                return
            after = read.chunk.last_key
            limit = min(read.limit * _GROWTH, self._settings.chunk_rows)
            limit = chunk_rows(limit, read.chunk.count, read.seconds)

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

    def _read(
        self, delivered: DeliveredPosition, where: str, after: list[bytes], limit: int
    ) -> jobs.ChunkRead:
        planned = self._planned
        job = jobs.ChunkJob(
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
        attempts = Attempts(self._patience)
        while True:
            for answer in self._reader.answers(job):
                if isinstance(answer, jobs.ChunkRead):
                    self._patience.is_over = False
                    return answer
                if isinstance(answer, Pause):
                    attempts.wait_after(answer.error)
                elif isinstance(answer, jobs.TableBusy):
                    time.sleep(_BUSY_SECONDS)
                elif isinstance(answer, (jobs.JobFailure, jobs.TableChange)):
                    raise answer.error
