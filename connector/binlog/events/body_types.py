"""The type of an event becomes its body: the classes of bodies that need no earlier event.

An entry of `BODIES` takes the body after the header, the header, and the format of the log; it
reads the body to its end. Table maps, rows and what holds other events are decoded by
`body_decoder`, because they need its state.
"""

from collections.abc import Callable
from typing import Final

from connector.binlog.events import control, load, mariadb, transaction
from connector.binlog.events.compression import decompress_query
from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.query import ExecuteLoadQueryEvent, QueryEvent, RowsQueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.header import EventHeader, EventType
from connector.binlog.payload_reader import PayloadReader

# A body that holds no events of its own.
PlainBody = (
    mariadb.AnnotateRowsEvent
    | transaction.AnonymousGtidEvent
    | load.AppendBlockEvent
    | load.BeginLoadQueryEvent
    | mariadb.BinlogCheckpointEvent
    | load.CreateFileEvent
    | load.DeleteFileEvent
    | load.ExecLoadEvent
    | ExecuteLoadQueryEvent
    | FormatDescriptionEvent
    | transaction.GtidEvent
    | GtidTaggedEvent
    | control.HeartbeatEvent
    | control.IgnorableEvent
    | control.IncidentEvent
    | IntvarEvent
    | load.LoadEvent
    | mariadb.MariadbGtidEvent
    | mariadb.MariadbGtidListEvent
    | mariadb.PartialRowDataEvent
    | transaction.PreviousGtidsEvent
    | QueryEvent
    | RandEvent
    | control.RotateEvent
    | RowsEvent
    | RowsQueryEvent
    | control.SlaveEvent
    | control.StartEncryptionEvent
    | StartEventV3
    | control.StopEvent
    | TableMapEvent
    | control.TransactionContextEvent
    | UserVarEvent
    | control.ViewChangeEvent
    | transaction.XaPrepareEvent
    | transaction.XidEvent
)

ReadBody = Callable[[PayloadReader, EventHeader, FormatDescriptionEvent], PlainBody]


def _decode_compressed_query(body: PayloadReader, post_header_length: int | None) -> QueryEvent:
    return QueryEvent.decode(decompress_query(body, post_header_length), post_header_length)


# Rare bodies whose fixed part is as long as the log says.
_BY_LENGTH: dict[int, Callable[[PayloadReader, int | None], PlainBody]] = {
    EventType.INTVAR_EVENT: IntvarEvent.decode,
    EventType.SLAVE_EVENT: control.SlaveEvent.decode,
    EventType.APPEND_BLOCK_EVENT: load.AppendBlockEvent.decode,
    EventType.EXEC_LOAD_EVENT: load.ExecLoadEvent.decode,
    EventType.DELETE_FILE_EVENT: load.DeleteFileEvent.decode,
    EventType.NEW_LOAD_EVENT: load.LoadEvent.decode,
    EventType.RAND_EVENT: RandEvent.decode,
    EventType.BEGIN_LOAD_QUERY_EVENT: load.BeginLoadQueryEvent.decode,
    EventType.EXECUTE_LOAD_QUERY_EVENT: ExecuteLoadQueryEvent.decode,
    EventType.INCIDENT_EVENT: control.IncidentEvent.decode,
    EventType.QUERY_COMPRESSED_EVENT: _decode_compressed_query,
}

_BODIES: dict[int, ReadBody] = {
    EventType.START_EVENT_V3: lambda body, _, __: StartEventV3.decode(body),
    EventType.QUERY_EVENT: lambda body, _, log: QueryEvent.decode(
        body, log.post_header_length(EventType.QUERY_EVENT)
    ),
    EventType.STOP_EVENT: lambda body, _, __: control.StopEvent.decode(body),
    EventType.ROTATE_EVENT: lambda body, _, log: control.RotateEvent.decode(
        body, has_position=log.post_header_length(EventType.ROTATE_EVENT) != 0
    ),
    EventType.LOAD_EVENT: lambda body, _, log: load.LoadEvent.decode(
        body, log.post_header_length(EventType.LOAD_EVENT), old_format=True
    ),
    EventType.CREATE_FILE_EVENT: lambda body, _, log: load.CreateFileEvent.decode(
        body,
        log.post_header_length(EventType.LOAD_EVENT),
        log.post_header_length(EventType.CREATE_FILE_EVENT),
    ),
    EventType.USER_VAR_EVENT: lambda body, _, log: UserVarEvent.decode(
        body, log.post_header_length(EventType.USER_VAR_EVENT), mariadb=log.mariadb
    ),
    EventType.XID_EVENT: lambda body, _, __: transaction.XidEvent.decode(body),
    EventType.HEARTBEAT_LOG_EVENT: lambda body, header, _: control.HeartbeatEvent.decode(
        body, header
    ),
    EventType.HEARTBEAT_LOG_EVENT_V2: lambda body, _, __: control.HeartbeatEvent.decode_v2(body),
    EventType.IGNORABLE_LOG_EVENT: lambda body, _, __: control.IgnorableEvent.decode(body),
    EventType.ROWS_QUERY_LOG_EVENT: lambda body, _, __: RowsQueryEvent.decode(body),
    EventType.GTID_LOG_EVENT: lambda body, _, __: transaction.GtidEvent.decode(body),
    EventType.ANONYMOUS_GTID_LOG_EVENT: lambda body, _, __: transaction.AnonymousGtidEvent.decode(
        body
    ),
    EventType.PREVIOUS_GTIDS_LOG_EVENT: lambda body, _, __: transaction.PreviousGtidsEvent.decode(
        body
    ),
    EventType.GTID_TAGGED_LOG_EVENT: lambda body, _, __: GtidTaggedEvent.decode(body),
    EventType.TRANSACTION_CONTEXT_EVENT: lambda body, _, __: control.TransactionContextEvent.decode(
        body
    ),
    EventType.VIEW_CHANGE_EVENT: lambda body, _, __: control.ViewChangeEvent.decode(body),
    EventType.XA_PREPARE_LOG_EVENT: lambda body, _, __: transaction.XaPrepareEvent.decode(body),
    EventType.ANNOTATE_ROWS_EVENT: lambda body, _, __: mariadb.AnnotateRowsEvent.decode(body),
    EventType.BINLOG_CHECKPOINT_EVENT: lambda body, _, __: mariadb.BinlogCheckpointEvent.decode(
        body
    ),
    EventType.GTID_EVENT: lambda body, header, _: mariadb.MariadbGtidEvent.decode(body, header),
    EventType.GTID_LIST_EVENT: lambda body, _, __: mariadb.MariadbGtidListEvent.decode(body),
    EventType.START_ENCRYPTION_EVENT: lambda body, _, __: control.StartEncryptionEvent.decode(body),
}


def _by_length(type_code: int) -> ReadBody | None:
    decode = _BY_LENGTH.get(type_code)
    if decode is None:
        return None
    return lambda body, _, log: decode(body, log.post_header_length(type_code))


# The same by type code; None for a type that is decoded elsewhere.
BODIES: Final[list[ReadBody | None]] = [
    _BODIES.get(type_code) or _by_length(type_code) for type_code in range(256)
]
