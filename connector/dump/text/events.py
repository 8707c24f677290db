"""An event's body becomes its summary, which ends the header line, and the lines after it.

The words are those of `mysqlbinlog` and `mariadb-binlog`; statements end in `/*!*/;` as there.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog.html
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from connector.binlog.events.control import (
    IgnorableEvent,
    IncidentEvent,
    RotateEvent,
    SlaveEvent,
    StopEvent,
)
from connector.binlog.events.encryption import StartEncryptionEvent
from connector.binlog.events.format_description import FormatDescriptionEvent, StartEventV3
from connector.binlog.events.group_replication import TransactionContextEvent, ViewChangeEvent
from connector.binlog.events.heartbeat import HeartbeatEvent
from connector.binlog.events.mariadb import BinlogCheckpointEvent
from connector.binlog.events.partial_row_data import PartialRowDataEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.framing.event_types import EventType, event_name
from connector.binlog.framing.header import LOG_EVENT_BINLOG_IN_USE_F
from connector.codec.sql_text import quoted_name
from connector.dump.events.event_info import ROWS_FLAGS
from connector.dump.text.rows import row_lines
from connector.dump.text.session import END, SessionText
from connector.dump.text.statements import STATEMENTS, Description, commented
from connector.dump.text.transactions import TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.event import Event

_ROWS_NAMES: dict[int, str] = {
    EventType.PRE_GA_WRITE_ROWS_EVENT: "Write_rows_event_old",
    EventType.PRE_GA_UPDATE_ROWS_EVENT: "Update_rows_event_old",
    EventType.PRE_GA_DELETE_ROWS_EVENT: "Delete_rows_event_old",
    EventType.WRITE_ROWS_EVENT_V1: "Write_rows",
    EventType.UPDATE_ROWS_EVENT_V1: "Update_rows",
    EventType.DELETE_ROWS_EVENT_V1: "Delete_rows",
    EventType.WRITE_ROWS_EVENT: "Write_rows",
    EventType.UPDATE_ROWS_EVENT: "Update_rows",
    EventType.DELETE_ROWS_EVENT: "Delete_rows",
    EventType.PARTIAL_UPDATE_ROWS_EVENT: "Update_rows_partial",
    EventType.WRITE_ROWS_COMPRESSED_EVENT_V1: "Write_compressed_rows",
    EventType.UPDATE_ROWS_COMPRESSED_EVENT_V1: "Update_compressed_rows",
    EventType.DELETE_ROWS_COMPRESSED_EVENT_V1: "Delete_compressed_rows",
    EventType.WRITE_ROWS_COMPRESSED_EVENT: "Write_compressed_rows",
    EventType.UPDATE_ROWS_COMPRESSED_EVENT: "Update_compressed_rows",
    EventType.DELETE_ROWS_COMPRESSED_EVENT: "Delete_compressed_rows",
    EventType.PARTIAL_ROW_DATA_EVENT: "Rows",
}


def describe(event: Event, session: SessionText) -> Description:
    """Return the summary and the lines of an event; `session` keeps the variables that were set."""
    return DESCRIPTIONS[type(event.body)](session, event, event.body)


def short_date(timestamp: int) -> str:
    """Return `yymmdd hh:mm:ss` in UTC, the hour without a leading zero, as header lines have it."""
    moment = datetime.fromtimestamp(timestamp, UTC)
    return f"{moment:%y%m%d} {moment.hour:2d}:{moment:%M:%S}"


def _start(session: SessionText, event: Event, body: StartEventV3) -> Description:
    del session
    summary = (
        f"Start: binlog v {body.binlog_version}, server v {body.server_version} "
        f"created {short_date(body.create_timestamp or event.header.timestamp)}"
    )
    return summary, []


def _format(session: SessionText, event: Event, body: FormatDescriptionEvent) -> Description:
    del session
    restarted = body.create_timestamp != 0
    summary = (
        f"Start: binlog v {body.binlog_version}, server v {body.server_version} "
        f"created {short_date(event.header.timestamp)}{' at startup' if restarted else ''}"
    )
    lines = []
    if event.header.flags & LOG_EVENT_BINLOG_IN_USE_F:
        lines.append("# Warning: this binlog is either in use or was not closed properly.")
    if restarted:
        # The server had not committed it when it ended, so it is lost.
        lines.append(f"ROLLBACK{END}")
    return summary, lines


def _rotate(session: SessionText, event: Event, body: RotateEvent) -> Description:
    del session, event
    return f"Rotate to {body.next_file}  pos: {body.next_position}", []


def _stop(session: SessionText, event: Event, body: StopEvent) -> Description:
    del session, event, body
    return "Stop", []


def _heartbeat(session: SessionText, event: Event, body: HeartbeatEvent) -> Description:
    del session, event
    return f"Heartbeat {body.file}  pos: {body.position}", []


def _ignorable(session: SessionText, event: Event, body: IgnorableEvent) -> Description:
    del session
    return "Ignorable", [f"# {event_name(event.header.type_code)}, {len(body.data)} bytes"]


def _checkpoint(session: SessionText, event: Event, body: BinlogCheckpointEvent) -> Description:
    del session, event
    return f"Binlog checkpoint {body.file}", []


def _table_map(session: SessionText, event: Event, body: TableMapEvent) -> Description:
    del session, event
    table = quoted_name(body.schema, body.table)
    return f"Table_map: {table} mapped to number {body.table_id}", []


def _rows(session: SessionText, event: Event, body: RowsEvent) -> Description:
    del session
    names = [name for bit, name in ROWS_FLAGS.items() if body.flags & bit]
    summary = f"{_ROWS_NAMES[event.header.type_code]}: table id {body.table_map.table_id}"
    if names:
        summary += f" flags: {' '.join(names)}"
    if body.refused is not None:
        return summary, commented(f"The rows are not shown: {body.refused}")
    return summary, row_lines(body)


def _partial_rows(session: SessionText, event: Event, body: PartialRowDataEvent) -> Description:
    summary = (
        f"Partial_row_data: fragment {body.sequence_number} of {body.total_fragments}, "
        f"{len(body.fragment)} bytes"
    )
    if body.rows_event is None:
        return summary, []
    rows, lines = _rows(session, event, body.rows_event)
    return f"{summary}, ends {rows}", lines


def _incident(session: SessionText, event: Event, body: IncidentEvent) -> Description:
    del session, event
    message = [f"# {body.message}"] if body.message else []
    return f"Incident: {body.incident} ({body.name})", message


def _slave(session: SessionText, event: Event, body: SlaveEvent) -> Description:
    del session, event
    host = f"{body.master_host}:{body.master_port}"
    return f"Slave: master {host}, log {body.master_log}  pos: {body.master_pos}", []


def _start_encryption(
    session: SessionText, event: Event, body: StartEncryptionEvent
) -> Description:
    del session, event
    summary = (
        f"Encryption scheme: {body.scheme}, key_version: {body.key_version}, "
        f"nonce: {body.nonce.hex()}"
    )
    return summary, ["# The rest of the binlog is encrypted!"]


def _context(session: SessionText, event: Event, body: TransactionContextEvent) -> Description:
    del session, event
    summary = (
        f"Transaction_context: server_uuid={body.server_uuid}\tthread_id={body.thread_id}"
        f"\twrite_set={len(body.write_set)}\tread_set={len(body.read_set)}"
    )
    return summary, commented(f"snapshot_version {body.snapshot_version}")


def _view_change(session: SessionText, event: Event, body: ViewChangeEvent) -> Description:
    del session, event
    summary = (
        f"View_change: view_id={body.view_id}\tsequence_number={body.sequence_number}"
        f"\tcertification_info={len(body.certification_info)}"
    )
    return summary, []


DESCRIPTIONS: dict[type, Callable[[SessionText, Event, Any], Description]] = {
    BinlogCheckpointEvent: _checkpoint,
    FormatDescriptionEvent: _format,
    HeartbeatEvent: _heartbeat,
    IgnorableEvent: _ignorable,
    IncidentEvent: _incident,
    PartialRowDataEvent: _partial_rows,
    RotateEvent: _rotate,
    RowsEvent: _rows,
    SlaveEvent: _slave,
    StartEncryptionEvent: _start_encryption,
    StartEventV3: _start,
    StopEvent: _stop,
    TableMapEvent: _table_map,
    TransactionContextEvent: _context,
    ViewChangeEvent: _view_change,
    **STATEMENTS,
    **TRANSACTIONS,
}
