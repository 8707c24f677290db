"""A value of a row image becomes text without a Python object; one writer for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from librt.strings import BytesWriter

    from connector.codec.payload import PayloadReader
    from connector.dump.lines.output import LineOutput


class ValueText:
    """Writes the values of one column, except NULL."""

    __slots__ = ()

    def put(self, image: PayloadReader, out: BytesWriter) -> None:
        """Read the value at the front of `image`, and append its text.

        Raises DecodeError for bytes that are not a value; a part of the text may be appended then.
        """
        raise NotImplementedError

    def put_in_pieces(self, image: PayloadReader, output: LineOutput) -> None:
        """Do the same for a value that may be large, and write its text piece by piece.

        The value must have been read before, so that it has no error.
        """
        self.put(image, output.block)
