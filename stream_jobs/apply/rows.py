"""The last changes of keys become typed rows of the mirror, and the keys that are deleted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from stream_jobs.apply.changes import DELETE
from stream_jobs.apply.envelopes import read_images
from stream_jobs.apply.problems import WrongRecordError
from stream_jobs.apply.values import stored_columns
from stream_jobs.column_types import ColumnType
from stream_jobs.sequence import HI, LO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from connector.contract import SchemaColumn
    from stream_jobs.apply.changes import Changes
    from stream_jobs.apply.facts import ParsedAs
    from stream_jobs.apply.values import ZeroDates
    from stream_jobs.table_schema import TableSchema


class Rows(NamedTuple):
    """Rows, or keys alone, with the sequences of their changes under HI and LO."""

    data: pa.Table
    source_ts_ms: int | None


def upserted_rows(
    changes: Changes,
    places: NDArray[np.intp],
    target: TableSchema,
    parses: Mapping[str, ParsedAs],
    zero_dates: ZeroDates,
) -> Rows:
    """Return the rows of the inserts and updates at `places`, with the columns of `target`.

    Raises WrongRecordError for the first record that is wrong.
    """
    groups = [
        (part, parse, parse.schema.columns) for part, parse in _by_schema(changes, places, parses)
    ]
    return _rows(changes, groups, "after", target.columns, zero_dates)


def deleted_keys(
    changes: Changes,
    places: NDArray[np.intp],
    target: TableSchema,
    parses: Mapping[str, ParsedAs],
    zero_dates: ZeroDates,
) -> Rows:
    """Return the keys of the deletes at `places`, in key order.

    Raises WrongRecordError for the first record that is wrong.
    """
    groups = [
        (part, parse, [parse.schema.by_name[name] for name in target.key])
        for part, parse in _by_schema(changes, places, parses)
    ]
    key = [target.by_name[name] for name in target.key]
    return _rows(changes, groups, "before", key, zero_dates)


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
    except WrongRecordError:
        return pa.scalar(None, kind)


def _by_schema(
    changes: Changes, places: NDArray[np.intp], parses: Mapping[str, ParsedAs]
) -> list[tuple[NDArray[np.intp], ParsedAs]]:
    numbers = changes.schemas[places]
    return [
        (places[numbers == number], parses[changes.schema_ids[number]])
        for number in np.unique(numbers).tolist()
    ]


def _rows(
    changes: Changes,
    groups: Iterable[tuple[NDArray[np.intp], ParsedAs, Sequence[SchemaColumn]]],
    image: str,
    columns: Sequence[SchemaColumn],
    zero_dates: ZeroDates,
) -> Rows:
    """Return `columns` of the image of records; a group has the columns that its image has."""
    names = [column["name"] for column in columns]
    found = []
    for places, parse, own in groups:
        values, latest = _read(changes, places, image, own, parse.schema.schema_id, zero_dates)
        completed = [_completed(each, values, parse.added, len(places)) for each in columns]
        found.append((_table(names, completed, changes, places), latest))
    return _joined(found, columns)


def _read(
    changes: Changes,
    places: NDArray[np.intp],
    image: str,
    columns: Sequence[SchemaColumn],
    schema_id: str,
    zero_dates: ZeroDates,
) -> tuple[dict[str, pa.ChunkedArray], int | None]:
    """Return the stored columns of an image by name, and the source's latest time."""
    values = [changes.values[place] or b"" for place in places.tolist()]
    try:
        images = read_images(values, image, columns, schema_id)
        stored = stored_columns(images, columns, zero_dates)
    except WrongRecordError as error:
        raise WrongRecordError(int(places[error.place]), error.why) from error
    names = [column["name"] for column in columns]
    return dict(zip(names, stored, strict=True)), images.source_ts_ms


def _completed(
    column: SchemaColumn,
    found: Mapping[str, pa.ChunkedArray],
    added: Mapping[str, SchemaColumn],
    rows: int,
) -> pa.ChunkedArray:
    """Return the values of a column of the mirror in rows that may not have it."""
    name, kind = column["name"], ColumnType.of(column).stored
    if name in found:
        values = found[name]
        return values if values.type == kind else values.cast(kind)
    origin = added.get(name, column)
    value = literal(origin, origin.get("added_default")).cast(kind)
    return pa.chunked_array([pa.repeat(value, rows)])


def _table(
    names: Sequence[str],
    columns: Sequence[pa.ChunkedArray],
    changes: Changes,
    places: NDArray[np.intp],
) -> pa.Table:
    sequences = [
        pa.array(changes.sequences.hi[places]),
        pa.array(changes.sequences.lo[places]),
    ]
    return pa.Table.from_arrays([*columns, *sequences], names=[*names, HI, LO])


def _joined(groups: Sequence[tuple[pa.Table, int | None]], columns: Sequence[SchemaColumn]) -> Rows:
    if not groups:
        fields = [(column["name"], ColumnType.of(column).stored) for column in columns]
        return Rows(pa.schema([*fields, (HI, pa.int64()), (LO, pa.int64())]).empty_table(), None)
    times = [time for _, time in groups if time is not None]
    return Rows(pa.concat_tables([table for table, _ in groups]), max(times, default=None))
