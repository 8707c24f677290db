"""Faults of a table of ClickHouse, and the proof that all of them are found.

    pip install 'clickhouse-connect[chdb]'
    python -m tests.integration.verification.foreign_clickhouse --faults 1000

No package has a server of ClickHouse; chDB is its engine in this process, and the driver asks it as
it asks a server. The table is one that PeerDB makes: ReplacingMergeTree with versions of rows and a
mark of deleted ones. It fails if the comparison misses a fault, or names another row.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import clickhouse_connect
import pyarrow as pa

from local_stack import MysqlServer, connect
from tests.integration.verification import foreign_tables
from tests.integration.verification.damage import reserved
from tests.integration.verification.foreign_faults import damaged
from tests.integration.verification.foreign_tables import ForeignTable
from verification.foreign.clickhouse_target import Clickhouse
from verification.foreign.sql_target import SqlTarget

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

    from tests.integration.verification.foreign_tables import Row

_DEFINITION = """
    CREATE TABLE shop.orders (
        id Int64, price Nullable(Decimal(10, 2)), weight Nullable(Float64), note Nullable(String),
        kind LowCardinality(Nullable(String)), tags Nullable(String), picture Nullable(String),
        paid Nullable(Bool), flags Nullable(Int64), born Nullable(Date32),
        made Nullable(DateTime64(6)), seen Nullable(DateTime64(3, 'UTC')), took Nullable(String),
        made_in Nullable(Int16), facts Nullable(String), big Nullable(Decimal(20, 0)),
        is_new Nullable(Bool), _peerdb_is_deleted UInt8, _peerdb_version Int64
    ) ENGINE = ReplacingMergeTree(_peerdb_version) ORDER BY id
"""


def _insert(client: Client, rows: list[Row], version: int, *, deleted: bool = False) -> None:
    data = foreign_tables.typed(rows)
    marks = pa.array([int(deleted)] * len(rows), pa.uint8())
    versions = pa.array([version] * len(rows), pa.int64())
    data = data.append_column("_peerdb_is_deleted", marks).append_column(
        "_peerdb_version", versions
    )
    client.insert_arrow("shop.orders", data)


def main() -> None:
    """Inject faults, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=20_000)
    given = parser.parse_args()
    client = clickhouse_connect.get_client(interface="chdb")
    client.command("CREATE DATABASE IF NOT EXISTS shop")
    client.command(_DEFINITION)
    with TemporaryDirectory() as folder, MysqlServer(Path(folder) / "server") as server:
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("SET GLOBAL cte_max_recursion_depth = 10000000")
        table = ForeignTable(server.endpoint, "shop", Path(folder) / "orders")
        table.execute(foreign_tables.DEFINITION)
        table.fill(1, given.rows)
        old = {row["id"]: row for row in table.rows()}
        _insert(client, [*old.values()], 1)
        table.execute(
            f"UPDATE orders SET note = 'newer' WHERE id <= {reserved(given.faults)}",
            f"DELETE FROM orders WHERE id > {given.rows - 100}",
        )
        rows, expected = damaged(table.rows(), given.faults, old)
        # One key has one row after a merge.
        expected = {number: kind for number, kind in expected.items() if kind != "doubled"}
        there = {row["id"] for row in rows}
        _insert(client, [row for row in rows if row != old.get(row["id"])], 2)
        _insert(
            client, [row for number, row in old.items() if number not in there], 3, deleted=True
        )
        time.sleep(2)
        target = SqlTarget("clickhouse:", Clickhouse(client, ("shop", "orders"), "clickhouse:"))
        began = time.monotonic()
        with foreign_tables.comparison(table, target=target) as check:
            check.run()
        seconds = time.monotonic() - began
    found = {each.key["id"]: each.kind for each in check.result.differences}
    wrong = {
        number: kind for number, kind in found.items() if expected.get(int(str(number))) != kind
    }
    missed = {number: kind for number, kind in expected.items() if number not in found}
    print(f"{len(found)} found of {len(expected)} faults in {seconds:.1f} s")
    assert not wrong, wrong
    assert not missed, missed


if __name__ == "__main__":
    main()
