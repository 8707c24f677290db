"""An event: where it is in the log, its header, and its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.binlog.context_events import IntvarEvent, RandEvent, UserVarEvent
from connector.binlog.control_events import (
    IgnorableEvent,
    IncidentEvent,
    RotateEvent,
    SlaveEvent,
    StopEvent,
)
from connector.binlog.encryption_event import StartEncryptionEvent
from connector.binlog.format_description_event import FormatDescriptionEvent, StartEventV3
from connector.binlog.group_replication_events import TransactionContextEvent, ViewChangeEvent
from connector.binlog.gtid_tagged_event import GtidTaggedEvent
from connector.binlog.heartbeat_event import HeartbeatEvent
from connector.binlog.load_events import (
    AppendBlockEvent,
    BeginLoadQueryEvent,
    CreateFileEvent,
    DeleteFileEvent,
    ExecLoadEvent,
    LoadEvent,
)
from connector.binlog.mariadb_events import (
    AnnotateRowsEvent,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
)
from connector.binlog.partial_row_data import PartialRowDataEvent
from connector.binlog.rows_event import RowsEvent
from connector.binlog.statement_events import (
    ExecuteLoadQueryEvent,
    QueryEvent,
    RowsQueryEvent,
)
from connector.binlog.table_map_event import TableMapEvent
from connector.binlog.transaction_events import (
    AnonymousGtidEvent,
    GtidEvent,
    PreviousGtidsEvent,
    XidEvent,
)
from connector.binlog.transaction_payload import TransactionPayloadEvent
from connector.binlog.xa_event import XaPrepareEvent

if TYPE_CHECKING:
    from connector.binlog.header import EventHeader

EventBody = (
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
    | TransactionPayloadEvent
    | UserVarEvent
    | ViewChangeEvent
    | XaPrepareEvent
    | XidEvent
)


@dataclass(slots=True)
class Event:
    """One event of a log."""

    file: str  # the log it is in; "" before the stream has named it
    position: int  # of its first byte in the file, our own 64-bit count
    next_position: int  # of the first byte behind it; equal to `position` when artificial
    header: EventHeader
    body: EventBody
    data: bytes  # the whole event as in the file, with header and checksum
    checksum: int | None = None  # CRC32; None without
