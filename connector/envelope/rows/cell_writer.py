"""A cell of a row image becomes JSON text without a value in between, by one step a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.codec.payload import PayloadReader


class CellWriter:
    """Writes the cells of one column that are not NULL."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Take the cell at the front of `image`, and append its JSON.

        Raises DecodeError, or UnsupportedChange for what the envelope has no form for.
        """
        raise NotImplementedError
