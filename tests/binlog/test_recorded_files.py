"""Files that real servers wrote, with values known from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.checksum import ChecksumAlgorithm
from connector.binlog.columns.column import ABSENT, JsonDiff, JsonDiffs, JsonOperation
from connector.binlog.decoder import EventDecoder
from connector.binlog.event import TransactionPayloadEvent
from connector.binlog.events.compression import CompressionType
from connector.binlog.events.control import RotateEvent, StopEvent
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.events.gtid_tagged import GtidTaggedEvent
from connector.binlog.events.mariadb import (
    AnnotateRowsEvent,
    BinlogCheckpointEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
)
from connector.binlog.events.query import QueryEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.events.transaction import (
    AnonymousGtidEvent,
    GtidEvent,
    PreviousGtidsEvent,
    XidEvent,
)
from connector.binlog.log_errors import EventError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.binlog.event import Event
    from connector.binlog.events.row_reader import Row

    DecodeFile = Callable[[str], Iterator[Event]]


def rows_of(events: list[Event]) -> list[Row]:
    return [row for e in events if isinstance(e.body, RowsEvent) for row in e.body.rows()]


def test_a_file_of_5_7_that_is_still_open(decode_file: DecodeFile) -> None:
    events = list(decode_file("seed/mysql-bin.000005"))
    assert [e.position for e in events] == [4, 123, 194, 259, 339, 395, 465]
    assert [e.next_position for e in events] == [123, 194, 259, 339, 395, 465, 496]
    assert [type(e.body) for e in events] == [
        FormatDescriptionEvent,
        PreviousGtidsEvent,
        GtidEvent,
        QueryEvent,
        TableMapEvent,
        RowsEvent,
        XidEvent,
    ]
    assert events[0].checksum == 0xCCAEE2F7
    previous, gtid, begin, table_map = (e.body for e in events[1:5])
    assert isinstance(previous, PreviousGtidsEvent)
    assert str(previous.gtid_set) == "a09129d9-0728-11e9-aa93-d227f810ba81:1-73"
    assert isinstance(gtid, GtidEvent)
    assert str(gtid.gtid) == "a09129d9-0728-11e9-aa93-d227f810ba81:74"
    assert (gtid.last_committed, gtid.sequence_number) == (0, 1)
    assert gtid.original_commit_timestamp is None
    assert isinstance(begin, QueryEvent)
    assert (begin.query, begin.query_bytes, begin.schema) == ("BEGIN", b"BEGIN", "test")
    assert isinstance(table_map, TableMapEvent)
    assert (table_map.schema, table_map.table) == ("test", "user")
    # 5.7 sends no character sets, so strings stay bytes.
    assert [row.after for row in rows_of(events)] == [
        [20, b"litao", 110, b"beijing", "1999-12-31 16:00:00"]
    ]
    assert events[6].body == XidEvent(581292)


def test_a_file_of_5_7_without_checksums(decode_file: DecodeFile) -> None:
    events = list(decode_file("seed/mysql-bin.000006"))
    assert [e.position for e in events] == [4, 123, 190, 251, 327, 381, 456]
    assert [e.checksum for e in events] == [None] * 7
    description = events[0].body
    assert isinstance(description, FormatDescriptionEvent)
    assert description.checksum_algorithm is ChecksumAlgorithm.NONE
    assert [row.after for row in rows_of(events)] == [
        [22, b"litao", 201, b"shanghai", "2000-12-11 16:00:00", 0.8]
    ]


def test_a_format_description_of_8_0_15(decode_file: DecodeFile) -> None:
    (description,) = (e.body for e in decode_file("seed/fde-8.0.15.binlog"))
    assert isinstance(description, FormatDescriptionEvent)
    assert description.server_version == "8.0.15-debug"
    assert (description.header_length, len(description.post_header_lengths)) == (19, 39)
    assert not description.mariadb


def test_a_format_description_of_5_5_has_no_checksum_algorithm(decode_file: DecodeFile) -> None:
    (description,) = (e.body for e in decode_file("seed/fde-5.5.2-m2.event"))
    assert isinstance(description, FormatDescriptionEvent)
    assert description.server_version == "5.5.2-m2"
    assert description.checksum_algorithm is None
    assert len(description.post_header_lengths) == 27


@pytest.fixture
def decoder_of_8_0(recorded: Callable[[str], list[bytes]]) -> EventDecoder:
    decoder = EventDecoder(file="mysql-bin.000023")
    decoder.decode(recorded("seed/fde-8.0.15.binlog")[0])
    return decoder


def test_single_events_of_8_0(
    recorded: Callable[[str], list[bytes]], decoder_of_8_0: EventDecoder
) -> None:
    (query,) = recorded("seed/query.event")
    (xid,) = recorded("seed/xid.event")
    (previous,) = recorded("seed/previous_gtids.event")
    (rotate,) = recorded("seed/rotate.event")
    begin = decoder_of_8_0.decode(query).body
    assert isinstance(begin, QueryEvent)
    assert (begin.query, begin.schema) == ("BEGIN", "dean")
    assert decoder_of_8_0.decode(xid).body == XidEvent(9)
    gtids = decoder_of_8_0.decode(previous).body
    assert isinstance(gtids, PreviousGtidsEvent)
    assert str(gtids.gtid_set) == "6cea54ad-dde6-11e9-9505-525400d0702c:538-542"
    assert decoder_of_8_0.decode(rotate).body == RotateEvent(4, "mysql-bin.000024")


def test_rows_without_their_table_map_are_an_error(
    recorded: Callable[[str], list[bytes]], decoder_of_8_0: EventDecoder
) -> None:
    (rows,) = recorded("seed/write_rows.event")
    with pytest.raises(EventError) as caught:
        decoder_of_8_0.decode(rows)
    assert caught.value.event_name == "WRITE_ROWS_EVENT"
    assert caught.value.reason.text == (
        "no TABLE_MAP_EVENT of this statement describes table id 62"
    )


def test_a_file_of_mariadb(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/mariadb-bin.000001"))
    description, gtid_list, checkpoint, gtid, annotate, table_map = (e.body for e in events[:6])
    assert isinstance(description, FormatDescriptionEvent)
    assert description.mariadb
    assert gtid_list == MariadbGtidListEvent([], 0, b"\0\0")
    assert checkpoint == BinlogCheckpointEvent("mariadb-bin.000001")
    assert isinstance(gtid, MariadbGtidEvent)
    assert (str(gtid.gtid), gtid.commit_id) == ("0-1-1", None)
    assert (gtid.standalone, gtid.transactional, gtid.ddl) == (False, True, False)
    assert isinstance(annotate, AnnotateRowsEvent)
    assert annotate.query.startswith("insert into outbox (topic, event_type, event) values")
    assert isinstance(table_map, TableMapEvent)
    assert [(c.name, c.type_name, c.charset) for c in table_map.columns] == [
        ("id", "int", None),
        ("topic", "varchar", "utf8mb4"),
        ("event_type", "enum", "utf8mb4"),
        ("event", "blob", "binary"),
        ("created", "timestamp", None),
    ]
    assert table_map.columns[2].labels == ["BLOB", "JSON", "PROTOBUF"]
    assert [row.after for row in rows_of(events)] == [
        [62, "foo", "JSON", b'{"foo":1}', "2022-04-20 22:18:04"],
        [63, "foo", "JSON", b'{"foo":1}', "2022-04-20 22:19:55"],
    ]


def test_minimal_images_leave_columns_out(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/mysql-bin.000066"))
    rows = rows_of(events)
    assert len(rows) == 20
    assert (rows[0].before, rows[0].after) == (None, [1, 1, b"a", ABSENT])
    assert (rows[6].before, rows[6].after) == (
        [5, ABSENT, ABSENT, ABSENT],
        [ABSENT, ABSENT, b"update", ABSENT],
    )
    assert (rows[7].before, rows[7].after) == ([2, ABSENT, ABSENT, ABSENT], None)
    assert rows[8].after == [2, 4, b"replaced 2,4", None]
    assert events[-1].body == RotateEvent(4, "mysql-bin.000067")


def test_json_documents_of_8_0(decode_file: DecodeFile) -> None:
    rows = rows_of(list(decode_file("recorded/json.binlog.000001")))
    assert rows[0].after == [1, '{"age": 24, "data": "xxxxxxxxxx", "name": "Joe"}', "Joe", 24]
    assert rows[6].before == rows[0].after
    assert rows[6].after == [1, '{"age": 25, "data": "xxxxxxxxxx", "name": "Joe"}', "Joe", 25]


def test_changes_of_json_documents_of_8_0(decode_file: DecodeFile) -> None:
    events = [e for e in decode_file("recorded/json.binlog.000001") if e.header.type_code == 39]
    assert [e.position for e in events] == [3750]
    rows = rows_of(events)
    assert len(rows) == 6
    older = JsonDiffs((JsonDiff(JsonOperation.REPLACE, "$.age", "26"),))
    assert rows[0].before == [1, ABSENT, ABSENT, ABSENT]
    assert rows[0].after == [ABSENT, older, "Joe", 26]


def test_values_of_sql_types_in_json_documents(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/json-opaque.binlog"))
    assert [row.after for row in rows_of(events)] == [
        ['{"a": "base64:type15:VQ=="}'],
        ['{"b": "2012-03-18"}'],
        ['{"c": "2012-03-18 11:30:45.000000"}'],
        ['{"c": "87:31:46.654321"}'],
        ['{"d": 123.456}'],
        ['{"e": 9.00}'],
        ['{"e": [0, 1, true, false]}'],
        ['{"e": null}'],
    ]


def test_vectors_of_9_0(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/vector.binlog"))
    first, second = (e.body for e in events[10:14] if isinstance(e.body, TableMapEvent))
    assert [(c.name, c.type_name, c.dimension) for c in second.columns] == [
        ("id", "bigint", None),
        ("vector_column", "vector", 2),
        ("foo", "text", None),
        ("vector_column2", "vector", 4),
    ]
    assert (first.columns[0].unsigned, second.columns[2].collation) == (True, 255)
    rows = rows_of(events)
    assert rows[1].after == [2, [1.0, -1.0, 0.0]]
    assert rows[3].after == [
        2,
        [1.0099999904632568, -1.0099999904632568],
        "bar",
        [42.0, 43.0, 44.0, 45.0],
    ]
    assert isinstance(events[-1].body, StopEvent)


def test_a_tagged_gtid_of_9_6(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/binlog_transaction_with_GTID_TAG.000001"))
    previous, gtid = events[1].body, events[2].body
    assert isinstance(previous, PreviousGtidsEvent)
    assert str(previous.gtid_set) == "55778904-0299-11f1-b1b8-4ef0c4956feb:1-13:mytag:1-2"
    assert isinstance(gtid, GtidTaggedEvent)
    assert str(gtid.gtid) == "55778904-0299-11f1-b1b8-4ef0c4956feb:mytag:3"
    assert (gtid.flags, gtid.last_committed, gtid.sequence_number) == (0, 0, 1)
    assert gtid.immediate_commit_timestamp == gtid.original_commit_timestamp == 1770368687207196
    assert gtid.transaction_length == 541 - 245
    assert gtid.immediate_server_version == gtid.original_server_version == 90600
    assert gtid.commit_group_ticket is None
    assert [row.after for row in rows_of(events)] == [[3, 100, "250.00"]]


def test_rows_v1_with_partial_images(decode_file: DecodeFile) -> None:
    rows = rows_of(list(decode_file("recorded/write-partial-row.binlog")))
    assert [row.after for row in rows[1:6]] == [
        [3, 3, 3],
        [1, 1, 1],
        [2, 2, 2],
        [4, 4, 4],
        [4, ABSENT, 40],
    ]
    assert rows[6].before == [2, ABSENT, ABSENT]


def test_a_compressed_transaction_of_8_0_32(decode_file: DecodeFile) -> None:
    events = list(decode_file("recorded/transaction_compression.000001"))
    gtid = events[2].body
    assert isinstance(gtid, AnonymousGtidEvent)
    assert gtid.transaction_length == 475 - 197 - 44
    assert gtid.immediate_commit_timestamp == gtid.original_commit_timestamp == 1695159109445737
    assert gtid.immediate_server_version == 80032
    body = events[3].body
    assert isinstance(body, TransactionPayloadEvent)
    payload = body.payload
    sizes = payload.size, payload.uncompressed_size
    assert (payload.compression, sizes) == (CompressionType.ZSTD, (124, 179))
    inside = list(body.events())
    assert [type(e.body) for e in inside] == [QueryEvent, TableMapEvent, RowsEvent, XidEvent]
    assert {(e.position, e.next_position) for e in inside} == {(274, 431)}
    assert [row.after for row in rows_of(inside)] == [[1]]
