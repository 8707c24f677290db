"""The character sets other than UTF-8, for `character_sets`.

Python's codec of the character set is used if both agree on every character. Single-byte sets that
differ have tables. In multi-byte sets, a few characters that differ are replaced afterwards, and
those that the codec lacks are added where it stops.

A well-formed code without a character becomes `?`, or U+FFFD for a few codes. A SELECT gives the
same.

https://dev.mysql.com/doc/refman/8.4/en/charset-charsets.html
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from connector.binlog.charsets.character_tables import BIG5_LACKS, CODES, EXTRA_CHARACTERS, TABLES
from connector.errors import DecodeError, log_values

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

# The server has another character for these bytes, which Python reads as it reads the second ones.
# No other character of EUC-JP holds the byte 8F.
_SYNONYMS = {"eucjpms": (b"\x8f\xa2\xb7", b"\xa1\xc1")}

# What happens to bytes that Python's codec does not read:
_SELECT = "select"  # a code without a character is what SELECT gives, another sequence an error
_EXACT = "strict"  # both are errors
_LENIENT = "backslashreplace"

_SINGLE_BYTE_CODE = re.compile(rb".", re.DOTALL)
_CODES = {charset: re.compile(code) for charset, code in CODES.items()}
_WELL_FORMED = {charset: re.compile(rb"(?:%s)*+" % code) for charset, code in CODES.items()}

# What a SELECT gives for a code without a character, if it is not a question mark.
_UNKNOWN = "\ufffd"
_UNASSIGNED: dict[tuple[str, bytes], str] = {
    **{("tis620", bytes([byte])): _UNKNOWN for byte in b"\xa0\xdb\xdc\xdd\xde\xfc\xfd\xfe\xff"},
    # The server reads the two bytes one by one.
    ("eucjpms", b"\x8e\xa0"): "??",
    ("ujis", b"\x8e\xa0"): "??",
}

_BIG5_LACKING = re.compile(BIG5_LACKS)
_BIG5_CODES = re.compile(rb"(%s)|%s" % (BIG5_LACKS, CODES["big5"]))
# Python reads each of these bytes as a character; the server reads none of them as one.
_CP932_FOREIGN = re.compile("[\x80\uf8f0-\uf8f3]")


def other_decoder(charset: str, *, exact: bool) -> Callable[[bytes], str]:
    """Return the function that decodes one of these sets, as `character_decoder` does."""
    convert = _converter(charset, _EXACT if exact else _SELECT)

    def decode(data: bytes) -> str:
        try:
            text = convert(data)
        except UnicodeDecodeError as error:
            raise _not_of(charset, data, error.start) from None
        if charset == "cp932" and _CP932_FOREIGN.search(text):
            raise _not_of(charset, data, 0)
        if exact and charset == "big5" and (index := text.find(_UNKNOWN)) >= 0:
            raise _not_of(charset, data, len(text[:index].encode("big5", "replace")))
        return text

    return decode


def decode_other_leniently(data: bytes, charset: str) -> str:
    """Return the text of `data` in one of these sets, as `decode_leniently` does."""
    return _converter(charset, _LENIENT)(data)


def _not_of(charset: str, data: bytes, start: int) -> DecodeError:
    well_formed = _WELL_FORMED.get(charset)
    match = None if well_formed is None else well_formed.match(data)
    if match is not None and match.end() < len(data):
        start = match.end()
    return DecodeError(log_values.NOT_OF_CHARSET, offset=start, charset=charset)


def _converter(charset: str, errors: str) -> Callable[[bytes], str]:
    """Return a decoder of `charset`; it raises UnicodeDecodeError unless `errors` is lenient."""
    if charset == "ucs2" and errors != _LENIENT:
        return _ucs2
    table = TABLES.get(charset)
    codec = "" if table is not None else _CODECS[charset]
    if codec.startswith("utf_"):
        errors = _EXACT if errors == _SELECT else errors
    else:
        errors = _handler_name(charset, errors)
    if table is not None:
        return lambda data: codecs.charmap_decode(data, errors, table)[0]
    if charset == "big5":
        return lambda data: _big5(data, errors)
    replacements = _REPLACEMENTS.get(charset)
    if replacements is None:
        return lambda data: data.decode(codec, errors)
    synonym, known = _SYNONYMS.get(charset, (b"", b""))
    return lambda data: data.replace(synonym, known).decode(codec, errors).translate(replacements)


def _ucs2(data: bytes) -> str:
    text = data.decode("utf_16_be")
    if 2 * len(text) < len(data):
        # The two halves of a surrogate pair are two characters in UCS-2, and neither is in Unicode.
        reason = "it holds a surrogate pair"
        encoding = "ucs2"
        raise UnicodeDecodeError(encoding, data, 0, len(data), reason)
    return text


def _big5(data: bytes, errors: str) -> str:
    """Decode Big5; Python reads its codes without a character as other codes."""
    if _BIG5_LACKING.search(data) is None:
        return data.decode("big5", errors)
    parts: list[str] = []
    start = 0
    for code in _BIG5_CODES.finditer(data):
        if code[1] is not None:  # the bytes are a code, not the halves of two
            parts += (data[start : code.start()].decode("big5", errors), _UNKNOWN)
            start = code.end()
    parts.append(data[start:].decode("big5", errors))
    return "".join(parts)


def _handler_name(charset: str, errors: str) -> str:
    return f"mysql-{charset}-{errors}"


def _register_handler(charset: str, errors: str) -> None:
    """Make the codec of `charset` ask for the characters that it lacks."""
    extra = EXTRA_CHARACTERS.get(charset, {})
    code = _CODES.get(charset, _SINGLE_BYTE_CODE)
    select = errors == _SELECT
    refuse = codecs.lookup_error(_EXACT if select else errors)

    def handle(error: UnicodeError) -> tuple[str | bytes, int]:
        assert isinstance(error, UnicodeDecodeError)
        match = code.match(error.object, error.start)
        if match is not None:
            character = extra.get(match[0])
            if character is None and select:
                character = _UNASSIGNED.get((charset, match[0]), "?")
            if character is not None:
                return character, match.end()
        return refuse(error)

    codecs.register_error(_handler_name(charset, errors), handle)


for _charset in (*TABLES, *_CODECS):
    for _errors in (_SELECT, _EXACT, _LENIENT):
        _register_handler(_charset, _errors)
