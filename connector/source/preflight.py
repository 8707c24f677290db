"""A server and its account to findings: each needed setting and grant, and what fixes it.

Asked before every run, so that a pipeline refuses at once and in words, instead of meeting a row
it cannot read in the middle of the night. A setting is an error where going on would lose or
misread changes, and a warning where it would only make life harder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from connector.errors import SourceRefused
from connector.source.binary_logs import binary_log_status
from connector.source.topology import replicates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.config import SourceSettings
    from connector.source.mysql_server import MysqlServer

_DAY_SECONDS = 86_400
_GLOBAL_GRANT = re.compile(r"GRANT (?P<privileges>.+) ON \*\.\* TO ")
# SET PERSIST came with 8.0; before, and in MariaDB, the option file must say it as well.
_PERSIST_SINCE = (8, 0, 0)
_ABSENT = "absent"
# The start point that has tables copied.
_SNAPSHOT = "snapshot"
_VISIBLE = """
    SELECT 1 FROM information_schema.tables
    WHERE table_schema NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') LIMIT 1
"""


class Severity(StrEnum):
    """What a finding that is not good means."""

    ERROR = "error"  # the pipeline does not start
    WARNING = "warning"  # advice


@dataclass(frozen=True, slots=True)
class Finding:
    """One setting or grant: what is, what should be, and how to get there."""

    name: str
    value: str
    wanted: str
    ok: bool
    fix: str  # a statement, or what to do where no statement will
    severity: Severity

    def __str__(self) -> str:
        """Return one line for the operator."""
        return f"{self.name} is {self.value}, wanted {self.wanted}: {self.fix}"


def check_source(server: MysqlServer, settings: SourceSettings) -> list[Finding]:
    """Return a finding for everything that a source needs, good ones included.

    Raises SourceUnavailable when the connection breaks.
    """
    mariadb = server.identity.flavour == "mariadb"
    grants = list(_check_grants(server, settings))
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
        _set_global(server, "server_id", "1"),
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
    yield _setting(
        server, "log_bin", "ON", fix="start the server with log_bin = binlog in its option file"
    )
    yield _setting(
        server,
        "binlog_format",
        "ROW",
        fix=_set_global(server, "binlog_format", "ROW")
        + "; sessions that are open keep the old format until they reconnect",
        # It is to go in a future version: then rows are all there is.
        absent_is_good=True,
    )
    yield _setting(server, "binlog_row_image", "FULL")
    # Without it the columns are asked for: see `envelope.anchored_tables`.
    metadata_fix = _set_global(server, "binlog_row_metadata", "FULL")
    if server.variable("binlog_row_metadata") is None:
        metadata_fix = (
            "upgrade: rows carry column names from MySQL 8.0.1 and MariaDB 10.5 on, and this is "
            f"{server.identity.version}"
        )
    yield _setting(
        server,
        "binlog_row_metadata",
        "FULL",
        fix=metadata_fix
        + "; until then the columns are read from information_schema, which takes GRANT SELECT on "
        "the tables, and a table that is changed while the pipeline stands still is copied anew",
        severity=Severity.WARNING,
    )


def _check_mysql(server: MysqlServer) -> Iterator[Finding]:
    verb = _verb(server)
    steps = [
        f"SET {verb} enforce_gtid_consistency = ON",
        *(f"SET {verb} gtid_mode = {mode}" for mode in ("OFF_PERMISSIVE", "ON_PERMISSIVE", "ON")),
    ]
    how = "; ".join(steps) + "; without GTIDs the pipeline cannot follow a failover"
    yield _setting(
        server, "enforce_gtid_consistency", "ON", fix=steps[0], severity=Severity.WARNING
    )
    yield _setting(server, "gtid_mode", "ON", fix=how, severity=Severity.WARNING)


def _check_mariadb(server: MysqlServer) -> Iterator[Finding]:
    yield _setting(server, "gtid_strict_mode", "ON", severity=Severity.WARNING)
    yield _setting(
        server,
        "mysql56_temporal_format",
        "ON",
        fix=_set_global(server, "mysql56_temporal_format", "ON")
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
        yield _setting(
            server,
            name,
            "ON",
            fix=f"start the server with {name} = ON in its option file: what it receives from its "
            "source is else not in its log",
        )


def _check_keeping(server: MysqlServer) -> Iterator[Finding]:
    """Check that damage shows, and that logs are kept for a while."""
    yield _setting(server, "binlog_checksum", "CRC32", severity=Severity.WARNING)
    name, seconds = retention(server)
    yield Finding(
        name,
        "for ever" if not seconds else f"{seconds} seconds",
        f"{_DAY_SECONDS} seconds or more",
        not seconds or seconds >= _DAY_SECONDS,
        _set_global(server, name, "7" if name == "expire_logs_days" else "604800")
        + "; a pipeline that stands still for longer has to start over",
        Severity.WARNING,
    )


def retention(server: MysqlServer) -> tuple[str, int]:
    """Return the setting that says how long logs are kept, and the seconds; 0 is for ever."""
    seconds = int(server.variable("binlog_expire_logs_seconds") or 0)
    if seconds and server.variable("binlog_expire_logs_auto_purge") != "OFF":
        return "binlog_expire_logs_seconds", seconds
    days = float(server.variable("expire_logs_days") or 0)
    if days or server.variable("binlog_expire_logs_seconds") is None:
        return "expire_logs_days", int(days * _DAY_SECONDS)
    return "binlog_expire_logs_seconds", 0


def _check_grants(server: MysqlServer, settings: SourceSettings) -> Iterator[Finding]:
    granted = _global_privileges(server)
    account = str(server.query("SELECT CURRENT_USER() AS account")[0]["account"])
    user, _, host = account.rpartition("@")
    # MariaDB renamed REPLICATION CLIENT, and grants the new name when asked for the old one.
    for names in (("REPLICATION SLAVE",), ("REPLICATION CLIENT", "BINLOG MONITOR", "SUPER")):
        held = granted.intersection(names) or granted.intersection({"ALL PRIVILEGES"})
        yield Finding(
            f"grant {names[0]}",
            "granted" if held else "missing",
            "granted",
            bool(held),
            f"GRANT {names[0]} ON *.* TO '{user or settings.user}'@'{host}'",
            Severity.ERROR,
        )
    if settings.start == _SNAPSHOT:
        to = f"TO '{user or settings.user}'@'{host}'"
        readable = _may_read_tables(server)
        yield Finding(
            "grant SELECT",
            "granted" if readable else "missing",
            "granted",
            readable,
            "; ".join(f"GRANT SELECT ON {tables} {to}" for tables in settings.tables)
            + "; or set source.start to where the stream begins without copies of the tables",
            Severity.ERROR,
        )


def _may_read_tables(server: MysqlServer) -> bool:
    """Return whether the account may read some table.

    Servers hide tables that an account has no right to, and do not say that they do: to an account
    that may read none, every database is empty.
    """
    grants = [str(text) for row in server.query("SHOW GRANTS") for text in row.values()]
    if any(name in text for text in grants for name in ("SELECT", "ALL PRIVILEGES")):
        return True
    return bool(server.query(_VISIBLE))


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


def _global_privileges(server: MysqlServer) -> set[str]:
    """Return what the account, with its active roles, may do everywhere."""
    granted: set[str] = set()
    for row in server.query("SHOW GRANTS"):
        for text in row.values():
            if match := _GLOBAL_GRANT.match(str(text)):
                granted.update(name.strip().upper() for name in match["privileges"].split(","))
    return granted


def _setting(
    server: MysqlServer,
    name: str,
    wanted: str,
    *,
    fix: str = "",
    severity: Severity = Severity.ERROR,
    absent_is_good: bool = False,
) -> Finding:
    value = server.variable(name)
    return Finding(
        name,
        _ABSENT if value is None else value or "''",
        wanted or "''",
        absent_is_good if value is None else value.upper() == wanted,
        fix or _set_global(server, name, wanted),
        severity,
    )


def _set_global(server: MysqlServer, name: str, value: str) -> str:
    word = value if value.isdigit() else f"'{value}'"
    statement = f"SET {_verb(server)} {name} = {word}"
    if _persists(server):
        return statement
    return f"{statement}, and {name} = {value or word} in the server's option file"


def _verb(server: MysqlServer) -> str:
    return "PERSIST" if _persists(server) else "GLOBAL"


def _persists(server: MysqlServer) -> bool:
    identity = server.identity
    return identity.flavour == "mysql" and identity.version_number >= _PERSIST_SINCE
