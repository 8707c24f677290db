"""BINARY, VARBINARY and BLOB as text: the options `base64-url-safe` and `hex`."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from librt.base64 import urlsafe_b64encode
from mypy_extensions import u8

from connector.codec.json_strings import QUOTE
from connector.envelope.cells.cell_writer import CellWriter
from connector.envelope.cells.selected_cell import SelectedCell

if TYPE_CHECKING:
    from librt.strings import BytesWriter
    from mypy_extensions import i64

    from connector.binlog.columns.strings import CharacterReader
    from connector.codec.payload import PayloadReader


@final
class UrlSafeCell(SelectedCell):
    """Base64 with `-` and `_`."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text in quotes, of the bytes."""
        out.append(u8(QUOTE))
        out.write(urlsafe_b64encode(data[start:end]))
        out.append(u8(QUOTE))


@final
class HexCell(SelectedCell):
    """Two digits for each byte."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the text in quotes, of the bytes."""
        out.append(u8(QUOTE))
        out.write(data[start:end].hex().encode())
        out.append(u8(QUOTE))


@final
class BinaryTextWriter(CellWriter):
    """The bytes of a row image, in one of these forms."""

    __slots__ = ("_cell", "_reader")

    def __init__(self, reader: CharacterReader, cell: SelectedCell) -> None:
        """Write what `reader` reads with `cell`."""
        self._reader = reader
        self._cell = cell

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Append the text in quotes."""
        data = self._reader.read_bytes(image)
        self._cell.put(out, data, 0, len(data))
