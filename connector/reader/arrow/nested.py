"""Geometries, vectors and lists of names become nested Arrow values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.strings import BytesWriter, read_i32_le, write_i32_le
from mypy_extensions import i32, i64

from connector.reader.arrow.builder import ArrayBuilder, VariableWidthBuilder, array_of
from connector.reader.arrow.numbers import FLOAT_SPECIAL

if TYPE_CHECKING:
    import pyarrow as pa

    from connector.binlog.columns.column_reader import ColumnReader
    from connector.codec.payload import PayloadReader

_SRID_BYTES: Final = 4
_FLOAT_BYTES: Final = 4


@final
class GeometryBuilder(ArrayBuilder):
    """GEOMETRY becomes a struct of the SRID and the Well-Known Binary."""

    def __init__(self, kind: pa.DataType, reader: ColumnReader, prefix: i64) -> None:
        """Read values of `reader`, whose length takes `prefix` bytes."""
        super().__init__(kind)
        self._reader = reader
        self._prefix: i64 = prefix
        self._srids = BytesWriter()
        self._forms = VariableWidthBuilder(kind.field("wkb").type)

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
        """Append an SRID of 0 and an empty Well-Known Binary."""
        write_i32_le(self._srids, i32(0))
        self._forms.append_nothing()

    def _finish(self, rows: i64, validity: bytes | None, nulls: i64) -> pa.Array:
        srids = array_of(self.kind.field("srid").type, rows, [None, self._srids.getvalue()], 0)
        self._srids = BytesWriter()
        return array_of(self.kind, rows, [validity], nulls, [srids, self._forms.finish(rows)])


class _ListBuilder(ArrayBuilder):
    """Collects lists: the elements of all lists, and where each list starts."""

    def __init__(self, kind: pa.DataType) -> None:
        """Begin an array of lists."""
        super().__init__(kind)
        self._offsets = BytesWriter()
        self._elements: i64 = 0
        self._end_list()

    def append_nothing(self) -> None:
        """Append an empty list."""
        self._end_list()

    def _end_list(self) -> None:
        """Store the end of the list whose elements were added last."""
        write_i32_le(self._offsets, i32(self._elements))

    def _finish(self, rows: i64, validity: bytes | None, nulls: i64) -> pa.Array:
        offsets = self._offsets.getvalue()
        elements = self._finish_elements(self._elements)
        self._offsets = BytesWriter()
        self._elements = 0
        self._end_list()
        return array_of(self.kind, rows, [validity, offsets], nulls, [elements])

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
            regular = i64(bits) & FLOAT_SPECIAL != FLOAT_SPECIAL
            write_i32_le(self._floats, bits)
            at += _FLOAT_BYTES
        if not regular:
            image.offset = start
            self._reader.read(image)  # raises the error
        self._elements += length >> 2
        self._end_list()

    def _finish_elements(self, count: i64) -> pa.Array:
        floats = self._floats.getvalue()
        self._floats = BytesWriter()
        return array_of(self.kind.value_type, count, [None, floats], 0)


@final
class NamesBuilder(_ListBuilder):
    """Lists of names."""

    def __init__(self, kind: pa.DataType) -> None:
        """Begin an array of lists of texts."""
        super().__init__(kind)
        self._names = VariableWidthBuilder(kind.value_type)

    def append_names(self, names: list[bytes]) -> None:
        """Append one list of texts."""
        for name in names:
            self._names.append_bytes(name)
        self._elements += len(names)
        self._end_list()

    def _finish_elements(self, count: i64) -> pa.Array:
        return self._names.finish(count)
