from __future__ import annotations

import pytest

from connector.binlog.columns.column import ColumnType
from connector.binlog.decoder import EventDecoder
from connector.binlog.events.control import HeartbeatEvent, IgnorableEvent, RotateEvent, StopEvent
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.events.mariadb import MariadbGtidEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import DUMMY_TABLE_ID, RowsKind
from connector.binlog.events.table_map import TABLE_MAPS_MAX, TableMapEvent
from connector.binlog.events.transaction import XidEvent
from connector.binlog.header import EventType, event_name
from connector.binlog.log_errors import EventError
from tests.binlog.log_bytes import (
    FORMAT_DESCRIPTION,
    POST_HEADER_LENGTHS,
    event,
    format_description,
    table_map,
)

XID = (9).to_bytes(8, "little")
INT = (ColumnType.LONG, b"")
STMT_END = b"\x01\x00"
OPEN = b"\x00\x00"


def decoder(**arguments: object) -> EventDecoder:
    """A decoder of binlog.000001 that has read the format description."""
    ready = EventDecoder(file="binlog.000001", **arguments)  # type: ignore[arg-type] # as given
    ready.decode(FORMAT_DESCRIPTION)
    return ready


def refusal(of: EventDecoder, data: bytes) -> EventError:
    with pytest.raises(EventError) as caught:
        of.decode(data)
    return caught.value


def write_rows(row: bytes, *, flags: bytes = STMT_END, table_id: int = 42) -> bytes:
    body = table_id.to_bytes(6, "little") + flags + b"\x02\x00" + b"\x01\xff" + row
    return event(EventType.WRITE_ROWS_EVENT, body)


# Format and checksums.


def test_the_first_event_of_a_file_describes_its_format() -> None:
    first = EventDecoder(file="binlog.000001").decode(FORMAT_DESCRIPTION)
    assert isinstance(first.body, FormatDescriptionEvent)
    assert (first.file, first.position, first.next_position) == ("binlog.000001", 4, 126)
    assert first.checksum == int.from_bytes(FORMAT_DESCRIPTION[-4:], "little")


def test_a_file_in_use_has_the_checksum_of_the_closed_file() -> None:
    closed = format_description()
    in_use = closed[:17] + b"\x01" + closed[18:]
    assert EventDecoder().decode(in_use).header.flags == 1


def test_a_changed_event_is_refused_with_both_checksums() -> None:
    data = bytearray(event(EventType.XID_EVENT, XID, log_pos=157))
    data[19] ^= 1
    error = refusal(decoder(), bytes(data))
    assert error.text == (
        "binlog.000001:126: cannot decode XID_EVENT: CRC32 is 0x3baeeb6e, but the event says "
        "0xf704ebf0: bytes changed on disk, in memory or on the way; check the file with "
        "mysqlbinlog --verify-binlog-checksum, and restart to read it again; compare with "
        "`mysqlbinlog --start-position=126 binlog.000001`"
    )


def test_a_changed_event_is_read_when_checksums_are_not_verified() -> None:
    data = bytearray(event(EventType.XID_EVENT, XID))
    data[19] ^= 1
    assert decoder(verify_checksum=False).decode(bytes(data)).body == XidEvent(8)


def test_a_changed_format_description_is_refused() -> None:
    data = bytearray(FORMAT_DESCRIPTION)
    data[30] ^= 1
    assert refusal(EventDecoder(), bytes(data)).reason.text.startswith("CRC32 is ")


@pytest.mark.parametrize("algorithm", [0, 255])
def test_a_log_without_checksums_has_events_without_them(algorithm: int) -> None:
    plain = EventDecoder()
    plain.decode(format_description(algorithm=algorithm))
    decoded = plain.decode(event(EventType.XID_EVENT, XID, checksum=False))
    assert (decoded.body, decoded.checksum) == (XidEvent(9), None)


def test_an_unknown_checksum_algorithm_is_refused() -> None:
    error = refusal(EventDecoder(), format_description(algorithm=2))
    assert error.reason.text == "checksum algorithm 2 is not known; set binlog_checksum=CRC32"


@pytest.mark.parametrize("checksum", [True, False])
def test_a_rotate_before_the_format_description_may_have_a_checksum(checksum: bool) -> None:
    stream = EventDecoder()
    data = event(
        EventType.ROTATE_EVENT,
        (4).to_bytes(8, "little") + b"binlog.000007",
        flags=0x20,
        timestamp=0,
        checksum=checksum,
    )
    assert stream.decode(data).body == RotateEvent(4, "binlog.000007")
    assert stream.decode(format_description()).file == "binlog.000007"


def test_a_log_must_start_with_its_format_description() -> None:
    error = refusal(EventDecoder(), event(EventType.XID_EVENT, XID))
    assert error.text == (
        "stream:4: cannot decode XID_EVENT: no FORMAT_DESCRIPTION_EVENT came before "
        "it; read the log from its start, where that event is; compare "
        "with `mysqlbinlog --start-position=4 stream`"
    )


def test_an_event_too_short_for_its_checksum_is_refused() -> None:
    error = refusal(decoder(), event(EventType.STOP_EVENT, b"", checksum=False))
    assert error.reason.text == "19 bytes do not hold a header and a checksum"


def test_an_event_of_another_size_than_its_header_says_is_refused() -> None:
    error = refusal(decoder(), event(EventType.XID_EVENT, XID) + b"\0")
    assert error.reason.text == "its header says 31 bytes, but 32 came"


def test_a_longer_header_is_skipped() -> None:
    description = bytearray(format_description(algorithm=0))
    description[75] = 21
    longer = EventDecoder()
    longer.decode(bytes(description))
    data = event(EventType.XID_EVENT, b"\xff\xff" + XID, checksum=False)
    assert longer.decode(data).body == XidEvent(9)


# Types.


def test_an_unknown_type_is_refused() -> None:
    error = refusal(decoder(), event(99, bytes(range(20))))
    assert error.event_name == "event type 99"
    assert error.reason.text == (
        "this type is not known and not flagged as ignorable (first bytes "
        "01 00 00 00 63 01 00 00 00 2b 00 00 00 00 00 00 00 00 00 "
        "00 01 02 03 04 05 06 07 08 09 0a 0b 0c); upgrade the connector"
    )


def test_an_unknown_type_flagged_as_ignorable_is_kept_unread_and_counted() -> None:
    log = decoder()
    assert log.decode(event(99, b"?", flags=0x80)).body == IgnorableEvent(b"?")
    assert log.ignored_events == {99: 1}


def test_bytes_after_the_last_field_are_an_error() -> None:
    error = refusal(decoder(), event(EventType.XID_EVENT, XID + b"\0"))
    assert error.reason.text == "1 bytes are left over after the last field"


def test_every_type_is_read_or_refused_with_a_reason() -> None:
    without_fields = {
        EventType.STOP_EVENT,
        EventType.IGNORABLE_LOG_EVENT,
        EventType.ANNOTATE_ROWS_EVENT,
    }
    for event_type in set(EventType) - without_fields:
        assert refusal(decoder(), event(event_type, b"")).event_name == event_type.name


def test_types_have_the_names_of_the_servers_sources() -> None:
    assert event_name(33) == "GTID_LOG_EVENT"
    assert event_name(162) == "GTID_EVENT"
    assert event_name(200) == "event type 200"


# Table maps and rows.


def test_rows_are_read_with_the_table_map_of_their_statement() -> None:
    log = decoder()
    log.decode(event(EventType.TABLE_MAP_EVENT, table_map([INT])))
    decoded = log.decode(write_rows(b"\x00\x07\x00\x00\x00" + b"\x01")).body
    assert isinstance(decoded, RowsEvent)
    assert (decoded.kind, decoded.table_map.table, decoded.stmt_end) == (RowsKind.INSERT, "t", True)
    assert [row.after for row in decoded.rows()] == [[7], [None]]


def test_the_end_of_a_statement_forgets_its_table_maps() -> None:
    log = decoder()
    log.decode(event(EventType.TABLE_MAP_EVENT, table_map([INT])))
    log.decode(write_rows(b"", flags=OPEN))
    log.decode(write_rows(b"", flags=STMT_END))
    assert refusal(log, write_rows(b"")).reason.text == (
        "no TABLE_MAP_EVENT of this statement describes table id 42"
    )


def test_rows_have_the_columns_of_their_table_map() -> None:
    log = decoder()
    log.decode(event(EventType.TABLE_MAP_EVENT, table_map([INT, INT])))
    assert refusal(log, write_rows(b"")).reason.text == (
        "the event has 1 columns, but the table map of db.t has 2"
    )


def test_equal_table_maps_are_one_object() -> None:
    log = decoder()
    data = event(EventType.TABLE_MAP_EVENT, table_map([INT]))
    assert log.decode(data).body is log.decode(data).body


def test_the_number_of_kept_table_maps_is_bounded() -> None:
    log = decoder()
    for number in range(TABLE_MAPS_MAX + 10):
        log.decode(event(EventType.TABLE_MAP_EVENT, table_map([INT], table_id=number)))
    assert len(log._bodies._known._decoded) == TABLE_MAPS_MAX


def test_the_dummy_table_id_only_ends_the_statement() -> None:
    log = decoder()
    log.decode(event(EventType.TABLE_MAP_EVENT, table_map([INT])))
    dummy = log.decode(write_rows(b"", table_id=DUMMY_TABLE_ID)).body
    assert isinstance(dummy, RowsEvent)
    assert dummy.is_dummy
    assert list(dummy.rows()) == []
    assert refusal(log, write_rows(b"")).reason.text.startswith("no TABLE_MAP_EVENT")


def test_a_table_with_the_dummy_id_has_rows() -> None:
    log = decoder()
    log.decode(event(EventType.TABLE_MAP_EVENT, table_map([INT], table_id=DUMMY_TABLE_ID)))
    rows = log.decode(write_rows(b"\0\x07\0\0\0", table_id=DUMMY_TABLE_ID)).body
    assert isinstance(rows, RowsEvent)
    assert not rows.is_dummy
    assert [row.after for row in rows.rows()] == [[7]]


def test_rows_with_the_dummy_id_need_a_table_map() -> None:
    rows = write_rows(b"\0\x07\0\0\0", table_id=DUMMY_TABLE_ID)
    assert refusal(decoder(), rows).reason.text == (
        "no TABLE_MAP_EVENT of this statement describes table id 16777215"
    )


def test_rows_that_cannot_be_read_are_an_error_with_the_position_of_their_event() -> None:
    log = decoder()
    log.decode(event(EventType.TABLE_MAP_EVENT, table_map([INT], b"\x04\x03\x02id")))
    decoded = log.decode(write_rows(b"\x00\x07\x00\x00\x00\x00\x07")).body
    assert isinstance(decoded, RowsEvent)
    rows = decoded.rows()
    assert next(rows).after == [7]
    with pytest.raises(EventError) as caught:
        next(rows)
    assert (caught.value.position, caught.value.event_name) == (
        decoded.position,
        "WRITE_ROWS_EVENT",
    )
    assert caught.value.reason.text == (
        "table db.t, column id (LONG): need 4 bytes at offset 37, but the payload ends at 38"
    )


def test_table_ids_have_four_bytes_where_the_post_header_has_six() -> None:
    lengths = bytearray(format_description()[76:-5])
    lengths[EventType.TABLE_MAP_EVENT - 1] = lengths[EventType.WRITE_ROWS_EVENT_V1 - 1] = 6
    log = EventDecoder()
    log.decode(format_description(lengths=bytes(lengths)))
    body = table_map([INT])
    log.decode(event(EventType.TABLE_MAP_EVENT, body[:4] + body[6:]))
    data = event(
        EventType.WRITE_ROWS_EVENT_V1, b"\x2a\0\0\0" + STMT_END + b"\x01\xff\x00\x07\0\0\0"
    )
    decoded = log.decode(data).body
    assert isinstance(decoded, RowsEvent)
    assert next(decoded.rows()).after == [7]


def test_what_a_newer_server_adds_to_the_fixed_part_of_rows_is_skipped() -> None:
    lengths = bytearray(POST_HEADER_LENGTHS)
    lengths[EventType.WRITE_ROWS_EVENT - 1] = 12
    lengths[EventType.WRITE_ROWS_EVENT_V1 - 1] = 9
    for event_type, head in (
        (EventType.WRITE_ROWS_EVENT, STMT_END + b"\x02\x00" + b"??"),
        (EventType.WRITE_ROWS_EVENT_V1, STMT_END + b"?"),
    ):
        log = EventDecoder()
        log.decode(format_description(lengths=bytes(lengths)))
        log.decode(event(EventType.TABLE_MAP_EVENT, table_map([INT])))
        row = b"\x2a\0\0\0\0\0" + head + b"\x01\xff\x00\x07\0\0\0"
        decoded = log.decode(event(event_type, row)).body
        assert isinstance(decoded, RowsEvent)
        assert [r.after for r in decoded.rows()] == [[7]]


def test_types_that_the_format_does_not_describe_are_read_as_they_are_known() -> None:
    log = EventDecoder()
    log.decode(format_description(lengths=POST_HEADER_LENGTHS[:15]))
    log.decode(event(EventType.TABLE_MAP_EVENT, table_map([INT])))
    decoded = log.decode(write_rows(b"\x00\x07\x00\x00\x00")).body
    assert isinstance(decoded, RowsEvent)
    assert [r.after for r in decoded.rows()] == [[7]]
    assert log.decode(event(EventType.XID_EVENT, XID)).body == XidEvent(9)


def test_a_new_format_description_forgets_the_table_maps() -> None:
    log = decoder()
    log.decode(event(EventType.TABLE_MAP_EVENT, table_map([INT])))
    log.decode(FORMAT_DESCRIPTION)
    assert refusal(log, write_rows(b"")).reason.text.startswith("no TABLE_MAP_EVENT")


def test_mariadb_lists_the_character_set_of_a_geometry() -> None:
    columns = [(ColumnType.GEOMETRY, b"\x04"), (ColumnType.VARCHAR, b"\x0a\x00")]
    data = event(EventType.TABLE_MAP_EVENT, table_map(columns, b"\x03\x02\x3f\x2d"))
    for log in (decoder(mariadb=True), EventDecoder()):
        log.decode(format_description(b"11.8.6-MariaDB"))
        decoded = log.decode(data).body
        assert isinstance(decoded, TableMapEvent)
        assert [column.collation for column in decoded.columns] == [63, 45]


# Places.


def test_a_real_rotate_leads_to_the_next_file() -> None:
    log = decoder()
    rotate = log.decode(
        event(EventType.ROTATE_EVENT, (4).to_bytes(8, "little") + b"binlog.000002", log_pos=170)
    )
    assert (rotate.file, rotate.position, rotate.next_position) == ("binlog.000001", 126, 170)
    following = log.decode(FORMAT_DESCRIPTION)
    assert (following.file, following.position) == ("binlog.000002", 4)


def test_a_format_description_in_the_middle_of_a_file_takes_no_place() -> None:
    stream = EventDecoder()
    start = (1000).to_bytes(8, "little") + b"binlog.000003"
    stream.decode(event(EventType.ROTATE_EVENT, start, flags=0x20, timestamp=0))
    middle = stream.decode(format_description(log_pos=0))
    assert (middle.position, middle.next_position) == (1000, 1000)
    xid = stream.decode(event(EventType.XID_EVENT, XID, log_pos=1031))
    assert (xid.file, xid.position, xid.next_position) == ("binlog.000003", 1000, 1031)


def test_a_position_continues_beyond_four_gibibytes() -> None:
    log = EventDecoder(file="binlog.000001", position=2**32 - 20)
    log.decode(format_description(log_pos=0))
    across = log.decode(event(EventType.XID_EVENT, XID, log_pos=11))
    assert (across.position, across.next_position) == (2**32 - 20, 2**32 + 11)
    behind = log.decode(event(EventType.XID_EVENT, XID, log_pos=42))
    assert behind.position == 2**32 + 11


def test_a_gap_leads_forward() -> None:
    log = decoder()
    far = log.decode(event(EventType.XID_EVENT, XID, log_pos=3_000_000_031))
    assert far.position == 3_000_000_000
    wrapped = log.decode(event(EventType.XID_EVENT, XID, log_pos=131))
    assert wrapped.position == 2**32 + 100


def test_events_without_a_position_are_counted() -> None:
    log = EventDecoder()
    log.decode(format_description(b"11.8.6-MariaDB"))
    gtid = event(EventType.GTID_EVENT, (7).to_bytes(8, "little") + bytes(11), log_pos=542)
    opened = log.decode(gtid)
    assert isinstance(opened.body, MariadbGtidEvent)
    assert (opened.position, opened.next_position) == (500, 542)
    inside = log.decode(event(EventType.ANNOTATE_ROWS_EVENT, b"BEGIN"))
    assert (inside.position, inside.next_position) == (542, 570)
    closing = log.decode(event(EventType.XID_EVENT, XID, log_pos=601))
    assert (closing.position, closing.next_position) == (570, 601)


def test_a_heartbeat_says_how_far_the_server_has_skipped() -> None:
    log = decoder()
    beat = log.decode(
        event(EventType.HEARTBEAT_LOG_EVENT, b"binlog.000001", log_pos=5000, timestamp=0)
    )
    assert beat.body == HeartbeatEvent("binlog.000001", 5000, exact=False)
    assert (beat.position, beat.next_position) == (126, 126)
    assert log.decode(event(EventType.STOP_EVENT, b"")).position == 5000


def test_a_heartbeat_of_the_second_version_says_it_in_64_bits() -> None:
    log = decoder()
    position = b"\x02\x09\xfe" + (5 * 2**32 + 7).to_bytes(8, "little")
    beat = log.decode(
        event(EventType.HEARTBEAT_LOG_EVENT_V2, b"\x01\x0dbinlog.000002" + position + b"\x00")
    )
    assert beat.body == HeartbeatEvent("binlog.000002", 5 * 2**32 + 7, exact=True)
    stop = log.decode(event(EventType.STOP_EVENT, b""))
    assert (stop.file, stop.position) == ("binlog.000002", 5 * 2**32 + 7)
    assert stop.body == StopEvent()


@pytest.mark.parametrize("position", [2**62, 2**64 - 1])
def test_a_position_that_no_file_has_is_refused(position: int) -> None:
    wide = position.to_bytes(8, "little")
    heartbeat = b"\x01\x0dbinlog.000002\x02\x09\xfe" + wide + b"\x00"
    for data, name in (
        (event(EventType.ROTATE_EVENT, wide + b"binlog.000002", flags=0x20), "ROTATE_EVENT"),
        (event(EventType.HEARTBEAT_LOG_EVENT_V2, heartbeat), "HEARTBEAT_LOG_EVENT_V2"),
    ):
        error = refusal(decoder(), data)
        assert (error.event_name, error.reason.text) == (
            name,
            f"it says that binlog.000002 goes on at {position}, but no file is as long",
        )


def test_an_artificial_gtid_list_of_mariadb_says_how_far_the_server_has_skipped() -> None:
    log = EventDecoder()
    log.decode(format_description(b"11.8.6-MariaDB"))
    gtid_list = event(EventType.GTID_LIST_EVENT, bytes(4), log_pos=9000, flags=0x20, timestamp=0)
    made_up = log.decode(gtid_list)
    assert (made_up.position, made_up.next_position) == (126, 126)
    assert log.decode(event(EventType.STOP_EVENT, b"")).position == 9000


# Events that are opened: their bodies are decoded when somebody looks at them.


def query(text: bytes, *, variables: bytes = b"", schema: bytes = b"shop") -> bytes:
    head = (77).to_bytes(4, "little") + bytes(4) + bytes([len(schema)]) + bytes(2)
    lengths = len(variables).to_bytes(2, "little")
    return event(EventType.QUERY_EVENT, head + lengths + variables + schema + b"\0" + text)


def test_an_opened_event_is_the_decoded_one() -> None:
    statement = [
        event(EventType.TABLE_MAP_EVENT, table_map([INT])),
        write_rows(b"\0\x01\0\0\0"),
        query(b"COMMIT"),
        event(EventType.XID_EVENT, XID),
    ]
    opening, decoding = decoder(), decoder()
    for data in statement:
        assert opening.open(data) == decoding.decode(data)


def test_what_is_wrong_with_the_body_of_an_opened_event_is_said_whenever_it_is_used() -> None:
    log = decoder()
    opened = log.open(event(EventType.XID_EVENT, XID + b"\0"))
    assert log.open(event(EventType.XID_EVENT, XID)).body == XidEvent(9)
    for _ in range(2):
        with pytest.raises(EventError) as caught:
            _ = opened.body
        assert caught.value.text == (
            "binlog.000001:126: cannot decode XID_EVENT: 1 bytes are left over after the last "
            "field; compare with `mysqlbinlog --start-position=126 binlog.000001`"
        )


@pytest.mark.parametrize(
    "data",
    [
        event(99, b""),
        event(EventType.TABLE_MAP_EVENT, table_map([INT]) + b"\x01"),
        event(EventType.ROTATE_EVENT, bytes(8)),
        write_rows(b""),
    ],
    ids=["unknown", "table map", "rotate", "rows without a table map"],
)
def test_what_later_events_depend_on_is_decoded_at_once(data: bytes) -> None:
    log = decoder()
    with pytest.raises(EventError):
        log.open(data)


def test_an_opened_rows_event_tells_its_table_before_its_rows_are_looked_at() -> None:
    log = decoder()
    described = log.open(event(EventType.TABLE_MAP_EVENT, table_map([INT]))).body
    # Its number of columns cannot be read.
    changed = log.open(event(EventType.WRITE_ROWS_EVENT, bytes([42, *[0] * 7, 2, 0])))
    assert changed.table_map is described
    with pytest.raises(EventError):
        _ = changed.body


def test_rows_are_of_the_table_map_that_was_there_when_they_were_opened() -> None:
    log = decoder()
    first = log.open(event(EventType.TABLE_MAP_EVENT, table_map([INT]))).body
    changed = log.open(write_rows(b"\0\x01\0\0\0"))
    log.open(event(EventType.TABLE_MAP_EVENT, table_map([INT, INT])))
    assert isinstance(changed.body, RowsEvent)
    assert changed.body.table_map is first
    assert [row.after for row in changed.body.rows()] == [[1]]


def test_a_dummy_event_has_no_table() -> None:
    assert decoder().open(write_rows(b"", table_id=DUMMY_TABLE_ID)).table_map is None


# What opens a transaction.


@pytest.mark.parametrize("variables", [b"", b"\0" + bytes(4)])
def test_a_begin_tells_its_session_without_its_body(variables: bytes) -> None:
    begin = decoder().open(query(b"BEGIN", variables=variables))
    assert begin.begin_thread_id == 77
    _ = begin.body
    assert begin.begin_thread_id == 77


@pytest.mark.parametrize(
    "data",
    [
        query(b"begin"),
        query(b"BEGIN;"),
        query(b"DROP TABLE t -- \0BEGIN"),
        query(b"", schema=b"BEGIN"),
        event(EventType.QUERY_EVENT, b"\0BEGIN"),
        event(EventType.XID_EVENT, XID),
    ],
)
def test_what_is_no_begin_has_no_session(data: bytes) -> None:
    assert decoder().open(data).begin_thread_id == -1


def test_a_begin_in_a_log_with_other_lengths_is_found_by_its_body() -> None:
    lengths = bytearray(POST_HEADER_LENGTHS)
    lengths[EventType.QUERY_EVENT - 1] += 1
    newer = EventDecoder()
    newer.decode(format_description(lengths=bytes(lengths)))
    head = (77).to_bytes(4, "little") + bytes(9)
    begin = newer.open(event(EventType.QUERY_EVENT, head + b"?" + b"\0BEGIN"))
    assert begin.begin_thread_id == 77


# Events as values.


def test_an_event_is_equal_to_one_of_the_same_bytes_at_the_same_position() -> None:
    data = event(EventType.XID_EVENT, XID)
    one, other = decoder().decode(data), decoder().open(data)
    assert (one, hash(one)) == (other, hash(other))
    assert one != one.in_file("binlog.000002")
    assert one != one.with_body(XidEvent(10))
    assert one != data
    assert repr(one) == "<binlog.000001:126 XID_EVENT: XidEvent(xid=9)>"


def test_an_event_with_another_file_keeps_all_that_it_says() -> None:
    log = decoder()
    log.decode(event(EventType.TABLE_MAP_EVENT, table_map([INT])))
    changed = log.decode(write_rows(b"\0\x01\0\0\0"))
    moved = changed.in_file("other.000001")
    assert (moved.file, moved.position, moved.checksum) == (
        "other.000001",
        changed.position,
        changed.checksum,
    )
    assert (moved.body, moved.table_map) == (changed.body, changed.table_map)
