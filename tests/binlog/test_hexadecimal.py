"""Numbers of 32 bits have eight digits."""

from __future__ import annotations

import pytest
from librt.strings import BytesWriter

from connector.binlog.text_writer import put_hex_32


@pytest.mark.parametrize("number", [0, 9, 10, 0x7FFF_FFFF, 0x0123_89AB, 0xFFFF_FFFF])
def test_the_digits_are_those_of_python(number: int) -> None:
    out = BytesWriter()
    put_hex_32(out, number)
    assert out.getvalue().decode() == f"{number:08x}"
