"""What a mirror of each mode must hold: changes, applied one by one in the order of sequences."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence as Many

    from connector.foundation.contract import Sequence

Row = tuple[Any, ...]


class Change(NamedTuple):
    """A record; each row has its key in its first place.

    A delete of which nobody knows the other values has the key alone in `before`.
    """

    seq: Sequence
    ts_ms: int
    op: str
    before: Row | None = None
    after: Row | None = None


class Version(NamedTuple):
    """A row of a history."""

    row: Row
    valid_from: int
    valid_to: int | None
    end_op: str | None
    seq: Sequence
    end_seq: Sequence | None


def journal(changes: Many[Change]) -> list[tuple[Sequence, int, str, Row | None]]:
    """Every change."""
    return [(each.seq, each.ts_ms, each.op, each.after or _whole(each.before)) for each in changes]


def _whole(row: Row | None) -> Row | None:
    """Return a row of two columns; a value that is not known is NULL."""
    return row if row is None else (*row, None)[:2]


def soft_deleted(changes: Many[Change]) -> list[tuple[Row, bool]]:
    """The last row of each key, and whether it is deleted."""
    rows: dict[Any, tuple[Row, bool]] = {}
    for each in changes:
        if each.op == "t":
            rows = {key: (row, True) for key, (row, _) in rows.items()}
        elif each.op == "d":
            assert each.before is not None
            key = each.before[0]
            if len(each.before) > 1:
                rows[key] = each.before, True
            elif key in rows:
                rows[key] = rows[key][0], True
        else:
            assert each.after is not None
            rows[each.after[0]] = each.after, False
    return sorted(rows.values())


def history(changes: Many[Change]) -> list[Version]:
    """All versions of all rows.

    If the times of changes run backwards, a border of a key is at the time of the one before it.
    """
    versions: list[Version] = []
    current: dict[Any, Version] = {}
    borders: dict[Any, int] = {}  # the last one of each key

    def border(key: Any, by: Change) -> int:
        borders[key] = max(by.ts_ms, borders.get(key, by.ts_ms))
        return borders[key]

    def end(version: Version, by: Change) -> None:
        at = border(version.row[0], by)
        versions.append(version._replace(valid_to=at, end_op=by.op, end_seq=by.seq))

    for each in changes:
        if each.op == "t":
            for version in current.values():
                end(version, each)
            current.clear()
            continue
        row = each.before if each.op == "d" else each.after
        assert row is not None
        before = current.get(row[0])
        if each.op == "r" and before is not None and before.row == row:
            continue
        if before is not None:
            end(before, each)
            del current[row[0]]
        if each.op != "d":
            at = border(row[0], each)
            current[row[0]] = Version(row, at, None, None, each.seq, None)
    return sorted([*versions, *current.values()], key=lambda version: (version.seq, version.row))


def row_counts(changes: Many[Change]) -> Counter[Row]:
    """How many rows there are of each kind."""
    rows: Counter[Row] = Counter()
    for each in changes:
        if each.op == "t":
            rows.clear()
        if each.before is not None:
            rows[each.before] -= 1
        if each.after is not None:
            rows[each.after] += 1
    return +rows
