"""What each error of a source means: number and text to a transient or definite error.

This is the policy, to be read as a table. A number that is not in it is definite: a server that
says something unforeseen is looked at by a person. Number 1236 covers everything that can be wrong
with a dump, so there the text picks the advice, never the kind.

https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from connector.errors import SourceRefused, SourceUnavailable

if TYPE_CHECKING:
    from connector.errors import ConnectorError

ACCESS_DENIED = 1045
UNKNOWN_SYSTEM_VARIABLE = 1193
DUMP_FAILED = 1236

_STOPPING = "start the server again, or name another one in source.failover_hosts"
# Numbers of conditions that pass: number to what to do if they do not.
_TRANSIENT = {
    1040: "raise max_connections, or close idle connections",  # ER_CON_COUNT_ERROR
    1053: _STOPPING,  # ER_SERVER_SHUTDOWN
    1077: _STOPPING,  # ER_NORMAL_SHUTDOWN
    1079: _STOPPING,  # ER_SHUTDOWN_COMPLETE
    1152: "look at the network between here and the server",  # ER_ABORTING_CONNECTION
    1158: "look at the network between here and the server",  # ER_NET_READ_ERROR
    1159: "look at the network between here and the server",  # ER_NET_READ_INTERRUPTED
    1160: "look at the network between here and the server",  # ER_NET_ERROR_ON_WRITE
    1161: "look at the network, or raise net_write_timeout",  # ER_NET_WRITE_INTERRUPTED
    1203: "raise max_user_connections",  # ER_TOO_MANY_USER_CONNECTIONS
    1205: "look for a session that holds locks",  # ER_LOCK_WAIT_TIMEOUT
    1226: "raise the resource limits of this account",  # ER_USER_LIMIT_REACHED
    1317: "look for whoever kills queries",  # ER_QUERY_INTERRUPTED
    1927: "look for whoever kills connections",  # ER_CONNECTION_KILLED (MariaDB)
    2003: "check that the server runs, source.host and source.port",  # CR_CONN_HOST_ERROR
    2006: "check that the server runs",  # CR_SERVER_GONE_ERROR
    2013: "check that the server runs",  # CR_SERVER_LOST
    3024: "raise max_execution_time",  # ER_QUERY_TIMEOUT
    3032: "the server is in offline mode: SET GLOBAL offline_mode = OFF",  # ER_SERVER_OFFLINE_MODE
    3169: "look for whoever kills connections",  # ER_SESSION_WAS_KILLED
    4031: "raise wait_timeout",  # ER_CLIENT_INTERACTION_TIMEOUT
}

_GRANT = (
    "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO the account of source.user; "
    "see `binlog-connector config grants.sql`"
)
_SELECT = "GRANT SELECT on the table TO the account of source.user"
_PASSWORD = "check source.user and source.password, and that the account may log in from this host"  # noqa: S105 - advice
_UNIQUE_ID = "give each replica and each pipeline a source.server_id of its own"

# Numbers of refusals that repeating does not change: number to the fix.
_DEFINITE = {
    1044: _SELECT,  # ER_DBACCESS_DENIED_ERROR
    1045: _PASSWORD,  # ER_ACCESS_DENIED_ERROR
    1129: "run FLUSH HOSTS on the server",  # ER_HOST_IS_BLOCKED
    1130: "create the account for this host",  # ER_HOST_NOT_PRIVILEGED
    1142: _SELECT,  # ER_TABLEACCESS_DENIED_ERROR
    1143: _SELECT,  # ER_COLUMNACCESS_DENIED_ERROR
    1220: "choose a position that SHOW BINLOG EVENTS prints",  # ER_ERROR_WHEN_EXECUTING_COMMAND
    1227: _GRANT,  # ER_SPECIFIC_ACCESS_DENIED_ERROR
    1251: "use an account with caching_sha2_password",  # ER_NOT_SUPPORTED_AUTH_MODE
    1381: "start the server with log_bin",  # ER_NO_BINARY_LOGGING
    1698: _PASSWORD,  # ER_ACCESS_DENIED_NO_PASSWORD_ERROR
    1820: "give the account a new password",  # ER_MUST_CHANGE_PASSWORD
    1862: "give the account a new password",  # ER_MUST_CHANGE_PASSWORD_LOGIN
    2026: "set source.tls.mode, source.tls.ca and source.host to what the server offers",
    2059: "use an account with caching_sha2_password",  # CR_AUTH_PLUGIN_CANNOT_LOAD
    3118: "ALTER USER ... ACCOUNT UNLOCK",  # ER_ACCOUNT_HAS_BEEN_LOCKED
    3159: "set source.tls.mode to required",  # ER_SECURE_TRANSPORT_REQUIRED
    4052: _UNIQUE_ID,  # ER_SLAVE_SAME_ID (MariaDB)
    4151: "ALTER USER ... ACCOUNT UNLOCK",  # ER_ACCOUNT_HAS_BEEN_LOCKED (MariaDB)
}

_START_AGAIN = (
    "what was not read is gone from this server: give the pipeline a new name and start over, "
    "or point it at a replica that still has the log"
)
_RESET = (
    "the server's logs were reset, or their end was lost: give the pipeline a new name and start "
    "over, or point it at a server that has the transactions"
)
_NOT_THERE = (
    "this server does not have what was read last: point the pipeline at the server that has it, "
    "or give it a new name and start over"
)
# Bytes at a place inside of an event are taken for a length, too.
_PACKET = (
    "SET GLOBAL max_allowed_packet = 1073741824 on the server; where it is that already, no event "
    "starts at the position"
)
# The texts of 1236, in any letter case: pattern to the fix, the first that fits. MySQL says master
# and slave up to 8.0.25, and MariaDB still does.
_DUMP_FAILURES = (
    (r"same server_(uuid/server_)?id", _UNIQUE_ID),
    (r"purged (required )?binary logs|could not find first log file", _START_AGAIN),
    (r"has more gtids than", _RESET),
    (
        r"gtid_mode = ",
        "SET GLOBAL gtid_mode back to ON, or give the pipeline a new name and start over",
    ),
    (r"start replication from (position|impossible)", "choose a position inside the file"),
    (r"max_allowed_packet", _PACKET),
    (
        r"checksum|crc|bogus data|truncated|corrupt|binlog entry",
        "the binlog file is damaged, or no event starts at the position: look with mysqlbinlog",
    ),
    (r"server.id (is|was) (0|not set)", "set server_id on the server"),
    (r"binary log is not open|not enabled", "start the server with log_bin"),
    (r"not in the (master|source)'s binlog|missing the gtid|is not possible", _NOT_THERE),
    (r"could not find gtid state", _START_AGAIN),
)
_UNKNOWN = "look the number up in the server's error reference"


def server_error(
    place: str, number: int, message: str, *, logged_in: bool = True
) -> ConnectorError:
    """Return the error to raise for what the server at `place` said.

    `place` is `source HOST:PORT`; the server's own text is quoted, for it names accounts and files.
    Once `logged_in`, "access denied" is about grants: the servers answer a replication command
    without REPLICATION SLAVE with the number of a wrong password.
    """
    said = f"{place}: error {number}: {message.strip().rstrip('.')}"
    error: SourceUnavailable | SourceRefused
    if number in _TRANSIENT:
        error = SourceUnavailable(f"{said}: {_TRANSIENT[number]}")
    elif logged_in and number == ACCESS_DENIED:
        error = SourceRefused(f"{said}: {_GRANT}")
    else:
        fix = _fix(number, message)
        error = SourceRefused(f"{said}: {fix}")
        error.collides = fix is _UNIQUE_ID
    error.number = number
    return error


def _fix(number: int, message: str) -> str:
    if number != DUMP_FAILED:
        return _DEFINITE.get(number, _UNKNOWN)
    for pattern, fix in _DUMP_FAILURES:
        if re.search(pattern, message, re.IGNORECASE):
            return fix
    return _UNKNOWN
