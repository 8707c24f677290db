"""Checks a server and its account: each needed setting and grant, and how to fix it.

These checks come before every run. So a pipeline refuses at once, with a text, and does not fail
later at a row that it cannot read. A setting is an error if changes would be lost or misread, and
a warning if it only makes operation harder. Clouds have checks of their own, because their
customers change settings in another way. TLS and the statement of heartbeats are checked, too.
"""

from collections.abc import Iterator
from typing import Final

from connector.foundation.errors import SourceRefused
from connector.foundation.errors.code import ErrorCode
from connector.foundation.errors.message import Message
from connector.foundation.settings.sections import SourceSettings
from connector.foundation.settings.values import is_loopback
from connector.replication.server import replication_status
from connector.replication.server.identity import Cloud
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.source import findings, setup_errors

_NO_LOG_IN_CLOUD = {
    Cloud.RDS: setup_errors.RDS_LOG_BIN,
    Cloud.AURORA: setup_errors.AURORA_LOG_BIN,
    Cloud.CLOUD_SQL: setup_errors.CLOUD_SQL_LOG_BIN,
}


def no_log(cloud: Cloud | None) -> ErrorCode:
    """Return the code of a server without a binary log."""
    return (
        setup_errors.LOG_BIN if cloud is None else _NO_LOG_IN_CLOUD.get(cloud, setup_errors.LOG_BIN)
    )


def check_reader(server: MysqlServer) -> Iterator[findings.Finding]:
    """Check that an instance of Aurora is the one that writes: readers have no binary log."""
    if server.cloud is Cloud.AURORA:
        name, wanted = "innodb_read_only", "OFF"
        value = server.variable(name) or wanted
        code, severity = setup_errors.AURORA_READER, findings.Severity.ERROR
        yield findings.finding(code, name, value, wanted, ok=value == wanted, severity=severity)


def check_rds_retention(
    server: MysqlServer, settings: SourceSettings, known: str
) -> Iterator[findings.Finding]:
    """Check that it can be read how long RDS keeps the log; `known` is what could be read.

    The variables of the server say nothing about it.
    """
    cloud = server.cloud
    if cloud is not None and cloud.has_rds_settings and known != replication_status.RDS_RETENTION:
        yield findings.finding(
            setup_errors.RDS_RETENTION_HIDDEN,
            replication_status.RDS_RETENTION,
            "not readable",
            "24 or more",
            ok=False,
            account=findings.account_of(server, settings),
            how=replication_status.set_rds_retention("168"),
        )


_WANTED_TLS: Final = "verify_identity"
_UNPROTECTED_TLS: Final = {
    "disabled": setup_errors.NOT_ENCRYPTED,
    "preferred": setup_errors.PREFERRED_TLS,
    "required": setup_errors.UNVERIFIED_TLS,
}


def check_encryption(settings: SourceSettings) -> Iterator[findings.Finding]:
    """Yield the finding about `source.tls.mode`; none if the source is on this machine."""
    if is_loopback(settings.host):
        return
    mode = settings.tls.mode
    code = _UNPROTECTED_TLS.get(mode, setup_errors.UNVERIFIED_TLS)
    problem = Message(code, {"value": mode, "host": settings.host})
    ok = mode not in _UNPROTECTED_TLS
    yield findings.Finding(
        "source.tls.mode", mode, _WANTED_TLS, ok, problem, findings.Severity.WARNING
    )


_HEARTBEAT_STATEMENT: Final = "source.heartbeat_statement"
# ER_UNSUPPORTED_PS: only its execution tells whether the statement succeeds.
_NOT_PREPARED: Final = 1295


def check_heartbeat(server: MysqlServer, settings: SourceSettings) -> Iterator[findings.Finding]:
    """Yield the findings about `source.heartbeat_statement`; none without one.

    The server prepares the statement: that checks tables and rights, and executes nothing. Raises
    SourceUnavailable if the connection breaks.
    """
    if not settings.heartbeat_statement:
        return
    said = _heartbeat_refusal(server, settings.heartbeat_statement)
    yield findings.finding(
        setup_errors.HEARTBEAT_REFUSED,
        _HEARTBEAT_STATEMENT,
        "refused" if said else "accepted",
        "accepted",
        ok=not said,
        said=said,
        account=findings.account_of(server, settings),
    )
    code = setup_errors.HEARTBEAT_READ_ONLY
    yield findings.check_setting(
        server, "read_only", "OFF", code, severity=findings.Severity.WARNING
    )


def _heartbeat_refusal(server: MysqlServer, statement: str) -> str:
    """Return what the server says against the statement; "" if it would execute it."""
    try:
        server.query("PREPARE heartbeat FROM %s", (statement,))
    except SourceRefused as error:
        facts = error.message.facts
        return "" if facts["number"] == _NOT_PREPARED else str(facts["said"])
    server.query("DEALLOCATE PREPARE heartbeat")
    return ""


_HOUR_SECONDS = 3600
_DAY_SECONDS = 86_400


def check_source(server: MysqlServer, settings: SourceSettings) -> list[findings.Finding]:
    """Return a finding for each setting and grant that a source needs, also for good ones.

    Raises SourceUnavailable if the connection breaks.
    """
    with server.read_at_once(_VARIABLES):
        return _check(server, settings)


# What is read here, in one query: each other one would cost the server as much. `variable` asks for
# a name that is missing here.
_VARIABLES: Final = (
    *replication_status.RETENTION,
    "binlog_checksum",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_metadata",
    "enforce_gtid_consistency",
    "gtid_mode",
    "gtid_strict_mode",
    "log_bin",
    "log_replica_updates",
    "log_slave_updates",
    "mysql56_temporal_format",
    "read_only",
)


def _check(server: MysqlServer, settings: SourceSettings) -> list[findings.Finding]:
    mariadb = server.identity.flavour == "mariadb"
    grants = list(findings.check_grants(server, settings))
    granted = all(grant.ok for grant in grants)
    return [
        *_check_server_id(server, settings),
        *check_encryption(settings),
        *check_reader(server),
        *_check_rows(server),
        *(_check_mariadb(server) if mariadb else _check_mysql(server)),
        *_check_keeping(server, settings),
        *grants,
        *findings.check_lag(server, settings),
        *check_heartbeat(server, settings),
        # Without the grants the query is an error; a finding above already says that they are
        # missing.
        *((*_check_filters(server), *_check_replica(server)) if granted else ()),
    ]


def require(checks: list[findings.Finding], server_name: str = "source") -> None:
    """Check that no finding is an error.

    Raises SourceRefused with one line for each error; `server_name` begins the text.
    """
    errors = [f for f in checks if not f.ok and f.severity is findings.Severity.ERROR]
    if errors:
        problems = [error.problem for error in errors]
        raise SourceRefused(setup_errors.NOT_SET_UP, server=server_name, problems=problems)


def _check_server_id(server: MysqlServer, settings: SourceSettings) -> Iterator[findings.Finding]:
    own = server.identity.server_id
    yield findings.finding(
        setup_errors.SETTING,
        "server_id",
        str(own),
        "not 0",
        ok=own != 0,
        severity=findings.Severity.ERROR,
        how=findings.set_global(server, "server_id", "1"),
    )
    used = settings.server_id
    yield findings.Finding(
        "source.server_id",
        str(used),
        f"not the server's own, {own}",
        used != own,
        Message(setup_errors.OWN_SERVER_ID, {"value": used, "own": own}),
        findings.Severity.ERROR,
    )


def _check_rows(server: MysqlServer) -> Iterator[findings.Finding]:
    """Check that the log has every change, as rows, with all columns and their names."""
    yield findings.check_setting(server, "log_bin", "ON", no_log(server.cloud))
    yield findings.check_setting(
        server,
        "binlog_format",
        "ROW",
        setup_errors.BINLOG_FORMAT,
        # A future version will not have it, because rows will be the only format.
        absent_is_good=True,
    )
    yield findings.check_setting(server, "binlog_row_image", "FULL")
    # Without it, the connector asks the server for the columns: see `envelope.anchored_tables`.
    metadata, warning = "binlog_row_metadata", findings.Severity.WARNING
    if server.variable(metadata) is None:
        version = server.identity.version
        code = setup_errors.NO_ROW_METADATA
        yield findings.check_setting(
            server, metadata, "FULL", code, severity=warning, version=version
        )
    else:
        code = setup_errors.ROW_METADATA
        yield findings.check_setting(server, metadata, "FULL", code, severity=warning)


def _check_mysql(server: MysqlServer) -> Iterator[findings.Finding]:
    warning, consistency = findings.Severity.WARNING, "enforce_gtid_consistency"
    how: str | Message = findings.set_global(server, "gtid_mode", "ON")
    if server.cloud is None:
        # A server changes the mode step by step.
        verb = findings.set_verb(server)
        modes = ("OFF_PERMISSIVE", "ON_PERMISSIVE", "ON")
        steps = [f"SET {verb} {consistency} = ON", *(f"SET {verb} gtid_mode = {m}" for m in modes)]
        how = "; ".join(steps)
        yield findings.check_setting(server, consistency, "ON", severity=warning, how=steps[0])
    else:
        yield findings.check_setting(server, consistency, "ON", severity=warning)
    yield findings.check_setting(
        server, "gtid_mode", "ON", setup_errors.GTID_MODE, severity=warning, how=how
    )


def _check_mariadb(server: MysqlServer) -> Iterator[findings.Finding]:
    yield findings.check_setting(
        server, "gtid_strict_mode", "ON", severity=findings.Severity.WARNING
    )
    yield findings.check_setting(
        server,
        "mysql56_temporal_format",
        "ON",
        setup_errors.TEMPORAL_FORMAT,
        severity=findings.Severity.WARNING,
    )


def _check_replica(server: MysqlServer) -> Iterator[findings.Finding]:
    """Check that a replica logs what it receives; other servers need not."""
    # MySQL 8.0.26 renamed log_slave_updates; it is off by default in MariaDB and before 8.0.
    name = "log_replica_updates"
    if server.variable(name) is None:
        name = "log_slave_updates"
    if replication_status.replicates(server):
        yield findings.check_setting(server, name, "ON", setup_errors.REPLICA_UPDATES)


def _check_keeping(server: MysqlServer, settings: SourceSettings) -> Iterator[findings.Finding]:
    """Check that events have checksums, and that logs are kept long enough."""
    yield findings.check_setting(
        server, "binlog_checksum", "CRC32", severity=findings.Severity.WARNING
    )
    name, seconds = replication_status.retention(server)
    hidden = list(check_rds_retention(server, settings, name))
    if hidden:
        yield from hidden
        return
    yield findings.finding(
        setup_errors.KEEPING,
        name,
        "for ever" if not seconds else _kept(name, seconds),
        f"{_kept(name, _DAY_SECONDS)} or more",
        ok=not seconds or seconds >= _DAY_SECONDS,
        how=_longer(server, name),
    )


def _kept(name: str, seconds: int) -> str:
    """Return for how long logs are kept; RDS sets hours, so they can be compared with its setting.

    Without hours in the setting, RDS keeps them for minutes.
    """
    hours, rest = divmod(seconds, _HOUR_SECONDS)
    if name == replication_status.RDS_RETENTION and not rest:
        return f"{hours} hours ({seconds} s)"
    return f"{seconds} seconds"


def _longer(server: MysqlServer, name: str) -> str | Message:
    """Return the statement that keeps logs for a week."""
    if name == replication_status.RDS_RETENTION:
        return replication_status.set_rds_retention("168")
    return findings.set_global(server, name, "7" if name == "expire_logs_days" else "604800")


def _check_filters(server: MysqlServer) -> Iterator[findings.Finding]:
    """Check that no filter leaves the changes of a database out of the log."""
    status = replication_status.binary_log_status(server) or {}
    for option, column in (
        ("binlog_do_db", "Binlog_Do_DB"),
        ("binlog_ignore_db", "Binlog_Ignore_DB"),
    ):
        value = str(status.get(column, ""))
        yield findings.finding(setup_errors.FILTER, option, value or "''", "''", ok=not value)
