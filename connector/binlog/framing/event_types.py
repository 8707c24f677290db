"""The type code of an event becomes its name, as the servers' sources spell the constants.

https://dev.mysql.com/doc/dev/mysql-server/latest/namespacemysql_1_1binlog_1_1event.html
https://mariadb.com/kb/en/2-binlog-event-header/
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

# The most frequent events of a log, and those that say where the log is: plain numbers, because
# the type of every event is compared with them.
QUERY: Final = 2
ROTATE: Final = 4
FORMAT_DESCRIPTION: Final = 15
XID: Final = 16
TABLE_MAP: Final = 19
HEARTBEAT_LOG: Final = 27
ROWS_QUERY_LOG: Final = 29
GTID_LOG: Final = 33
ANONYMOUS_GTID_LOG: Final = 34
PREVIOUS_GTIDS: Final = 35
PARTIAL_UPDATE_ROWS: Final = 39
TRANSACTION_PAYLOAD: Final = 40
HEARTBEAT_LOG_V2: Final = 41
ANNOTATE_ROWS: Final = 160
MARIADB_GTID: Final = 162
GTID_LIST: Final = 163
START_ENCRYPTION: Final = 164
PARTIAL_ROW_DATA: Final = 172


class EventType(IntEnum):
    """Every event type of MySQL (0 to 42) and of MariaDB (160 to 172)."""

    UNKNOWN_EVENT = 0
    START_EVENT_V3 = 1
    QUERY_EVENT = QUERY
    STOP_EVENT = 3
    ROTATE_EVENT = ROTATE
    INTVAR_EVENT = 5
    LOAD_EVENT = 6
    SLAVE_EVENT = 7
    CREATE_FILE_EVENT = 8
    APPEND_BLOCK_EVENT = 9
    EXEC_LOAD_EVENT = 10
    DELETE_FILE_EVENT = 11
    NEW_LOAD_EVENT = 12
    RAND_EVENT = 13
    USER_VAR_EVENT = 14
    FORMAT_DESCRIPTION_EVENT = FORMAT_DESCRIPTION
    XID_EVENT = XID
    BEGIN_LOAD_QUERY_EVENT = 17
    EXECUTE_LOAD_QUERY_EVENT = 18
    TABLE_MAP_EVENT = TABLE_MAP
    PRE_GA_WRITE_ROWS_EVENT = 20
    PRE_GA_UPDATE_ROWS_EVENT = 21
    PRE_GA_DELETE_ROWS_EVENT = 22
    WRITE_ROWS_EVENT_V1 = 23
    UPDATE_ROWS_EVENT_V1 = 24
    DELETE_ROWS_EVENT_V1 = 25
    INCIDENT_EVENT = 26
    HEARTBEAT_LOG_EVENT = HEARTBEAT_LOG
    IGNORABLE_LOG_EVENT = 28
    ROWS_QUERY_LOG_EVENT = ROWS_QUERY_LOG
    WRITE_ROWS_EVENT = 30
    UPDATE_ROWS_EVENT = 31
    DELETE_ROWS_EVENT = 32
    GTID_LOG_EVENT = GTID_LOG
    ANONYMOUS_GTID_LOG_EVENT = ANONYMOUS_GTID_LOG
    PREVIOUS_GTIDS_LOG_EVENT = PREVIOUS_GTIDS
    TRANSACTION_CONTEXT_EVENT = 36
    VIEW_CHANGE_EVENT = 37
    XA_PREPARE_LOG_EVENT = 38
    PARTIAL_UPDATE_ROWS_EVENT = PARTIAL_UPDATE_ROWS
    TRANSACTION_PAYLOAD_EVENT = TRANSACTION_PAYLOAD
    HEARTBEAT_LOG_EVENT_V2 = HEARTBEAT_LOG_V2
    GTID_TAGGED_LOG_EVENT = 42

    ANNOTATE_ROWS_EVENT = ANNOTATE_ROWS
    BINLOG_CHECKPOINT_EVENT = 161
    GTID_EVENT = MARIADB_GTID
    GTID_LIST_EVENT = GTID_LIST
    START_ENCRYPTION_EVENT = START_ENCRYPTION
    QUERY_COMPRESSED_EVENT = 165
    WRITE_ROWS_COMPRESSED_EVENT_V1 = 166
    UPDATE_ROWS_COMPRESSED_EVENT_V1 = 167
    DELETE_ROWS_COMPRESSED_EVENT_V1 = 168
    WRITE_ROWS_COMPRESSED_EVENT = 169
    UPDATE_ROWS_COMPRESSED_EVENT = 170
    DELETE_ROWS_COMPRESSED_EVENT = 171
    PARTIAL_ROW_DATA_EVENT = PARTIAL_ROW_DATA


def event_name(type_code: int) -> str:
    """Return the constant's name, or `event type n` for a number without one."""
    if 0 <= type_code < _CODES:
        return _NAMES[type_code]
    return f"event type {type_code}"


# A type code has one byte.
_CODES: Final = 256
_CONSTANTS: dict[int, str] = {event_type.value: event_type.name for event_type in EventType}
_NAMES: Final = [_CONSTANTS.get(code, f"event type {code}") for code in range(_CODES)]
