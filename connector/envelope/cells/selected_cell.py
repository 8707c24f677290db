"""A cell of the text protocol becomes JSON without a Python value; one writer for each column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import read_i64_le, write_i64_le
from mypy_extensions import i64, u8

if TYPE_CHECKING:
    from librt.strings import BytesWriter

_WORD: Final = 8


class SelectedCell:
    """Writes the cells of one column, except NULL."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the JSON of the cell in `data[start:end]`.

        Raises UnsupportedChange for a value that the envelope cannot hold.
        """
        raise NotImplementedError


def put_slice(out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
    """Append `data[start:end]` without an intermediate object."""
    at = start
    while at + _WORD <= end:
        write_i64_le(out, read_i64_le(data, at))
        at += _WORD
    while at < end:
        byte: i64 = data[at]
        out.append(u8(byte))
        at += 1
