"""The exact types of columns whose type in a column list is a family: texts, bytes, geometries.

The log has them in the metadata of a table map, and `information_schema` as `data_type`. Both give
the same words, those of SHOW CREATE TABLE on MySQL 8.0 and later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from connector.binlog.columns.column import Column

# By the bytes that count the length of a value.
_SIZES: Final = ("", "tiny", "", "medium", "long")
# By the number in a table map.
_GEOMETRIES: Final = (
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geomcollection",
)
_OTHER_NAMES: Final = {"geometrycollection": "geomcollection"}
_FAMILIES: Final = frozenset({"text", "blob", "geometry"})


def logged_kind(column: Column) -> str:
    """Return the exact type of a column of a table map, in lower case."""
    family = column.type_name
    if family in ("text", "blob"):
        size = column.metadata
        return f"{_SIZES[size]}{family}" if size < len(_SIZES) else family
    if family == "geometry":
        number = column.geometry_type or 0
        return _GEOMETRIES[number] if number < len(_GEOMETRIES) else family
    if family == "vector" and column.dimension is not None:
        return f"vector({column.dimension})"
    return family


def declared_kind(kind: str, definition: str, family: str) -> str:
    """Return the same from `data_type` and `column_type`; `family` is the type in column lists."""
    if family == "vector":
        return definition
    return _OTHER_NAMES.get(kind, kind) if family in _FAMILIES else family
