"""The table map of a rows event becomes the schema for consumers: its id, column types and key.

The id is a hash of the canonical column list. So a column list has the same id after each restart
and on every server.

*Exact types.* In a column list, the type of a text, bytes or a geometry is a family. The log has
the exact type in the metadata of a table map, `information_schema` as `data_type`. Both give the
same words, those of SHOW CREATE TABLE on MySQL 8.0 and later.

*Keys.* The columns of record keys are those of the table's key, or those that the option
`message.key.columns` names.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Final

from connector.binlog.columns.column import CHARACTERS, INTEGERS, Column, Family
from connector.binlog.events.table_map import TableMapEvent
from connector.foundation import contract
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.debezium.row_filter import FilteredTable
from connector.stream.envelope.schemas.column_masks import TextTransform
from connector.stream.envelope.schemas.column_rules import ColumnRules, is_named

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


_ID_DIGITS = 16
_POINT = "point"


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Names, types and key of a table's columns at one point in time."""

    database: str
    table: str
    schema_id: str
    columns: tuple[contract.SchemaColumn, ...]
    key_indexes: tuple[int, ...]  # of the primary key's columns, in key order
    # Columns of the table that are not in `columns`.
    unlogged: tuple[contract.UnloggedColumn, ...] = ()
    # By the names of columns whose `type` is a family: as MEDIUMTEXT, POINT or VECTOR(3) in lower
    # case. The id of the schema does not tell them.
    kinds: dict[str, str] = field(default_factory=dict, compare=False)
    # By the names of columns whose text is another one in records.
    changes: dict[str, TextTransform] = field(default_factory=dict, compare=False)

    @classmethod
    def from_table_map(
        cls,
        table_map: TableMapEvent,
        position: str,
        unlogged: frozenset[str] = frozenset(),
        chosen: ColumnRules | None = None,
    ) -> "TableSchema":
        """Read the schema out of TABLE_MAP's optional metadata; `position` is `file:position`.

        The columns `unlogged` are left out, and those that are not `chosen`. Raises
        UnsupportedChange if the metadata has no column names, and as `ColumnRules.of` does.
        """
        name = f"{table_map.schema}.{table_map.table}"
        columns = tuple(
            schema_column(column.name, column)
            for column in table_map.columns
            if column.name is not None
        )
        if len(columns) < len(table_map.columns):
            raise UnsupportedChange(
                record_errors.NO_COLUMN_NAMES, log_position=position, table=name
            )
        kinds = {
            column["name"]: kind
            for column, mapped in zip(columns, table_map.columns, strict=True)
            if (kind := logged_kind(mapped)) != column["type"]
        }
        return cls.of_columns(table_map.schema, table_map.table, columns, unlogged, kinds, chosen)

    @classmethod
    def of_columns(
        cls,
        database: str,
        table: str,
        every: tuple[contract.SchemaColumn, ...],
        unlogged: frozenset[str] = frozenset(),
        kinds: dict[str, str] | None = None,
        chosen: ColumnRules | None = None,
    ) -> "TableSchema":
        """Return the schema of a table with the columns `every`, without those of `unlogged`.

        Its id depends only on the columns that it has. Raises as `ColumnRules.of` does.
        """
        changes: dict[str, TextTransform] = {}
        if chosen is not None:
            choice = chosen.of(database, table, every)
            changes = choice.changes
            unlogged |= choice.left_out
        columns = tuple(column for column in every if column["name"] not in unlogged)
        keyed = [n for n, column in enumerate(columns) if column["key"]]
        keyed.sort(key=lambda n: columns[n]["key"])
        schema_id = _schema_id(f"{database}.{table}", columns)
        left_out = tuple(
            contract.UnloggedColumn(index=index, column=column)
            for index, column in enumerate(every)
            if column["name"] in unlogged
        )
        return cls(
            database, table, schema_id, columns, tuple(keyed), left_out, kinds or {}, changes
        )

    @property
    def places(self) -> list[int]:
        """The index of each column among all columns of the table."""
        left_out = {column["index"] for column in self.unlogged}
        count = len(self.columns) + len(left_out)
        return [index for index in range(count) if index not in left_out]

    @property
    def points(self) -> frozenset[str]:
        """The names of geometries that are POINTs."""
        return frozenset(name for name, kind in self.kinds.items() if kind == _POINT)

    @property
    def name(self) -> str:
        """`database.table`."""
        return f"{self.database}.{self.table}"

    @property
    def for_filters(self) -> FilteredTable:
        """What a filter of rows has to know."""
        return FilteredTable(
            self.database, self.table, self.columns, self.places, self.changes.keys()
        )

    def record_key(self) -> bytes:
        """Return the key of the record in `<prefix>.schema`."""
        return f"{self.name}/{self.schema_id}".encode()

    def record_value(
        self,
        seq: contract.Sequence,
        columns: list[contract.SchemaColumn],
        anchor: str = "",
        stated: str = "",
        *,
        profile: str = contract.EXACT,
    ) -> bytes:
        """Return the value of that record; `columns` may have more facts than `self.columns`.

        `anchor` is the position at which the server was asked for them, "" if the log names them.
        `stated` is the sequence of the statement that says them, "" if rows do. `profile` is that
        of the values.
        """
        value: contract.SchemaRecord = {
            "schema_id": self.schema_id,
            "database": self.database,
            "table": self.table,
            "seq": str(seq),
            "columns": columns,
        }
        if self.unlogged:
            value["unlogged"] = [*self.unlogged]
        if anchor:
            value["anchor"] = anchor
        if stated:
            value["stated"] = stated
        if profile != contract.EXACT:
            value["profile"] = profile
            if self.kinds:
                value["kinds"] = dict(sorted(self.kinds.items()))
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def every_column(record: contract.SchemaRecord) -> list[contract.SchemaColumn]:
    """Return all columns of the table of a schema record, also those that records leave out."""
    columns = [*record["columns"]]
    for column in record.get("unlogged", ()):
        columns.insert(column["index"], column["column"])
    return columns


def schema_topic(prefix: str) -> str:
    """Return the topic of schema records."""
    return f"{prefix}.{contract.SCHEMA_TOPIC_SUFFIX}"


def _schema_id(name: str, columns: tuple[contract.SchemaColumn, ...]) -> str:
    canonical = json.dumps([name, columns], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_ID_DIGITS]


_WITH_LENGTH = frozenset({"char", "varchar", "binary", "varbinary", "bit"})
_WITH_SIGN = (*INTEGERS, Family.DECIMAL, Family.FLOAT, Family.DOUBLE)


def schema_column(name: str, column: Column) -> contract.SchemaColumn:
    """Return the description of a column for consumers."""
    kind = column.type_name
    result: contract.SchemaColumn = {
        "name": name,
        "type": kind,
        "nullable": column.nullable,
        "key": column.primary_key,
    }
    if kind in _WITH_SIGN:
        result["unsigned"] = column.unsigned
    if column.precision is not None and column.scale is not None:
        result["precision"] = column.precision
        result["scale"] = column.scale
    if column.fraction is not None:
        result["fraction"] = column.fraction
    if kind in _WITH_LENGTH and column.length is not None:
        result["length"] = column.length
    if kind in CHARACTERS and column.collation is not None:
        result["charset"] = column.charset or ""
        result["collation"] = column.collation
    if column.labels is not None:
        result["labels"] = column.labels
    return result


def without_history(column: contract.SchemaColumn) -> contract.SchemaColumn:
    """Return the column of a record as it is now, without the values of earlier rows."""
    now = column.copy()
    now.pop("added_default", None)
    now.pop("added_default_unknown", None)
    return now


def record_key_indexes(schema: TableSchema, form: DebeziumProfile | None) -> tuple[int, ...]:
    """Return the columns of a table's record keys, in key order; mostly those of its own key.

    Raises UnsupportedChange for a column that records do not have, or that is masked in them.
    """
    if form is None or not has_message_key(schema, form):
        return schema.key_indexes
    places = {column["name"].lower(): n for n, column in enumerate(schema.columns)}
    indexes: list[int] = []
    for database, table, names in map(_parts, form.message_keys):
        if not is_named(schema.database, schema.table, database, table, form.ignores_case):
            continue
        for name in names:
            place = places.get(name.lower())
            if place is None:
                raise UnsupportedChange(record_errors.NOT_IN_TABLE, column=f"{schema.name}.{name}")
            if schema.columns[place]["name"] in schema.changes:
                raise UnsupportedChange(record_errors.IN_KEY, column=f"{schema.name}.{name}")
            if place not in indexes:
                indexes.append(place)
    return tuple(indexes)


def has_message_key(schema: TableSchema, form: DebeziumProfile) -> bool:
    """Return whether the settings choose the key of a table's records."""
    return any(
        is_named(schema.database, schema.table, database, table, form.ignores_case)
        for database, table, _ in map(_parts, form.message_keys)
    )


def _parts(text: str) -> tuple[str, str, list[str]]:
    """Return the database, the table and the columns of `database.table:column,column`."""
    place, _, columns = text.partition(":")
    database, _, table = place.partition(".")
    return database, table, [name.strip() for name in columns.split(",")]
