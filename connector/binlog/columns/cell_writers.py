"""Writes cells as texts, without Python values: what the forms of all outputs have in common.

A reader knows where a value comes from: `binlog.columns` reads row images of the log, others the
cells of a SELECT. A writer adds what comes before and after, or replaces what a reader prints.
Each output has a table from the family of a column to its writer.
"""

from typing import Final, final

from librt.strings import BytesWriter, read_f64_le
from mypy_extensions import i64, u8

from connector.binlog.columns.column import PrintedReader
from connector.binlog.columns.floats import FLOAT64_LENGTH, put_float64_as_python
from connector.binlog.columns.integers import EnumReader, SetReader
from connector.binlog.columns.json import DocumentReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import QUOTE, put_ascii, put_uint

_COMMA: Final = 0x2C


class CellWriter:
    """Writes the cells of one column, except NULL."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Read the cell at the front of `image`, and append its text.

        Raises DecodeError, or UnsupportedChange for a value that the form cannot hold; a part of
        the text may be appended then.
        """
        raise NotImplementedError


@final
class NumberWriter(CellWriter):
    """Numbers as they are printed."""

    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: PrintedReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the number as it is printed."""
        self._reader.put(image, out)


@final
class QuotedWriter(CellWriter):
    """Digits and signs that are not a number; they need quotes but no escape."""

    __slots__ = ("_quote", "_reader")

    def __init__(self, _: object, reader: PrintedReader, quote: i64 = QUOTE) -> None:
        self._reader = reader
        self._quote: i64 = quote

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the printed form in quotes."""
        quote = u8(self._quote)
        out.append(quote)
        self._reader.put(image, out)
        out.append(quote)


@final
class DoubleWriter(CellWriter):
    """DOUBLE as Python prints it: with an exponent from 1e+16 on and below 0.0001."""

    __slots__ = ()

    def __init__(self, _: object, __: object) -> None:
        """Need nothing: all have eight bytes."""

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the fewest digits that read back to the same 64 bits."""
        put_float64_as_python(out, read_f64_le(image.data, image.take(FLOAT64_LENGTH)))


@final
class DocumentWriter(CellWriter):
    """JSON, as a string with the text of the document."""

    __slots__ = ("_reader",)

    def __init__(self, _: object, reader: DocumentReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text of the document, escaped, in quotes."""
        out.append(u8(QUOTE))
        self._reader.put_in_string(image, out)
        out.append(u8(QUOTE))


@final
class EnumWriter(CellWriter):
    """ENUM: the label, or an index that has no label."""

    __slots__ = ("_after", "_before", "_labels", "_reader")

    def __init__(
        self,
        reader: EnumReader,
        labels: list[bytes],
        before: bytes = b"",
        after: bytes | None = b"",
    ) -> None:
        """Write the texts of `labels`, from that of index 0 on.

        An index without one comes between `before` and `after`; if that is None, `before` stands
        for it.
        """
        self._reader = reader
        self._labels = labels
        self._before = before
        self._after = after

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the label, or what stands for an index without one."""
        index = self._reader.read_index(image)
        labels = self._labels
        if index < len(labels):
            out.write(labels[index])
            return
        if self._before:
            out.write(self._before)
        after = self._after
        if after is not None:
            put_uint(out, index)
            if after:
                out.write(after)


@final
class SetWriter(CellWriter):
    """SET: the labels, with commas between them; without labels, the mask."""

    __slots__ = ("_labels", "_quote", "_reader")

    def __init__(self, reader: SetReader, labels: list[bytes] | None, quote: i64 = QUOTE) -> None:
        """Write the texts of `labels`, by bit."""
        self._reader = reader
        self._labels = labels
        self._quote: i64 = quote

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append one string with all labels."""
        mask = self._reader.read_mask(image)
        labels = self._labels
        if labels is None:
            put_ascii(out, str(mask))
            return
        quote = u8(self._quote)
        out.append(quote)
        several = False
        for label in labels:
            if mask & 1:
                if several:
                    out.append(u8(_COMMA))
                out.write(label)
                several = True
            mask >>= 1
        out.append(quote)
