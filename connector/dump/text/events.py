"""The summary of an event, which ends the header line, and the lines after it.

Rows, statements, GTIDs and commits, of which a log is full, are not here: they become bytes at
once, and `format` calls what writes them.

The words are those of `mysqlbinlog` and `mariadb-binlog`; statements end in `/*!*/;` as there.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog.html
"""

from __future__ import annotations

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
from connector.binlog.framing.event_types import event_name
from connector.binlog.framing.header import LOG_EVENT_BINLOG_IN_USE_F
from connector.dump.text.header import short_date
from connector.dump.text.session import END, SessionText
from connector.dump.text.statements import STATEMENTS, Description, commented
from connector.dump.text.transactions import TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.event import Event


def describe(event: Event, session: SessionText) -> Description:
    """Return the summary and the lines of an event; `session` keeps the variables that were set."""
    return DESCRIPTIONS[type(event.body)](session, event, event.body)


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
    RotateEvent: _rotate,
    SlaveEvent: _slave,
    StartEncryptionEvent: _start_encryption,
    StartEventV3: _start,
    StopEvent: _stop,
    TransactionContextEvent: _context,
    ViewChangeEvent: _view_change,
    **STATEMENTS,
    **TRANSACTIONS,
}
