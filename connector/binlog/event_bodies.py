"""How the body of each event type is decoded, where earlier events of the log do not matter.

An entry takes the body behind the header, the header, and the format of the log; it reads the body
to its end. Table maps, rows and what holds other events are decoded by `decoder`, because they need
its state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.control_events import (
    HeartbeatEvent,
    IgnorableEvent,
    RotateEvent,
    StartEventV3,
    StopEvent,
)
from connector.binlog.event_types import EventType
from connector.binlog.gtid_tagged_event import GtidTaggedEvent
from connector.binlog.mariadb_events import (
    AnnotateRowsEvent,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
)
from connector.binlog.statement_events import QueryEvent, RowsQueryEvent
from connector.binlog.transaction_events import (
    AnonymousGtidEvent,
    GtidEvent,
    PreviousGtidsEvent,
    XidEvent,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.control_events import FormatDescriptionEvent
    from connector.binlog.event import EventBody
    from connector.binlog.header import EventHeader
    from connector.payload import PayloadReader

    BodyDecoder = Callable[[PayloadReader, EventHeader, FormatDescriptionEvent], EventBody]

BODIES: dict[int, BodyDecoder] = {
    EventType.START_EVENT_V3: lambda body, _, __: StartEventV3.decode(body),
    EventType.QUERY_EVENT: lambda body, _, __: QueryEvent.decode(body),
    EventType.STOP_EVENT: lambda body, _, __: StopEvent.decode(body),
    EventType.ROTATE_EVENT: lambda body, _, log: RotateEvent.decode(
        body, has_position=log.post_header_length(EventType.ROTATE_EVENT) != 0
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
    EventType.ANNOTATE_ROWS_EVENT: lambda body, _, __: AnnotateRowsEvent.decode(body),
    EventType.BINLOG_CHECKPOINT_EVENT: lambda body, _, __: BinlogCheckpointEvent.decode(body),
    EventType.GTID_EVENT: lambda body, header, _: MariadbGtidEvent.decode(body, header),
    EventType.GTID_LIST_EVENT: lambda body, _, __: MariadbGtidListEvent.decode(body),
}
