"""A column of a row's object, and its position in the text that was written last.

The key of a row is copied from these positions, so its columns are encoded once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy_extensions import i64, u8

from connector.codec.json_strings import quoted

if TYPE_CHECKING:
    from librt.strings import BytesWriter

_OPEN: Final = 0x7B
_COMMA: Final = 0x2C
_CLOSE: Final = 0x7D


class RowMember:
    """A column of the JSON object."""

    __slots__ = ("end", "name", "start")

    def __init__(self, index: int, name: str) -> None:
        """Describe the column `name`, number `index` of the object, from 0."""
        self.name = (b"," if index else b"{") + quoted(name) + b":"
        # The bounds of the member in the latest text, without the bytes before its value.
        self.start: i64 = 0
        self.end: i64 = 0


def put_key(key: BytesWriter, members: list[RowMember], row: BytesWriter) -> None:
    """Append to `key` a JSON object of `members`, copied from `row`; both may be the same."""
    before: i64 = _OPEN
    for member in members:
        key.append(u8(before))
        at = member.start
        end = member.end
        while at < end:
            key.append(row[at])
            at += 1
        before = _COMMA
    key.append(u8(_CLOSE))
