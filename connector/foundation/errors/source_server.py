"""S200: what a server answers with the number of an error.

`said` is the server's own text: it names accounts and files.
"""

from __future__ import annotations

from connector.foundation.errors.code import End, ErrorCode, Scope

_WHAT = "{server}: error {number}: {said}"


def _passes(
    code: str, number: int, said: str, fix: str, cause: str, *, url_fix: str | None = None
) -> ErrorCode:
    """Return the code of a condition that passes."""
    return ErrorCode(
        code,
        _WHAT,
        fix,
        end=End.RETRIED,
        cause=cause,
        example={"server": "source db1:3306", "number": number, "said": said},
        url_fix=url_fix,
    )


def _stays(
    code: str,
    number: int,
    said: str,
    fix: str,
    cause: str,
    *,
    url_fix: str | None = None,
    end: End = End.DEFINITE,
    scope: Scope = Scope.PROCESS,
) -> ErrorCode:
    """Return the code of a refusal that repeating does not change, or not soon."""
    return ErrorCode(
        code,
        _WHAT,
        fix,
        end=end,
        scope=scope,
        cause=cause,
        example={"server": "source db1:3306", "number": number, "said": said},
        url_fix=url_fix,
    )


TOO_MANY_CONNECTIONS = _passes(
    "S201",
    1040,
    "Too many connections",
    "raise max_connections, or close idle connections",
    "The server has as many sessions as max_connections allows.",
)
STOPPING = _passes(
    "S202",
    1053,
    "Server shutdown in progress",
    "start the server again, or name another one in {source.failover_hosts}",
    "The server is being stopped.",
    url_fix="start the server again",
)
NETWORK = _passes(
    "S203",
    1158,
    "Got an error reading communication packets",
    "look at the network between here and the server",
    "The server could not read from the connection, or could not write to it.",
)
SLOW_NETWORK = _passes(
    "S204",
    1161,
    "Got timeout writing communication packets",
    "look at the network, or raise net_write_timeout",
    "The server waited for net_write_timeout seconds until it could send more.",
)
TOO_MANY_OF_ACCOUNT = _passes(
    "S205",
    1203,
    "User cdc already has more than 'max_user_connections' active connections",
    "raise max_user_connections",
    "The account has as many sessions as max_user_connections allows.",
)
LOCK_WAIT = _passes(
    "S206",
    1205,
    "Lock wait timeout exceeded; try restarting transaction",
    "look for a session that holds locks",
    "Another session holds a lock on the table for longer than the server lets a statement wait.",
)
DEADLOCK = _passes(
    "S215",
    1213,
    "Deadlock found when trying to get lock; try restarting transaction",
    "look for sessions that hold locks",
    "Sessions wait for each other's locks, and the server has chosen this one to give way.",
)
ACCOUNT_LIMIT = _passes(
    "S207",
    1226,
    "User 'cdc' has exceeded the 'max_questions' resource",
    "raise the resource limits of this account",
    "The account may run only so many statements or logins an hour.",
)
QUERY_KILLED = _passes(
    "S208",
    1317,
    "Query execution was interrupted",
    "find out who kills queries",
    "Somebody, or a tool that watches for long queries, ended the statement by KILL QUERY.",
)
CONNECTION_KILLED = _passes(
    "S209",
    1927,
    "Connection was killed",
    "find out who kills connections",
    "Somebody, or a tool that watches for idle sessions, ended the session by KILL.",
)
NO_CONNECTION = _passes(
    "S210",
    2003,
    "Can't connect to MySQL server on 'db1'",
    "check that the server runs, {source.host} and {source.port}",
    "No server answers at the address.",
)
CONNECTION_LOST = _passes(
    "S211",
    2013,
    "Lost connection to MySQL server during query",
    "check that the server runs",
    "The connection ended before the answer was complete: the server died or was restarted, or "
    "the network failed.",
)
QUERY_TOO_LONG = _passes(
    "S212",
    3024,
    "Query execution was interrupted, maximum statement execution time exceeded",
    "raise max_execution_time",
    "The server ends each SELECT that takes longer than max_execution_time.",
)
OFFLINE = _passes(
    "S213",
    3032,
    "The server is currently in offline mode",
    "the server is in offline mode: SET GLOBAL offline_mode = OFF",
    "In offline mode a server takes connections of administrators alone.",
)
IDLE = _passes(
    "S214",
    4031,
    "The client was disconnected by the server because of inactivity",
    "raise wait_timeout",
    "The session asked nothing for longer than wait_timeout.",
)
NO_SELECT = _stays(
    "S221",
    1142,
    "SELECT command denied to user 'cdc'@'%' for table 'orders'",
    "GRANT SELECT on the table TO the account of {source.user}",
    "Tables are copied, and the columns of some are looked up, by SELECT.",
    scope=Scope.TABLE,
)
NO_REPLICATION = _stays(
    "S222",
    1227,
    "Access denied; you need (at least one of) the REPLICATION SLAVE privilege(s)",
    "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO the account of {source.user}; see "
    "`binlog-connector config grants.sql`",
    "To read a log is what a replica does, and the server asks for the rights of one. Servers "
    "answer with the number of a wrong password, 1045, if REPLICATION SLAVE is missing.",
)
WRONG_PASSWORD = _stays(
    "S223",
    1045,
    "Access denied for user 'cdc'@'db2' (using password: YES)",
    "check {source.user} and {source.password}, and that the account may log in from this host",
    "The account does not exist for this host, or has another password. While a password is "
    "changed, one of the two sides may have the old one for a moment.",
    end=End.PASSING,
)
HOST_BLOCKED = _stays(
    "S224",
    1129,
    "Host 'db2' is blocked because of many connection errors",
    "run FLUSH HOSTS on the server",
    "Too many connections from this host ended before they had logged in.",
    end=End.PASSING,
)
HOST_NOT_ALLOWED = _stays(
    "S225",
    1130,
    "Host 'db2' is not allowed to connect to this MySQL server",
    "create the account for this host",
    "No account of the server may log in from this host.",
    end=End.PASSING,
)
NO_SUCH_POSITION = _stays(
    "S226",
    1220,
    "Error when executing command SHOW BINLOG EVENTS: Wrong offset or I/O error",
    "choose a position that SHOW BINLOG EVENTS prints",
    "No event starts at the position, or the server cannot read the file.",
)
LOGIN_PLUGIN = _stays(
    "S227",
    2059,
    "Authentication plugin 'sha256_password' cannot be loaded",
    "use an account with caching_sha2_password",
    "The account logs in by a plugin that this program does not have.",
)
NO_BINARY_LOG = _stays(
    "S228",
    1381,
    "You are not using binary logging",
    "start the server with log_bin",
    "The server writes no binary log, so nothing can be followed.",
)
PASSWORD_EXPIRED = _stays(
    "S229",
    1820,
    "You must reset your password using ALTER USER statement before executing this statement",
    "give the account a new password",
    "The password of the account has expired.",
    end=End.PASSING,
)
TLS_FAILED = _stays(
    "S230",
    2026,
    "SSL connection error",
    "set {source.tls.mode}, {source.tls.ca} and {source.host} to what the server offers",
    "The encrypted connection could not be set up.",
)
ACCOUNT_LOCKED = _stays(
    "S231",
    3118,
    "Access denied for user 'cdc'@'%'. Account is locked",
    "ALTER USER ... ACCOUNT UNLOCK",
    "Somebody has locked the account.",
    end=End.PASSING,
)
TLS_REQUIRED = _stays(
    "S232",
    3159,
    "Connections using insecure transport are prohibited while --require_secure_transport=ON",
    "set {source.tls.mode} to required",
    "The server takes encrypted connections alone.",
    url_fix="set {source.tls.mode} to REQUIRED",
)
UNKNOWN = _stays(
    "S239",
    1105,
    "Unknown error",
    "look the number up in the server's error reference",
    "The server gave an error that has no advice of its own here.",
)
