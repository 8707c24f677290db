"""Faults of a table that Debezium's JDBC sink makes, and the proof that all of them are found.

    python -m tests.integration.verification.debezium_sink --faults 1000 --changes 10

MySQL, Debezium's source, Kafka and Debezium's sink keep a table of PostgreSQL; then faults are made
in it by SQL, while a load changes all other rows through the pipeline. It fails if the command
misses a fault, or names another row. It needs Maven.

https://debezium.io/documentation/reference/stable/connectors/jdbc.html
"""

from __future__ import annotations

import argparse
import contextlib
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pymysql

from benchmarks.builds import SOURCES
from benchmarks.process import beside
from local_stack import KafkaBroker, MysqlServer, connect
from local_stack.kafka import SchemaRegistryServer
from local_stack.postgresql import PostgresqlServer, connect_postgresql
from tests.debezium.clients.servers import Servers
from tests.debezium.clients.sink import Sink, converters
from tests.integration.verification import foreign_tables
from tests.integration.verification.foreign_tables import ForeignTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psycopg

    from local_stack import Endpoint

_POM: Final = Path(__file__).parents[2] / "debezium" / "clients" / "class_paths" / "jdbc"
_TOPIC: Final = "dbz.shop.orders"
COPY: Final = "dbz_shop_orders"
_SURPLUS: Final = 10_000_000
_PATIENCE_SECONDS: Final = 900.0

# The kind of a fault, the column that differs, and SQL for the row.
_FAULTS: Final = [
    ("different", "price", "price + 0.01"),
    ("different", "price", "-price - 1"),
    ("different", "weight", "weight + 0.001"),
    ("different", "note", "NULL"),
    ("different", "note", "note || ' '"),
    ("different", "note", "upper(note)"),
    ("different", "note", "replace(note, 'é', '?')"),
    ("different", "kind", "CASE kind WHEN 'small' THEN 'large' ELSE 'small' END"),
    ("different", "tags", "'a,c,b'"),
    ("different", "picture", "substring(picture from 2)"),
    ("different", "paid", "NOT paid"),
    ("different", "born", "born - 1"),
    ("different", "made", "made + interval '2 hours'"),
    ("different", "made", "date_trunc('second', made)"),
    ("different", "seen", "seen - interval '250 milliseconds'"),
    ("different", "facts", "'{\"i\": 0}'::json"),
    ("different", "flags", "~flags"),
    ("different", "took", "took + interval '1 second'"),
    ("different", "big", "big + 1"),
    ("different", "made_in", "made_in + 1"),
    ("different", "is_new", "NULL"),
]
_WHOLE: Final = ("missing", "surplus", "stale")


def _source(endpoint: Endpoint, folder: Path) -> dict[str, str]:
    """Return the settings of Debezium's source."""
    return {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "database.hostname": endpoint.host,
        "database.port": str(endpoint.port),
        "database.user": endpoint.user,
        "database.password": endpoint.password,
        "database.server.id": "5901",
        "database.include.list": "shop",
        "database.ssl.mode": "disabled",
        "driver.allowPublicKeyRetrieval": "true",
        "topic.prefix": "dbz",
        "snapshot.locking.mode": "none",
        "bigint.unsigned.handling.mode": "precise",
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": str(folder / "dbz.history"),
    }


def _sink(endpoint: Endpoint) -> dict[str, str]:
    """Return the settings of Debezium's sink."""
    return {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "topics": _TOPIC,
        "connection.url": f"jdbc:postgresql://{endpoint.host}:{endpoint.port}/postgres",
        "connection.username": endpoint.user,
        "connection.password": endpoint.password,
        "insert.mode": "upsert",
        "delete.enabled": "true",
        "primary.key.mode": "record_key",
        "schema.evolution": "basic",
        "use.time.zone": "UTC",
    }


def _workers(servers: Servers, target: Endpoint) -> tuple[Sink, Sink]:
    """Return the processes of Debezium that keep the copy: its source, and its sink."""
    builds, own = servers.builds, converters(servers, avro=False)
    sources = builds.class_path("connect", SOURCES / "connect")
    sinks = builds.class_path("client-jdbc", _POM)
    settings = _source(servers.source, servers.folder)
    return (
        Sink(servers, "source", sources, {**settings, **own}),
        Sink(servers, "sink", sinks, {**_sink(target), **own}),
    )


def wait(copy: psycopg.Connection[Any], condition: str, check: Callable[[], None]) -> None:
    """Wait until the copy has what SQL says; `check` raises if it never will."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        check()
        ((there,),) = copy.execute("SELECT to_regclass(%s) IS NOT NULL", [COPY]).fetchall()
        if there:
            ((found,),) = copy.execute(f"SELECT {condition} FROM {COPY}").fetchall()
            if found:
                return
        assert time.monotonic() < deadline, f"the copy does not come to: {condition}"
        time.sleep(0.5)


def inject(copy: psycopg.Connection[Any], old: dict[int, str | None]) -> dict[int, str]:
    """Make a fault in each of the rows of `old`, which has their notes of before."""
    expected: dict[int, str] = {}
    kinds = len(_FAULTS) + len(_WHOLE)
    with copy.transaction():
        for number, note in old.items():
            place = number % kinds
            if place < len(_FAULTS):
                kind, column, value = _FAULTS[place]
                done = copy.execute(
                    f"UPDATE {COPY} SET {column} = {value} "
                    f"WHERE id = {number} AND {column}::text IS DISTINCT FROM ({value})::text"
                )
                if done.rowcount:
                    expected[number] = kind
            elif _WHOLE[place - len(_FAULTS)] == "missing":
                copy.execute(f"DELETE FROM {COPY} WHERE id = {number}")
                expected[number] = "missing"
            elif _WHOLE[place - len(_FAULTS)] == "surplus":
                copy.execute(f"INSERT INTO {COPY} (id) VALUES ({number + _SURPLUS})")
                expected[number + _SURPLUS] = "surplus"
            else:
                copy.execute(f"UPDATE {COPY} SET note = %s WHERE id = {number}", [note])
                expected[number] = "stale"
    return expected


class Load:
    """Changes the rows after the first ones at a rate."""

    def __init__(self, table: ForeignTable, first: int, last: int, rate: int) -> None:
        self._table = table
        self._span = range(first, last)
        self._rate = rate
        self.changes = 0

    def run(self, ended: threading.Event) -> None:
        """Change rows until it is told to end."""
        while not ended.is_set():
            # A source that is killed answers again soon.
            with contextlib.suppress(pymysql.err.OperationalError):
                self._change(ended)

    def _change(self, ended: threading.Event) -> None:
        table, span, before, began = self._table, self._span, self.changes, time.monotonic()
        with connect(table.endpoint, table.database) as connection, connection.cursor() as cursor:
            while not ended.is_set():
                number = span[self.changes * 7919 % len(span)]
                if self.changes % 10 == 0:
                    cursor.execute(f"DELETE FROM orders WHERE id = {number}")
                else:
                    cursor.execute(
                        f"INSERT INTO orders (id, note) VALUES ({number}, UUID()) "
                        "ON DUPLICATE KEY UPDATE price = price + 1, note = UUID()"
                    )
                self.changes += 1
                due = began + (self.changes - before) / self._rate
                time.sleep(max(0.0, due - time.monotonic()))


def _compare(table: ForeignTable, target: str, lag: float, expected: dict[int, str]) -> None:
    began = time.monotonic()
    words = ("--lag", str(lag), "--max-differences", "5000")
    report = table.report(*words, target=target)
    seconds = time.monotonic() - began
    assert report["error"] is None, report["error"]
    found = {each["key"]["id"]: each["kind"] for each in report["differences"]}
    wrong = {each["key"]["id"]: each for each in report["differences"]
             if expected.get(each["key"]["id"]) != each["kind"]}  # fmt: skip
    missed = {number: kind for number, kind in expected.items() if number not in found}
    forms = {each["source"]: each["form"] for each in report["columns"]}
    print(
        f"{len(found)} found of {len(expected)} faults in {seconds:.1f} s; {report['rows']} rows; "
        f"rows that lagged: {report['lagging_rows']}, the longest for "
        f"{report['oldest_lag_seconds']} s; unsettled: {report['unsettled']}",
        flush=True,
    )
    print(f"forms: {forms}", flush=True)
    assert not wrong, list(wrong.values())[:5]
    assert not missed, missed
    assert not report["unsettled"], report["unsettled"]


@dataclass(frozen=True)
class Sides:
    """A table of MySQL, and the copy of it that Debezium keeps in PostgreSQL."""

    servers: Servers
    postgresql: PostgresqlServer
    table: ForeignTable
    source: Sink
    sink: Sink

    @property
    def target(self) -> str:
        """The copy, as the command takes it."""
        end = self.postgresql.endpoint
        return f"postgresql://{end.user}:{end.password}@{end.host}:{end.port}/postgres.{COPY}"

    def check(self) -> None:
        """Raise RuntimeError if Debezium has failed."""
        self.source.check()
        self.sink.check()


@contextmanager
def both_sides(folder: Path, rows: int) -> Iterator[Sides]:
    """Start everything, with a table of so many rows."""
    with ExitStack() as started:
        mysql = started.enter_context(MysqlServer(folder / "mysql"))
        kafka = started.enter_context(KafkaBroker(folder / "kafka"))
        postgresql = started.enter_context(PostgresqlServer(folder / "postgresql"))
        servers = Servers(folder, mysql, kafka, SchemaRegistryServer(folder / "registry"))
        with connect(mysql.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("SET GLOBAL cte_max_recursion_depth = 10000000")
        table = ForeignTable(mysql.endpoint, "shop", folder)
        table.execute(foreign_tables.DEFINITION)
        table.fill(1, rows)
        # The sink ends at a TIME of a day or more.
        table.execute("UPDATE orders SET took = SEC_TO_TIME(id % 86400)")
        source, sink = _workers(servers, postgresql.endpoint)
        with source, sink:
            yield Sides(servers, postgresql, table, source, sink)


def main() -> None:
    """Make the pipeline and its faults, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--changes", type=int, default=10, help="a second")
    parser.add_argument("--lag", type=float, default=30.0)
    given = parser.parse_args()
    with TemporaryDirectory() as name, both_sides(Path(name), given.rows) as sides:
        table, check = sides.table, sides.check
        copy = connect_postgresql(sides.postgresql.endpoint)
        wait(copy, f"count(*) = {given.rows}", check)
        old = {row["id"]: row["note"] for row in table.rows()[: given.faults]}
        table.execute(f"UPDATE orders SET note = CONCAT('newer ', note) WHERE id <= {given.faults}")
        wait(copy, f"count(*) FILTER (WHERE note LIKE 'newer%') = {given.faults}", check)
        _compare(table, sides.target, given.lag, {})
        expected = inject(copy, old)
        load = Load(table, given.faults + 1, given.rows, given.changes)
        with beside(load.run):
            # The old values are older than the lag then.
            time.sleep(given.lag + 1)
            before = load.changes
            began = time.monotonic()
            _compare(table, sides.target, given.lag, expected)
            rate = (load.changes - before) / (time.monotonic() - began)
            print(f"{rate:.0f} changes/s")
        check()


if __name__ == "__main__":
    main()
