"""Bytes in one of MySQL's character sets become text, as the server converts them.

Python's codec of the character set does it where both agree for every character. Single-byte sets
that differ have tables; a few multi-byte characters that differ are replaced afterwards.

https://dev.mysql.com/doc/refman/8.4/en/charset-charsets.html
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from connector.binlog.character_tables import TABLES
from connector.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

# MySQL's name to Python's.
_CODECS: dict[str, str] = {
    "ascii": "ascii",
    "big5": "big5",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp932": "cp932",
    "euckr": "cp949",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "hp8": "hp_roman8",
    "koi8r": "koi8_r",
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
    "macce": "mac_latin2",
    "macroman": "mac_roman",
    "sjis": "shift_jis",
    "tis620": "tis_620",
    "ucs2": "utf_16_be",
    "ujis": "euc_jp",
    "utf16": "utf_16_be",
    "utf16le": "utf_16_le",
    "utf32": "utf_32_be",
    "utf8mb3": "utf_8",
    "utf8mb4": "utf_8",
}

# Python's character to the server's, where one sequence of bytes has two readings. In Japanese
# sets it is the full-width backslash, which the server reads as the plain one; gb18030 moved a
# letter out of the private use area in 2005.
_REPLACEMENTS: dict[str, dict[int, str]] = {
    "gb18030": {0xE7C7: "\u1e3f", 0x1E3F: "\ue7c7"},
    "sjis": {0xFF3C: "\\"},
    "ujis": {0xFF3C: "\\"},
}

# Characters that Python's codec lacks: those that ETEN added to Big5, and the user-defined rows of
# EUC-JP, which the server maps to the private use area.
_TRAILS = range(0xA1, 0xFF)
_EXTRA_CHARACTERS: dict[str, dict[bytes, str]] = {
    "big5": {
        bytes([0xF9, trail]): character
        for trail, character in enumerate("\u7881\u92b9\u88cf\u58bb\u6052\u7ca7\u5afa", 0xD6)
    },
    "ujis": {
        prefix + bytes([row, trail]): chr(first + (row - 0xF5) * len(_TRAILS) + trail - 0xA1)
        for prefix, first in ((b"", 0xE000), (b"\x8f", 0xE3AC))
        for row in range(0xF5, 0xFF)
        for trail in _TRAILS
    },
}
_EXTRA_LENGTHS = (2, 3)


def character_decoder(charset: str) -> Callable[[bytes], str]:
    """Return the function that decodes one character set.

    The function raises DecodeError for bytes that are not of the character set; so does this one
    for a character set that has no decoder.
    """
    table = TABLES.get(charset)
    if table is not None:
        return _table_decoder(charset, table)
    codec = _CODECS.get(charset)
    if codec is None:
        reason = f"character set {charset} is not supported: exclude the table"
        raise DecodeError(reason)
    decode = _codec_decoder(charset, codec)
    replacements = _REPLACEMENTS.get(charset)
    if replacements is None:
        return decode
    return lambda data: decode(data).translate(replacements)


def decode_leniently(data: bytes, charset: str) -> str:
    r"""Return `data` as text, with each byte that is not of the character set as `\xNN`."""
    table = TABLES.get(charset)
    if table is not None:
        return codecs.charmap_decode(data, "backslashreplace", table)[0]
    text = data.decode(_CODECS.get(charset, "utf_8"), "backslashreplace")
    return text.translate(_REPLACEMENTS.get(charset, {}))


def _codec_decoder(charset: str, codec: str) -> Callable[[bytes], str]:
    extra = _EXTRA_CHARACTERS.get(charset, {})

    def decode(data: bytes) -> str:
        text = ""
        start = 0
        while True:
            try:
                return text + data[start:].decode(codec)
            except UnicodeDecodeError as error:
                place = start + error.start
                text += data[start:place].decode(codec)
                for length in _EXTRA_LENGTHS:
                    character = extra.get(data[place : place + length])
                    if character is not None:
                        break
                else:
                    raise _undecodable(charset, place) from None
                text += character
                start = place + length

    return decode


def _table_decoder(charset: str, table: str) -> Callable[[bytes], str]:
    def decode(data: bytes) -> str:
        try:
            return codecs.charmap_decode(data, "strict", table)[0]
        except UnicodeDecodeError as error:
            raise _undecodable(charset, error.start) from None

    return decode


def _undecodable(charset: str, offset: int) -> DecodeError:
    return DecodeError(f"byte {offset} of the value is not {charset}")
