"""A record of the quarantine as text lines: every row, as far as it can be read.

If a column cannot be read or written, the lines show its bytes and those around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from connector.binlog.columns.bitmap import bitmap_length, is_set
from connector.binlog.columns.row_plan import describe
from connector.envelope.cells.values import value_encoder
from connector.envelope.schemas.table_schema import schema_column
from connector.errors import DecodeError, UnsupportedChange
from connector.quarantine.core.record import COPIED, ROWS, WITHHELD, ChangeReader, quarantined_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.columns.column_reader import ColumnReader
    from connector.binlog.events.rows import RowsEvent
    from connector.codec.payload import PayloadReader
    from connector.contract import QuarantineRecord

_ROWS_SHOWN = 20
_TEXT_SHOWN = 400
_LINE_BYTES = 16
# How many bytes of a column, and of its neighbours, are shown.
_COLUMN_BYTES = 256
_AROUND_BYTES = 16


def explain(record: QuarantineRecord, event: bytes) -> Iterator[str]:
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
        name = describe(column, index)
        if is_set(image.data, nulls, number):
            yield f"      {name}: NULL"
            continue
        start = image.offset
        readers[index].skip(image)
        end = image.offset
        image.offset = start
        try:
            value: Any = readers[index].read(image)
            text = str(value)
            if column.name is not None:
                text = value_encoder(schema_column(column.name, column))(value)
            more = "…" if len(text) > _TEXT_SHOWN else ""
            yield f"      {name}: {text[:_TEXT_SHOWN]}{more}"
        except (DecodeError, UnsupportedChange) as error:
            yield f"      {name}: {error}"
            yield from _hexdump(image.data, start, end)
        image.offset = end


def _hexdump(data: bytes, start: int, end: int) -> Iterator[str]:
    """Yield lines of bytes in hexadecimal; `>` marks the lines with the bytes from start to end."""
    first = max(0, start - _AROUND_BYTES) // _LINE_BYTES * _LINE_BYTES
    last = min(len(data), min(end, start + _COLUMN_BYTES) + _AROUND_BYTES)
    for at in range(first, last, _LINE_BYTES):
        line = data[at : at + _LINE_BYTES]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)  # noqa: PLR2004 - ASCII
        mark = ">" if at < end and at + _LINE_BYTES > start else " "
        yield f"      {mark} {at:08x}  {line.hex(' '):<47}  {text}"
