"""The columns at the target: CREATE TABLE, and a change of columns as one ALTER TABLE.

Each column of the list has the id by which Delta knows it, so a renamed column is recognised.

MySQL commits at each DDL statement, so ALTER TABLE runs before the transaction of the cut. It is
made of what the table lacks now: if the process dies in between, the next one finds nothing left
to do.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from connector.binlog.sql_text import quoted_identifier
from connector.foundation.contract import CHARACTER_BYTES, INTEGER_TYPES, SchemaColumn
from stream_jobs.delta.snapshot import Snapshot
from stream_jobs.replica.statements import TableName, text_literal
from stream_jobs.replica.target import TargetSession, TargetTable
from stream_jobs.source.table_schema import OWN_PREFIX
from stream_jobs.tables.mirror_metadata import COLUMNS_PROPERTY

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
    def of(cls, target: TargetSession) -> Self:
        """Ask the target."""
        sets = target.query(
            "SELECT CHARACTER_SET_NAME AS name, MAXLEN AS width "
            "FROM information_schema.CHARACTER_SETS"
        )
        rows = target.query("SHOW COLLATION")
        collations = {
            int(str(row["Id"])): (str(row["Collation"]), str(row["Charset"]))
            for row in rows
            if row["Id"] is not None
        }
        widths = {str(row["name"]): int(str(row["width"])) for row in sets}
        return cls(widths, collations, json=not target.is_mariadb)

    def clause(self, column: SchemaColumn) -> str:
        """Return the character set and the collation of a column.

        The id of a collation may mean another one at a server of the other product. A key then has
        a binary one, so that no two rows become equal: one that compares trailing spaces, if the
        target has it.
        """
        name = self.named(column)
        clause = f" CHARACTER SET {name}"
        collation, of_set = self.collations.get(column.get("collation", 0), ("", ""))
        if of_set == name:
            return f"{clause} COLLATE {collation}"
        if not column["key"]:
            return clause
        known = {own for own, _ in self.collations.values()}
        no_pad = [own for own in (f"{name}_nopad_bin", f"{name}_0900_bin") if own in known]
        return f"{clause} COLLATE {[*no_pad, f'{name}_bin'][0]}"

    def named(self, column: SchemaColumn) -> str:
        """Return the character set of a column at the target."""
        name = column.get("charset", "utf8mb4")
        for known in (name, {"utf8": "utf8mb3", "utf8mb3": "utf8"}.get(name, name)):
            if known in self.widths:
                return known
        return "utf8mb4"


def create_table(name: TableName, columns: "ColumnList", sets: CharacterSets) -> str:
    """Return the statement that creates a table."""
    lines = [definition(column, sets) for column in columns.columns]
    lines.append(primary_key(columns))
    return f"CREATE TABLE IF NOT EXISTS {name.sql} ({', '.join(lines)}) ENGINE=InnoDB"


def primary_key(columns: "ColumnList") -> str:
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
    # The length is in bytes of the source's character set, which the target may lack.
    characters = length // CHARACTER_BYTES.get(column.get("charset", ""), 1)
    too_long = characters * sets.widths[sets.named(column)] > _VARCHAR_BYTES
    return "longtext" if too_long and kind == "varchar" else f"{kind}({characters})"


def _key_part(column: SchemaColumn) -> str:
    is_long = column["type"] in ("text", "blob") or (
        column["type"] in ("char", "varchar") and column.get("length") is None
    )
    length = f"({_KEY_CHARACTERS})" if is_long else ""
    return f"{quoted_identifier(column['name'])}{length}"


# Types that MODIFY changes without a wrong value.
_FAMILIES = (frozenset(INTEGER_TYPES), frozenset({"char", "varchar", "text"}))


class TableAlteration(NamedTuple):
    """What the table needs to have other columns."""

    sql: str  # empty: nothing
    # Whether a column lost its values, so that the whole table must be loaded.
    must_load: bool
    has_other_key: bool = False


def alteration(
    name: TableName,
    old: "ColumnList",
    new: "ColumnList",
    existing: TargetTable,
    sets: CharacterSets,
) -> TableAlteration:
    """Return how a table with the columns `old` of a mirror gets the columns `new`."""
    clauses, must_load = [], False
    before = dict(zip(old.ids, old.columns, strict=True))
    by_name = {column["name"]: column for column in old.columns}
    here = set(existing.columns) - existing.generated
    last = ""
    for number, column in zip(new.ids, new.columns, strict=True):
        own = column["name"].lower()
        text, place = (
            definition(column, sets),
            f" AFTER {quoted_identifier(last)}" if last else " FIRST",
        )
        last = column["name"]
        former = before.get(number)
        if own in existing.generated:
            continue
        if former is not None and former["name"].lower() in here - {own} and own not in here:
            clauses.append(f"CHANGE COLUMN {quoted_identifier(former['name'])} {text}")
            here.discard(former["name"].lower())
            continue
        if own not in here:
            clauses.append(f"ADD COLUMN {text}{place}")
            continue
        same = by_name.get(column["name"])
        must_load |= same is not None and former is not same
        if same is None or definition(same, sets) == text:
            continue
        if column["key"] or _is_kept(same, column):
            clauses.append(f"MODIFY COLUMN {text}")
        else:
            clauses += [f"DROP COLUMN {quoted_identifier(last)}", f"ADD COLUMN {text}{place}"]
            must_load = True
    kept = {column["name"].lower() for column in new.columns}
    dropped = [column["name"] for column in old.columns if column["name"].lower() not in kept]
    clauses += [
        f"DROP COLUMN {quoted_identifier(name)}" for name in dropped if name.lower() in here
    ]
    new_key = [column["name"].lower() for column in new.key]
    # Also if a process that died has changed the key already.
    must_load |= new_key != [column["name"].lower() for column in old.key]
    has_other_key = existing.lower_key != new_key
    if has_other_key:
        clauses += ["DROP PRIMARY KEY"] if existing.key else []
        clauses.append(f"ADD {primary_key(new)}")
    sql = f"ALTER TABLE {name.sql} {', '.join(clauses)}" if clauses else ""
    return TableAlteration(sql, must_load or has_other_key, has_other_key)


def _is_kept(old: SchemaColumn, new: SchemaColumn) -> bool:
    """Return whether MODIFY takes the values of the old type as they are."""
    kinds = {old["type"], new["type"]}
    if kinds <= _FAMILIES[0]:
        return old.get("unsigned") == new.get("unsigned")
    return len(kinds) == 1 or kinds <= _FAMILIES[1]


@dataclass(frozen=True, slots=True)
class ColumnList:
    """The columns of one version, in their order."""

    columns: tuple[SchemaColumn, ...]
    ids: tuple[int, ...]

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """Return the columns of a version of a mirror."""
        ids = {
            column.name: column.field_id
            for column in snapshot.columns
            if not column.name.startswith(OWN_PREFIX)
        }
        columns = json.loads(snapshot.configuration[COLUMNS_PROPERTY])
        kept = tuple(column for column in columns if column["name"] in ids)
        return cls(kept, tuple(ids[column["name"]] for column in kept))

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what `write` returned."""
        document = json.loads(text)
        return cls(tuple(document["columns"]), tuple(document["ids"]))

    def write(self) -> str:
        """Return the list as a text."""
        return json.dumps({"columns": self.columns, "ids": self.ids}, ensure_ascii=False)

    def with_ids_of(self, other: "ColumnList") -> "ColumnList":
        """Return the same columns, with the ids of columns of `other` that have their names."""
        known = dict(zip(other.names, other.ids, strict=True))
        ids = (known.get(name, -place) for place, name in enumerate(self.names, 1))
        return ColumnList(self.columns, tuple(ids))

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [column["name"] for column in self.columns]

    @property
    def key(self) -> list[SchemaColumn]:
        """The columns of the primary key, in its order."""
        return sorted((c for c in self.columns if c["key"]), key=lambda column: column["key"])

    def without(self, names: frozenset[str]) -> list[SchemaColumn]:
        """Return the columns that do not have one of these names, in lower case."""
        return [column for column in self.columns if column["name"].lower() not in names]
