"""The forms that programs give a value of MySQL, and how each becomes the source's value again.

One column has one form in all of its rows: a DECIMAL is a decimal, a text, a double, or the bytes
of Debezium in base64. `forms_of` returns the forms that a column of the target may have, the most
usual one first; which one it has is decided by its rows (`column_mapping`).

A value that is none of the source's type is *unfit*: it differs from every value. So is a time
after the year 9999, which MySQL, and Python, cannot have, and a TIME of 839 hours.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from connector.foundation.contract import SchemaColumn
from stream_jobs.source.column_types import ColumnType
from verification.foreign import number_forms, text_forms, time_forms
from verification.foreign.form_parts import Reading

# Arrow has no equality of their values, or programs write them in too many ways.
_NOT_COMPARED: Final = frozenset({"geometry", "vector"})

_READINGS: Final[dict[str, Callable[[SchemaColumn, pa.DataType], Sequence[Reading]]]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint"), number_forms.integer),
    "year": number_forms.year,
    "decimal": number_forms.decimal,
    "float": number_forms.floating,
    "double": number_forms.floating,
    "bit": number_forms.bit,
    **dict.fromkeys(("char", "varchar", "text"), text_forms.text),
    "enum": text_forms.enum,
    "set": text_forms.label_set,
    **dict.fromkeys(("binary", "varbinary", "blob"), text_forms.binary),
    "json": text_forms.json,
    "date": time_forms.date,
    "datetime": time_forms.moment,
    "timestamp": time_forms.moment,
    "time": time_forms.clock,
}


# What a reading, or Arrow, says of a value that is none of the source's type.
_UNFIT: Final = (ValueError, TypeError, ArithmeticError, KeyError, pa.ArrowException)


class Decoded(NamedTuple):
    """Values of a column in the compared type."""

    values: pa.Array  # NULL where a value is unfit
    unfit: NDArray[np.bool_] | None  # None: every value fits


class Form(NamedTuple):
    """How one column of a target is read."""

    name: str  # as the report and the TOML file have it
    kind: pa.DataType  # of the values that are compared
    reading: Reading

    def decoded(self, values: pa.ChunkedArray | pa.Array) -> Decoded:
        """Return the values of a column of the target."""
        array = _one(values)
        if self.reading.of_array is not None:
            try:
                found = _cast(self.reading.of_array(array), self.kind)
            except pa.ArrowException:
                pass  # some value does not fit: each is tried alone
            else:
                return _within_calendar(found)
        return self._one_by_one(array)

    def _one_by_one(self, array: pa.Array) -> Decoded:
        unfit = np.zeros(len(array), np.bool_)
        found: list[object] = []
        for place, scalar in enumerate(_python_values(array)):
            own = None
            try:
                value = scalar.as_py() if isinstance(scalar, pa.Scalar) else scalar
                if value is not None:
                    own = self.reading.of_value(value)
            except _UNFIT:
                unfit[place] = True
            found.append(own)
        try:
            values = pa.array(found, self.kind)
        except _UNFIT:
            values = self._fitting(found, unfit)
        return _within_calendar(values, unfit)

    def _fitting(self, found: list[object], unfit: NDArray[np.bool_]) -> pa.Array:
        """Return the values that the type has, and mark the others."""
        for place, value in enumerate(found):
            try:
                pa.scalar(value, self.kind)
            except _UNFIT:
                found[place], unfit[place] = None, True
        return pa.array(found, self.kind)


def compared_type(column: SchemaColumn, kind: pa.DataType) -> pa.DataType | None:
    """Return the type in which a column of the source is compared with one of the type `kind`.

    None for a type that is not compared.
    """
    if column["type"] in _NOT_COMPARED:
        return None
    is_long = column["type"] == "decimal" and column["precision"] > number_forms.DOUBLE_DIGITS
    if is_long and pa.types.is_floating(kind):
        return pa.float64()
    return ColumnType.of_source(column).stored


def forms_of(column: SchemaColumn, kind: pa.DataType) -> list[Form]:
    """Return the forms that values of a column may have in a type of Arrow; [] if it has none."""
    compared = compared_type(column, kind)
    if compared is None:
        return []
    return [
        Form(reading.name, compared, reading) for reading in _READINGS[column["type"]](column, kind)
    ]


def of_source(column: SchemaColumn, values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return values of the source, as the mirror has them, in the type in which they are compared.

    Documents are written in one way.
    """
    if column["type"] == "json":
        return pa.chunked_array([text_forms.documents(_one(values))])
    if values.type == kind:
        return values
    # Decimals with more digits than a double has: the nearest double.
    return pa.chunked_array([pc.cast(_one(values), kind, safe=False)])


def measured(column: SchemaColumn, values: pa.Array) -> pa.Array:
    """Return values in the compared type so that they have distances: a TIME is a text there."""
    return time_forms.microseconds_of_clocks(values) if column["type"] == "time" else values


_US_DIGITS: Final = 6


def limited(values: pa.Array, digits: int) -> pa.Array:
    """Return values with so many digits after the point: numbers rounded, and times cut."""
    kind = values.type
    if pa.types.is_timestamp(kind):
        if digits >= _US_DIGITS:
            return values
        # Towards the past, also before 1970.
        return pc.floor_temporal(values, 10 ** (_US_DIGITS - digits), "microsecond")
    if pa.types.is_floating(kind):
        return pc.round(values, digits)
    if pa.types.is_decimal(kind) and digits < kind.scale:
        return pc.round(values, digits).cast(kind)
    return values


_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)


def _within_calendar(values: pa.Array, unfit: NDArray[np.bool_] | None = None) -> Decoded:
    """Return values, the times among them that MySQL cannot have as unfit."""
    kind = values.type
    if pa.types.is_date(kind):
        first, last = pa.scalar(_FIRST.date(), kind), pa.scalar(_LAST.date(), kind)
    elif pa.types.is_timestamp(kind):
        first, last = (pa.scalar(each, pa.timestamp("us")).cast(kind) for each in (_FIRST, _LAST))
    else:
        return Decoded(values, unfit if unfit is not None and unfit.any() else None)
    is_outside = pc.or_(pc.less(values, first), pc.greater(values, last)).fill_null(False)
    outside = is_outside.to_numpy(zero_copy_only=False)
    if outside.any():
        values = pc.if_else(is_outside, pa.scalar(None, kind), values)
    unfit = outside if unfit is None else unfit | outside
    return Decoded(values, unfit if unfit.any() else None)


def _python_values(values: pa.Array) -> Sequence[object]:
    """Return values as Python has them; as scalars if it lacks one of them."""
    try:
        found: list[object] = values.to_pylist()
    except _UNFIT:
        return list(values)
    return found


def shown_rows(rows: pa.Table) -> list[dict[str, object]]:
    """Return rows for people: the values of Python, and texts in columns with one that it lacks."""
    columns = []
    for values in map(_one, rows.columns):
        try:
            columns.append(values.to_pylist())
        except _UNFIT:
            columns.append([_text_of(values.slice(place, 1)) for place in range(len(values))])
    names = rows.column_names
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _text_of(value: pa.Array) -> str | None:
    if value.null_count:
        return None
    try:
        text: str = value.cast(pa.string())[0].as_py()
    except pa.ArrowException:
        text = value.to_string(skip_new_lines=True)  # lists and structures have no text
    return text


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return values if values.type == kind else values.cast(kind)


def _one(values: pa.ChunkedArray | pa.Array) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
        if isinstance(values, pa.ChunkedArray):
            values = values.chunk(0) if values.num_chunks else pa.nulls(0, values.type)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values
