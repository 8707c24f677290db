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
that is not in the log. `seq` counts the rows of a transaction, from 0; those of other tables if
they can be counted.

Paths are those of the driver and of the workers, on which `connector` is installed.

https://spark.apache.org/docs/latest/api/python/tutorial/sql/python_data_source.html
"""

import glob
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
except ModuleNotFoundError as missing:
    _reason = f"mysql_binlog needs PySpark ({missing}): pip install 'binlog-connector[spark]'"
    raise ImportError(_reason) from missing

from collections.abc import Iterator, Sequence

from librt.strings import BytesWriter
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from connector.binlog import open_binlog
from connector.binlog.columns.column import ColumnReader, JsonDiffs, Value
from connector.binlog.columns.json import ABSENT_BEFORE, NULL_BEFORE, changed_document
from connector.binlog.columns.row_images import bitmap_length, column_error, is_set
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.payload_reader import PayloadReader
from connector.binlog.table_filter import TableFilter
from connector.binlog.text_writer import quoted
from connector.binlog.transactions.transaction import column_names
from connector.foundation.errors import ConfigError, DecodeError, UnsupportedChange
from connector.logs import spark_errors
from connector.stream.envelope.cells.writers import exact_writer
from connector.stream.envelope.schemas.table_schema import schema_column

SCHEMA = (
    "file STRING, pos BIGINT, gtid STRING, timestamp TIMESTAMP, database STRING, table STRING, "
    "op STRING, before STRING, after STRING, seq BIGINT"
)
_LOG_NAME = re.compile(r".*\.[0-9]+(\.gz|\.zst)?")


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
            raise ConfigError(spark_errors.OWN_SCHEMA)
        # The form in which Spark passes a list of paths.
        unknown = sorted(set(self.options) - {"path", "paths", "tables"})
        if unknown:
            raise ConfigError(spark_errors.NO_OPTION, option=unknown[0], known=("path", "tables"))
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
        tables = None if self._patterns is None else TableFilter(self._patterns, helper_tables=True)
        with open_binlog(partition.path) as log:
            for transaction in log.transactions():
                gtid = None if transaction.gtid is None else str(transaction.gtid)
                seq = 0
                images: _TableImages | None = None
                for event, rows in transaction.rows_events():
                    table_map = rows.table_map
                    if tables is not None and not tables.follows(table_map.schema, table_map.table):
                        seq += rows.count_readable()
                        continue
                    timestamp = datetime.fromtimestamp(event.header.timestamp, UTC)
                    if images is None or images.table_map is not table_map:
                        images = _TableImages(rows)
                    for before, after in images.rows(rows):
                        yield (
                            event.file,
                            event.position,
                            gtid,
                            timestamp,
                            table_map.schema,
                            table_map.table,
                            rows.kind.value,
                            before,
                            after,
                            seq,
                        )
                        seq += 1


def _log_files(path: str) -> list[str]:
    """Return the log files of `path`, ordered by name."""
    if not path:
        raise ConfigError(spark_errors.NO_PATH)
    path = re.sub("^file:(//)?", "", path)
    if "://" in path:
        raise ConfigError(spark_errors.NOT_A_FILE, path=path)
    if Path(path).is_dir():
        paths = [
            str(file)
            for file in Path(path).iterdir()
            if file.is_file() and _LOG_NAME.fullmatch(file.name)
        ]
    else:
        paths = glob.glob(path)  # noqa: PTH207 # Path.glob takes no absolute pattern
    if not paths:
        raise ConfigError(spark_errors.NO_LOG, path=path)
    return sorted(paths)


class _TableImages:
    """Writes the row images of one table as JSON objects, with the writers of records."""

    def __init__(self, event: RowsEvent) -> None:
        """Choose the writers for the table of `event`.

        Raises EventError if its rows cannot be read, UnsupportedChange for a type that records
        cannot hold.
        """
        self.table_map: TableMapEvent = event.table_map
        try:
            self._plan = event.plan
        except DecodeError as error:
            raise event.unreadable(error) from error
        columns = zip(column_names(event.table_map), self._plan.columns, strict=True)
        self._names = []
        self._writers = []
        for (name, column), reader in zip(columns, self._plan.readers, strict=True):
            self._names.append(quoted(name) + b":")
            self._writers.append(exact_writer(schema_column(name, column), reader))

    def rows(self, event: RowsEvent) -> Iterator[tuple[str | None, str | None]]:
        """Yield the images of each row before and after; raises EventError as `RowsEvent.rows`."""
        before, after = event.before_columns_present, event.after_columns_present
        try:
            _ = event.plan  # refuses rows that cannot be read
            is_lone = event.has_lone_row()
            image = event.images()
            while is_lone or image.offset < image.end:
                is_lone = False
                # Where the image before has its values, by column: changes of them may follow.
                offsets: dict[int, int] = {}
                old = new = None
                if before is not None:
                    old = self._image(image, before, self._plan.readers, offsets)
                if after is not None:
                    readers = self._plan.readers
                    if event.partial:
                        readers = self._plan.partial_readers(image)
                    new = self._image(image, after, readers, offsets)
                yield old, new
        except DecodeError as error:
            raise event.unreadable(error) from error

    def _image(
        self,
        image: PayloadReader,
        present: bytes,
        readers: list[ColumnReader],
        offsets: dict[int, int],
    ) -> str:
        """Return the next image; `readers` may read changes of documents at `offsets`."""
        own = self._plan.readers
        indexes = self._plan.indexes(present)
        nulls = image.take(bitmap_length(len(indexes)))
        out = BytesWriter()
        index = 0
        try:
            for number, index in enumerate(indexes):
                out.write(b"," if number else b"{")
                out.write(self._names[index])
                if is_set(image.data, nulls, number):
                    offsets[index] = NULL_BEFORE
                    out.write(b"null")
                elif readers[index] is own[index]:
                    offsets[index] = image.offset
                    self._put_cell(index, image, out)
                else:
                    at = offsets.get(index, ABSENT_BEFORE)
                    value = changed_document(image, readers[index], own[index], at)
                    out.write(_changed_text(value))
        except DecodeError as error:
            raise column_error(self._plan.columns[index], index, error) from error
        out.write(b"}" if indexes else b"{}")
        return out.getvalue().decode()

    def _put_cell(self, index: int, image: PayloadReader, out: BytesWriter) -> None:
        start, length = image.offset, len(out)
        try:
            self._writers[index].put(image, out)
        except UnsupportedChange:
            # Bytes outside of the character set, or the mask of a SET without labels.
            out.truncate(length)
            image.offset = start
            value = self._plan.readers[index].read(image)
            text = f'{{"hex":"{value.hex()}"}}' if isinstance(value, bytes) else str(value)
            out.write(text.encode())


def _changed_text(value: Value) -> bytes:
    """Return a document after changes as a JSON string, or the changes."""
    if not isinstance(value, JsonDiffs):
        assert isinstance(value, str)
        return quoted(value)
    diffs = [
        {"op": diff.operation.value, "path": diff.path, "value": diff.value} for diff in value.diffs
    ]
    return json.dumps({"json_diff": diffs}, ensure_ascii=False, separators=(",", ":")).encode()
