"""A killed MariaDB's XA transactions end as its log says, and without a word in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local_stack import MariadbServer
from tests.chaos.replication import ask
from tests.chaos.xa import finish_recovery, prepared, roll_back_prepared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local_stack import Endpoint

_NOT_LOGGED = "SET SESSION sql_log_bin = 0"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MariadbServer]:
    server = MariadbServer(tmp_path)
    ask(server.start(), "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
    yield server
    server.stop()


def _prepared(name: str, row: int) -> tuple[str, ...]:
    """Return the statements of a transaction that inserts a row, up to XA PREPARE."""
    insert = f"INSERT INTO d.t VALUES ({row})"
    return f"XA START '{name}'", insert, f"XA END '{name}'", f"XA PREPARE '{name}'"


def _rows_and_gtids(server: Endpoint) -> tuple[list[int], str]:
    rows = ask(server, "SELECT id FROM d.t ORDER BY id")
    (row_of_gtids,) = ask(server, "SELECT @@GLOBAL.gtid_binlog_pos AS gtids")
    return [int(row["id"]) for row in rows], str(row_of_gtids["gtids"])


@pytest.mark.server
def test_what_recovery_has_left_prepared_ends_as_the_log_says(server: MariadbServer) -> None:
    endpoint = server.endpoint
    # Names whose end is in the log, and which the engine has prepared all the same.
    for name, row, end in (("committed", 1, "COMMIT"), ("rolled back", 2, "ROLLBACK")):
        ask(endpoint, *_prepared(name, row), f"XA {end} '{name}'")
        ask(endpoint, _NOT_LOGGED, *_prepared(name, 10 * row))
    ask(endpoint, _NOT_LOGGED, *_prepared("unknown", 30))
    ask(endpoint, *_prepared("open", 40))
    _, gtids = _rows_and_gtids(endpoint)
    server.kill()
    endpoint = server.start()

    done = finish_recovery(endpoint)

    assert set(done) == {
        "XA COMMIT 'committed'",
        "XA ROLLBACK 'rolled back'",
        "XA ROLLBACK 'unknown'",
    }
    assert prepared(endpoint) == ["open"]
    assert _rows_and_gtids(endpoint) == ([1, 10], gtids)


@pytest.mark.server
def test_what_writers_have_left_prepared_is_rolled_back_in_the_log(server: MariadbServer) -> None:
    endpoint = server.endpoint
    ask(endpoint, *_prepared("w1-7", 1))
    _, gtids = _rows_and_gtids(endpoint)

    roll_back_prepared(endpoint)

    assert prepared(endpoint) == []
    rows, later = _rows_and_gtids(endpoint)
    assert rows == []
    assert later != gtids
