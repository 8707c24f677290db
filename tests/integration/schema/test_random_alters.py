"""Random ALTER TABLE: consumers have the server's rows, or the table is copied again."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from pymysql.err import MySQLError

from tests.integration.schema.altered_tables import AlteredTable, altered_table
from tests.integration.schema.random_alters import RandomAlters
from tests.length import full_only, length

if TYPE_CHECKING:
    from local_stack import Server

pytestmark = [pytest.mark.server, pytest.mark.timeout(1_200)]

SEEDS = length(short=34, full=500)
ALTERS = 8


@pytest.mark.parametrize(
    "server_name",
    ["mysql_server", pytest.param("mysql_9", marks=full_only), "mariadb_server"],
    ids=["mysql-8.0", "mysql-9", "mariadb"],
)
def test_a_table_that_is_not_copied_has_the_rows_of_the_server(
    server_name: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(server_name)
    kept = copied = 0
    for seed in range(SEEDS):
        with altered_table(server) as table:
            for was_copied in _play(table, Random(seed), seed):
                copied += was_copied
                kept += not was_copied
    # Neither verdict is the only one.
    assert min(kept, copied) > SEEDS


def _play(table: AlteredTable, random: Random, seed: int) -> list[bool]:
    """Return of each comparison whether the table was copied in front of it."""
    alters = RandomAlters(random)
    copies: list[bool] = []
    told: list[str] = [alters.table()]
    resyncs = _try(table, told[0]) or []
    for _ in range(ALTERS):
        if random.random() < 0.6:
            table.mode("")
            told.append(alters.row())
            resyncs += _try(table, told[-1]) or []
        mode = alters.mode()
        table.mode(mode)
        statement, columns = alters.alter()
        found = _try(table, statement)
        if found is None:
            continue
        told.append(f"[{mode}] {statement}")
        alters.altered(columns)
        resyncs += found
        if random.random() < 0.5:
            more, differences = table.differences()
            resyncs += more
            assert resyncs or not differences, (seed, told, differences)
            copies.append(bool(resyncs))
            if resyncs:
                table.copy()
            resyncs = []
    return copies


def _try(table: AlteredTable, statement: str) -> list[str] | None:
    """Run a statement; None if the server refuses it."""
    try:
        return table.run(statement)
    except MySQLError:
        return None
