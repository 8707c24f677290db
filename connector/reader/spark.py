"""`spark.read.format("mysql_binlog")`: archives of logs become rows on a cluster, a file a task.

::

    register(spark)
    changes = spark.read.format("mysql_binlog").option("tables", "shop.*").load("/archive/binlogs")

==============  ===========================================================================
`path`          a file, a glob, or a folder; in a folder, the files are read whose name ends
                in a number, as `binlog.000042`, or in a number and `.gz` or `.zst`; `load`
                also takes a list of them
`tables`        patterns with commas between them, as `shop.*,crm.users`; all without it
==============  ===========================================================================

`before` and `after` are JSON objects by column, with values as in the records of Kafka; columns
that an image leaves out are missing. A value that these records cannot hold has the form of `dump
--format json`: bytes outside of the character set, a SET without labels, changes of a JSON document
that is not in the log. `seq` counts the rows of a transaction, from 0.

Paths are those of the driver and of the workers, on which `connector` is installed.

https://spark.apache.org/docs/latest/api/python/tutorial/sql/python_data_source.html
"""

from __future__ import annotations

import glob
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
except ModuleNotFoundError as missing:
    _reason = f"mysql_binlog needs PySpark ({missing}): pip install 'binlog-connector[spark]'"
    raise ImportError(_reason) from missing

from collections.abc import Callable, Iterator, Sequence

from connector.binlog.columns.column import ABSENT, Column, JsonDiffs, Value
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.table_filter import TableFilter
from connector.binlog.transactions.transaction import column_names
from connector.foundation.errors import ConfigError
from connector.reader import open_binlog, reader_errors
from connector.reader.value_texts import value_encoder
from connector.stream.envelope.schemas.table_schema import schema_column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


SCHEMA = (
    "file STRING, pos BIGINT, gtid STRING, timestamp TIMESTAMP, database STRING, table STRING, "
    "op STRING, before STRING, after STRING, seq BIGINT"
)
_LOG_NAME = re.compile(r".*\.[0-9]+(\.gz|\.zst)?")
_TEXTS = frozenset({"char", "varchar", "text", "set", "json"})


def register(spark: SparkSession) -> None:
    """Register the format in a session."""
    spark.dataSource.register(MysqlBinlogSource)


class MysqlBinlogSource(DataSource):
    """The logs that the options name."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "mysql_binlog"

    def schema(self) -> str:
        """Return the columns, which are the same for all tables."""
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of the files that exist now."""
        if schema.fieldNames() != [column.split()[0] for column in SCHEMA.split(", ")]:
            raise ConfigError(reader_errors.OWN_SCHEMA)
        # The form in which Spark passes a list of paths.
        unknown = sorted(set(self.options) - {"path", "paths", "tables"})
        if unknown:
            raise ConfigError(reader_errors.NO_OPTION, option=unknown[0], known=("path", "tables"))
        tables = self.options.get("tables")
        patterns = [pattern.strip() for pattern in tables.split(",")] if tables else None
        if patterns is not None:
            TableFilter(patterns)  # raises here, not in a task
        listed = self.options.get("paths")
        paths: list[str] = json.loads(listed) if listed else [self.options.get("path", "")]
        return _Reader([log_file for path in paths for log_file in _log_files(path)], patterns)


class _File(InputPartition):
    """One log file of a task."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class _Reader(DataSourceReader):
    """Reads one file in each task."""

    def __init__(self, paths: list[str], patterns: list[str] | None) -> None:
        # The attributes that Spark sends to its tasks: plain values.
        self._paths = paths
        self._patterns = patterns

    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition for each file."""
        return [_File(path) for path in self._paths]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Yield the changed rows of one file.

        Raises the errors of reading; the job fails with their text.
        """
        assert isinstance(partition, _File)
        tables = None if self._patterns is None else TableFilter(self._patterns)
        with open_binlog(partition.path) as log:
            for transaction in log.transactions():
                gtid = None if transaction.gtid is None else str(transaction.gtid)
                seq = 0
                image = _ImageEncoder()
                for event, rows in transaction.rows_events():
                    table_map = rows.table_map
                    if tables is not None and not tables.follows(table_map.schema, table_map.table):
                        seq += rows.count()
                        continue
                    timestamp = datetime.fromtimestamp(event.header.timestamp, UTC)
                    for row in rows.rows(apply_diffs=True):
                        yield (
                            event.file,
                            event.position,
                            gtid,
                            timestamp,
                            table_map.schema,
                            table_map.table,
                            rows.kind.value,
                            image.encode(table_map, row.before),
                            image.encode(table_map, row.after),
                            seq,
                        )
                        seq += 1


def _log_files(path: str) -> list[str]:
    """Return the log files of `path`, ordered by name."""
    if not path:
        raise ConfigError(reader_errors.NO_PATH)
    path = re.sub("^file:(//)?", "", path)
    if "://" in path:
        raise ConfigError(reader_errors.NOT_A_FILE, path=path)
    if Path(path).is_dir():
        paths = [
            str(file)
            for file in Path(path).iterdir()
            if file.is_file() and _LOG_NAME.fullmatch(file.name)
        ]
    else:
        paths = glob.glob(path)  # noqa: PTH207 # Path.glob takes no absolute pattern
    if not paths:
        raise ConfigError(reader_errors.NO_LOG, path=path)
    return sorted(paths)


class _ImageEncoder:
    """Writes row images as JSON, with one writer for each table."""

    def __init__(self) -> None:
        self._table_map: TableMapEvent | None = None
        self._steps: list[tuple[str, Callable[[Any], str]]] = []

    def encode(self, table_map: TableMapEvent, values: list[Value] | None) -> str | None:
        """Return an image as a JSON object."""
        if values is None:
            return None
        if table_map is not self._table_map:
            self._table_map = table_map
            names = column_names(table_map)
            self._steps = [
                (f"{json.dumps(name, ensure_ascii=False)}:", _cell_encoder(name, column))
                for name, column in zip(names, table_map.columns, strict=True)
            ]
        cells = (
            name + ("null" if value is None else encode(value))
            for value, (name, encode) in zip(values, self._steps, strict=True)
            if value is not ABSENT
        )
        return f"{{{','.join(cells)}}}"


def _cell_encoder(name: str, column: Column) -> Callable[[Any], str]:
    encode = value_encoder(schema_column(name, column))
    if column.type_name not in _TEXTS:
        return encode

    def encode_text(value: Any) -> str:
        if isinstance(value, str):
            return encode(value)
        if isinstance(value, bytes):
            return f'{{"hex":"{value.hex()}"}}'
        if isinstance(value, JsonDiffs):
            diffs = [
                {"op": diff.operation.value, "path": diff.path, "value": diff.value}
                for diff in value.diffs
            ]
            return json.dumps({"json_diff": diffs}, ensure_ascii=False, separators=(",", ":"))
        return str(value)

    return encode_text
