"""Texts that are masked, cut or hashed; `tests/debezium` compares them with Debezium's."""

from __future__ import annotations

import hashlib

import pytest

from connector.stream.envelope.schemas.column_masks import (
    TextHash,
    TextMask,
    TextTruncation,
    java_serialized,
    transformed_json,
)


def test_a_mask_hides_null_too() -> None:
    mask = TextMask(3)
    assert mask.text("secret") == "***"
    assert mask.null == b'"***"'
    assert transformed_json(b"null", mask, escapes=False) == b'"***"'


@pytest.mark.parametrize(
    ("length", "text"), [(0, ""), (2, "aé"), (3, "aé€"), (4, "aé€"), (5, "aé€😀"), (9, "aé€😀b")]
)
def test_the_beginning_of_a_text_has_no_half_of_a_character(length: int, text: str) -> None:
    assert TextTruncation(length).text("aé€😀b") == text


def test_a_hash_is_cut_to_the_length_of_its_column() -> None:
    digits = hashlib.sha256(b"CAFEsecret").hexdigest()
    assert TextHash("sha256", "CAFE", 2, 0).text("secret") == digits
    assert TextHash("sha256", "CAFE", 2, 10).text("secret") == digits[:10]


def test_the_first_version_hashes_javas_serialized_string() -> None:
    digits = hashlib.sha256(b"CAFE" + b"\xac\xed\x00\x05t\x00\x06secret").hexdigest()
    assert TextHash("sha256", "CAFE", 1, 0).text("secret") == digits


def test_java_serializes_a_character_beyond_16_bits_as_its_halves() -> None:
    assert java_serialized("\0é😀") == (
        b"\xac\xed\x00\x05t\x00\x0a\xc0\x80\xc3\xa9\xed\xa0\xbd\xed\xb8\x80"
    )
    assert java_serialized("x" * 65536)[:13] == b"\xac\xed\x00\x05|\0\0\0\0\0\x01\0\0"


def test_null_has_no_hash() -> None:
    assert transformed_json(b"null", TextHash("md5", "", 2, 0), escapes=False) == b"null"


def test_a_cut_text_has_the_escapes_of_its_profile() -> None:
    assert transformed_json('"😀"'.encode(), TextTruncation(9), escapes=False) == '"😀"'.encode()
    assert transformed_json('"😀"'.encode(), TextTruncation(9), escapes=True) == b'"\\uD83D\\uDE00"'
