"""A Delta table that equals one source table.

Each row has the sequence of its last change, `_cdc_hi` and `_cdc_lo`. A change is applied only to a
row with a lower sequence, so applying it twice changes nothing. A table property, which is set
last, names the current schema: an interrupted step is repeated safely.

Deletion vectors and column mapping are off, so every reader of Delta tables can read a mirror.

https://docs.delta.io/latest/delta-update.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from delta.tables import DeltaTable
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use
from pyspark.sql.types import LongType, StructField, StructType

from connector.contract import OP_DELETE
from connector.errors import MirrorError, mirror
from stream_jobs.column_types import ColumnType
from stream_jobs.latest_changes import OP, literal
from stream_jobs.sequence import HI, LO, is_above

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from connector.contract import SchemaColumn
    from stream_jobs.sequence import PackedSequence
    from stream_jobs.table_schema import AddedColumn, TableSchema

_SCHEMA_PROPERTY = "cdc.schema_id"
_TABLE_PROPERTY = "cdc.table"


def mirror_path(base: str, schema: TableSchema) -> str:
    """Return the path of a table's mirror: `<base>/<database>/<table>`.

    Characters that are special in paths are percent-encoded.
    """
    return "/".join((base.rstrip("/"), quote(schema.database), quote(schema.table)))


class Mirror:
    """The Delta table of one source table."""

    def __init__(self, session: SparkSession, path: str) -> None:
        """Use the table at `path`, which may not exist yet."""
        self._session = session
        self.path = path

    def schema_id(self, table: str) -> str | None:
        """Return the id of the mirror's schema; None if the mirror does not exist.

        Raises MirrorError if `path` holds something other than the mirror of `table`.
        """
        if not DeltaTable.isDeltaTable(self._session, self.path):
            return None
        detail = DeltaTable.forPath(self._session, self.path).detail()
        properties: dict[str, str] = detail.select("properties").collect()[0][0]
        if properties.get(_TABLE_PROPERTY) != table or _SCHEMA_PROPERTY not in properties:
            raise MirrorError(mirror.ANOTHER_TABLE, path=self.path, table=table)
        return properties[_SCHEMA_PROPERTY]

    def create(self, schema: TableSchema) -> None:
        """Create the empty table if it does not exist."""
        columns = [
            *(_column_sql(column) for column in schema.columns),
            f"{HI} BIGINT COMMENT 'cdc.seq: epoch, file and position'",
            f"{LO} BIGINT COMMENT 'cdc.seq: event and row'",
        ]
        properties = {
            "delta.enableDeletionVectors": "false",
            _TABLE_PROPERTY: schema.name,
            _SCHEMA_PROPERTY: schema.schema_id,
        }
        self._session.sql(
            f"CREATE TABLE IF NOT EXISTS {self._sql_name} ({', '.join(columns)}) USING delta "
            f"TBLPROPERTIES ({_properties_sql(properties)})"
        )

    def replace(self, schema: TableSchema) -> None:
        """Replace the table by an empty one with other columns."""
        columns = [StructField(c["name"], ColumnType.of(c).stored) for c in schema.columns]
        columns += [StructField(name, LongType()) for name in (HI, LO)]
        empty = self._session.createDataFrame([], StructType(columns))
        writer = empty.write.format("delta").mode("overwrite").option("overwriteSchema", value=True)
        writer.save(self.path)
        self._follow(schema)

    def add_columns(
        self,
        schema: TableSchema,
        added: Iterable[AddedColumn],
        origins: Mapping[str, SchemaColumn],
    ) -> None:
        """Add columns with their value in existing rows, and set `schema` as the current one.

        `origins` has each added column as in the schema that added it.
        """
        present = {field.name for field in self._table().toDF().schema.fields}
        missing = [
            f"{_column_sql(column)} {'FIRST' if after is None else f'AFTER {_quoted(after)}'}"
            for column, after in added
            if column["name"] not in present
        ]
        if missing:
            self._session.sql(f"ALTER TABLE {self._sql_name} ADD COLUMNS ({', '.join(missing)})")
        defaults: dict[str, str | Column] = {
            _quoted(column["name"]): literal(origin, origin["added_default"])
            for column, _ in added
            if (origin := origins[column["name"]]).get("added_default") is not None
        }
        if defaults:
            self._table().update(self._is_below(schema.first), defaults)
        self._follow(schema)

    def is_empty(self) -> bool:
        """Return whether the table has no row."""
        return self._table().toDF().isEmpty()

    def delete_below(self, floor: PackedSequence) -> None:
        """Delete the rows whose last change is before `floor`."""
        self._table().delete(self._is_below(floor))

    def merge(self, changes: DataFrame, schema: TableSchema) -> None:
        """Apply typed changes, one for each key, to rows with a lower sequence."""
        newer = F.expr(f"s.{HI} > t.{HI} OR (s.{HI} = t.{HI} AND s.{LO} > t.{LO})")
        same_key = " AND ".join(f"t.{_quoted(name)} = s.{_quoted(name)}" for name in schema.key)
        names = [*schema.by_name, HI, LO]
        values: dict[str, str | Column] = {
            _quoted(name): F.col(f"s.{_quoted(name)}") for name in names
        }
        is_delete = F.col(f"s.{OP}") == OP_DELETE
        (
            self._table()
            .alias("t")
            .merge(changes.alias("s"), same_key)
            .whenMatchedDelete(newer & is_delete)
            .whenMatchedUpdate(newer, values)
            .whenNotMatchedInsert(~is_delete, values)
            .execute()
        )

    def _follow(self, schema: TableSchema) -> None:
        self._session.sql(
            f"ALTER TABLE {self._sql_name} SET TBLPROPERTIES "
            f"({_properties_sql({_SCHEMA_PROPERTY: schema.schema_id})})"
        )

    @staticmethod
    def _is_below(bound: PackedSequence) -> Column:
        above = is_above(F.col(HI), F.col(LO), bound)
        return ~above & ~((F.col(HI) == bound.hi) & (F.col(LO) == bound.lo))

    def _table(self) -> DeltaTable:
        return DeltaTable.forPath(self._session, self.path)

    @property
    def _sql_name(self) -> str:
        return f"delta.{_quoted(self.path)}"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _column_sql(column: SchemaColumn) -> str:
    return f"{_quoted(column['name'])} {ColumnType.of(column).stored.simpleString()}"


def _properties_sql(properties: Mapping[str, str]) -> str:
    def text(value: str) -> str:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"

    return ", ".join(f"{text(key)} = {text(value)}" for key, value in properties.items())
