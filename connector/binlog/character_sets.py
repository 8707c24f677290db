"""Bytes in one of MySQL's character sets become text, as the server converts them.

Python's codec of the character set does it where both agree for every character. Single-byte sets
that differ have tables. Of multi-byte sets, a few characters that differ are replaced afterwards,
and those that the codec lacks are added where it stops.

https://dev.mysql.com/doc/refman/8.4/en/charset-charsets.html
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from connector.binlog.character_tables import EXTRA_CHARACTERS, TABLES
from connector.errors import DecodeError, log_values

if TYPE_CHECKING:
    from collections.abc import Callable

# MySQL's name to Python's.
_CODECS: dict[str, str] = {
    "ascii": "ascii",
    "big5": "big5",
    # Of labels of ENUM and SET; a binary column's values are bytes.
    "binary": "ascii",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
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
# sets it is the full-width backslash, which the server reads as the plain one, and in eucjpms signs
# that Microsoft reads as full-width ones; gb18030 moved a letter out of the private use area in
# 2005.
_REPLACEMENTS: dict[str, dict[int, str]] = {
    "eucjpms": {
        0xA2: "\uffe0",
        0xA3: "\uffe1",
        0xA6: "\uffe4",
        0xAC: "\uffe2",
        0x2016: "\u2225",
        0x2212: "\uff0d",
        0x301C: "\uff5e",
    },
    "gb18030": {0xE7C7: "\u1e3f", 0x1E3F: "\ue7c7"},
    "sjis": {0xFF3C: "\\"},
    "ujis": {0xFF3C: "\\"},
}

# A character that Python's codec reads otherwise has another one's bytes, which it reads alike. No
# other character of EUC-JP holds the byte 8F.
_SYNONYMS = {"eucjpms": (b"\x8f\xa2\xb7", b"\xa1\xc1")}
_EXTRA_LENGTHS = (2, 3)


def character_decoder(charset: str) -> Callable[[bytes], str]:
    """Return the function that decodes one character set, by MySQL's name.

    The function raises DecodeError for bytes that are not of the character set.
    """
    table = TABLES.get(charset)
    convert = _converter(charset, "strict") if table is None else _table_converter(table, "strict")

    def decode(data: bytes) -> str:
        try:
            return convert(data)
        except UnicodeDecodeError as error:
            raise DecodeError(
                log_values.NOT_OF_CHARSET, offset=error.start, charset=charset
            ) from None

    return decode


def decode_leniently(data: bytes, charset: str) -> str:
    r"""Return `data` as text, with each byte that is not of the character set as `\xNN`."""
    if charset == "binary":
        charset = "utf8mb4"
    table = TABLES.get(charset)
    errors = "backslashreplace"
    convert = _converter(charset, errors) if table is None else _table_converter(table, errors)
    return convert(data)


def _converter(charset: str, errors: str) -> Callable[[bytes], str]:
    if charset == "ucs2" and errors == "strict":
        return _ucs2
    codec = _CODECS[charset]
    if charset in EXTRA_CHARACTERS:
        errors = _handler_name(charset, errors)
    replacements = _REPLACEMENTS.get(charset)
    if replacements is None:
        return lambda data: data.decode(codec, errors)
    synonym, known = _SYNONYMS.get(charset, (b"", b""))
    return lambda data: data.replace(synonym, known).decode(codec, errors).translate(replacements)


def _ucs2(data: bytes) -> str:
    text = data.decode("utf_16_be")
    if 2 * len(text) < len(data):
        # Two halves of a pair are two characters in UCS-2, and neither is one of Unicode.
        reason = "it holds a surrogate pair"
        encoding = "ucs2"
        raise UnicodeDecodeError(encoding, data, 0, len(data), reason)
    return text


def _table_converter(table: str, errors: str) -> Callable[[bytes], str]:
    return lambda data: codecs.charmap_decode(data, errors, table)[0]


def _handler_name(charset: str, errors: str) -> str:
    return f"mysql-{charset}-{errors}"


def _register_handler(charset: str, errors: str) -> None:
    """Let the codec of `charset` ask for the characters that it lacks."""
    extra = EXTRA_CHARACTERS[charset]
    refuse = codecs.lookup_error(errors)

    def handle(error: UnicodeError) -> tuple[str | bytes, int]:
        assert isinstance(error, UnicodeDecodeError)
        for length in _EXTRA_LENGTHS:
            character = extra.get(error.object[error.start : error.start + length])
            if character is not None:
                return character, error.start + length
        return refuse(error)

    codecs.register_error(_handler_name(charset, errors), handle)


for _charset in EXTRA_CHARACTERS:
    for _errors in ("strict", "backslashreplace"):
        _register_handler(_charset, _errors)
