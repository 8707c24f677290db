"""Numbers become hexadecimal digits at the end of a `BytesWriter`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import write_i64_le

if TYPE_CHECKING:
    from librt.strings import BytesWriter
    from mypy_extensions import i64

_U32: Final = 0xFFFF_FFFF
# The same in each byte of a word.
_ONES: Final = 0x0101_0101_0101_0101
_ZEROS: Final = 0x3030_3030_3030_3030
_SIX: Final = 0x0606_0606_0606_0606  # with it, ten has the bit 0x10
_TO_LETTERS: Final = 0x61 - 0x3A  # from the character after 9 to a


def put_hex_32(out: BytesWriter, value: i64) -> None:
    """Append a number of 32 bits in eight lower-case digits."""
    # Halves, bytes and half bytes move apart, the highest to the lowest byte.
    word = value & _U32
    word = (word & 0xFFFF) << 32 | word >> 16
    word = (word & 0x00FF_0000_00FF) << 16 | word >> 8 & 0x00FF_0000_00FF
    word = (word & 0x000F_000F_000F_000F) << 8 | word >> 4 & 0x000F_000F_000F_000F
    letters = word + _SIX >> 4 & _ONES
    write_i64_le(out, word + _ZEROS + letters * _TO_LETTERS)
