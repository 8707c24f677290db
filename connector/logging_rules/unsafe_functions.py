"""Built-in functions and system variables that make a statement unsafe, by server.

The list was measured: each function was called in an INSERT on every server of the local stack. The
document's list is from 2009; `docs/logging-rules.md` says what has changed since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from connector.logging_rules.server_version import ServerVersion

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
