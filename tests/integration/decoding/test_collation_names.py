"""Names of collations, compared with the servers' own lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.character_sets import collation_name
from local_stack import connect

if TYPE_CHECKING:
    from local_stack import Endpoint, MariadbServer, MysqlServer

pytestmark = pytest.mark.server


def collations(endpoint: Endpoint, table: str, name: str) -> dict[int, str]:
    with connect(endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT ID, {name} FROM information_schema.{table} WHERE ID IS NOT NULL")
        return dict(cursor.fetchall())


def test_every_collation_of_mysql_has_its_name(mysql_server: MysqlServer) -> None:
    names = collations(mysql_server.endpoint, "COLLATIONS", "COLLATION_NAME")
    assert {number: collation_name(number) for number in names} == names
    assert all(collation_name(number) is None for number in range(328) if number not in names)


def test_every_collation_of_mariadb_has_its_name(mariadb_server: MariadbServer) -> None:
    names = collations(
        mariadb_server.endpoint, "COLLATION_CHARACTER_SET_APPLICABILITY", "FULL_COLLATION_NAME"
    )
    assert len(names) > 1000
    assert {number: collation_name(number, mariadb=True) for number in names} == names
