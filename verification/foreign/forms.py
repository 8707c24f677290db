"""The forms that programs give a value of MySQL, and how each becomes the source's value again.

One column has one form in all of its rows: a DECIMAL is a decimal, a text, a double, or the bytes
of Debezium in base64. `forms_of` returns the forms that a column of the target may have, the most
usual one first; which one it has is decided by its rows (`column_mapping`).

A value that is none of the source's type is *unfit*: it differs from every value.
"""

from collections.abc import Callable, Sequence
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
                return Decoded(_cast(self.reading.of_array(array), self.kind), None)
            except pa.ArrowException:
                pass  # some value does not fit: each is tried alone
        return self._one_by_one(array)

    def _one_by_one(self, array: pa.Array) -> Decoded:
        unfit = np.zeros(len(array), np.bool_)
        found: list[object] = []
        for place, value in enumerate(array.to_pylist()):
            own = None
            if value is not None:
                try:
                    own = self.reading.of_value(value)
                except _UNFIT:
                    unfit[place] = True
            found.append(own)
        try:
            values = pa.array(found, self.kind)
        except _UNFIT:
            values = self._fitting(found, unfit)
        return Decoded(values, unfit if unfit.any() else None)

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
