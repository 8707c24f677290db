"""A cell of the text protocol becomes JSON without a value in between, by one step a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import read_i64_le, write_i64_le
from mypy_extensions import i64, u8

if TYPE_CHECKING:
    from librt.strings import BytesWriter

_WORD: Final = 8


class SelectedCell:
    """Writes the cells of one column that are not NULL."""

    __slots__ = ()

    def put(self, out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
        """Append the JSON of the cell in `data[start:end]`.

        Raises UnsupportedChange for what the envelope has no form for.
        """
        raise NotImplementedError


def put_slice(out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
    """Append `data[start:end]`, without an object in between."""
    at = start
    while at + _WORD <= end:
        write_i64_le(out, read_i64_le(data, at))
        at += _WORD
    while at < end:
        byte: i64 = data[at]
        out.append(u8(byte))
        at += 1
