"""What else compares tables: plain Python, data-diff, reladiff, pt-table-checksum and Spark.

data-diff and reladiff have no reader of Delta tables. They compare the table with a copy on the
same MySQL server, so both of their sides are computed by the server. pt-table-checksum computes the
checksums of one side; a replica computes the others when it gets its statements.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pymysql
from pymysql.cursors import SSCursor

from benchmarks.builds import Builds, Missing
from benchmarks.mirror_jobs import TUNED, RunningJob
from benchmarks.process import RunFailed, run_to_end, say, usage_of
from benchmarks.workload.session import session
from local_stack import spark_jars
from local_stack.package_repositories import Jar, fetch_jars
from stream_jobs.delta.parquet_file import rows_at
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable
from verification.mirror_side import live_positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.stack import Stack
    from local_stack import Endpoint

# The plain comparison holds all rows in memory.
_PLAIN_ROWS: Final = 500_000
_COLUMNS: Final = ("id", "customer", "name", "note", "flag", "state", "token", "day", "price")
_DRIVER: Final = Jar(
    "com.mysql",
    "mysql-connector-j",
    "9.1.0",
    2597591,
    "8776e2ebc46072c9a47ea59d98298c4273bd9f16a7b26b5dfa4744535aa26c62",
)
_SPARK: Final = {
    **TUNED,
    "spark.driver.host": "127.0.0.1",
    # An ENUM comes by JDBC as a CHAR that is as long as its longest label.
    "spark.sql.readSideCharPadding": "false",
}
_MEGA: Final = 1e6


class SourceCost:
    """What the source has spent since this was made."""

    def __init__(self, servers: Stack) -> None:
        self._servers = servers
        self._cpu_s, self._bytes = self._now()

    def figures(self) -> dict[str, float]:
        """Return processor seconds, and megabytes that were sent to all clients."""
        cpu_s, sent = self._now()
        return {
            "source_cpu_s": round(cpu_s - self._cpu_s, 2),
            "source_mb": round((sent - self._bytes) / _MEGA, 3),
        }

    def _now(self) -> tuple[float, int]:
        with session(self._servers.source) as connection:
            ((_, sent),) = connection.rows("SHOW GLOBAL STATUS LIKE 'Bytes_sent'")
        return usage_of(self._servers.mysql.pid).cpu_s, int(str(sent))


def compare_all(servers: Stack, mirror: Path, database: str, rows: int) -> dict[str, Any]:
    """Return the figures of a SELECT of nine columns, and of a comparison of Python's values."""
    rows = min(rows, _PLAIN_ROWS)
    cost = SourceCost(servers)
    began, cpu = time.monotonic(), time.process_time()
    table = DeltaTable.open(LocalStorage(str(mirror)), f"{database}/orders")
    assert table is not None
    columns = [column for column in table.snapshot.columns if column.name in _COLUMNS]
    own: dict[int, dict[str, Any]] = {}
    for file, positions in live_positions(table.storage, table.path, table.snapshot, ["id"]):
        data = rows_at(table.storage, table.path, file, columns, positions).to_pylist()
        own |= {row["id"]: row for row in data if row["id"] <= rows}
    wrong = 0
    with _connected(servers.source, database) as connection, connection.cursor() as cursor:
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
        **cost.figures(),
    }
    say(f"verify, all rows in Python: {found}")
    return found


def _connected(source: Endpoint, database: str) -> pymysql.Connection[SSCursor]:
    return pymysql.connect(
        host=source.host, port=source.port, user=source.user, password=source.password,
        database=database, charset="utf8mb4", cursorclass=SSCursor,
    )  # fmt: skip


def hash_diffs(servers: Stack, database: str, rows: int) -> dict[str, dict[str, Any]]:
    """Return the figures of data-diff and of reladiff, of those that can be installed here."""
    builds = Builds(servers.home.cache)
    programs = {"data_diff": builds.data_diff, "reladiff": builds.reladiff}
    found = {}
    with _copied(servers.source, database):
        for name, python in programs.items():
            try:
                found[name] = _hash_diff(name, python(), servers, database, rows)
            except Missing as missing:
                say(f"skipped {missing}")
    return found


@contextmanager
def _copied(source: Endpoint, database: str) -> Iterator[None]:
    """Keep a copy of the table at the source for the length of a block."""
    with session(source) as connection:
        connection.execute(
            "SET sql_log_bin = 0",
            f"CREATE TABLE {database}.copied LIKE {database}.orders",
            f"INSERT INTO {database}.copied SELECT * FROM {database}.orders",
        )
    try:
        yield
    finally:
        with session(source) as connection:
            connection.execute("SET sql_log_bin = 0", f"DROP TABLE {database}.copied")


def _hash_diff(name: str, python: Path, servers: Stack, database: str, rows: int) -> dict[str, Any]:
    source = servers.source
    login = source.user if not source.password else f"{source.user}:{source.password}"
    address = f"mysql://{login}@{source.host}:{source.port}/{database}"
    columns = [part for column in _COLUMNS[1:] for part in ("-c", column)]
    command = [str(python), "-m", name, address, "orders", address, "copied", "-k", "id"]
    command += [*columns, "--algorithm", "hashdiff"]
    figures, lines = _run(command, servers, rows)
    found = {**figures, "lines": len(lines)}
    say(f"verify, {name}: {found}")
    return found


def _run(command: Sequence[str], servers: Stack, rows: int) -> tuple[dict[str, Any], list[str]]:
    """Let a program compare so many rows; return its figures, and what it says."""
    cost, began = SourceCost(servers), time.monotonic()
    done = run_to_end(command)
    seconds = time.monotonic() - began
    figures = {
        "rows": rows,
        "rows_per_s": round(rows / seconds),
        "wall_s": round(seconds, 2),
        "cpu_s": round(done.cpu_s, 2),
        "peak_mb": round(done.peak_mb),
        **cost.figures(),
    }
    return figures, done.lines


def table_checksum(servers: Stack, database: str, rows: int) -> dict[str, Any] | None:
    """Return the figures of pt-table-checksum; None if it cannot be installed here."""
    try:
        program = Builds(servers.home.cache).table_checksum()
    except Missing as missing:
        say(f"skipped {missing}")
        return None
    source = servers.source
    address = f"h={source.host},P={source.port},u={source.user},p={source.password}"
    command = [*program, address, f"--databases={database}", "--tables=orders"]
    command += ["--recursion-method=none", "--no-check-binlog-format", "--no-version-check"]
    command += ["--no-check-replication-filters", "--quiet"]
    # The pipeline would keep its statements in quarantine, with all later changes.
    command += ["--set-vars", "sql_log_bin=0"]
    found, _ = _run(command, servers, rows)
    with session(source) as connection:
        ((counted,),) = connection.rows(
            f"SELECT SUM(this_cnt) FROM percona.checksums WHERE db = '{database}'"
        )
    if str(counted) != str(rows):
        reason = f"pt-table-checksum has summed {counted} of {rows} rows"
        raise RunFailed(reason)
    say(f"verify, pt-table-checksum: {found}")
    return found


def spark_except(servers: Stack, mirror: Path, database: str, rows: int) -> dict[str, Any]:
    """Return the figures of `exceptAll` in both directions; raises RunFailed if rows differ."""
    source = servers.source
    folder = servers.home.folder("runs")
    driver = fetch_jars("MySQL's JDBC driver", [_DRIVER], servers.home.cache)
    jars = ",".join(str(jar) for jar in (*spark_jars(), *driver))
    options = "tinyInt1isBit=false&useCursorFetch=true&connectionTimeZone=UTC"
    config = folder / "except.json"
    config.write_text(
        json.dumps(
            {
                "settings": {**_SPARK, "spark.jars": jars},
                "mirror": str(mirror / database / "orders"),
                "columns": _COLUMNS,
                "jdbc": {
                    "url": f"jdbc:mysql://{source.host}:{source.port}/{database}?{options}",
                    "driver": "com.mysql.cj.jdbc.Driver",
                    "dbtable": "orders",
                    "user": source.user,
                    "password": source.password,
                    "fetchsize": "10000",
                    "partitionColumn": "id",
                    "lowerBound": "1",
                    "upperBound": str(rows),
                    "numPartitions": str(os.cpu_count() or 1),
                },
            }
        )
    )
    script = Path(__file__).with_name("spark_except.py")
    cost, log = SourceCost(servers), folder / "except.log"
    with RunningJob("except", [sys.executable, str(script), str(config)], log) as running:
        lines = [each for each in running.lines() if each["event"] == "compared"]
        running.check_end()
    (line,) = lines
    if line["missing"] or line["surplus"]:
        reason = f"Spark's exceptAll found {line}"
        raise RunFailed(reason)
    found = {
        "rows": rows,
        "rows_per_s": round(rows / line["seconds"]),
        "wall_s": line["seconds"],
        "cpu_s": round(running.costs.cpu_s, 2),
        "peak_mb": round(running.costs.peak_mb),
        **cost.figures(),
    }
    say(f"verify, Spark's exceptAll: {found}")
    return found
