"""A table of ClickHouse, by clickhouse-connect.

Rows that a table engine replaces, or removes, when it merges parts are read as after all merges
(FINAL). A SELECT sees one moment, and two see two, so one look proves nothing.

https://clickhouse.com/docs/sql-reference/statements/select/from#final-modifier
https://clickhouse.com/docs/interfaces/formats/ArrowStream
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import clickhouse_connect
import pyarrow as pa
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError, ProgrammingError
from urllib3.exceptions import HTTPError

from connector.foundation.errors import SourceUnavailable
from stream_jobs.errors import MirrorError
from verification.foreign import foreign_errors
from verification.foreign.sql_target import Dialect, SqlColumn, SqlPlace, SqlTarget

# Unless a URL has others.
_OPTIONS: Final[dict[str, Any]] = {"connect_timeout": 10, "query_retries": 0}
_SETTINGS: Final = {
    "final": 1,
    "output_format_arrow_string_as_string": 0,
    "output_format_arrow_low_cardinality_as_dictionary": 0,
    "output_format_arrow_compression_method": "none",
}
# Of a column of texts or bytes: these many say what it has.
_SAMPLE_ROWS: Final = 10_000

_BYTES, _TEXT = pa.binary(), pa.string()
_NUMBERS: Final = {
    "Int8": pa.int8(),
    "Int16": pa.int16(),
    "Int32": pa.int32(),
    "Int64": pa.int64(),
    "UInt8": pa.uint8(),
    "UInt16": pa.uint16(),
    "UInt32": pa.uint32(),
    "UInt64": pa.uint64(),
    "Float32": pa.float32(),
    "Float64": pa.float64(),
    "Bool": pa.bool_(),
}
_UTC: Final = pa.timestamp("us", "UTC")
_JSON: Final = ("toJSONString({})", _BYTES, _TEXT)
_MOMENT: Final = ("toUnixTimestamp64Micro(toDateTime64({}, 6))", pa.int64(), _UTC)
_DAY: Final = ("toDate32({})", pa.date32(), pa.date32())
# By the names of types: how SQL returns a column, of which type, and which type it has. Others are
# texts of their values.
_EXPRESSIONS: Final = {
    "String": ("toValidUTF8({})", _BYTES, _TEXT),
    "FixedString": ("toValidUTF8(toStringCutToZero({}))", _BYTES, _TEXT),
    "Date": _DAY,
    "Date32": _DAY,
    "DateTime": _MOMENT,
    "DateTime64": _MOMENT,
    **dict.fromkeys(
        ("Array", "Map", "Tuple", "Nested", "JSON", "Object", "Variant", "Dynamic"), _JSON
    ),
}
_WRAPPER: Final = re.compile(r"(?:Nullable|LowCardinality|SimpleAggregateFunction)\((.*)\)")
_DECIMAL: Final = re.compile(r"Decimal\((\d+), (\d+)\)")
_DECIMAL_DIGITS: Final = 38
# https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp
_LOGINS: Final = frozenset({81, 192, 193, 194, 516})
_RIGHTS: Final = frozenset({497})
_CODE: Final = re.compile(r"\b(?:ClickHouse error code|Code:) (\d+)")


def column_of(name: str, kind: str, quoted: str, *, is_text: bool) -> SqlColumn:
    """Return how a column of a type is selected; `is_text` says what its String is."""
    while match := _WRAPPER.fullmatch(kind):
        kind = match[1].rpartition(", ")[2] if kind.startswith("Simple") else match[1]
    base = kind.partition("(")[0]
    if base in ("String", "FixedString") and not is_text:
        return SqlColumn(name, f"CAST({quoted}, 'Nullable(String)')", _BYTES, _BYTES)
    own = _NUMBERS.get(kind)
    if (match := _DECIMAL.fullmatch(kind)) and int(match[1]) <= _DECIMAL_DIGITS:
        own = pa.decimal128(int(match[1]), int(match[2]))
    if own is not None:
        return SqlColumn(name, quoted, own, own)
    if kind == "Array(String)":
        return SqlColumn(name, quoted, pa.list_(_BYTES), pa.list_(_TEXT))
    template, wire, own = _EXPRESSIONS.get(base, ("toString({})", _BYTES, _TEXT))
    return SqlColumn(name, template.format(quoted), wire, own)


class Clickhouse(Dialect):
    """A client and one table."""

    form = "clickhouse://USER:PASSWORD@HOST:PORT/DATABASE.TABLE"
    has_versions = False

    def __init__(self, client: Client, names: Sequence[str], name: str) -> None:
        """Read the table `names`, a database and a table; `name` is for people."""
        self._client = client
        self._names = dict(zip(("database", "table"), names, strict=True))
        self._table = ".".join(map(self.quoted, names))
        self._name = name
        self._columns: dict[str, SqlColumn] = {}

    def begin(self) -> None:
        """Do nothing: each SELECT sees the newest rows."""

    def columns(self) -> list[SqlColumn]:
        rows = self._query(
            "SELECT name, type FROM system.columns WHERE database = {database:String} "
            "AND table = {table:String} AND default_kind != 'EPHEMERAL' ORDER BY position"
        )
        known = self._columns
        if any(name not in known for name, _ in rows):
            texts = self._texts([name for name, kind in rows if "String" in kind])
            known = {
                name: column_of(name, kind, self.quoted(name), is_text=texts.get(name, True))
                for name, kind in rows
            }
        self._columns = {name: known[name] for name, _ in rows}
        return list(self._columns.values())

    def estimated_rows(self) -> int:
        ((rows,),) = self._facts("total_rows")
        return int(rows or 0)

    def has_index(self, name: str) -> bool:
        kind = self._columns[name].kind
        if not (pa.types.is_integer(kind) or pa.types.is_string(kind)):
            return False
        ((key,),) = self._facts("sorting_key")
        first = str(key).partition(",")[0].strip()
        return first in (name, self.quoted(name))

    def quoted(self, name: str) -> str:
        escaped = name.replace("\\", "\\\\").replace("`", "\\`")
        return f"`{escaped}`"

    def rows(
        self, columns: Sequence[SqlColumn], where: str, values: Sequence[object]
    ) -> Iterator[pa.Table]:
        # With other names: a name in WHERE would be that of the expression.
        parts = [f"{column.expression} AS `{n}`" for n, column in enumerate(columns)]
        text = f"SELECT {', '.join(parts)} FROM {self._table}"  # noqa: S608 - quoted names
        if where:
            text = f"{text.replace('%', '%%')} WHERE {where}"
        try:
            stream = self._client.query_arrow_stream(
                text, parameters=list(values) or None, settings=_SETTINGS, use_strings=False
            )
            with stream as tables:
                for data in tables:
                    arrays = [
                        array.cast(column.wire)
                        for array, column in zip(data.columns, columns, strict=True)
                    ]
                    yield pa.Table.from_arrays(arrays, names=[each.name for each in columns])
        except (ClickHouseError, HTTPError, OSError) as error:
            raise _failure(error, self._name) from error

    def close(self) -> None:
        self._client.close()

    def _texts(self, names: Sequence[str]) -> dict[str, bool]:
        """Return which columns have texts, by some of their values."""
        if not names:
            return {}
        valid = ", ".join(f"countIf(NOT isValidUTF8({self.quoted(n)}))" for n in names)
        own = ", ".join(self.quoted(name) for name in names)
        some = f"SELECT {own} FROM {self._table} LIMIT {_SAMPLE_ROWS}"  # noqa: S608
        ((*counts,),) = self._query(f"SELECT {valid} FROM ({some})")  # noqa: S608
        return {name: not count for name, count in zip(names, counts, strict=True)}

    def _facts(self, column: str) -> Sequence[Sequence[Any]]:
        return self._query(
            f"SELECT {column} FROM system.tables "  # noqa: S608 - names of ours
            "WHERE database = {database:String} AND name = {table:String}"
        )

    def _query(self, text: str) -> Sequence[Sequence[Any]]:
        try:
            rows: Sequence[Sequence[Any]] = self._client.query(
                text, parameters=self._names
            ).result_rows
        except (ClickHouseError, OSError) as error:
            raise _failure(error, self._name) from error
        return rows


def _code(error: Exception, said: str) -> int | None:
    """Return the number of an error of the server; None if the server did not send it."""
    code: int | None = getattr(error, "code", None)
    # Older drivers have it in their text only.
    if code is None and (match := _CODE.search(said)):
        return int(match[1])
    return code


def _failure(error: Exception, name: str, server: str = "") -> MirrorError | SourceUnavailable:
    """Return what an error of the driver is."""
    said = " ".join(str(error).split())
    code = _code(error, said)
    if code in _LOGINS:
        return MirrorError(foreign_errors.TARGET_LOGIN, server=server or name, said=said)
    if code in _RIGHTS:
        return MirrorError(foreign_errors.TARGET_RIGHTS, target=name, said=said)
    if code is None:
        return SourceUnavailable(foreign_errors.TARGET_AWAY, server=server or name, said=said)
    return MirrorError(foreign_errors.TARGET_REFUSED, target=name, said=said)


def opened(name: str, place: str) -> SqlTarget:
    """Return the target of a place. Raises ConfigError for another form, and MirrorError."""
    own = SqlPlace.of(place, name, Clickhouse.form)
    try:
        client = clickhouse_connect.get_client(
            host=own.host,
            port=own.port or 0,
            username=own.user,
            # As the client of ClickHouse takes it.
            password=own.password or os.environ.get("CLICKHOUSE_PASSWORD", ""),
            database=own.names[0],
            **{**_OPTIONS, **own.options},
        )
    except (ProgrammingError, TypeError, ValueError) as error:
        # An option that the driver does not know, or a value that it does not take.
        raise MirrorError(foreign_errors.TARGET_REFUSED, target=name, said=error) from error
    except (ClickHouseError, OSError) as error:
        raise _failure(error, name, own.server) from error
    return SqlTarget(name, Clickhouse(client, own.names, name))
