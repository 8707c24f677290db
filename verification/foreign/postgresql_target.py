"""A table of PostgreSQL, by psycopg.

All reads between two refreshes are one transaction, which sees one moment of the table.

https://www.postgresql.org/docs/current/transaction-iso.html#XACT-REPEATABLE-READ
https://www.psycopg.org/psycopg3/docs/advanced/cursors.html#server-side-cursors
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import psycopg
import pyarrow as pa
from psycopg import errors, sql
from psycopg.conninfo import make_conninfo

from connector.foundation.errors import SourceUnavailable
from stream_jobs.errors import MirrorError
from verification import verify_errors
from verification.foreign import foreign_errors
from verification.foreign.sql_target import Dialect, SqlColumn, SqlPlace, SqlTarget, table_of

# Unless a URL has others.
_OPTIONS: Final[dict[str, Any]] = {
    "application_name": "binlog-connector verify",
    "connect_timeout": "10",
}
_ROWS: Final = 20_000  # that are in memory at a time
_SETTINGS: Final = " ".join(
    f"-c {name}={value}"
    for name, value in {
        "TimeZone": "UTC",
        "DateStyle": "ISO",
        "extra_float_digits": "1",
        "default_transaction_read_only": "on",
        # Between two reads, the source is read.
        "idle_in_transaction_session_timeout": "0",
    }.items()
)
_COLUMNS: Final = """
    SELECT a.attname, coalesce(b.typname, t.typname),
        CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype
    WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum
"""
_INDEX: Final = """
    SELECT 1 FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid
    WHERE i.indrelid = to_regclass(%s) AND a.attnum = i.indkey[0] AND a.attname = %s
        AND i.indisvalid AND i.indpred IS NULL
"""
# Of the server, and of its history: a standby has the same identifier, and keeps it when it is
# promoted. Those of one primary are not told apart.
_IDENTITY: Final = """
    SELECT concat_ws('/', s.system_identifier,
        greatest(c.timeline_id, r.min_recovery_end_timeline), pg_is_in_recovery())
    FROM pg_control_system() s, pg_control_checkpoint() c, pg_control_recovery() r
"""
_MAY_IDENTIFY: Final = """
    SELECT count(*) = 3 FROM pg_proc
    WHERE proname IN ('pg_control_system', 'pg_control_checkpoint', 'pg_control_recovery')
        AND has_function_privilege(oid, 'EXECUTE')
"""
_ESTIMATE: Final = "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)"

_TEXT: Final = pa.string()
# By the names of types in pg_type; all others are texts.
_KINDS: Final = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}
_LISTS: Final = frozenset({"_text", "_varchar", "_bpchar"})
_DECIMAL_DIGITS: Final = 38


def _column(name: str, kind: str, modifier: int, quoted: str) -> SqlColumn:
    """Return how a column of a type is selected."""
    if kind == "bytea":
        return SqlColumn(name, quoted, pa.binary(), pa.binary())
    if kind in _LISTS:
        return SqlColumn(name, f"{quoted}::text[]", pa.list_(_TEXT), pa.list_(_TEXT))
    if kind in ("interval", "time"):
        microseconds = f"(extract(epoch from {quoted}) * 1000000)::bigint"
        return SqlColumn(name, microseconds, pa.int64(), pa.duration("us"))
    own = _KINDS.get(kind, _TEXT)
    if kind == "numeric" and modifier >= _HEAD:
        # https://github.com/postgres/postgres/blob/master/src/backend/utils/adt/numeric.c
        precision, scale = (modifier - _HEAD) >> 16 & 0xFFFF, (modifier - _HEAD) & 0x7FF
        if 0 <= scale <= precision <= _DECIMAL_DIGITS:
            own = pa.decimal128(precision, scale)
    if kind == "timestamptz":
        return SqlColumn(name, f"({quoted} AT TIME ZONE 'UTC')::text", _TEXT, own)
    return SqlColumn(name, f"{quoted}::text", _TEXT, own)


# An error after which the server ends the connection, such as its own end.
_ENDS: Final = frozenset({"FATAL", "PANIC"})
# Of the modifier of a type, before its digits.
_HEAD: Final = 4


class Postgresql(Dialect):
    """A connection to one table."""

    form = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE.SCHEMA.TABLE"
    has_versions = True

    def __init__(self, place: SqlPlace, name: str) -> None:
        """Log in; `name` is for people. Raises MirrorError."""
        self._name = name
        self._server = place.server
        database, *table = place.names
        self._table = sql.Identifier(*table).as_string()
        try:
            self._login = make_conninfo(
                host=place.host,
                port=place.port,
                user=place.user,
                password=place.password,
                dbname=database,
                options=_SETTINGS,
                **{**_OPTIONS, **place.options},
            )
            self._connection = psycopg.connect(self._login)
        except psycopg.Error as error:
            raise self._refusal(error) from error
        self._identity = self._read_identity()

    def begin(self) -> None:
        self._connect_again()
        try:
            self._connection.rollback()
        except psycopg.Error as error:
            raise self._failure(error) from error

    def _connect_again(self) -> None:
        """Log in again if the connection was lost.

        Raises SourceUnavailable if the server is away, or is another one.
        """
        if not self._connection.closed:
            return
        try:
            self._connection = psycopg.connect(self._login)
        except psycopg.Error as error:
            # The same login was accepted before: a server that starts refuses every login.
            raise self._away(error) from error
        if self._read_identity() != self._identity:
            self._connection.close()
            server = f"target {self._server}"
            raise SourceUnavailable(verify_errors.OTHER_ANSWERS, server=server)

    def _read_identity(self) -> str:
        """Return which server it is; "" if it does not tell this account.

        If that fails, the connection is closed: it is of no known server.
        """
        try:
            self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            ((may_ask,),) = self._query(_MAY_IDENTIFY, [])
            return str(self._query(_IDENTITY, [])[0][0]) if may_ask else ""
        except BaseException:
            self._connection.close()
            raise

    def columns(self) -> list[SqlColumn]:
        rows = self._query(_COLUMNS, [self._table])
        return [_column(name, kind, own, self.quoted(name)) for name, kind, own in rows]

    def estimated_rows(self) -> int:
        ((rows,),) = self._query(_ESTIMATE, [self._table])
        return max(0, int(rows))

    def has_index(self, name: str) -> bool:
        return bool(self._query(_INDEX, [self._table, name]))

    def quoted(self, name: str) -> str:
        text: str = sql.Identifier(name).as_string()
        return text

    def rows(
        self, columns: Sequence[SqlColumn], where: str, values: Sequence[object]
    ) -> Iterator[pa.Table]:
        parts = ", ".join(column.expression for column in columns)
        text = f"SELECT {parts} FROM {self._table}"  # noqa: S608 - quoted names
        if where:
            text = f"{text.replace('%', '%%')} WHERE {where}"
        self._connect_again()
        try:
            with self._connection.cursor(name="rows") as cursor:
                cursor.execute(text.encode(), values or None)
                while rows := cursor.fetchmany(_ROWS):
                    yield table_of(rows, columns)
        except psycopg.Error as error:
            raise self._failure(error) from error

    def close(self) -> None:
        self._connection.close()

    def _query(self, text: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        self._connect_again()
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(text.encode(), values)
                found: list[tuple[Any, ...]] = cursor.fetchall()
                return found
        except psycopg.Error as error:
            raise self._failure(error) from error

    def _refusal(self, error: psycopg.Error) -> MirrorError | SourceUnavailable:
        """Return why nobody could log in."""
        said = " ".join(str(error).split())
        # What the server has not sent has no severity.
        _, fatal, refused = said.partition("FATAL:")
        if isinstance(error, psycopg.OperationalError) and fatal:
            facts = {"server": self._server, "said": refused.strip()}
            return MirrorError(foreign_errors.TARGET_LOGIN, **facts)
        if isinstance(error, psycopg.OperationalError):
            return self._away(error)
        return MirrorError(foreign_errors.TARGET_REFUSED, target=self._name, said=said)

    def _away(self, error: psycopg.Error) -> SourceUnavailable:
        said = " ".join(str(error).split())
        return SourceUnavailable(foreign_errors.TARGET_AWAY, server=self._server, said=said)

    def _failure(self, error: psycopg.Error) -> MirrorError | SourceUnavailable:
        """Return what the error of a query is; a connection that was lost is closed."""
        if self._connection.closed or error.diag.severity_nonlocalized in _ENDS:
            self._connection.close()
            return self._away(error)
        said = " ".join(str(error).split())
        if isinstance(error, errors.InsufficientPrivilege):
            return MirrorError(foreign_errors.TARGET_RIGHTS, target=self._name, said=said)
        return MirrorError(foreign_errors.TARGET_REFUSED, target=self._name, said=said)


def opened(name: str, place: str) -> SqlTarget:
    """Return the target of a place. Raises ConfigError for another form, and MirrorError."""
    own = SqlPlace.of(place, name, Postgresql.form, (2, 3))
    return SqlTarget(name, Postgresql(own, name))
