r"""Values become text in single quotes: `'it\'s\n'`, for people and for a server.

The inside of a value is copied word by word as far as it needs no escape.

For people, control characters and bytes that are not text of a character set are `\x1b`. For a
server, only a few characters have an escape.

https://dev.mysql.com/doc/refman/8.4/en/string-literals.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import read_i64_le, write_i64_le
from mypy_extensions import i64, u8

from connector.codec.json_strings import character_length

if TYPE_CHECKING:
    from librt.strings import BytesWriter

QUOTE: Final = 0x27
_BACKSLASH: Final = 0x5C
_CONTROLS_END: Final = 0x20
_DELETE: Final = 0x7F
_ASCII_END: Final = 0x80

ESCAPES: Final[dict[int, str]] = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F)} | {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord("'"): "\\'",
    ord("\\"): "\\\\",
}
# By byte, as it is written.
_BYTE_TEXTS: Final = [ESCAPES.get(code, chr(code)).encode() for code in range(0x80)] + [
    f"\\x{code:02x}".encode() for code in range(0x80, 0x100)
]

# What ends a string for a server, or what its lexer replaces.
SQL_ESCAPES: Final[dict[int, str]] = {
    0x00: "\\0",
    0x1A: "\\Z",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("'"): "\\'",
    ord("\\"): "\\\\",
}
SQL_TEXTS: Final = [SQL_ESCAPES.get(code, chr(code)).encode() for code in range(0x80)]

# The same in each byte of a word. Compiled, a constant of more than 62 bits would be an object.
_WORD: Final = 8
_ONES: Final = 0x0101_0101_0101_0101
_NO_CONTROLS: Final = 0x2020_2020_2020_2020  # one of the bits 0x20 and 0x40
_QUOTES: Final = 0x2727_2727_2727_2727
_HALF_BACKSLASHES: Final = 0x2E2E_2E2E_2E2E_2E2E
_HALF_DELETES: Final = 0x3FBF_BFBF_BFBF_BFBF
_LOWER_HIGH_BITS: Final = 0x0080_8080_8080_8080  # without the sign


def quoted_text(value: str) -> str:
    """Return text in quotes."""
    return f"'{value.translate(ESCAPES)}'"


def put_text(
    out: BytesWriter, data: bytes, start: i64, end: i64, texts: list[bytes] = _BYTE_TEXTS
) -> bool:
    """Append `data[start:end]` escaped, without quotes; return whether it is UTF-8.

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
        # The rest, or everything up to the byte that was found.
        while at < end:
            byte: i64 = data[at]
            if byte >= _ASCII_END:
                length = character_length(data, at, end)
                if not length:
                    return False
                after = at + length
                while at < after:
                    byte = data[at]
                    out.append(u8(byte))
                    at += 1
                if at < end and data[at] < _ASCII_END:
                    break
            elif _is_escaped(byte):
                out.write(texts[byte])
                at += 1
                break
            else:
                out.append(u8(byte))
                at += 1
    return True


def put_bytes(out: BytesWriter, data: bytes, start: i64, end: i64) -> None:
    r"""Append `data[start:end]` escaped, without quotes; bytes that are not ASCII as `\xNN`."""
    at = start
    while at < end:
        while at + _WORD <= end:
            word = read_i64_le(data, at)
            if not _is_plain(word):
                break
            write_i64_le(out, word)
            at += _WORD
        stop = min(at + _WORD, end)
        while at < stop:
            byte: i64 = data[at]
            if byte >= _ASCII_END or _is_escaped(byte):
                out.write(_BYTE_TEXTS[byte])
            else:
                out.append(u8(byte))
            at += 1


def _is_escaped(byte: i64) -> bool:
    """Return whether an ASCII character may have an escape."""
    return byte < _CONTROLS_END or byte in (QUOTE, _BACKSLASH, _DELETE)


def _is_plain(word: i64) -> bool:
    """Return whether eight bytes are ASCII without an escape; all are tested together."""
    if (word | word >> 1) & _NO_CONTROLS != _NO_CONTROLS:
        return False
    # A byte that becomes 0 borrows from its highest bit, which is 0 in ASCII.
    quotes = (word ^ _QUOTES) - _ONES
    backslashes = (word ^ i64(_HALF_BACKSLASHES) << 1) - _ONES
    deletes = (word ^ (i64(_HALF_DELETES) << 1 | 1)) - _ONES
    high_bits = word | quotes | backslashes | deletes
    return high_bits >= 0 and not high_bits & _LOWER_HIGH_BITS
