"""The parts of a table that are read side by side: ranges of the first column of its key.

No rows are counted. The part with most rows, as the server's optimiser estimates them from the
index, is split at a key that the server finds there, again and again:

    first key ─── a value between both ─── last key        of the part
                      ▼
                 the next key that exists: the next part begins with it

Only the server compares keys, so the parts are right for every collation. A value between two
others is a guess that only has to be good for speed: if its halves are too unequal, or if the
server refuses it, the next guess is tried.
"""

import heapq
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from itertools import count
from typing import Final

from connector.binlog.character_sets import decode_leniently
from connector.foundation.contract import INTEGER_TYPES
from connector.foundation.errors import SourceRefused
from connector.replication.protocol.result_set import CellRows
from connector.stream.snapshot.keyset import select_rows
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import KeyColumn, SelectedTable
from stream_jobs.load.selected_columns import SelectedCells
from stream_jobs.tables.load_state import LoadPart

# Their state is in each commit of the load.
PARTS_MAX: Final = 64
# An estimate is rarely better.
_LEAST_SHARE: Final = 0.5
# Of the smaller half of a part: no other guess is tried.
_GOOD_SHARE: Final = 0.25


def key_parts(session: SelectSession, table: SelectedTable, rows_of_a_part: int) -> list[LoadPart]:
    """Return parts with about so many rows each, but not too many parts, in the order of the key.

    Raises the errors of the session.
    """
    keys = _Keys(session, table)
    numbers = count()
    whole = LoadPart()
    # By rows; a part that cannot be split is left alone.
    left = [(-keys.estimated(whole), next(numbers), whole)]
    found: list[LoadPart] = []
    while left and len(left) + len(found) < PARTS_MAX:
        rows, _, part = heapq.heappop(left)
        is_large = -rows >= (1 + _LEAST_SHARE) * rows_of_a_part
        halves = keys.halves(part, -rows) if is_large else []
        if not halves:
            found.append(part)
        for rows_of_half, half in halves:
            heapq.heappush(left, (-rows_of_half, next(numbers), half))
    return _in_order([*found, *(part for _, _, part in left)])


def _in_order(parts: list[LoadPart]) -> list[LoadPart]:
    """Return parts, each of which begins where another one ends."""
    after = {part.low: part for part in parts}
    ordered = [after[""]]
    while ordered[-1].high:
        ordered.append(after[ordered[-1].high])
    return ordered


class _Keys:
    """Asks the server for keys of a table."""

    def __init__(self, session: SelectSession, table: SelectedTable) -> None:
        self._session = session
        self._table = table
        self._column = table.order_columns[0]
        names = [column["name"] for column in table.schema.columns]
        self._place = names.index(self._column.name)
        self._charset = table.schema.columns[self._place].get("charset", "")

    def estimated(self, part: LoadPart) -> int:
        """Return about how many rows a part has."""
        conditions = self._conditions(part)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        # Newer servers have another format by default.
        sql = f"EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM {self._table.quoted_name}{where}"  # noqa: S608 - quoted names
        rows = self._session.query(sql)
        # The optimiser knows that there are none if it does not say how many.
        return int(rows[0]["rows"] or 0) if rows else 0

    def halves(self, part: LoadPart, rows: int) -> list[tuple[int, LoadPart]]:
        """Return the halves of a part with `rows`, and their rows; [] if it has only one key."""
        first, last = self._key(part, ()), self._key(part, (), "DESC")
        if first is None or last is None or first == last:
            return []
        after = f"{self._column.expression} > {self._column.literal(first)}"
        best: list[tuple[int, LoadPart]] = []
        smaller = -1
        for guess in guesses(self._column, self._charset, first, last):
            key: bytes | None = None
            # A character that the character set of the column does not have.
            with suppress(SourceRefused):
                key = self._key(part, (after, f"{self._column.expression} >= {guess}"))
            if key is None or key == last:
                continue
            found = self._halves(part, key)
            found_smaller = min(estimated for estimated, _ in found)
            if found_smaller > smaller:
                best, smaller = found, found_smaller
            if smaller >= _GOOD_SHARE * rows:
                break
        return best or self._halves(part, last)

    def _halves(self, part: LoadPart, key: bytes) -> list[tuple[int, LoadPart]]:
        border = self._column.literal(key)
        both = LoadPart(part.low, border), LoadPart(border, part.high)
        return [(self.estimated(half), half) for half in both]

    def _key(self, part: LoadPart, more: tuple[str, ...], order: str = "ASC") -> bytes | None:
        """Return the first key of a part that meets conditions."""
        sql = select_rows(self._table, [*self._conditions(part), *more], "")
        received = CellRows()
        expression = self._column.expression
        self._session.read_rows(f"{sql} ORDER BY {expression} {order} LIMIT 1", received)
        if not received.count:
            return None
        cells = SelectedCells(received, len(self._table.schema.columns))
        return cells.of_last([self._place])[0]

    def _conditions(self, part: LoadPart) -> list[str]:
        expression = self._column.expression
        conditions = [f"{expression} >= {part.low}"] if part.low else []
        return [*conditions, f"{expression} < {part.high}"] if part.high else conditions


def guesses(column: KeyColumn, charset: str, first: bytes, last: bytes) -> Iterator[str]:
    """Yield literals between two keys, the best one first; none for types without a middle.

    `charset` is MySQL's name of the character set of a text.
    """
    if column.packed_type or column.type in ("binary", "varbinary"):
        yield column.literal(_between_bytes(first, last))
        return
    if column.type in ("char", "varchar"):
        both = (decode_leniently(key, charset) for key in (first, last))
        for text in dict.fromkeys(_between_texts(*both)):
            # The server converts it to the character set of the column.
            yield f"_utf8mb4 X'{text.encode().hex()}'"
        return
    between = _BETWEEN.get(column.type)
    if between is not None:
        try:
            yield column.literal(between(first.decode("ascii"), last.decode("ascii")).encode())
        except (ValueError, OverflowError):
            # A zero date: no calendar has it.
            return


def _between_integers(first: str, last: str) -> str:
    return str((int(first) + int(last) + 1) // 2)


def _between_decimals(first: str, last: str) -> str:
    low, high = Decimal(first), Decimal(last)
    return format((low + high) / 2, f".{max(0, -int(low.as_tuple().exponent))}f")


def _between_days(first: str, last: str) -> str:
    low, high = date.fromisoformat(first), date.fromisoformat(last)
    return (low + (high - low) / 2).isoformat()


def _between_times(first: str, last: str) -> str:
    low, high = datetime.fromisoformat(first), datetime.fromisoformat(last)
    return (low + (high - low) / 2).isoformat(" ", "seconds")


_BETWEEN: Final[dict[str, Callable[[str, str], str]]] = {
    **dict.fromkeys(INTEGER_TYPES, _between_integers),
    "year": _between_integers,
    "decimal": _between_decimals,
    "date": _between_days,
    "datetime": _between_times,
    "timestamp": _between_times,
}
# Bytes after the first difference that count.
_COUNTED: Final = 8
_SURROGATES: Final = range(0xD800, 0xE000)


def _between_bytes(first: bytes, last: bytes) -> bytes:
    place = _difference(first, last)
    parts = (each[place : place + _COUNTED].ljust(_COUNTED, b"\0") for each in (first, last))
    low, high = (int.from_bytes(part, "big") for part in parts)
    return first[:place] + ((low + high + 1) // 2).to_bytes(_COUNTED, "big")[: len(last) - place]


def _between_texts(first: str, last: str) -> Iterator[str]:
    """Yield texts between two keys, as far as their characters say that."""
    # Some collations compare code points, others first the letters without case and accents.
    for low, high in ((first, last), (_letters(first), _letters(last))):
        place = _difference(low, high)
        yield high[:place] + _between_characters(low[place:] or " ", high[place:] or " ")
    # Both begin alike: what follows decides.
    place = _difference(first, last)
    for character in "8Tm":
        yield first[: place + 1] + character


def _between_characters(first: str, last: str) -> str:
    """Return a character between those with which two texts begin."""
    middle = (ord(first[0]) + ord(last[0]) + 1) // 2
    # Surrogates are no characters.
    return chr(_SURROGATES.stop if middle in _SURROGATES else middle)


def _letters(text: str) -> str:
    return "".join(unicodedata.normalize("NFD", character)[0] for character in text).upper()


def _difference(first: bytes | str, last: bytes | str) -> int:
    """Return the place of the first byte, or character, that differs."""
    pairs = enumerate(zip(first, last, strict=False))
    differing = (place for place, (one, other) in pairs if one != other)
    return next(differing, min(len(first), len(last)))
