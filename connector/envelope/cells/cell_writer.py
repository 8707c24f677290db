"""A cell of a row image becomes JSON text without a Python value; one writer for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.codec.payload import PayloadReader


class CellWriter:
    """Writes the cells of one column, except NULL."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Read the cell at the front of `image`, and append its JSON.

        Raises DecodeError, or UnsupportedChange for a value that the envelope cannot hold.
        """
        raise NotImplementedError
