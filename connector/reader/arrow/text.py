"""Texts, bytes and labels as rows have them become values of any width; text is UTF-8."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.strings import read_i64_le, write_i64_le

from connector.codec.json_strings import character_length
from connector.errors import log_arrow
from connector.reader.arrow.builder import NoArrowForm, VariableWidthBuilder

if TYPE_CHECKING:
    import pyarrow as pa
    from mypy_extensions import i64

    from connector.binlog.columns.bits import EnumReader, SetReader
    from connector.binlog.columns.column_reader import PrintedReader
    from connector.binlog.columns.strings import CharacterReader
    from connector.codec.payload import PayloadReader

_ASCII_END: Final = 0x80
# Bytes that are looked at together, and the highest bit of each, which is clear in ASCII; that of
# the last one is the sign. Compiled, a constant of more than 62 bits would be an object.
_WORD: Final = 8
_HIGH_BITS: Final = 0x0080_8080_8080_8080
_COMMA: Final = b","


@final
class Utf8Builder(VariableWidthBuilder):
    """CHAR, VARCHAR and TEXT of a character set that is UTF-8."""

    def __init__(self, kind: pa.DataType, prefix: i64) -> None:
        """Read texts whose length takes `prefix` bytes."""
        super().__init__(kind)
        self._prefix: i64 = prefix

    def append(self, image: PayloadReader) -> None:
        """Copy a value."""
        length = image.read_length(self._prefix)
        at = image.take(length)
        end = at + length
        data = image.data
        values = self._values
        # ASCII, which most texts are, is copied as it is looked at.
        while end - at >= _WORD:
            word = read_i64_le(data, at)
            if not _is_ascii(word):
                break
            write_i64_le(values, word)
            at += _WORD
        if at < end:
            if not _is_utf8(data, at, end):
                raise NoArrowForm(log_arrow.NOT_TEXT)
            values.write(data[at:end])
        self.end_value()


@final
class BytesBuilder(VariableWidthBuilder):
    """BINARY, VARBINARY and BLOB, and texts whose character set the log does not tell."""

    def __init__(self, kind: pa.DataType, prefix: i64, pad: i64) -> None:
        """Read bytes whose length takes `prefix` bytes, with zeros up to `pad` of them."""
        super().__init__(kind)
        self._prefix: i64 = prefix
        self._pad: i64 = pad

    def append(self, image: PayloadReader) -> None:
        """Copy a value."""
        length = image.read_length(self._prefix)
        self._values.write(image.read_bytes(length))
        if length < self._pad:
            self._values.write(bytes(self._pad - length))
        self.end_value()


@final
class ConvertedBuilder(VariableWidthBuilder):
    """Texts of other character sets, and what MariaDB has compressed."""

    def __init__(self, kind: pa.DataType, reader: CharacterReader, *, binary: bool) -> None:
        """Read what `reader` reads, which is bytes where the column is `binary`."""
        super().__init__(kind)
        self._reader = reader
        self._binary = binary

    def append(self, image: PayloadReader) -> None:
        """Read a value."""
        value = self._reader.read_bytes(image)
        if not self._binary:
            text = self._reader.text_of(value)
            if text is None:
                raise NoArrowForm(log_arrow.NOT_TEXT)
            value = text.encode()
        self.append_bytes(value)


@final
class PrintedBuilder(VariableWidthBuilder):
    """What the server prints: JSON documents, and dates that were asked for as text."""

    def __init__(self, kind: pa.DataType, reader: PrintedReader) -> None:
        """Write what `reader` writes."""
        super().__init__(kind)
        self._reader = reader

    def append(self, image: PayloadReader) -> None:
        """Write a value."""
        self._reader.put(image, self._values)
        self.end_value()


@final
class EnumBuilder(VariableWidthBuilder):
    """ENUM, by the labels that the log has."""

    def __init__(self, kind: pa.DataType, reader: EnumReader) -> None:
        """Read what `reader` reads."""
        super().__init__(kind)
        self._reader = reader
        self._labels = [label.encode() for label in reader.labels]

    def append(self, image: PayloadReader) -> None:
        """Read a value."""
        index = self._reader.read_index(image)
        if index >= len(self._labels):
            raise NoArrowForm(log_arrow.NO_LABEL, value=index)
        self.append_bytes(self._labels[index])


@final
class SetBuilder(VariableWidthBuilder):
    """SET, by the labels that the log has."""

    def __init__(self, kind: pa.DataType, reader: SetReader, length: i64) -> None:
        """Read what `reader` reads, which takes `length` bytes."""
        super().__init__(kind)
        self._reader = reader
        self._length: i64 = length
        self._labels = [label.encode() for label in reader.labels or []]

    def append(self, image: PayloadReader) -> None:
        """Read a value."""
        start = image.take(self._length)
        values = self._values
        labels = self._labels
        first = True
        bit: i64 = 0
        while bit < self._length << 3:
            byte: i64 = image.data[start + (bit >> 3)]
            if byte >> (bit & 7) & 1:
                if bit >= len(labels):
                    image.offset = start
                    self._reader.read(image)  # says why it is no value
                if not first:
                    values.write(_COMMA)
                values.write(labels[bit])
                first = False
            bit += 1
        self.end_value()


def _is_utf8(data: bytes, start: i64, end: i64) -> bool:
    at = start
    while at < end:
        while end - at >= _WORD and _is_ascii(read_i64_le(data, at)):
            at += _WORD
        while at < end and data[at] < _ASCII_END:
            at += 1
        while at < end and data[at] >= _ASCII_END:
            length = character_length(data, at, end)
            if not length:
                return False
            at += length
    return True


def _is_ascii(word: i64) -> bool:
    return word >= 0 and not word & _HIGH_BITS
