"""A server and its account to findings: each needed setting and grant, and what fixes it.

Asked before every run, so that a pipeline refuses at once and in words, instead of meeting a row
it cannot read in the middle of the night. A setting is an error where going on would lose or
misread changes, and a warning where it would only make life harder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.errors import SourceRefused
from connector.source.checks.finding import Finding, Severity, check_setting, set_global, set_verb
from connector.source.checks.grants import check_grants
from connector.source.server.binary_logs import (
    RDS_RETENTION,
    binary_log_status,
    retention,
    set_rds_retention,
)
from connector.source.server.topology import replicates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.settings.sections import SourceSettings
    from connector.source.server.mysql_server import MysqlServer

_DAY_SECONDS = 86_400


def check_source(server: MysqlServer, settings: SourceSettings) -> list[Finding]:
    """Return a finding for everything that a source needs, good ones included.

    Raises SourceUnavailable when the connection breaks.
    """
    mariadb = server.identity.flavour == "mariadb"
    grants = list(check_grants(server, settings))
    return [
        *_check_server_id(server, settings),
        *_check_rows(server),
        *(_check_mariadb(server) if mariadb else _check_mysql(server)),
        *_check_keeping(server),
        *grants,
        # Without the grants the question is an error, and they are missing above.
        *(_check_what_is_logged(server) if all(grant.ok for grant in grants) else ()),
    ]


def require(findings: list[Finding], place: str = "source") -> None:
    """Let a source pass whose findings hold no error.

    Raises SourceRefused with one line for each error; `place` begins the text.
    """
    errors = [f for f in findings if not f.ok and f.severity is Severity.ERROR]
    if errors:
        lines = [f"{place}: the server cannot be followed as it is set up:", *map(str, errors)]
        raise SourceRefused("\n  ".join(lines))


def _check_server_id(server: MysqlServer, settings: SourceSettings) -> Iterator[Finding]:
    own = server.identity.server_id
    yield Finding(
        "server_id",
        str(own),
        "not 0",
        own != 0,
        set_global(server, "server_id", "1"),
        Severity.ERROR,
    )
    yield Finding(
        "source.server_id",
        str(settings.server_id),
        f"not the server's own, {own}",
        settings.server_id != own,
        "give source.server_id another number, unique among all replicas of this server",
        Severity.ERROR,
    )


def _check_rows(server: MysqlServer) -> Iterator[Finding]:
    """Check that every change is written, as rows, whole and with names."""
    yield check_setting(
        server, "log_bin", "ON", fix="start the server with log_bin = binlog in its option file"
    )
    yield check_setting(
        server,
        "binlog_format",
        "ROW",
        fix=set_global(server, "binlog_format", "ROW")
        + "; sessions that are open keep the old format until they reconnect",
        # It is to go in a future version: then rows are all there is.
        absent_is_good=True,
    )
    yield check_setting(server, "binlog_row_image", "FULL")
    # Without it the columns are asked for: see `envelope.anchored_tables`.
    metadata_fix = set_global(server, "binlog_row_metadata", "FULL")
    if server.variable("binlog_row_metadata") is None:
        metadata_fix = (
            "upgrade: rows carry column names from MySQL 8.0.1 and MariaDB 10.5 on, and this is "
            f"{server.identity.version}"
        )
    yield check_setting(
        server,
        "binlog_row_metadata",
        "FULL",
        fix=metadata_fix
        + "; until then the columns are read from information_schema, which takes GRANT SELECT on "
        "the tables, and a table that is changed while the pipeline stands still is copied anew",
        severity=Severity.WARNING,
    )


def _check_mysql(server: MysqlServer) -> Iterator[Finding]:
    verb = set_verb(server)
    steps = [
        f"SET {verb} enforce_gtid_consistency = ON",
        *(f"SET {verb} gtid_mode = {mode}" for mode in ("OFF_PERMISSIVE", "ON_PERMISSIVE", "ON")),
    ]
    how = "; ".join(steps) + "; without GTIDs the pipeline cannot follow a failover"
    yield check_setting(
        server, "enforce_gtid_consistency", "ON", fix=steps[0], severity=Severity.WARNING
    )
    yield check_setting(server, "gtid_mode", "ON", fix=how, severity=Severity.WARNING)


def _check_mariadb(server: MysqlServer) -> Iterator[Finding]:
    yield check_setting(server, "gtid_strict_mode", "ON", severity=Severity.WARNING)
    yield check_setting(
        server,
        "mysql56_temporal_format",
        "ON",
        fix=set_global(server, "mysql56_temporal_format", "ON")
        + "; the log does not tell the digits after the second of columns in the older format: "
        "rebuild tables that have such columns with ALTER TABLE ... FORCE",
        severity=Severity.WARNING,
    )


def _check_what_is_logged(server: MysqlServer) -> Iterator[Finding]:
    yield from _check_filters(server)
    yield from _check_replica(server)


def _check_replica(server: MysqlServer) -> Iterator[Finding]:
    """Check that a replica logs what it receives; nothing asks for it where nothing is received."""
    # MySQL 8.0.26 renamed log_slave_updates; it is off by default in MariaDB and before 8.0.
    name = "log_replica_updates"
    if server.variable(name) is None:
        name = "log_slave_updates"
    if replicates(server):
        yield check_setting(
            server,
            name,
            "ON",
            fix=f"start the server with {name} = ON in its option file: what it receives from its "
            "source is else not in its log",
        )


def _check_keeping(server: MysqlServer) -> Iterator[Finding]:
    """Check that damage shows, and that logs are kept for a while."""
    yield check_setting(server, "binlog_checksum", "CRC32", severity=Severity.WARNING)
    name, seconds = retention(server)
    yield Finding(
        name,
        "for ever" if not seconds else f"{seconds} seconds",
        f"{_DAY_SECONDS} seconds or more",
        not seconds or seconds >= _DAY_SECONDS,
        _longer(server, name) + "; a pipeline that stands still for longer has to start over",
        Severity.WARNING,
    )


def _longer(server: MysqlServer, name: str) -> str:
    """Return the statement that keeps logs for a week."""
    if name == RDS_RETENTION:
        return set_rds_retention("168")
    return set_global(server, name, "7" if name == "expire_logs_days" else "604800")


def _check_filters(server: MysqlServer) -> Iterator[Finding]:
    """Check that the changes of no database stay out of the log."""
    status = binary_log_status(server) or {}
    for option, column in (
        ("binlog_do_db", "Binlog_Do_DB"),
        ("binlog_ignore_db", "Binlog_Ignore_DB"),
    ):
        value = str(status.get(column, ""))
        yield Finding(
            option,
            value or "''",
            "''",
            not value,
            f"remove {option} from the server's option file, and restart it: changes that this "
            "keeps out of the log are never seen",
            Severity.WARNING,
        )
