from __future__ import annotations

import pytest

from connector.binlog.events.mariadb import (
    FL_ALLOW_PARALLEL,
    FL_COMMIT_ALTER_E1,
    FL_COMPLETED_XA,
    FL_DDL,
    FL_EXTRA_MULTI_ENGINE_E1,
    FL_EXTRA_THREAD_ID,
    FL_GROUP_COMMIT_ID,
    FL_PREPARED_XA,
    FL_STANDALONE,
    FL_TRANSACTIONAL,
    FL_WAITED,
    AnnotateRowsEvent,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
)
from connector.binlog.events.transaction import XaXid
from connector.binlog.gtid import MariadbGtid
from connector.binlog.header import EventHeader
from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError
from tests.binlog.encoders import encoded

HEADER = EventHeader(timestamp=0, type_code=162, server_id=9, event_size=42, log_pos=0, flags=8)
GTID = (12).to_bytes(8, "little") + (3).to_bytes(4, "little")
XID = b"\x01\x00\x00\x00\x03\x01" + b"oneb"


def gtid_event(body: bytes) -> MariadbGtidEvent:
    event = MariadbGtidEvent.decode(PayloadReader(body), HEADER)
    assert event.gtid == MariadbGtid(3, 9, 12)
    assert encoded(event) == body
    return event


def test_a_gtid_of_10_5_is_filled_up_with_zeros() -> None:
    event = gtid_event(GTID + bytes([FL_TRANSACTIONAL | FL_ALLOW_PARALLEL]) + bytes(6))
    assert (event.transactional, event.standalone, event.ddl) == (True, False, False)
    assert (event.commit_id, event.xid, event.flags_extra) == (None, None, 0)
    assert event.rest == bytes(6)


def test_a_group_commit_has_an_id() -> None:
    flags = FL_GROUP_COMMIT_ID | FL_WAITED
    event = gtid_event(GTID + bytes([flags]) + (77).to_bytes(8, "little"))
    assert (event.commit_id, event.rest) == (77, b"")


@pytest.mark.parametrize("flag", [FL_PREPARED_XA, FL_COMPLETED_XA])
def test_an_xa_transaction_is_named(flag: int) -> None:
    event = gtid_event(GTID + bytes([flag]) + XID)
    assert event.xid == XaXid(1, b"one", b"b")
    assert (event.prepared_xa, event.completed_xa) == (
        flag == FL_PREPARED_XA,
        flag == FL_COMPLETED_XA,
    )


def test_a_prepared_transaction_may_be_of_a_group_commit() -> None:
    flags = FL_PREPARED_XA | FL_GROUP_COMMIT_ID
    event = gtid_event(GTID + bytes([flags]) + (77).to_bytes(8, "little") + XID)
    assert (event.commit_id, str(event.xid)) == (77, "X'6f6e65',X'62',1")


def test_a_gtid_of_11_8_names_the_session() -> None:
    flags = bytes([FL_STANDALONE | FL_DDL, FL_EXTRA_THREAD_ID])
    event = gtid_event(GTID + flags + (5).to_bytes(4, "little") + b"\0")
    assert (event.standalone, event.ddl) == (True, True)
    assert (event.thread_id, event.extra_engines, event.sa_seq_no) == (5, None, None)
    assert event.rest == b"\0"


def test_extra_fields_come_in_the_order_of_their_flags() -> None:
    extra = FL_EXTRA_MULTI_ENGINE_E1 | FL_COMMIT_ALTER_E1 | FL_EXTRA_THREAD_ID
    event = gtid_event(
        GTID + bytes([0, extra, 255]) + (11).to_bytes(8, "little") + (5).to_bytes(4, "little")
    )
    assert (event.extra_engines, event.sa_seq_no, event.thread_id) == (255, 11, 5)


def test_fields_of_unknown_flags_are_kept() -> None:
    assert gtid_event(GTID + bytes([0, 0x40]) + b"later").rest == b"later"


@pytest.mark.parametrize(
    "body",
    [
        GTID + b"\0",
        GTID + bytes([FL_GROUP_COMMIT_ID]) + bytes(8),
        GTID + bytes([FL_PREPARED_XA]) + XID,
        GTID + bytes([0, FL_EXTRA_THREAD_ID]) + bytes(4),
    ],
)
def test_a_gtid_that_is_cut_says_what_is_missing(body: bytes) -> None:
    with pytest.raises(TruncatedPayload):
        MariadbGtidEvent.decode(PayloadReader(body[:-1]), HEADER)


def test_a_name_of_an_xa_transaction_has_a_limit() -> None:
    body = GTID + bytes([FL_PREPARED_XA]) + b"\x01\x00\x00\x00\x41\x00" + bytes(65)
    with pytest.raises(DecodeError) as caught:
        MariadbGtidEvent.decode(PayloadReader(body), HEADER)
    assert caught.value.text == (
        "the name of an XA transaction has parts of at most 64 bytes, not 65 and 0"
    )


def test_a_gtid_list_has_flags_and_may_be_filled_up() -> None:
    entry = (1).to_bytes(4, "little") + (2).to_bytes(4, "little") + (3).to_bytes(8, "little")
    body = (2 | 1 << 28).to_bytes(4, "little") + entry * 2
    event = MariadbGtidListEvent.decode(PayloadReader(body))
    assert event == MariadbGtidListEvent([MariadbGtid(1, 2, 3)] * 2, 1)
    assert encoded(event) == body
    empty = MariadbGtidListEvent.decode(PayloadReader(bytes(6)))
    assert (empty.gtids, empty.rest, encoded(empty)) == ([], b"\0\0", bytes(6))


def test_the_count_of_a_gtid_list_is_not_believed() -> None:
    with pytest.raises(TruncatedPayload):
        MariadbGtidListEvent.decode(PayloadReader(b"\xff\xff\xff\x0f"))


def test_a_statement_is_kept_as_bytes_too() -> None:
    event = AnnotateRowsEvent.decode(PayloadReader(b"INSERT \xff"))
    assert (event.query, event.query_bytes) == ("INSERT \\xff", b"INSERT \xff")
    assert encoded(event) == b"INSERT \xff"


def test_a_checkpoint_names_a_file() -> None:
    body = (4).to_bytes(4, "little") + b"file"
    event = BinlogCheckpointEvent.decode(PayloadReader(body))
    assert event == BinlogCheckpointEvent("file")
    assert encoded(event) == body
