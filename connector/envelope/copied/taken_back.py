"""The records of rows that a copy takes back: consumers have them, and the source has not.

They are deletes whose `before` is the key, because nobody knows the other values::

    {"before":{"id":1},"after":null,"source":{…,"snapshot":"true",…},…,"op":"d",…}

With schemas, `before` is NULL, because a row needs its other values. Without an envelope, the
record is that of a delete; one that would have the row has only its key, and no value at all with
schemas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.contract import OP_DELETE
from connector.envelope.copied.copied_headers import CopiedHeaders
from connector.envelope.copied.copied_parts import copied_parts
from connector.envelope.record_form import BEFORE, RecordForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_extensions import i64

    from connector.envelope.copied.copy_position import CopyPosition
    from connector.envelope.options import EnvelopeOptions
    from connector.envelope.schemas.table_schema import TableSchema
    from connector.records.record import RecordTarget

_DELETE: Final = ord(OP_DELETE)
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
    form = RecordForm(options, schema)
    values = _Values(options, form, schema, read_at, now_us)
    if values.are_dropped:
        return
    topic = options.topics.of(schema.database, schema.table)
    headers = CopiedHeaders(read_at, schema, options)
    timestamp_ms = read_at.read_us // _US_PER_MS
    for number, key in enumerate(keys, read_at.first_row):
        encoded = headers.encode(_DELETE, number)
        record_key = form.key(key)
        value = values.of(key)
        target.take(topic, record_key, value, encoded, timestamp_ms)
        if values.have_tombstones and value is not None:
            target.take(topic, record_key, None, encoded, timestamp_ms)


@final
class _Values:
    """The values of the records of one table."""

    def __init__(
        self,
        options: EnvelopeOptions,
        form: RecordForm,
        schema: TableSchema,
        read_at: CopyPosition,
        now_us: i64,
    ) -> None:
        self._form = form
        self.have_tombstones = options.tombstones
        chosen = options.debezium
        self._has_schema = chosen is not None and chosen.value_has_schema
        self._deletes = chosen.flat_deletes if chosen is not None and chosen.is_flat else ""
        if self._deletes:
            self.have_tombstones &= self._deletes == "rewrite-with-tombstone"
        parts = copied_parts(options, form, schema, read_at, _DELETE, now_us)
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
