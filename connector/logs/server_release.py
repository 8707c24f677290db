"""The server that wrote a log, as far as the texts of SHOW BINLOG EVENTS depend on it.

A log's first event shows its release. The release decides the names of character sets, and the
names of event types, which are those of the servers' `Log_event::get_type_str`.

https://dev.mysql.com/doc/refman/8.4/en/show-binlog-events.html
https://mariadb.com/kb/en/show-binlog-events/
"""

import re
from typing import NamedTuple

from connector.binlog.character_sets import charset_of, collation_name
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.header import EventType

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_LATEST = (99, 0, 0)

# MySQL renamed the character set before its collations, MariaDB both at once.
_UTF8MB3_CHARSET = (8, 0, 28)
_UTF8MB3_COLLATIONS = (8, 0, 30)
_UTF8MB3_MARIADB = (10, 6, 0)


class ServerRelease(NamedTuple):
    """The server whose texts are shown; the latest MySQL if the log names none."""

    mariadb: bool = False
    version: tuple[int, int, int] = _LATEST

    @classmethod
    def of(cls, first_event: FormatDescriptionEvent | StartEventV3) -> "ServerRelease":
        """Return the server of an event that starts a log."""
        text = first_event.server_version
        match = _VERSION.match(text)
        version = (int(match[1]), int(match[2]), int(match[3])) if match else _LATEST
        return cls("mariadb" in text.lower(), version)

    def charset_and_collation(self, collation: int) -> tuple[str, str] | None:
        """Return the names that this server has for a collation and its character set."""
        charset = charset_of(collation, mariadb=self.mariadb)
        name = collation_name(collation, mariadb=self.mariadb)
        if charset is None or name is None:
            return None
        if charset == "utf8mb3":
            if self.version < (_UTF8MB3_MARIADB if self.mariadb else _UTF8MB3_COLLATIONS):
                name = name.replace("utf8mb3", "utf8", 1)
            if self.version < (_UTF8MB3_MARIADB if self.mariadb else _UTF8MB3_CHARSET):
                charset = "utf8"
        return charset, name


_UNKNOWN = "Unknown"

_NAMES: dict[int, str] = {
    EventType.START_EVENT_V3: "Start_v3",
    EventType.QUERY_EVENT: "Query",
    EventType.STOP_EVENT: "Stop",
    EventType.ROTATE_EVENT: "Rotate",
    EventType.INTVAR_EVENT: "Intvar",
    EventType.LOAD_EVENT: "Load",
    EventType.SLAVE_EVENT: "Slave",
    EventType.CREATE_FILE_EVENT: "Create_file",
    EventType.APPEND_BLOCK_EVENT: "Append_block",
    EventType.EXEC_LOAD_EVENT: "Exec_load",
    EventType.DELETE_FILE_EVENT: "Delete_file",
    EventType.NEW_LOAD_EVENT: "New_load",
    EventType.RAND_EVENT: "RAND",
    EventType.USER_VAR_EVENT: "User var",
    EventType.FORMAT_DESCRIPTION_EVENT: "Format_desc",
    EventType.XID_EVENT: "Xid",
    EventType.BEGIN_LOAD_QUERY_EVENT: "Begin_load_query",
    EventType.EXECUTE_LOAD_QUERY_EVENT: "Execute_load_query",
    EventType.TABLE_MAP_EVENT: "Table_map",
    EventType.PRE_GA_WRITE_ROWS_EVENT: "Write_rows_event_old",
    EventType.PRE_GA_UPDATE_ROWS_EVENT: "Update_rows_event_old",
    EventType.PRE_GA_DELETE_ROWS_EVENT: "Delete_rows_event_old",
    EventType.WRITE_ROWS_EVENT_V1: "Write_rows_v1",
    EventType.UPDATE_ROWS_EVENT_V1: "Update_rows_v1",
    EventType.DELETE_ROWS_EVENT_V1: "Delete_rows_v1",
    EventType.INCIDENT_EVENT: "Incident",
    EventType.HEARTBEAT_LOG_EVENT: "Heartbeat",
    EventType.IGNORABLE_LOG_EVENT: "Ignorable",
    EventType.ROWS_QUERY_LOG_EVENT: "Rows_query",
    EventType.WRITE_ROWS_EVENT: "Write_rows",
    EventType.UPDATE_ROWS_EVENT: "Update_rows",
    EventType.DELETE_ROWS_EVENT: "Delete_rows",
    EventType.GTID_LOG_EVENT: "Gtid",
    EventType.ANONYMOUS_GTID_LOG_EVENT: "Anonymous_Gtid",
    EventType.PREVIOUS_GTIDS_LOG_EVENT: "Previous_gtids",
    EventType.TRANSACTION_CONTEXT_EVENT: "Transaction_context",
    EventType.VIEW_CHANGE_EVENT: "View_change",
    EventType.XA_PREPARE_LOG_EVENT: "XA_prepare",
    EventType.PARTIAL_UPDATE_ROWS_EVENT: "Update_rows_partial",
    EventType.TRANSACTION_PAYLOAD_EVENT: "Transaction_payload",
    EventType.HEARTBEAT_LOG_EVENT_V2: "Heartbeat",
    EventType.GTID_TAGGED_LOG_EVENT: "Gtid_tagged_log_event",
    EventType.ANNOTATE_ROWS_EVENT: "Annotate_rows",
    EventType.BINLOG_CHECKPOINT_EVENT: "Binlog_checkpoint",
    EventType.GTID_EVENT: "Gtid",
    EventType.GTID_LIST_EVENT: "Gtid_list",
    EventType.START_ENCRYPTION_EVENT: "Start_encryption",
    EventType.QUERY_COMPRESSED_EVENT: "Query_compressed",
    EventType.WRITE_ROWS_COMPRESSED_EVENT_V1: "Write_rows_compressed_v1",
    EventType.UPDATE_ROWS_COMPRESSED_EVENT_V1: "Update_rows_compressed_v1",
    EventType.DELETE_ROWS_COMPRESSED_EVENT_V1: "Delete_rows_compressed_v1",
    EventType.WRITE_ROWS_COMPRESSED_EVENT: "Write_rows_compressed",
    EventType.UPDATE_ROWS_COMPRESSED_EVENT: "Update_rows_compressed",
    EventType.DELETE_ROWS_COMPRESSED_EVENT: "Delete_rows_compressed",
    EventType.PARTIAL_ROW_DATA_EVENT: "Partial_row_data",
}

# MariaDB's names for MySQL's types that a log of MariaDB does not have.
_MARIADB_NAMES: dict[int, str] = {
    EventType.IGNORABLE_LOG_EVENT: "Ignorable log event",
    EventType.ROWS_QUERY_LOG_EVENT: "MySQL Rows_query",
    EventType.GTID_LOG_EVENT: "MySQL Gtid",
    EventType.ANONYMOUS_GTID_LOG_EVENT: "MySQL Anonymous_Gtid",
    EventType.PREVIOUS_GTIDS_LOG_EVENT: "MySQL Previous_gtids",
}

# Names from the time before these events had a second version.
_FIRST_ROWS: dict[int, str] = {
    EventType.WRITE_ROWS_EVENT_V1: "Write_rows",
    EventType.UPDATE_ROWS_EVENT_V1: "Update_rows",
    EventType.DELETE_ROWS_EVENT_V1: "Delete_rows",
}
_SECOND_ROWS_MYSQL = (5, 6, 0)
_SECOND_ROWS_MARIADB = (10, 0, 0)


def event_type_text(type_code: int, server: ServerRelease) -> str:
    """Return the name that `server` shows for a type."""
    second_rows = _SECOND_ROWS_MARIADB if server.mariadb else _SECOND_ROWS_MYSQL
    if server.version < second_rows and type_code in _FIRST_ROWS:
        return _FIRST_ROWS[type_code]
    if server.mariadb and type_code in _MARIADB_NAMES:
        return _MARIADB_NAMES[type_code]
    return _NAMES.get(type_code, _UNKNOWN)
