"""The checksums of a certificate, which MySQL, MariaDB, DuckDB and Arrow compute alike.

The hash of a row is the SHA-256 of its text (`verification.row_text`). The checksums of a range are
the number of its rows and two sums: of the first 64 bits of the hashes, and of the next 64 bits, as
numbers without a sign. Sums count rows that are there several times, do not depend on an order,
need no memory on a server, and changes can be taken back from them.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from connector.stream.source.information_schema import Row
from stream_jobs.errors import MirrorError
from verification.certificate import certificate_errors
from verification.key_ranges import GREATEST, LEAST, KeyNumber, KeyRanges, numbers_of
from verification.row_text import MirrorText, RowText, duckdb_name

ROWS_OF_A_RANGE: Final = 2000
# Ranges of one SELECT.
_RANGES_OF_A_SELECT: Final = 10
# The first digit of each part of the hash that is summed, and how many there are.
_FIRST_DIGITS: Final = (1, 17)
_DIGITS: Final = 16
# The name of the table in the SQL of DuckDB. Columns of a mirror never have these prefixes.
VIEW: Final = "certified"
_PART: Final = "_cdc_part"
_LOW: Final = "_cdc_low"

IN_WORDS: Final = (
    "Of each range of keys: the number of rows, and the sums of the first and of the second 64 "
    "bits of the SHA-256 of each row's text, as whole numbers without a sign. A row's text has its "
    "columns in the order of the SQL: numbers and times as they are printed, then the lengths of "
    "texts and bytes, then these themselves in UTF-8, separated by commas. NULL is N."
)
SOURCE_SETUP: Final = ("SET NAMES utf8mb4", "SET time_zone = '+00:00'", "SET sql_mode = ''")
TABLE_SETUP: Final = ("SET TimeZone = 'UTC'",)

_HALF: Final = np.uint64(32)
_LOW_HALF: Final = np.uint64(0xFFFFFFFF)


class Sums:
    """The checksums of some ranges."""

    def __init__(self, count: int) -> None:
        """Begin with no rows."""
        self.rows = np.zeros(count, np.int64)
        # Of each part of the hash, both halves: no sum of 2^31 rows is too large.
        self._halves = np.zeros((2 * len(_FIRST_DIGITS), count), np.int64)

    def add(self, places: NDArray[np.intp], texts: Iterable[list[bytes]], *, sign: int = 1) -> None:
        """Add rows to the ranges at `places`, or take them away with the sign -1."""
        numbers = hashes(texts)
        np.add.at(self.rows, places, sign)
        for part in range(len(_FIRST_DIGITS)):
            own = numbers[:, part]
            for half, values in enumerate((own >> _HALF, own & _LOW_HALF)):
                np.add.at(self._halves[2 * part + half], places, sign * values.astype(np.int64))

    def totals(self, place: int) -> list[str]:
        """Return the sums of a range, as a server prints them."""
        halves = self._halves[:, place].tolist()
        pairs = zip(halves[::2], halves[1::2], strict=True)
        return [str((high << 32) + low) for high, low in pairs]

    def take(self, place: int, rows: int, totals: Iterable[int]) -> None:
        """Take the checksums of a range as a server has computed them."""
        self.rows[place] = rows
        self._halves[:, place] = [half for n in totals for half in (n >> 32, n & 0xFFFFFFFF)]

    def __len__(self) -> int:
        """Return how many ranges there are."""
        return len(self.rows)


def hashes(texts: Iterable[list[bytes]]) -> NDArray[np.uint64]:
    """Return the summed parts of the hashes of rows: a row for each text, a column for each."""
    sha256 = hashlib.sha256
    digests = b"".join(sha256(text).digest() for some in texts for text in some)
    parts = np.frombuffer(digests, ">u8").reshape(-1, 4)[:, : len(_FIRST_DIGITS)]
    return parts.astype(np.uint64)


def places_of(rows: pa.Table, key: str | None, ranges: KeyRanges) -> NDArray[np.intp]:
    """Return the ranges of rows of a mirror; without the column `key`, there is one range."""
    if key is None:
        return np.zeros(rows.num_rows, np.intp)
    return ranges.places(numbers_of(rows[key]))


class SourceSql:
    """The statements for one table of the source."""

    def __init__(self, table: str, key: KeyNumber | None, text: RowText) -> None:
        """Name `table` as SQL does; without the number of a key, there is one range."""
        self._table = table
        self._key = key
        # A text longer than max_allowed_packet is NULL, and the sums of the certificate lack it.
        self._counted = f"COUNT({text.sql}) AS texts"
        hashed = f"SHA2({text.sql}, 256)"
        parts = [f"SUBSTR({hashed}, {first}, {_DIGITS})" for first in _FIRST_DIGITS]
        self._sums = ", ".join(
            f"SUM(CAST(CONV({part}, 16, 10) AS UNSIGNED)) AS sum_{number}"
            for number, part in enumerate(parts, 1)
        )

    def whole(self, ranges: KeyRanges) -> str:
        """Return one statement for all rows of the table."""
        return self._select(ranges, self._sums, "")

    def parts(self, ranges: KeyRanges) -> Iterator[tuple[slice, str]]:
        """Yield statements for some ranges each, and the places of these ranges.

        They also count the texts, for `take_rows`.
        """
        fields = f"{self._sums}, {self._counted}"
        if self._key is None:
            yield slice(0, 1), self._select(ranges, fields, "")
            return
        for places in ranges.runs(_RANGES_OF_A_SELECT):
            some = ranges.take(places)
            where = self._key.between(int(some.low[0]), int(some.high[-1]))
            yield places, self._select(some, fields, f" WHERE {where}")

    def _select(self, ranges: KeyRanges, fields: str, where: str) -> str:
        place = "0"
        if self._key is not None and len(ranges) > 1:
            bounds = ", ".join(str(self._key.literal(low)) for low in ranges.low[1:].tolist())
            place = f"INTERVAL({self._key.expression}, {bounds})"
        return (
            f"SELECT {place} AS part, COUNT(*) AS found, {fields} FROM {self._table}{where} "  # noqa: S608 - quoted names
            "GROUP BY 1 ORDER BY 1"
        )


def take_rows(sums: Sums, places: slice, rows: Iterable[Row], table: str) -> int:
    """Take what a statement for the ranges at `places` returned; return the number of rows.

    Raises MirrorError if a row of `table` is too long for a text at the source.
    """
    count = 0
    for row in rows:
        found = int(row["found"] or 0)
        if int(row["texts"] or 0) != found:
            raise MirrorError(certificate_errors.TOO_LONG, table=table)
        totals = (int(row[f"sum_{number}"] or 0) for number, _ in enumerate(_FIRST_DIGITS, 1))
        sums.take(places.start + int(row["part"] or 0), found, totals)
        count += found
    return count


def duckdb_sql(
    text: MirrorText, key: tuple[str, KeyNumber] | None, ranges: KeyRanges, where: str
) -> str:
    """Return the statement of DuckDB for the view of a table; `where` chooses current rows."""
    hashed = f"sha256({text.duckdb})"
    sums = ", ".join(
        f"SUM(CAST('0x' || substr({hashed}, {first}, {_DIGITS}) AS UBIGINT)) AS sum_{number}"
        for number, first in enumerate(_FIRST_DIGITS, 1)
    )
    part, join = "0", ""
    if key is not None and len(ranges) > 1:
        name, number = key
        lows = ", ".join(str(number.literal(low)) for low in ranges.low[1:].tolist())
        part = f"coalesce({_PART}, 0)"
        join = (
            f" ASOF LEFT JOIN (SELECT unnest(range(1, {len(ranges)})) AS {_PART}, "
            f"unnest([{lows}]) AS {_LOW}) ON {duckdb_name(name)} >= {_LOW}"
        )
    return (
        f"SELECT {part} AS part, COUNT(*) AS found, {sums} FROM {VIEW}{join}"  # noqa: S608 - quoted names
        f"{where} GROUP BY 1 ORDER BY 1"
    )


def bounds_of(
    ranges: KeyRanges, key: KeyNumber | None, place: int
) -> tuple[str | None, str | None]:
    """Return the least and the greatest key of a range; None without a bound."""
    if key is None:
        return None, None
    low, high = int(ranges.low[place]), int(ranges.high[place])
    return (
        None if low == LEAST else str(key.literal(low)),
        None if high == GREATEST else str(key.literal(high)),
    )


def ranges_of(bounds: Iterable[tuple[str | None, str | None]], key: KeyNumber | None) -> KeyRanges:
    """Return the ranges that `bounds_of` was asked for."""
    if key is None:
        return KeyRanges.whole()
    pairs = [
        (
            LEAST if low is None else key.number(int(low)),
            GREATEST if high is None else key.number(int(high)),
        )
        for low, high in bounds
    ]
    numbers = np.array(pairs, np.int64).reshape(-1, 2)
    return KeyRanges(numbers[:, 0].copy(), numbers[:, 1].copy())
