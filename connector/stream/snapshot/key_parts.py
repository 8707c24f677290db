"""The parts of a table that are read side by side: ranges of its key.

No rows are counted. The part with most rows, as the server's optimiser estimates them from the
index, is split at a key that the server finds there, again and again:

    first key ─── a value between both ─── last key        of the part
                      ▼
                 the next key that exists: the next part begins with it

The value is one of the first column in which the first and the last key differ: of `id` in the key
(tenant, id) if the part has one tenant. So a part begins with some columns of a key, and others
follow if there are too many rows after these.

Only the server compares keys, so the parts are right for every collation. A value between two
others is a guess that only has to be good for speed: if its halves are too unequal, or if the
server refuses it, the next guess is tried.
"""

import heapq
import struct
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Final

from connector.foundation.errors import SourceRefused
from connector.foundation.settings.sections import SnapshotSettings
from connector.replication.protocol.result_set import CellRows
from connector.stream.snapshot.key_guesses import guesses
from connector.stream.snapshot.keyset import in_bounds, key_order
from connector.stream.snapshot.table_state import KeyBounds
from connector.stream.snapshot.time_limits import time_limits
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable

# The state of all parts is written with the rows of each.
PARTS_MAX: Final = 64
# An estimate is rarely better.
_LEAST_SHARE: Final = 0.5
# Of the smaller half of a part: no other guess is tried.
_GOOD_SHARE: Final = 0.25
# Of the rows of a part, if its halves have fewer, by estimates: then these say nothing.
_KNOWN_SHARE: Final = 0.1


def key_parts(
    session: SelectSession,
    table: SelectedTable,
    settings: SnapshotSettings,
    rows_of_a_part: int,
    rows_min: int = 0,
) -> list[KeyBounds]:
    """Return parts with about so many rows each, but not too many parts, in the order of the key.

    The table has at least `rows_min` rows, whatever the server estimates. Raises the errors of the
    session, of `TIMEOUTS` if the server needs too long for a question.
    """
    keys = _Keys(session, table, settings)
    numbers = count()
    whole = KeyBounds()
    # By rows; a part that cannot be split is left alone.
    left = [(-max(rows_min, keys.estimated(whole)), next(numbers), whole)]
    found: list[KeyBounds] = []
    while left and len(left) + len(found) < PARTS_MAX:
        rows, _, part = heapq.heappop(left)
        is_large = -rows >= (1 + _LEAST_SHARE) * rows_of_a_part
        halves = keys.halves(part, -rows) if is_large else []
        if not halves:
            found.append(part)
        is_known = sum(estimated for estimated, _ in halves) >= _KNOWN_SHARE * -rows
        for estimated, half in halves:
            heapq.heappush(left, (-estimated if is_known else rows // 2, next(numbers), half))
    return _in_order([*found, *(part for _, _, part in left)])


def _in_order(parts: list[KeyBounds]) -> list[KeyBounds]:
    """Return parts, each of which begins where another one ends."""
    after = {part.low: part for part in parts}
    ordered = [after[()]]
    while ordered[-1].high:
        ordered.append(after[ordered[-1].high])
    return ordered


class _Keys:
    """Asks the server for keys of a table."""

    def __init__(
        self, session: SelectSession, table: SelectedTable, settings: SnapshotSettings
    ) -> None:
        self._session = session
        self._before, self._hint = time_limits(session, settings)
        self._table = table
        self._columns = table.order_columns
        names = [column["name"] for column in table.schema.columns]
        self._places = [names.index(column.name) for column in self._columns]

    def estimated(self, part: KeyBounds) -> int:
        """Return about how many rows a part has."""
        conditions, _ = self._bounds(part)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        select = f"SELECT {self._hint}1 FROM {self._table.quoted_name}{where}"  # noqa: S608 - quoted names
        # Newer servers have another format by default.
        rows = self._session.query(f"{self._before}EXPLAIN FORMAT=TRADITIONAL {select}")
        # The optimiser knows that there are none if it does not say how many.
        return int(rows[0]["rows"] or 0) if rows else 0

    def halves(self, part: KeyBounds, rows: int) -> list[tuple[int, KeyBounds]]:
        """Return the halves of a part with `rows`, and their rows; [] if it has only one key."""
        first, last = self._key(part), self._key(part, direction=" DESC")
        if first is None or last is None:
            return []
        for depth in range(len(self._columns)):
            if first[depth] != last[depth]:
                found = self._halves_by(depth, part, rows, first, last)
                if found:
                    return found
        return []

    def _halves_by(
        self, depth: int, part: KeyBounds, rows: int, first: list[bytes], last: list[bytes]
    ) -> list[tuple[int, KeyBounds]]:
        """Return the halves by the value of one column; [] if the server finds only one there.

        All keys of the part are equal in the columns before it.
        """
        column = self._columns[depth]
        literals = self._literals(first[: depth + 1])
        equal = zip(self._columns, literals[:depth], strict=False)
        among = [f"{own.expression} = {literal}" for own, literal in equal]
        among.append(column.beyond(">", literals[depth]))
        charset = self._table.schema.columns[self._places[depth]].get("charset", "")
        best: list[tuple[int, KeyBounds]] = []
        tried: set[bytes] = set()
        smaller = -1
        end = column.literal(last[depth])
        for guess in (*guesses(column, charset, first[depth], last[depth]), end):
            key: list[bytes] | None = None
            # A value that no row can have.
            with suppress(SourceRefused):
                key = self._key(part, [*among, column.beyond(">=", guess)], depth)
            if key is None or key[depth] in tried:
                continue
            tried.add(key[depth])
            border = self._literals(key[: depth + 1])
            both = KeyBounds(part.low, border), KeyBounds(border, part.high)
            found = [(self.estimated(half), half) for half in both]
            least = min(estimated for estimated, _ in found)
            if least > smaller:
                best, smaller = found, least
            if smaller >= _GOOD_SHARE * rows:
                break
        return best

    def _literals(self, key: list[bytes]) -> tuple[str, ...]:
        """Return the first columns of a key as literals."""
        columns = zip(self._columns, key, strict=False)
        return tuple(column.literal(cell) for column, cell in columns)

    def _key(
        self, part: KeyBounds, more: Sequence[str] = (), depth: int = 0, direction: str = ""
    ) -> list[bytes] | None:
        """Return the first key of a part that meets conditions; None if there is none.

        All keys of the part are equal in the columns before `depth`.
        """
        conditions, equal = self._bounds(part)
        order = key_order(self._columns[max(equal, depth) :], direction)
        # Without the other columns, which may be large.
        names = ", ".join(column.selected for column in self._columns)
        every = " AND ".join([*conditions, *more])
        where = f" WHERE {every}" if every else ""
        select = f"SELECT {self._hint}{names} FROM {self._table.quoted_name}{where}"  # noqa: S608 - quoted names
        received = CellRows()
        self._session.read_rows(f"{self._before}{select} {order} LIMIT 1", received)
        return _cells(received) if received.count else None

    def _bounds(self, part: KeyBounds) -> tuple[list[str], int]:
        return in_bounds(self._columns, part)


def _cells(rows: CellRows) -> list[bytes]:
    """Return the cells of a row that has no NULL."""
    data, bounds, _ = rows.take()
    places = struct.unpack(f"<{len(bounds) // 8}q", bounds)
    return [data[places[n] : places[n + 1]] for n in range(0, len(places), 2)]
