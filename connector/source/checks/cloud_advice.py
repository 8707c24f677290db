"""How a setting is changed where a service runs the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import source_cloud, source_setup
from connector.errors.message import Message
from connector.source.checks.finding import Finding, Severity
from connector.source.checks.grants import account_of
from connector.source.server.binary_logs import RDS_RETENTION, set_rds_retention
from connector.source.server.cloud import Cloud

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.errors.code import ErrorCode
    from connector.settings.sections import SourceSettings
    from connector.source.server.mysql_server import MysqlServer

_NO_LOG = {
    Cloud.RDS: source_cloud.RDS_LOG_BIN,
    Cloud.AURORA: source_cloud.AURORA_LOG_BIN,
    Cloud.CLOUD_SQL: source_cloud.CLOUD_SQL_LOG_BIN,
}


def no_log(cloud: Cloud | None) -> ErrorCode:
    """Return the code of a server without a binary log."""
    return source_setup.LOG_BIN if cloud is None else _NO_LOG.get(cloud, source_setup.LOG_BIN)


def check_reader(server: MysqlServer) -> Iterator[Finding]:
    """Check that an instance of Aurora is the one that writes: readers have no binary log."""
    if server.cloud is Cloud.AURORA:
        name, wanted = "innodb_read_only", "OFF"
        value = server.variable(name) or wanted
        problem = Message(
            source_cloud.AURORA_READER, {"name": name, "value": value, "wanted": wanted}
        )
        yield Finding(name, value, wanted, value == wanted, problem, Severity.ERROR)


def check_rds_retention(
    server: MysqlServer, settings: SourceSettings, known: str
) -> Iterator[Finding]:
    """Check that it can be read how long RDS keeps the log; `known` is what could be read.

    The variables of the server say nothing about it.
    """
    cloud = server.cloud
    if cloud is not None and cloud.has_rds_settings and known != RDS_RETENTION:
        name, value, wanted = RDS_RETENTION, "not readable", "24 or more"
        facts = {"name": name, "value": value, "wanted": wanted}
        facts |= {"account": account_of(server, settings), "how": set_rds_retention("168")}
        problem = Message(source_cloud.RDS_RETENTION_HIDDEN, facts)
        yield Finding(name, value, wanted, ok=False, problem=problem, severity=Severity.WARNING)
