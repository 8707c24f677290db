"""The table map of a rows event becomes the schema for consumers, and its id.

The id is a hash of the canonical column list. So a column list has the same id after each restart
and on every server.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.contract import SCHEMA_TOPIC_SUFFIX, SchemaColumn, SchemaRecord
from connector.errors import UnsupportedChange, table_schemas

if TYPE_CHECKING:
    from connector.binlog.columns.column import Column
    from connector.binlog.events.table_map import TableMapEvent
    from connector.contract import Sequence

_ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Names, types and key of a table's columns at one point in time."""

    database: str
    table: str
    schema_id: str
    columns: tuple[SchemaColumn, ...]
    key_indexes: tuple[int, ...]  # of the primary key's columns, in key order

    @classmethod
    def from_table_map(cls, table_map: TableMapEvent, position: str) -> TableSchema:
        """Read the schema out of TABLE_MAP's optional metadata; `position` is `file:position`.

        Raises UnsupportedChange if the metadata has no column names.
        """
        name = f"{table_map.schema}.{table_map.table}"
        columns = tuple(
            schema_column(column.name, column)
            for column in table_map.columns
            if column.name is not None
        )
        if len(columns) < len(table_map.columns):
            raise UnsupportedChange(
                table_schemas.NO_COLUMN_NAMES, log_position=position, table=name
            )
        return cls.of_columns(table_map.schema, table_map.table, columns)

    @classmethod
    def of_columns(
        cls, database: str, table: str, columns: tuple[SchemaColumn, ...]
    ) -> TableSchema:
        """Return the schema of a table with `columns`; its id depends only on them."""
        keyed = [n for n, column in enumerate(columns) if column["key"]]
        keyed.sort(key=lambda n: columns[n]["key"])
        schema_id = _schema_id(f"{database}.{table}", columns)
        return cls(database, table, schema_id, columns, tuple(keyed))

    @property
    def name(self) -> str:
        """`database.table`."""
        return f"{self.database}.{self.table}"

    def record_key(self) -> bytes:
        """Return the key of the record in `<prefix>.schema`."""
        return f"{self.name}/{self.schema_id}".encode()

    def record_value(self, seq: Sequence, columns: list[SchemaColumn], anchor: str = "") -> bytes:
        """Return the value of that record; `columns` may have more facts than `self.columns`.

        `anchor` is the position at which the server was asked for them, "" if the log names them.
        """
        value: SchemaRecord = {
            "schema_id": self.schema_id,
            "database": self.database,
            "table": self.table,
            "seq": str(seq),
            "columns": columns,
        }
        if anchor:
            value["anchor"] = anchor
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def schema_topic(prefix: str) -> str:
    """Return the topic of schema records."""
    return f"{prefix}.{SCHEMA_TOPIC_SUFFIX}"


def _schema_id(name: str, columns: tuple[SchemaColumn, ...]) -> str:
    canonical = json.dumps([name, columns], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_ID_DIGITS]


_WITH_LENGTH = frozenset({"char", "varchar", "binary", "varbinary", "bit"})
_WITH_SIGN = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double"}
)
_CHARACTER = frozenset({"char", "varchar", "text"})


def schema_column(name: str, column: Column) -> SchemaColumn:
    """Return the description of a column for consumers."""
    kind = column.type_name
    result: SchemaColumn = {
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
    if kind in _CHARACTER and column.collation is not None:
        result["charset"] = column.charset or ""
        result["collation"] = column.collation
    if column.labels is not None:
        result["labels"] = column.labels
    return result
