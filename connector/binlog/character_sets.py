"""Bytes in one of MySQL's character sets become text.

Where Python has a codec with the server's mapping, it is used.

https://dev.mysql.com/doc/refman/8.4/en/charset-charsets.html
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

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
    "cp866": "cp866",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
    "euckr": "cp949",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "greek": "iso8859_7",
    "hebrew": "iso8859_8",
    "koi8r": "koi8_r",
    "koi8u": "koi8_u",
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
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

# What a byte stands for where no codec of Python has the server's mapping. MySQL's latin1 is
# Windows code page 1252, whose five holes hold the control characters of ISO 8859-1.
_TABLES: dict[str, str] = {
    "latin1": "".join(
        bytes([byte]).decode("latin-1" if byte in b"\x81\x8d\x8f\x90\x9d" else "cp1252")
        for byte in range(256)
    ),
}


def character_decoder(charset: str) -> Callable[[bytes], str]:
    """Return the function that decodes one character set.

    The function raises DecodeError for bytes that are not of the character set; so does this one
    for a character set that has no decoder.
    """
    table = _TABLES.get(charset)
    if table is not None:
        return _table_decoder(charset, table)
    codec = _CODECS.get(charset)
    if codec is None:
        reason = f"character set {charset} is not supported: exclude the table"
        raise DecodeError(reason)
    return _codec_decoder(charset, codec)


def decode_leniently(data: bytes, charset: str) -> str:
    r"""Return `data` as text, with each byte that is not of the character set as `\xNN`."""
    table = _TABLES.get(charset)
    if table is not None:
        return codecs.charmap_decode(data, "backslashreplace", table)[0]
    return data.decode(_CODECS.get(charset, "utf_8"), "backslashreplace")


def _codec_decoder(charset: str, codec: str) -> Callable[[bytes], str]:
    def decode(data: bytes) -> str:
        try:
            return data.decode(codec)
        except UnicodeDecodeError as error:
            raise _undecodable(charset, error) from None

    return decode


def _table_decoder(charset: str, table: str) -> Callable[[bytes], str]:
    def decode(data: bytes) -> str:
        try:
            return codecs.charmap_decode(data, "strict", table)[0]
        except UnicodeDecodeError as error:
            raise _undecodable(charset, error) from None

    return decode


def _undecodable(charset: str, error: UnicodeDecodeError) -> DecodeError:
    return DecodeError(f"byte {error.start} of the value is not {charset}")
