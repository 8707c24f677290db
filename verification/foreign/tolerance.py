"""Tolerance that a user has asked for: how far a number or a time of the target may be away.

Rounding both sides would not do: 0.4999 and 0.5001 round to two numbers. So such a column is left
out of the digest of a row, and its values stand beside it as numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from connector.foundation.contract import SchemaColumn
from verification.digests import Digest

Numbers = NDArray[np.float64]
_US: Final = 1_000_000
_DAY_US: Final = 86_400 * _US
_INTEGERS: Final = ("tinyint", "smallint", "mediumint", "int", "bigint", "year")
_NUMBERS: Final = frozenset({*_INTEGERS, "decimal", "float", "double"})
_TIMES: Final = frozenset({"date", "datetime", "timestamp"})
# Of a double: what a difference of two of them may be away from that of their decimals.
_SLACK: Final = 4 * float(np.finfo(np.float64).eps)


class Tolerance(NamedTuple):
    """How far two values of a column may be away from each other."""

    size: float
    is_seconds: bool = False

    def fits(self, column: SchemaColumn, kind: pa.DataType) -> bool:
        """Return whether values of a column, compared in a type, have such a distance."""
        if self.is_seconds:
            return column["type"] in _TIMES
        return column["type"] in _NUMBERS and not pa.types.is_string(kind)

    def near(self, own: Numbers, other: Numbers) -> NDArray[np.bool_]:
        """Return which numbers are not farther away from each other."""
        # Times are whole numbers, which have no slack.
        size, slack = (self.size * _US, 0.0) if self.is_seconds else (self.size, _SLACK)
        with np.errstate(invalid="ignore"):
            limit = size + slack * np.maximum(np.abs(own), np.abs(other))
            is_near = np.isfinite(own) & np.isfinite(other) & (np.abs(own - other) <= limit)
        near: NDArray[np.bool_] = is_near | (own == other)
        return near

    def __str__(self) -> str:
        """Return what the report says."""
        return f"{self.size:g} seconds" if self.is_seconds else f"{self.size:g}"


def numbers_of(values: pa.ChunkedArray | pa.Array) -> Numbers:
    """Return values as numbers, and times as microseconds; NULL is 0."""
    kind = values.type
    if pa.types.is_date(kind):
        days = values.cast(pa.date32()).cast(pa.int32()).fill_null(0).to_numpy()
        return np.asarray(days, np.float64) * _DAY_US
    if pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    return np.asarray(pc.cast(values, pa.float64(), safe=False).fill_null(0.0).to_numpy())


def distances_of(own: pa.Array, other: pa.Array) -> Numbers:
    """Return how far numbers or times are from others at their places; [] for other types.

    Pairs with a NULL, or a value that is no number, are left out.
    """
    types, kind = pa.types, own.type
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if not (is_number or types.is_date(kind) or types.is_timestamp(kind)):
        return np.zeros(0)
    both = pc.and_(own.is_valid(), other.is_valid())
    with np.errstate(invalid="ignore"):
        found = np.abs(numbers_of(own.filter(both)) - numbers_of(other.filter(both)))
    return np.asarray(found[~np.isnan(found)])


class Tolerances:
    """The tolerances of the columns of a table."""

    def __init__(self, of_columns: Mapping[str, Tolerance]) -> None:
        """Know them by the names of columns."""
        self.names: Sequence[str] = list(of_columns)
        self._every = list(of_columns.values())

    def exact(self, data: pa.Table) -> pa.Table:
        """Return rows with, in place of these columns, whether they have a value."""
        for name in self.names:
            place = data.column_names.index(name)
            data = data.set_column(place, name, pc.is_valid(data[name]))
        return data

    def numbers(self, data: pa.Table) -> Numbers:
        """Return the numbers of rows: a row for each, and a column for each of these columns."""
        if not self.names:
            return np.zeros((data.num_rows, 0))
        return np.column_stack([numbers_of(data[name]) for name in self.names])

    def near(self, own: Numbers, other: Numbers) -> NDArray[np.bool_]:
        """Return which rows are equal within the tolerance, by their numbers."""
        near = np.ones(len(own), np.bool_)
        for place, tolerance in enumerate(self._every):
            near &= tolerance.near(own[:, place], other[:, place])
        return near


@dataclass(frozen=True, slots=True, eq=False)
class NearRow:
    """A row: the digest of the columns that must be equal, and the numbers of the others."""

    digest: Digest
    numbers: Numbers  # one row
    tolerances: Tolerances

    def __eq__(self, other: object) -> bool:
        """Whether another row is equal within the tolerance."""
        if not isinstance(other, NearRow) or self.digest != other.digest:
            return False
        return bool(self.tolerances.near(self.numbers, other.numbers).all())

    # Rows that are equal to a third one need not be equal.
    __hash__ = None  # type: ignore[assignment]
