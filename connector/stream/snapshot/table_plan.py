"""The tables to copy, how to split each table, and which rows a condition selects.

The parser of conditions takes 50 ms and 9 MB to import, so it is imported when there is a
condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from connector.binlog.sql_text import quoted_name, sql_text
from connector.binlog.table_filter import SYSTEM_DATABASES, TableFilter
from connector.foundation.errors import ConfigError, SourceRefused, SourceUnavailable
from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.envelope import record_errors
from connector.stream.snapshot.jobs import PlanJob, TablePlan
from connector.stream.snapshot.key_parts import key_parts
from connector.stream.snapshot.keyset import can_be_paged, select_rows
from connector.stream.snapshot.table_state import KeyRange
from connector.stream.snapshot.time_limits import TIMEOUTS, time_limits
from connector.stream.snapshot.watermark import LogPosition, log_end
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable

if TYPE_CHECKING:
    from connector.stream.source.condition_parser import Condition


def require_condition(text: str) -> None:
    """Raise ConfigError for a text that is no condition for any table."""
    _parsed(text)


def _parsed(text: str) -> Condition:
    from connector.stream.source.condition_parser import Condition  # noqa: PLC0415  # takes long to import

    return Condition.parse(text)


# Of fewer, each connection is not worth its part.
_CHUNKS_OF_A_CONNECTION_MIN = 4
# Parts have unequal numbers of rows.
_PARTS_OF_A_CONNECTION = 2

_TABLES = """
    SELECT table_schema AS db, table_name AS name FROM information_schema.tables
    WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND {where}
    ORDER BY table_schema, table_name
"""
_KIND = "SELECT table_type AS type FROM information_schema.tables WHERE {where}"
# ER_BAD_DB_ERROR, ER_NO_SUCH_TABLE.
_NOTHING = frozenset({1049, 1146})
STATISTICS = """
    SELECT t.table_rows AS estimated, t.avg_row_length AS row_bytes, e.transactions AS transactional
    FROM information_schema.tables t LEFT JOIN information_schema.engines e ON e.engine = t.engine
    WHERE {where}
"""


def followed_tables(session: SelectSession, tables: TableFilter) -> list[tuple[str, str]]:
    """Return (database, table) of all tables that `tables` follows and the account sees.

    Raises the errors of the session.
    """
    system = ", ".join(
        f"'{name}'" for name in sorted(SYSTEM_DATABASES) if not tables.may_follow_database(name)
    )
    where = f"table_schema NOT IN ({system})" if system else "TRUE"
    names = [
        (row["db"] or "", row["name"] or "") for row in session.query(_TABLES.format(where=where))
    ]
    return [name for name in names if tables.follows(*name)]


def plan(session: SelectSession, job: PlanJob, settings: SnapshotSettings) -> TablePlan:
    """Return how to copy a table.

    Raises the errors of the session, as `SelectedTable.describe` does, and ConfigError for a
    condition that does not fit this table.
    """
    table = SelectedTable.describe(session, job.database, job.table, job.surrogate_key)
    statistics = read_statistics(session, job.database, job.table)
    return plan_described(session, job, table, statistics, log_end(session), settings)


def read_statistics(session: SelectSession, database: str, table: str) -> Mapping[str, str | None]:
    """Return the row of `STATISTICS` of a table; an empty one if there is none.

    Raises the errors of the session.
    """
    where = f"t.table_schema = {sql_text(database)} AND t.table_name = {sql_text(table)}"
    (row,) = session.query(STATISTICS.format(where=where)) or ({},)
    return row


def plan_described(
    session: SelectSession,
    job: PlanJob,
    table: SelectedTable,
    statistics: Mapping[str, str | None],
    end: LogPosition,
    settings: SnapshotSettings,
) -> TablePlan:
    """Return how to copy a `table` that was described, with its row of `STATISTICS`.

    `end` is the end of the log after that. Raises as `plan`.
    """
    condition = ""
    if job.where:
        try:
            condition = where_of(table, job.where, is_own=job.where_is_own)
        except ConfigError as error:
            raise ConfigError(record_errors.IN_COPY, table=table.name, why=error) from error
    estimated_rows = int(statistics.get("estimated") or 0)
    ranges: list[KeyRange] = []
    if can_be_paged(table) and not job.at_once:
        ranges = [KeyRange()]
        if settings.connections > 1:
            wanted_rows = _CHUNKS_OF_A_CONNECTION_MIN * settings.connections * settings.chunk_rows
            if estimated_rows < wanted_rows and _has_rows(session, table, settings, wanted_rows):
                estimated_rows = wanted_rows
            if estimated_rows >= wanted_rows:
                rows_of_a_part = estimated_rows // (_PARTS_OF_A_CONNECTION * settings.connections)
                parts = key_parts(session, table, settings, rows_of_a_part, estimated_rows)
                ranges = [KeyRange.of_bounds(bounds) for bounds in parts]
    return TablePlan(
        job,
        table,
        statistics.get("transactional") == "YES",
        ranges,
        condition,
        estimated_rows,
        int(statistics.get("row_bytes") or 0),
        end,
        _maximum(session, table, settings) if job.with_maximum and ranges else [],
    )


def where_of(table: SelectedTable, text: str, *, is_own: bool = False) -> str:
    """Return the SQL of a condition, for one table.

    That of a user reads only values that the records show: the number of rows would tell others to
    everybody who may ask for a copy. Raises ConfigError for a text that is no condition for this
    table.
    """
    schema = table.schema
    columns = [column["name"] for column in schema.columns]
    hidden = [unlogged["column"]["name"] for unlogged in schema.unlogged]
    if is_own:
        columns, hidden = columns + hidden, []
    else:
        hidden += schema.changes
        columns = [name for name in columns if name not in schema.changes]
    return _parsed(text).sql(schema.database, schema.table, columns, hidden)


def table_exists(session: SelectSession, database: str, table: str) -> bool:
    """Return whether the table exists and the account sees it."""
    where = f"table_schema = {sql_text(database)} AND table_name = {sql_text(table)}"
    return bool(session.query(_TABLES.format(where=where)))


def is_absent(session: SelectSession, database: str, table: str) -> bool:
    """Return whether it is certain that no table has this name, but maybe a view or a sequence.

    A server tells only an account that may read a name that nothing has it.
    """
    where = f"table_schema = {sql_text(database)} AND table_name = {sql_text(table)}"
    if session.query(_KIND.format(where=where)):
        return not table_exists(session, database, table)
    try:
        session.query(f"SELECT 1 FROM {quoted_name(database, table)} LIMIT 0")  # noqa: S608 - quoted
    except SourceRefused as error:
        return error.number in _NOTHING
    return False


def _has_rows(
    session: SelectSession, table: SelectedTable, settings: SnapshotSettings, count: int
) -> bool:
    """Return whether a table has at least so many rows, or more than can be counted in time.

    The engine's own number may be old (STATS_AUTO_RECALC=0), so this counts in some index, and
    stops when there are enough rows.
    """
    before, hint = time_limits(session, settings)
    select = f"SELECT {hint}1 AS found FROM {table.quoted_name}"  # noqa: S608 - quoted names
    try:
        return bool(session.query(f"{before}{select} LIMIT 1 OFFSET {count - 1}"))
    except (SourceUnavailable, SourceRefused) as error:
        if error.number not in TIMEOUTS:
            raise
        return True


def _maximum(
    session: SelectSession, table: SelectedTable, settings: SnapshotSettings
) -> list[bytes]:
    """Return the cells of the greatest key; none if the table is empty."""
    before, hint = time_limits(session, settings)
    order = ", ".join(f"{column.expression} DESC" for column in table.order_columns)
    sql = f"{before}{select_rows(table, (), '', hint)} ORDER BY {order} LIMIT 1"
    ((chunk, _),) = session.read_chunks(sql, table.writer(), 1)
    return chunk.last_key if chunk.count else []
