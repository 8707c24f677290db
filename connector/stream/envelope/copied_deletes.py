"""Records of copies that delete rows: a truncate before a copy, and deletes of single keys.

*Truncate.* The record that begins a copy says that all earlier rows of the table are gone. It
equals the record of a TRUNCATE, with a sequence between two source transactions.

*Deletes* are for rows that consumers have, and the source has not. Their `before` is the key,
because nobody knows the other values::

    {"before":{"id":1},"after":null,"source":{…,"snapshot":"true",…},…,"op":"d",…}

With schemas, `before` is NULL, because a row needs its other values. Without an envelope, the
record is that of a delete; one that would have the row has only its key, and no value at all with
schemas.
"""

from collections.abc import Sequence
from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from connector.foundation.contract import OP_DELETE, OP_TRUNCATE, last_byte
from connector.foundation.kafka_records import RecordTarget
from connector.stream.envelope import copied_chunk
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_frame import BEFORE, RecordFrame
from connector.stream.envelope.record_headers import RecordHeaders, TableHeaders
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.envelope.source_block import SourceBlock, SourceTable

_TRUNCATE: Final = ord(OP_TRUNCATE)
_US_PER_MS: Final = 1000


def put_truncate(
    target: RecordTarget,
    options: EnvelopeOptions,
    database: str,
    table: str,
    schema_id: str,
    read_at: copied_chunk.CopyPosition,
    now_us: int,
) -> None:
    """Give `target` the record that all rows of a table are gone, the first one at `read_at`.

    `schema_id` is that of the column list written last. In the profile `debezium` there is no such
    record. Raises the target's errors.
    """
    if options.debezium is not None:
        return
    file, position = read_at.file, read_at.position
    source = SourceBlock(options)
    source_table = SourceTable(database, table, copied_chunk.COPIED)
    source.begin_copy(file, position, read_at.time_us, source_table, now_us)
    out = BytesWriter()
    out.write(b'{"before":null,"after":null')
    source.put(out, _TRUNCATE, 0)
    headers = RecordHeaders()
    headers.begin(
        read_at.epoch,
        read_at.file_number,
        last_byte(position),
        read_at.first_row // copied_chunk.ROWS_PER_EVENT,
        TableHeaders(schema_id),
        f"{file}:{position}".encode(),
    )
    target.take(
        options.topics.of(database, table),
        None,
        out.getvalue(),
        headers.encode(_TRUNCATE, read_at.first_row % copied_chunk.ROWS_PER_EVENT),
        # Kafka keeps the record from now on.
        now_us // _US_PER_MS,
    )


_DELETE: Final = ord(OP_DELETE)


def put_deletes(
    target: RecordTarget,
    options: EnvelopeOptions,
    schema: TableSchema,
    keys: Sequence[bytes],
    read_at: copied_chunk.CopyPosition,
    now_us: i64,
) -> None:
    """Give `target` the delete of each row whose record has one of `keys`.

    The column list `schema` was written before. Raises the target's errors.
    """
    form = RecordFrame(options, schema)
    values = _DeleteValues(options, form, schema, read_at, now_us)
    if values.are_dropped:
        return
    topic = options.topics.of(schema.database, schema.table)
    headers = copied_chunk.CopiedHeaders(read_at, schema, options)
    timestamp_ms = read_at.read_us // _US_PER_MS
    for number, key in enumerate(keys, read_at.first_row):
        encoded = headers.encode(_DELETE, number)
        record_key = form.key(key)
        value = values.of(key)
        target.take(topic, record_key, value, encoded, timestamp_ms)
        if values.have_tombstones and value is not None:
            target.take(topic, record_key, None, encoded, timestamp_ms)


@final
class _DeleteValues:
    """The values of the records of one table."""

    def __init__(
        self,
        options: EnvelopeOptions,
        form: RecordFrame,
        schema: TableSchema,
        read_at: copied_chunk.CopyPosition,
        now_us: i64,
    ) -> None:
        self._form = form
        self.have_tombstones = options.tombstones
        chosen = options.debezium
        self._has_schema = chosen is not None and chosen.value_has_schema
        self._deletes = chosen.flat_deletes if chosen is not None and chosen.is_flat else ""
        if self._deletes:
            self.have_tombstones &= self._deletes == "rewrite-with-tombstone"
        parts = copied_chunk.copied_parts(options, form, schema, read_at, _DELETE, now_us)
        self._head, self._end = parts

    @property
    def are_dropped(self) -> bool:
        """Whether deletes have no records."""
        return self._deletes == "drop"

    def of(self, key: bytes) -> bytes | None:
        """Return the value of the record of `key`."""
        if not self._deletes:
            before = b"null" if self._has_schema else key
            text = self._head + BEFORE + before + b',"after":null' + self._end
            return self._form.value(text)
        if self._deletes == "tombstone":
            return self._form.gone
        if self._has_schema or self._deletes == "delete-to-tombstone":
            return None
        return key[:-1] + self._end
