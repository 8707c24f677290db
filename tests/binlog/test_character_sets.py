from __future__ import annotations

import pytest

from connector.binlog.character_sets import (
    character_decoder,
    charset_of,
    decode_leniently,
    encode_exactly,
)
from connector.foundation.errors import DecodeError


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
        ("binary", b"\x80", "byte 0 of the value is not binary"),
        ("big5", b"\xa4\xa4\xf9\xff", "byte 2 of the value is not big5"),
        ("big5", b"\xa2\xcca\xa2\xce\x80", "byte 5 of the value is not big5"),
        ("cp932", b"a\x81\xad\x80b", "byte 3 of the value is not cp932"),
        ("cp932", b"\xa0", "byte 0 of the value is not cp932"),
        ("eucjpms", b"\x8f\xa2\xb7\x8f", "byte 3 of the value is not eucjpms"),
        ("gb18030", b"a\xfe\x39\xfe\x39\xff", "byte 5 of the value is not gb18030"),
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
        ("cp1256", "8a8f989a9faac0ff", "????????"),
        ("greek", "a4a5aaae", "????"),
        ("swe7", "7f80", "??"),
        ("ascii", "6180", "a?"),
        ("tis620", "a0db", "\ufffd\ufffd"),
        ("big5", "a15aa2cea451", "\ufffd\ufffd\u5341"),
        # Two characters, the halves of which look like a code without one.
        ("big5", "a4a2cc40", "\u4e10\u5768"),
        ("big5", "a3c0", "?"),
        ("cp932", "81ad", "?"),
        ("eucjpms", "8fa1a18ea0", "???"),
        ("gb18030", "8431a530fe39fe39", "??"),
    ],
)
def test_a_code_without_a_character_is_what_select_gives(
    charset: str, data: str, text: str
) -> None:
    assert character_decoder(charset)(bytes.fromhex(data)) == text


@pytest.mark.parametrize(
    ("charset", "data", "message"),
    [
        ("cp1256", "618a", "byte 1 of the value is not cp1256"),
        ("tis620", "a0", "byte 0 of the value is not tis620"),
        ("big5", "a451a2cc", "byte 2 of the value is not big5"),
        ("ujis", "8fa1a1", "byte 0 of the value is not ujis"),
    ],
)
def test_an_exact_text_has_no_code_without_a_character(
    charset: str, data: str, message: str
) -> None:
    decode = character_decoder(charset, exact=True)
    with pytest.raises(DecodeError) as caught:
        decode(bytes.fromhex(data))
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
    assert charset_of(collation, mariadb=True) == charset


@pytest.mark.parametrize("collation", [1024, 1029, 1069, 2047, 2048, 2304])
def test_the_log_of_mysql_does_not_say_the_character_set_of_a_collation_of_its_users(
    collation: int,
) -> None:
    assert charset_of(collation) is None


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("utf8mb4", "ab\U0001f600"),
        ("utf8mb3", "\uffff"),
        ("latin1", "caf\u00e9 \u20ac\x81"),
        ("swe7", "\u00c5\u00e9"),
        ("geostd8", "\u10d0"),
        ("sjis", "\u3042\\"),
        ("gb18030", "\u1e3f"),
        ("utf16le", "a"),
        ("utf32", "\U0001f600"),
    ],
)
def test_a_text_is_encoded_as_it_is_read(charset: str, text: str) -> None:
    data = encode_exactly(text, charset)
    # Python's codec of gb18030 has another code for the letter.
    assert (data is None) == (charset == "gb18030")
    assert data is None or character_decoder(charset)(data) == text


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("utf8mb4", "\ud800"),
        ("utf8mb3", "\U0001f600"),
        ("ucs2", "\U0001f600"),
        ("binary", "\u00e9"),
        ("latin1", "\u0434"),
        ("swe7", "@"),
        ("geostd8", "\ufffe"),
        ("big5", "\u3042\U0001f600"),
    ],
)
def test_a_text_with_a_character_that_the_set_lacks_has_no_bytes(charset: str, text: str) -> None:
    assert encode_exactly(text, charset) is None
