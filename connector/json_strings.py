r"""Text becomes the inside of a JSON string, as `json.dumps` with `ensure_ascii=False` writes it.

`"`, `\` and control characters are escaped, the latter as `\n` or `\u001f`; everything else stands
for itself.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final

from mypy_extensions import i64, u8

if TYPE_CHECKING:
    from librt.strings import BytesWriter

QUOTE: Final = 0x22
_BACKSLASH: Final = 0x5C
_CONTROLS_END: Final = 0x20
_ASCII_END: Final = 0x80

_ESCAPES: Final = [encode_basestring(chr(code))[1:-1].encode() for code in range(_CONTROLS_END)]


def quoted(text: str) -> bytes:
    """Return `text` as a JSON string."""
    return encode_basestring(text).encode()


def put_utf8(out: BytesWriter, data: bytes, start: i64, end: i64) -> bool:
    """Append what a JSON string holds of `data[start:end]`; return whether this is UTF-8.

    Where it is not, some of it may have been appended.
    """
    at = start
    done = start  # everything before has been appended
    while at < end:
        byte: i64 = data[at]
        if byte >= _ASCII_END:
            length = _character_length(data, at, end)
            if not length:
                return False
            at += length
        elif byte >= _CONTROLS_END and byte not in (QUOTE, _BACKSLASH):
            at += 1
        else:
            if done < at:
                out.write(data[done:at])
            _put_escape(out, byte)
            at += 1
            done = at
    if done < end:
        out.write(data[done:end])
    return True


def put_written(out: BytesWriter, text: BytesWriter) -> None:
    """Append what a JSON string holds of text that has been written as UTF-8."""
    end: i64 = len(text)
    at: i64 = 0
    while at < end:
        byte: i64 = i64(text[at])
        if byte >= _CONTROLS_END and byte not in (QUOTE, _BACKSLASH):
            out.append(u8(byte))
        else:
            _put_escape(out, byte)
        at += 1


def _put_escape(out: BytesWriter, byte: i64) -> None:
    if byte < _CONTROLS_END:
        out.write(_ESCAPES[byte])
    else:
        out.append(u8(_BACKSLASH))
        out.append(u8(byte))


# The first bytes of characters of two, three and four bytes, and of those whose second byte has
# narrower bounds: they would be longer than needed, surrogates, or beyond Unicode.
# https://www.rfc-editor.org/rfc/rfc3629#section-4
_TWO: Final = 0xC2
_THREE: Final = 0xE0
_SURROGATES: Final = 0xED
_FOUR: Final = 0xF0
_FOUR_LAST: Final = 0xF4
_NEXT: Final = 0x80
_NEXT_LAST: Final = 0xBF


def _character_length(data: bytes, at: i64, end: i64) -> i64:
    """Return the bytes of the character of two bytes or more at `at`; 0 where there is none."""
    first: i64 = data[at]
    if first < _TWO or first > _FOUR_LAST:
        return 0
    length: i64 = 2 if first < _THREE else 3 if first < _FOUR else 4
    if length > end - at:
        return 0
    second: i64 = data[at + 1]
    low: i64 = _NEXT
    high: i64 = _NEXT_LAST
    if first == _THREE:
        low = 0xA0
    elif first == _SURROGATES:
        high = 0x9F
    elif first == _FOUR:
        low = 0x90
    elif first == _FOUR_LAST:
        high = 0x8F
    if second < low or second > high:
        return 0
    place: i64 = 2
    while place < length:
        byte: i64 = data[at + place]
        if byte < _NEXT or byte > _NEXT_LAST:
            return 0
        place += 1
    return length
