"""Built-in functions and system variables: which ones make a statement unsafe, by server.

The lists were measured: each function was called in an INSERT on every server of the local stack
that has it. The document's list is from 2009; `docs/logging-rules.md` says what has changed since.
"""

from typing import Final

from connector.foundation.server_version import ServerVersion

_EVERYWHERE: Final = frozenset(
    [
        "FOUND_ROWS",
        "GET_LOCK",
        "IS_FREE_LOCK",
        "IS_USED_LOCK",
        "LOAD_FILE",
        "MASTER_POS_WAIT",
        "RAND",
        "RELEASE_LOCK",
        "RELEASE_ALL_LOCKS",
        "ROW_COUNT",
        "SESSION_USER",
        "SLEEP",
        "SYSDATE",
        "SYSTEM_USER",
        "USER",
        "UUID",
        "UUID_SHORT",
        "CURRENT_USER",
        "VERSION",
        "RANDOM_BYTES",
    ]  # these three are not in the document
)
_MYSQL: Final = frozenset(
    [
        "AES_ENCRYPT",
        "AES_DECRYPT",
        "SOURCE_POS_WAIT",
        "ICU_VERSION",
        "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
    ]
)
_MARIADB: Final = frozenset(
    [
        "CURRENT_ROLE",
        "MASTER_GTID_WAIT",
        "BINLOG_GTID_POS",
        "SYS_GUID",
        "LASTVAL",
        "UUID_V4",
        "UUID_V7",
    ]
)

# The log has their values, or the replica takes them from the same session.
SAFE_VARIABLES: Final = frozenset(
    [
        "auto_increment_increment",
        "auto_increment_offset",
        "character_set_client",
        "character_set_connection",
        "character_set_database",
        "character_set_server",
        "collation_connection",
        "collation_database",
        "collation_server",
        "foreign_key_checks",
        "identity",
        "last_insert_id",
        "lc_time_names",
        "pseudo_thread_id",
        "sql_auto_is_null",
        "time_zone",
        "timestamp",
        "unique_checks",
    ]
)


def unsafe_functions(server: ServerVersion) -> frozenset[str]:
    """Return the functions, in capitals, that may return another value on a replica."""
    return _EVERYWHERE | (_MARIADB if server.is_mariadb else _MYSQL)


SAFE_FUNCTIONS: Final = frozenset(
    [
        "ADDDATE",
        "ADDTIME",
        "BENCHMARK",
        "BIN",
        "BIN_TO_UUID",
        "CHARSET",
        "COERCIBILITY",
        "CONNECTION_ID",
        "CONV",
        "CRC32",
        "DEFAULT",
        "EXPORT_SET",
        "EXTRACTVALUE",
        "FIELD",
        "FIND_IN_SET",
        "FROM_DAYS",
        "INET6_ATON",
        "INET6_NTOA",
        "INET_ATON",
        "INET_NTOA",
        "IS_IPV4",
        "IS_IPV6",
        "IS_UUID",
        "JSON_ARRAY",
        "JSON_CONTAINS",
        "JSON_CONTAINS_PATH",
        "JSON_DEPTH",
        "JSON_INSERT",
        "JSON_LENGTH",
        "JSON_MERGE_PATCH",
        "JSON_MERGE_PRESERVE",
        "JSON_OBJECT",
        "JSON_OVERLAPS",
        "JSON_PRETTY",
        "JSON_QUOTE",
        "JSON_REPLACE",
        "JSON_SEARCH",
        "JSON_UNQUOTE",
        "JSON_VALID",
        "JSON_VALUE",
        "LAST_INSERT_ID",
        "MAKEDATE",
        "MAKE_SET",
        "MICROSECOND",
        "MID",
        "NAME_CONST",
        "NOW",
        "OCT",
        "OCTET_LENGTH",
        "ORD",
        "PERIOD_ADD",
        "PERIOD_DIFF",
        "QUOTE",
        "ROW",
        "SEC_TO_TIME",
        "STRCMP",
        "ST_ASTEXT",
        "ST_GEOMFROMTEXT",
        "SUBDATE",
        "SUBTIME",
        "TIMEDIFF",
        "TIME_FORMAT",
        "TIME_TO_SEC",
        "TO_SECONDS",
        "UNCOMPRESS",
        "UNCOMPRESSED_LENGTH",
        "UNIX_TIMESTAMP",
        "UPDATEXML",
        "UUID_TO_BIN",
        "VALUES",
        "WEEKDAY",
        "YEARWEEK",
    ]
)
