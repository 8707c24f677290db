"""The forms of cells that are more than a quoted string, made from their parts.

Labels are JSON strings that were quoted once for a column. The forms are those of `values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.base64 import b64encode
from mypy_extensions import i64, u8

from connector.codec.digits import put_uint
from connector.codec.json_strings import QUOTE

if TYPE_CHECKING:
    from librt.strings import BytesWriter

_COMMA: Final = 0x2C
_CLOSE: Final = 0x7D


def put_label(out: BytesWriter, labels: list[bytes], index: i64) -> None:
    """Append the label of an ENUM, or an object with an index that has no label."""
    if index < len(labels):
        out.write(labels[index])
        return
    out.write(b'{"index":')
    put_uint(out, index)
    out.append(u8(_CLOSE))


def put_labels(out: BytesWriter, labels: list[bytes], mask: int) -> None:
    """Append the labels of a SET as one string, with commas between them.

    `labels` have no quotes; bits of `mask` without a label are ignored.
    """
    out.append(u8(QUOTE))
    several = False
    for label in labels:
        if mask & 1:
            if several:
                out.append(u8(_COMMA))
            out.write(label)
            several = True
        mask >>= 1
    out.append(u8(QUOTE))


def put_geometry(out: BytesWriter, wkb: bytes, srid: i64) -> None:
    """Append an object with the SRID and the base64 of the WKB."""
    out.write(b'{"wkb":"')
    out.write(b64encode(wkb))
    out.write(b'","srid":')
    put_uint(out, srid)
    out.append(u8(_CLOSE))
