"""`dump --format events`, compared with the servers' own SHOW BINLOG EVENTS."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from connector.binlog.decoder import EventDecoder
from connector.binlog.event import Event
from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent, UserVarType
from connector.binlog.events.control import (
    HeartbeatEvent,
    IgnorableEvent,
    IncidentEvent,
    SlaveEvent,
    StartEncryptionEvent,
    StopEvent,
    TransactionContextEvent,
    ViewChangeEvent,
)
from connector.binlog.events.format_description import StartEventV3
from connector.binlog.events.load import (
    CreateFileEvent,
    ExecLoadEvent,
    LoadEvent,
    LoadFlag,
    LoadFormat,
)
from connector.binlog.events.mariadb import (
    FL_GROUP_COMMIT_ID,
    FL_ROLLBACK_ALTER_E1,
    FL_STANDALONE,
    MariadbGtidEvent,
)
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import ExtraRowInfo, RowsHeader, RowsKind
from connector.binlog.events.status_variables import StatusVariables
from connector.binlog.events.transaction import PreviousGtidsEvent
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid
from connector.binlog.header import EventHeader, EventType
from connector.logs.dump.events_format import HEADER, EventsFormat
from tests.binlog.log_bytes import format_description
from tests.logs.dump.written import lines_of

if TYPE_CHECKING:
    from connector.binlog.event import EventBody

MARIADB = b"11.8.6-MariaDB-log"


def shown(
    event_type: int, body: EventBody, server: bytes = b"8.0.31", *, log_pos: int = 220
) -> list[str]:
    """Return the columns of an event at position 200 in a log of `server`, from its type on."""
    writer = EventsFormat()
    first = EventDecoder(file="binlog.000001").decode(format_description(server))
    assert len(list(lines_of(writer, [first]))) == 1
    header = EventHeader(1, event_type, 5, 20, log_pos, 0)
    (line,) = lines_of(writer, [Event("binlog.000001", 200, 220, header, body, b"")])
    return line.split("\t")[2:]


def test_the_columns_have_their_names() -> None:
    writer = EventsFormat()
    assert list(writer.begin()) == [HEADER]
    assert HEADER.split("\t") == [
        "Log_name",
        "Pos",
        "Event_type",
        "Server_id",
        "End_log_pos",
        "Info",
    ]
    assert list(writer.end()) == []


LOAD_FORMAT = LoadFormat(b"\t", b'"', b"\n", b"", b"\\", LoadFlag.REPLACE | LoadFlag.OPT_ENCLOSED)
LOAD = LoadEvent(1, 0, 3, "d", "t", ["a", "b"], LOAD_FORMAT, "/tmp/x.txt")
LOAD_INFO = (
    "use `d`; LOAD DATA INFILE '/tmp/x.txt'  REPLACE INTO TABLE `t` FIELDS TERMINATED BY "
    r"""'\\t' OPTIONALLY  ENCLOSED BY '"' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'"""
    " IGNORE 3 LINES  (a ,b)"
)
PLAIN_FORMAT = LoadFormat(b",", b"", b"\r\n", b"> ", b"\0", LoadFlag.IGNORE)
NEW_LOAD_INFO = (
    "LOAD DATA INFILE 'f'  IGNORE INTO TABLE `t` FIELDS TERMINATED BY ',' ENCLOSED BY '' "
    r"ESCAPED BY '\\0' LINES TERMINATED BY '\\r\\n' STARTING BY '> '"
)
UUID_1 = UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")


def previous_gtids() -> PreviousGtidsEvent:
    gtids = GtidSet()
    for gtid in (Gtid(UUID_1, 1), Gtid(UUID_1, 2, "tag"), Gtid(UUID(int=1), 7)):
        gtids.add(gtid)
    return PreviousGtidsEvent(gtids)


def user_var(value: str | None, collation: int, data_type: str | None = None) -> UserVarEvent:
    raw = None if value is None else value.encode()
    return UserVarEvent("v", UserVarType.STRING, collation, value, False, data_type, raw, b"")


@pytest.mark.parametrize(
    ("event_type", "body", "name", "info"),
    [
        (EventType.STOP_EVENT, StopEvent(), "Stop", ""),
        (
            EventType.LOAD_EVENT,
            LOAD,
            "Load",
            LOAD_INFO,
        ),
        (
            EventType.NEW_LOAD_EVENT,
            LoadEvent(1, 0, 0, "", "t", [], PLAIN_FORMAT, "f"),
            "New_load",
            NEW_LOAD_INFO,
        ),
        (
            EventType.CREATE_FILE_EVENT,
            CreateFileEvent(1, 0, 0, "d", "t", [], LOAD_FORMAT, "f", 2, b"block"),
            "Create_file",
            "db=d;table=t;file_id=2;block_len=5",
        ),
        (EventType.EXEC_LOAD_EVENT, ExecLoadEvent(7), "Exec_load", ";file_id=7"),
        (
            EventType.SLAVE_EVENT,
            SlaveEvent(4, 3306, "host", "log.1"),
            "Slave",
            "host=host,port=3306,log=log.1,pos=4",
        ),
        (EventType.INCIDENT_EVENT, IncidentEvent(1, "x"), "Incident", "#1 (LOST_EVENTS)"),
        (EventType.INCIDENT_EVENT, IncidentEvent(66, ""), "Incident", "#66 (UNKNOWN): "),
        (EventType.HEARTBEAT_LOG_EVENT, HeartbeatEvent("f", 4, exact=False), "Heartbeat", ""),
        (EventType.HEARTBEAT_LOG_EVENT_V2, HeartbeatEvent("f", 4, exact=True), "Heartbeat", ""),
        (
            EventType.IGNORABLE_LOG_EVENT,
            IgnorableEvent(b"x"),
            "Ignorable",
            "# Unrecognized ignorable event",
        ),
        (43, IgnorableEvent(b"x"), "Unknown", "# Unrecognized ignorable event"),
        (
            EventType.TRANSACTION_CONTEXT_EVENT,
            TransactionContextEvent(str(UUID_1), 9, False, GtidSet(), [], []),
            "Transaction_context",
            rf"server_uuid={UUID_1}\tthread_id=9",
        ),
        (
            EventType.VIEW_CHANGE_EVENT,
            ViewChangeEvent("15:3", 1, []),
            "View_change",
            "view_id=15:3",
        ),
        (
            EventType.PREVIOUS_GTIDS_LOG_EVENT,
            previous_gtids(),
            "Previous_gtids",
            rf"{UUID(int=1)}:7,\n{UUID_1}:1:tag:2",
        ),
        (EventType.INTVAR_EVENT, IntvarEvent(2, 2**64 - 1), "Intvar", "INSERT_ID=-1"),
        (
            EventType.RAND_EVENT,
            RandEvent(2**64 - 1, 2),
            "RAND",
            "rand_seed1=18446744073709551615,rand_seed2=2",
        ),
        (EventType.USER_VAR_EVENT, user_var("x", 9999), "User var", "@`v`=???"),
        (
            EventType.USER_VAR_EVENT,
            user_var("x", 33),
            "User var",
            "@`v`=_utf8mb3 0x78 COLLATE utf8mb3_general_ci",
        ),
    ],
)
def test_mysql_has_a_text_for_each_event(
    event_type: int, body: EventBody, name: str, info: str
) -> None:
    assert shown(event_type, body) == [name, "5", "220", info]


@pytest.mark.parametrize(
    ("event_type", "body", "name", "info"),
    [
        (43, IgnorableEvent(b"x"), "Unknown", "# Ignorable event type 43 (Unknown)"),
        (
            EventType.PREVIOUS_GTIDS_LOG_EVENT,
            IgnorableEvent(b"x"),
            "MySQL Previous_gtids",
            "# Ignorable event type 35 (MySQL Previous_gtids)",
        ),
        (EventType.START_ENCRYPTION_EVENT, StartEncryptionEvent(1, 2, b""), "Start_encryption", ""),
        (
            EventType.GTID_EVENT,
            MariadbGtidEvent(MariadbGtid(0, 1, 2), FL_GROUP_COMMIT_ID, 77),
            "Gtid",
            "BEGIN GTID 0-1-2 cid=77",
        ),
        (
            EventType.GTID_EVENT,
            MariadbGtidEvent(
                MariadbGtid(0, 1, 2),
                FL_STANDALONE,
                None,
                flags_extra=FL_ROLLBACK_ALTER_E1,
                sa_seq_no=1,
            ),
            "Gtid",
            "GTID 0-1-2 ROLLBACK ALTER id=1",
        ),
        (
            EventType.RAND_EVENT,
            RandEvent(2**64 - 1, 2),
            "RAND",
            "rand_seed1=-1,rand_seed2=2",
        ),
        (EventType.USER_VAR_EVENT, user_var("x", 9999), "User var", "???"),
        (EventType.USER_VAR_EVENT, user_var(None, 63, "inet6"), "User var", "@`v`=/*inet6*/NULL"),
    ],
)
def test_mariadb_has_texts_of_its_own(
    event_type: int, body: EventBody, name: str, info: str
) -> None:
    assert shown(event_type, body, MARIADB) == [name, "5", "220", info]


def rows(flags: int) -> RowsEvent:
    head = RowsHeader(0xFF_FFFF, flags, ExtraRowInfo())
    return RowsEvent.dummy(head, RowsKind.INSERT, ("binlog.000001", 200, "WRITE_ROWS_EVENT"))


@pytest.mark.parametrize(
    ("server", "event_type", "name", "flags"),
    [
        (b"5.5.62-log", EventType.WRITE_ROWS_EVENT_V1, "Write_rows", "STMT_END_F"),
        (b"5.5.62-MariaDB", EventType.DELETE_ROWS_EVENT_V1, "Delete_rows", "STMT_END_F"),
        (b"5.7.22-log", EventType.WRITE_ROWS_EVENT_V1, "Write_rows_v1", "STMT_END_F"),
        (MARIADB, EventType.UPDATE_ROWS_EVENT_V1, "Update_rows_v1", "STMT_END_F"),
        (b"5.7.22-log", EventType.WRITE_ROWS_EVENT, "Write_rows", "STMT_END_F"),
        (
            b"9.6.0",
            EventType.WRITE_ROWS_EVENT,
            "Write_rows",
            "STMT_END_F NO_FOREIGN_KEY_CHECKS_F USE_SQL_FOREIGN_KEY_F",
        ),
        (b"a development build", EventType.PRE_GA_WRITE_ROWS_EVENT, "Write_rows_event_old", None),
    ],
)
def test_rows_events_are_called_what_their_server_calls_them(
    server: bytes, event_type: int, name: str, flags: str | None
) -> None:
    expected = "table_id: 16777215" + ("" if flags is None else f" flags: {flags}")
    body = rows(0 if flags is None else 0b10011)
    assert shown(event_type, body, server) == [name, "5", "220", expected]


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (b"5.5.62-log", r"use `d`; SELECT '\0'"),
        (b"5.7.22-log", "use `d`; SELECT '"),
        (b"8.0.31", "use `d`; SELECT ' /* xid=5 */"),
        (MARIADB, r"use `d`; SELECT '\0'"),
    ],
)
def test_a_statement_ends_at_a_zero_byte_where_its_server_shows_it_so(
    server: bytes, expected: str
) -> None:
    query = b"SELECT '\0'"
    variables = StatusVariables(ddl_xid=5 if server in (b"8.0.31", MARIADB) else None)
    body = QueryEvent(1, 0, 0, "d", variables, query, query.decode())
    assert shown(EventType.QUERY_EVENT, body, server) == ["Query", "5", "220", expected]


@pytest.mark.parametrize(
    ("server", "value"),
    [
        (b"5.7.22-log", "_utf8 0x78 COLLATE utf8_general_ci"),
        (b"8.0.29", "_utf8mb3 0x78 COLLATE utf8_general_ci"),
        (b"8.0.30", "_utf8mb3 0x78 COLLATE utf8mb3_general_ci"),
        (b"5.5.62-MariaDB", "_utf8 0x78 COLLATE utf8_general_ci"),
        (b"10.5.23-MariaDB", "_utf8 X'78' COLLATE utf8_general_ci"),
        (b"10.6.1-MariaDB", "_utf8mb3 X'78' COLLATE utf8mb3_general_ci"),
    ],
)
def test_a_user_variable_is_shown_in_the_way_of_its_day(server: bytes, value: str) -> None:
    assert shown(EventType.USER_VAR_EVENT, user_var("x", 33), server)[-1] == f"@`v`={value}"


def test_a_log_of_4_1_says_where_an_event_starts_and_the_server_shows_where_it_ends() -> None:
    writer = EventsFormat()
    header = EventHeader(1, EventType.START_EVENT_V3, 5, 75, 4, 0)
    body = StartEventV3(3, "4.1.24-log", 0)
    (line,) = lines_of(writer, [Event("log.1", 4, 79, header, body, b"")])
    assert line == "log.1\t4\tStart_v3\t5\t79\tServer ver: 4.1.24-log, Binlog ver: 3"


def test_a_relay_log_of_today_shows_the_position_in_the_log_of_its_source() -> None:
    # Which happens to be where the event starts in the relay log.
    assert shown(EventType.STOP_EVENT, StopEvent(), log_pos=200) == ["Stop", "5", "200", ""]


def test_an_event_without_an_end_shows_none() -> None:
    assert shown(EventType.STOP_EVENT, StopEvent(), log_pos=0) == ["Stop", "5", "0", ""]
