"""Ranges of an integer key: a table is compared range by range.

Here are the ranges themselves, their conditions in SQL, a random sample of them (the same seed
makes the same choice), and the ranges that are equal already and need no checksum in this pass.

Keys are signed numbers of 64 bits. BIGINT UNSIGNED keys are moved down by 2^63, which keeps
their order.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from connector.foundation.contract import INTEGER_TYPES, SchemaColumn
from connector.stream.source.selected_table import KeyColumn

Numbers = NDArray[np.int64]


LEAST: Final = int(np.iinfo(np.int64).min)
GREATEST: Final = int(np.iinfo(np.int64).max)
_OF_UNSIGNED: Final = 1 << 63
# Each boundary is one of so many keys; a range then has about as many rows as another.
_KEYS_OF_A_BOUNDARY: Final = 8
_RANGES_MAX: Final = 1 << 19
_RANGES_OF_A_CONDITION: Final = 100


def range_rows(rows: int, wanted: int) -> int:
    """Return about how many rows each range has if a table with so many is divided."""
    return max(wanted, rows // _RANGES_MAX)


def numbers_of(keys: pa.ChunkedArray) -> Numbers:
    """Return the numbers of the values of a key's column in the mirror."""
    if pa.types.is_integer(keys.type):
        own: Numbers = keys.fill_null(0).to_numpy().astype(np.int64, copy=False)
        return own
    # BIGINT UNSIGNED is a decimal of 128 bits, without a sign.
    parts = [
        np.frombuffer(chunk.buffers()[1], "<u8")[2 * chunk.offset :][: 2 * len(chunk) : 2]
        for chunk in keys.chunks
        if len(chunk)
    ]
    unsigned = np.concatenate(parts) if parts else np.empty(0, np.uint64)
    return (unsigned ^ np.uint64(_OF_UNSIGNED)).view(np.int64)


@dataclass(frozen=True, slots=True)
class KeyRanges:
    """Ranges without a common key, in order: from a number of `low` to that of `high`."""

    low: Numbers
    high: Numbers

    @classmethod
    def whole(cls) -> Self:
        """Return one range with all keys."""
        return cls(np.array([LEAST]), np.array([GREATEST]))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.low)

    @property
    def are_all(self) -> bool:
        """Whether every key is in one of the ranges."""
        joined = self.joined()
        return len(joined) == 1 and (joined.low[0], joined.high[0]) == (LEAST, GREATEST)

    def take(self, places: NDArray[np.bool_] | slice) -> "KeyRanges":
        """Return some of the ranges."""
        return KeyRanges(self.low[places], self.high[places])

    def places(self, numbers: Numbers) -> NDArray[np.intp]:
        """Return for each number the place of its range; -1 if it is in none."""
        places = np.searchsorted(self.low, numbers, "right") - 1
        inside = (places >= 0) & (numbers <= self.high[places])
        range_numbers: NDArray[np.intp] = np.where(inside, places, -1)
        return range_numbers

    def divided(self, keys: Iterable[Numbers], rows: int, rows_of_a_range: int) -> "KeyRanges":
        """Return ranges with the same keys and about `rows_of_a_range` rows each.

        `keys` are those of the mirror, about `rows` of them in these ranges.
        """
        rows_of_a_range = range_rows(rows, rows_of_a_range)
        step = max(1, rows_of_a_range // _KEYS_OF_A_BOUNDARY)
        some = []
        before = 0
        for numbers in keys:
            inside = numbers[self.places(numbers) >= 0]
            some.append(inside[(-before) % step :: step])
            before += len(inside)
        sample = np.sort(np.concatenate(some)) if some else np.empty(0, np.int64)
        bounds = sample[_KEYS_OF_A_BOUNDARY::_KEYS_OF_A_BOUNDARY]
        low = np.union1d(self.low, bounds)
        # A range ends before the next one begins, or where it ended before it was divided.
        high = self.high[np.searchsorted(self.low, low, "right") - 1]
        has_next = np.append(low[1:] <= high[:-1], False)
        high = np.where(has_next, np.append(low[1:], 0) - 1, high)
        return KeyRanges(low, high)

    def joined(self) -> "KeyRanges":
        """Return the same keys in as few ranges as possible."""
        is_apart = self.low[1:] - 1 != self.high[:-1]
        begins, ends = np.append([True], is_apart), np.append(is_apart, [True])
        return KeyRanges(self.low[begins], self.high[ends]) if len(self) else self

    def runs(self, count: int) -> Iterator[slice]:
        """Yield the places of at most `count` ranges each, between which no key is left out."""
        if not len(self):
            return
        apart = np.flatnonzero(self.low[1:] != self.high[:-1] + 1) + 1
        edges = [0, *apart.tolist(), len(self)]
        for begin, end in pairwise(edges):
            for start in range(begin, end, count):
                yield slice(start, min(start + count, end))


@dataclass(frozen=True, slots=True)
class KeyNumber:
    """The column whose values are the numbers, in SQL."""

    expression: str
    is_unsigned: bool  # BIGINT UNSIGNED

    @classmethod
    def of(cls, column: KeyColumn, schema: SchemaColumn) -> Self | None:
        """Return the first column of a key; None if its values are no integers."""
        if column.type not in INTEGER_TYPES:
            return None
        return cls(column.expression, column.type == "bigint" and schema["unsigned"])

    def conditions(self, ranges: KeyRanges) -> Iterator[str]:
        """Yield the SQL for rows in any of the ranges, some ranges at a time."""
        ranges = ranges.joined()
        for start in range(0, len(ranges), _RANGES_OF_A_CONDITION):
            yield self.condition(ranges.take(slice(start, start + _RANGES_OF_A_CONDITION)))

    def condition(self, ranges: KeyRanges) -> str:
        """Return the SQL for rows in any of few ranges."""
        return " OR ".join(
            f"({self.between(low, high)})"
            for low, high in zip(ranges.low.tolist(), ranges.high.tolist(), strict=True)
        )

    def between(self, low: int, high: int) -> str:
        """Return the SQL for rows from one number to another."""
        conditions = []
        if low != LEAST:
            conditions.append(f"{self.expression} >= {self.literal(low)}")
        if high != GREATEST:
            conditions.append(f"{self.expression} <= {self.literal(high)}")
        return " AND ".join(conditions) or "TRUE"

    def number(self, value: object) -> int:
        """Return the number of a value of the column, in the type of the mirror."""
        assert isinstance(value, int | Decimal)
        return int(value) - _OF_UNSIGNED if self.is_unsigned else int(value)

    def literal(self, number: int) -> int:
        """Return the value of the column that has this number."""
        return number + _OF_UNSIGNED if self.is_unsigned else number


# So many are kept, each joined of neighbours: the file of a pass stays small.
_EQUAL_RANGES_MAX: Final = 10_000


class EqualRanges:
    """Collects the ranges of one table."""

    def __init__(self, ranges: KeyRanges, rows: NDArray[np.int64]) -> None:
        """Begin with some ranges and the number of rows in each."""
        # In one place: another thread may write the file of a pass meanwhile.
        self._known = ranges, rows
        # Called when there are more.
        self.on_more: Callable[[], None] = lambda: None

    @classmethod
    def none(cls) -> Self:
        """Begin with no range."""
        return cls.of_json({"low": [], "high": [], "rows": []})

    @classmethod
    def of_json(cls, document: dict[str, Any]) -> Self:
        """Read what `to_json` returned; raises KeyError, TypeError or ValueError for others."""
        low, high, rows = (np.array(document[name], np.int64) for name in ("low", "high", "rows"))
        if not len(low) == len(high) == len(rows):
            raise ValueError(len(low))
        return cls(KeyRanges(low, high), rows)

    def to_json(self) -> dict[str, Any]:
        """Return the ranges for a file."""
        kept = slice(0, _EQUAL_RANGES_MAX)
        ranges, rows = self._known
        names = (ranges.low, ranges.high, rows)
        return dict(
            zip(("low", "high", "rows"), (name[kept].tolist() for name in names), strict=True)
        )

    @property
    def rows(self) -> int:
        """How many rows are in the ranges."""
        return int(self._known[1].sum())

    def add(self, ranges: KeyRanges, rows: NDArray[np.int64]) -> None:
        """Add ranges with no key of those before, and the number of rows in each."""
        known, known_rows = self._known
        low = np.concatenate([known.low, ranges.low])
        high = np.concatenate([known.high, ranges.high])
        order = np.argsort(low)
        every = KeyRanges(low[order], high[order])
        counts = np.concatenate([known_rows, rows])[order]
        joined = every.joined()
        begins = np.searchsorted(every.low, joined.low)
        self._known = joined, np.add.reduceat(counts, begins) if len(begins) else counts
        self.on_more()

    def rest(self) -> KeyRanges:
        """Return the ranges with all other keys."""
        # As Python's numbers: the key before the least one is none of 64 bits.
        known = self._known[0]
        low = [LEAST, *(key + 1 for key in known.high.tolist())]
        high = [*(key - 1 for key in known.low.tolist()), GREATEST]
        left = [both for both in zip(low, high, strict=True) if both[0] <= both[1]]
        bounds = np.array(left, np.int64).reshape(-1, 2)
        return KeyRanges(bounds[:, 0].copy(), bounds[:, 1].copy())


@dataclass(frozen=True, slots=True)
class Sample:
    """How much is chosen, and by which seed."""

    percent: float
    seed: int

    def of(self, ranges: KeyRanges) -> KeyRanges:
        """Return so many of the ranges, one at least."""
        count = max(1, round(len(ranges) * self.percent / 100))
        chosen = np.zeros(len(ranges), np.bool_)
        chosen[np.random.default_rng(self.seed).choice(len(ranges), count, replace=False)] = True
        return ranges.take(chosen)
