"""Converts row images of changes to typed rows of the mirror."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from connector.foundation.contract import SchemaColumn
from stream_jobs.apply.changes import DELETE, READ, Changes
from stream_jobs.apply.column_values import ZeroDates, stored_columns
from stream_jobs.apply.row_images import SOURCE, read_images
from stream_jobs.apply.table_failures import InvalidRecordError
from stream_jobs.apply.task_messages import RecordMapping
from stream_jobs.delta.columns import Column
from stream_jobs.source.column_types import ColumnType
from stream_jobs.source.sequence import HI, LO
from stream_jobs.source.table_schema import TableSchema

# The last microsecond of the year 9999, after which the calendars of readers end.
_LAST_US = 253_402_300_799_999_999


@dataclass(frozen=True)
class Rows:
    """Rows, or keys alone, with the sequences of their changes under HI and LO."""

    data: pa.Table
    places: NDArray[np.intp]  # of the records that they come from
    source: pa.ChunkedArray  # when the source committed them: STRUCT<ts_ms, ts_us>

    @cached_property
    def source_ts_ms(self) -> int | None:
        """When the source committed the latest of them."""
        return _latest(self.source)

    def streamed_ts_ms(self, ops: NDArray[np.uint8]) -> int | None:
        """Return the same without copied rows; `ops` are those of all records."""
        are_streamed = ops[self.places] != READ
        if are_streamed.all():
            return self.source_ts_ms
        return _latest(self.source.filter(pa.array(are_streamed)))

    @property
    def times(self) -> pa.ChunkedArray:
        """When the source committed each: microseconds since 1970."""
        return commit_times(self.source)


def _latest(source: pa.ChunkedArray) -> int | None:
    times = [chunk.flatten()[0] for chunk in source.chunks]
    known = [own.drop_null() if own.null_count else own for own in times]
    return max((int(own.to_numpy().max()) for own in known if len(own)), default=None)


def commit_times(source: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the microseconds of STRUCT<ts_ms, ts_us>; NULL if no calendar has such a time."""
    ms, us = (pc.struct_field(source, [place]) for place in range(2))
    times = pc.coalesce(us, pc.multiply(ms, 1000))
    return pc.if_else(pc.less_equal(pc.abs(times), _LAST_US), times, None)


def timestamps(times: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return microseconds since 1970 as TIMESTAMP."""
    return times.cast(pa.timestamp("us", "UTC"))


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads images of changes as rows with the columns of a mirror."""

    changes: Changes
    parses: Mapping[str, RecordMapping]
    target: TableSchema
    # By column of the mirror, the type in which its values are written.
    types: Mapping[str, pa.DataType]
    # Whether rows from before ADD COLUMN get the value that the server gave them.
    is_filling: bool
    zero_dates: ZeroDates

    def rows(self, places: NDArray[np.intp], image: str, columns: Sequence[Column]) -> Rows:
        """Return `columns` of the image `before` or `after` of the records at `places`.

        Raises InvalidRecordError for the first record that is wrong.
        """
        groups = [(part, parse, parse.schema.columns) for part, parse in self._by_schema(places)]
        return self._rows(groups, image, columns)

    def keys(self, places: NDArray[np.intp], columns: Sequence[Column]) -> Rows:
        """Return the key, which is `columns`, in the image `before` of the records at `places`.

        Raises InvalidRecordError for the first record that is wrong.
        """
        names = [column.name for column in columns]
        groups = [
            (part, parse, [parse.schema.by_name[name] for name in names])
            for part, parse in self._by_schema(places)
        ]
        return self._rows(groups, "before", columns)

    def own_keys(self, places: NDArray[np.intp], columns: Sequence[Column]) -> Rows:
        """Return `columns` of records whose image `before` is the key that the table had then.

        Raises as `keys`.
        """
        groups = [
            (part, parse, [parse.schema.by_name[name] for name in parse.schema.key])
            for part, parse in self._by_schema(places)
        ]
        return self._rows(groups, "before", columns)

    def _by_schema(self, places: NDArray[np.intp]) -> list[tuple[NDArray[np.intp], RecordMapping]]:
        groups = self.changes.by_schema(places)
        return [(own, self.parses[schema_id]) for schema_id, own in groups]

    def _rows(
        self,
        groups: Sequence[tuple[NDArray[np.intp], RecordMapping, Sequence[SchemaColumn]]],
        image: str,
        columns: Sequence[Column],
    ) -> Rows:
        """Return `columns` of the image of records; a group has the columns that its image has."""
        names = [*(column.name for column in columns), HI, LO]
        tables, sources = [], []
        for places, parse, own in groups:
            parsed, source = self._read(places, image, own, parse)
            completed = [self._completed(column, parsed, parse, len(places)) for column in columns]
            sequences = self.changes.sequences
            pair = pa.array(sequences.hi[places]), pa.array(sequences.lo[places])
            tables.append(pa.Table.from_arrays([*completed, *pair], names=names))
            sources.append(source)
        if not tables:
            kinds = [*(self.types[column.name] for column in columns), pa.int64(), pa.int64()]
            empty = pa.schema(list(zip(names, kinds, strict=True))).empty_table()
            return Rows(empty, np.zeros(0, np.intp), pa.chunked_array([], SOURCE))
        if len(tables) == 1:
            # Mostly.
            return Rows(tables[0], groups[0][0], sources[0])
        chunks = [chunk for source in sources for chunk in source.chunks]
        every = np.concatenate([places for places, _, _ in groups])
        return Rows(pa.concat_tables(tables), every, pa.chunked_array(chunks, SOURCE))

    def _read(
        self,
        places: NDArray[np.intp],
        image: str,
        columns: Sequence[SchemaColumn],
        parse: RecordMapping,
    ) -> tuple[dict[str, pa.ChunkedArray], pa.ChunkedArray]:
        """Return the stored columns of an image by their names in the mirror, and the times."""
        values = [self.changes.values[place] or b"" for place in places.tolist()]
        try:
            images = read_images(values, image, columns, parse.schema.schema_id)
            stored = stored_columns(images, columns, self.zero_dates)
        except InvalidRecordError as error:
            raise InvalidRecordError(int(places[error.place]), error.why) from error
        names = [parse.renamed.get(column["name"], column["name"]) for column in columns]
        return dict(zip(names, stored, strict=True)), images.source

    def _completed(
        self, column: Column, parsed: Mapping[str, pa.ChunkedArray], parse: RecordMapping, rows: int
    ) -> pa.ChunkedArray:
        """Return the values of a column of the mirror in rows that may not have it."""
        name = column.name
        kind = self.types[name]
        if name in parsed:
            values = parsed[name]
            return values if values.type == kind else values.cast(kind)
        origin = parse.added.get(name, self.target.by_name.get(name))
        if origin is None or not self.is_filling:
            return pa.chunked_array([pa.nulls(rows, kind)])
        value = literal(origin, origin.get("added_default")).cast(kind)
        return pa.chunked_array([pa.repeat(value, rows)])


def split(changes: Changes, places: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of inserts and updates, and those of deletes."""
    are_deletes = changes.ops[places] == DELETE
    return places[~are_deletes], places[are_deletes]


def literal(column: SchemaColumn, value: object) -> pa.Scalar:
    """Return a value in the JSON form of `column` as its stored type; NULL if it does not fit."""
    kind = ColumnType.of(column).stored
    nullable = column.copy()
    nullable["nullable"], nullable["key"] = True, 0
    text = json.dumps({"after": {column["name"]: value}}).encode()
    try:
        images = read_images([text], "after", [nullable], "")
        return stored_columns(images, [nullable], "null")[0][0]
    except InvalidRecordError:
        return pa.scalar(None, kind)
