"""A table of many types at the source, and how two kinds of programs write its rows elsewhere."""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pymysql
from deltalake import write_deltalake

from connector.foundation.settings.sections import SnapshotSettings
from connector.replication.server.addresses import source_settings
from local_stack import connect
from tests import forked_command
from verification.foreign.foreign_check import ForeignCheck, ForeignLimits
from verification.foreign.foreign_report import ForeignResult
from verification.foreign.guess import MappingGuess
from verification.foreign.settlement import Sides
from verification.foreign.shared_log import SharedLog
from verification.foreign.source_log import SourceLog
from verification.foreign.source_rows import SourceRows
from verification.foreign.source_server import SourceServer
from verification.foreign.table_choice import ColumnChoice, TableChoice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from local_stack import Endpoint
    from verification.foreign.target import Target

Row = dict[str, Any]

DEFINITION = """
    CREATE TABLE orders (
        id INT UNSIGNED NOT NULL PRIMARY KEY, price DECIMAL(10,2), weight DOUBLE, note VARCHAR(80),
        kind ENUM('small', 'large'), tags SET('a', 'b', 'c'), picture VARBINARY(20), paid BIT(1),
        flags BIT(12), born DATE, made DATETIME(6), seen TIMESTAMP(3) NULL, took TIME,
        made_in YEAR, facts JSON, big BIGINT UNSIGNED, is_new TINYINT(1)
    ) ENGINE = InnoDB
"""
_FILL = """
    INSERT INTO orders
    WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last})
    SELECT i, i * 1.25 - 40, i / 7, CONCAT('row ', i, ' é'), 1 + i % 2, i % 8, UNHEX(SHA1(i)),
        i % 2, i % 4096, DATE '2001-02-03' + INTERVAL i DAY,
        TIMESTAMP '2020-01-01 00:00:00.000001' + INTERVAL i * 3607 SECOND,
        TIMESTAMP '2021-06-01 10:00:00.25' + INTERVAL i MINUTE, SEC_TO_TIME(i * 61), 1990 + i % 60,
        JSON_OBJECT('i', i, 'b', JSON_ARRAY(1, 2.5, NULL)), 18446744073709551000 + i % 600, i % 2
    FROM n
"""


@dataclass
class ForeignTable:
    """A table of the source, and its target in a folder."""

    endpoint: Endpoint
    database: str
    path: Path

    @property
    def url(self) -> str:
        """The source, as the command takes it."""
        end = self.endpoint
        return f"mysql://{end.user}:{end.password}@{end.host}:{end.port}"

    def execute(self, *statements: str) -> None:
        """Run statements at the source, each a transaction."""
        with connect(self.endpoint, self.database) as connection, connection.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
            for statement in statements:
                cursor.execute(statement)

    def fill(self, first: int, last: int) -> None:
        """Make rows with these keys."""
        self.execute(_FILL.format(first=first, last=last))

    def rows(self) -> list[Row]:
        """Return all rows, in the order of the key."""
        with (
            connect(self.endpoint, self.database) as connection,
            connection.cursor(pymysql.cursors.DictCursor) as cursor,
        ):
            cursor.execute("SET time_zone = '+00:00'")
            cursor.execute("SELECT * FROM orders ORDER BY id")
            return list(cursor.fetchall())

    def report(
        self, *arguments: str, target: str = "", code: int | None = None, seconds: float = 200
    ) -> dict[str, Any]:
        """Run the command, which may take `seconds`; return its report of the table."""
        table = f"{self.database}.orders={target or f'delta:{self.path}'}"
        done = forked_command.run(
            "verify", self.url, "--table", table, "--json", *arguments, seconds=seconds
        )
        assert done.stdout, done.stderr
        (report,) = json.loads(done.stdout)["tables"]
        if code is not None:
            assert done.returncode == code, report
        found: dict[str, Any] = report
        return found


def typed(rows: Sequence[Row]) -> pa.Table:
    """Return rows as a program writes them that has a type for each value."""
    fields: list[tuple[str, pa.DataType]] = [
        ("id", pa.int64()), ("price", pa.decimal128(10, 2)), ("weight", pa.float64()),
        ("note", pa.string()), ("kind", pa.string()), ("tags", pa.string()),
        ("picture", pa.binary()), ("paid", pa.bool_()), ("flags", pa.int64()),
        ("born", pa.date32()), ("made", pa.timestamp("us")), ("seen", pa.timestamp("us", "UTC")),
        ("took", pa.string()), ("made_in", pa.int16()), ("facts", pa.string()),
        ("big", pa.decimal128(20, 0)), ("is_new", pa.bool_()),
    ]  # fmt: skip
    return pa.table(
        {name: pa.array([_typed(name, r[name]) for r in rows], kind) for name, kind in fields}
    )


def _typed(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "paid":
        return value == b"\1"
    if name == "flags":
        return int.from_bytes(value, "big")
    if name == "is_new":
        return bool(value)
    if name == "seen":
        return value.replace(tzinfo=UTC)
    return _clock(value) if name == "took" else value


def _clock(value: Any) -> str:
    seconds = int(value.total_seconds())
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def debezium(rows: Sequence[Row], *, deleted: Sequence[int] = ()) -> pa.Table:
    """Return rows as Debezium encodes them, and as recipes for Spark leave them, without types."""
    columns = {
        "ID": pa.array([row["id"] for row in rows], pa.int64()),
        "price": pa.array([unscaled(row["price"]) for row in rows]),
        "weight": pa.array([row["weight"] for row in rows], pa.float64()),
        "note": pa.array([row["note"] for row in rows]),
        "kind": pa.array([row["kind"] for row in rows]),
        "tags": pa.array([row["tags"] for row in rows]),
        "picture": pa.array([_base64(row["picture"]) for row in rows]),
        "paid": pa.array([row["paid"] and row["paid"] == b"\1" for row in rows]),
        "flags": pa.array([_base64(row["flags"] and row["flags"][::-1]) for row in rows]),
        "born": pa.array([row["born"] and (row["born"] - date(1970, 1, 1)).days for row in rows]),
        "made": pa.array([_microseconds(row["made"]) for row in rows], pa.int64()),
        "seen": pa.array([row["seen"] and row["seen"].isoformat() + "Z" for row in rows]),
        "took": pa.array(
            [row["took"] and int(row["took"].total_seconds()) * 10**6 for row in rows]
        ),
        "madeIn": pa.array([row["made_in"] for row in rows], pa.int32()),
        "facts": pa.array([row["facts"] and json.dumps(json.loads(row["facts"])) for row in rows]),
        "big": pa.array([row["big"] and str(row["big"]) for row in rows]),
        "is_new": pa.array([row["is_new"] for row in rows], pa.int16()),
        "__op": pa.array(["d" if row["id"] in deleted else "u" for row in rows]),
        "__source_ts_ms": pa.array([0 for _ in rows], pa.int64()),
    }
    return pa.table(columns)


def utc(rows: Sequence[Row]) -> list[Row]:
    """Return rows whose DATETIME `placed` has the zone UTC."""
    return [{**row, "placed": row["placed"].replace(tzinfo=UTC)} for row in rows]


def day_number(value: date) -> int:
    """Return the days since 1970."""
    return (value - date(1970, 1, 1)).days


def unscaled(value: Decimal | None) -> str | None:
    """Return a DECIMAL with two digits after the point as Debezium's JSON has it."""
    if value is None:
        return None
    number = int(value.scaleb(2))
    return _base64(number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True))


def _base64(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _microseconds(value: datetime | None) -> int | None:
    return None if value is None else (value - datetime(1970, 1, 1)) // _US  # noqa: DTZ001


_US = datetime(1970, 1, 1, 0, 0, 0, 1) - datetime(1970, 1, 1)  # noqa: DTZ001


def write(path: Path, data: pa.Table) -> None:
    """Make the Delta table at `path`, or replace all of its rows."""
    write_deltalake(path, data, mode="overwrite", schema_mode="overwrite")


@contextmanager
def source_rows(
    url: str, name: tuple[str, str], settings: SnapshotSettings | None = None
) -> Iterator[SourceRows]:
    """Yield what reads a table of the source."""
    with SourceServer(source_settings(url), settings or SnapshotSettings(), 20.0) as server:
        yield SourceRows(server, name)


@contextmanager
def comparison(
    table: ForeignTable,
    columns: Mapping[str, ColumnChoice] | None = None,
    lag_seconds: float = 1.0,
    target: Target | None = None,
) -> Iterator[ForeignCheck]:
    """Yield a comparison that is about to run, so that something can happen before it does."""
    name = (table.database, "orders")
    choice = TableChoice(*name, f"delta:{table.path}", columns or {})
    with source_rows(table.url, name) as source:
        target = target or choice.opened()
        target.refresh()
        mapping = MappingGuess(source, target, choice).mapping()
        log = SourceLog(SharedLog(source.server, lag_seconds), source, mapping)
        result = ForeignResult(choice.name, choice.target)
        limits = ForeignLimits(lag_seconds)
        sides = Sides(source, target, mapping, log, source.patience.for_target())
        yield ForeignCheck(sides, limits, result, lambda *_: None)
