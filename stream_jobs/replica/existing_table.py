"""A table that exists at the target, and whether it can hold every value of a mirror."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from connector.contract import INTEGER_TYPES
from stream_jobs.replica.statements import text_literal
from stream_jobs.schema.column_types import type_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from connector.contract import SchemaColumn
    from stream_jobs.replica.statements import TableName
    from stream_jobs.replica.target import Target

# Types of the target by those of a mirror; of others, the name must be the same.
_TEXTS: Final = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
_BLOBS: Final = ("varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_GEOMETRIES: Final = (
    "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
    "geometrycollection", "geomcollection",
)  # fmt: skip
_OTHERS: Final[Mapping[str, Sequence[str]]] = {
    "float": ("float", "double"),
    "char": _TEXTS,
    "varchar": _TEXTS[1:],
    "text": _TEXTS[1:],
    "enum": ("enum", *_TEXTS),
    "set": ("set", *_TEXTS),
    "varbinary": _BLOBS,
    "blob": _BLOBS,
    "binary": ("binary", *_BLOBS),
    "json": ("json", "longtext"),
    "geometry": _GEOMETRIES,
}
_FRACTIONS: Final = frozenset({"datetime", "timestamp", "time"})


@dataclass(frozen=True, slots=True)
class ExistingTable:
    """What the target says of a table."""

    # As information_schema.COLUMNS, by name in lower case.
    columns: Mapping[str, Mapping[str, Any]]
    key: Sequence[str]
    engine: str

    @classmethod
    def look(cls, target: Target, name: TableName) -> Self | None:
        """Return a table; None if there is none."""
        where = (
            f"WHERE TABLE_SCHEMA = {text_literal(name.database)} "
            f"AND TABLE_NAME = {text_literal(name.table)}"
        )
        tables = target.query(
            f"SELECT ENGINE AS engine FROM information_schema.TABLES {where}", name
        )
        if not tables:
            return None
        rows = target.query(
            "SELECT COLUMN_NAME AS name, DATA_TYPE AS type, NUMERIC_SCALE AS scale, "
            "DATETIME_PRECISION AS fraction, CHARACTER_OCTET_LENGTH AS length, "
            "IS_NULLABLE AS nullable, COLUMN_DEFAULT AS initial, "
            "GENERATION_EXPRESSION AS expression "
            f"FROM information_schema.COLUMNS {where} ORDER BY ORDINAL_POSITION",
            name,
        )
        key = target.query(
            "SELECT COLUMN_NAME AS name FROM information_schema.STATISTICS "
            f"{where} AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX",
            name,
        )
        return cls(
            {str(row["name"]).lower(): row for row in rows},
            [str(row["name"]) for row in key],
            str(tables[0]["engine"]),
        )

    @property
    def lower_key(self) -> list[str]:
        """The names of the key's columns, in lower case."""
        return [name.lower() for name in self.key]

    @property
    def generated(self) -> frozenset[str]:
        """The names of columns that the target computes, in lower case."""
        return frozenset(name for name, row in self.columns.items() if row["expression"])

    def problems(self, columns: Sequence[SchemaColumn]) -> list[str]:
        """Return why the table cannot hold the rows of a mirror."""
        found = []
        if self.engine.lower() != "innodb":
            found.append(f"its engine is {self.engine}, and transactions need InnoDB")
        keyed = sorted((column for column in columns if column["key"]), key=lambda c: c["key"])
        key = [column["name"] for column in keyed]
        if self.lower_key != [name.lower() for name in key]:
            found.append(f"its primary key is ({', '.join(self.key)}), not ({', '.join(key)})")
        for column in columns:
            row = self.columns.get(column["name"].lower())
            if row is None:
                found.append(f"it has no column {column['name']}")
            elif not row["expression"] and not _holds(row, column):
                found.append(
                    f"{column['name']}: it is {_spelled(row)}, and the mirror has "
                    f"{type_text(column)}"
                )
        return found


def _holds(row: Mapping[str, Any], column: SchemaColumn) -> bool:
    """Return whether a column holds every value, as far as strict mode would not notice."""
    kind, own = column["type"], str(row["type"]).lower()
    if kind in INTEGER_TYPES:
        return own in INTEGER_TYPES
    if own not in _OTHERS.get(kind, (kind,)):
        return False
    if kind == "decimal":
        return int(row["scale"]) >= column["scale"]
    if kind in _FRACTIONS:
        return int(row["fraction"] or 0) >= column.get("fraction", 0)
    if own == "binary":
        return int(row["length"]) == column["length"]
    return True


def _spelled(row: Mapping[str, Any]) -> str:
    if row["scale"] is not None and row["type"] == "decimal":
        return f"decimal with {row['scale']} decimals"
    if row["fraction"] is not None:
        return f"{row['type']}({row['fraction']})"
    if row["type"] == "binary":
        return f"binary({row['length']})"
    return str(row["type"])
