from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError


def test_integers_are_little_endian() -> None:
    reader = PayloadReader(bytes(range(1, 25)))
    assert reader.read_uint8() == 0x01
    assert reader.read_uint16() == 0x0302
    assert reader.read_uint32() == 0x07060504
    assert reader.read_uint48() == 0x0D0C0B0A0908
    assert reader.read_uint64() == 0x1514131211100F0E
    assert reader.read_uint(3) == 0x181716
    assert reader.remaining == 0


def test_a_signed_integer_has_its_sign_in_the_last_byte() -> None:
    assert PayloadReader(b"\xff\xff\x7f").read_int(3) == 8388607
    assert PayloadReader(b"\x00\x00\x80").read_int(3) == -8388608


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x00", 0),
        (b"\xfa", 250),
        (b"\xfc\xfb\x00", 251),
        (b"\xfc\xff\xff", 65535),
        (b"\xfd\x00\x00\x01", 65536),
        (b"\xfe\x00\x00\x00\x01\x00\x00\x00\x00", 1 << 24),
        (b"\xfe" + b"\xff" * 8, 2**64 - 1),
    ],
)
def test_a_length_encoded_integer_says_its_length_first(data: bytes, value: int) -> None:
    reader = PayloadReader(data)
    assert (reader.read_lenenc(), reader.remaining) == (value, 0)


@pytest.mark.parametrize("first", [0xFB, 0xFF])
def test_null_and_the_reserved_byte_are_no_length_encoded_integers(first: int) -> None:
    reader = PayloadReader(bytes([0, first, 1, 2]), 1)
    with pytest.raises(DecodeError) as caught:
        reader.read_lenenc()
    assert caught.value.text == (
        f"{first:#04x} at offset 1 does not start a length-encoded integer"
    )
    assert reader.offset == 1


@pytest.mark.parametrize("data", [b"", b"\xfc\x01", b"\xfd\x01\x02", b"\xfe\x01\x02\x03\x04"])
def test_a_length_encoded_integer_that_is_cut_leaves_the_cursor(data: bytes) -> None:
    reader = PayloadReader(data)
    with pytest.raises(TruncatedPayload):
        reader.read_lenenc()
    assert reader.offset == 0


def test_bytes_are_read_up_to_the_end_given() -> None:
    reader = PayloadReader(b"abcdef", 1, 4)
    assert reader.read_bytes(1) == b"b"
    assert reader.read_rest() == b"cd"
    assert reader.read_rest() == b""


def test_reading_beyond_the_end_says_what_is_missing_where() -> None:
    reader = PayloadReader(b"abcdef", 2, 5)
    with pytest.raises(TruncatedPayload) as caught:
        reader.read_uint32()
    assert caught.value.text == "need 4 bytes at offset 2, but the payload ends at 5"
    assert (caught.value.needed, caught.value.offset, caught.value.end) == (4, 2, 5)
    assert reader.offset == 2


def test_a_negative_length_is_not_followed_backwards() -> None:
    reader = PayloadReader(b"abc", 2)
    with pytest.raises(TruncatedPayload):
        reader.skip(-1)
    assert reader.offset == 2


def test_length_encoded_bytes_that_are_cut_leave_the_cursor() -> None:
    reader = PayloadReader(b"\x03ab")
    with pytest.raises(TruncatedPayload) as caught:
        reader.read_lenenc_bytes()
    assert caught.value.text == "need 3 bytes at offset 1, but the payload ends at 3"
    assert reader.offset == 0
    assert PayloadReader(b"\x02ab").read_lenenc_bytes() == b"ab"


def test_a_length_of_more_bits_than_a_native_number_has_is_one_that_cannot_be() -> None:
    reader = PayloadReader(b"\xfe" + b"\xff" * 8)
    with pytest.raises(TruncatedPayload) as caught:
        reader.read_lenenc_bytes()
    assert caught.value.text == (
        "need 18446744073709551615 bytes at offset 9, but the payload ends at 9"
    )
    with pytest.raises(TruncatedPayload):
        reader.skip(1 << 63)
    assert reader.offset == 0


@given(st.binary(max_size=20), st.integers(0, 30))
def test_a_read_returns_what_was_asked_for_or_moves_nothing(data: bytes, length: int) -> None:
    reader = PayloadReader(data)
    try:
        taken = reader.read_bytes(length)
    except TruncatedPayload:
        assert (reader.offset, length > len(data)) == (0, True)
    else:
        assert (taken, reader.offset) == (data[:length], length)
