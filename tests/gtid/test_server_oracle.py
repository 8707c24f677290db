"""The server itself says what GTID_SUBSET and GTID_SUBTRACT are."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connector.gtid import Gtid, GtidSet
from local_stack import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pymysql.cursors import Cursor

    from local_stack import MysqlServer

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


gtid_sets = st.sets(st.builds(Gtid, st.sampled_from(UUIDS), st.integers(1, 25)), max_size=30).map(
    set_of
)


@pytest.fixture(scope="module")
def cursor(mysql_server: MysqlServer) -> Iterator[Cursor]:
    with connect(mysql_server.endpoint) as connection, connection.cursor() as cursor:
        yield cursor


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gtid_sets, gtid_sets)
def test_the_algebra_is_the_servers(cursor: Cursor, left: GtidSet, right: GtidSet) -> None:
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
