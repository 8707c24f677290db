"""Event bytes for tests, laid out by hand."""

from __future__ import annotations

import zlib

from connector.binlog.columns.column import ColumnType
from connector.binlog.header import EventType

# Post-header lengths as MySQL 8.0 writes them, by event type from 1 on.
POST_HEADER_LENGTHS = bytes.fromhex(
    "000d0008000000000400040000006200041a08000000080808020000000a0a0a2a2a001234000a2800"
)


def checksummed(data: bytes) -> bytes:
    return data + zlib.crc32(data).to_bytes(4, "little")


def event(
    event_type: int,
    body: bytes,
    *,
    log_pos: int = 0,
    flags: int = 0,
    timestamp: int = 1,
    server_id: int = 1,
    checksum: bool = True,
) -> bytes:
    """Return an event with its header and, unless said otherwise, its checksum."""
    size = 19 + len(body) + (4 if checksum else 0)
    header = (
        timestamp.to_bytes(4, "little")
        + bytes([event_type])
        + server_id.to_bytes(4, "little")
        + size.to_bytes(4, "little")
        + log_pos.to_bytes(4, "little")
        + flags.to_bytes(2, "little")
    )
    return checksummed(header + body) if checksum else header + body


def format_description(
    version: bytes = b"8.0.31",
    *,
    algorithm: int = 1,
    lengths: bytes = POST_HEADER_LENGTHS,
    flags: int = 0,
    log_pos: int | None = None,
) -> bytes:
    """Return the event that starts a file."""
    body = b"\x04\x00" + version.ljust(50, b"\0") + bytes(4) + b"\x13" + lengths
    body += bytes([algorithm])
    end = 4 + 19 + len(body) + 4 if log_pos is None else log_pos
    return event(EventType.FORMAT_DESCRIPTION_EVENT, body, log_pos=end, flags=flags)


FORMAT_DESCRIPTION = format_description()


def v1_event(event_type: int, body: bytes, *, timestamp: int = 1, server_id: int = 1) -> bytes:
    """Return an event of format v1 (3.23): a header of 13 bytes, no checksum."""
    return (
        timestamp.to_bytes(4, "little")
        + bytes([event_type])
        + server_id.to_bytes(4, "little")
        + (13 + len(body)).to_bytes(4, "little")
        + body
    )


def start_v3(binlog_version: int, server_version: bytes) -> bytes:
    """Return the body of a START_EVENT_V3 that was written at second 7."""
    return (
        binlog_version.to_bytes(2, "little")
        + server_version.ljust(50, b"\0")
        + (7).to_bytes(4, "little")
    )


def old_query(text: bytes, schema: bytes = b"shop") -> bytes:
    """Return the body of a QUERY_EVENT of format v1 or v3."""
    head = (155).to_bytes(4, "little") + (3).to_bytes(4, "little")
    return head + bytes([len(schema)]) + b"\0\0" + schema + b"\0" + text


def load(columns: list[bytes], file_name: bytes) -> bytes:
    """Return the body of a LOAD_EVENT, the form of 3.23, into `shop`.`t`, fields by comma."""
    head = bytes(12) + b"\x01\x04" + len(columns).to_bytes(4, "little")
    lengths = bytes(len(column) for column in columns)
    names = b"".join(column + b"\0" for column in columns)
    return head + b",\0\n\0\\" + b"\x00\x0a" + lengths + names + b"t\0shop\0" + file_name


# Type, metadata and, for the character types, collation.
EVERY_TYPE: list[tuple[ColumnType, bytes, int | None]] = [
    (ColumnType.TINY, b"", None),
    (ColumnType.SHORT, b"", None),
    (ColumnType.INT24, b"", None),
    (ColumnType.LONG, b"", None),
    (ColumnType.LONGLONG, b"", None),
    (ColumnType.FLOAT, b"\x04", None),
    (ColumnType.DOUBLE, b"\x08", None),
    (ColumnType.NEWDECIMAL, b"\x0a\x02", None),
    (ColumnType.YEAR, b"", None),
    (ColumnType.BIT, b"\x01\x01", None),
    (ColumnType.DATE, b"", None),
    (ColumnType.TIME, b"", None),
    (ColumnType.DATETIME, b"", None),
    (ColumnType.TIMESTAMP, b"", None),
    (ColumnType.TIME2, b"\x02", None),
    (ColumnType.DATETIME2, b"\x06", None),
    (ColumnType.TIMESTAMP2, b"\x03", None),
    (ColumnType.VARCHAR, b"\x14\x00", 45),
    (ColumnType.VARCHAR, b"\x00\x02", 8),
    (ColumnType.STRING, b"\xfe\x08", 63),
    (ColumnType.BLOB, b"\x02", 45),
    (ColumnType.STRING, b"\xf7\x01", None),
    (ColumnType.STRING, b"\xf8\x02", None),
    (ColumnType.JSON, b"\x04", None),
    (ColumnType.GEOMETRY, b"\x04", None),
    (ColumnType.VECTOR, b"\x04", 63),
]


def table_map(
    columns: list[tuple[ColumnType, bytes]],
    optional: bytes = b"",
    *,
    table_id: int = 42,
    nullable: bool = True,
) -> bytes:
    """Return the body of a TABLE_MAP_EVENT of `db.t`."""
    metadata = b"".join(meta for _, meta in columns)
    count = len(columns)
    bitmap_length = (count + 7) // 8
    return (
        table_id.to_bytes(6, "little")
        + b"\x01\x00\x02db\x00\x01t\x00"
        + bytes([count])
        + bytes(type_code for type_code, _ in columns)
        + bytes([len(metadata)])
        + metadata
        + (b"\xff" if nullable else b"\x00") * bitmap_length
        + optional
    )


def tlv(kind: int, value: bytes) -> bytes:
    """Return one field of optional metadata."""
    return bytes([kind, len(value)]) + value


def table_map_of_every_type() -> tuple[bytes, int]:
    """Return a TABLE_MAP_EVENT with a column of every type, and the number of its columns."""
    collations = [collation for _, _, collation in EVERY_TYPE if collation is not None]
    body = table_map(
        [(type_code, meta) for type_code, meta, _ in EVERY_TYPE],
        tlv(3, bytes(collations)) + tlv(11, b"\x2d\x2d") + tlv(6, b"\x02\x01a\x01b"),
    )
    return event(EventType.TABLE_MAP_EVENT, body), len(EVERY_TYPE)
