"""`dump --format text`, compared with mysqlbinlog where it can say the same."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog import event as event_module
from connector.binlog.decoder import EventDecoder
from connector.binlog.event import Event, EventBody
from connector.binlog.events.context import UserVarEvent, UserVarType
from connector.binlog.events.control import (
    IgnorableEvent,
    IncidentEvent,
    SlaveEvent,
    StartEncryptionEvent,
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
    MariadbGtidEvent,
    MariadbGtidListEvent,
    PartialRowDataEvent,
)
from connector.binlog.events.query import ExecuteLoadQueryEvent, QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import (
    AnonymousGtidEvent,
    GtidEvent,
    XaPrepareEvent,
    XaXid,
    XidEvent,
)
from connector.binlog.gtid import GtidSet, MariadbGtid
from connector.binlog.header import EventHeader
from connector.foundation.errors import ConnectorError
from connector.logs.dump.text import format as text_events
from connector.logs.dump.text.format import TextFormat
from connector.reader import open_binlog
from tests.binlog.log_bytes import start_v3, v1_event
from tests.binlog.source_log import split
from tests.logs.dump import written
from tests.logs.dump.text.printed import lines_of

if TYPE_CHECKING:
    from pathlib import Path

SEED = """\
# at 4
#190103 10:57:46 server id 1  end_log_pos 123 CRC32 0xccaee2f7 \tStart: binlog v 4, server v \
5.7.24-log created 190103 10:57:46
# Warning: this binlog is either in use or was not closed properly.
# at 123
#190103 10:57:46 server id 1  end_log_pos 194 CRC32 0xe255aab5 \tPrevious-GTIDs
# a09129d9-0728-11e9-aa93-d227f810ba81:1-73
# at 194
#190103 10:58:14 server id 1  end_log_pos 259 CRC32 0x6f968591 \tGTID\tlast_committed=0\t\
sequence_number=1\trbr_only=yes
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
SET @@SESSION.GTID_NEXT= 'a09129d9-0728-11e9-aa93-d227f810ba81:74'/*!*/;
# at 259
#190103 10:58:14 server id 1  end_log_pos 339 CRC32 0xa0f8337f \tQuery\tthread_id=155\t\
exec_time=0\terror_code=0
SET TIMESTAMP=1546513094/*!*/;
SET @@session.pseudo_thread_id=155/*!*/;
SET @@session.foreign_key_checks=1, @@session.sql_auto_is_null=0, @@session.unique_checks=1, \
@@session.autocommit=1/*!*/;
SET @@session.sql_mode=1436549152/*!*/;
SET @@session.auto_increment_increment=1, @@session.auto_increment_offset=1/*!*/;
/*!\\C utf8mb3 *//*!*/;
SET @@session.character_set_client=33,@@session.collation_connection=33,\
@@session.collation_server=33/*!*/;
SET @@session.time_zone='SYSTEM'/*!*/;
SET @@session.lc_time_names=0/*!*/;
SET @@session.collation_database=DEFAULT/*!*/;
BEGIN
/*!*/;
# at 339
#190103 10:58:14 server id 1  end_log_pos 395 CRC32 0xd94a0655 \tTable_map: `test`.`user` mapped \
to number 129
# at 395
#190103 10:58:14 server id 1  end_log_pos 465 CRC32 0x19a92318 \tWrite_rows: table id 129 flags: \
STMT_END_F
### INSERT INTO `test`.`user`
### SET
###   @1=20 /* LONGINT meta=0 nullable=0 is_null=0 */
###   @2='litao' /* VARSTRING(96) meta=96 nullable=0 is_null=0 */
###   @3=110 /* LONGINT meta=0 nullable=0 is_null=0 */
###   @4='beijing' /* VARSTRING(96) meta=96 nullable=0 is_null=0 */
###   @5=946656000 /* TIMESTAMP(0) meta=0 nullable=0 is_null=0 */
# at 465
#190103 10:58:14 server id 1  end_log_pos 496 CRC32 0x73f13ad3 \tXid = 581292
COMMIT/*!*/;
"""

HEXDUMP = """\
# at 465
#190103 10:58:14 server id 1  end_log_pos 496 CRC32 0x73f13ad3 \n\
# Position  Timestamp   Type   Source ID        Size      Source Pos    Flags
# 000001d1 c6 ea 2d 5c   10   01 00 00 00   1f 00 00 00   f0 01 00 00   00 00
# 000001e4 ac de 08 00 00 00 00 00  d3 3a f1 73             |.........:.s|
# \tXid = 581292
COMMIT/*!*/;
"""


MARIADB = """\
# at 4
#220420 22:17:51 server id 1  end_log_pos 256 CRC32 0x5b2d3aa0 \tStart: binlog v 4, server v \
10.5.15-MariaDB-1:10.5.15+maria~focal-log created 220420 22:17:51 at startup
# Warning: this binlog is either in use or was not closed properly.
ROLLBACK/*!*/;
# at 256
#220420 22:17:51 server id 1  end_log_pos 285 CRC32 0x37c2d4fe \tGtid list []
# at 285
#220420 22:17:51 server id 1  end_log_pos 330 CRC32 0x0e78ee8f \tBinlog checkpoint \
mariadb-bin.000001
# at 330
#220420 22:18:04 server id 1  end_log_pos 372 CRC32 0x0af91ecb \tGTID 0-1-1 trans
/*M!100001 SET @@session.gtid_domain_id=0*//*!*/;
/*M!100001 SET @@session.server_id=1*//*!*/;
/*M!100001 SET @@session.gtid_seq_no=1*//*!*/;
START TRANSACTION
/*!*/;
# at 372
#220420 22:18:04 server id 1  end_log_pos 476 CRC32 0x3e5536bf \tAnnotate_rows:
#Q> insert into outbox (topic, event_type, event) values ('foo', 'JSON', '{"foo":1}')
# at 476
#220420 22:18:04 server id 1  end_log_pos 612 CRC32 0x94e9d1e6 \tTable_map: \
`toddy_test`.`outbox` mapped to number 38
# at 612
#220420 22:18:04 server id 1  end_log_pos 671 CRC32 0xefb082d6 \tWrite_rows: table id 38 flags: \
STMT_END_F
### INSERT INTO `toddy_test`.`outbox`
### SET
###   @1=62 /* `id` INT meta=0 nullable=0 is_null=0 */
###   @2='foo' /* `topic` VARSTRING(1020) meta=1020 nullable=0 is_null=0 */
###   @3='JSON' /* `event_type` ENUM(1 byte) meta=63233 nullable=1 is_null=0 */
###   @4='{"foo":1}' /* `event` BLOB/TEXT meta=2 nullable=0 is_null=0 */
###   @5=1650493084 /* `created` TIMESTAMP(0) meta=0 nullable=0 is_null=0 */
# at 671
#220420 22:18:04 server id 1  end_log_pos 702 CRC32 0x9ba835bb \tXid = 800
COMMIT/*!*/;
"""


def test_a_file_reads_as_with_mysqlbinlog(shared_binlogs: Path) -> None:
    assert lines_of(shared_binlogs / "seed/mysql-bin.000005") == SEED.splitlines()


def test_a_file_of_mariadb_reads_as_with_mariadb_binlog(shared_binlogs: Path) -> None:
    expected = MARIADB.splitlines()
    lines = lines_of(shared_binlogs / "recorded/mariadb-bin.000001")
    assert lines[: len(expected)] == expected


@given(offset=st.integers(4, 491), byte=st.integers(0, 255))
def test_any_byte_gives_lines_or_our_errors(shared_binlogs: Path, offset: int, byte: int) -> None:
    data = bytearray((shared_binlogs / "seed/mysql-bin.000005").read_bytes())
    data[offset] = byte
    with suppress(ConnectorError), open_binlog(bytes(data), verify_checksum=False) as log:
        assert all(written.lines_of(TextFormat(hexdump=True), log))


def test_each_file_sets_its_session_anew(shared_binlogs: Path) -> None:
    path = shared_binlogs / "seed/mysql-bin.000005"
    decoder = EventDecoder(file=path.name)
    events = [decoder.decode(data) for data in split(path.read_bytes())]
    lines = list(written.lines_of(TextFormat(), [*events, *events]))
    assert lines == SEED.splitlines() * 2


def test_a_hexdump_stands_between_the_header_and_the_summary(shared_binlogs: Path) -> None:
    lines = lines_of(shared_binlogs / "seed/mysql-bin.000005", hexdump=True)
    assert lines[-7:] == HEXDUMP.splitlines()


def test_a_header_of_3_23_has_neither_position_nor_flags() -> None:
    body = StartEventV3(1, "3.23.58-log", 7)
    data = v1_event(1, start_v3(1, b"3.23.58-log"), timestamp=7)
    event = Event("b.1", 4, 4 + len(data), EventHeader(7, 1, 1, len(data), 0, 0), body, data)
    assert list(written.lines_of(TextFormat(hexdump=True), [event]))[:5] == [
        "# at 4",
        "#700101  0:00:07 server id 1  end_log_pos 0 ",
        "# Position  Timestamp   Type   Source ID        Size",
        "# 00000004 07 00 00 00   01   01 00 00 00   45 00 00 00",
        "# 00000011 01 00 33 2e 32 33 2e 35  38 2d 6c 6f 67 00 00 00 |..3.23.58-log...|",
    ]


# What `TextFormat` writes without a description.
PUT = {
    AnonymousGtidEvent,
    ExecuteLoadQueryEvent,
    GtidEvent,
    GtidTaggedEvent,
    PartialRowDataEvent,
    QueryEvent,
    RowsEvent,
    TableMapEvent,
    XidEvent,
}


# What is described with more than its body.
NEED_MORE = {FormatDescriptionEvent, IgnorableEvent, MariadbGtidEvent, StartEventV3}


def test_every_event_has_a_description() -> None:
    others = set(text_events.DESCRIPTIONS)
    assert not others & (PUT | NEED_MORE)
    assert set(get_args(event_module.EventBody)) == others | PUT | NEED_MORE


def described(body: EventBody, type_code: int = 1) -> list[str]:
    header = EventHeader(1_500_000_000, type_code, 7, 19, 123, 0)
    event = Event("b.1", 104, 123, header, body, b"")
    first, head, *lines = written.lines_of(TextFormat(), [event])
    assert first == "# at 104"
    prefix = "#170714  2:40:00 server id 7  end_log_pos 123 \t"
    assert head.startswith(prefix)
    return [head.removeprefix(prefix), *lines]


FORMAT = LoadFormat(b"\t", b"", b"\n", b"", b"\\", LoadFlag(0))
GTIDS = GtidSet.parse("00000000-0000-0000-0000-000000000001:1-3")
XID = XaXid(1, b"one", b"")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            StartEventV3(3, "4.1.2-log", 1_500_000_000),
            ["Start: binlog v 3, server v 4.1.2-log created 170714  2:40:00"],
        ),
        (
            LoadEvent(4, 2, 0, "d", "t", ["a"], FORMAT, "/f"),
            [
                "Load\tthread_id=4\texec_time=2",
                (
                    r"use `d`; LOAD DATA INFILE '/f' INTO TABLE `t` FIELDS TERMINATED BY '\t' "
                    r"ENCLOSED BY '' ESCAPED BY '\\' LINES TERMINATED BY '\n' (a)"
                ),
                "/*!*/;",
            ],
        ),
        (
            CreateFileEvent(4, 2, 0, "d", "t", [], FORMAT, "/f", 5, b"abc"),
            ["Create_file: file_id: 5  block_len: 3", "# LOAD DATA INFILE '/f' INTO TABLE `d`.`t`"],
        ),
        (AppendBlockEvent(5, b"abc"), ["Append_block: file_id: 5  block_len: 3"]),
        (BeginLoadQueryEvent(5, b"abc"), ["Begin_load_query: file_id: 5  block_len: 3"]),
        (ExecLoadEvent(5), ["Exec_load: file_id: 5"]),
        (DeleteFileEvent(5), ["Delete_file: file_id: 5"]),
        (SlaveEvent(4, 3306, "h", "m.1"), ["Slave: master h:3306, log m.1  pos: 4"]),
        (IncidentEvent(1, "lost"), ["Incident: 1 (LOST_EVENTS)", "# lost"]),
        (
            UserVarEvent("a`b", UserVarType.STRING, 8, "x", False, None, b"x", b""),
            ["User_var", "SET @`a``b`:=_latin1 0x78 COLLATE `latin1_swedish_ci`/*!*/;"],
        ),
        (
            UserVarEvent("v", UserVarType.STRING, 8, "", False, None, b"", b""),
            ["User_var", "SET @`v`:=_latin1 '' COLLATE `latin1_swedish_ci`/*!*/;"],
        ),
        (
            UserVarEvent("v", UserVarType.STRING, 2000, b"x", False, None, b"x", b""),
            ["User_var", "SET @`v`:=0x78 /* collation 2000 *//*!*/;"],
        ),
        (
            StartEncryptionEvent(1, 2, bytes(12)),
            [
                f"Encryption scheme: 1, key_version: 2, nonce: {'00' * 12}",
                "# The rest of the binlog is encrypted!",
            ],
        ),
        (
            TransactionContextEvent(str(UUID(int=1)), 9, False, GTIDS, [b"k"], []),
            [
                (
                    f"Transaction_context: server_uuid={UUID(int=1)}\tthread_id=9\twrite_set=1\t"
                    "read_set=0"
                ),
                f"# snapshot_version {GTIDS}",
            ],
        ),
        (
            ViewChangeEvent("1:2", 8, [(b"k", b"v")]),
            ["View_change: view_id=1:2\tsequence_number=8\tcertification_info=1"],
        ),
        (
            PartialRowDataEvent(3, 1, 1, 100, b"chunk"),
            ["Partial_row_data: fragment 1 of 3, 5 bytes"],
        ),
        (
            XaPrepareEvent(False, XID),
            ["XA PREPARE X'6f6e65',X'',1", "XA PREPARE X'6f6e65',X'',1", "/*!*/;"],
        ),
        (
            XaPrepareEvent(True, XID),
            ["XA PREPARE X'6f6e65',X'',1", "XA COMMIT X'6f6e65',X'',1 ONE PHASE", "/*!*/;"],
        ),
        (
            MariadbGtidEvent(MariadbGtid(0, 7, 5), 0x04, 44, thread_id=6),
            [
                "GTID 0-7-5 cid=44 trans thread_id=6",
                "/*M!100001 SET @@session.gtid_domain_id=0*//*!*/;",
                "/*M!100001 SET @@session.server_id=7*//*!*/;",
                "/*M!100001 SET @@session.gtid_seq_no=5*//*!*/;",
                "START TRANSACTION",
                "/*!*/;",
            ],
        ),
        (
            MariadbGtidEvent(MariadbGtid(0, 7, 5), 0x40, None, xid=XID),
            [
                "GTID 0-7-5",
                "/*M!100001 SET @@session.gtid_domain_id=0*//*!*/;",
                "/*M!100001 SET @@session.server_id=7*//*!*/;",
                "/*M!100001 SET @@session.gtid_seq_no=5*//*!*/;",
                "XA START X'6f6e65',X'',1",
                "/*!*/;",
            ],
        ),
        (
            MariadbGtidListEvent([MariadbGtid(0, 1, 2), MariadbGtid(1, 1, 9)], 0),
            ["Gtid list [0-1-2,", "# 1-1-9]"],
        ),
        (MariadbGtidListEvent([], 0), ["Gtid list []"]),
    ],
)
def test_an_event_has_its_summary_and_lines(body: EventBody, expected: list[str]) -> None:
    assert described(body) == expected


def test_before_5_0_the_end_is_counted_because_the_header_has_the_start() -> None:
    header = EventHeader(0, 1, 7, 19, 104, 0)
    body = StartEventV3(3, "4.1.2-log", 1)
    lines = list(written.lines_of(TextFormat(), [Event("b.1", 104, 179, header, body, b"")]))
    assert lines[1].startswith("#700101  0:00:00 server id 7  end_log_pos 179 \tStart: binlog v 3")
