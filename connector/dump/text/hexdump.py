"""The bytes of an event become the lines of `mysqlbinlog --hexdump`: the header, then the body.

::

    # Position  Timestamp   Type   Source ID        Size      Source Pos    Flags
    # 00000004 aa ea 2d 5c   0f   01 00 00 00   77 00 00 00   7b 00 00 00   01 00
    # 00000017 04 00 35 2e 37 2e 32 34  2d 6c 6f 67 00 00 00 00 |..5.7.24-log....|

https://dev.mysql.com/doc/refman/8.4/en/mysqlbinlog-hexdump.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROW = 16
_HALF = 8
_HEADER_FIELDS = ((0, 4), (4, 5), (5, 9), (9, 13), (13, 17), (17, 19))
_HEADER_NAMES = "# Position  Timestamp   Type   Source ID        Size"
_HEADER_NAMES_V3 = "      Source Pos    Flags"
_FIELDS_V1 = 4

# Bytes as text; bytes that are not printable ASCII become dots.
_ASCII = range(0x20, 0x7F)
_PRINTABLE = bytes(code if code in _ASCII else ord(".") for code in range(256))


def hexdump(data: bytes, position: int, header_length: int) -> Iterator[str]:
    """Yield the lines of an event that starts at `position`; its header has 13 or more bytes."""
    fields = _HEADER_FIELDS if header_length >= _HEADER_FIELDS[-1][1] else _HEADER_FIELDS[:4]
    yield _HEADER_NAMES + (_HEADER_NAMES_V3 if len(fields) > _FIELDS_V1 else "")
    header = "   ".join(data[start:end].hex(" ") for start, end in fields)
    yield f"# {position:08x} {header}"
    for offset in range(fields[-1][1], len(data), _ROW):
        row = data[offset : offset + _ROW]
        octets = f"{row[:_HALF].hex(' '):<23}  {row[_HALF:].hex(' '):<23}"
        text = row.translate(_PRINTABLE).decode("ascii")
        yield f"# {position + offset:08x} {octets} |{text}|"
