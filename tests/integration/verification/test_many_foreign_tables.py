"""Many tables of other programs are compared at once, while all of them change."""

from __future__ import annotations

import itertools
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from connector.replication.server.addresses import source_settings
from local_stack import connect
from verification.foreign import shared_log
from verification.foreign.foreign_check import ForeignLimits
from verification.foreign.run import verify_tables
from verification.foreign.shared_log import log_since
from verification.foreign.table_choice import read_choice
from verification.run_progress import RunProgress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from connector.replication.start_point import StartPoint
    from local_stack import Endpoint, MysqlServer
    from verification.foreign.source_server import SourceServer

pytestmark = pytest.mark.server

TABLES = [f"t{number:02d}" for number in range(40)]
ROWS = 20
Rows = list[tuple[int, str]]


def fill(endpoint: Endpoint, database: str) -> None:
    values = ", ".join(f"({number}, 'first')" for number in range(ROWS))
    with connect(endpoint, database) as connection, connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, note VARCHAR(40))")
            cursor.execute(f"INSERT INTO {table} VALUES {values}")


def with_faults(table: str, rows: Rows) -> Rows:
    if table == "t05":
        return [*rows, (900, "nobody has written this row")]
    if table == "t06":
        return [(number, "another" if number == 7 else note) for number, note in rows]
    return rows


@contextmanager
def changing(endpoint: Endpoint, database: str, lake: Path) -> Iterator[None]:
    """Change rows of all tables all the time, and write one table of the lake after the other."""
    ended = threading.Event()

    def change() -> None:
        with connect(endpoint, database) as connection, connection.cursor() as cursor:
            for number in itertools.count():
                if ended.wait(0.003):
                    return
                table = TABLES[number % len(TABLES)]
                cursor.execute(f"UPDATE {table} SET note = UUID() WHERE id = {number % ROWS}")

    def copy(*, once: bool = False) -> None:
        with connect(endpoint, database) as connection, connection.cursor() as cursor:
            for table in TABLES if once else itertools.cycle(TABLES):
                if ended.is_set():
                    return
                cursor.execute(f"SELECT id, note FROM {table}")
                rows = with_faults(table, list(cursor.fetchall()))
                ids, notes = zip(*rows, strict=True)
                data = pa.table({"id": pa.array(ids, pa.int64()), "note": notes})
                write_deltalake(lake / table, data, mode="overwrite")

    copy(once=True)
    threads = [threading.Thread(target=each) for each in (change, copy)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_many_tables_share_the_log_and_what_differs_is_found(
    mysql_server: MysqlServer, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = mysql_server.endpoint
    fill(endpoint, database)
    searches = []

    def counted(server: SourceServer, since: float) -> tuple[StartPoint, int]:
        searches.append(since)
        return log_since(server, since)

    monkeypatch.setattr(shared_log, "log_since", counted)
    url = f"mysql://{endpoint.user}:{endpoint.password}@{endpoint.host}:{endpoint.port}"
    choices = [read_choice(f"{database}.*=delta:{tmp_path}/{{table}}")]
    progress = RunProgress()
    with changing(endpoint, database, tmp_path):
        limits = ForeignLimits(40.0, pace="full")
        found = verify_tables(source_settings(url), choices, limits, progress)
    assert [result.name for result in found] == [f"{database}.{table}" for table in TABLES]
    wrong = {
        result.name: [(each.kind, each.key["id"]) for each in result.differences]
        for result in found
        if result.verdict != "equal"
    }
    assert wrong == {f"{database}.t05": [("surplus", 900)], f"{database}.t06": [("different", 7)]}
    equal = [result for result in found if result.verdict == "equal"]
    assert all(result.equal_through is not None for result in equal)
    assert sum(result.lagging_rows for result in equal) > 0
    # Most tables have needed the log.
    assert len(searches) == 1
    figures = progress.figures()
    assert (figures.tables, figures.ended) == (len(TABLES), len(TABLES))
    assert figures.rows >= 2 * ROWS * len(TABLES)
