"""Decoders of the character sets other than UTF-8, and how they differ from Python's codecs.

Python's codec of the character set is used if both agree on every character. Single-byte sets that
differ have tables with the text of each byte; a hole, U+FFFE, is a byte to which the server assigns
no character. In multi-byte sets, a few characters that differ are replaced afterwards, and those
that the codec lacks are added where it stops. A well-formed code without a character becomes `?`,
or U+FFFD for a few codes, as in a SELECT.

MySQL 5.7 to 9.7 and MariaDB 10.5 to 11.8 agree on all of this. They differ only in what they let a
client store: ASCII above 7F, the code 8EA0 of EUC-JP, and surrogates.

https://dev.mysql.com/doc/refman/8.4/en/charset-charsets.html
"""

import codecs
import re
from collections.abc import Callable

from connector.binlog import value_errors
from connector.foundation.errors import DecodeError

HOLE = "\ufffe"

# Python's codec, and the bytes for which the server has another character.
_PATCHES: dict[str, tuple[str, dict[int, str]]] = {
    "cp1256": ("cp1256", dict.fromkeys(b"\x8a\x8f\x98\x9a\x9f\xaa\xc0\xff", HOLE)),
    "cp866": ("cp866", {0xFC: "\u207f", 0xFD: "\u00b2"}),
    "dec8": (
        "latin_1",
        {
            0xA8: "\u00a4",
            0xD7: "\u0152",
            0xDD: "\u0178",
            0xF7: "\u0153",
            0xFD: "\u00ff",
            **dict.fromkeys(b"\xa4\xa6\xac\xad\xae\xaf\xb4\xb8\xbe\xd0\xde\xf0\xfe\xff", HOLE),
        },
    ),
    "greek": (
        "iso8859_7",
        {0xA1: "\u02bd", 0xA2: "\u02bc", **dict.fromkeys(b"\xa4\xa5\xaa", HOLE)},
    ),
    "hebrew": ("iso8859_8", {0xAF: "\u203e"}),
    "koi8u": ("koi8_u", {0x95: "\u2022"}),
    # Windows code page 1252, with the control characters of ISO 8859-1 in its five holes.
    "latin1": ("cp1252", {byte: chr(byte) for byte in b"\x81\x8d\x8f\x90\x9d"}),
    "swe7": (
        "ascii",
        {
            0x40: "\u00c9",
            0x5B: "\u00c4",
            0x5C: "\u00d6",
            0x5D: "\u00c5",
            0x5E: "\u00dc",
            0x60: "\u00e9",
            0x7B: "\u00e4",
            0x7C: "\u00f6",
            0x7D: "\u00e5",
            0x7E: "\u00fc",
            0x7F: HOLE,
        },
    ),
}

# Bytes 0x80 to 0xFF; those below are ASCII.
_UPPER_HALVES: dict[str, str] = {
    "armscii8": (
        "\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087"
        "\u0088\u0089\u008a\u008b\u008c\u008d\u008e\u008f"
        "\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097"
        "\u0098\u0099\u009a\u009b\u009c\u009d\u009e\u009f"
        "\u00a0\u2741\u00a7\u0589\u0029\u0028\u00bb\u00ab"
        "\u2014\u002e\u055d\u002c\u002d\u055f\u2026\u055c"
        "\u055b\u055e\u0531\u0561\u0532\u0562\u0533\u0563"
        "\u0534\u0564\u0535\u0565\u0536\u0566\u0537\u0567"
        "\u0538\u0568\u0539\u0569\u053a\u056a\u053b\u056b"
        "\u053c\u056c\u053d\u056d\u053e\u056e\u053f\u056f"
        "\u0540\u0570\u0541\u0571\u0542\u0572\u0543\u0573"
        "\u0544\u0574\u0545\u0575\u0546\u0576\u0547\u0577"
        "\u0548\u0578\u0549\u0579\u054a\u057a\u054b\u057b"
        "\u054c\u057c\u054d\u057d\u054e\u057e\u054f\u057f"
        "\u0550\u0580\u0551\u0581\u0552\u0582\u0553\u0583"
        "\u0554\u0584\u0555\u0585\u0556\u0586\u2019\u0027"
    ),
    "geostd8": (
        "\u20ac\ufffe\u201a\ufffe\u201e\u2026\u2020\u2021"
        "\ufffe\u2030\ufffe\u2039\ufffe\ufffe\ufffe\ufffe"
        "\ufffe\u2018\u2019\u201c\u201d\u2022\u2013\u2014"
        "\ufffe\ufffe\ufffe\u203a\ufffe\ufffe\ufffe\ufffe"
        "\u00a0\u00a1\u00a2\u00a3\u00a4\u00a5\u00a6\u00a7"
        "\u00a8\u00a9\u00aa\u00ab\u00ac\u00ad\u00ae\u00af"
        "\u00b0\u00b1\u00b2\u00b3\u00b4\u00b5\u00b6\u00b7"
        "\u00b8\u00b9\u00ba\u00bb\u00bc\u00bd\u00be\u00bf"
        "\u10d0\u10d1\u10d2\u10d3\u10d4\u10d5\u10d6\u10f1"
        "\u10d7\u10d8\u10d9\u10da\u10db\u10dc\u10f2\u10dd"
        "\u10de\u10df\u10e0\u10e1\u10e2\u10f3\u10e3\u10e4"
        "\u10e5\u10e6\u10e7\u10e8\u10e9\u10ea\u10eb\u10ec"
        "\u10ed\u10ee\u10f4\u10ef\u10f0\u10f5\ufffe\ufffe"
        "\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe"
        "\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe"
        "\ufffe\ufffe\ufffe\ufffe\ufffe\u2116\ufffe\ufffe"
    ),
    "keybcs2": (
        "\u010c\u00fc\u00e9\u010f\u00e4\u010e\u0164\u010d"
        "\u011b\u011a\u0139\u00cd\u013e\u013a\u00c4\u00c1"
        "\u00c9\u017e\u017d\u00f4\u00f6\u00d3\u016f\u00da"
        "\u00fd\u00d6\u00dc\u0160\u013d\u00dd\u0158\u0165"
        "\u00e1\u00ed\u00f3\u00fa\u0148\u0147\u016e\u00d4"
        "\u0161\u0159\u0155\u0154\u00bc\u00a1\u00ab\u00bb"
        "\u2591\u2592\u2593\u2502\u2524\u2561\u2562\u2556"
        "\u2555\u2563\u2551\u2557\u255d\u255c\u255b\u2510"
        "\u2514\u2534\u252c\u251c\u2500\u253c\u255e\u255f"
        "\u255a\u2554\u2569\u2566\u2560\u2550\u256c\u2567"
        "\u2568\u2564\u2565\u2559\u2558\u2552\u2553\u256b"
        "\u256a\u2518\u250c\u2588\u2584\u258c\u2590\u2580"
        "\u03b1\u00df\u0393\u03c0\u03a3\u03c3\u00b5\u03c4"
        "\u03a6\u0398\u03a9\u03b4\u221e\u03c6\u03b5\u2229"
        "\u2261\u00b1\u2265\u2264\u2320\u2321\u00f7\u2248"
        "\u00b0\u2219\u00b7\u221a\u207f\u00b2\u25a0\u00a0"
    ),
}


def _patched(codec: str, patches: dict[int, str]) -> str:
    characters = [
        patches.get(byte) or bytes([byte]).decode(codec, "replace").replace("\ufffd", HOLE)
        for byte in range(256)
    ]
    return "".join(characters)


# The character of each byte, by MySQL's name of the character set.
TABLES: dict[str, str] = {
    **{charset: _patched(codec, patches) for charset, (codec, patches) in _PATCHES.items()},
    **{
        charset: bytes(range(0x80)).decode("ascii") + upper
        for charset, upper in _UPPER_HALVES.items()
    },
}

_TRAILS = range(0xA1, 0xFF)

# The rows of EUC-JP that users define, which the server maps to the private use area.
_USER_DEFINED = {
    prefix + bytes([row, trail]): chr(first + (row - 0xF5) * len(_TRAILS) + trail - 0xA1)
    for prefix, first in ((b"", 0xE000), (b"\x8f", 0xE3AC))
    for row in range(0xF5, 0xFF)
    for trail in _TRAILS
}
# Row 13, of NEC, is in Python's codec of Microsoft's Shift-JIS: the lead byte 87, without holes in
# its trail bytes but 7F.
_NEC = {
    bytes([0xAD, trail]): character
    for trail, last in zip(_TRAILS, (*range(0x40, 0x7F), *range(0x80, 0x9F)), strict=True)
    if (character := bytes([0x87, last]).decode("cp932", "ignore")) > "\x7f"
}
_IBM = (
    "\u2170\u2171\u2172\u2173\u2174\u2175\u2176\u2177\u2178\u2179\u2160\u2161\u2162\u2163"
    "\u2164\u2165\u2166\u2167\u2168\u2169\uff07\uff02\u3231\u2116\u2121\u70bb\u4efc\u50f4"
    "\u51ec\u5307\u5324\ufa0e\u548a\u5759\ufa0f\ufa10\u589e\u5bec\u5cf5\u5d53\ufa11\u5fb7"
    "\u6085\u6120\u654e\u663b\u6665\ufa12\uf929\u6801\ufa13\ufa14\u6a6b\u6ae2\u6df8\u6df2"
    "\u7028\ufa15\ufa16\u7501\u7682\u769e\ufa17\u7930\ufa18\ufa19\ufa1a\ufa1b\u7ae7\ufa1c"
    "\ufa1d\u7da0\u7dd6\ufa1e\u8362\ufa1f\u85b0\ufa20\ufa21\u8807\ufa22\u8b7f\u8cf4\u8d76"
    "\ufa23\ufa24\ufa25\u90de\ufa26\u9115\ufa27\ufa28\u9592\uf9dc\ufa29\u973b\u974d\u9751"
    "\ufa2a\ufa2b\ufa2c\u999e\u9ad9\u9b72\ufa2d\u9ed1"
)
_IBM_CODES = [(0xF3, trail) for trail in range(0xF3, 0xFF)] + [(0xF4, trail) for trail in _TRAILS]

# The character of bytes that Python's codec cannot read, by MySQL's name of the character set.
EXTRA_CHARACTERS: dict[str, dict[bytes, str]] = {
    # ETEN's.
    "big5": {
        bytes([0xF9, trail]): character
        for trail, character in enumerate("\u7881\u92b9\u88cf\u58bb\u6052\u7ca7\u5afa", 0xD6)
    },
    "eucjpms": {
        **_USER_DEFINED,
        **_NEC,
        **{
            bytes([0x8F, *code]): character
            for code, character in zip(_IBM_CODES, _IBM, strict=True)
        },
    },
    "ujis": _USER_DEFINED,
}

_EUC_JP = rb"[\x00-\x7f]|[\xa1-\xfe]{2}|\x8e[\xa0-\xdf]|\x8f[\xa1-\xfe]{2}"
_SHIFT_JIS = rb"[\x00-\x7f\xa1-\xdf]|[\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc]"

# The pattern of one code, assigned or not, by MySQL's name of the character set: servers store no
# others. A single-byte set has all bytes.
CODES: dict[str, bytes] = {
    "big5": rb"[\x00-\x7f]|[\xa1-\xf9][\x40-\x7e\xa1-\xfe]",
    "cp932": _SHIFT_JIS,
    "eucjpms": _EUC_JP,
    "euckr": rb"[\x00-\x7f]|[\x81-\xfe][\x41-\x5a\x61-\x7a\x81-\xfe]",
    "gb18030": (
        rb"[\x00-\x7f]|[\x81-\xfe](?:[\x40-\x7e\x80-\xfe]|[\x30-\x39][\x81-\xfe][\x30-\x39])"
    ),
    "gb2312": rb"[\x00-\x7f]|[\xa1-\xf7][\xa1-\xfe]",
    "gbk": rb"[\x00-\x7f]|[\x81-\xfe][\x40-\x7e\x80-\xfe]",
    "sjis": _SHIFT_JIS,
    "ujis": _EUC_JP,
}

# The codes that Python reads and the server does not.
BIG5_LACKS = rb"\xa1[\x5a\xc3\xc5\xfe]|\xa2[\x40\xcc\xce]"


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


def encode_other(text: str, charset: str) -> bytes | None:
    """Return `text` in one of these sets, as `encode_exactly` does."""
    table = TABLES.get(charset)
    try:
        if table is None:
            data = text.encode(_CODECS[charset])
        else:
            data = codecs.charmap_encode(text, "strict", codecs.charmap_build(table))[0]
        is_same = other_decoder(charset, exact=True)(data) == text
    except (UnicodeEncodeError, DecodeError):
        return None
    return data if is_same else None


def _not_of(charset: str, data: bytes, start: int) -> DecodeError:
    well_formed = _WELL_FORMED.get(charset)
    match = None if well_formed is None else well_formed.match(data)
    if match is not None and match.end() < len(data):
        start = match.end()
    return DecodeError(value_errors.NOT_OF_CHARSET, offset=start, charset=charset)


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
