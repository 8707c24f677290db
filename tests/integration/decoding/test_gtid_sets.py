"""The server itself says what GTID_SUBSET and GTID_SUBTRACT are."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connector.binlog.gtid import Gtid, GtidSet, MariadbGtidSet
from local_stack import MariadbServer, MysqlServer, connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pymysql.cursors import Cursor

pytestmark = pytest.mark.server

UUIDS = [
    UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562"),
    UUID("a09129d9-0728-11e9-aa93-d227f810ba81"),
]


def set_of(gtids: set[Gtid]) -> GtidSet:
    result = GtidSet()
    for gtid in gtids:
        result.add(gtid)
    return result


def gtid_sets(*tags: str) -> st.SearchStrategy[GtidSet]:
    gtids = st.builds(Gtid, st.sampled_from(UUIDS), st.integers(1, 25), st.sampled_from(tags))
    return st.sets(gtids, max_size=30).map(set_of)


@pytest.fixture(scope="module")
def cursor(mysql_server: MysqlServer) -> Iterator[Cursor]:
    with connect(mysql_server.endpoint) as connection, connection.cursor() as cursor:
        yield cursor


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gtid_sets(""), gtid_sets(""))
def test_the_algebra_is_the_servers(cursor: Cursor, left: GtidSet, right: GtidSet) -> None:
    compare_with_server(cursor, left, right)


@pytest.fixture(scope="module")
def tagging(mysql_9: MysqlServer) -> Iterator[Cursor]:
    """A session on a server that knows tags."""
    with connect(mysql_9.endpoint) as connection, connection.cursor() as cursor:
        yield cursor


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gtid_sets("", "nightly", "_"), gtid_sets("", "nightly", "_"))
def test_the_algebra_of_tagged_sets_is_the_servers(
    tagging: Cursor, left: GtidSet, right: GtidSet
) -> None:
    compare_with_server(tagging, left, right)


def compare_with_server(cursor: Cursor, left: GtidSet, right: GtidSet) -> None:
    sql = (
        "SELECT GTID_SUBSET(%s, %s), GTID_SUBTRACT(%s, %s), GTID_SUBTRACT(CONCAT(%s, ',', %s), '')"
    )
    a, b = str(left), str(right)
    cursor.execute(sql, (a, b, a, b, a, b))
    row = cursor.fetchone()
    assert row is not None
    subset, difference, union = row
    assert (left <= right) is bool(subset)
    # The server breaks lines behind the commas.
    assert str(left - right) == difference.replace("\n", "")
    assert str(left | right) == union.replace("\n", "")


def test_a_position_after_two_others_is_the_servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """`gtid_current_pos` is the union of what the server wrote and what it replicated."""
    # Strict mode refuses a replicated position behind the binlog's.
    loose = {"gtid_strict_mode": "OFF"}
    with (
        MariadbServer(tmp_path_factory.mktemp("positions"), settings=loose) as server,
        connect(server.endpoint) as connection,
        connection.cursor() as cursor,
    ):
        for domain_id in (0, 3, 5):
            cursor.execute(f"SET gtid_domain_id = {domain_id}")
            for number in range(4):
                cursor.execute(f"CREATE DATABASE d{domain_id}_{number}")
        for replicated in ("", "0-1-2,3-1-9", "7-2-1", "0-2-100,3-1-1,5-1-4,7-2-1"):
            cursor.execute("SET GLOBAL gtid_slave_pos = %s", (replicated,))
            cursor.execute(
                "SELECT @@gtid_binlog_pos, @@GLOBAL.gtid_slave_pos, @@GLOBAL.gtid_current_pos"
            )
            row = cursor.fetchone()
            assert row is not None
            written, received, current = map(MariadbGtidSet.parse, row)
            assert written | received == current
            assert not (written | received) - current
