"""How long Amazon RDS keeps its logs, by a table like the one that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.replication.server.mysql_server import MysqlServer
from connector.replication.server.replication_status import retention
from connector.stream.metrics.source_watch import read_source_log
from tests.integration.source_server import LEAST_GRANTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

TABLE = (
    "CREATE TABLE mysql.rds_configuration (name VARCHAR(100) NOT NULL PRIMARY KEY, "
    "value VARCHAR(1000) DEFAULT NULL, description VARCHAR(300) NOT NULL)"
)
HOUR = 3600


@pytest.fixture
def rds(source: Source) -> Iterator[Source]:
    source.execute(TABLE, "INSERT INTO mysql.rds_configuration VALUES ('target delay', '0', '')")
    yield source
    source.execute("DROP TABLE mysql.rds_configuration")


def keep(rds: Source, hours: str) -> None:
    rds.execute(
        f"REPLACE INTO mysql.rds_configuration VALUES ('binlog retention hours', {hours}, '')"
    )


def test_the_hours_of_the_table_are_the_retention(rds: Source) -> None:
    rds.execute(f"GRANT SELECT ON mysql.rds_configuration TO {rds.user}@'%'")
    with MysqlServer.connect(rds.settings()) as server:
        usual = retention(server)
        assert usual[0] != "binlog retention hours"
        keep(rds, "'36'")
        assert retention(server) == ("binlog retention hours", 36 * HOUR)
        log = read_source_log(server)
        assert (log.retention_setting, log.retention_seconds) == (
            "binlog retention hours",
            36 * HOUR,
        )
        # Without hours, RDS drops logs as soon as it can.
        keep(rds, "NULL")
        assert retention(server) == ("binlog retention hours", 300)
        keep(rds, "'many'")
        assert retention(server) == usual


def test_without_the_table_or_rights_on_it_the_variables_are_the_retention(rds: Source) -> None:
    keep(rds, "'36'")
    user = rds.create_account(LEAST_GRANTS)
    with MysqlServer.connect(rds.settings(user=user)) as server:
        assert retention(server)[0] != "binlog retention hours"
        rds.execute(f"GRANT SELECT (name) ON mysql.rds_configuration TO {user}@'%'")
        assert retention(server)[0] != "binlog retention hours"


def test_a_server_that_has_no_such_table_is_asked_for_its_variables(source: Source) -> None:
    with MysqlServer.connect(source.settings()) as server:
        assert retention(server)[0] in ("binlog_expire_logs_seconds", "expire_logs_days")
