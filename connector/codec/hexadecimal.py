"""Numbers become hexadecimal digits at the end of a `BytesWriter`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy_extensions import i64, u8

if TYPE_CHECKING:
    from librt.strings import BytesWriter

_ZERO: Final = 0x30
_TEN: Final = 10
_LETTERS: Final = 0x61 - _TEN


def put_hex_32(out: BytesWriter, value: i64) -> None:
    """Append a number of 32 bits in eight lower-case digits."""
    shift: i64 = 28
    while shift >= 0:
        digit = value >> shift & 0xF
        out.append(u8(digit + (_ZERO if digit < _TEN else _LETTERS)))
        shift -= 4
