"""Many small tables: a source, topics and a mirror that hold all of them.

The connector copies N tables of 50 rows, and the Spark job mirrors them. The servers' folders and
the mirror stay in the cache, so the next run begins with what it measures.
"""

from __future__ import annotations

import random
import shutil
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.connectors import OurConnector
from benchmarks.mirror_jobs import MirrorJob
from benchmarks.process import RunFailed, say
from benchmarks.stack import ACCOUNT, BROKER_MEMORY, BROKER_SETTINGS, Stack
from benchmarks.workload.session import session
from local_stack import KafkaBroker, MysqlServer

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Literal

    from benchmarks.home import Home

ROWS: Final = 50
DATABASE: Final = "many"
PREFIX: Final = "many"
MAX_OFFSETS: Final = 1_000_000
_SOURCE_SETTINGS: Final = {"innodb_buffer_pool_size": "512M", "table_open_cache": "4000"}
# A log segment of each topic is allocated at once.
_SMALL_SEGMENTS: Final = {"log.index.size.max.bytes": "65536"}
ONE_PARTITION: Final = "partitions = 1\n"
_WAIT_S: Final = 3600.0
# A version of a Delta table: the one before makes the table.
_FIRST_ROWS: Final = f"{1:020}.json"
_COLUMNS: Final = (
    "id INT PRIMARY KEY AUTO_INCREMENT, customer BIGINT NOT NULL, price DECIMAL(12,2), "
    "name VARCHAR(60), ordered DATETIME, state ENUM('new','paid','sent')"
)
_NAMES: Final = "customer, price, name, ordered, state"
_VALUES: Final = (
    "FLOOR(RAND()*1e9), RAND()*10000, CONCAT('name ', FLOOR(RAND()*1e6)), "
    "'2026-01-01' + INTERVAL RAND()*3e7 SECOND, 1 + FLOOR(RAND()*3)"
)
# Statements in one packet at most.
_PACKET: Final = 5
_US: Final = 1e6


class Load(NamedTuple):
    """What changes while something is measured."""

    changes_per_s: int
    tables: int


class MirroredTables(NamedTuple):
    """The programs that keep the tables, with their folder."""

    folder: Path
    stack: Stack
    connector: OurConnector
    job: MirrorJob


@contextmanager
def mirrored_tables(
    home: Home, count: int, compiled: Literal["require", "off"]
) -> Iterator[MirroredTables]:
    """Run the servers of `count` tables and the connector; all of them have a mirror.

    Raises RunFailed if one does not get a mirror.
    """
    folder = home.folder("verify-many") / str(count)
    made = folder / "made"
    if not made.exists():
        shutil.rmtree(folder, ignore_errors=True)
    with servers_of_many(home, folder) as stack:
        connector = OurConnector(stack, PREFIX, DATABASE, compiled, ONE_PARTITION)
        job = MirrorJob(folder, "ours", stack.bootstrap, PREFIX)
        if not made.exists():
            fill_small_tables(stack, count)
        connector.copy(f"{DATABASE}.*")
        try:
            _mirror_all(job, count)
            made.touch()
            yield MirroredTables(folder, stack, connector, job)
        finally:
            connector.stop()


@contextmanager
def servers_of_many(home: Home, folder: Path) -> Iterator[Stack]:
    """Run a source and a broker that can hold thousands of tables, with their data in `folder`."""
    broker = KafkaBroker(
        folder / "broker",
        settings=BROKER_SETTINGS | _SMALL_SEGMENTS,
        memory=BROKER_MEMORY,
        cache=home.cache,
    )
    mysql = MysqlServer(folder / "source", settings=_SOURCE_SETTINGS, cache=home.cache)
    with broker, mysql:
        yield Stack(home, mysql, broker)


def _mirror_all(job: MirrorJob, count: int) -> None:
    """Run the job until each table has a mirror, which has all changes of earlier runs."""
    deadline = time.monotonic() + _WAIT_S
    mirrored = -1
    while mirrored < count:
        if time.monotonic() > deadline:
            reason = f"{mirrored} of {count} tables had a mirror after {_WAIT_S:g} s"
            raise RunFailed(reason)
        try:
            job.run(MAX_OFFSETS, _WAIT_S)
        except RunFailed:
            # Before the first topic is there.
            time.sleep(1)
        mirrored = sum(1 for _ in job.mirror.glob(f"{DATABASE}/*/_delta_log/{_FIRST_ROWS}"))
        say(f"{mirrored} of {count} tables have a mirror")


def fill_small_tables(stack: Stack, count: int) -> None:
    """Make the account of connectors, and tables, without a record in the log."""
    say(f"{count} tables of {ROWS} rows")
    with session(stack.source) as connection:
        connection.execute(
            "SET sql_log_bin = 0",
            *ACCOUNT,
            f"CREATE DATABASE {DATABASE}",
            f"USE {DATABASE}",
            "CREATE TABLE mysql.numbers (n INT PRIMARY KEY)",
            f"INSERT INTO mysql.numbers VALUES {', '.join(f'({n})' for n in range(ROWS))}",
        )
        for number in range(count):
            connection.execute(
                f"CREATE TABLE {table_name(number)} ({_COLUMNS}) DEFAULT CHARSET utf8mb4",
                f"INSERT INTO {table_name(number)} ({_NAMES}) SELECT {_VALUES} FROM mysql.numbers",
            )


def change_small_tables(stack: Stack, count: int, load: Load, ended: threading.Event) -> None:
    """Update rows of `load.tables` of the tables at an even rate, until the end.

    Each row gets the time just before its statement was sent, in µs, as `customer`.
    """
    dice = random.Random(5)
    began, sent = time.monotonic(), 0
    with session(stack.source) as connection:
        connection.execute(f"USE {DATABASE}")
        while not ended.is_set():
            due = int((time.monotonic() - began) * load.changes_per_s) + 1 - sent
            if due > 0:
                connection.execute(*(_update(dice, count, load) for _ in range(min(_PACKET, due))))
                sent += min(_PACKET, due)
            ended.wait(max(0.0, began + sent / load.changes_per_s - time.monotonic()))
    say(f"{sent / (time.monotonic() - began):.0f} changes a second")


def change_once(stack: Stack) -> int:
    """Update a row of the first table, and return its new value: the time, in µs."""
    at = int(time.time() * _US)
    with session(stack.source) as connection:
        connection.execute(f"UPDATE {DATABASE}.{table_name(0)} SET customer = {at} WHERE id = 1")
    return at


def _update(dice: random.Random, count: int, load: Load) -> str:
    name = table_name(dice.randrange(load.tables) * count // load.tables)
    at = int(time.time() * _US)
    return f"UPDATE {name} SET customer = {at} WHERE id = {dice.randrange(ROWS) + 1}"


def table_name(number: int) -> str:
    """Return the name of a table."""
    return f"t{number:05d}"
