"""Single source transactions and events that are far larger than what may be in flight.

*Transaction.* Ten million rows, which one INSERT … SELECT writes in events of the usual size: they
pass in one Kafka transaction, and memory stays what it is for any other load.

*Event.* One rows event of 512 MiB, which a server writes that was told to
(`binlog_row_event_max_size`): an event is checked as a whole before a row of it is believed, so it
is held as a whole.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.connectors import OurConnector
from benchmarks.data import SETTINGS, VERSION
from benchmarks.process import say
from benchmarks.stack import BROKER_MEMORY, BROKER_SETTINGS, PASSWORD, USER, Stack
from benchmarks.watch import Topics, watch
from benchmarks.workload.session import session
from local_stack import KafkaBroker, MysqlServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from benchmarks.home import Home

DATABASE = "large"
ROWS = 10_000_000
EVENT_BYTES = 512 * 1024 * 1024
LIMIT_S = 900.0
_DIGITS = 10
_WIDE_BYTES = 1000
_WIDE_ROW_BYTES = _WIDE_BYTES + 7  # with the key, the length of the text, and the null bits
# Of the number n.
_COLUMNS = {
    "deep": "n, n % 1000, CONCAT('name ', n)",
    "wide": f"n, REPEAT('x', {_WIDE_BYTES})",
}
_EVENT_BYTES_MAX = {"deep": 8192, "wide": 2 * EVENT_BYTES}

_SCHEMA = (
    f"CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'",
    f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {USER}",
    f"GRANT SELECT ON {DATABASE}.* TO {USER}",
    f"CREATE DATABASE {DATABASE}",
    f"CREATE TABLE {DATABASE}.digit (d INT PRIMARY KEY)",
    f"CREATE TABLE {DATABASE}.deep (id INT PRIMARY KEY, a INT NOT NULL, b VARCHAR(20) NOT NULL)",
    f"CREATE TABLE {DATABASE}.wide (id INT PRIMARY KEY, t VARBINARY({_WIDE_BYTES}) NOT NULL)",
    f"INSERT INTO {DATABASE}.digit VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
)


def measure_large(home: Home, compiled: Literal["require", "off"]) -> dict[str, Any]:
    """Return the peak memory of each kind; raises RunFailed."""
    rows = max(_DIGITS, int(ROWS * home.scale))
    event_rows = max(_DIGITS, int(EVENT_BYTES * home.scale) // _WIDE_ROW_BYTES)
    figures: dict[str, Any] = {"compiled": compiled == "require"}
    for table, count in (("deep", rows), ("wide", event_rows)):
        with _servers(home, _EVENT_BYTES_MAX[table]) as servers:
            file = servers.newest_file()
            say(f"large: {count} rows into {table}")
            _fill(servers, table, count)
            figures[table] = _measure(servers, table, file, count, compiled)
            figures[table]["event_mb"] = _largest_event_mb(servers, file)
    return figures


def _fill(servers: Stack, table: str, count: int) -> None:
    """Write `count` rows in one transaction."""
    digits = range(len(str(count - 1)))
    number = " + ".join(f"d{digit}.d * {10**digit}" for digit in digits)
    joined = ", ".join(f"{DATABASE}.digit d{digit}" for digit in digits)
    with session(servers.source) as connection:
        connection.execute(
            f"INSERT INTO {DATABASE}.{table} SELECT {_COLUMNS[table]} FROM "
            f"(SELECT {number} AS n FROM {joined}) numbers WHERE n < {count}"
        )


def _measure(
    servers: Stack, table: str, file: str, count: int, compiled: Literal["require", "off"]
) -> dict[str, Any]:
    connector = OurConnector(servers, f"large_{table}", DATABASE, compiled)
    topics = Topics(servers.bootstrap, connector.topics([f"{DATABASE}.{table}"]))
    try:
        connector.start(file)
        samples = watch(connector, topics, count, LIMIT_S)
    finally:
        connector.stop()
        topics.close()
    return {
        "rows": count,
        "seconds": samples[-1].at - samples[0].at,
        "peak_mb": samples[-1].usage.peak_mb,
    }


def _largest_event_mb(servers: Stack, file: str) -> float:
    with session(servers.source) as connection:
        events = connection.rows(f"SHOW BINLOG EVENTS IN '{file}' LIMIT 1000")
    return max(int(str(event[4])) - int(str(event[1])) for event in events) / 2**20


@contextmanager
def _servers(home: Home, event_bytes_max: int) -> Iterator[Stack]:
    """Start a source that writes events of that size, and a broker; both begin empty."""
    folders = [home.folder("large-source"), home.folder("broker")]
    for folder in folders:
        shutil.rmtree(folder)
    settings = SETTINGS | {
        "binlog_row_event_max_size": str(event_bytes_max),
        "max_binlog_cache_size": str(16 * EVENT_BYTES),
        "max_binlog_size": "1G",
    }
    source = MysqlServer(folders[0], version=VERSION, settings=settings)
    kafka = KafkaBroker(
        folders[1], settings=BROKER_SETTINGS, memory=BROKER_MEMORY, cache=home.cache
    )
    with source, kafka:
        with session(source.endpoint) as connection:
            connection.execute(*_SCHEMA)
        yield Stack(home, source, kafka)
    for folder in folders:
        shutil.rmtree(folder)
