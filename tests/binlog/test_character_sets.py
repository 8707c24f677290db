from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.character_sets import character_decoder, decode_leniently
from connector.binlog.collations import charset_of
from connector.errors import DecodeError

if TYPE_CHECKING:
    from tests.binlog.source_log import SourceLog

# fmt: off
SINGLE_BYTE = [
    "armscii8", "ascii", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "dec8",
    "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5",
    "latin7", "macce", "macroman", "swe7", "tis620",
]
ASIAN = ["big5", "cp932", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "sjis", "ujis"]
MULTI_BYTE = [*ASIAN, "ucs2", "utf16", "utf16le", "utf32", "utf8mb3", "utf8mb4"]
# fmt: on


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("big5", "a4a4f9d661", "\u4e2d\u7881a"),
        ("ujis", "f5a1fefe8ff5a1", "\ue000\ue3ab\ue3ac"),
        ("ujis", "a1c0", "\\"),
        ("sjis", "815f5c", "\\\\"),
        ("gb18030", "a8bc8135f437", "\u1e3f\ue7c7"),
        ("euckr", "8141", "\uac02"),
        ("eucjpms", "a1c08fa2b7adb48ff3f38ff4fe7e", "\uff3c\uff5e\u2473\u2170\u9ed1~"),
        ("utf16le", "6100", "a"),
        ("utf32", "0001f600", "\U0001f600"),
    ],
)
def test_characters_that_other_decoders_lack_or_read_otherwise(
    charset: str, data: str, text: str
) -> None:
    assert character_decoder(charset)(bytes.fromhex(data)) == text


def test_latin1_is_windows_1252_with_control_characters_in_its_holes() -> None:
    decode = character_decoder("latin1")
    assert decode(b"caf\xe9 \x80 \x81\x8d\x8f\x90\x9d") == "caf\u00e9 \u20ac \x81\x8d\x8f\x90\x9d"


@pytest.mark.parametrize(
    ("charset", "data", "message"),
    [
        ("utf8mb4", b"ab\xff", "byte 2 of the value is not utf8mb4"),
        ("ascii", b"\x80", "byte 0 of the value is not ascii"),
        ("big5", b"\xa4\xa4\xf9\xff", "byte 2 of the value is not big5"),
        ("dec8", b"a\xa4", "byte 1 of the value is not dec8"),
        ("ucs2", b"\xd8\x3d\xde\x00", "byte 0 of the value is not ucs2"),
        ("utf8mb3", b"a\xed\xa0\x80", "byte 1 of the value is not utf8mb3"),
        ("utf16", b"\x00a\xd8\x00", "byte 2 of the value is not utf16"),
    ],
)
def test_bytes_outside_of_the_character_set_are_an_error(
    charset: str, data: bytes, message: str
) -> None:
    decode = character_decoder(charset)
    with pytest.raises(DecodeError) as caught:
        decode(data)
    assert caught.value.text == message


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("utf8mb4", b"a\xffb", "a\\xffb"),
        ("latin1", b"\xe9", "\u00e9"),
        ("swe7", b"\x80[", "\\x80\u00c4"),
        ("sjis", b"\x81\x5f", "\\"),
        ("ujis", b"\xf5\xa1\xff", "\ue000\\xff"),
        ("binary", b"\xc3\xa9\xff", "\u00e9\\xff"),
    ],
)
def test_a_lenient_text_shows_foreign_bytes_as_escapes(
    charset: str, data: bytes, text: str
) -> None:
    assert decode_leniently(data, charset) == text


@pytest.mark.parametrize(
    ("collation", "charset"),
    [
        (8, "latin1"),
        (33, "utf8mb3"),
        (45, "utf8mb4"),
        (63, "binary"),
        (255, "utf8mb4"),
        (323, "utf8mb4"),
        (576, "utf8mb3"),
        (1069, "utf8mb4"),
        (2048, "utf8mb3"),
        (2304, "utf8mb4"),
        (3327, "utf32"),
        (3328, None),
        (0, None),
        (400, None),
    ],
)
def test_a_collation_has_one_character_set(collation: int, charset: str | None) -> None:
    assert charset_of(collation) == charset


@pytest.mark.server
@pytest.mark.parametrize("charset", SINGLE_BYTE)
def test_a_single_byte_set_reads_every_byte_as_the_server_does(
    source_log: SourceLog, charset: str
) -> None:
    columns = ", ".join(f"HEX(CONVERT(_{charset} x'{n:02x}' USING utf8mb4))" for n in range(256))
    (row,) = source_log.execute(f"SELECT {columns}")
    expected = {n: bytes.fromhex(str(value)).decode() for n, value in enumerate(row)}
    # A question mark or U+FFFD: the server knows no character.
    known = {n: c for n, c in expected.items() if n == ord("?") or c not in ("?", "\ufffd")}
    decode = character_decoder(charset)
    assert {n: decode(bytes([n])) for n in known} == known


def fill(log: SourceLog, rows: list[str]) -> None:
    for start in range(0, len(rows), 20_000):
        log.execute(f"INSERT INTO t VALUES {', '.join(rows[start : start + 20_000])}")


def of_server(log: SourceLog, charsets: list[str]) -> list[str]:
    """Return those that the server has: MariaDB has no gb18030."""
    there = {row[0] for row in log.execute("SHOW CHARACTER SET")}
    return [charset for charset in charsets if charset in there]


def misread(charset: str, texts: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return what we read, and what is right, by the bytes in hexadecimal."""
    decode = character_decoder(charset)
    wrong = {}
    for data, text in texts.items():
        try:
            ours = decode(bytes.fromhex(data))
        except DecodeError as error:
            ours = error.text
        if ours != text:
            wrong[data] = (ours, text)
    return wrong


@pytest.mark.server
def test_a_multi_byte_set_reads_every_character_as_the_server_does(source_log: SourceLog) -> None:
    # Every character of the Basic Multilingual Plane that the set has, and some above.
    source_log.execute("CREATE TABLE t (n INT PRIMARY KEY, c VARCHAR(4) CHARACTER SET utf8mb4)")
    points = [n for n in range(1, 0xFFFD) if not 0xD800 <= n < 0xE000]
    points += list(range(0x10000, 0x10FFFF, 997))
    fill(source_log, [f"({n}, x'{chr(n).encode().hex()}')" for n in points])
    for charset in of_server(source_log, MULTI_BYTE):
        rows = source_log.execute(
            f"SELECT n, HEX(CONVERT(c USING {charset})), "
            f"HEX(CONVERT(CONVERT(c USING {charset}) USING utf8mb4)) FROM t"
        )
        texts = {
            str(stored): chr(int(str(n)))
            for n, stored, back in rows
            if bytes.fromhex(str(back)).decode() == chr(int(str(n)))
        }
        assert len(texts) > 5000, charset
        assert misread(charset, texts) == {}, charset


@pytest.mark.server
def test_every_sequence_of_bytes_is_read_as_the_server_does(source_log: SourceLog) -> None:
    source_log.execute("CREATE TABLE t (b VARBINARY(4) PRIMARY KEY)")
    sequences = [bytes([lead, trail]) for lead in range(0x80, 0x100) for trail in range(0x100)]
    # The three bytes of EUC-JP; in other sets, a character and a half.
    rows = range(0xA1, 0xFF)
    sequences += [bytes([0x8F, row, trail]) for row in rows for trail in rows]
    fill(source_log, [f"(x'{data.hex()}')" for data in sequences])
    # Not strict, the server cuts off what is not well-formed.
    source_log.execute("SET sql_mode = 'STRICT_ALL_TABLES'")
    for charset in of_server(source_log, ASIAN):
        read = source_log.execute(
            f"SELECT HEX(b), CONVERT(CONVERT(b USING {charset}) USING utf8mb4) FROM t"
        )
        # A question mark or U+FFFD stands for no character, and nothing for a part of one.
        texts = {
            str(data): str(text)
            for data, text in read
            if text and not {"?", "\ufffd"} & set(str(text))
        }
        assert len(texts) > 5000, charset
        assert misread(charset, texts) == {}, charset
