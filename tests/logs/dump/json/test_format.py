"""`dump --format json`: one object a line, one line an event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog.columns.column import ColumnType as T
from connector.binlog.decoder import EventDecoder
from connector.binlog.header import BinlogVersion, EventType, detect_version
from connector.binlog.log_errors import EventError
from connector.logs.dump.json.format import JsonFormat
from tests.binlog.log_bytes import (
    FORMAT_DESCRIPTION,
    POST_HEADER_LENGTHS,
    event,
    format_description,
    table_map,
    tlv,
)
from tests.binlog.source_log import split
from tests.logs.dump.written import lines_of

if TYPE_CHECKING:
    from pathlib import Path


# Of every type that MariaDB 12.3 has.
MARIADB_LENGTHS = POST_HEADER_LENGTHS.ljust(172, b"\0")
XID = event(EventType.XID_EVENT, (9).to_bytes(8, "little"), log_pos=157, flags=8, server_id=5)


def lines(
    *events: bytes, first: bytes = FORMAT_DESCRIPTION, apply_diffs: bool = False
) -> list[str]:
    """Return the lines of events behind a format description."""
    decoder = EventDecoder(file="binlog.000001")
    writer = JsonFormat(apply_diffs=apply_diffs)
    return list(lines_of(writer, map(decoder.open, (first, *events))))[1:]


def body(*events: bytes, first: bytes = FORMAT_DESCRIPTION, apply_diffs: bool = False) -> Any:
    """Return the body of the last event."""
    return json.loads(lines(*events, first=first, apply_diffs=apply_diffs)[-1])["body"]


def rows(
    images: bytes, count: int, *, kind: int = EventType.WRITE_ROWS_EVENT, present: bytes = b""
) -> bytes:
    head = (42).to_bytes(6, "little") + b"\x01\x00\x02\x00" + bytes([count])
    return event(kind, head + (present or b"\xff" * ((count + 7) // 8)) + images)


def test_a_line_is_an_object_with_the_keys_of_the_contract() -> None:
    (line,) = lines(XID)
    assert line == (
        '{"file":"binlog.000001","log_pos":126,"next_pos":157,"type":"XID_EVENT","type_code":16,'
        '"timestamp":1,"server_id":5,"flags":8,"size":31,"checksum":"b8723804","body":{"xid":9}}'
    )


def test_a_log_without_checksums_has_none() -> None:
    first = format_description(algorithm=0)
    xid = event(EventType.XID_EVENT, bytes(8), checksum=False)
    assert json.loads(lines(xid, first=first)[0])["checksum"] is None


def test_a_checksum_has_eight_digits() -> None:
    numbers = range(300)
    shown = lines(*(event(EventType.XID_EVENT, number.to_bytes(8, "little")) for number in numbers))
    checksums = [json.loads(line)["checksum"] for line in shown]
    assert {len(checksum) for checksum in checksums} == {8}
    assert any(checksum.startswith("0") for checksum in checksums)


def test_format_v1_has_neither_positions_nor_flags() -> None:
    start = (1).to_bytes(2, "little") + b"3.23.58".ljust(50, b"\0") + bytes(4)
    header = bytes(4) + b"\x01" + (1).to_bytes(4, "little") + (69).to_bytes(4, "little")
    decoder = EventDecoder(file="log.1", version=BinlogVersion.V1)
    stop = bytes(4) + b"\x03" + (1).to_bytes(4, "little") + (13).to_bytes(4, "little")
    events = map(decoder.open, (header + start, stop))
    parsed = [json.loads(line) for line in lines_of(JsonFormat(), events)]
    assert [(each["log_pos"], each["next_pos"], each["flags"]) for each in parsed] == [
        (4, None, None),
        (73, None, None),
    ]
    assert parsed[0]["body"] == {
        "binlog_version": 1,
        "server_version": "3.23.58",
        "create_timestamp": 0,
    }


EVERY_FIELD = (
    tlv(1, b"\x80")  # the first number is unsigned
    + tlv(3, b"\x08\x3f")  # latin1_swedish_ci, binary
    + tlv(4, b"\x01a\x01b\x01c\x01d\x01e")
    + tlv(6, b"\x02\x01x\x01y")
    + tlv(8, b"\x01")
    + tlv(11, b"\x2d")
    + tlv(12, b"\xe8")  # the fourth is invisible
)
COLUMNS = [
    (T.LONG, b""),
    (T.VARCHAR, b"\x14\x00"),
    (T.BLOB, b"\x02"),
    (T.STRING, b"\xf7\x01"),
    (T.FLOAT, b"\x04"),
]


def test_a_table_map_tells_of_each_column_what_the_log_tells() -> None:
    data = event(EventType.TABLE_MAP_EVENT, table_map(COLUMNS, EVERY_FIELD))
    assert body(data) == {
        "table_id": 42,
        "schema": "db",
        "table": "t",
        "flags": 1,
        "columns": [
            {
                "type": "LONG",
                "metadata": 0,
                "nullable": True,
                "name": "a",
                "unsigned": True,
                "visible": True,
                "primary_key": False,
            },
            {
                "type": "VARCHAR",
                "metadata": 20,
                "nullable": True,
                "name": "b",
                "charset": "latin1",
                "collation": "latin1_swedish_ci",
                "visible": True,
                "primary_key": True,
            },
            {
                "type": "BLOB",
                "metadata": 2,
                "nullable": True,
                "name": "c",
                "charset": "binary",
                "collation": "binary",
                "visible": True,
                "primary_key": False,
            },
            {
                "type": "ENUM",
                "metadata": 0x1F7,
                "nullable": True,
                "name": "d",
                "charset": "utf8mb4",
                "collation": "utf8mb4_general_ci",
                "values": ["x", "y"],
                "visible": False,
                "primary_key": False,
            },
            {
                "type": "FLOAT",
                "metadata": 4,
                "nullable": True,
                "name": "e",
                "unsigned": False,
                "visible": True,
                "primary_key": False,
            },
        ],
    }


def test_without_metadata_a_column_has_its_type_alone() -> None:
    data = event(EventType.TABLE_MAP_EVENT, table_map(COLUMNS, nullable=False))
    assert body(data)["columns"][:2] == [
        {"type": "LONG", "metadata": 0, "nullable": False},
        {"type": "VARCHAR", "metadata": 20, "nullable": False},
    ]


def test_a_key_part_tells_how_much_of_the_column_it_holds() -> None:
    key = tlv(4, b"\x01a") + tlv(9, b"\x00\x05")
    data = event(EventType.TABLE_MAP_EVENT, table_map([(T.VARCHAR, b"\x14\x00")], key))
    (column,) = body(data)["columns"]
    assert (column["primary_key"], column["primary_key_prefix"]) == (True, 5)


def test_rows_have_a_cell_for_each_column_in_their_order() -> None:
    table = event(EventType.TABLE_MAP_EVENT, table_map(COLUMNS, EVERY_FIELD))
    image = (
        b"\xff\xff\xff\xff" + b"\x04caf\xe9" + b"\x02\x00\x00\xff" + b"\x02" + b"\xcd\xcc\xcc\x3d"
    )
    shown = body(table, rows(b"\x00" + image + b"\x1f", 5))
    assert shown["rows"] == [
        {"op": "insert", "after": [4294967295, "café", {"hex": "00ff"}, "y", 0.1]},
        {"op": "insert", "after": [None] * 5},
    ]
    del shown["rows"]
    assert shown == body(table) | {"stmt_end": True}


def test_an_update_has_both_images_and_a_column_left_out_is_absent() -> None:
    table = event(EventType.TABLE_MAP_EVENT, table_map(COLUMNS[:2], tlv(3, b"\x08")))
    images = b"\x00" + (1).to_bytes(4, "little") + b"\x00\x01x"
    update = rows(images, 2, kind=EventType.UPDATE_ROWS_EVENT, present=b"\x01\x02")
    absent = {"absent": True}
    assert body(table, update)["rows"] == [
        {"op": "update", "before": [1, absent], "after": [absent, "x"]}
    ]


def test_a_delete_has_no_after_image() -> None:
    table = event(EventType.TABLE_MAP_EVENT, table_map(COLUMNS[:1]))
    delete = rows(b"\x00\x07\x00\x00\x00", 1, kind=EventType.DELETE_ROWS_EVENT)
    assert body(table, delete)["rows"] == [{"op": "delete", "before": [7]}]


def test_rows_of_a_column_that_cannot_be_read_are_refused_with_the_reason() -> None:
    table = event(EventType.TABLE_MAP_EVENT, table_map([(T.DECIMAL, b"")]))
    shown = body(table, rows(b"\x00\x01", 1))
    assert "rows" not in shown
    assert shown["refused"].startswith("[L421] column 1 (DECIMAL): ")


def test_rows_that_are_broken_are_an_error() -> None:
    table = event(EventType.TABLE_MAP_EVENT, table_map(COLUMNS[:1]))
    with pytest.raises(EventError, match=r"binlog\.000001:\d+: cannot decode WRITE_ROWS_EVENT: "):
        body(table, rows(b"\x00\x07", 1))


def test_the_partition_of_a_row_is_told() -> None:
    table = event(EventType.TABLE_MAP_EVENT, table_map(COLUMNS[:1]))
    head = (42).to_bytes(6, "little") + b"\x01\x00" + b"\x05\x00\x01\x03\x00" + b"\x01\xff"
    shown = body(table, event(EventType.WRITE_ROWS_EVENT, head + b"\x00\x07\x00\x00\x00"))
    assert shown["partition_id"] == 3


def test_the_last_fragment_of_a_rows_event_holds_its_rows() -> None:
    first = format_description(b"12.3.1-MariaDB", lengths=MARIADB_LENGTHS)
    table = event(EventType.TABLE_MAP_EVENT, table_map(COLUMNS[:1]))
    whole = event(
        EventType.WRITE_ROWS_EVENT_V1,
        (42).to_bytes(6, "little") + b"\x01\x00\x01\xff\x00\x07\x00\x00\x00",
    )
    half = len(whole) // 2
    fragments = [
        b"\x01" + len(whole).to_bytes(8, "little") + whole[:half],
        b"\x00" + whole[half:],
    ]
    events = [
        event(172, (2).to_bytes(4, "little") + number.to_bytes(4, "little") + fragment)
        for number, fragment in enumerate(fragments, 1)
    ]
    shown = [json.loads(line)["body"] for line in lines(table, *events, first=first)]
    assert shown[1] == {
        "total_fragments": 2,
        "sequence_number": 1,
        "flags": 1,
        "original_size": len(whole),
        "length": half,
    }
    rows_event = shown[2].pop("rows_event")
    assert (rows_event["schema"], rows_event["stmt_end"]) == ("db", True)
    assert rows_event["rows"] == [{"op": "insert", "after": [7]}]
    assert shown[2]["length"] == len(whole) - half


def test_a_log_of_mariadb_has_its_names_of_collations() -> None:
    first = format_description(b"11.8.6-MariaDB")
    metadata = tlv(3, b"\xf5")
    data = event(EventType.TABLE_MAP_EVENT, table_map(COLUMNS[1:2], metadata))
    assert body(data)["columns"][0]["collation"] == "utf8mb4_croatian_ci"
    (column,) = body(data, first=first)["columns"]
    assert column["collation"] == "utf8mb4_croatian_mysql561_ci"


def recorded(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    version = detect_version(data[4:])
    decoder = EventDecoder(file=path.name, version=version, counted=True)
    events = map(decoder.open, split(data))
    return [json.loads(line) for line in lines_of(JsonFormat(), events)]


def test_a_compressed_transaction_holds_its_events(shared_binlogs: Path) -> None:
    events = recorded(shared_binlogs / "recorded/transaction_compression.000001")
    payload = next(each for each in events if each["type"] == "TRANSACTION_PAYLOAD_EVENT")
    assert payload["body"]["compression"] == "ZSTD"
    inside = payload["body"]["events"]
    assert [each["type"] for each in inside][0::3] == ["QUERY_EVENT", "XID_EVENT"]
    assert {each["checksum"] for each in inside} == {None}
    assert sum(each["size"] for each in inside) == payload["body"]["uncompressed_size"]


def test_rows_of_5_1_pre_releases_are_refused(shared_binlogs: Path) -> None:
    events = recorded(shared_binlogs / "recorded/ver_5_1-wl2325_r.001")
    (table, *_) = [each for each in events if each["type"] == "TABLE_MAP_EVENT"]
    assert table["body"]["columns"][0] == {"type": "LONG", "metadata": None, "nullable": None}
    refused = [each["body"] for each in events if "ROWS_EVENT" in each["type"]]
    assert len(refused) == 3
    for each in refused:
        assert "rows" not in each
        assert each["refused"].startswith("[L316] rows as servers before 5.1.18 wrote them")
