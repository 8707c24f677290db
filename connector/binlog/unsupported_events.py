"""Event types that this version does not read become the reason, and what to do about it."""

from __future__ import annotations

from connector.binlog.event_types import EventType

_ROW_FORMAT = "a change was logged as a statement: SET GLOBAL binlog_format=ROW"
_LOAD_DATA = f"it belongs to a LOAD DATA of a server before 5.0, or {_ROW_FORMAT}"
_MARIADB_COMPRESSED = "compressed events are not supported: SET GLOBAL log_bin_compress=OFF"
_GROUP_REPLICATION = "events of Group Replication are not supported: read from another replica"
_PRE_GA = "rows of 5.1 pre-releases are not supported: upgrade the server"

_REASONS: dict[int, str] = {
    EventType.START_EVENT_V3: "binlog formats v1 to v3 (before 5.0) are not supported",
    EventType.INTVAR_EVENT: _ROW_FORMAT,
    EventType.RAND_EVENT: _ROW_FORMAT,
    EventType.USER_VAR_EVENT: _ROW_FORMAT,
    EventType.LOAD_EVENT: _LOAD_DATA,
    EventType.CREATE_FILE_EVENT: _LOAD_DATA,
    EventType.APPEND_BLOCK_EVENT: _LOAD_DATA,
    EventType.EXEC_LOAD_EVENT: _LOAD_DATA,
    EventType.DELETE_FILE_EVENT: _LOAD_DATA,
    EventType.NEW_LOAD_EVENT: _LOAD_DATA,
    EventType.BEGIN_LOAD_QUERY_EVENT: _ROW_FORMAT,
    EventType.EXECUTE_LOAD_QUERY_EVENT: _ROW_FORMAT,
    EventType.PRE_GA_WRITE_ROWS_EVENT: _PRE_GA,
    EventType.PRE_GA_UPDATE_ROWS_EVENT: _PRE_GA,
    EventType.PRE_GA_DELETE_ROWS_EVENT: _PRE_GA,
    EventType.INCIDENT_EVENT: (
        "the server reports that changes may be missing from its log: copy the tables anew and "
        "start behind the event"
    ),
    EventType.TRANSACTION_CONTEXT_EVENT: _GROUP_REPLICATION,
    EventType.VIEW_CHANGE_EVENT: _GROUP_REPLICATION,
    EventType.XA_PREPARE_LOG_EVENT: "XA transactions are not supported: use plain transactions",
    EventType.TRANSACTION_PAYLOAD_EVENT: (
        "compressed transactions are not supported: SET GLOBAL binlog_transaction_compression=OFF"
    ),
    EventType.START_ENCRYPTION_EVENT: (
        "encrypted files are not supported: read the log from the server, which decrypts it"
    ),
    EventType.QUERY_COMPRESSED_EVENT: _MARIADB_COMPRESSED,
    EventType.WRITE_ROWS_COMPRESSED_EVENT_V1: _MARIADB_COMPRESSED,
    EventType.UPDATE_ROWS_COMPRESSED_EVENT_V1: _MARIADB_COMPRESSED,
    EventType.DELETE_ROWS_COMPRESSED_EVENT_V1: _MARIADB_COMPRESSED,
    EventType.WRITE_ROWS_COMPRESSED_EVENT: _MARIADB_COMPRESSED,
    EventType.UPDATE_ROWS_COMPRESSED_EVENT: _MARIADB_COMPRESSED,
    EventType.DELETE_ROWS_COMPRESSED_EVENT: _MARIADB_COMPRESSED,
    EventType.PARTIAL_ROW_DATA_EVENT: (
        "fragmented rows events are not supported: raise binlog_row_event_fragment_threshold"
    ),
}


def why_unsupported(type_code: int) -> str:
    """Return why an event of this type cannot be read, and what to do."""
    return _REASONS.get(
        type_code, "this type is not known and not flagged as ignorable: upgrade the connector"
    )
