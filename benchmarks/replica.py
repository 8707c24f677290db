"""How fast the replica writes, compared in the same run with two plain ways to write these rows.

A mirror of one table is written without Kafka and Spark: its first cut has all rows, the second one
has changed a tenth of them. The first load is compared with the statements of a dump, which are
made before the clock starts, and the second cut with a REPLACE for each row.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from benchmarks.process import RunFailed, say
from connector.foundation.contract import Sequence
from local_stack import MysqlServer, connect
from stream_jobs.cuts.cut import Cut, CutStore, CutTable
from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.parquet_file import write_file
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.replica.replica import Replica
from stream_jobs.replica.statements import TableName, inserts
from stream_jobs.settings import Settings
from stream_jobs.source.sequence import HI, LO, PackedSequence
from stream_jobs.source.table_schema import TableSchema
from stream_jobs.tables.column_changes import all_columns
from stream_jobs.tables.mirror_metadata import properties_of

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.home import Home
    from connector.foundation.contract import SchemaColumn
    from local_stack import Endpoint

ROWS: Final = 500_000
_CHANGED: Final = 10
_STATEMENT_BYTES: Final = 1024 * 1024
_COLUMNS: Final[tuple[SchemaColumn, ...]] = (
    {"name": "id", "type": "int", "nullable": False, "key": 1},
    {"name": "customer", "type": "bigint", "nullable": True, "key": 0},
    {"name": "price", "type": "decimal", "nullable": True, "key": 0, "precision": 12, "scale": 2},
    {
        "name": "name",
        "type": "varchar",
        "nullable": True,
        "key": 0,
        "length": 160,
        "charset": "utf8mb4",
    },
    {"name": "at", "type": "datetime", "nullable": True, "key": 0, "fraction": 6},
    {"name": "token", "type": "varbinary", "nullable": True, "key": 0, "length": 16},
)
_SCHEMA: Final = TableSchema("shop", "orders", "0" * 16, PackedSequence(0, 0), _COLUMNS)


def measure_replica(home: Home) -> dict[str, Any]:
    """Return rows/s of each way, and print them."""
    folder = home.folder("replica")
    shutil.rmtree(folder, ignore_errors=True)
    rows = max(1000, round(ROWS * home.scale))
    with MysqlServer(folder / "server") as server:
        mirror = _Mirror(folder / "mirror", rows)
        replica = Replica(_settings(server.endpoint, str(folder / "mirror")))
        found = {"load": _applied(replica), "dump": _dump(server.endpoint, mirror.table(0, 0))}
        mirror.change()
        found["cut"] = _applied(replica)
        found["single"] = _single(server.endpoint, mirror.table(0, 1).slice(0, rows // _CHANGED))
        replica.close()
    for name, own in found.items():
        say(f"replica, {name}: {own:,.0f} rows/s")
    say(f"replica: the first load has {found['load'] / found['dump']:.2f} of the speed of a dump")
    say(f"replica: a cut is {found['cut'] / found['single']:.1f} times as fast as single rows")
    return found


class _Mirror:
    """A mirror of one table."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._storage = LocalStorage(str(folder))
        self._rows = rows
        columns = all_columns(_SCHEMA)
        metadata = Metadata(columns, properties_of(_SCHEMA))
        self._delta = DeltaTable.create(self._storage, "shop/orders", metadata)
        self._write(self.table(0, 0), 0, {})

    def table(self, hi: int, version: int) -> pa.Table:
        """Return all rows."""
        ids = np.arange(self._rows)
        tokens = [number.to_bytes(16, "big") for number in range(self._rows)]
        values = {
            "id": pa.array(ids, pa.int32()),
            "customer": pa.array(ids * 7919, pa.int64()),
            "price": pa.array(ids % 10_000 + version, pa.int32()).cast(pa.decimal128(12, 2)),
            "name": pa.array([f"it's product {number}" for number in range(self._rows)]),
            "at": pa.array(1_700_000_000_000_000 + ids * 1_001, pa.timestamp("us")),
            "token": pa.array(tokens, pa.binary()),
            HI: pa.array(np.full(self._rows, hi), pa.int64()),
            LO: pa.array(np.zeros(self._rows), pa.int64()),
        }
        return pa.table(values)

    def change(self) -> None:
        """Change a part of the rows, in a second cut."""
        (path,) = self._delta.snapshot.files
        count = self._rows // _CHANGED
        dead = {path: BitMap(range(count)).serialize()}
        bound = PackedSequence.pack(_bound(1))
        self._write(self.table(bound.hi, 1).slice(0, count), 1, dead)

    def _write(self, rows: pa.Table, number: int, dead: dict[str, bytes]) -> None:
        columns = self._delta.snapshot.columns
        file = write_file(self._storage, "shop/orders", columns, rows)
        snapshot = self._delta.commit(TableCommit(new=[file], dead=dead), "MERGE")
        own = CutTable("shop/orders", snapshot.version, snapshot.metadata.table_id)
        seq = str(_bound(number + 1))
        cut = Cut(seq, "mysql", None, "", None, 0, {"shop.orders": own}, {})
        CutStore(self._storage).put(replace(cut, number=number + 1))


def _bound(file: int) -> Sequence:
    return Sequence(1, file, 4, 0, 0)


def _settings(endpoint: Endpoint, path: str) -> Settings:
    url = f"mysql://{endpoint.user}@{endpoint.host}:{endpoint.port}/"
    section = {"url": url, "password": endpoint.password}
    kafka = {"bootstrap_servers": ["unused:1"], "topic_prefix": "unused"}
    document: dict[str, Any] = {"kafka": kafka, "mirror": {"path": path}, "replica": section}
    return Settings(name="bench", **document)


def _applied(replica: Replica) -> float:
    step = replica.apply_newest()
    if step is None or not step.inserted:
        message = "the replica has applied nothing"
        raise RunFailed(message)
    return step.inserted / step.seconds


def _dump(endpoint: Endpoint, rows: pa.Table) -> float:
    """Load the same rows as a dump does."""
    with connect(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE dump")
        cursor.execute("CREATE TABLE dump.orders LIKE shop.orders")
        cursor.execute("SET sql_mode = 'NO_BACKSLASH_ESCAPES', foreign_key_checks = 0")
        cursor.execute("SET unique_checks = 0, autocommit = 0")
        table = TableName("dump", "orders")
        made = inserts(table, _COLUMNS, rows, _STATEMENT_BYTES, may_exist=False)
        statements = [each.sql for each in made]
        began = time.monotonic()
        for statement in statements:
            cursor.execute(statement)
        cursor.execute("COMMIT")
        seconds = time.monotonic() - began
    return len(rows) / seconds


def _single(endpoint: Endpoint, rows: pa.Table) -> float:
    """Replace the rows one by one, in one transaction."""
    values = rows.select([column["name"] for column in _COLUMNS]).to_pylist()
    places = ",".join(["%s"] * len(_COLUMNS))
    with connect(endpoint) as connection, connection.cursor() as cursor:
        connection.begin()
        began = time.monotonic()
        for row in values:
            cursor.execute(f"REPLACE INTO dump.orders VALUES ({places})", tuple(row.values()))
        connection.commit()
        return len(values) / (time.monotonic() - began)
