"""Every code of every character set, as a server's SELECT gives it.

A column of the character set takes what the server lets it: that is what a log can hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.character_sets import character_decoder
from connector.foundation.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.binlog.source_log import SourceLog

# fmt: off
SINGLE_BYTE = [
    "armscii8", "ascii", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "dec8",
    "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5",
    "latin7", "macce", "macroman", "swe7", "tis620",
]
ASIAN = ["big5", "cp932", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "sjis", "ujis"]
UNICODE = ["ucs2", "utf16", "utf16le", "utf32", "utf8mb3", "utf8mb4"]
# fmt: on

# The codes of four bytes of GB18030: the first and last ones that have a character, their
# neighbours, and every so many of all.
_GB18030_EDGES = (
    "81308130 8130d330 8135f436 8135f437 8135f438 8336c738 8336c739 8336d030 8431a439 8431a530 "
    "8f39fe39 90308130 90308131 e3329a35 e3329a36 fe39fe38 fe39fe39"
)
_GB18030_STEP = 101

_SEPARATOR = ","


def fill_sequences(log: SourceLog) -> None:
    """Make the table of what may be a code: all of up to two bytes, and some longer ones."""
    log.execute("SET SESSION sql_log_bin = 0, group_concat_max_len = 1 << 28")
    log.execute("SET SESSION max_heap_table_size = 1 << 28")
    log.execute("CREATE TABLE sequences (b VARBINARY(4)) ENGINE = MEMORY")
    sequences = ",".join([f"(x'{sequence.hex()}')" for sequence in sorted(_sequences())])
    log.execute(f"INSERT INTO sequences VALUES {sequences}")


def texts_of(log: SourceLog, charset: str) -> dict[bytes, bytes]:
    """Return the UTF-8 that SELECT gives for each of the sequences that the server stores."""
    column = f"c VARCHAR(4) CHARACTER SET {charset}"
    log.execute(f"CREATE TABLE codes (b VARBINARY(4), {column}) ENGINE = MEMORY")
    longest = 1 if charset in SINGLE_BYTE else 4
    # What is not well-formed is cut off with a warning, and left out below.
    log.execute(f"INSERT IGNORE INTO codes SELECT b, b FROM sequences WHERE LENGTH(b) <= {longest}")
    ((listed,),) = log.execute(
        f"SELECT GROUP_CONCAT(HEX(b), '=', HEX(CONVERT(c USING utf8mb4)) "
        f"SEPARATOR '{_SEPARATOR}') FROM codes WHERE CAST(c AS BINARY) = b"
    )
    log.execute("DROP TABLE codes")
    pairs = [pair.split("=") for pair in str(listed).split(_SEPARATOR)]
    return {bytes.fromhex(code): bytes.fromhex(text) for code, text in pairs}


def charsets_of(log: SourceLog, charsets: Iterable[str]) -> list[str]:
    """Return those that the server has: MariaDB has no gb18030."""
    there = {row[0] for row in log.execute("SHOW CHARACTER SET")}
    return [charset for charset in charsets if charset in there]


def misread(charset: str, texts: dict[bytes, bytes]) -> dict[str, tuple[str, str]]:
    """Return what we read, and what is right, by the bytes in hexadecimal."""
    decode = character_decoder(charset)
    wrong = {}
    for code, stored in texts.items():
        text = stored.decode()
        try:
            ours = decode(code)
        except DecodeError as error:
            ours = str(error)
        if ours != text:
            wrong[code.hex()] = (ours, text)
    return wrong


def _sequences() -> set[bytes]:
    sequences = {bytes([byte]) for byte in range(0x100)}
    sequences |= {bytes([lead, trail]) for lead in range(0x80, 0x100) for trail in range(0x100)}
    # The codes of three bytes of EUC-JP.
    row = range(0xA1, 0xFF)
    sequences |= {bytes([0x8F, second, third]) for second in row for third in row}
    lead, digit = range(0x81, 0xFF), range(0x30, 0x3A)
    heads = [bytes([first, second]) for first in lead for second in digit]
    longer = [head + tail for head in heads for tail in heads]
    return sequences | {*longer[::_GB18030_STEP], *map(bytes.fromhex, _GB18030_EDGES.split())}
