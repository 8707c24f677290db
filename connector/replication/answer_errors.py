"""What a server answers with the number of an error.

`said` is the server's own text: it names accounts and files.
"""

from collections.abc import Callable
from functools import partial

from connector.foundation.errors.code import End, ErrorCode, table_error, transient_error

_WHAT = "{server}: error {number}: {said}"
_passing = partial(ErrorCode, end=End.PASSING)


def _passes(
    code: str, number: int, said: str, fix: str, cause: str, *, url_fix: str | None = None
) -> ErrorCode:
    """Return the code of a condition that passes."""
    return transient_error(
        code,
        _WHAT,
        fix,
        cause=cause,
        example={"number": number, "said": said},
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
LOCKS = transient_error(
    "S206",
    "{server}: error {number}: {said}",
    "look for sessions that hold locks",
    cause="Other sessions hold locks, for too long or each on what the other needs.",
    example={"number": 1205, "said": "Lock wait timeout exceeded; try restarting transaction"},
    was="S215",
)
ACCOUNT_LIMIT = _passes(
    "S207",
    1226,
    "User 'cdc' has exceeded the 'max_questions' resource",
    "raise the resource limits of this account",
    "The account may run only so many statements or logins an hour.",
)
KILLED = transient_error(
    "S208",
    "{server}: error {number}: {said}",
    "find out who kills queries or connections",
    cause="Somebody, or a tool that watches for long queries or idle sessions, ended it.",
    example={"number": 1317, "said": "Query execution was interrupted"},
    was="S209",
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
    "raise max_execution_time, on MariaDB max_statement_time",
    "MySQL ends each SELECT that takes longer than max_execution_time, MariaDB each statement that "
    "takes longer than max_statement_time.",
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

NOT_IN_CLUSTER = _passes(
    "S216",
    1047,
    "WSREP has not yet prepared node for application use",
    "look at wsrep_cluster_status and wsrep_local_state_comment, or name another node in "
    "{source.failover_hosts}",
    "The node of a Galera cluster has no majority, or is just joining: until it has caught up, it "
    "answers no statement about tables.",
    url_fix="look at wsrep_cluster_status and wsrep_local_state_comment, or read another node",
)


def _stays(
    code: str,
    number: int,
    said: str,
    fix: str,
    cause: str,
    *,
    url_fix: str | None = None,
    kind: Callable[..., ErrorCode] = ErrorCode,
) -> ErrorCode:
    """Return the code of a refusal that repeating does not change, or not soon."""
    return kind(
        code,
        _WHAT,
        fix,
        cause=cause,
        example={"number": number, "said": said},
        url_fix=url_fix,
    )


NO_SELECT = _stays(
    "S221",
    1142,
    "SELECT command denied to user 'cdc'@'%' for table 'orders'",
    "GRANT SELECT on the table TO the account of {source.user}",
    "Tables are copied, and the columns of some are looked up, by SELECT.",
    kind=table_error,
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
    kind=_passing,
)
HOST_BLOCKED = _stays(
    "S224",
    1129,
    "Host 'db2' is blocked because of many connection errors",
    "run TRUNCATE TABLE performance_schema.host_cache on MySQL, FLUSH HOSTS on MariaDB",
    "Too many connections from this host ended before they had logged in.",
    kind=_passing,
)
HOST_NOT_ALLOWED = _stays(
    "S225",
    1130,
    "Host 'db2' is not allowed to connect to this MySQL server",
    "create the account for this host",
    "No account of the server may log in from this host.",
    kind=_passing,
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
    "use an account with caching_sha2_password, on MariaDB with mysql_native_password",
    "The account logs in by a plugin that this program does not have.",
)
NO_BINARY_LOG = ErrorCode(
    "S228",
    "{server}: error {number}: {said}",
    "start the server with log_bin",
    cause="The server writes no binary log, so nothing can be followed.",
    example={"number": 1381, "said": "You are not using binary logging"},
    was="S509",
)
PASSWORD_EXPIRED = _stays(
    "S229",
    1820,
    "You must reset your password using ALTER USER statement before executing this statement",
    "give the account a new password",
    "The password of the account has expired.",
    kind=_passing,
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
    kind=_passing,
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


def _refused(
    code: str, said: str, fix: str, cause: str, *, number: int = 1236, url_fix: str | None = None
) -> ErrorCode:
    return ErrorCode(
        code,
        _WHAT,
        fix,
        cause=cause,
        example={"number": number, "said": said},
        url_fix=url_fix,
    )


SAME_SERVER_ID = _refused(
    "S501",
    "A replica with the same server_uuid/server_id as this replica has connected to the source",
    "give each replica and each pipeline a {source.server_id} of its own",
    "Another reader has the same server_id, and of two such readers a server throws the older one "
    "out. MySQL answers with number 1236, MariaDB with 4052.",
    url_fix="give each reader a {source.server_id} of its own",
)
_OVER = "give the pipeline a new name and start over"
PURGED = _refused(
    "S502",
    "Could not find first log file name in binary log index file",
    f"what was not read is gone from this server: {_OVER}, or point it at a replica that still has "
    "the log",
    "The server has deleted the log that comes next. It deletes logs after the time that "
    "binlog_expire_logs_seconds or expire_logs_days gives.",
    url_fix="what was not read is gone from this server: read a replica that still has the log",
)
RESET = _refused(
    "S503",
    "Replica has more GTIDs than the source has, using the source's SERVER_UUID",
    f"the server's logs were reset, or their end was lost: {_OVER}, or point it at a server that "
    "has the transactions",
    "The stream has read transactions of this server that the server does not know: its logs were "
    "reset, or a crash took their end.",
    url_fix="the server's logs were reset, or their end was lost: read a server that has the "
    "transactions",
)
_URL_OVER = "start at a position that the server still has"
GTID_MODE = _refused(
    "S504",
    "The replication sender thread cannot start in AUTO_POSITION mode: this server has GTID_MODE = "
    "OFF instead of ON",
    f"SET GLOBAL gtid_mode back to ON, or {_OVER}",
    "The stream is read by GTID, and the server no longer finds positions by GTID.",
    url_fix=f"SET GLOBAL gtid_mode back to ON, or {_URL_OVER}",
)
POSITION = _refused(
    "S505",
    "Client requested source to start replication from position > file size",
    "choose a position inside the file",
    "The file ends before the position, or the position is below 4, where events begin.",
)
PACKET = _refused(
    "S506",
    "log event entry exceeded max_allowed_packet; Increase max_allowed_packet on source",
    "SET GLOBAL max_allowed_packet = 1073741824 on the server; if that is its value already, no "
    "event starts at the position",
    "An event is larger than the server may send. Bytes inside of an event are taken for a length, "
    "too, if no event starts at the position.",
)
DAMAGED = _refused(
    "S507",
    "bogus data in log event",
    "the binlog file is damaged, or no event starts at the position: look with mysqlbinlog",
    "The server read bytes that are no event, or an event with a wrong checksum.",
)
NO_SERVER_ID = _refused(
    "S508",
    "Misconfigured source - server_id was not set",
    "set server_id on the server",
    "A server without a server_id sends its log to nobody.",
)
NOT_THERE = _refused(
    "S510",
    "Error: connecting slave requested to start from GTID 0-1-9, which is not in the master's "
    "binlog",
    "this server does not have what was read last: point the pipeline at the server that has it, "
    "or give it a new name and start over",
    "The stream goes on after a transaction that is not in the log of this server.",
    url_fix="this server does not have what was read last: read the server that has it",
)
NO_GTID_NEXT = ErrorCode(
    "S511",
    _WHAT,
    "everything before it was sent: SET GLOBAL gtid_mode = ON_PERMISSIVE, give the pipeline a new "
    'name and set {source.start} = "position:{file}:{position}", so that nothing is lost; set the '
    "mode ON again once what has no GTID was read",
    cause="The stream is read by GTID, and the server's gtid_mode was not ON when it logged this "
    "transaction. A stream by position gets it, but cannot change its server.",
    example={
        "said": "Cannot replicate anonymous transaction when AUTO_POSITION = 1, at file "
        "./binlog.000042, position 1187"
    },
    url_fix="SET GLOBAL gtid_mode = ON_PERMISSIVE, and start at position:{file}:{position}",
)
GTID_MODE_ON = _refused(
    "S512",
    "Cannot replicate anonymous transaction when @@GLOBAL.GTID_MODE = ON, at file "
    "./binlog.000042, position 1187",
    "SET GLOBAL gtid_mode = ON_PERMISSIVE until the transactions without GTIDs were read",
    "The stream is read by position, and comes to a transaction without a GTID. A server whose "
    "gtid_mode is ON does not send it.",
)
