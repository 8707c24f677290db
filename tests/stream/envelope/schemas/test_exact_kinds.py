"""The exact types of columns, from a table map and from `information_schema`."""

from __future__ import annotations

import pytest

from connector.binlog.character_sets import BINARY_COLLATION
from connector.binlog.columns.column import Column, ColumnType
from connector.stream.envelope.schemas.table_schema import declared_kind, logged_kind

_UTF8MB4 = 255


@pytest.mark.parametrize("size", ["tiny", "", "medium", "long"])
@pytest.mark.parametrize(("family", "collation"), [("text", _UTF8MB4), ("blob", BINARY_COLLATION)])
def test_the_bytes_of_a_length_tell_the_size(size: str, family: str, collation: int) -> None:
    metadata = ["tiny", "", "medium", "long"].index(size) + 1
    column = Column(ColumnType.BLOB, metadata, nullable=True, collation=collation)
    assert logged_kind(column) == f"{size}{family}"
    assert declared_kind(f"{size}{family}", f"{size}{family}", family) == f"{size}{family}"


def test_a_geometry_has_the_name_that_mysql_prints() -> None:
    kinds = [
        logged_kind(Column(ColumnType.GEOMETRY, 4, nullable=True, geometry_type=number))
        for number in (None, 1, 7, 99)
    ]
    assert kinds == ["geometry", "point", "geomcollection", "geometry"]
    # MariaDB, and MySQL before 8.0, have another name.
    assert declared_kind("geometrycollection", "geometrycollection", "geometry") == kinds[2]


def test_other_types_are_their_families() -> None:
    assert logged_kind(Column(ColumnType.LONG, 0, nullable=True)) == "int"
    assert declared_kind("int", "int unsigned", "int") == "int"
    vector = Column(ColumnType.VECTOR, 4, nullable=True, dimension=3)
    assert logged_kind(vector) == declared_kind("vector", "vector(3)", "vector") == "vector(3)"
    # MariaDB logs it as bytes.
    assert declared_kind("vector", "vector(3)", "varbinary") == "varbinary"
