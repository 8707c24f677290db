"""Errors of a source: number and text become a transient or a definite error.

The tables are the policy. A number that is not in them is definite: a person must look at an error
that nobody has foreseen. Number 1236 is for everything that can be wrong with a dump, so its text
selects the code.

https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference
"""

import re

from connector.foundation.errors import SourceRefused, SourceUnavailable
from connector.foundation.errors.code import ErrorCode
from connector.replication import answer_errors

ACCESS_DENIED = 1045
# ER_UNKNOWN_COM_ERROR; a node of a Galera cluster gives it another meaning.
_UNKNOWN_COMMAND = 1047
UNKNOWN_SYSTEM_VARIABLE = 1193
LOCK_WAIT_TIMEOUT = 1205
DEADLOCK = 1213
DUMP_FAILED = 1236

# Numbers of conditions that end without a change of the configuration.
_TRANSIENT = {
    1040: answer_errors.TOO_MANY_CONNECTIONS,  # ER_CON_COUNT_ERROR
    1053: answer_errors.STOPPING,  # ER_SERVER_SHUTDOWN
    1077: answer_errors.STOPPING,  # ER_NORMAL_SHUTDOWN
    1079: answer_errors.STOPPING,  # ER_SHUTDOWN_COMPLETE
    1152: answer_errors.NETWORK,  # ER_ABORTING_CONNECTION
    1158: answer_errors.NETWORK,  # ER_NET_READ_ERROR
    1159: answer_errors.NETWORK,  # ER_NET_READ_INTERRUPTED
    1160: answer_errors.NETWORK,  # ER_NET_ERROR_ON_WRITE
    1161: answer_errors.SLOW_NETWORK,  # ER_NET_WRITE_INTERRUPTED
    1203: answer_errors.TOO_MANY_OF_ACCOUNT,  # ER_TOO_MANY_USER_CONNECTIONS
    LOCK_WAIT_TIMEOUT: answer_errors.LOCKS,  # ER_LOCK_WAIT_TIMEOUT
    DEADLOCK: answer_errors.LOCKS,  # ER_LOCK_DEADLOCK
    1226: answer_errors.ACCOUNT_LIMIT,  # ER_USER_LIMIT_REACHED
    1317: answer_errors.KILLED,  # ER_QUERY_INTERRUPTED
    1927: answer_errors.KILLED,  # ER_CONNECTION_KILLED (MariaDB)
    1969: answer_errors.QUERY_TOO_LONG,  # ER_STATEMENT_TIMEOUT (MariaDB)
    2003: answer_errors.NO_CONNECTION,  # CR_CONN_HOST_ERROR
    2006: answer_errors.CONNECTION_LOST,  # CR_SERVER_GONE_ERROR
    2013: answer_errors.CONNECTION_LOST,  # CR_SERVER_LOST
    3024: answer_errors.QUERY_TOO_LONG,  # ER_QUERY_TIMEOUT
    3032: answer_errors.OFFLINE,  # ER_SERVER_OFFLINE_MODE
    3169: answer_errors.KILLED,  # ER_SESSION_WAS_KILLED
    4031: answer_errors.IDLE,  # ER_CLIENT_INTERACTION_TIMEOUT
}

# Numbers of refusals that a new attempt does not change.
_DEFINITE = {
    1044: answer_errors.NO_SELECT,  # ER_DBACCESS_DENIED_ERROR
    1045: answer_errors.WRONG_PASSWORD,  # ER_ACCESS_DENIED_ERROR
    1129: answer_errors.HOST_BLOCKED,  # ER_HOST_IS_BLOCKED
    1130: answer_errors.HOST_NOT_ALLOWED,  # ER_HOST_NOT_PRIVILEGED
    1142: answer_errors.NO_SELECT,  # ER_TABLEACCESS_DENIED_ERROR
    1143: answer_errors.NO_SELECT,  # ER_COLUMNACCESS_DENIED_ERROR
    1220: answer_errors.NO_SUCH_POSITION,  # ER_ERROR_WHEN_EXECUTING_COMMAND
    1227: answer_errors.NO_REPLICATION,  # ER_SPECIFIC_ACCESS_DENIED_ERROR
    1251: answer_errors.LOGIN_PLUGIN,  # ER_NOT_SUPPORTED_AUTH_MODE
    1381: answer_errors.NO_BINARY_LOG,  # ER_NO_BINARY_LOGGING
    1698: answer_errors.WRONG_PASSWORD,  # ER_ACCESS_DENIED_NO_PASSWORD_ERROR
    1820: answer_errors.PASSWORD_EXPIRED,  # ER_MUST_CHANGE_PASSWORD
    1862: answer_errors.PASSWORD_EXPIRED,  # ER_MUST_CHANGE_PASSWORD_LOGIN
    2026: answer_errors.TLS_FAILED,  # CR_SSL_CONNECTION_ERROR
    2059: answer_errors.LOGIN_PLUGIN,  # CR_AUTH_PLUGIN_CANNOT_LOAD
    3118: answer_errors.ACCOUNT_LOCKED,  # ER_ACCOUNT_HAS_BEEN_LOCKED
    3159: answer_errors.TLS_REQUIRED,  # ER_SECURE_TRANSPORT_REQUIRED
    4052: answer_errors.SAME_SERVER_ID,  # ER_SLAVE_SAME_ID (MariaDB)
    4151: answer_errors.ACCOUNT_LOCKED,  # ER_ACCOUNT_HAS_BEEN_LOCKED (MariaDB)
}

# Refusals of a login: the server answers.
REFUSED_LOGINS = (
    answer_errors.WRONG_PASSWORD,
    answer_errors.PASSWORD_EXPIRED,
    answer_errors.ACCOUNT_LOCKED,
    answer_errors.HOST_BLOCKED,
    answer_errors.HOST_NOT_ALLOWED,
)

_NO_GTID_NEXT = re.compile(
    r"anonymous transaction when AUTO_POSITION = 1, at file (?:[^,]*/)?([^,/]+), position (\d+)"
)
# Patterns for the text of 1236, in any letter case; the first one that fits counts. MySQL says
# master and slave up to 8.0.25, and MariaDB still does.
_DUMP_FAILURES = (
    (r"same server_(uuid/server_)?id", answer_errors.SAME_SERVER_ID),
    (r"purged (required )?binary logs|could not find first log file", answer_errors.PURGED),
    (r"has more gtids than", answer_errors.RESET),
    (r"anonymous transaction when @@global\.gtid_mode = on", answer_errors.GTID_MODE_ON),
    (r"gtid_mode = ", answer_errors.GTID_MODE),
    (r"start replication from (position|impossible)", answer_errors.POSITION),
    (r"max_allowed_packet", answer_errors.PACKET),
    (r"checksum|crc|bogus data|truncated|corrupt|binlog entry", answer_errors.DAMAGED),
    (r"server.id (is|was) (0|not set)", answer_errors.NO_SERVER_ID),
    (r"binary log is not open|not enabled", answer_errors.NO_BINARY_LOG),
    (
        r"not in the (master|source)'s binlog|missing the gtid|is not possible",
        answer_errors.NOT_THERE,
    ),
    (r"could not find gtid state", answer_errors.PURGED),
)


def server_error(
    server_name: str, number: int, message: str, *, logged_in: bool = True
) -> SourceUnavailable | SourceRefused:
    """Return the error for an answer of the server.

    `server_name` is `source HOST:PORT`. The error quotes the server's own text, because that names
    accounts and files. Once `logged_in`, "access denied" is about grants: if REPLICATION SLAVE is
    missing, servers answer a replication command with the number of a wrong password.
    """
    text = message.strip().rstrip(".")
    if number in _TRANSIENT:
        return SourceUnavailable(_TRANSIENT[number], server=server_name, number=number, said=text)
    if number == _UNKNOWN_COMMAND and "WSREP" in message:
        return SourceUnavailable(
            answer_errors.NOT_IN_CLUSTER, server=server_name, number=number, said=text
        )
    if number == ACCESS_DENIED and logged_in:
        return SourceRefused(
            answer_errors.NO_REPLICATION, server=server_name, number=number, said=text
        )
    if number == DUMP_FAILED and (match := _NO_GTID_NEXT.search(message)):
        return SourceRefused(
            answer_errors.NO_GTID_NEXT,
            server=server_name,
            number=number,
            said=text,
            file=match[1],
            position=int(match[2]),
        )
    code = _refusal(number, message)
    return SourceRefused(code, server=server_name, number=number, said=text)


def codes_of_words(text: str) -> list[ErrorCode]:
    """Return what a server means that says `text`: by the numbers in it, and by its words."""
    numbers = [int(number) for number in re.findall(r"\b\d{4}\b", text)]
    codes = [{**_TRANSIENT, **_DEFINITE}.get(number) for number in numbers]
    codes += [code for pattern, code in _DUMP_FAILURES if re.search(pattern, text, re.IGNORECASE)]
    return [code for code in codes if code is not None]


def _refusal(number: int, message: str) -> ErrorCode:
    if number != DUMP_FAILED:
        return _DEFINITE.get(number, answer_errors.UNKNOWN)
    for pattern, code in _DUMP_FAILURES:
        if re.search(pattern, message, re.IGNORECASE):
            return code
    return answer_errors.UNKNOWN
