"""Readers of the values of one column; one class for each way of storing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.strings import BytesWriter

if TYPE_CHECKING:
    from connector.binlog.columns.values import Value
    from connector.codec.payload import PayloadReader


# The memory of a large text must be freed.
_KEPT_BYTES_MAX: Final = 64 * 1024


class ColumnReader:
    """Reads the values of one column that are not NULL, each from the front of the rest.

    Not an abstract base class: abstract classes that are compiled share one cache of isinstance
    results, so isinstance in interpreted code would be wrong.
    """

    __slots__ = ()

    def read(self, image: PayloadReader) -> Value:
        """Return the next value, and move past it.

        Raises DecodeError for bytes that are not a value of the column's type.
        """
        raise NotImplementedError

    def skip(self, image: PayloadReader) -> None:
        """Move past the next value, whatever its bytes are.

        Raises TruncatedPayload if the bytes end within the value.
        """
        raise NotImplementedError


@final
class _Spare:
    """A writer whose memory is used again."""

    __slots__ = ("writer",)

    def __init__(self) -> None:
        self.writer: BytesWriter | None = None


_SPARE: Final = _Spare()


class PrintedReader(ColumnReader):
    """A column whose values are read as the server prints them: numbers, dates, documents."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the next value as UTF-8 text, neither quoted nor escaped; move past it.

        Raises DecodeError as `read` does; then a part of the text may have been appended.
        """
        raise NotImplementedError

    def read(self, image: PayloadReader) -> Value:
        """Return the text of the next value, and move past it."""
        return self.read_text(image)

    def read_text(self, image: PayloadReader) -> str:
        """Return the text of the next value, and move past it; DecodeError as in `read`."""
        spare = _SPARE
        out = spare.writer
        # Meanwhile, another thread makes one of its own.
        spare.writer = None
        if out is None:
            out = BytesWriter()
        self.put(image, out)
        text = out.getvalue().decode("utf-8")
        if len(out) <= _KEPT_BYTES_MAX:
            out.truncate(0)
            spare.writer = out
        return text
