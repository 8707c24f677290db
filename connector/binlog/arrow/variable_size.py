"""Builders of Arrow values of variable size: texts, bytes, labels, geometries, vectors, lists.

Text is UTF-8.

https://arrow.apache.org/docs/format/Columnar.html
"""

from typing import Final, final

import pyarrow as pa
from librt.strings import BytesWriter, read_i32_le, read_i64_le, write_i32_le, write_i64_le
from mypy_extensions import i32, i64

from connector.binlog import argument_errors
from connector.binlog.arrow import builder
from connector.binlog.columns.column import ColumnReader, PrintedReader
from connector.binlog.columns.integers import EnumReader, SetReader
from connector.binlog.columns.strings import CharacterReader
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.text_writer import character_length

_ASCII_END: Final = 0x80
# Bytes that are tested together, and the highest bit of each, which is 0 in ASCII. The bit of
# the last byte is the sign. Compiled, a constant of more than 62 bits would be an object.
_WORD: Final = 8
_HIGH_BITS: Final = 0x0080_8080_8080_8080
_COMMA: Final = b","


@final
class Utf8Builder(builder.VariableWidthBuilder):
    """CHAR, VARCHAR and TEXT of a character set that is UTF-8."""

    def __init__(self, kind: pa.DataType, prefix: i64) -> None:
        """Read texts whose length takes `prefix` bytes."""
        super().__init__(kind)
        self._prefix: i64 = prefix

    def append(self, image: PayloadReader) -> None:
        """Copy the bytes of the text; raise ArrowValueError if they are not UTF-8."""
        length = image.read_length(self._prefix)
        at = image.take(length)
        end = at + length
        data = image.data
        values = self._values
        # Most texts are ASCII: these bytes are copied while they are tested.
        while end - at >= _WORD:
            word = read_i64_le(data, at)
            if not _is_ascii(word):
                break
            write_i64_le(values, word)
            at += _WORD
        if at < end:
            if not _is_utf8(data, at, end):
                raise builder.ArrowValueError(argument_errors.NOT_TEXT)
            values.write(data[at:end])
        self.end_value()


@final
class BytesBuilder(builder.VariableWidthBuilder):
    """BINARY, VARBINARY and BLOB, and texts without a character set in the log."""

    def __init__(self, kind: pa.DataType, prefix: i64, pad: i64) -> None:
        """Read bytes whose length takes `prefix` bytes, filled up with zeros to `pad` bytes."""
        super().__init__(kind)
        self._prefix: i64 = prefix
        self._pad: i64 = pad

    def append(self, image: PayloadReader) -> None:
        """Copy the bytes and append the zeros that the server stripped."""
        length = image.read_length(self._prefix)
        self._values.write(image.read_bytes(length))
        if length < self._pad:
            self._values.write(bytes(self._pad - length))
        self.end_value()


@final
class ConvertedBuilder(builder.VariableWidthBuilder):
    """Texts in other character sets, and compressed columns of MariaDB."""

    def __init__(self, kind: pa.DataType, reader: CharacterReader, *, binary: bool) -> None:
        """Read values with `reader`; they are bytes if the column is `binary`."""
        super().__init__(kind)
        self._reader = reader
        self._binary = binary

    def append(self, image: PayloadReader) -> None:
        """Append the value that the reader decodes, as UTF-8 or as bytes."""
        value = self._reader.read_bytes(image)
        if not self._binary:
            text = self._reader.text_of(value)
            if text is None:
                raise builder.ArrowValueError(argument_errors.NOT_TEXT)
            value = text.encode()
        self.append_bytes(value)


@final
class PrintedBuilder(builder.VariableWidthBuilder):
    """Values as the server prints them: JSON documents, and dates requested as text."""

    def __init__(self, kind: pa.DataType, reader: PrintedReader) -> None:
        super().__init__(kind)
        self._reader = reader

    def append(self, image: PayloadReader) -> None:
        self._reader.put(image, self._values)
        self.end_value()


@final
class EnumBuilder(builder.VariableWidthBuilder):
    """ENUM with labels in the log."""

    def __init__(self, kind: pa.DataType, reader: EnumReader) -> None:
        super().__init__(kind)
        self._reader = reader
        self._labels = [label.encode() for label in reader.labels]

    def append(self, image: PayloadReader) -> None:
        """Append the label; ArrowValueError for an index without one."""
        index = self._reader.read_index(image)
        if index >= len(self._labels):
            raise builder.ArrowValueError(argument_errors.NO_LABEL, value=index)
        self.append_bytes(self._labels[index])


@final
class SetBuilder(builder.VariableWidthBuilder):
    """SET with labels in the log."""

    def __init__(self, kind: pa.DataType, reader: SetReader, length: i64) -> None:
        """Read masks of `length` bytes with `reader`."""
        super().__init__(kind)
        self._reader = reader
        self._length: i64 = length
        self._labels = [label.encode() for label in reader.labels or []]

    def append(self, image: PayloadReader) -> None:
        """Append the labels with commas between them; the reader raises for an unknown bit."""
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
                    self._reader.read(image)  # raises the error
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


_SRID_BYTES: Final = 4
_FLOAT_BYTES: Final = 4


@final
class GeometryBuilder(builder.ArrayBuilder):
    """GEOMETRY becomes a struct of the SRID and the Well-Known Binary."""

    def __init__(self, kind: pa.DataType, reader: ColumnReader, prefix: i64) -> None:
        """Read values of `reader`, whose length takes `prefix` bytes."""
        super().__init__(kind)
        self._reader = reader
        self._prefix: i64 = prefix
        self._srids = BytesWriter()
        self._forms = builder.VariableWidthBuilder(kind.field("wkb").type)

    def append(self, image: PayloadReader) -> None:
        """Copy the SRID, u32, and the Well-Known Binary."""
        start = image.offset
        length = image.read_length(self._prefix)
        stored = image.take(length)
        if length < _SRID_BYTES:
            image.offset = start
            self._reader.read(image)  # raises the error
        data = image.data
        write_i32_le(self._srids, read_i32_le(data, stored))
        self._forms.append_bytes(data[stored + _SRID_BYTES : stored + length])

    def append_nothing(self) -> None:
        write_i32_le(self._srids, i32(0))
        self._forms.append_nothing()

    def _size(self) -> i64:
        return len(self._srids) + self._forms.size()

    def _finish(self, rows: i64, validity: bytes | None, nulls: i64) -> pa.Array:
        srids = builder.array_of(
            self.kind.field("srid").type, rows, [None, self._srids.getvalue()], 0
        )
        self._srids = BytesWriter()
        return builder.array_of(
            self.kind, rows, [validity], nulls, [srids, self._forms.finish(rows)]
        )


class _ListBuilder(builder.ArrayBuilder):
    """Collects lists: the elements of all lists, and where each list starts."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._offsets = BytesWriter()
        self._elements: i64 = 0
        self._end_list()

    def append_nothing(self) -> None:
        self._end_list()

    def _end_list(self) -> None:
        """Store the end of the list whose elements were added last."""
        write_i32_le(self._offsets, i32(self._elements))

    def _size(self) -> i64:
        return len(self._offsets) + self._elements_size()

    def _finish(self, rows: i64, validity: bytes | None, nulls: i64) -> pa.Array:
        offsets = self._offsets.getvalue()
        elements = self._finish_elements(self._elements)
        self._offsets = BytesWriter()
        self._elements = 0
        self._end_list()
        return builder.array_of(self.kind, rows, [validity, offsets], nulls, [elements])

    def _elements_size(self) -> i64:
        raise NotImplementedError

    def _finish_elements(self, count: i64) -> pa.Array:
        raise NotImplementedError


@final
class VectorBuilder(_ListBuilder):
    """VECTOR becomes a list of floats."""

    def __init__(self, kind: pa.DataType, reader: ColumnReader, prefix: i64) -> None:
        """Read values of `reader`, whose length takes `prefix` bytes."""
        super().__init__(kind)
        self._reader = reader
        self._prefix: i64 = prefix
        self._floats = BytesWriter()

    def append(self, image: PayloadReader) -> None:
        """Copy the floats, 4 bytes each; the reader raises for an infinity or NaN."""
        start = image.offset
        length = image.read_length(self._prefix)
        at = image.take(length)
        end = at + length
        regular = length & 3 == 0
        while regular and at < end:
            bits = read_i32_le(image.data, at)
            regular = i64(bits) & builder.FLOAT_SPECIAL != builder.FLOAT_SPECIAL
            write_i32_le(self._floats, bits)
            at += _FLOAT_BYTES
        if not regular:
            image.offset = start
            self._reader.read(image)  # raises the error
        self._elements += length >> 2
        self._end_list()

    def _elements_size(self) -> i64:
        return len(self._floats)

    def _finish_elements(self, count: i64) -> pa.Array:
        floats = self._floats.getvalue()
        self._floats = BytesWriter()
        return builder.array_of(self.kind.value_type, count, [None, floats], 0)


@final
class NamesBuilder(_ListBuilder):
    """Lists of names."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(kind)
        self._names = builder.VariableWidthBuilder(kind.value_type)

    def append_names(self, names: list[bytes]) -> None:
        """Append one list of texts."""
        for name in names:
            self._names.append_bytes(name)
        self._elements += len(names)
        self._end_list()

    def _elements_size(self) -> i64:
        return self._names.size()

    def _finish_elements(self, count: i64) -> pa.Array:
        return self._names.finish(count)
