"""Several small tables at once: how to copy them, and their next rows after one watermark.

Most of what a small table costs is not its rows: the questions about its definition before and
after, the wait for what was delivered, and the end of the log. So tables share these. What goes
wrong with one table leaves it out of the answer: it is then planned or read alone, and that says
what is wrong. The others are not held up.

*One watermark.* The windows of all tables were opened between the same two transactions. Each
SELECT begins after the server shows everything that was delivered before them, and the end of the
log is read after the last SELECT. So for each table, this is a chunk whose window is open a little
longer. On MariaDB, where a watermark is a snapshot, each table has one of its own: one for all
would hold the metadata locks of all tables until the last one is read.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import Event
from typing import TypeAlias

from connector.foundation import errors
from connector.foundation.operating_system import CLOCK
from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.envelope.copied_chunk import Chunk
from connector.stream.snapshot import jobs
from connector.stream.snapshot.source_pace import Read
from connector.stream.snapshot.table_plan import STATISTICS, plan_described
from connector.stream.snapshot.watermark import log_end, read_after_delivered
from connector.stream.source.information_schema import by_database, read_definitions, rows_by_table
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable

# What is wrong with one table, if it is a server's own error; others break the session.
_OF_ONE_TABLE = (
    errors.SourceRefused,
    errors.SourceUnavailable,
    errors.UnsupportedChange,
    errors.ConfigError,
)

_TableName: TypeAlias = tuple[str, str]
# A table, and the surrogate key that orders its rows; "" for the key of the table. Copies with
# conditions may read one table in several orders.
_TableOrder: TypeAlias = tuple[_TableName, str]
# Reads at most so many rows and bytes of a job by a SELECT with a clause at its end; returns the
# rows, and whether these are all of the statement.
ReadRows: TypeAlias = Callable[
    [SelectSession, jobs.ChunkJob, tuple[int, int], str], tuple[Chunk, bool]
]


def plan_group(
    session: SelectSession, job: jobs.PlanGroup, settings: SnapshotSettings
) -> jobs.GroupPlanned:
    """Return how to copy the tables of a group, except for those that are to be planned alone.

    Raises the errors of the session.
    """
    described = _described(session, [_order(one) for one in job.jobs])
    statistics = {
        (database, table): row
        for database, tables in by_database({name for name, _ in described}).items()
        for table, (row,) in rows_by_table(session, STATISTICS, "1", database, tables).items()
    }
    end = log_end(session)
    plans = []
    for one in job.jobs:
        name, key = _order(one)
        if (name, key) not in described or name not in statistics:
            continue
        try:
            plans.append(
                plan_described(session, one, described[name, key], statistics[name], end, settings)
            )
        except _OF_ONE_TABLE as error:
            _require_open(error)
    return jobs.GroupPlanned(job, plans)


def read_group(
    session: SelectSession,
    job: jobs.ChunkGroup,
    read_rows: ReadRows,
    turn: Read,
    closing: Event,
) -> jobs.GroupRead:
    """Return the rows of the tables of a group, except for those that are to be read alone.

    The `turn` lets others work between two tables, and may end the group. Raises the errors of the
    session.
    """
    one_watermark = session.identity.flavour == "mysql"
    parts = [job.jobs] if one_watermark else [(chunk,) for chunk in job.jobs]
    chunks: list[jobs.ChunkRead] = []
    left = job.bytes_max
    for part in parts:
        started = CLOCK.monotonic() - turn.rested_seconds
        read, end = read_after_delivered(
            session,
            part[0].delivered,
            partial(_read_part, session, part, read_rows, turn, left),
            closing,
            transactional=all(one.transactional for one in part),
        )
        seconds = (CLOCK.monotonic() - turn.rested_seconds - started) / len(part)
        for one, chunk, is_last, read_us in read:
            left -= chunk.size
            chunks.append(jobs.ChunkRead(one, chunk, one.limit, is_last, end, read_us, seconds))
        if len(parts) > 1 and not turn.rest():
            break
    now = _described(session, [_order_of(chunk.job.table) for chunk in chunks])
    same = [chunk for chunk in chunks if now.get(_order_of(chunk.job.table)) == chunk.job.table]
    return jobs.GroupRead(job, same)


def _read_part(
    session: SelectSession,
    part: Sequence[jobs.ChunkJob],
    read_rows: ReadRows,
    turn: Read,
    bytes_max: int,
    lock: str,
) -> list[tuple[jobs.ChunkJob, Chunk, bool, int]]:
    """Return rows of each table, whether they are the last ones, and the time of the SELECT."""
    read = []
    for one in part:
        if bytes_max <= 0 or (one is not part[0] and not turn.rest()):
            # The tables are larger than the server said, or others have waited long enough.
            break
        read_us = CLOCK.now_us()
        try:
            chunk, is_last = read_rows(session, one, (one.limit, bytes_max), lock)
        except _OF_ONE_TABLE as error:
            _require_open(error)
            continue
        bytes_max -= chunk.size
        read.append((one, chunk, is_last, read_us))
    return read


def _described(
    session: SelectSession, wanted: Iterable[_TableOrder]
) -> dict[_TableOrder, SelectedTable]:
    """Return the current forms of tables, in the order that each is read in.

    Those that a SELECT of their own has to describe are left out.
    """
    keys: dict[_TableName, set[str]] = {}
    for name, key in wanted:
        keys.setdefault(name, set()).add(key)
    described = {}
    for database, tables in by_database(keys).items():
        for table, definition in read_definitions(session, database, tables).items():
            name = database, table
            for key in keys.get(name, ()):
                try:
                    table_now = SelectedTable.of_definition(session, name, definition, key)
                except _OF_ONE_TABLE as error:
                    _require_open(error)
                else:
                    described[name, key] = table_now
    return described


def _order(one: jobs.PlanJob) -> _TableOrder:
    return (one.database, one.table), one.surrogate_key


def _order_of(table: SelectedTable) -> _TableOrder:
    return (table.schema.database, table.schema.table), table.surrogate_key


def _require_open(error: errors.ConnectorError) -> None:
    """Raise an error that has ended the session, and does not concern one table."""
    if isinstance(error, errors.SourceUnavailable) and not error.number:
        raise error
