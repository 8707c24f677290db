"""GEOMETRY: a length as in BLOB, the spatial reference system, Well-Known Binary.

::

    length 1 to 4 bytes │ SRID u32 │ WKB

Coordinates stay in the order in which they are stored, which is x before y whatever the SRID.

https://dev.mysql.com/doc/refman/8.4/en/gis-data-formats.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from connector.binlog.columns.column_reader import ColumnReader
from connector.binlog.columns.strings import require_blob_length
from connector.binlog.columns.values import Geometry
from connector.codec.payload import PayloadReader

if TYPE_CHECKING:
    from mypy_extensions import i64

    from connector.binlog.columns.column import Column
    from connector.binlog.columns.values import Value


def geometry_reader(column: Column) -> GeometryReader:
    """Return what reads a geometry of any kind."""
    return GeometryReader(require_blob_length(column))


@final
class GeometryReader(ColumnReader):
    """A geometry of any kind."""

    __slots__ = ("_prefix",)

    def __init__(self, prefix: i64) -> None:
        """Read values after a length of `prefix` bytes."""
        self._prefix: i64 = prefix

    def read(self, image: PayloadReader) -> Value:
        """Return the SRID and the Well-Known Binary; the latter is not checked."""
        stored = self.read_stored(image)
        return Geometry(srid=stored.read_uint32(), wkb=stored.read_rest())

    def read_stored(self, image: PayloadReader) -> PayloadReader:
        """Return the next value's SRID and WKB, and move past it."""
        return PayloadReader(image.read_bytes(image.read_length(self._prefix)))

    def skip(self, image: PayloadReader) -> None:
        """Skip the length and as many bytes as it says."""
        image.skip(image.read_length(self._prefix))
