"""Values between two keys, from which the parts of a table come."""

from __future__ import annotations

import pytest

from connector.binlog.character_sets import character_decoder, encode_exactly
from connector.stream.snapshot.key_guesses import guesses
from connector.stream.source.selected_table import KeyColumn

LOW, HIGH = "00000000", "00000100"


def column(kind: str, packed: str = "", charset: str = "utf8mb4") -> KeyColumn:
    return KeyColumn(
        "k", "`k`", ordered=True, type=kind, charset=charset, packed_type=packed, declared=""
    )


@pytest.mark.parametrize(
    ("kind", "first", "last", "guess"),
    [
        ("int", b"1", b"100", "51"),
        ("bigint", b"-9223372036854775808", b"9223372036854775807", "0"),
        ("bigint", b"0", b"18446744073709551615", "9223372036854775808"),
        ("year", b"1901", b"2155", "2028"),
        ("enum", b"1", b"9", "5"),
        ("set", b"0", b"15", "8"),
        ("decimal", b"-1.00", b"2.01", "0.50"),
        ("decimal", b"1" * 65, b"1" * 64 + b"5", "1" * 64 + "3"),
        ("date", b"2026-01-01", b"2026-01-05", "'2026-01-03'"),
        # No calendar has a day, a month or a year 0.
        ("date", b"0000-00-00", b"2026-01-01", "'1013-07-03'"),
        ("date", b"2020-02-30", b"2020-03-03", "'2020-03-01'"),
        ("datetime", b"2026-01-01 00:00:00", b"2026-01-02 00:00:00", "'2026-01-01 12:00:00'"),
        ("datetime", b"0000-00-00 00:00:00", b"0001-01-03 00:00:00", "'0001-01-02 00:00:00'"),
        (
            "datetime",
            b"2026-01-01 00:00:00.000",
            b"2026-01-01 00:00:00.050",
            "'2026-01-01 00:00:00.025'",
        ),
        ("time", b"00:00:00", b"12:00:30", "'06:00:15'"),
        ("time", b"-838:59:59", b"-00:00:01", "'-419:30:00'"),
        ("time", b"-00:00:00.50", b"00:00:00.00", "'-00:00:00.25'"),
        ("float", b"0.5", b"1.5", "1.0e0"),
        ("double", b"-1.7e308", b"1.7e308", "0.0e0"),
        ("bit", b"\x00\x01", b"\x00\xff", "128"),
        ("bit", bytes(8), b"\xff" * 8, "9223372036854775808"),
        ("binary", b"ab\x00\x00", b"ab\xff\xff", "X'61627fff'"),
        ("binary", b"x" * 30 + b"\x00\x00", b"x" * 30 + b"\xff\xff", f"X'{'78' * 30}7fff'"),
        ("varbinary", b"a", b"abc", "X'613131'"),
        ("varchar", b"user1", b"user9", "_utf8mb4 X'7573657235'"),
    ],
)
def test_a_value_between_two_keys(kind: str, first: bytes, last: bytes, guess: str) -> None:
    assert next(guesses(column(kind), "utf8mb4", first, last)) == guess


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        # Cyrillic: the first bytes of both are alike, and half a character is no text.
        ("Д1", "Щ2", ["П", "Д8", "ДT", "Дm"]),
        ("あ", "ん", ["に", "あ8", "あT", "あm"]),
        # Without case and accents.
        ("ä1", "Z2", ["\x9f", "N", "ä8", "äT", "äm"]),
        ("user1", "USER9", ["e", "USER5", "u8", "uT", "um"]),
        # Halves of surrogate pairs are no characters.
        ("\ud000", "\ue100", ["\ue000", "\u7908", "\ud0008", "\ud000T", "\ud000m"]),
        ("a", "ab", ["aA", "A1", "a8", "aT", "am"]),
    ],
)
def test_texts_between_two_others(first: str, last: str, expected: list[str]) -> None:
    for charset, codec in (("utf8mb4", "utf-8"), ("utf16", "utf-16-be")):
        both = first.encode(codec), last.encode(codec)
        found = guesses(column("varchar", charset=charset), charset, *both)
        cells = [bytes.fromhex(guess.split("'")[1]) for guess in found]
        assert [cell.decode(codec) for cell in cells] == expected


def test_a_uuid_between_two_others() -> None:
    low, high = bytes(16), b"\xff" * 16
    assert next(guesses(column("binary", "UUID"), "", low, high)) == (
        f"CAST(X'80{'00' * 15}' AS UUID)"
    )


def test_a_uuid_has_a_middle_of_its_last_part_too() -> None:
    low, high = bytes(16), b"\xff" * 16
    found = list(guesses(column("binary", "UUID"), "", low, high))
    assert found[1] == f"CAST(X'{'00' * 10}80{'00' * 5}' AS UUID)"
    of_one_node = [bytes.fromhex(f"{time}00001000800000112233445566"[:32]) for time in (LOW, HIGH)]
    assert list(guesses(column("binary", "UUID"), "", *of_one_node))[1] == (
        "CAST(X'00000080000010008000001122334455' AS UUID)"
    )


def test_doubles_of_every_size_have_a_middle_of_their_sizes() -> None:
    found = list(guesses(column("double"), "", b"1e-300", b"1e300"))
    assert [float(guess) for guess in found] == pytest.approx([5e299, 1.0], rel=0.5)
    both_signs = list(guesses(column("double"), "", b"-1e10", b"1e10"))
    assert [float(guess) for guess in both_signs] == [0.0, 0.0]
    negative = list(guesses(column("double"), "", b"-1e300", b"-1e-300"))
    assert float(negative[1]) == pytest.approx(-1.0, rel=0.5)


@pytest.mark.parametrize(
    ("charset", "first", "last", "expected"),
    [
        # The middle of the code points is Cyrillic.
        ("latin1", "a1", "€2", ["a8", "aT", "am"]),
        ("koi8r", "Д", "Щ", ["П", "Д8", "ДT", "Дm"]),
        ("sjis", "あ", "ん", ["に", "あ8", "あT", "あm"]),
        ("swe7", "A", "Å", ["A ", "A8", "AT", "Am"]),
        ("ascii", "a", "ab", ["aA", "A1", "a8", "aT", "am"]),
    ],
)
def test_a_text_has_only_characters_of_its_set(
    charset: str, first: str, last: str, expected: list[str]
) -> None:
    both = [encode_exactly(text, charset) for text in (first, last)]
    low, high = (cell for cell in both if cell is not None)
    found = list(guesses(column("varchar", charset=charset), charset, low, high))
    assert all(guess.startswith(f"_{charset} X'") for guess in found)
    texts = [
        character_decoder(charset)(bytes.fromhex(guess[len(charset) + 4 : -1])) for guess in found
    ]
    assert texts == expected


def test_a_type_that_nobody_knows_has_no_middle() -> None:
    assert not list(guesses(column("point"), "", b"a", b"b"))
