"""The type of an event becomes its body: the classes of bodies that need no earlier event.

An entry of `BODIES` takes the body after the header, the header, and the format of the log; it
reads the body to its end. Table maps, rows and what holds other events are decoded by
`body_decoder`, because they need its state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from connector.binlog.events.compression import decompress_query
from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent
from connector.binlog.events.control import (
    HeartbeatEvent,
    IgnorableEvent,
    IncidentEvent,
    RotateEvent,
    SlaveEvent,
    StartEncryptionEvent,
    StopEvent,
    TransactionContextEvent,
    ViewChangeEvent,
)
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.load import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
    LoadEvent,
)
from connector.binlog.events.mariadb import (
    AnnotateRowsEvent,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
    PartialRowDataEvent,
)
from connector.binlog.events.query import ExecuteLoadQueryEvent, QueryEvent, RowsQueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import (
    AnonymousGtidEvent,
    GtidEvent,
    PreviousGtidsEvent,
    XaPrepareEvent,
    XidEvent,
)
from connector.binlog.header import EventHeader, EventType
from connector.binlog.payload_reader import PayloadReader

# A body that holds no events of its own.
PlainBody = (
    AnnotateRowsEvent
    | AnonymousGtidEvent
    | AppendBlockEvent
    | BeginLoadQueryEvent
    | BinlogCheckpointEvent
    | CreateFileEvent
    | DeleteFileEvent
    | ExecLoadEvent
    | ExecuteLoadQueryEvent
    | FormatDescriptionEvent
    | GtidEvent
    | GtidTaggedEvent
    | HeartbeatEvent
    | IgnorableEvent
    | IncidentEvent
    | IntvarEvent
    | LoadEvent
    | MariadbGtidEvent
    | MariadbGtidListEvent
    | PartialRowDataEvent
    | PreviousGtidsEvent
    | QueryEvent
    | RandEvent
    | RotateEvent
    | RowsEvent
    | RowsQueryEvent
    | SlaveEvent
    | StartEncryptionEvent
    | StartEventV3
    | StopEvent
    | TableMapEvent
    | TransactionContextEvent
    | UserVarEvent
    | ViewChangeEvent
    | XaPrepareEvent
    | XidEvent
)

ReadBody = Callable[[PayloadReader, EventHeader, FormatDescriptionEvent], PlainBody]


def _decode_compressed_query(body: PayloadReader, post_header_length: int | None) -> QueryEvent:
    return QueryEvent.decode(decompress_query(body, post_header_length), post_header_length)


_BODIES: dict[int, ReadBody] = {
    EventType.START_EVENT_V3: lambda body, _, __: StartEventV3.decode(body),
    EventType.QUERY_EVENT: lambda body, _, log: QueryEvent.decode(
        body, log.post_header_length(EventType.QUERY_EVENT)
    ),
    EventType.STOP_EVENT: lambda body, _, __: StopEvent.decode(body),
    EventType.ROTATE_EVENT: lambda body, _, log: RotateEvent.decode(
        body, has_position=log.post_header_length(EventType.ROTATE_EVENT) != 0
    ),
    EventType.INTVAR_EVENT: lambda body, _, log: IntvarEvent.decode(
        body, log.post_header_length(EventType.INTVAR_EVENT)
    ),
    EventType.LOAD_EVENT: lambda body, _, log: LoadEvent.decode(
        body, log.post_header_length(EventType.LOAD_EVENT), old_format=True
    ),
    EventType.SLAVE_EVENT: lambda body, _, log: SlaveEvent.decode(
        body, log.post_header_length(EventType.SLAVE_EVENT)
    ),
    EventType.CREATE_FILE_EVENT: lambda body, _, log: CreateFileEvent.decode(
        body,
        log.post_header_length(EventType.LOAD_EVENT),
        log.post_header_length(EventType.CREATE_FILE_EVENT),
    ),
    EventType.APPEND_BLOCK_EVENT: lambda body, _, log: AppendBlockEvent.decode(
        body, log.post_header_length(EventType.APPEND_BLOCK_EVENT)
    ),
    EventType.EXEC_LOAD_EVENT: lambda body, _, log: ExecLoadEvent.decode(
        body, log.post_header_length(EventType.EXEC_LOAD_EVENT)
    ),
    EventType.DELETE_FILE_EVENT: lambda body, _, log: DeleteFileEvent.decode(
        body, log.post_header_length(EventType.DELETE_FILE_EVENT)
    ),
    EventType.NEW_LOAD_EVENT: lambda body, _, log: LoadEvent.decode(
        body, log.post_header_length(EventType.NEW_LOAD_EVENT)
    ),
    EventType.RAND_EVENT: lambda body, _, log: RandEvent.decode(
        body, log.post_header_length(EventType.RAND_EVENT)
    ),
    EventType.USER_VAR_EVENT: lambda body, _, log: UserVarEvent.decode(
        body, log.post_header_length(EventType.USER_VAR_EVENT)
    ),
    EventType.BEGIN_LOAD_QUERY_EVENT: lambda body, _, log: BeginLoadQueryEvent.decode(
        body, log.post_header_length(EventType.BEGIN_LOAD_QUERY_EVENT)
    ),
    EventType.EXECUTE_LOAD_QUERY_EVENT: lambda body, _, log: ExecuteLoadQueryEvent.decode(
        body, log.post_header_length(EventType.EXECUTE_LOAD_QUERY_EVENT)
    ),
    EventType.INCIDENT_EVENT: lambda body, _, log: IncidentEvent.decode(
        body, log.post_header_length(EventType.INCIDENT_EVENT)
    ),
    EventType.XID_EVENT: lambda body, _, __: XidEvent.decode(body),
    EventType.HEARTBEAT_LOG_EVENT: lambda body, header, _: HeartbeatEvent.decode(body, header),
    EventType.HEARTBEAT_LOG_EVENT_V2: lambda body, _, __: HeartbeatEvent.decode_v2(body),
    EventType.IGNORABLE_LOG_EVENT: lambda body, _, __: IgnorableEvent.decode(body),
    EventType.ROWS_QUERY_LOG_EVENT: lambda body, _, __: RowsQueryEvent.decode(body),
    EventType.GTID_LOG_EVENT: lambda body, _, __: GtidEvent.decode(body),
    EventType.ANONYMOUS_GTID_LOG_EVENT: lambda body, _, __: AnonymousGtidEvent.decode(body),
    EventType.PREVIOUS_GTIDS_LOG_EVENT: lambda body, _, __: PreviousGtidsEvent.decode(body),
    EventType.GTID_TAGGED_LOG_EVENT: lambda body, _, __: GtidTaggedEvent.decode(body),
    EventType.TRANSACTION_CONTEXT_EVENT: lambda body, _, __: TransactionContextEvent.decode(body),
    EventType.VIEW_CHANGE_EVENT: lambda body, _, __: ViewChangeEvent.decode(body),
    EventType.XA_PREPARE_LOG_EVENT: lambda body, _, __: XaPrepareEvent.decode(body),
    EventType.ANNOTATE_ROWS_EVENT: lambda body, _, __: AnnotateRowsEvent.decode(body),
    EventType.BINLOG_CHECKPOINT_EVENT: lambda body, _, __: BinlogCheckpointEvent.decode(body),
    EventType.GTID_EVENT: lambda body, header, _: MariadbGtidEvent.decode(body, header),
    EventType.GTID_LIST_EVENT: lambda body, _, __: MariadbGtidListEvent.decode(body),
    EventType.START_ENCRYPTION_EVENT: lambda body, _, __: StartEncryptionEvent.decode(body),
    EventType.QUERY_COMPRESSED_EVENT: lambda body, _, log: _decode_compressed_query(
        body, log.post_header_length(EventType.QUERY_COMPRESSED_EVENT)
    ),
}

# The same by type code; None for a type that is decoded elsewhere.
BODIES: Final[list[ReadBody | None]] = [_BODIES.get(type_code) for type_code in range(256)]
