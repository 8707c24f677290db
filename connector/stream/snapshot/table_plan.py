"""The tables to copy, how to split each table, and which rows a condition selects.

The parser of conditions takes 50 ms and 9 MB to import, so it is imported when there is a
condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from connector.binlog.sql_text import quoted_name, sql_text
from connector.binlog.table_filter import SYSTEM_DATABASES, TableFilter
from connector.foundation.contract import INTEGER_TYPES
from connector.foundation.errors import ConfigError, SourceRefused
from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.envelope import record_errors
from connector.stream.snapshot.jobs import PlanJob, TablePlan
from connector.stream.snapshot.keyset import can_be_paged, select_rows
from connector.stream.snapshot.table_state import KeyRange
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


# A smaller part is not worth a connection.
_CHUNKS_OF_A_PART_MIN = 4

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
        if table.order_columns[0].type in INTEGER_TYPES and settings.connections > 1:
            wanted_rows = _CHUNKS_OF_A_PART_MIN * settings.connections * settings.chunk_rows
            if estimated_rows < wanted_rows and _has_rows(session, table, wanted_rows):
                estimated_rows = wanted_rows
            if estimated_rows >= wanted_rows:
                ranges = _parts(session, table, settings.connections)
    return TablePlan(
        job,
        table,
        statistics.get("transactional") == "YES",
        ranges,
        condition,
        estimated_rows,
        int(statistics.get("row_bytes") or 0),
        end,
        _maximum(session, table) if job.with_maximum and ranges else [],
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


def _has_rows(session: SelectSession, table: SelectedTable, count: int) -> bool:
    """Return whether a table has at least so many rows.

    The engine's own number may be old (STATS_AUTO_RECALC=0), so this counts in the key, and stops
    when there are enough rows.
    """
    column = table.order_columns[0].expression
    return bool(
        session.query(
            f"SELECT {column} AS found FROM {table.quoted_name} "  # noqa: S608 - quoted names
            f"ORDER BY {column} LIMIT 1 OFFSET {count - 1}"
        )
    )


def _maximum(session: SelectSession, table: SelectedTable) -> list[bytes]:
    """Return the cells of the greatest key; none if the table is empty."""
    order = ", ".join(f"{column.expression} DESC" for column in table.order_columns)
    sql = f"{select_rows(table, (), '')} ORDER BY {order} LIMIT 1"
    ((chunk, _),) = session.read_chunks(sql, table.writer(), 1)
    return chunk.last_key if chunk.count else []


def _parts(session: SelectSession, table: SelectedTable, count: int) -> list[KeyRange]:
    """Split the values of the first key column evenly; the first and the last part are open."""
    column = table.order_columns[0].expression
    (row,) = session.query(
        f"SELECT MIN({column}) AS low, MAX({column}) AS high FROM {table.quoted_name}"  # noqa: S608 - quoted names
    )
    if row["low"] is None or row["high"] is None:
        return [KeyRange()]
    low, high = int(row["low"]), int(row["high"])
    bounds = sorted({low + (high - low + 1) * n // count for n in range(1, count)} - {low})
    edges = ["", *(str(bound) for bound in bounds), ""]
    return [KeyRange(low=edges[n], high=edges[n + 1]) for n in range(len(edges) - 1)]
