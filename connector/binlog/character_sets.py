"""MySQL's character sets and collations: their names and numbers, and bytes as text.

A collation's number becomes its name, as `information_schema.COLLATIONS` has it, and the name of
its character set. Bytes in a character set become text as the server's SELECT converts them.

Most logs hold UTF-8 alone. The tables of the other sets take 8 ms to make, so they are imported
when one of these sets occurs.

Below 1024, the numbers of collations are the same on every server; a few names are not. MariaDB
adds these: NO PAD collations at 1024 above the collation they are a variant of, and the UCA 14.0
collations, 256 numbers for each Unicode character set, from 2048. MySQL leaves 1024 to 2047 to
collations that users add, so the log does not say of which character set they are. Each server
called utf8mb3 `utf8` until MySQL 8.0.30 and MariaDB 10.6; here it is always utf8mb3.

https://dev.mysql.com/doc/refman/8.4/en/charset-charsets.html
https://dev.mysql.com/doc/refman/8.4/en/adding-collation-choosing-id.html
https://mariadb.com/kb/en/supported-character-sets-and-collations/
"""

from collections.abc import Callable

from connector.binlog import value_errors
from connector.foundation.errors import DecodeError

# MySQL's name to Python's, of sets in which no code lacks a character.
_CODECS: dict[str, str] = {
    # Of labels of ENUM and SET; a binary column's values are bytes.
    "binary": "ascii",
    "utf8mb3": "utf_8",
    "utf8mb4": "utf_8",
}


def character_decoder(charset: str, *, exact: bool = False) -> Callable[[bytes], str]:
    """Return the function that decodes one character set, by MySQL's name.

    The function raises DecodeError for bytes outside of the character set. With `exact` it also
    raises for a code without a character, so that no two values have the same text.
    """
    codec = _CODECS.get(charset)
    if codec is None:
        from connector.binlog.character_set_tables import other_decoder  # noqa: PLC0415

        return other_decoder(charset, exact=exact)

    def decode(data: bytes) -> str:
        try:
            return data.decode(codec)
        except UnicodeDecodeError as error:
            raise DecodeError(
                value_errors.NOT_OF_CHARSET, offset=error.start, charset=charset
            ) from None

    return decode


def decode_leniently(data: bytes, charset: str) -> str:
    r"""Return `data` as text; each byte outside of the character set becomes `\xNN`."""
    if charset in _CODECS:
        # Text in the set `binary` is mostly UTF-8.
        return data.decode("utf_8", "backslashreplace")
    from connector.binlog.character_set_tables import decode_other_leniently  # noqa: PLC0415

    return decode_other_leniently(data, charset)


def encode_exactly(text: str, charset: str) -> bytes | None:
    """Return `text` in a character set; None if the set lacks one of its characters."""
    if charset not in _CODECS:
        from connector.binlog.character_set_tables import encode_other  # noqa: PLC0415

        return encode_other(text, charset)
    try:
        data = text.encode(_CODECS[charset])
    except UnicodeEncodeError:
        return None
    if charset == "utf8mb3" and any(character > "\uffff" for character in text):
        return None
    return data


# The collation of BINARY, VARBINARY and BLOB columns.
BINARY_COLLATION = 63

_NO_PAD = range(1024, 2048)
_UCA1400_START = 2048
_UCA1400_SIZE = 256
_UCA1400_CHARSETS = ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32")

# First and last number, by character set.
_COLLATIONS: dict[str, tuple[tuple[int, int], ...]] = {
    "armscii8": ((32, 32), (64, 64)),
    "ascii": ((11, 11), (65, 65)),
    "big5": ((1, 1), (84, 84)),
    "binary": ((63, 63),),
    "cp1250": ((26, 26), (34, 34), (44, 44), (66, 66), (99, 99)),
    "cp1251": ((14, 14), (23, 23), (50, 52)),
    "cp1256": ((57, 57), (67, 67)),
    "cp1257": ((29, 29), (58, 59)),
    "cp850": ((4, 4), (80, 80)),
    "cp852": ((40, 40), (81, 81)),
    "cp866": ((36, 36), (68, 68)),
    "cp932": ((95, 96),),
    "dec8": ((3, 3), (69, 69)),
    "eucjpms": ((97, 98),),
    "euckr": ((19, 19), (85, 85)),
    "gb18030": ((248, 250),),
    "gb2312": ((24, 24), (86, 86)),
    "gbk": ((28, 28), (87, 87)),
    "geostd8": ((92, 93),),
    "greek": ((25, 25), (70, 70)),
    "hebrew": ((16, 16), (71, 71)),
    "hp8": ((6, 6), (72, 72)),
    "keybcs2": ((37, 37), (73, 73)),
    "koi8r": ((7, 7), (74, 74)),
    "koi8u": ((22, 22), (75, 75)),
    "latin1": ((5, 5), (8, 8), (15, 15), (31, 31), (47, 49), (94, 94)),
    "latin2": ((2, 2), (9, 9), (21, 21), (27, 27), (77, 77)),
    "latin5": ((30, 30), (78, 78)),
    "latin7": ((20, 20), (41, 42), (79, 79)),
    "macce": ((38, 38), (43, 43)),
    "macroman": ((39, 39), (53, 53)),
    "sjis": ((13, 13), (88, 88)),
    "swe7": ((10, 10), (82, 82)),
    "tis620": ((18, 18), (89, 89)),
    "ucs2": ((35, 35), (90, 90), (128, 151), (159, 159), (640, 642)),
    "ujis": ((12, 12), (91, 91)),
    "utf16": ((54, 55), (101, 124), (672, 674)),
    "utf16le": ((56, 56), (62, 62)),
    "utf32": ((60, 61), (160, 183), (736, 738)),
    "utf8mb3": ((33, 33), (76, 76), (83, 83), (192, 215), (223, 223), (576, 579)),
    "utf8mb4": ((45, 46), (224, 247), (255, 325), (608, 611)),
}

_CHARSETS: dict[int, str] = {
    number: charset
    for charset, ranges in _COLLATIONS.items()
    for first, last in ranges
    for number in range(first, last + 1)
}


def charset_of(collation: int, *, mariadb: bool = False) -> str | None:
    """Return MySQL's name of a collation's character set, None for an unknown number.

    With `mariadb`, the number is MariaDB's.
    """
    if not mariadb:
        return _CHARSETS.get(collation)
    if collation in _NO_PAD:
        collation -= _NO_PAD.start
    elif collation >= _UCA1400_START:
        index = (collation - _UCA1400_START) // _UCA1400_SIZE
        return _UCA1400_CHARSETS[index] if index < len(_UCA1400_CHARSETS) else None
    return _CHARSETS.get(collation)


def _words(text: str) -> list[str]:
    return text.split()


_NAMES: dict[str, str] = {
    "armscii8": "general_ci=32 bin=64",
    "ascii": "general_ci=11 bin=65",
    "big5": "chinese_ci=1 bin=84",
    "cp1250": "general_ci=26 czech_cs=34 croatian_ci=44 bin=66 polish_ci=99",
    "cp1251": "bulgarian_ci=14 ukrainian_ci=23 bin=50 general_ci=51 general_cs=52",
    "cp1256": "general_ci=57 bin=67",
    "cp1257": "lithuanian_ci=29 bin=58 general_ci=59",
    "cp850": "general_ci=4 bin=80",
    "cp852": "general_ci=40 bin=81",
    "cp866": "general_ci=36 bin=68",
    "cp932": "japanese_ci=95 bin=96",
    "dec8": "swedish_ci=3 bin=69",
    "eucjpms": "japanese_ci=97 bin=98",
    "euckr": "korean_ci=19 bin=85",
    "gb18030": "chinese_ci=248 bin=249 unicode_520_ci=250",
    "gb2312": "chinese_ci=24 bin=86",
    "gbk": "chinese_ci=28 bin=87",
    "geostd8": "general_ci=92 bin=93",
    "greek": "general_ci=25 bin=70",
    "hebrew": "general_ci=16 bin=71",
    "hp8": "english_ci=6 bin=72",
    "keybcs2": "general_ci=37 bin=73",
    "koi8r": "general_ci=7 bin=74",
    "koi8u": "general_ci=22 bin=75",
    "latin1": (
        "german1_ci=5 swedish_ci=8 danish_ci=15 german2_ci=31 bin=47 general_ci=48 "
        "general_cs=49 spanish_ci=94"
    ),
    "latin2": "czech_cs=2 general_ci=9 hungarian_ci=21 croatian_ci=27 bin=77",
    "latin5": "turkish_ci=30 bin=78",
    "latin7": "estonian_cs=20 general_ci=41 general_cs=42 bin=79",
    "macce": "general_ci=38 bin=43",
    "macroman": "general_ci=39 bin=53",
    "sjis": "japanese_ci=13 bin=88",
    "swe7": "swedish_ci=10 bin=82",
    "tis620": "thai_ci=18 bin=89",
    "ucs2": "general_ci=35 bin=90 general_mysql500_ci=159",
    "ujis": "japanese_ci=12 bin=91",
    "utf16": "general_ci=54 bin=55",
    "utf16le": "general_ci=56 bin=62",
    "utf32": "general_ci=60 bin=61",
    "utf8mb3": "general_ci=33 tolower_ci=76 bin=83 general_mysql500_ci=223",
    "utf8mb4": (
        "general_ci=45 bin=46 0900_as_cs=278 ja_0900_as_cs=303 ja_0900_as_cs_ks=304 "
        "0900_as_ci=305 ru_0900_ai_ci=306 ru_0900_as_cs=307 zh_0900_as_cs=308 0900_bin=309"
    ),
}

# Of the Unicode character sets, from the first number on.
_LANGUAGES = _words(
    "unicode icelandic latvian romanian slovenian polish estonian spanish swedish turkish czech "
    "danish lithuanian slovak spanish2 roman persian esperanto hungarian sinhala german2 croatian "
    "unicode_520 vietnamese"
)
_LANGUAGES_START = {"utf16": 101, "ucs2": 128, "utf32": 160, "utf8mb3": 192, "utf8mb4": 224}

# Of utf8mb4 in MySQL 8.0: accent-insensitive from the one number, accent-sensitive from the other;
# `-` where a number was left out. The later ones lie side by side.
_UCA900 = _words("- de_pb is lv ro sl pl et es sv tr cs da lt sk es_trad la - eo hu hr - vi")
_UCA900_START = {"0900_ai_ci": 255, "0900_as_cs": 278}
_UCA900_PAIRS = _words("nb nn sr_latn bs bg gl mn_cyrl")
_UCA900_PAIRS_START = 310

# MariaDB's own, from the first number on, and its names for numbers that MySQL calls otherwise.
_MARIADB = _words("croatian_ci myanmar_ci thai_520_w2 general1400_as_ci")
_MARIADB_START = {"utf8mb3": 576, "utf8mb4": 608, "ucs2": 640, "utf16": 672, "utf32": 736}
_MARIADB_CROATIAN = _LANGUAGES.index("croatian")

# MariaDB's NO PAD variant of a collation lies this far above it.
_UCA1400_LANGUAGES = ["", *_LANGUAGES[1:21], "", "", "vietnamese", "croatian"]
# By the lowest three bits.
_UCA1400_ENDINGS = _words("ai_ci ai_cs as_ci as_cs nopad_ai_ci nopad_ai_cs nopad_as_ci nopad_as_cs")


def collation_name(number: int, *, mariadb: bool = False) -> str | None:
    """Return the server's name of a collation, None for an unknown number."""
    if not mariadb:
        return _OF_MYSQL.get(number)
    if number in _NO_PAD:
        padded = collation_name(number - _NO_PAD.start, mariadb=True)
        if padded is None:
            return None
        name, _, ending = padded.rpartition("_")
        return f"{name}_nopad_{ending}"
    if number >= _UCA1400_START:
        return _uca1400_name(number)
    return _OF_MARIADB.get(number) or _OF_MYSQL.get(number)


def _uca1400_name(number: int) -> str | None:
    charset = charset_of(number, mariadb=True)
    index = (number - _UCA1400_START) % _UCA1400_SIZE
    language_index, ending = divmod(index, len(_UCA1400_ENDINGS))
    if charset is None or language_index >= len(_UCA1400_LANGUAGES):
        return None
    language = _UCA1400_LANGUAGES[language_index]
    if language_index and not language:
        return None
    return "_".join(filter(None, (charset, "uca1400", language, _UCA1400_ENDINGS[ending])))


def _mysql_names() -> dict[int, str]:
    names = {63: "binary"}
    for charset, members in _NAMES.items():
        for member in members.split():
            ending, _, digits = member.partition("=")
            names[int(digits)] = f"{charset}_{ending}"
    for charset, start in _LANGUAGES_START.items():
        for number, language in enumerate(_LANGUAGES, start):
            names[number] = f"{charset}_{language}_ci"
    for ending, start in _UCA900_START.items():
        for number, language in enumerate(_UCA900, start):
            if language != "-":
                names[number] = f"utf8mb4_{language}_{ending}"
        names[start] = f"utf8mb4_{ending}"
    for index, language in enumerate(_UCA900_PAIRS):
        for number, ending in enumerate(_UCA900_START, _UCA900_PAIRS_START + 2 * index):
            names[number] = f"utf8mb4_{language}_{ending}"
    return names


def _mariadb_names() -> dict[int, str]:
    names: dict[int, str] = {}
    for charset, start in _LANGUAGES_START.items():
        names[start + _MARIADB_CROATIAN] = f"{charset}_croatian_mysql561_ci"
    for charset, start in _MARIADB_START.items():
        for number, ending in enumerate(_MARIADB, start):
            names[number] = f"{charset}_{ending}"
    return names


_OF_MYSQL = _mysql_names()
_OF_MARIADB = _mariadb_names()
