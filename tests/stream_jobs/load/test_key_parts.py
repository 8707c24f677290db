"""Values between two keys, from which the parts of a table come."""

from __future__ import annotations

import pytest

from connector.stream.source.selected_table import KeyColumn
from stream_jobs.load.key_parts import guesses


def column(kind: str, packed: str = "") -> KeyColumn:
    return KeyColumn(
        "k", "`k`", ordered=True, type=kind, charset="utf8mb4", packed_type=packed, declared=""
    )


@pytest.mark.parametrize(
    ("kind", "first", "last", "guess"),
    [
        ("int", b"1", b"100", "51"),
        ("bigint", b"-9223372036854775808", b"9223372036854775807", "0"),
        ("bigint", b"0", b"18446744073709551615", "9223372036854775808"),
        ("year", b"1901", b"2155", "2028"),
        ("decimal", b"-1.00", b"2.01", "0.50"),
        ("date", b"2026-01-01", b"2026-01-05", "'2026-01-03'"),
        (
            "datetime",
            b"2026-01-01 00:00:00.000",
            b"2026-01-02 00:00:00.000",
            "'2026-01-01 12:00:00'",
        ),
        ("binary", b"ab\x00\x00", b"ab\xff\xff", "X'61627fff'"),
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
        found = guesses(column("varchar"), charset, *both)
        assert [bytes.fromhex(guess[11:-1]).decode() for guess in found] == expected


def test_a_uuid_between_two_others() -> None:
    low, high = bytes(16), b"\xff" * 16
    assert next(guesses(column("binary", "UUID"), "", low, high)) == (
        f"CAST(X'80{'00' * 7}' AS UUID)"
    )


@pytest.mark.parametrize(("kind", "first"), [("date", b"0000-00-00"), ("time", b"00:00:00")])
def test_some_keys_have_no_middle(kind: str, first: bytes) -> None:
    assert not list(guesses(column(kind), "", first, b"2026-01-01"))
