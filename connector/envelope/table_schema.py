"""The table map of a rows event becomes the schema that consumers see, and its id.

The id is a hash of the canonical column list, so the same table has the same id after any restart
and on any server.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connector.envelope.contract import SCHEMA_TOPIC_SUFFIX, SchemaColumn, SchemaRecord
from connector.envelope.record import Record
from connector.errors import UnsupportedChange

if TYPE_CHECKING:
    from connector.binlog.table_map import Column, TableMapEvent
    from connector.envelope.contract import Sequence

_ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Names, types and key of a table's columns at one time."""

    database: str
    table: str
    schema_id: str
    columns: tuple[SchemaColumn, ...]
    key_indexes: tuple[int, ...]  # of the primary key's columns, in key order

    @classmethod
    def from_table_map(cls, table_map: TableMapEvent) -> TableSchema:
        """Read the schema out of TABLE_MAP's optional metadata.

        Raises UnsupportedChange when the metadata has no column names.
        """
        name = f"{table_map.schema}.{table_map.table}"
        if any(column.name is None for column in table_map.columns):
            reason = (
                f"the log has no column names for table {name}: "
                "SET GLOBAL binlog_row_metadata=FULL (MySQL 8.0.1, MariaDB 10.5 or newer), then "
                "start the pipeline behind the rows that were logged without"
            )
            raise UnsupportedChange(reason)
        columns = tuple(_schema_column(column) for column in table_map.columns)
        keyed = [n for n, column in enumerate(columns) if column["key"]]
        keyed.sort(key=lambda n: columns[n]["key"])
        return cls(
            table_map.schema, table_map.table, _schema_id(name, columns), columns, tuple(keyed)
        )

    @property
    def name(self) -> str:
        """`database.table`."""
        return f"{self.database}.{self.table}"

    def record(
        self, prefix: str, seq: Sequence, columns: list[SchemaColumn], timestamp_ms: int
    ) -> Record:
        """Return the record in `<prefix>.schema`; `columns` may say more than `self.columns`."""
        value: SchemaRecord = {
            "schema_id": self.schema_id,
            "database": self.database,
            "table": self.table,
            "seq": str(seq),
            "columns": columns,
        }
        return Record(
            topic=schema_topic(prefix),
            key=f"{self.name}/{self.schema_id}".encode(),
            value=json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(),
            headers=[],
            timestamp_ms=timestamp_ms,
        )


def schema_topic(prefix: str) -> str:
    """Return the topic of schema records."""
    return f"{prefix}.{SCHEMA_TOPIC_SUFFIX}"


def _schema_id(name: str, columns: tuple[SchemaColumn, ...]) -> str:
    canonical = json.dumps([name, columns], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_ID_DIGITS]
