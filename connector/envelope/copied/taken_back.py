"""The records of rows that a copy takes back: consumers have them, and the source has not.

They are deletes whose `before` is the key, because nobody knows the other values::

    {"before":{"id":1},"after":null,"source":{…,"snapshot":"true",…},…,"op":"d",…}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import BytesWriter

from connector.contract import OP_DELETE, SEQ_ROW_DIGITS, row_topic
from connector.envelope.record_headers import RecordHeaders, schema_header
from connector.envelope.source_block import SourceBlock, SourceTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_extensions import i64

    from connector.envelope.copied.selected_chunk import CopyPosition
    from connector.envelope.options import EnvelopeOptions
    from connector.envelope.schemas.table_schema import TableSchema
    from connector.records.record import RecordTarget

_DELETE: Final = ord(OP_DELETE)
_ROWS_PER_EVENT: Final = 10**SEQ_ROW_DIGITS
_US_PER_MS: Final = 1000


def put_taken_back(
    target: RecordTarget,
    options: EnvelopeOptions,
    schema: TableSchema,
    keys: Sequence[bytes],
    read_at: CopyPosition,
    now_us: i64,
) -> None:
    """Give `target` the delete of each row whose record has one of `keys`.

    The column list `schema` was written before. Raises the target's errors.
    """
    source = SourceBlock(options)
    table = SourceTable(schema.database, schema.table, copied=True)
    source.begin_copy(read_at.file, read_at.position, read_at.read_us, table, now_us)
    topic = row_topic(options.prefix, schema.database, schema.table)
    headers = RecordHeaders()
    header = schema_header(schema.schema_id)
    transaction_id = f"{read_at.file}:{read_at.position}".encode()
    timestamp_ms = read_at.read_us // _US_PER_MS
    out = BytesWriter()
    event = -1
    for number, key in enumerate(keys, read_at.first_row):
        if number // _ROWS_PER_EVENT != event:
            event = number // _ROWS_PER_EVENT
            headers.begin(
                read_at.epoch,
                read_at.file_number,
                read_at.position - 1,
                event,
                header,
                transaction_id,
            )
        out.truncate(0)
        out.write(b'{"before":')
        out.write(key)
        out.write(b',"after":null')
        source.put(out, _DELETE, 0)
        encoded = headers.encode(_DELETE, number - event * _ROWS_PER_EVENT)
        target.take(topic, key, out.getvalue(), encoded, timestamp_ms)
        if options.tombstones:
            target.take(topic, key, None, encoded, timestamp_ms)
