from __future__ import annotations

from struct import pack

import pytest

from connector.binlog.events.context import IntvarEvent, RandEvent, UserVarEvent, UserVarType
from connector.binlog.log_errors import TruncatedPayload
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError


def user_var(
    value_type: int, value: bytes, attributes: bytes = b"", *, collation: int = 63
) -> bytes:
    """The body of a USER_VAR_EVENT for @v."""
    return (
        b"\x01\x00\x00\x00v\x00"
        + bytes([value_type])
        + collation.to_bytes(4, "little")
        + len(value).to_bytes(4, "little")
        + value
        + attributes
    )


def decoded(body: bytes) -> UserVarEvent:
    return UserVarEvent.decode(PayloadReader(body))


@pytest.mark.parametrize(
    ("type_code", "name"), [(1, "LAST_INSERT_ID"), (2, "INSERT_ID"), (0, "INVALID_INT")]
)
def test_an_intvar_names_its_variable(type_code: int, name: str) -> None:
    event = IntvarEvent.decode(PayloadReader(bytes([type_code]) + b"\xff" * 8))
    assert (event.type_code, event.name, event.value) == (type_code, name, 2**64 - 1)


@pytest.mark.parametrize("length", range(9))
def test_an_intvar_cut_anywhere_is_an_error(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        IntvarEvent.decode(PayloadReader(bytes(length)))


def test_rand_has_two_seeds() -> None:
    body = (7).to_bytes(8, "little") + (2**64 - 1).to_bytes(8, "little")
    assert RandEvent.decode(PayloadReader(body)) == RandEvent(7, 2**64 - 1)


@pytest.mark.parametrize("length", range(16))
def test_rand_cut_anywhere_is_an_error(length: int) -> None:
    with pytest.raises(TruncatedPayload):
        RandEvent.decode(PayloadReader(bytes(length)))


def test_a_fixed_part_that_no_server_has_yet_is_skipped() -> None:
    body = b"new" + b"\x02" + (5).to_bytes(8, "little")
    assert IntvarEvent.decode(PayloadReader(body), 3) == IntvarEvent(2, 5)


@pytest.mark.parametrize(
    ("body", "value_type", "value", "unsigned"),
    [
        (user_var(0, b"caf\xe9", collation=8), UserVarType.STRING, "café", False),
        (user_var(0, b"caf\xc3\xa9\x00", collation=45), UserVarType.STRING, "café\0", False),
        (user_var(0, b"caf\xe9", collation=45), UserVarType.STRING, b"caf\xe9", False),
        (user_var(0, b"\x00\xff"), UserVarType.STRING, b"\x00\xff", False),
        (user_var(0, b"x", collation=9999), UserVarType.STRING, b"x", False),
        (user_var(0, b"", collation=45), UserVarType.STRING, "", False),
        (user_var(1, pack("<d", 0.1)), UserVarType.REAL, 0.1, False),
        (user_var(2, b"\xff" * 8), UserVarType.INT, -1, False),
        (user_var(2, b"\xff" * 8, b"\x00"), UserVarType.INT, -1, False),
        (user_var(2, b"\xff" * 8, b"\x01"), UserVarType.INT, 2**64 - 1, True),
        (user_var(4, b"\x03\x02\x81\x19"), UserVarType.DECIMAL, "1.25", False),
        (user_var(4, b"\x03\x02\x7e\xe6"), UserVarType.DECIMAL, "-1.25", False),
        # 36 digits before the point, the first ones zeros: longer than any column.
        (
            user_var(4, bytes.fromhex(f"421e8000007b1b3a0c14149aa4350dfb38d2075bca{'0' * 22}")),
            UserVarType.DECIMAL,
            f"123456789012345678901234567890.123456{'0' * 24}",
            False,
        ),
    ],
)
def test_a_user_variable_has_a_value_of_its_type(
    body: bytes, value_type: UserVarType, value: object, unsigned: bool
) -> None:
    event = decoded(body)
    assert (event.name, event.type) == ("v", value_type)
    assert (event.value, event.unsigned) == (value, unsigned)
    assert event.data_type is None


def test_a_user_variable_may_be_null() -> None:
    event = decoded(b"\x01\x00\x00\x00v\x01")
    assert (event.value, event.raw_value, event.type) == (None, None, UserVarType.STRING)
    assert (event.collation, event.raw_attributes) == (63, b"")


def test_mariadb_names_the_data_type_of_a_user_variable() -> None:
    event = decoded(user_var(0, b"x", b"\x02\x05inet6", collation=8))
    assert (event.data_type, event.value, event.unsigned) == ("inet6", "x", False)


def test_a_user_variable_has_the_character_set_that_its_server_numbers_so() -> None:
    body = user_var(0, "Zoë".encode(), collation=1069)
    assert decoded(body).value == "Zoë".encode()
    assert UserVarEvent.decode(PayloadReader(body), mariadb=True).value == "Zoë"


def test_an_unknown_attribute_ends_the_reading_and_is_kept() -> None:
    event = decoded(user_var(2, b"\x07" + bytes(7), b"\x01\x63\x00"))
    assert (event.value, event.unsigned, event.raw_attributes) == (7, True, b"\x01\x63\x00")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\x01\x00\x00\x00\xff\x01", "the name of the user variable is not UTF-8"),
        (user_var(3, b""), "a user variable has no value of type 3"),
        (user_var(5, b""), "a user variable has no value of type 5"),
        (user_var(2, bytes(7)), "need 8 bytes at offset 0, but the payload ends at 7"),
        (user_var(2, bytes(9)), "1 bytes are left over after the value of the user variable"),
        (user_var(4, b"\x03\x04\x81\x19"), "DECIMAL(3,4) does not exist"),
        (user_var(1, pack("<d", float("inf"))), "a floating-point number is not finite"),
        (user_var(0, b"x", b"\x02\x05ine"), "need 5 bytes at offset 2, but the payload ends at 5"),
    ],
)
def test_a_broken_user_variable_is_an_error(body: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decoded(body)
    assert caught.value.text == message


@pytest.mark.parametrize("length", range(23))
def test_a_user_variable_cut_anywhere_is_an_error(length: int) -> None:
    body = user_var(2, bytes(8))
    assert len(body) == 23
    with pytest.raises(TruncatedPayload):
        decoded(body[:length])


def test_lengths_that_lie_allocate_nothing() -> None:
    with pytest.raises(TruncatedPayload):
        decoded(b"\xff\xff\xff\xff")
    with pytest.raises(TruncatedPayload):
        decoded(b"\x01\x00\x00\x00v\x00\x00" + bytes(4) + b"\xff\xff\xff\xff")
