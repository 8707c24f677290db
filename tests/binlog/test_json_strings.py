"""Text inside JSON strings, compared with the standard library."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from connector.binlog.text_writer import ONCE, TWICE, put_utf8, put_written, quoted


def put(data: bytes, escapes: list[bytes] = ONCE) -> bytes | None:
    """Return the string of `data`, which lies between other bytes, or None."""
    out = BytesWriter()
    out.append(0x22)
    valid = put_utf8(out, b"\xe0\xa0" + data + b"\x80\x80", 2, 2 + len(data), escapes)
    out.append(0x22)
    return out.getvalue() if valid else None


def decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


@given(st.text())
@example("".join(map(chr, range(256))))
@example("\ud7ff\ue000\uffff\U00010000\U0010ffff")
def test_text_is_escaped_as_the_standard_library_does(text: str) -> None:
    assert put(text.encode()) == quoted(text)


@given(st.text())
@example("".join(map(chr, range(256))))
def test_text_of_a_string_in_a_string_is_escaped_twice(text: str) -> None:
    once = quoted(text)[1:-1].decode()
    assert put(text.encode(), TWICE) == quoted(once)


@given(st.text())
@example('{"a": "\\"\\n\\u001f"}')
def test_written_text_is_escaped_alike(text: str) -> None:
    written, out = BytesWriter(), BytesWriter()
    written.write(text.encode())
    put_written(out, written)
    assert out.getvalue() == quoted(text)[1:-1]


@given(st.binary())
def test_bytes_are_text_only_where_they_are_utf_8(data: bytes) -> None:
    text = decoded(data)
    assert put(data) == (None if text is None else quoted(text))


@pytest.mark.parametrize("first", range(0x80, 0x100))
def test_every_start_of_a_character_is_told_from_what_is_none(first: int) -> None:
    for second in (0x00, 0x22, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF):
        for rest in (b"", b"\x80", b"\xbf\x80", b"\x80\xbf\x41", b"\x7f\x80", b"\x80\xc0"):
            data = bytes((first, second)) + rest
            text = decoded(data)
            assert put(data) == (None if text is None else quoted(text))


@pytest.mark.parametrize("byte", range(0x80))
def test_every_character_is_told_wherever_it_stands(byte: int) -> None:
    for place in range(20):
        data = b"~" * place + bytes((byte,)) + b" " * (20 - place)
        assert put(data) == quoted(data.decode())
