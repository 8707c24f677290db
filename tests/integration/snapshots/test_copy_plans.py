"""How a table is parted, and how many rows it is said to have, on real servers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import ConfigError
from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.envelope import record_errors
from connector.stream.snapshot.jobs import PlanJob
from connector.stream.snapshot.table_plan import plan
from connector.stream.source import table_errors
from connector.stream.source.select_session import SelectSession
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from connector.stream.snapshot.jobs import TablePlan
    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

ROWS = 4000
SETTINGS = SnapshotSettings(connections=2, chunk_rows=250)
# From so many rows on, a table is parted.
PARTED_ROWS = 4 * SETTINGS.connections * SETTINGS.chunk_rows


def planned(source: Source, schema: str, where: str = "") -> TablePlan:
    settings = source.settings(user=source.create_account("SELECT, REPLICATION CLIENT"))
    with SelectSession(settings) as session:
        return plan(session, PlanJob(1, schema, "t", where), SETTINGS)


def insert(source: Source, schema: str, first: int, count: int) -> None:
    values = ", ".join(f"({number}, 0)" for number in range(first, first + count))
    source.execute(f"INSERT INTO {schema}.t VALUES {values}")


def test_the_number_of_rows_is_not_that_of_yesterday(source: Source, schema: str) -> None:
    source.execute(f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, n INT)")
    # The server keeps what it says from here on, where it keeps it.
    source.execute(
        f"SELECT table_rows FROM information_schema.tables WHERE table_schema='{schema}'"
    )
    assert planned(source, schema).estimated_rows == 0
    insert(source, schema, 0, ROWS)
    now = planned(source, schema)
    assert 0.5 * ROWS < now.estimated_rows < 1.5 * ROWS
    borders = ["", "1000", "2000", "3000", ""]
    assert [(part.low, part.high) for part in now.ranges] == [*pairwise(borders)]


def test_a_table_is_parted_whatever_the_statistics_say(source: Source, schema: str) -> None:
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, n INT) "
        "STATS_PERSISTENT=1, STATS_AUTO_RECALC=0"
    )
    insert(source, schema, 0, ROWS)
    source.execute(
        "UPDATE mysql.innodb_table_stats SET n_rows = 0 "
        f"WHERE database_name = '{schema}' AND table_name = 't'",
        f"FLUSH TABLE {schema}.t",
    )
    stale = planned(source, schema)
    assert stale.estimated_rows >= PARTED_ROWS
    assert 4 <= len(stale.ranges) <= 8


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        ("tenant INT, id INT, PRIMARY KEY (tenant, id)", "7, {n}"),
        ("id CHAR(36) PRIMARY KEY, n INT", "MD5({n}), {n}"),
        ("id BINARY(16) PRIMARY KEY, n INT", "UNHEX(MD5({n})), {n}"),
    ],
)
def test_a_table_with_any_key_is_parted(
    source: Source, schema: str, columns: str, value: str
) -> None:
    """Also if all keys begin with the same value."""
    source.execute(f"CREATE TABLE {schema}.t ({columns})")
    values = ", ".join(f"({value.format(n=number)})" for number in range(ROWS))
    source.execute(f"INSERT INTO {schema}.t VALUES {values}", f"ANALYZE TABLE {schema}.t")
    ranges = planned(source, schema).ranges
    assert 4 <= len(ranges) <= 16
    assert [part.high for part in ranges[:-1]] == [part.low for part in ranges[1:]]


@pytest.mark.parametrize(("rows", "parts"), [(PARTED_ROWS - 1, 1), (PARTED_ROWS, 4)])
def test_a_small_table_is_read_in_one_part(
    source: Source, schema: str, rows: int, parts: int
) -> None:
    source.execute(
        f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, n INT) "
        "STATS_PERSISTENT=1, STATS_AUTO_RECALC=0"
    )
    insert(source, schema, 0, rows)
    source.execute(f"ANALYZE TABLE {schema}.t")
    assert len(planned(source, schema).ranges) == parts


def test_a_condition_is_one_of_the_table(source: Source, schema: str) -> None:
    source.execute(f"CREATE TABLE {schema}.t (id INT PRIMARY KEY, N INT)")
    assert planned(source, schema, "n = 1 OR t.ID < 5").condition == "((`N` = 1) OR (`id` < 5))"
    with pytest.raises(ConfigError) as raised:
        planned(source, schema, "user = 1")
    assert raised.value.text == text_of(
        record_errors.IN_COPY,
        table=f"{schema}.t",
        why=text_of(table_errors.CONDITION_NO_COLUMN, table=f"{schema}.t", column="user"),
    )
