"""The parts of a table that are read side by side: ranges of the first column of its key.

No rows are counted. The part with most rows, as the server's optimiser estimates them from the
index, is split at a key that the server finds there, again and again:

    first key ─── a value between both ─── last key        of the part
                      ▼
                 the next key that exists: the next part begins with it

Only the server compares keys, so the parts are right for every collation. A value between two
others is a guess that only has to be good for speed.
"""

import heapq
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import count
from typing import Final

from connector.foundation.contract import INTEGER_TYPES
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
        border = keys.border(part) if -rows >= (1 + _LEAST_SHARE) * rows_of_a_part else None
        if border is None:
            found.append(part)
            continue
        for half in (LoadPart(part.low, border), LoadPart(border, part.high)):
            heapq.heappush(left, (-keys.estimated(half), next(numbers), half))
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

    def estimated(self, part: LoadPart) -> int:
        """Return about how many rows a part has."""
        conditions = self._conditions(part)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        # Newer servers have another format by default.
        sql = f"EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM {self._table.quoted_name}{where}"  # noqa: S608 - quoted names
        rows = self._session.query(sql)
        # The optimiser knows that there are none if it does not say how many.
        return int(rows[0]["rows"] or 0) if rows else 0

    def border(self, part: LoadPart) -> str | None:
        """Return the literal of a key in the middle of a part, which is not its first one."""
        first, last = self._key(part, ()), self._key(part, (), "DESC")
        if first is None or last is None or first == last:
            return None
        after = f"{self._column.expression} > {self._column.literal(first)}"
        for guess in guesses(self._column, first, last):
            at = f"{self._column.expression} >= {guess}"
            key = self._key(part, (after, at))
            if key is not None and key != last:
                return self._column.literal(key)
        return self._column.literal(last)

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


def guesses(column: KeyColumn, first: bytes, last: bytes) -> Iterator[str]:
    """Yield literals between two keys, the best one first; none for types without a middle."""
    if column.packed_type or column.type in ("binary", "varbinary"):
        yield column.literal(_between_bytes(first, last))
        return
    if column.type in ("char", "varchar"):
        for text in _between_texts(first, last):
            yield column.literal(text)
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


def _between_bytes(first: bytes, last: bytes) -> bytes:
    place = _difference(first, last)
    parts = (each[place : place + _COUNTED].ljust(_COUNTED, b"\0") for each in (first, last))
    low, high = (int.from_bytes(part, "big") for part in parts)
    return first[:place] + ((low + high + 1) // 2).to_bytes(_COUNTED, "big")[: len(last) - place]


def _between_texts(first: bytes, last: bytes) -> Iterator[bytes]:
    """Yield texts of ASCII between two keys, as far as their bytes say that."""
    place = _difference(first, last)
    prefix = last[:place]
    low = first[place] if place < len(first) else 0x20
    high = last[place] if place < len(last) else 0x20
    low, high = sorted((min(low, 0x7E), min(high, 0x7E)))
    middle = (low + high + 1) // 2
    if middle > low:
        yield prefix + bytes([middle])
    # Both begin alike: what follows decides.
    for byte in b"8Tm":
        yield prefix + bytes([low, byte])


def _difference(first: bytes, last: bytes) -> int:
    """Return the place of the first byte that differs."""
    pairs = enumerate(zip(first, last, strict=False))
    differing = (place for place, (one, other) in pairs if one != other)
    return next(differing, min(len(first), len(last)))
