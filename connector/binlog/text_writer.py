"""Text at the end of a `BytesWriter`: decimal and hexadecimal digits, and JSON strings.

*Digits.* The text of a row is mostly digits. They are written directly to their positions, the
highest first, without a `str` or a format. Two, four or eight digits are computed side by side in
one word, with multiplications that replace the division of each part by 100 or 10, and are stored
at once.

*JSON strings* are written as `json.dumps` with `ensure_ascii=False` writes them: the double quote,
the backslash and control characters are escaped; everything else stays as it is.
"""

from json.encoder import encode_basestring
from typing import Final

from librt.strings import (
    BytesWriter,
    read_i16_le,
    read_i64_le,
    write_i16_le,
    write_i32_le,
    write_i64_le,
)
from mypy_extensions import i16, i32, i64, u8

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
_THREE_BYTES: Final = 3
_FOUR_BYTES: Final = 4


def _put_character(out: BytesWriter, data: bytes, at: i64, length: i64) -> None:
    write_i16_le(out, read_i16_le(data, at))
    if length == _THREE_BYTES:
        byte: i64 = data[at + 2]
        out.append(u8(byte))
    elif length == _FOUR_BYTES:
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


_ZERO: Final = 48
_MINUS: Final = 45
_TEN: Final = 10
_HUNDRED: Final = 100
_THOUSAND: Final = 1000
_TEN_THOUSAND: Final = 10_000
_HUNDRED_MILLION: Final = 100_000_000
_TWO_DIGITS: Final = 2
_THREE_DIGITS: Final = 3
_FOUR_DIGITS: Final = 4
_EIGHT_DIGITS: Final = 8
# Exact for numbers below 100, and below 10,000.
_TENTH: Final = 103
_TENTH_BITS: Final = 10
_HUNDREDTH: Final = 10_486
_HUNDREDTH_BITS: Final = 20
# The one number of 64 bits without a positive counterpart.
_INT64_MIN: Final = -(2**63)
_WORD_RANGE: Final = 1 << 64
_INT64_MIN_TEXT: Final = b"-9223372036854775808"


def put_uint(out: BytesWriter, value: i64) -> None:
    """Append a number that is not negative in decimal digits, without leading zeros."""
    if value < _TEN:
        out.append(u8(_ZERO + value))
    elif value < _HUNDRED:
        put_2(out, value)
    elif value < _TEN_THOUSAND:
        if value < _THOUSAND:
            hundreds = value // 100
            out.append(u8(_ZERO + hundreds))
            put_2(out, value - hundreds * 100)
        else:
            put_4(out, value)
    elif value < _HUNDRED_MILLION:
        high = value // _TEN_THOUSAND
        put_uint(out, high)
        put_4(out, value - high * _TEN_THOUSAND)
    else:
        high = value // _HUNDRED_MILLION
        put_uint(out, high)
        put_8(out, value - high * _HUNDRED_MILLION)


def put_int(out: BytesWriter, value: i64) -> None:
    """Append a number with its sign in decimal digits."""
    if value >= 0:
        put_uint(out, value)
    elif value == _INT64_MIN:
        out.write(_INT64_MIN_TEXT)
    else:
        out.append(u8(_MINUS))
        put_uint(out, -value)


def put_uint64(out: BytesWriter, value: i64) -> None:
    """Append an unsigned number of 64 bits that was read as a signed one."""
    if value >= 0:
        put_uint(out, value)
    else:
        put_ascii(out, str(int(value) + _WORD_RANGE))


def put_2(out: BytesWriter, value: i64) -> None:
    """Append exactly two digits of a number below 100."""
    tens = value * _TENTH >> _TENTH_BITS
    write_i16_le(out, i16(tens | (value - tens * 10) << 8 | 0x3030))


def put_4(out: BytesWriter, value: i64) -> None:
    """Append exactly four digits of a number below 10,000."""
    hundreds = value * _HUNDREDTH >> _HUNDREDTH_BITS
    pairs = hundreds | (value - hundreds * 100) << 16
    tens = pairs * _TENTH >> _TENTH_BITS & 0x000F_000F
    write_i32_le(out, i32(tens | (pairs - tens * 10) << 8 | 0x3030_3030))


def put_8(out: BytesWriter, value: i64) -> None:
    """Append exactly eight digits of a number below 100,000,000."""
    high = value // 10_000
    fours = high | (value - high * 10_000) << 32
    hundreds = fours * _HUNDREDTH >> _HUNDREDTH_BITS & 0x0000_007F_0000_007F
    pairs = hundreds | (fours - hundreds * 100) << 16
    tens = pairs * _TENTH >> _TENTH_BITS & 0x000F_000F_000F_000F
    write_i64_le(out, tens | (pairs - tens * 10) << 8 | 0x3030_3030_3030_3030)


def put_padded(out: BytesWriter, value: i64, digits: i64) -> None:
    """Append exactly `digits` digits, with leading zeros; the number must not have more."""
    if digits >= _EIGHT_DIGITS:
        high = value // _HUNDRED_MILLION
        if digits > _EIGHT_DIGITS:
            put_padded(out, high, digits - _EIGHT_DIGITS)
        put_8(out, value - high * _HUNDRED_MILLION)
    elif digits >= _FOUR_DIGITS:
        high = value // _TEN_THOUSAND
        if digits > _FOUR_DIGITS:
            put_padded(out, high, digits - _FOUR_DIGITS)
        put_4(out, value - high * _TEN_THOUSAND)
    elif digits == _THREE_DIGITS:
        hundreds = value // 100
        out.append(u8(_ZERO + hundreds))
        put_2(out, value - hundreds * 100)
    elif digits == _TWO_DIGITS:
        put_2(out, value)
    elif digits == 1:
        out.append(u8(_ZERO + value))


def put_ascii(out: BytesWriter, text: str) -> None:
    """Append text of ASCII characters."""
    out.write(text.encode("ascii"))


_U32: Final = 0xFFFF_FFFF
# The same in each byte of a word.
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
