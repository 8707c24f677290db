"""The row images of an event as JSON objects, in order, and which of them have records.

Each row of an INSERT has an after image, of a DELETE a before image, of an UPDATE first the before
and then the after image; `row_writer` writes them.

With a row filter, `FilteredImages` evaluates its condition for each row before the row is written,
and `FilterGate` passes on only the records of rows that are kept.
"""

from typing import Final, final

from librt.strings import BytesWriter
from mypy_extensions import i64

from connector.binlog.columns.column import ABSENT, Value
from connector.binlog.events.rows import RowsEvent
from connector.foundation.contract import OP_DELETE, OP_TRUNCATE
from connector.foundation.errors import DecodeError
from connector.foundation.kafka_records import RecordTarget
from connector.stream.envelope.debezium.row_filter import RowFilter
from connector.stream.envelope.record_headers import OP_AT


class RowImages:
    """The interface to the images of a rows event."""

    __slots__ = ("has_message_key",)

    def __init__(self, *, has_message_key: bool) -> None:
        """Say whether the keys of records are not those of the rows."""
        self.has_message_key = has_message_key

    def next_row(self) -> bool:
        """Go to the next row, and return whether there is one; take all images of a row first."""
        raise NotImplementedError

    def put(self, out: BytesWriter) -> None:
        """Append the next image of the row.

        Raises EventError if it cannot be read, UnsupportedChange if the envelope cannot hold it.
        """
        raise NotImplementedError

    def key(self, out: BytesWriter) -> bytes | None:
        """Return the row's key in the last image that was appended to `out`; None without one."""
        raise NotImplementedError

    def record_key(self, out: BytesWriter) -> bytes | None:
        """Return the key of the record with the last image; mostly the row's key."""
        raise NotImplementedError


_DELETE: Final = ord(OP_DELETE)
_TRUNCATE: Final = ord(OP_TRUNCATE)


@final
class FilterGate(RecordTarget):
    """Passes the records of rows on that are kept."""

    def __init__(self, target: RecordTarget) -> None:
        self._target = target
        # Of the row whose records come.
        self.keeps_before = True
        self.keeps_after = True

    def open(self) -> None:
        """Keep all records: the next ones are of a table without a filter."""
        self.keeps_before = self.keeps_after = True

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: i64
    ) -> None:
        """Give a record to the target if it is kept; raises the target's errors."""
        if self._keeps(headers):
            self._target.take(topic, key, value, headers, timestamp_ms)

    def require_room(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes
    ) -> None:
        """Raise the target's error for a record that is kept and too large for it."""
        if self._keeps(headers):
            self._target.require_room(topic, key, value, headers)

    def _keeps(self, headers: bytes) -> bool:
        op = headers[OP_AT]
        if op == _DELETE:
            return self.keeps_before
        return self.keeps_after or op == _TRUNCATE


@final
class FilteredImages(RowImages):
    """Images of rows, each of which is judged before it is written."""

    __slots__ = ("_after", "_before", "_chosen", "_filter", "_gate", "_image", "_images", "_rows")

    def __init__(
        self, images: RowImages, rows: RowsEvent, row_filter: RowFilter, gate: FilterGate
    ) -> None:
        """Tell `gate` which records of `rows`, whose images are `images`, are kept.

        Raises EventError for a column that cannot be read.
        """
        super().__init__(has_message_key=images.has_message_key)
        self._images = images
        self._rows = rows
        self._filter = row_filter
        self._gate = gate
        self._chosen = frozenset(row_filter.places)
        self._image = rows.images()
        try:
            plan = rows.plan
        except DecodeError as error:
            raise rows.unreadable(error) from error
        before, after = rows.before_columns_present, rows.after_columns_present
        self._before = None if before is None else plan.indexes(before)
        self._after = None if after is None else plan.indexes(after)

    def next_row(self) -> bool:
        """Go to the next row, and judge it; raises as `put`, and as `RowFilter.keeps_logged`."""
        if not self._images.next_row():
            return False
        plan, image, gate = self._rows.plan, self._image, self._gate
        # Columns that the after image leaves out have not changed.
        values: list[Value] = [ABSENT] * len(plan.readers)
        try:
            before = self._before
            if before is not None:
                self._clear(values, before)
                plan.read_chosen(image, before, plan.readers, self._chosen, values)
                gate.keeps_before = self._filter.keeps_logged(values)
            after = self._after
            if after is not None:
                readers = plan.partial_readers(image) if self._rows.partial else plan.readers
                self._clear(values, after)
                plan.read_chosen(image, after, readers, self._chosen, values)
                gate.keeps_after = self._filter.keeps_logged(values)
        except DecodeError as error:
            raise self._rows.unreadable(error) from error
        return True

    def put(self, out: BytesWriter) -> None:
        self._images.put(out)

    def key(self, out: BytesWriter) -> bytes | None:
        return self._images.key(out)

    def record_key(self, out: BytesWriter) -> bytes | None:
        return self._images.record_key(out)

    def _clear(self, values: list[Value], indexes: list[int]) -> None:
        """Set the judged columns that an image holds to NULL; those with a value are read."""
        for index in indexes:
            if index in self._chosen:
                values[index] = None
