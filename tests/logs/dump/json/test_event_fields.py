"""Each event's body has the fields that the contract names, and no value is guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args
from uuid import UUID

import pytest

from connector.binlog.checksum import ChecksumAlgorithm
from connector.binlog.event import EventBody, TransactionPayloadEvent
from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent, UserVarType
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
    LoadFlag,
    LoadFormat,
)
from connector.binlog.events.mariadb import (
    AnnotateRowsEvent,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
    PartialRowDataEvent,
)
from connector.binlog.events.query import (
    DuplicateHandling,
    ExecuteLoadQueryEvent,
    QueryEvent,
    RowsQueryEvent,
)
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.status_variables import StatusVariables
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import (
    AnonymousGtidEvent,
    GtidEvent,
    PreviousGtidsEvent,
    XaPrepareEvent,
    XaXid,
    XidEvent,
)
from connector.binlog.gtid import Gtid, GtidSet, MariadbGtid
from connector.logs.dump.json.event_fields import body_fields
from tests.conftest import PROJECT

if TYPE_CHECKING:
    from connector.binlog.events.status_variables import StatusVariables as Variables

UUID_1 = UUID("3e11fa47-71ca-11e1-9e33-c80aa9429562")
GTID_SET = GtidSet.parse(f"{UUID_1}:1-5")
NO_FACTS = (None,) * 8
FACTS = (1, 2, 30, 40, 500, 80031, 80030, 7)
LOAD_FORMAT = LoadFormat(b"\t", b'"', b"\n", b"", b"\\", LoadFlag.REPLACE)
LOAD_FIELDS = {
    "thread_id": 1,
    "exec_time": 2,
    "skip_lines": 3,
    "schema": "d",
    "table": "t",
    "columns": ["a"],
    "field_term": "\t",
    "enclosed": '"',
    "line_term": "\n",
    "line_start": "",
    "escaped": "\\",
    "opt_flags": 4,
    "file_name": "f",
}


def query(
    text: bytes = b"BEGIN", variables: Variables | None = None, shown: str = ""
) -> tuple[int, int, int, str, Variables, bytes, str]:
    return 1, 2, 3, "d", variables or StatusVariables(), text, shown or text.decode()


def query_fields(**changes: object) -> dict[str, object]:
    return {
        "thread_id": 1,
        "exec_time": 2,
        "error_code": 3,
        "schema": "d",
        "status_vars": {},
        "query": "BEGIN",
    } | changes


def user_var(
    value_type: UserVarType,
    value: float | str | bytes | None,
    *,
    collation: int = 8,
    unsigned: bool = False,
    data_type: str | None = None,
) -> UserVarEvent:
    return UserVarEvent("v", value_type, collation, value, unsigned, data_type, b"", b"")


def user_var_fields(value: object, type_name: str, **changes: object) -> dict[str, object]:
    return {
        "name": "v",
        "value": value,
        "type": type_name,
        "charset": "latin1",
        "collation": "latin1_swedish_ci",
        "unsigned": False,
    } | changes


BODIES: list[tuple[Any, dict[str, Any]]] = [
    (
        StartEventV3(3, "4.1.24-log", 1201690911),
        {"binlog_version": 3, "server_version": "4.1.24-log", "create_timestamp": 1201690911},
    ),
    (
        FormatDescriptionEvent(4, "8.0.31", 5, 19, b"\x00\x0d", ChecksumAlgorithm.CRC32),
        {
            "binlog_version": 4,
            "server_version": "8.0.31",
            "create_timestamp": 5,
            "header_length": 19,
            "post_header_lengths": [0, 13],
            "checksum_algorithm": "CRC32",
        },
    ),
    (
        FormatDescriptionEvent(4, "5.5.62", 0, 19, b"", None),
        {
            "binlog_version": 4,
            "server_version": "5.5.62",
            "create_timestamp": 0,
            "header_length": 19,
            "post_header_lengths": [],
            "checksum_algorithm": None,
        },
    ),
    (QueryEvent(*query()), query_fields()),
    (
        QueryEvent(
            *query(
                variables=StatusVariables(
                    flags2=0,
                    auto_increment=(1, 2),
                    invoker=("u", "h"),
                    updated_databases=["d"],
                    ddl_xid=9,
                    unknown=b"\xfe\x01",
                    data=b"the same as logged",
                )
            )
        ),
        query_fields(
            status_vars={
                "flags2": 0,
                "auto_increment": (1, 2),
                "invoker": ("u", "h"),
                "updated_databases": ["d"],
                "ddl_xid": 9,
                "unknown": {"hex": "fe01"},
            }
        ),
    ),
    (
        QueryEvent(*query(b"caf\xe9", StatusVariables(charset=(8, 8, 8)), "café")),
        query_fields(query="café", status_vars={"charset": (8, 8, 8)}),
    ),
    (
        QueryEvent(*query(b"caf\xe9", shown="caf\\xe9")),
        query_fields(query="caf\\xe9", query_hex="636166e9"),
    ),
    (
        ExecuteLoadQueryEvent(QueryEvent(*query()), 4, 9, 51, DuplicateHandling.REPLACE),
        query_fields(file_id=4, start_pos=9, end_pos=51, duplicate_handling="REPLACE"),
    ),
    (StopEvent(), {}),
    (RotateEvent(4, "binlog.000002"), {"file": "binlog.000002", "position": 4}),
    (
        HeartbeatEvent("binlog.000002", 2**33, exact=True),
        {"file": "binlog.000002", "position": 2**33},
    ),
    (XidEvent(2**64 - 1), {"xid": 2**64 - 1}),
    (IntvarEvent(2, 7), {"name": "INSERT_ID", "value": 7}),
    (IntvarEvent(1, 2**64 - 1), {"name": "LAST_INSERT_ID", "value": 2**64 - 1}),
    (RandEvent(1, 2), {"seed1": 1, "seed2": 2}),
    (
        user_var(UserVarType.STRING, None, collation=63),
        user_var_fields(None, "STRING", charset="binary", collation="binary"),
    ),
    (user_var(UserVarType.STRING, "it's"), user_var_fields("it's", "STRING")),
    (
        user_var(UserVarType.STRING, b"\x00\xff", collation=63),
        user_var_fields({"hex": "00ff"}, "STRING", charset="binary", collation="binary"),
    ),
    (
        user_var(UserVarType.STRING, b"x", collation=9999),
        user_var_fields({"hex": "78"}, "STRING", charset=None, collation=None),
    ),
    (
        user_var(UserVarType.INT, 2**64 - 1, unsigned=True),
        user_var_fields("18446744073709551615", "INT", unsigned=True),
    ),
    (user_var(UserVarType.INT, -5), user_var_fields("-5", "INT")),
    (user_var(UserVarType.REAL, 1e300), user_var_fields("1e300", "REAL")),
    (user_var(UserVarType.REAL, 1.0), user_var_fields("1", "REAL")),
    (user_var(UserVarType.DECIMAL, "-1.50"), user_var_fields("-1.50", "DECIMAL")),
    (
        user_var(UserVarType.STRING, "::1", data_type="inet6"),
        user_var_fields("::1", "STRING", data_type="inet6"),
    ),
    (RowsQueryEvent(b"INSERT", "INSERT"), {"query": "INSERT"}),
    (RowsQueryEvent(b"\xff", "\\xff"), {"query": "\\xff", "query_hex": "ff"}),
    (AnnotateRowsEvent(b"INSERT", "INSERT"), {"query": "INSERT"}),
    (LoadEvent(1, 2, 3, "d", "t", ["a"], LOAD_FORMAT, "f"), LOAD_FIELDS),
    (
        CreateFileEvent(1, 2, 3, "d", "t", ["a"], LOAD_FORMAT, "f", 4, b"block"),
        LOAD_FIELDS | {"file_id": 4, "length": 5},
    ),
    (AppendBlockEvent(4, b"block"), {"file_id": 4, "length": 5}),
    (BeginLoadQueryEvent(4, b""), {"file_id": 4, "length": 0}),
    (ExecLoadEvent(4), {"file_id": 4}),
    (DeleteFileEvent(4), {"file_id": 4}),
    (
        SlaveEvent(4, 3306, "host", "log.1"),
        {"master_host": "host", "master_port": 3306, "master_log": "log.1", "master_pos": 4},
    ),
    (IncidentEvent(66, ""), {"incident": 66, "message": ""}),
    (
        IncidentEvent(1, "lost", 5),
        {"incident": 1, "message": "lost", "cached_checksum": 5},
    ),
    (IgnorableEvent(b"\x01"), {"data": {"hex": "01"}}),
    (GtidEvent(1, *NO_FACTS, Gtid(UUID_1, 5)), {"gtid": f"{UUID_1}:5", "flags": 1}),
    (
        GtidTaggedEvent(1, *FACTS, Gtid(UUID_1, 5, "tag")),
        {
            "gtid": f"{UUID_1}:tag:5",
            "flags": 1,
            "last_committed": 1,
            "sequence_number": 2,
            "original_commit_timestamp": 40,
            "immediate_commit_timestamp": 30,
            "transaction_length": 500,
            "original_server_version": 80030,
            "immediate_server_version": 80031,
            "commit_group_ticket": 7,
        },
    ),
    (AnonymousGtidEvent(0, *NO_FACTS), {"gtid": "ANONYMOUS", "flags": 0}),
    (PreviousGtidsEvent(GTID_SET), {"gtid_set": f"{UUID_1}:1-5"}),
    (
        XaPrepareEvent(False, XaXid(1, b"one", b"")),
        {"xid": "X'6f6e65',X'',1", "one_phase": False},
    ),
    (
        TransactionContextEvent(str(UUID_1), 9, True, GTID_SET, [b"aGFzaA=="], [b"\xff"]),
        {
            "server_uuid": str(UUID_1),
            "thread_id": 9,
            "gtid_specified": True,
            "snapshot_version": f"{UUID_1}:1-5",
            "write_set": ["aGFzaA=="],
            "read_set": [{"hex": "ff"}],
        },
    ),
    (
        ViewChangeEvent("15:3", 8, [(b"key", b"\x01")]),
        {
            "view_id": "15:3",
            "sequence_number": 8,
            "certification_info": [{"key": "key", "value": {"hex": "01"}}],
        },
    ),
    (MariadbGtidEvent(MariadbGtid(0, 1, 2), 1, None), {"gtid": "0-1-2", "flags": 1}),
    (
        MariadbGtidEvent(
            MariadbGtid(0, 1, 2),
            0x42,
            77,
            XaXid(7, b"a", b"b"),
            0x15,
            extra_engines=1,
            sa_seq_no=3,
            thread_id=9,
        ),
        {
            "gtid": "0-1-2",
            "flags": 0x42,
            "commit_id": 77,
            "xid": "X'61',X'62',7",
            "flags_extra": 0x15,
            "extra_engines": 1,
            "sa_seq_no": 3,
            "thread_id": 9,
        },
    ),
    (
        MariadbGtidListEvent([MariadbGtid(5, 1, 1), MariadbGtid(0, 1, 9)], 2),
        {"gtids": ["5-1-1", "0-1-9"], "flags": 2},
    ),
    (BinlogCheckpointEvent("binlog.000001"), {"file": "binlog.000001"}),
    (
        StartEncryptionEvent(1, 2, bytes(12)),
        {"scheme": 1, "key_version": 2, "nonce": {"hex": "00" * 12}},
    ),
]


@pytest.mark.parametrize(("body", "fields"), BODIES)
def test_a_body_has_the_fields_of_its_event(body: Any, fields: dict[str, Any]) -> None:
    assert body_fields(body, mariadb=False) == fields


def test_there_is_a_form_for_every_event_but_those_that_the_writer_streams() -> None:
    streamed = {PartialRowDataEvent, RowsEvent, TableMapEvent, TransactionPayloadEvent}
    assert {type(body) for body, _ in BODIES} | streamed == set(get_args(EventBody))


def test_the_documentation_names_every_field() -> None:
    documented = (PROJECT / "docs" / "dump-formats.md").read_text(encoding="utf-8")
    missing = {name for _, told in BODIES for name in told if f"`{name}`" not in documented}
    assert not missing


def test_a_collation_has_the_name_that_the_server_of_the_log_gave_it() -> None:
    body = user_var(UserVarType.STRING, "x", collation=245)
    assert body_fields(body, mariadb=False)["collation"] == "utf8mb4_croatian_ci"
    assert body_fields(body, mariadb=True)["collation"] == "utf8mb4_croatian_mysql561_ci"
