"""Files of 4.1 and of 5.1 and its pre-releases, with statements beside rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog import log_errors
from connector.binlog.decoder import EventDecoder
from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent, UserVarType
from connector.binlog.events.control import IncidentEvent, RotateEvent
from connector.binlog.events.format_description import StartEventV3
from connector.binlog.events.load import CreateFileEvent, LoadFlag, LoadFormat
from connector.binlog.events.query import DuplicateHandling, ExecuteLoadQueryEvent, QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.header import BinlogVersion, detect_version, event_name
from connector.binlog.log_errors import EventError
from tests.binlog.loaded_files import loaded_files
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.binlog.event import Event

    DecodeFile = Callable[[str], Iterator[Event]]
    Recorded = Callable[[str], list[bytes]]


def names(events: list[Event]) -> list[str]:
    return [event_name(e.header.type_code) for e in events]


def queries(events: list[Event]) -> list[str]:
    return [e.body.query for e in events if isinstance(e.body, QueryEvent)]


def test_a_file_of_4_1(decode_file: DecodeFile, recorded: Recorded) -> None:
    name = "recorded/binlog_old_version_4_1.000001"
    assert detect_version(recorded(name)[0]) is BinlogVersion.V3
    events = list(decode_file(name))
    assert names(events) == [
        "START_EVENT_V3",
        "QUERY_EVENT",
        "QUERY_EVENT",
        "USER_VAR_EVENT",
        "QUERY_EVENT",
        "RAND_EVENT",
        "QUERY_EVENT",
        "INTVAR_EVENT",
        "QUERY_EVENT",
        "CREATE_FILE_EVENT",
        "APPEND_BLOCK_EVENT",
        "EXEC_LOAD_EVENT",
    ]
    assert [e.position for e in events] == [e.header.log_pos for e in events]
    assert events[-1].next_position == 149_436
    assert events[0].body == StartEventV3(3, "4.1.24-debug-log", 1201690911)
    assert queries(events) == [
        "CREATE TABLE t1 (a int, b char(50)) ENGINE = MyISAM",
        "CREATE TABLE t3 (a char(20))",
        "INSERT INTO t1 VALUES (@x, 'four')",
        "INSERT INTO t1 VALUES (RAND() * 1000000, 'random')",
        "INSERT INTO t1 VALUES (LAST_INSERT_ID(), 'last_insert_id')",
    ]
    variable = events[3].body
    assert isinstance(variable, UserVarEvent)
    assert (variable.name, variable.type, variable.value) == ("x", UserVarType.INT, 4)
    assert events[5].body == RandEvent(410306692, 47093669)
    assert events[7].body == IntvarEvent(1, 0)


def test_the_file_that_a_4_1_server_loaded(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/binlog_old_version_4_1.000001"))
    create = events[9].body
    assert isinstance(create, CreateFileEvent)
    assert (create.schema, create.table, create.columns) == ("test", "t3", ["a"])
    assert (create.file_name, create.file_id) == ("big_file.dat", 2)
    assert create.format == LoadFormat(b"\t", b"", b"\n", b"", b"\\", LoadFlag(0))
    (content,) = loaded_files(events)
    assert content.startswith(b"Aarhus\nAaron\nAbaba\n")
    assert (len(create.block), len(content)) == (131_072, 131_072 + 17_664)


@pytest.mark.parametrize(
    ("name", "version"),
    [("ver_5_1_17.001", "5.1.17-beta-debug-log"), ("ver_5_1_23.001", "5.1.23-rc-debug-log")],
)
def test_files_of_5_1_with_statements(decode_file: DecodeFile, name: str, version: str) -> None:
    events = list(decode_file(f"recorded/{name}"))
    generation = "V1" if "23" in version else "PRE_GA"
    rows = [n for n in names(events) if "_ROWS" in n]
    assert len(rows) == 3
    assert all(generation in n for n in rows)
    tail = events[13:]
    assert names(tail) == [
        "XID_EVENT",
        "USER_VAR_EVENT",
        "QUERY_EVENT",
        "RAND_EVENT",
        "QUERY_EVENT",
        "INTVAR_EVENT",
        "QUERY_EVENT",
        "BEGIN_LOAD_QUERY_EVENT",
        "APPEND_BLOCK_EVENT",
        "EXECUTE_LOAD_QUERY_EVENT",
        "STOP_EVENT",
    ]
    execute = tail[-2].body
    assert isinstance(execute, ExecuteLoadQueryEvent)
    named = execute.query_bytes[execute.start_pos : execute.end_pos]
    assert named == b" INFILE 'big_file.dat' INTO"
    assert execute.duplicate_handling is DuplicateHandling.ERROR
    (content,) = loaded_files(events)
    (older,) = loaded_files(list(decode_file("recorded/binlog_old_version_4_1.000001")))
    assert content == older


def test_rows_of_5_1_17_are_refused_when_they_are_asked_for(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/ver_5_1_17.001"))
    bodies = [e.body for e in events if isinstance(e.body, RowsEvent)]
    assert [body.kind.value for body in bodies] == ["insert", "update", "delete"]
    assert [body.stmt_end for body in bodies] == [True, True, True]
    assert {body.table_map.table for body in bodies} == {"t1"}
    with pytest.raises(EventError) as caught:
        list(bodies[0].rows())
    assert caught.value.text == (
        "ver_5_1_17.001:461: cannot decode PRE_GA_WRITE_ROWS_EVENT: table test.t1, rows as servers "
        "before 5.1.18 wrote them hold the null bytes of the server's own record, and these cannot "
        "be read without the definition of the table; compare with "
        "`mysqlbinlog --start-position=461 ver_5_1_17.001`"
    )
    assert caught.value.reason.text == "table test.t1, " + text_of(log_errors.PRE_GA)


def test_rows_of_5_1_23(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/ver_5_1_23.001"))
    rows = [row for e in events if isinstance(e.body, RowsEvent) for row in e.body.rows()]
    assert [(row.before, row.after) for row in rows] == [
        (None, [0, b"one"]),
        (None, [1, b"two"]),
        ([0, b"one"], [1, b"one"]),
        ([1, b"two"], [2, b"two"]),
        ([2, b"two"], None),
    ]


def test_positions_of_5_1_17_are_counted_because_its_own_are_wrong(
    decode_file: DecodeFile,
) -> None:
    events = list(decode_file("recorded/ver_5_1_17.001"))
    assert [(e.position, e.header.log_pos) for e in events[10:14]] == [
        (691, 759),
        (759, 108),
        (867, 241),
        (1000, 1027),
    ]
    assert events[-1].next_position == 150_385


def test_types_of_a_5_2_pre_release_are_renumbered(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/ver_5_1-wl2325_r.001"))
    assert names(events) == [
        "FORMAT_DESCRIPTION_EVENT",
        "QUERY_EVENT",
        "QUERY_EVENT",
        "QUERY_EVENT",
        "TABLE_MAP_EVENT",
        "PRE_GA_WRITE_ROWS_EVENT",
        "TABLE_MAP_EVENT",
        "PRE_GA_UPDATE_ROWS_EVENT",
        "TABLE_MAP_EVENT",
        "PRE_GA_DELETE_ROWS_EVENT",
        "STOP_EVENT",
    ]
    table_map = events[4].body
    assert isinstance(table_map, TableMapEvent)
    # Its table ids have four bytes.
    assert (table_map.table_id, table_map.schema, table_map.table) == (0, "test", "t1")
    assert [column.type_name for column in table_map.columns] == ["int", "binary"]
    assert [e.position for e in events[4:6]] == [428, 466]


def test_a_user_variable_of_5_6_4(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/bug11747887-bin.000003"))
    variable = events[4].body
    assert isinstance(variable, UserVarEvent)
    assert (variable.name, variable.value, variable.unsigned) == ("2", None, False)
    assert queries(events)[3] == "insert into t10123456789 values(@2)"


def test_an_incident_with_a_number_that_has_no_meaning_is_reported_as_such(
    decode_file: DecodeFile,
) -> None:
    events = list(decode_file("recorded/bug40482-bin.000001"))
    incident = events[1].body
    assert incident == IncidentEvent(66, "")
    assert isinstance(incident, IncidentEvent)
    assert incident.name == "UNKNOWN"
    assert events[2].body == RotateEvent(4, "master-bin.000003")


def test_a_relay_log_has_positions_of_its_own(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/binlog_savepoint.000001"))
    assert {e.file for e in events} == {"binlog_savepoint.000001"}
    assert [(e.position, e.header.log_pos) for e in events[:5]] == [
        (4, 106),
        (106, 0),
        (150, 106),
        (252, 174),
        (320, 266),
    ]
    assert events[-1].next_position == 1014
    assert queries(events)[2] == "SavePoint mixed_cases"


def test_the_events_of_a_relay_log_can_have_the_positions_of_their_source(
    recorded: Recorded,
) -> None:
    decoder = EventDecoder(file="binlog_savepoint.000001")
    events = [decoder.decode(data) for data in recorded("recorded/binlog_savepoint.000001")]
    assert [(e.file, e.position) for e in events[:4]] == [
        ("binlog_savepoint.000001", 4),
        ("binlog_savepoint.000001", 106),
        ("master-bin.000003", 4),
        ("master-bin.000003", 106),
    ]
    assert events[-1].next_position == 868


def test_half_a_header_is_an_error(recorded: Recorded) -> None:
    (data,) = recorded("recorded/binlog_truncated_event.000001")
    with pytest.raises(EventError) as caught:
        EventDecoder(file="binlog_truncated_event.000001").decode(data)
    assert (caught.value.position, caught.value.event_name) == (4, "an event header")
    assert caught.value.reason.text == "need 19 bytes at offset 0, but the payload ends at 10"
