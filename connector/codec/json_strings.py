r"""Text becomes the inside of a JSON string, as `json.dumps` with `ensure_ascii=False` writes it.

`"`, `\` and control characters are escaped, the latter as `\n` or `\u001f`; everything else stays
as it is.
"""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Final

from librt.strings import read_i16_le, read_i64_le, write_i16_le, write_i64_le
from mypy_extensions import i64, u8

if TYPE_CHECKING:
    from librt.strings import BytesWriter

QUOTE: Final = 0x22
_BACKSLASH: Final = 0x5C
_CONTROLS_END: Final = 0x20
_ASCII_END: Final = 0x80

# The same in each byte of a word. Compiled, a constant of more than 62 bits would be an object.
_WORD: Final = 8
_ONES: Final = 0x0101_0101_0101_0101
_NO_CONTROLS: Final = 0x2020_2020_2020_2020  # one of the bits 0x20 and 0x40
_QUOTES: Final = 0x2222_2222_2222_2222
_HALF_BACKSLASHES: Final = 0x2E2E_2E2E_2E2E_2E2E
_LOWER_HIGH_BITS: Final = 0x0080_8080_8080_8080  # without the sign


def _escaped(text: str) -> str:
    return encode_basestring(text)[1:-1]


# The escapes by byte: in a string, and in the text of a string inside of a string.
ONCE: Final = [_escaped(chr(code)).encode() for code in range(_BACKSLASH + 1)]
TWICE: Final = [_escaped(_escaped(chr(code))).encode() for code in range(_BACKSLASH + 1)]


def quoted(text: str) -> bytes:
    """Return `text` as a JSON string."""
    return encode_basestring(text).encode()


def put_utf8(
    out: BytesWriter, data: bytes, start: i64, end: i64, escapes: list[bytes] = ONCE
) -> bool:
    """Append `data[start:end]` escaped for a JSON string; return whether it is UTF-8.

    If it is not, a part of it may have been appended.
    """
    at = start
    while at < end:
        while at + _WORD <= end:
            word = read_i64_le(data, at)
            if not _is_plain(word):
                break
            write_i64_le(out, word)
            at += _WORD
        if end - at < _WORD and _put_plain_end(out, data, at, end):
            return True
        # The rest, or everything up to the byte that was found.
        while at < end:
            byte: i64 = data[at]
            if byte >= _ASCII_END:
                length = character_length(data, at, end)
                if not length:
                    return False
                _put_character(out, data, at, length)
                at += length
                if at < end and data[at] < _ASCII_END:
                    break
            elif byte < _CONTROLS_END or byte in (QUOTE, _BACKSLASH):
                out.write(escapes[byte])
                at += 1
                break
            else:
                out.append(u8(byte))
                at += 1
    return True


def put_written(out: BytesWriter, text: BytesWriter) -> None:
    """Append text, already valid UTF-8, escaped for a JSON string."""
    end: i64 = len(text)
    at: i64 = 0
    while at < end:
        byte: i64 = i64(text[at])
        if byte >= _CONTROLS_END and byte not in (QUOTE, _BACKSLASH):
            out.append(u8(byte))
        else:
            out.write(ONCE[byte])
        at += 1


def _put_plain_end(out: BytesWriter, data: bytes, at: i64, end: i64) -> bool:
    """Append the last bytes, fewer than a word, if they need no escape; return whether that is so.

    They are the highest of the word that ends with them. They are shifted down, and spaces follow.
    """
    left = end - at
    if left == 0:
        return True
    if end < _WORD:
        return False
    word = read_i64_le(data, end - _WORD) >> 8 * (_WORD - left)
    word |= i64(_NO_CONTROLS) >> 8 * left << 8 * left
    if not _is_plain(word):
        return False
    write_i64_le(out, word)
    out.truncate(len(out) - _WORD + left)
    return True


def _is_plain(word: i64) -> bool:
    """Return whether eight bytes are ASCII without an escape; all are tested together."""
    if (word | word >> 1) & _NO_CONTROLS != _NO_CONTROLS:
        return False
    # A byte that becomes 0 borrows from its highest bit, which is 0 in ASCII.
    quotes = (word ^ _QUOTES) - _ONES
    backslashes = (word ^ i64(_HALF_BACKSLASHES) << 1) - _ONES
    high_bits = word | quotes | backslashes
    return high_bits >= 0 and not high_bits & _LOWER_HIGH_BITS


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


def _put_character(out: BytesWriter, data: bytes, at: i64, length: i64) -> None:
    write_i16_le(out, read_i16_le(data, at))
    if length == 3:  # noqa: PLR2004 - bytes of the character
        byte: i64 = data[at + 2]
        out.append(u8(byte))
    elif length == 4:  # noqa: PLR2004
        write_i16_le(out, read_i16_le(data, at + 2))


def character_length(data: bytes, at: i64, end: i64) -> i64:
    """Return the length of the character at `at`, from two bytes on; 0 if there is none."""
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
    index: i64 = 2
    while index < length:
        byte: i64 = data[at + index]
        if byte < _NEXT or byte > _NEXT_LAST:
            return 0
        index += 1
    return length
