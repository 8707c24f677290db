"""The reader of tables: it answers one job at a time, over one connection.

After an error that passes, the reader tries again on a new connection: the stream does not stop
because a copy has to wait. If only the table has to wait, the answer says so, and the reader
takes the next job: other tables do not wait for this one.

A reader waits for its turn before each job: the pace of the source says when that is.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TypeVar

import structlog

from connector.foundation import errors
from connector.foundation.operating_system import CLOCK
from connector.replication.server.server_error_numbers import DEADLOCK, LOCK_WAIT_TIMEOUT
from connector.stream.envelope.copied_chunk import Chunk
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.selected_rows import SelectRowWriter
from connector.stream.snapshot import copy_errors, jobs, table_group
from connector.stream.snapshot.keyset import select_chunk, select_rows
from connector.stream.snapshot.pass_reader import read_pass
from connector.stream.snapshot.source_pace import Read, SourcePace
from connector.stream.snapshot.table_plan import is_absent, plan, table_exists
from connector.stream.snapshot.time_limits import TIMEOUTS, time_limits
from connector.stream.snapshot.watermark import LogPosition, log_end, read_after_delivered
from connector.stream.source.information_schema import TableMissing
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable

_Read = TypeVar("_Read")

_PAUSE_SECONDS = 0.5
_PAUSE_SECONDS_MAX = 30.0

# The table is gone, or a different one: ER_BAD_DB_ERROR, ER_BAD_FIELD_ERROR, ER_NO_SUCH_TABLE,
# ER_TABLE_DEF_CHANGED.
_CHANGED = frozenset({1049, 1054, 1146, 1412})
_LOCKED = frozenset({LOCK_WAIT_TIMEOUT, DEADLOCK})
# ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR.
_DENIED = frozenset({1142, 1143, 1044})


@dataclass(frozen=True, slots=True)
class Pause:
    """Comes instead of an answer: after `error`, the job is tried again in so many seconds."""

    seconds: float
    error: errors.ConnectorError


class TableReader:
    """Does one job after the other, on a session that it opens when it needs one."""

    def __init__(
        self,
        open_session: Callable[[], AbstractContextManager[SelectSession]],
        pace: SourcePace,
        closing: Event,
        debezium: DebeziumProfile | None = None,
    ) -> None:
        """Read by sessions of `open_session`, at a pace, until `closing` is set.

        The rows are those of the profile `exact`, or in the form `debezium`.
        """
        self._pace = pace
        self._debezium = debezium
        self._open_session = open_session
        self._settings = pace.settings
        self._closing = closing
        self._opened = ExitStack()
        self._session: SelectSession | None = None

    def answers(self, job: jobs.Job) -> Generator[jobs.Result | Pause]:
        """Yield the answers to a job.

        After `PassReady` and each `PassChunk`, ask for the next answer when it is wanted; if none
        is wanted, close the iterator.
        """
        pause = _PAUSE_SECONDS
        while not self._closing.is_set():
            try:
                if self._session is None:
                    self._session = self._opened.enter_context(self._open_session())
                yield from self._do(self._session, job)
            except Exception as error:  # noqa: BLE001 - the scheduler raises it again
                if not (isinstance(error, errors.ConnectorError) and error.may_pass):
                    yield jobs.JobFailure(job, error)
                    return
                self.close()
                if self._closing.is_set():
                    return
                busy = _busy(job, error)
                if busy is not None:
                    yield busy
                    return
                structlog.get_logger().warning(
                    "reading of a table was interrupted",
                    **errors.fields(error),
                    retry_in_seconds=pause,
                )
                yield Pause(pause, error)
                pause = min(pause * 2, _PAUSE_SECONDS_MAX)
            else:
                return
            finally:
                if isinstance(job, jobs.PassJob):
                    # Unless the result was read to its end, the session would go on seeing only its
                    # old view.
                    self.close()

    def close(self) -> None:
        self._session = None
        self._opened.close()

    def _do(self, session: SelectSession, job: jobs.Job) -> Iterator[jobs.Result]:
        if isinstance(job, jobs.PassJob):
            # The stream stands still while the rows are read: nothing must hold them up.
            self._pace.wait(session, self._closing)
            try:
                yield from self._read_at_once(session, job)
            except errors.SourceRefused as error:
                part = _refused_part(session, job)
                yield _after_refusal(session, part, error, ["SELECT", "LOCK TABLES"])
            return
        if isinstance(job, (jobs.PlanGroup, jobs.ChunkGroup)):
            yield self._do_group(session, job)
            return
        with self._pace.read(session, self._closing, _table_of(job)) as turn:
            try:
                result = self._read(session, job, turn)
            except errors.SourceRefused as error:
                result = _after_refusal(session, job, error, ["SELECT"])
            if isinstance(result, jobs.ChunkRead):
                turn.rows = result.chunk.count
        yield result

    def _do_group(self, session: SelectSession, job: jobs.Group) -> jobs.Result:
        # Rows of small tables do not say how busy the server is: the statements take longer.
        with self._pace.read(session, self._closing) as turn:
            try:
                if isinstance(job, jobs.PlanGroup):
                    return table_group.plan_group(session, job, self._settings)
                select = partial(self._select, turn)
                return table_group.read_group(session, job, select, turn, self._closing)
            except (errors.SourceRefused, errors.SourceUnavailable) as error:
                if not error.number:
                    raise
                # Each table alone says what is wrong with it.
                return jobs.JobFailure(job, error)

    def _read(
        self, session: SelectSession, job: jobs.PlanJob | jobs.KeysJob | jobs.ChunkJob, turn: Read
    ) -> jobs.Result:
        if isinstance(job, jobs.PlanJob):
            return self._plan(session, job)
        if isinstance(job, jobs.KeysJob):
            return self._read_keys(session, job)
        return self._read_chunk(session, job, turn)

    def _plan(self, session: SelectSession, job: jobs.PlanJob) -> jobs.TablePlan:
        try:
            return plan(session, job, self._settings)
        except (errors.SourceUnavailable, errors.SourceRefused) as error:
            if error.number not in TIMEOUTS:
                raise
            # No question reads the rows of a condition.
            name = ".".join(_table_of(job))
            raise _too_slow(name, "", self._settings.statement_seconds_max) from error

    def _read_at_once(self, session: SelectSession, job: jobs.PassJob) -> Iterator[jobs.Result]:
        for part in job.parts:
            changed = self._changed(session, part)
            if changed is not None:
                yield changed
                return
        yield from read_pass(session, self._open_session, job, self._closing, self._debezium)

    def _read_chunk(self, session: SelectSession, job: jobs.ChunkJob, turn: Read) -> jobs.Result:
        limit = job.limit
        started = CLOCK.monotonic()
        while True:
            read_us = CLOCK.now_us()
            most = limit, job.bytes_max
            answer = self._in_time(session, job, partial(self._select, turn, session, job, most))
            if answer is not None:
                break
            if limit == 1:
                raise _too_slow(job.table.name, job.where, self._settings.statement_seconds_max)
            limit = max(1, min(limit, turn.statement_rows) // 2)
        (chunk, is_last), end = answer
        changed = self._changed(session, job)
        if changed is not None:
            return changed
        seconds = CLOCK.monotonic() - started - turn.rested_seconds
        return jobs.ChunkRead(job, chunk, limit, is_last, end, read_us, seconds)

    def _read_keys(self, session: SelectSession, job: jobs.KeysJob) -> jobs.Result:
        read_us = CLOCK.now_us()
        answer = self._in_time(session, job, partial(self._found, session, job))
        if answer is None:
            raise _too_slow(job.table.name, "", self._settings.statement_seconds_max)
        record_keys, end = answer
        changed = self._changed(session, job)
        return jobs.KeysRead(job, record_keys, end, read_us) if changed is None else changed

    def _in_time(
        self,
        session: SelectSession,
        job: jobs.ChunkJob | jobs.KeysJob,
        select: Callable[[str], _Read],
    ) -> tuple[_Read, LogPosition] | None:
        """Return what `select` reads after the delivered changes; None if it takes too long."""
        try:
            return read_after_delivered(
                session, job.delivered, select, self._closing, transactional=job.transactional
            )
        except (errors.SourceUnavailable, errors.SourceRefused) as error:
            if error.number not in TIMEOUTS:
                raise
            return None

    def _found(self, session: SelectSession, job: jobs.KeysJob, lock: str) -> set[bytes]:
        """Return the keys of the rows that there are, without keeping the rows."""
        where = " OR ".join(key.condition for key in job.keys)
        before, hint = time_limits(session, self._settings)
        sql = select_rows(job.table, (), where, hint)
        writer = job.table.writer(self._debezium)
        record_keys: set[bytes] = set()
        for chunk, _ in session.read_chunks(f"{before}{sql}{lock}", writer, job.bytes_max):
            record_keys |= chunk.keys()
        return record_keys

    def _select(
        self,
        turn: Read,
        session: SelectSession,
        job: jobs.ChunkJob,
        most: tuple[int, int],
        lock: str,
    ) -> tuple[Chunk, bool]:
        """Return at `most` so many rows and bytes, and whether no row follows them."""
        before, hint = time_limits(session, self._settings)

        def sql(after: Sequence[bytes], limit: int) -> str:
            bounds = job.range.bounds
            return before + select_chunk(job.table, bounds, after, job.where, limit, hint) + lock

        return read_rows(session, turn, job.table.writer(self._debezium), sql, job.after, most)

    def _changed(
        self, session: SelectSession, job: jobs.ChunkJob | jobs.KeysJob | jobs.PassPart
    ) -> jobs.TableChange | None:
        """Return `TableChange` if the table is not the planned one, else None."""
        planned = job.table
        try:
            table = SelectedTable.describe(session, *_table_of(job), planned.surrogate_key)
        except errors.SourceRefused as error:
            gone = not table_exists(session, *_table_of(job))
            return _changed_table(session, job, error, gone=gone)
        if table == planned:
            return None
        return jobs.TableChange(
            job, log_end(session), False, errors.SourceRefused(copy_errors.OTHER_TABLE_NOW)
        )


def read_rows(
    session: SelectSession,
    turn: Read,
    writer: SelectRowWriter,
    sql: Callable[[Sequence[bytes], int], str],
    after: Sequence[bytes],
    most: tuple[int, int],
) -> tuple[Chunk, bool]:
    """Return the rows after a key, at `most` so many rows and bytes, and whether no row follows.

    `sql` returns the SELECT of so many rows after a key. There are as many statements as the `turn`
    asks for, with rests between them; fewer rows, if it ends before. Raises the errors of the
    session.
    """
    rows_left, bytes_left = most
    chunks = []
    while True:
        rows = min(rows_left, turn.statement_rows)
        pieces = session.read_chunks(sql(after, rows), writer, bytes_left)
        chunk, is_whole = next(pieces)
        for _ in pieces:
            # Rows beyond the bytes of a chunk are read again with the next one.
            continue
        chunks.append(chunk)
        is_last = is_whole and chunk.count < rows
        rows_left -= chunk.count
        bytes_left -= chunk.size
        is_full = not is_whole or rows_left <= 0 or bytes_left <= 0
        if is_last or is_full or not turn.rest():
            return Chunk.joined(chunks), is_last
        after = chunk.last_key


def _busy(job: jobs.Job, error: errors.ConnectorError) -> jobs.TableBusy | None:
    """Return that only the table has to wait; None if nothing can be read after `error`."""
    if isinstance(job, jobs.PassJob):
        # The stream must not stand still during a pause.
        return jobs.TableBusy(job, error)
    if isinstance(job, (jobs.PlanGroup, jobs.ChunkGroup)):
        return None
    if isinstance(error, errors.SourceUnavailable) and error.number in _LOCKED:
        name = ".".join(_table_of(job))
        return jobs.TableBusy(job, errors.SourceUnavailable(copy_errors.LOCKED, table=name))
    return jobs.TableBusy(job, error) if error.code is copy_errors.SLOW else None


def _after_refusal(
    session: SelectSession,
    job: jobs.ChunkJob | jobs.KeysJob | jobs.PassPart | jobs.PlanJob,
    error: errors.SourceRefused,
    rights: list[str],
) -> jobs.TableChange:
    """Return that the table is another one now; if it is not, raise the refusal."""
    database, name = _table_of(job)
    # A missing table may have been created again since.
    changed = error.number in _CHANGED or isinstance(error, TableMissing)
    gone = (changed or not error.number) and not table_exists(session, database, name)
    if changed or gone:
        return _changed_table(session, job, error, gone=gone)
    if error.number in _DENIED:
        raise errors.SourceRefused(
            copy_errors.COPY_DENIED,
            server=session.name,
            table=f"{database}.{name}",
            rights=rights,
            database=database,
        ) from error
    raise error


def _refused_part(session: SelectSession, job: jobs.PassJob) -> jobs.PassPart:
    """Return the first table that the server refuses to read, or else to lock.

    The error for a statement about several tables does not always name one. If no table is refused
    now, the first one stands for all.
    """
    first, *others = job.parts
    reads = [(part, f"{select_rows(part.table, (), part.where)} LIMIT 0") for part in job.parts]
    locks = [(part, f"LOCK TABLES {part.table.quoted_name} READ") for part in job.parts]
    for part, sql in [*reads, *locks] if others else []:
        try:
            session.query(sql)
        except errors.SourceRefused:
            return part
    session.query("UNLOCK TABLES")
    return first


def _changed_table(
    session: SelectSession,
    job: jobs.ChunkJob | jobs.KeysJob | jobs.PassPart | jobs.PlanJob,
    error: errors.SourceRefused,
    *,
    gone: bool,
) -> jobs.TableChange:
    """Return what the log up to its end says more about: the table is another one, or `gone`."""
    absent = gone and is_absent(session, *_table_of(job))
    return jobs.TableChange(job, log_end(session), gone, error, absent)


def _table_of(job: jobs.ChunkJob | jobs.KeysJob | jobs.PassPart | jobs.PlanJob) -> tuple[str, str]:
    if isinstance(job, jobs.PlanJob):
        return job.database, job.table
    return job.table.schema.database, job.table.schema.table


def _too_slow(
    table: str, where: str, seconds: float
) -> errors.SourceUnavailable | errors.SourceRefused:
    """Return the error for a SELECT that cannot be made smaller and took too long.

    A new attempt does not make a condition without an index faster; a busy server may have more
    time later.
    """
    if where:
        return errors.SourceRefused(copy_errors.SLOW_CONDITION, table=table, seconds=seconds)
    return errors.SourceUnavailable(copy_errors.SLOW, table=table, seconds=seconds)
