"""Tables with a column of each type that a mirror has, and rows with the limits of each."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyroaring import BitMap

from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import new_columns
from stream_jobs.delta.parquet_file import live_rows, write_file
from stream_jobs.delta.table import DeltaTable, TableCommit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stream_jobs.delta.actions import DataFile
    from stream_jobs.delta.columns import Column
    from stream_jobs.delta.storage import Storage

GEOMETRY = pa.struct([("wkb", pa.binary()), ("srid", pa.int64())])
HOSTILE = "a.b `c` ,;{}()=\n\t'\"%2F/../é😀"
_FIRST = dt.datetime(1, 1, 1)  # noqa: DTZ001 - DATETIME has no zone
_LAST = dt.datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001

# Name, type, and the values of the first rows; further rows have the first value.
TYPES: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "tiny": (pa.int8(), [-128, 127, None]),
    "small": (pa.int16(), [-(2**15), 2**15 - 1, None]),
    "int": (pa.int32(), [-(2**31), 2**31 - 1, None]),
    "big": (pa.int64(), [-(2**63), 2**63 - 1, None]),
    "unsigned": (pa.decimal128(20, 0), [Decimal(0), Decimal(2**64 - 1), None]),
    "money": (pa.decimal128(10, 2), [Decimal("-99999999.99"), Decimal("0.10"), None]),
    "wide": (pa.decimal128(38, 10), [Decimal("9" * 28 + ".0123456789"), Decimal("-1E-10"), None]),
    "float": (pa.float32(), [1.5, -0.0, None]),
    "double": (pa.float64(), [1.7976931348623157e308, 5e-324, None]),
    "flag": (pa.bool_(), [True, False, None]),
    HOSTILE: (pa.string(), ["", "\0'\\\n é😀" + "x" * 100, None]),
    "bytes": (pa.binary(), [b"", bytes(range(256)), None]),
    "date": (pa.date32(), [_FIRST.date(), _LAST.date(), None]),
    "datetime": (pa.timestamp("us"), [_FIRST, _LAST, None]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC), _LAST.replace(tzinfo=dt.UTC), None],
    ),
    "shape": (GEOMETRY, [{"wkb": b"\x01\xff", "srid": 4326}, {"wkb": None, "srid": None}, None]),
    "vector": (pa.list_(pa.float32()), [[1.0, -2.5], [], None]),
}


def all_columns() -> tuple[Column, ...]:
    """`id`, and a column of each type."""
    types = {"id": pa.int64()} | {name: kind for name, (kind, _) in TYPES.items()}
    return new_columns([(name, kind, {}) for name, kind in types.items()])


def rows(ids: Iterable[int]) -> pa.Table:
    """Rows with these ids; the values of a row depend on its id alone."""
    numbers = list(ids)
    arrays = {"id": pa.array(numbers, pa.int64())}
    for name, (kind, values) in TYPES.items():
        arrays[name] = pa.array([values[number % len(values)] for number in numbers], kind)
    return pa.table(arrays)


class Sample:
    """A table, and the rows that it must have."""

    def __init__(
        self, storage: Storage, path: str, properties: Mapping[str, str] | None = None
    ) -> None:
        metadata = Metadata(all_columns(), properties or {}, description="a sample")
        self.table = DeltaTable.create(storage, path, metadata)
        self.storage = storage
        self.path = path

    def write(self, ids: Iterable[int]) -> DataFile:
        """Write a file that is not part of the table yet."""
        columns = self.table.snapshot.metadata.file_columns
        known = rows(ids)
        data = pa.table(
            {
                column.name: known[column.name]
                if column.name in known.column_names and known[column.name].type == column.type
                else pa.nulls(known.num_rows, column.type)
                for column in columns
            }
        )
        return write_file(self.storage, self.path, columns, data, key=["id"])

    def append(self, ids: Iterable[int], **facts: Any) -> DataFile:
        """Commit a new file."""
        file = self.write(ids)
        self.table.commit(TableCommit(new=[file], **facts), "WRITE")
        return file

    def kill(self, **positions: Iterable[int]) -> None:
        """Commit dead rows by the path of their file."""
        dead = {path: BitMap(found).serialize() for path, found in positions.items()}
        self.table.commit(TableCommit(dead=dead), "DELETE")

    def live(self) -> list[dict[str, Any]]:
        """The rows of the newest version, read from the log again, by id."""
        table = DeltaTable.open(self.storage, self.path)
        assert table is not None
        return live(table)

    def ids(self) -> list[int]:
        return [row["id"] for row in self.live()]


def live(table: DeltaTable) -> list[dict[str, Any]]:
    """All rows of a table, by id."""
    columns = table.snapshot.columns
    found: list[dict[str, Any]] = []
    for file in table.snapshot.files.values():
        found += live_rows(table.storage, table.path, file, columns).to_pylist()
    return sorted(found, key=lambda row: row["id"])
