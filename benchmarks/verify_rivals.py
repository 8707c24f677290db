"""What else compares tables: a plain comparison in Python, and data-diff.

data-diff has no reader of Delta tables. It compares the table with a copy on the same MySQL server,
so both of its sides are computed by the server.
"""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING, Any, Final

import pymysql
from pymysql.cursors import SSCursor

from benchmarks.builds import Builds, Missing
from benchmarks.process import run_to_end, say
from benchmarks.workload.session import session
from stream_jobs.delta.parquet_file import rows_at
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from verification.mirror_side import live_positions

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.stack import Stack
    from local_stack import Endpoint

# The plain comparison holds all rows in memory.
_PLAIN_ROWS: Final = 500_000
_COLUMNS: Final = ("id", "customer", "name", "note", "flag", "state", "token", "day", "price")


def compare_all(source: Endpoint, mirror: Path, database: str, rows: int) -> dict[str, Any]:
    """Return the figures of a SELECT of nine columns, and of a comparison of Python's values."""
    rows = min(rows, _PLAIN_ROWS)
    began, cpu = time.monotonic(), time.process_time()
    table = DeltaTable.open(LocalStorage(str(mirror)), f"{database}/orders")
    assert table is not None
    columns = [column for column in table.snapshot.columns if column.name in _COLUMNS]
    own: dict[int, dict[str, Any]] = {}
    for file, positions in live_positions(table.storage, table.path, table.snapshot, ["id"]):
        data = rows_at(table.storage, table.path, file, columns, positions).to_pylist()
        own |= {row["id"]: row for row in data if row["id"] <= rows}
    connection = pymysql.connect(
        host=source.host, port=source.port, user=source.user, password=source.password,
        database=database, charset="utf8mb4", cursorclass=SSCursor,
    )  # fmt: skip
    wrong = 0
    with connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(_COLUMNS)} FROM orders WHERE id <= {rows}")
        for row in cursor:
            wrong += dict(zip(_COLUMNS, row, strict=True)) != own.get(row[0])
    seconds = time.monotonic() - began
    found = {
        "rows": rows,
        "rows_per_s": round(rows / seconds),
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "wrong": wrong,
    }
    say(f"verify, all rows in Python: {found}")
    return found


def data_diff(servers: Stack, database: str, rows: int) -> dict[str, Any] | None:
    """Return the figures of data-diff; None if it cannot be installed here."""
    try:
        python = Builds(servers.home.cache).data_diff()
    except Missing as missing:
        say(f"skipped {missing}")
        return None
    source = servers.source
    with session(source) as connection:
        connection.execute(
            "SET sql_log_bin = 0",
            f"CREATE TABLE {database}.copied LIKE {database}.orders",
            f"INSERT INTO {database}.copied SELECT * FROM {database}.orders",
        )
    login = source.user if not source.password else f"{source.user}:{source.password}"
    address = f"mysql://{login}@{source.host}:{source.port}/{database}"
    columns = [part for name in _COLUMNS[1:] for part in ("-c", name)]
    command = [str(python), "-m", "data_diff", address, "orders", address, "copied"]
    began = time.monotonic()
    done = run_to_end([*command, "-k", "id", "--algorithm", "hashdiff", *columns])
    seconds = time.monotonic() - began
    with session(source) as connection:
        connection.execute("SET sql_log_bin = 0", f"DROP TABLE {database}.copied")
    found = {
        "rows": rows,
        "rows_per_s": round(rows / seconds),
        "wall_s": round(seconds, 2),
        "cpu_s": round(done.cpu_s, 2),
        "peak_mb": round(done.peak_mb),
        "lines": len(done.lines),
    }
    say(f"verify, data-diff: {found}")
    return found
