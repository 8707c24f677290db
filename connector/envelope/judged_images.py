"""The row images of an event whose rows are judged, and the target that leaves records out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from connector.binlog.columns.values import ABSENT, Value
from connector.contract import OP_DELETE, OP_TRUNCATE
from connector.envelope.record_headers import OP_AT
from connector.envelope.rows.row_images import RowImages
from connector.errors import DecodeError
from connector.records.record import RecordTarget

if TYPE_CHECKING:
    from librt.strings import BytesWriter
    from mypy_extensions import i64

    from connector.binlog.events.rows import RowsEvent
    from connector.envelope.filters.row_filter import RowFilter

_DELETE: Final = ord(OP_DELETE)
_TRUNCATE: Final = ord(OP_TRUNCATE)


@final
class FilterGate(RecordTarget):
    """Passes the records of rows on that are kept."""

    def __init__(self, target: RecordTarget) -> None:
        """Write to `target`."""
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
class JudgedImages(RowImages):
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
        """Append the next image."""
        self._images.put(out)

    def key(self, out: BytesWriter) -> bytes | None:
        """Return the row's key in the last image."""
        return self._images.key(out)

    def record_key(self, out: BytesWriter) -> bytes | None:
        """Return the key of the record with the last image."""
        return self._images.record_key(out)

    def _clear(self, values: list[Value], indexes: list[int]) -> None:
        """Set the judged columns that an image holds to NULL; those with a value are read."""
        for index in indexes:
            if index in self._chosen:
                values[index] = None
