"""Changed rows of the log in the form of a comparison, and as digests of keys and of rows.

The log may lack names, signs and labels of columns (binlog_row_metadata=MINIMAL). The table's
definition has them: columns are matched by their places.

Rows from before a statement that changes columns may not fit the definition. That fails only if no
such statement follows: the caller, which reads the statements, knows.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from connector.binlog.arrow.batch_columns import CHANGE_NAMES
from connector.binlog.arrow.batches import TableRows
from connector.binlog.character_sets import character_decoder
from connector.binlog.event import Event
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.transactions.transaction import column_names
from connector.foundation.contract import SchemaColumn
from connector.foundation.errors import DecodeError
from connector.stream.envelope.schemas.table_schema import TableSchema
from stream_jobs.source.column_types import ColumnType
from verification.digests import Digest, digest_pairs
from verification.foreign import forms
from verification.foreign.column_mapping import ColumnMapping
from verification.foreign.row_states import UNKNOWN, Change, Value

# Images that are decoded together.
_IMAGES: Final = 4000
_FIRST_COLUMNS: Final = 8  # of a batch: those of the change
# What values raise if they are read as those of other columns.
_OTHER_COLUMNS: Final = (
    pa.ArrowException,
    ArithmeticError,
    DecodeError,
    LookupError,
    TypeError,
    ValueError,
)
_BITS: Final = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}


class LoggedImages(NamedTuple):
    """Images of rows in the order of the log; of an UPDATE, the one before comes first."""

    data: pa.Table  # the compared columns, by the names of the source
    partial: NDArray[np.bool_]  # images that lack some of them
    operations: list[str]  # of each image: insert, update or delete
    are_after: list[bool]  # whether each is the row after the change
    changes: list[Change]
    lack_key: NDArray[np.bool_]  # images that lack a column of the key


# Of a key: its row before and after a change.
Add = Callable[[Digest, Value, Value, Change], None]
Take = Callable[[LoggedImages], None]


class LoggedRows:
    """Reads the rows of one table."""

    def __init__(self, schema: TableSchema, mapping: ColumnMapping) -> None:
        """Expect the columns of `schema`, which also says where they are in the table."""
        self._mapping = mapping
        self._places = {
            column["name"]: place
            for column, place in zip(schema.columns, schema.places, strict=True)
        }
        self._table: TableRows | None = None
        self._map: TableMapEvent | None = None
        self._changes: list[tuple[int, Change]] = []  # images of each event
        # Why rows do not fit the definition; none are read after them.
        self.failure: Exception | None = None

    def read(self, event: Event, rows: RowsEvent, change: Change, take: Take) -> None:
        """Read the rows of an event; `take` gets them now or later, in order.

        Raises EventError for a row that cannot be read.
        """
        if self.failure is None:
            self._read(event, rows, change, take)

    def finish(self, take: Take) -> None:
        """Hand over the rest; raises `failure`."""
        self.flush(take)
        if self.failure is not None:
            raise self.failure

    def restart(self) -> None:
        """Forget what was read, and what failed: the next rows have other columns."""
        self._table = self.failure = None
        self._changes = []

    def _read(self, event: Event, rows: RowsEvent, change: Change, take: Take) -> None:
        if self._table is None or not self._table.takes(rows.table_map):
            self.flush(take)
            self._table = TableRows(rows, dates_as_text=True, names=_names(rows.table_map))
            self._map = rows.table_map
        table = self._table
        table.begin(event, rows, None, 0)
        while table.more:
            self._changes.append((int(table.read(_IMAGES)), change))
            if table.count >= _IMAGES:
                self.flush(take)

    def flush(self, take: Take) -> None:
        """Hand over what was read."""
        if self.failure is None and self._table is not None and self._table.count:
            try:
                self._flush(self._table, take)
            except _OTHER_COLUMNS as error:
                self.failure = error

    def _flush(self, table: TableRows, take: Take) -> None:
        batch = table.batch()
        changes = [change for count, change in self._changes for _ in range(count)]
        self._changes = []
        data, partial = self._typed(batch)
        operations = batch.column("_op").to_pylist()
        are_after = [image == "after" for image in batch.column("_image").to_pylist()]
        lack_key = self._lack_key(batch)
        take(LoggedImages(data, partial, operations, are_after, changes, lack_key))

    def add_all(self, images: LoggedImages, add: Add) -> None:
        """Let `add` have images, as digests."""
        keys = digest_pairs(self._mapping.keys(images.data))
        rows: list[Value] = list(self._mapping.values(images.data))
        for place in np.flatnonzero(images.partial).tolist():
            rows[place] = UNKNOWN
        place = 0
        while place < len(rows):
            key, row, change = keys[place], rows[place], images.changes[place]
            if images.operations[place] == "insert":
                add(key, None, row, change)
            elif images.operations[place] == "delete":
                add(key, row, None, change)
            else:
                place += 1
                other, after = keys[place], rows[place]
                # An image may lack the key if it did not change.
                if other == key or images.lack_key[place]:
                    add(key, row, after, change)
                else:
                    add(key, row, None, change)
                    add(other, None, after, change)
            place += 1

    def _lack_key(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        names = {self._name_in(batch, name) for name in self._mapping.key}
        every = batch.column("_absent").to_pylist()
        return np.array([bool(absent) and bool(names & set(absent)) for absent in every], np.bool_)

    def _typed(self, batch: pa.RecordBatch) -> tuple[pa.Table, NDArray[np.bool_]]:
        """Return the compared columns, and which images lack some of them."""
        arrays = []
        partial = np.zeros(batch.num_rows, np.bool_)
        names = {}
        for name, pair in self._mapping.pairs.items():
            own = self._name_in(batch, name)
            names[own] = name
            values = batch.column(own)
            arrays.append(pair.limited(_stored(pair.column, values, pair.form.kind)))
        for place, absent in enumerate(batch.column("_absent").to_pylist()):
            if absent and not names.keys().isdisjoint(absent):
                partial[place] = True
        return pa.Table.from_arrays(arrays, names=list(self._mapping.pairs)), partial

    def _name_in(self, batch: pa.RecordBatch, name: str) -> str:
        """Return the name of a column in a batch: its own, or its place."""
        own: str = batch.schema.names[self._places[name] + _FIRST_COLUMNS]
        return own


def _names(table_map: TableMapEvent) -> list[str]:
    """Return names of columns for a batch; one that a batch has anyway becomes its place."""
    return [
        f"@{place}" if name in CHANGE_NAMES else name
        for place, name in enumerate(column_names(table_map), 1)
    ]


def _stored(column: SchemaColumn, values: pa.Array, kind: pa.DataType) -> pa.ChunkedArray:
    """Return values of the log as a SELECT returns them, in the compared type."""
    stored = ColumnType.of_source(column).stored
    bits = _BITS.get(column["type"])
    if bits is not None and column.get("unsigned") and pa.types.is_signed_integer(values.type):
        numbers = values.cast(pa.int64())
        values = pa.array(
            [None if v is None else v % (1 << bits) for v in numbers.to_pylist()], pa.uint64()
        )
    is_bytes = pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)
    if is_bytes and column["type"] in ("char", "varchar", "text"):
        # The log does not tell character sets, but the definition does.
        decode = character_decoder(column.get("charset") or "utf8mb4")
        values = pa.array(
            [None if v is None else decode(v) for v in values.to_pylist()], pa.string()
        )
    form = forms.forms_of(column, values.type)[0]
    own = form.decoded(values).values.cast(stored)
    return forms.of_source(column, pa.chunked_array([own]), kind)
