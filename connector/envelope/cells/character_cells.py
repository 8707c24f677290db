"""Cells of characters and bytes: text, binary strings, labels and geometries.

The forms are those of `values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.base64 import b64encode
from mypy_extensions import i64, u8

from connector.binlog.columns.strings import CharacterReader, StringReader
from connector.codec.json_strings import QUOTE, put_utf8, quoted
from connector.envelope.cells.cell_forms import put_geometry, put_label, put_labels
from connector.envelope.cells.cell_writer import CellWriter
from connector.envelope.cells.values import not_text

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.binlog.columns.bits import EnumReader, SetReader
    from connector.binlog.columns.geometry import GeometryReader
    from connector.codec.payload import PayloadReader
    from connector.contract import SchemaColumn

_BINARY: Final = ("binary", "varbinary", "blob")


def character_writer(column: SchemaColumn, reader: CharacterReader) -> CellWriter:
    """Return the writer for the cells of `column`, a string of characters or bytes."""
    if column["type"] in _BINARY:
        return _BinaryWriter(reader)
    if isinstance(reader, StringReader) and reader.utf8:
        return _Utf8Writer(reader, column["name"])
    return _TextWriter(reader, column["name"])


@final
class _Utf8Writer(CellWriter):
    """Text that is stored as UTF-8: CHAR, VARCHAR and TEXT of nearly every table."""

    __slots__ = ("_name", "_prefix")

    def __init__(self, reader: StringReader, name: str) -> None:
        self._prefix: i64 = reader.prefix
        self._name = name

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        length = image.read_length(self._prefix)
        start = image.take(length)
        out.append(u8(QUOTE))
        if not put_utf8(out, image.data, start, start + length):
            raise not_text(self._name)
        out.append(u8(QUOTE))


@final
class _TextWriter(CellWriter):
    """Text in other character sets, or compressed."""

    __slots__ = ("_name", "_reader")

    def __init__(self, reader: CharacterReader, name: str) -> None:
        self._reader = reader
        self._name = name

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        text = self._reader.text_of(self._reader.read_bytes(image))
        if text is None:
            raise not_text(self._name)
        out.write(quoted(text))


@final
class _BinaryWriter(CellWriter):
    """Bytes, as base64."""

    __slots__ = ("_reader",)

    def __init__(self, reader: CharacterReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        out.append(u8(QUOTE))
        out.write(b64encode(self._reader.read_bytes(image)))
        out.append(u8(QUOTE))


@final
class EnumWriter(CellWriter):
    """ENUM: the label, or an index that has no label."""

    __slots__ = ("_labels", "_reader")

    def __init__(self, reader: EnumReader) -> None:
        self._reader = reader
        self._labels = [quoted(label) for label in reader.labels]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the label in quotes, or an object with an index that has no label."""
        put_label(out, self._labels, self._reader.read_index(image))


@final
class SetWriter(CellWriter):
    """SET: the labels, with commas between them."""

    __slots__ = ("_labels", "_name", "_reader")

    def __init__(self, reader: SetReader, name: str) -> None:
        self._reader = reader
        self._name = name
        labels = reader.labels
        self._labels = None if labels is None else [quoted(label)[1:-1] for label in labels]

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append one string with all labels."""
        mask = self._reader.read_mask(image)
        if self._labels is None:
            raise not_text(self._name)
        put_labels(out, self._labels, mask)


@final
class GeometryWriter(CellWriter):
    """A geometry of any kind."""

    __slots__ = ("_reader",)

    def __init__(self, reader: GeometryReader) -> None:
        self._reader = reader

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append an object with the SRID and the base64 of the WKB."""
        stored = self._reader.read_stored(image)
        srid = stored.read_uint32()
        put_geometry(out, stored.read_rest(), srid)
