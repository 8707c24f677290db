"""Changes become records of the quarantine, and are read back: as changes, or as text for people.

The bytes are those of the log: the FORMAT_DESCRIPTION_EVENT and TABLE_MAP_EVENT that are needed
to read them, the event, and everything that a record in a table's topic says about the origin of
a row. A record that is too large for Kafka is split into parts.

As text, a record has a line for every row, as far as it can be read. If a column cannot be read or
written, the lines show its bytes and the bytes around it.
"""

import json
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, cast
from uuid import UUID

from librt.strings import BytesWriter

from connector.binlog.body_decoder import BodyDecoder, PayloadDecoder
from connector.binlog.checksum import CHECKSUM_LENGTH
from connector.binlog.columns.column import Column, ColumnReader
from connector.binlog.columns.json import JsonDiffsReader
from connector.binlog.columns.row_images import bitmap_length, column_label, is_set
from connector.binlog.event import Event
from connector.binlog.events.format_description import FormatDescriptionEvent
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import DELETE, INSERT
from connector.binlog.events.table_map import TableMapCache
from connector.binlog.gtid import Gtid, MariadbGtid
from connector.binlog.header import HEADER_LENGTH, PARTIAL_ROW_DATA, TABLE_MAP
from connector.binlog.payload_reader import PayloadReader, encode_lenenc
from connector.binlog.statement import StatementKind
from connector.foundation.control_records import QuarantinedRow, QuarantineRecord
from connector.foundation.errors import DecodeError, RecordTooLarge, UnsupportedChange
from connector.stream.changes import transaction
from connector.stream.envelope.cells.writers import exact_writer, not_text
from connector.stream.envelope.schemas.table_schema import schema_column
from connector.stream.quarantine import quarantine_errors

ROWS = "rows"
GONE = "gone"
STATEMENT = "statement"
COPIED = "copied"
WITHHELD = "withheld"

# Size of a part without the event's bytes: numbers and names.
_PART_BYTES = 256
_BASE64_BYTES = 4
_BASE64_OF = 3
# MariaDB's types of rows events: an event that came in fragments is written as one of them.
_WRITE_V1, _UPDATE_V1, _DELETE_V1 = 23, 24, 25


def event_bytes(event: Event, rows: RowsEvent | None) -> tuple[bytes, bool]:
    """Return an event as the log has it, and whether it ends in a checksum.

    The fragments of an event are joined.
    """
    if rows is not None and event.header.type_code == PARTIAL_ROW_DATA:
        return _whole(event, rows), False
    return event.data, event.checksum is not None


def base64_text(data: bytes) -> str:
    """Return base64 as text."""
    return b64encode(data).decode("ascii")


def has_room(record: QuarantineRecord, bytes_max: int) -> bool:
    """Return whether a record of at most `bytes_max` bytes holds `record` and some of its event."""
    return _room(record, bytes_max) >= _BASE64_BYTES


def without_rows(record: QuarantineRecord) -> QuarantineRecord:
    """Return a record without what the log has of the change."""
    kind = record["kind"]
    withheld = WITHHELD if kind in (ROWS, COPIED) else kind
    bare = {"kind": withheld, "format_description": "", "table_map": "", "query": ""}
    return cast("QuarantineRecord", {**record, **bare})


def record_values(record: QuarantineRecord, event: bytes, bytes_max: int) -> Iterator[bytes]:
    """Yield the values of the records that hold `record`, each of at most `bytes_max` bytes.

    `event` is split over them. Raises RecordTooLarge if even the other fields have no room.
    """
    room = _room(record, bytes_max)
    later_room = bytes_max - _PART_BYTES
    if room < _BASE64_BYTES or later_room < _BASE64_BYTES:
        raise RecordTooLarge(
            quarantine_errors.QUARANTINE_ROOM,
            position=f"{record['file']}:{record['position']}",
            table=f"{record['database']}.{record['table']}",
        )
    first = room // _BASE64_BYTES * _BASE64_OF
    later = later_room // _BASE64_BYTES * _BASE64_OF
    slices = [event[:first]]
    slices += [event[at : at + later] for at in range(first, len(event), later)]
    for number, data in enumerate(slices, 1):
        piece = {"seq": record["seq"], "part": number, "parts": len(slices)}
        part = {**record, **piece} if number == 1 else piece
        yield json.dumps({**part, "event": base64_text(data)}, separators=(",", ":")).encode()


def _room(record: QuarantineRecord, bytes_max: int) -> int:
    """Return how many bytes are left for the event in the first record."""
    head = {**record, "event": "", "parts": 1_000_000}
    return bytes_max - len(json.dumps(head, separators=(",", ":")))


class RecordParts:
    """Joins the parts of records; records of other pipelines may be between them."""

    def __init__(self) -> None:
        self._parts: dict[bytes, list[QuarantineRecord]] = {}

    def take(self, key: bytes, value: bytes) -> tuple[QuarantineRecord, bytes] | None:
        """Return the record and its event after the last part, else None.

        Raises DecodeError for a value of another version.
        """
        try:
            part: QuarantineRecord = json.loads(value)
            if part["part"] == 1:
                self._parts[key] = []
            parts = self._parts.setdefault(key, [])
            parts.append(part)
            if part["part"] < part["parts"]:
                return None
            del self._parts[key]
            if [item["part"] for item in parts] != list(range(1, part["parts"] + 1)):
                # The first parts were read before, or retention has deleted them.
                return None
            return parts[0], b"".join(b64decode(item["event"]) for item in parts)
        except (ValueError, KeyError, TypeError) as error:
            raise DecodeError(quarantine_errors.QUARANTINE, why=repr(error)) from error


class ChangeReader:
    """Decodes records into changes; equal table maps become the same object."""

    def __init__(self) -> None:
        self._logs: dict[tuple[str, str], tuple[FormatDescriptionEvent, TableMapCache]] = {}

    def rows(self, record: QuarantineRecord, event: bytes) -> transaction.RowsChange:
        """Return the change of rows; raises DecodeError if the event cannot be read."""
        log, known = self._log(record)
        decoder = _decoder(record, log, known)
        table_map = b64decode(record["table_map"])
        head = bytes(4) + bytes((TABLE_MAP,)) + bytes(log.header_length - 5)
        decoder.open(head + table_map, 0)
        opened = decoder.open(_without_checksum(record, event), 0)
        rows = opened.body
        if not isinstance(rows, RowsEvent):
            raise DecodeError(
                quarantine_errors.NO_ROWS,
                position=f"{record['file']}:{record['position']}",
                event_name=opened.name,
            )
        return transaction.RowsChange(_transaction(record), record["event_number"], opened, rows)

    def gone(self, record: QuarantineRecord, event: bytes) -> transaction.StatementChange:
        """Return the statement that empties a table; raises DecodeError."""
        log, known = self._log(record)
        opened = _decoder(record, log, known).open(_without_checksum(record, event), 0)
        logged = transaction.LoggedStatement(
            _transaction(record), record["event_number"], opened, record["query"]
        )
        return transaction.StatementChange(
            logged, StatementKind.DROP_TABLE, record["database"], record["table"], []
        )

    def _log(self, record: QuarantineRecord) -> tuple[FormatDescriptionEvent, TableMapCache]:
        key = (record["flavour"], record["format_description"])
        log = self._logs.get(key)
        if log is None:
            data = b64decode(record["format_description"])
            described = FormatDescriptionEvent.decode(PayloadReader(data, HEADER_LENGTH))
            maps = TableMapCache(described, mariadb=record["flavour"] == "mariadb")
            log = self._logs[key] = (described, maps)
        return log


def quarantined_rows(record: QuarantineRecord, count: int) -> Iterable[QuarantinedRow]:
    """Return the kept rows of an event that has `count` rows."""
    yield from record["rows"]
    rest = record["rest"]
    if rest is not None:
        for number in range(rest, count):
            yield {"row": number, "keys": [], "error": None}


def _decoder(
    record: QuarantineRecord, log: FormatDescriptionEvent, known: TableMapCache
) -> PayloadDecoder:
    bodies = BodyDecoder(
        log, mariadb=record["flavour"] == "mariadb", ignored_events=Counter(), known=known
    )
    position = record["position"]
    return PayloadDecoder(bodies, log.header_length, record["file"], position, position)


def _without_checksum(record: QuarantineRecord, event: bytes) -> bytes:
    return event[:-CHECKSUM_LENGTH] if record["checksummed"] else event


def _transaction(record: QuarantineRecord) -> transaction.SourceTransaction:
    gtid = record["gtid"]
    return transaction.SourceTransaction(
        record["transaction_file"],
        record["transaction_position"],
        None if gtid is None else _gtid(gtid, record["flavour"]),
        record["committed_us"],
        record["server_id"],
        record["thread_id"],
    )


def _gtid(text: str, flavour: str) -> Gtid | MariadbGtid:
    if flavour == "mariadb":
        return MariadbGtid.parse(text)
    server, *tag, number = text.split(":")
    return Gtid(UUID(server), int(number), *tag)


def _whole(event: Event, rows: RowsEvent) -> bytes:
    """Return the joined rows event in version 1; only MariaDB writes fragments."""
    types = {INSERT: _WRITE_V1, DELETE: _DELETE_V1}
    count = len(rows.table_map.columns)
    images = rows.images()
    head = event.data[:4] + bytes((types.get(rows.kind, _UPDATE_V1),))
    return b"".join(
        (
            head,
            event.data[5:HEADER_LENGTH],
            rows.table_map.table_id.to_bytes(6, "little"),
            rows.flags.to_bytes(2, "little"),
            encode_lenenc(count),
            rows.before_columns_present or b"",
            rows.after_columns_present or b"",
            images.data[images.offset : images.end],
        )
    )


def new_record(**values: Any) -> QuarantineRecord:
    """Return a record with these fields, for `values_of`."""
    return cast("QuarantineRecord", {"part": 1, "parts": 1, "event": "", **values})


_ROWS_SHOWN = 20
_TEXT_SHOWN = 400
_LINE_BYTES = 16
# How many bytes of a column, and of its neighbours, are shown.
_COLUMN_BYTES = 256
_AROUND_BYTES = 16


def explain_record(record: QuarantineRecord, event: bytes) -> Iterator[str]:
    """Yield the lines, without line ends."""
    yield f"{record['database']}.{record['table']} at {record['file']}:{record['position']}"
    yield f"  transaction  {record['transaction']}"
    yield f"  cdc.seq      {record['seq']}"
    yield f"  schema       {record['schema_id'] or 'not known'}"
    yield f"  event        {len(event)} bytes"
    yield f"  reason       {record['error']}"
    if record["kind"] == COPIED:
        for kept in record["rows"]:
            yield f"  row of a copy, key {kept['keys'][0]}"
        yield from _hexdump(event, 0, min(len(event), _COLUMN_BYTES))
        return
    if record["kind"] == WITHHELD:
        yield "  rows         are not kept: copy the table again"
        return
    if record["kind"] != ROWS:
        yield f"  statement    {record['query'] or 'in the event'}"
        return
    try:
        change = ChangeReader().rows(record, event)
        rows = list(change.rows.split())
    except DecodeError as error:
        yield f"  rows         cannot be separated: {error}"
        yield from _hexdump(event, 0, min(len(event), _COLUMN_BYTES))
        return
    for shown, kept in enumerate(quarantined_rows(record, len(rows))):
        if shown == _ROWS_SHOWN:
            yield "  … and more rows"
            break
        yield f"  row {kept['row']}: {kept['error'] or 'follows what is kept back'}"
        yield from _row(rows[kept["row"]])


def _row(row: RowsEvent) -> Iterator[str]:
    image = row.images()
    plan = row.plan
    if row.before_columns_present is not None:
        yield "    before"
        yield from _image(row, image, plan.indexes(row.before_columns_present), plan.readers)
    if row.after_columns_present is not None:
        yield "    after"
        readers = plan.partial_readers(image) if row.partial else plan.readers
        yield from _image(row, image, plan.indexes(row.after_columns_present), readers)


def _image(
    row: RowsEvent, image: PayloadReader, indexes: list[int], readers: list[ColumnReader]
) -> Iterator[str]:
    nulls = image.take(bitmap_length(len(indexes)))
    for number, index in enumerate(indexes):
        column = row.table_map.columns[index]
        name = column_label(column, index)
        if is_set(image.data, nulls, number):
            yield f"      {name}: NULL"
            continue
        start = image.offset
        readers[index].skip(image)
        end = image.offset
        image.offset = start
        try:
            text = _text(column, readers[index], image)
            more = "…" if len(text) > _TEXT_SHOWN else ""
            yield f"      {name}: {text[:_TEXT_SHOWN]}{more}"
        except (DecodeError, UnsupportedChange) as error:
            yield f"      {name}: {error}"
            yield from _hexdump(image.data, start, end)
        image.offset = end


def _text(column: Column, reader: ColumnReader, image: PayloadReader) -> str:
    if column.name is None:
        return str(reader.read(image))
    if isinstance(reader, JsonDiffsReader):
        raise not_text(column.name)
    out = BytesWriter()
    exact_writer(schema_column(column.name, column), reader).put(image, out)
    return out.getvalue().decode()


def _hexdump(data: bytes, start: int, end: int) -> Iterator[str]:
    """Yield lines of bytes in hexadecimal; `>` marks the lines with the bytes from start to end."""
    first = max(0, start - _AROUND_BYTES) // _LINE_BYTES * _LINE_BYTES
    last = min(len(data), min(end, start + _COLUMN_BYTES) + _AROUND_BYTES)
    for at in range(first, last, _LINE_BYTES):
        line = data[at : at + _LINE_BYTES]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)  # noqa: PLR2004 - ASCII
        mark = ">" if at < end and at + _LINE_BYTES > start else " "
        yield f"      {mark} {at:08x}  {line.hex(' '):<47}  {text}"
