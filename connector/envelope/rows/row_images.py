"""The row images of an event, one after the other, as JSON objects.

Each row of an INSERT has an after image, of a DELETE a before image, of an UPDATE first the before
and then the after image. `row_writer` makes JSON directly from bytes; the code here uses decoded
values, for images that leave out columns and for changes of documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from librt.strings import BytesWriter

    from connector.binlog.columns.values import Value
    from connector.binlog.events.row_reader import Row
    from connector.binlog.events.rows import RowsEvent
    from connector.envelope.rows.row_of_values import RowEncoder


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


@final
class DecodedImages(RowImages):
    """Images from decoded values."""

    __slots__ = ("_encoder", "_images", "_rows", "_values")

    def __init__(self, rows: RowsEvent, encoder: RowEncoder) -> None:
        """Begin before the first row."""
        super().__init__(has_message_key=encoder.has_message_key)
        self._rows: Iterator[Row] = rows.rows(apply_diffs=True)
        self._encoder = encoder
        self._images: list[list[Value]] = []  # images of the row, the next one last
        self._values: list[Value] = []

    def next_row(self) -> bool:
        """Decode the images of the next row; return whether there is one."""
        row = next(self._rows, None)
        if row is None:
            return False
        self._images = [image for image in (row.after, row.before) if image is not None]
        return True

    def put(self, out: BytesWriter) -> None:
        """Append the image as a JSON object."""
        self._values = self._images.pop()
        out.write(self._encoder.image(self._values).encode())

    def key(self, out: BytesWriter) -> bytes | None:
        """Return the key as JSON, from the decoded values; None without a key."""
        del out
        return self._encoder.key(self._values)

    def record_key(self, out: BytesWriter) -> bytes | None:
        """Return the key of the record, from the decoded values; None without a key."""
        del out
        return self._encoder.record_key(self._values)
