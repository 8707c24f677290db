"""A collation's number becomes the name of its character set.

The numbers are those of `information_schema.COLLATIONS`, which are the same on every server.
MariaDB adds to MySQL's: NO PAD collations at 1024 above the collation they are a variant of, and
the UCA 14.0 collations, 256 numbers for each Unicode character set, from 2048.

https://dev.mysql.com/doc/refman/8.4/en/charset-charsets.html
https://mariadb.com/kb/en/supported-character-sets-and-collations/
"""

from __future__ import annotations

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


def charset_of(collation: int) -> str | None:
    """Return MySQL's name of a collation's character set, None for an unknown number."""
    if collation in _NO_PAD:
        collation -= _NO_PAD.start
    elif collation >= _UCA1400_START:
        index = (collation - _UCA1400_START) // _UCA1400_SIZE
        return _UCA1400_CHARSETS[index] if index < len(_UCA1400_CHARSETS) else None
    return _CHARSETS.get(collation)
