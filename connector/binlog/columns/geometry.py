"""GEOMETRY: a length as in BLOB, the spatial reference system, Well-Known Binary.

::

    length 1 to 4 bytes │ SRID u32 │ WKB

Coordinates stay in the order in which they are stored, which is x before y whatever the SRID.

https://dev.mysql.com/doc/refman/8.4/en/gis-data-formats.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from connector.binlog.columns.strings import require_blob_length
from connector.binlog.values import Geometry
from connector.payload import PayloadReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from connector.binlog.column import Column


def geometry_reader(column: Column) -> Callable[[PayloadReader], Geometry]:
    """Return the function that reads a geometry of any kind."""
    prefix = require_blob_length(column)

    def read(image: PayloadReader) -> Geometry:
        stored = PayloadReader(image.read_bytes(image.read_uint(prefix)))
        return Geometry(srid=stored.read_uint32(), wkb=stored.read_rest())

    return read
