"""The function that Spark runs to load a range: SELECTs of a source become one data file.

A range is read by several short SELECTs, each of which continues after the last key of the one
before. Each of them sees everything that was delivered before the watermark. If the table is not
the one that the load has begun with, before or after the SELECTs, nothing is written.

Rows become columns in pieces while they arrive, so wide rows after small ones take no more memory:
a SELECT is left as soon as the range has enough bytes.

A Python worker keeps its session for the next range.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from socket import gethostname
from threading import Event
from time import sleep
from typing import Any, Final

import pyarrow as pa

from connector.foundation import errors
from connector.foundation.errors.message import Message
from connector.foundation.operating_system import CLOCK
from connector.foundation.settings.sections import SnapshotSettings, SourceSettings
from connector.replication.protocol.result_set import CellRows
from connector.replication.read_pace import chunk_rows
from connector.replication.server.identity import other_server_error
from connector.replication.server.server_error_numbers import DEADLOCK, LOCK_WAIT_TIMEOUT
from connector.stream.snapshot import watermark
from connector.stream.snapshot.keyset import select_chunk
from connector.stream.snapshot.table_state import KeyBounds
from connector.stream.snapshot.time_limits import TIMEOUTS, time_limits
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from stream_jobs.apply.modes import MODES
from stream_jobs.apply.table_failures import DEFECT_TYPES, InvalidRecordError, table_defect
from stream_jobs.apply.task_messages import MirrorDescription, Task
from stream_jobs.delta.actions import DataFile
from stream_jobs.delta.compaction import in_key_order
from stream_jobs.delta.data_skipping import partition_rows
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.errors import MirrorError
from stream_jobs.load import load_errors
from stream_jobs.load.selected_columns import SelectedCells, mirror_columns
from stream_jobs.load.server_state import (
    delivered_position,
    executed_gtids,
    in_words_of_url,
    refuse_late,
    replication_filters,
)
from stream_jobs.source.sequence import HI, LO
from stream_jobs.source.table_schema import OWN_PREFIX
from stream_jobs.tables.load_state import LoadPart, TableLoad


@dataclass(frozen=True, slots=True)
class RangeJob:
    """Rows of one table that one task reads, and the mirror that they are for."""

    task: Task
    source: SourceSettings
    settings: SnapshotSettings
    database: str
    table: str
    mirror: MirrorDescription
    load: TableLoad
    place: int  # of the part in the load
    rows_max: int  # about
    statement_rows: int  # at most in one SELECT
    rests: float  # between SELECTs, so many times what they took


@dataclass(frozen=True, slots=True)
class RangeResult:
    """What a task has read and written."""

    part: LoadPart
    rows: int = 0
    files: tuple[DataFile, ...] = ()
    # How long the task has rested between SELECTs.
    rested_seconds: float = 0.0
    # How long its SELECTs took for which it has not rested.
    unpaid_seconds: float = 0.0
    # Whether the table is another one than that of the load.
    is_changed: bool = False
    problem: Message | None = None
    # Whether the problem is one of the server, and not of this table.
    is_of_server: bool = False
    server: str = ""  # its UUID
    # The GTIDs that the SELECTs may have seen, if GTIDs tell what a server has.
    seen: str | None = None
    filters: str = ""  # of the server's replication


def load_range(job: RangeJob) -> RangeResult:
    """Read the next rows of a part, and write them; errors are results."""
    part = job.load.parts[job.place]
    try:
        session = _session(job.source, job.settings)
    except errors.ConnectorError as error:
        # The driver has logged in: maybe a file is missing here, or the way to the server.
        facts = {"worker": gethostname(), "why": in_words_of_url(error.message)}
        problem = Message(load_errors.ON_WORKER, facts)
        return RangeResult(part, problem=problem, is_of_server=True)
    rests = _Rests(job.rests)
    try:
        result = _load(job, part, session, rests)
    except errors.ConnectorError as error:
        close_sessions()
        result = RangeResult(part, problem=error.message, is_of_server=is_of_server(error))
    except DEFECT_TYPES as error:
        close_sessions()
        name = f"{job.database}.{job.table}"
        result = RangeResult(part, problem=table_defect(name, error).message)
    return replace(result, rested_seconds=rests.rested_seconds, unpaid_seconds=rests.unpaid_seconds)


# Another table would meet the same problem. 1227, ER_SPECIFIC_ACCESS_DENIED_ERROR, is about a right
# for all tables.
_OF_SERVER: Final = (
    load_errors.LAGS,
    load_errors.OTHER_SERVER,
    load_errors.OWN_TRANSACTIONS,
    load_errors.FILTERS,
    load_errors.SAME_SERVER,
)
_RIGHT_MISSING: Final = 1227
# They end one statement: those of TIMEOUTS, and 1317, ER_QUERY_INTERRUPTED.
_OF_STATEMENT: Final = TIMEOUTS | {LOCK_WAIT_TIMEOUT, DEADLOCK, 1317}


def is_of_server(error: errors.ConnectorError) -> bool:
    """Return whether an error is one of the server, whichever table is read there."""
    if isinstance(error, errors.SourceUnavailable):
        return error.number not in _OF_STATEMENT
    if isinstance(error, errors.SourceRefused):
        return error.number == _RIGHT_MISSING
    return error.code in _OF_SERVER


def _load(job: RangeJob, part: LoadPart, session: SelectSession, rests: "_Rests") -> RangeResult:
    delivered = delivered_position(session, job.load.watermark)
    if delivered.gtid_set is not None:
        # A replica that lags may have the table as it was before.
        refuse_late(session, delivered.gtid_set)
    table = SelectedTable.describe(session, job.database, job.table)
    if not is_same_table(table, job.mirror.schema.schema_id, job.load):
        return RangeResult(part, is_changed=True)
    reader = _Reader(job, session, table, delivered)
    done = False
    while not done and reader.has_room and rests.take():
        with rests.statement():
            done = reader.read()
    if session.is_closed:
        session = _same_session(job, session)
    if SelectedTable.describe(session, job.database, job.table) != table:
        return RangeResult(part, is_changed=True)
    seen, filters = None, ""
    if delivered.gtid_set is not None:
        seen, filters = executed_gtids(session), replication_filters(session)
    files = _write(job, pa.concat_tables(reader.pieces)) if reader.pieces else ()
    last = tuple(cell.hex() for cell in reader.after)
    read = LoadPart(part.low, part.high, last, done)
    server = session.identity.server_uuid
    return RangeResult(read, reader.rows, files, server=server, seen=seen, filters=filters)


def _same_session(job: RangeJob, closed: SelectSession) -> SelectSession:
    """Return another session on the server of one that was closed."""
    session = _session(job.source, job.settings)
    if session.identity.server_uuid != closed.identity.server_uuid:
        raise other_server_error(session.name)
    return session


def too_slow(session: SelectSession, table: str, settings: SnapshotSettings) -> MirrorError:
    """Return the error of a table for one of whose questions a server has needed too long."""
    seconds = settings.statement_seconds_max
    return MirrorError(load_errors.SLOW, server=session.name, table=table, seconds=seconds)


def is_same_table(table: SelectedTable, schema_id: str, load: TableLoad) -> bool:
    """Return whether a table has the columns, and the order of keys, of a load."""
    key = tuple(column.declared for column in table.order_columns)
    return table.schema.schema_id == schema_id and key == load.key


# Of the first SELECT of a table; the next ones have more, as long as they are short and small.
_FIRST_ROWS: Final = 5_000
_CHUNK_BYTES: Final = 16 * 1024 * 1024
_RESTING_SECONDS_MAX: Final = 10.0
# By login and table, for the next range: to leave a SELECT early costs a session.
_limits: dict[Hashable, int] = {}


class _Rests:
    """The rests between the SELECTs of one range, which let others have their turn.

    A range ends where it has no time for the next one, which the driver takes after it.
    """

    def __init__(self, times: float) -> None:
        self.rested_seconds = 0.0
        self.unpaid_seconds = 0.0
        self._times = times
        # The pace is known for the beginning alone, so a range does not last long at a low one.
        self._until = CLOCK.monotonic() + _RESTING_SECONDS_MAX if times else inf

    @contextmanager
    def statement(self) -> Iterator[None]:
        """Count how long a SELECT takes, also if it fails."""
        began = CLOCK.monotonic()
        try:
            yield
        finally:
            self.unpaid_seconds += CLOCK.monotonic() - began

    def take(self) -> bool:
        """Rest for what was read; return False if there is no time, for the rest or for more."""
        seconds = self._times * self.unpaid_seconds
        if seconds and CLOCK.monotonic() + seconds >= self._until:
            return False
        sleep(seconds)
        self.rested_seconds += seconds
        if self._times:
            self.unpaid_seconds = 0.0
        return True


class _EnoughError(Exception):
    """The range has all bytes that it may have, and the SELECT has more."""


class _Reader:
    """Reads the rows of one range, SELECT by SELECT."""

    def __init__(
        self,
        job: RangeJob,
        session: SelectSession,
        table: SelectedTable,
        delivered: watermark.DeliveredPosition,
    ) -> None:
        self.rows = 0
        # What was read, with the columns of the mirror.
        self.pieces: list[pa.Table] = []
        self._part = job.load.parts[job.place]
        # The last key that was read.
        self.after = self._part.last_key
        names = [column["name"] for column in table.schema.columns]
        self._key_places = [names.index(column.name) for column in table.order_columns]
        self._bytes = 0
        self._job = job
        self._session = session
        self._table = table
        self._delivered = delivered
        # A worker that is to end is killed.
        self._closing = Event()

    @property
    def has_room(self) -> bool:
        """Whether the range may have more rows."""
        return self.rows < self._job.rows_max and self._bytes < self._job.task.bytes_max

    def read(self) -> bool:
        """Read the next rows; return whether they are the last ones of the part."""
        name = _login(self._job.source), self._job.database, self._job.table
        limit = min(_limits.get(name, _FIRST_ROWS), self._job.statement_rows)
        began = CLOCK.monotonic()
        rows, size = self.rows, self._bytes
        try:
            select: Callable[[str], None] = partial(self._select, limit)
            watermark.read_after_delivered(
                self._session, self._delivered, select, self._closing, transactional=True
            )
            is_last = self.rows - rows < limit
        except _EnoughError:
            is_last = False
        except (errors.SourceUnavailable, errors.SourceRefused) as error:
            if error.number not in TIMEOUTS:
                raise
            if limit == 1:
                raise too_slow(self._session, self._table.name, self._job.settings) from error
            _limits[name] = max(1, limit // 2)
            return False
        seconds = CLOCK.monotonic() - began
        rows, size = self.rows - rows, self._bytes - size
        fitting = _CHUNK_BYTES * max(1, rows) // max(1, size)
        _limits[name] = max(1, min(chunk_rows(2 * limit, rows, seconds), fitting))
        return is_last

    def _select(self, limit: int, lock: str) -> None:
        before, hint = time_limits(self._session, self._job.settings)
        bounds = KeyBounds(self._part.low, self._part.high)
        sql = select_chunk(self._table, bounds, self.after, "", limit, hint)
        pieces = self._session.read_cells(f"{before}{sql}{lock}", _CHUNK_BYTES)
        with closing(pieces):
            for piece, is_whole in pieces:
                self._take(piece)
                if self._bytes >= self._job.task.bytes_max and not is_whole:
                    raise _EnoughError

    def _take(self, piece: CellRows) -> None:
        self._bytes += piece.size
        cells = SelectedCells(piece, len(self._table.schema.columns))
        if cells.rows:
            self.rows += cells.rows
            self.after = cells.of_last(self._key_places)
            self.pieces.append(_stored(self._job, self._table, cells))


def _stored(job: RangeJob, table: SelectedTable, cells: SelectedCells) -> pa.Table:
    """Return rows with the columns of the mirror and the sequence of the load."""
    mirror, seq = job.mirror, job.load.seq
    try:
        data = mirror_columns(cells, table.schema, mirror.schema.columns, job.task.zero_dates)
    except InvalidRecordError as error:
        raise MirrorError(load_errors.ROW, table=table.name, why=error.why) from error
    own: Mapping[str, Any] = {HI: seq.hi, LO: seq.lo}
    for column in mirror.columns:
        if column.name.startswith(OWN_PREFIX):
            values = pa.repeat(pa.scalar(own[column.name], column.type), data.num_rows)
            data = data.append_column(column.name, values)
    # Shards have the columns in another order, and maybe wider types than this one needs.
    schema = pa.schema([(column.name, column.type) for column in mirror.columns])
    return data.select(schema.names).cast(schema)


def _write(job: RangeJob, data: pa.Table) -> tuple[DataFile, ...]:
    """Write the rows like a batch does, with the index of their keys."""
    task, mirror, mode = job.task, job.mirror, MODES["current"]
    order, indexed = mode.file_order(mirror.schema), mode.indexed(mirror)
    columns = [column for column in mirror.columns if column.name not in mirror.partition_by]
    files = []
    task.storage.note_table(mirror.path, exists=True)
    data = in_key_order(data, order)
    for values, rows in partition_rows(mirror.path, mirror.columns, mirror.partition_by, data):
        file = write_file(
            task.storage,
            mirror.path,
            columns,
            rows,
            key=(*order, *mirror.cluster_by),
            partition_values=values,
        )
        task.index.keep(mirror.path, file, indexed, rows)
        files.append(file)
    return tuple(files)


# A table that others have locked waits, and who comes after a SELECT that waits, waits, too.
_LOCKS: Final = "SET SESSION lock_wait_timeout = 5, innodb_lock_wait_timeout = 5"
# A worker that hangs must not keep a metadata lock; seconds.
_IDLE: Final = "SET SESSION idle_transaction_timeout = 30"

# By login: several pipelines may share the workers of one Spark.
_sessions: dict[Hashable, SelectSession] = {}


def _session(source: SourceSettings, settings: SnapshotSettings) -> SelectSession:
    """Return the session of this worker."""
    login = _login(source)
    known = _sessions.get(login)
    if known is not None and not known.is_closed:
        return known
    _sessions[login] = session = open_session(source, settings)
    return session


def _login(source: SourceSettings) -> Hashable:
    secrets = source.password, tuple(source.password_command)
    return source.user, source.host, source.port, source.tls, *secrets


def open_session(source: SourceSettings, settings: SnapshotSettings) -> SelectSession:
    """Log in to read rows; raises the errors of the login."""
    session = SelectSession(source, settings.statement_seconds_max)
    session.query(_LOCKS)
    if session.identity.flavour == "mariadb":
        session.query(_IDLE)
    return session


def close_sessions() -> None:
    """End the sessions of this process."""
    for session in _sessions.values():
        session.close()
    _sessions.clear()
