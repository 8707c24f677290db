"""Columns of a mirror as column definitions of MySQL and MariaDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from connector.codec.sql_text import quoted_identifier
from connector.contract import INTEGER_TYPES
from stream_jobs.replica.statements import text_literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from connector.contract import SchemaColumn
    from stream_jobs.replica.column_list import ColumnList
    from stream_jobs.replica.statements import TableName
    from stream_jobs.replica.target import Target

_DATES: Final = frozenset({"date", "datetime", "timestamp"})
_TEXTS: Final = frozenset({"char", "varchar", "text", "enum", "set"})
# A key needs a length of such a column; more bytes than any index of InnoDB had at the source.
_KEY_CHARACTERS: Final = 255
_VARCHAR_BYTES: Final = 65_532


class CharacterSets:
    """The character sets and collations that the target has."""

    def __init__(
        self, widths: Mapping[str, int], collations: Mapping[int, tuple[str, str]], *, json: bool
    ) -> None:
        """Take bytes of a character by set, and by id the name and the set of each collation."""
        self.widths = widths
        self.collations = collations
        self.has_json = json

    @classmethod
    def of(cls, target: Target) -> Self:
        """Ask the target."""
        sets = target.query(
            "SELECT CHARACTER_SET_NAME AS name, MAXLEN AS width "
            "FROM information_schema.CHARACTER_SETS"
        )
        found = target.query("SHOW COLLATION")
        collations = {
            int(str(row["Id"])): (str(row["Collation"]), str(row["Charset"]))
            for row in found
            if row["Id"] is not None
        }
        widths = {str(row["name"]): int(str(row["width"])) for row in sets}
        return cls(widths, collations, json=not target.is_mariadb)

    def clause(self, column: SchemaColumn) -> str:
        """Return the character set and the collation of a column.

        The id of a collation may mean another one at a server of the other product. A key then has
        the binary one, so that no two rows become equal.
        """
        name = self.named(column)
        clause = f" CHARACTER SET {name}"
        collation, of_set = self.collations.get(column.get("collation", 0), ("", ""))
        if of_set == name:
            return f"{clause} COLLATE {collation}"
        return f"{clause} COLLATE {name}_bin" if column["key"] else clause

    def named(self, column: SchemaColumn) -> str:
        """Return the character set of a column at the target."""
        name = column.get("charset", "utf8mb4")
        for known in (name, {"utf8": "utf8mb3", "utf8mb3": "utf8"}.get(name, name)):
            if known in self.widths:
                return known
        return "utf8mb4"


def create_table(name: TableName, columns: ColumnList, sets: CharacterSets) -> str:
    """Return the statement that creates a table."""
    lines = [definition(column, sets) for column in columns.columns]
    lines.append(primary_key(columns))
    return f"CREATE TABLE IF NOT EXISTS {name.sql} ({', '.join(lines)}) ENGINE=InnoDB"


def primary_key(columns: ColumnList) -> str:
    """Return the definition of the primary key."""
    return f"PRIMARY KEY ({', '.join(_key_part(column) for column in columns.key)})"


def definition(column: SchemaColumn, sets: CharacterSets) -> str:
    """Return the name, the type and NULL or NOT NULL of a column."""
    # With zero_dates = "null", a mirror has NULL in columns that are NOT NULL at the source.
    is_null = not column["key"] and (column["nullable"] or column["type"] in _DATES)
    text = f"{quoted_identifier(column['name'])} {_type(column, sets)}"
    return f"{text} {'NULL' if is_null else 'NOT NULL'}"


def _type(column: SchemaColumn, sets: CharacterSets) -> str:
    kind = column["type"]
    sign = " unsigned" if column.get("unsigned") else ""
    if kind in INTEGER_TYPES or kind in ("float", "double"):
        return f"{kind}{sign}"
    if kind == "decimal":
        return f"decimal({column['precision']},{column['scale']}){sign}"
    if kind in ("datetime", "timestamp", "time"):
        return f"{kind}({column.get('fraction', 0)})"
    if kind in ("bit", "binary", "varbinary"):
        return f"{kind}({column['length']})"
    if kind in _TEXTS:
        return f"{_text_type(column, sets)}{sets.clause(column)}"
    if kind == "json":
        return "json" if sets.has_json else "longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    return {"blob": "longblob"}.get(kind, kind)


def _text_type(column: SchemaColumn, sets: CharacterSets) -> str:
    kind = column["type"]
    if kind in ("enum", "set"):
        return f"{kind}({', '.join(text_literal(label) for label in column.get('labels', ()))})"
    length = column.get("length")
    if kind == "text" or length is None:
        return "longtext"
    # The length is in bytes of the source's character set.
    at_source = sets.widths.get(column.get("charset", ""), 1)
    at_target = sets.widths[sets.named(column)]
    characters = length // at_source
    too_long = characters * at_target > _VARCHAR_BYTES
    return "longtext" if too_long and kind == "varchar" else f"{kind}({characters})"


def _key_part(column: SchemaColumn) -> str:
    is_long = column["type"] in ("text", "blob") or (
        column["type"] in ("char", "varchar") and column.get("length") is None
    )
    length = f"({_KEY_CHARACTERS})" if is_long else ""
    return f"{quoted_identifier(column['name'])}{length}"
