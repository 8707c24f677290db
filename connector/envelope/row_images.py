"""The row images of an event, one after the other, as JSON objects: from their bytes or by values.

An INSERT has an image after for each row, a DELETE one before, an UPDATE both in this order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from librt.strings import BytesWriter

    from connector.binlog.rows_event import Row, RowsEvent
    from connector.binlog.values import Value
    from connector.envelope.row_encoder import RowEncoder
    from connector.envelope.row_writer import RowWriter


class RowImages:
    """Takes the images of a rows event."""

    def next_row(self) -> bool:
        """Go to the next row, whose images must be taken; return whether there is one."""
        raise NotImplementedError

    def put(self, out: BytesWriter) -> None:
        """Append the next image of the row.

        Raises EventError where it cannot be read, UnsupportedChange where it cannot be represented.
        """
        raise NotImplementedError

    def key(self, out: BytesWriter) -> bytes | None:
        """Return the key in the image that was appended to `out` last; None without a key."""
        raise NotImplementedError


@final
class StoredImages(RowImages):
    """Images that hold every column, straight from their bytes."""

    __slots__ = ("_image", "_rows", "_scratch", "_writer")

    def __init__(self, rows: RowsEvent, writer: RowWriter, scratch: BytesWriter) -> None:
        """Begin with the first row."""
        self._rows = rows
        self._writer = writer
        self._image = rows.images()
        self._scratch = scratch

    def next_row(self) -> bool:
        """Return whether bytes are left."""
        return self._image.offset < self._image.end

    def put(self, out: BytesWriter) -> None:
        """Append the image without decoding it to values."""
        try:
            self._writer.put_image(self._image, out)
        except DecodeError as error:
            raise self._rows.unreadable(error) from error

    def key(self, out: BytesWriter) -> bytes | None:
        """Return the key out of what was written."""
        return self._writer.key(out, self._scratch)


@final
class DecodedImages(RowImages):
    """Images that need their values: changes of documents, or columns left out."""

    __slots__ = ("_encoder", "_images", "_rows", "_values")

    def __init__(self, rows: RowsEvent, encoder: RowEncoder) -> None:
        """Begin with the first row."""
        self._rows: Iterator[Row] = rows.rows(apply_diffs=True)
        self._encoder = encoder
        self._images: list[list[Value]] = []  # of the row, the next one last
        self._values: list[Value] = []

    def next_row(self) -> bool:
        """Decode the next row."""
        row = next(self._rows, None)
        if row is None:
            return False
        self._images = [image for image in (row.after, row.before) if image is not None]
        return True

    def put(self, out: BytesWriter) -> None:
        """Append the image."""
        self._values = self._images.pop()
        out.write(self._encoder.image(self._values).encode())

    def key(self, out: BytesWriter) -> bytes | None:
        """Return the key of the values."""
        del out
        return self._encoder.key(self._values)
