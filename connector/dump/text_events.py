"""An event's body becomes its summary, which ends the header line, and the lines behind it.

The words are those of `mysqlbinlog` and `mariadb-binlog`; statements end in `/*!*/;` as there.

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog.html
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from connector.binlog.control_events import (
    FormatDescriptionEvent,
    HeartbeatEvent,
    IgnorableEvent,
    RotateEvent,
    StartEventV3,
    StopEvent,
)
from connector.binlog.event_types import EventType, event_name
from connector.binlog.gtid_tagged_event import GtidTaggedEvent
from connector.binlog.header import LOG_EVENT_BINLOG_IN_USE_F
from connector.binlog.mariadb_events import (
    AnnotateRowsEvent,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
)
from connector.binlog.rows_event import RowsEvent
from connector.binlog.table_map_event import TableMapEvent
from connector.binlog.transaction_events import (
    FLAG_MAY_HAVE_SBR,
    AnonymousGtidEvent,
    GtidEvent,
    PreviousGtidsEvent,
    XidEvent,
)
from connector.dump.text_rows import quoted_name, row_lines
from connector.dump.text_session import END, SessionText
from connector.dump.text_statements import STATEMENTS, Description, commented

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.event import Event

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# The fixed names of rows events; MariaDB's of compressed ones.
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
_ROWS_FLAGS = (
    (0x01, "STMT_END_F"),
    (0x02, "NO_FOREIGN_KEY_CHECKS_F"),
    (0x04, "RELAXED_UNIQUE_CHECKS_F"),
    (0x08, "COMPLETE_ROWS_F"),
    (0x10, "USE_SQL_FOREIGN_KEY_F"),
)


def describe(event: Event, session: SessionText) -> Description:
    """Return the summary and the lines of any event; `session` remembers what was set."""
    return _DESCRIPTIONS[type(event.body)](session, event, event.body)


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
        # What the server had not committed when it ended is gone.
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


def _xid(session: SessionText, event: Event, body: XidEvent) -> Description:
    del session, event
    return f"Xid = {body.xid}", [f"COMMIT{END}"]


def _previous_gtids(session: SessionText, event: Event, body: PreviousGtidsEvent) -> Description:
    del session, event
    return "Previous-GTIDs", commented(str(body.gtid_set).replace(",", ",\n") or "[empty]")


def _gtid(
    session: SessionText, event: Event, body: GtidEvent | GtidTaggedEvent | AnonymousGtidEvent
) -> Description:
    del session, event
    anonymous = isinstance(body, AnonymousGtidEvent)
    row_based = not body.flags & FLAG_MAY_HAVE_SBR
    facts = {
        "last_committed": body.last_committed,
        "sequence_number": body.sequence_number,
        "rbr_only": "yes" if row_based else "no",
        "original_committed_timestamp": body.original_commit_timestamp,
        "immediate_commit_timestamp": body.immediate_commit_timestamp,
        "transaction_length": body.transaction_length,
    }
    summary = "Anonymous_GTID" if anonymous else "GTID"
    summary += "".join(f"\t{name}={fact}" for name, fact in facts.items() if fact is not None)
    lines = []
    if row_based:
        lines.append(f"/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*/{END}")
    for name, micros in (
        ("original_commit_timestamp", body.original_commit_timestamp),
        ("immediate_commit_timestamp", body.immediate_commit_timestamp),
    ):
        if micros is not None:
            lines.append(f"# {name}={micros} ({_precise_date(micros)})")
    for name, since, fact in (
        ("original_commit_timestamp", "80001", body.original_commit_timestamp),
        ("original_server_version", "80014", body.original_server_version),
        ("immediate_server_version", "80014", body.immediate_server_version),
    ):
        if fact is not None:
            lines.append(f"/*!{since} SET @@session.{name}={fact}*/{END}")
    name = "ANONYMOUS" if isinstance(body, AnonymousGtidEvent) else str(body.gtid)
    lines.append(f"SET @@SESSION.GTID_NEXT= '{name}'{END}")
    return summary, lines


def _precise_date(microseconds: int) -> str:
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return "beyond the year 9999"
    return f"{moment:%Y-%m-%d %H:%M:%S.%f} UTC"


def _mariadb_gtid(session: SessionText, event: Event, body: MariadbGtidEvent) -> Description:
    del event
    gtid = body.gtid
    summary = f"GTID {gtid}"
    if body.commit_id is not None:
        summary += f" cid={body.commit_id}"
    if body.ddl:
        summary += " ddl"
    if body.transactional:
        summary += " trans"
    lines = [
        *session.changed("gtid_domain_id", str(gtid.domain_id), since="M!100001"),
        *session.changed("server_id", str(gtid.server_id), since="M!100001"),
        *session.changed("gtid_seq_no", str(gtid.sequence), since="M!100001"),
    ]
    if not body.standalone and not body.prepared_xa:
        lines += ["START TRANSACTION", END]
    return summary, lines


def _gtid_list(session: SessionText, event: Event, body: MariadbGtidListEvent) -> Description:
    del session, event
    gtids = ",\n# ".join(map(str, body.gtids)).split("\n")
    first, *rest = [*gtids[:-1], f"{gtids[-1]}]"]
    return f"Gtid list [{first}", rest


def _checkpoint(session: SessionText, event: Event, body: BinlogCheckpointEvent) -> Description:
    del session, event
    return f"Binlog checkpoint {body.file}", []


def _annotate(session: SessionText, event: Event, body: AnnotateRowsEvent) -> Description:
    del session, event
    return "Annotate_rows:", commented(body.query, "#Q> ")


def _table_map(session: SessionText, event: Event, body: TableMapEvent) -> Description:
    del session, event
    table = f"{quoted_name(body.schema)}.{quoted_name(body.table)}"
    return f"Table_map: {table} mapped to number {body.table_id}", []


def _rows(session: SessionText, event: Event, body: RowsEvent) -> Description:
    del session
    names = [name for bit, name in _ROWS_FLAGS if body.flags & bit]
    summary = f"{_ROWS_NAMES[event.header.type_code]}: table id {body.table_map.table_id}"
    if names:
        summary += f" flags: {' '.join(names)}"
    return summary, row_lines(body)


_DESCRIPTIONS: dict[type, Callable[[SessionText, Event, Any], Description]] = {
    AnnotateRowsEvent: _annotate,
    AnonymousGtidEvent: _gtid,
    BinlogCheckpointEvent: _checkpoint,
    FormatDescriptionEvent: _format,
    GtidEvent: _gtid,
    GtidTaggedEvent: _gtid,
    HeartbeatEvent: _heartbeat,
    IgnorableEvent: _ignorable,
    MariadbGtidEvent: _mariadb_gtid,
    MariadbGtidListEvent: _gtid_list,
    PreviousGtidsEvent: _previous_gtids,
    RotateEvent: _rotate,
    RowsEvent: _rows,
    StartEventV3: _start,
    StopEvent: _stop,
    TableMapEvent: _table_map,
    XidEvent: _xid,
    **STATEMENTS,
}
