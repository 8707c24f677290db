"""What a mirror of each mode must hold: changes, applied one by one in the order of sequences.

The table has the columns `id`, which may be its key, and `note`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stream_jobs.source.sequence import PackedSequence

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as Many

    from connector.foundation.contract import Sequence

Row = tuple[Any, ...]
Found = list[dict[str, Any]]


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
    return sorted(
        (each.seq, each.ts_ms, each.op, each.after or _whole(each.before)) for each in changes
    )


def _whole(row: Row | None) -> Row | None:
    """Return a row of two columns; a value that is not known is NULL."""
    return row if row is None else (*row, None)[:2]


def current(changes: Many[Change]) -> list[Row]:
    """The last row of each key that is not deleted."""
    return [row for row, is_deleted in soft_deleted(changes) if not is_deleted]


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


# What a mirror holds, in the form of its model.


def _seq(hi: int | None, lo: int | None) -> Sequence | None:
    return None if hi is None or lo is None else PackedSequence(hi, lo).unpack()


def _ms(time: Any) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)


def _current_of(rows: Found) -> object:
    return sorted((row["id"], row["note"]) for row in rows)


def _journal_of(rows: Found) -> object:
    found = []
    for row in rows:
        values = (row["id"], row["note"]) if row["_cdc_op"] != "t" else None
        sequence = PackedSequence(row["_cdc_hi"], row["_cdc_lo"]).unpack()
        found.append((sequence, _ms(row["_cdc_ts"]), row["_cdc_op"], values))
    return sorted(found, key=lambda each: each[0])


def _soft_deleted_of(rows: Found) -> object:
    return sorted(((row["id"], row["note"]), row["_cdc_deleted"]) for row in rows)


def _history_of(rows: Found) -> object:
    assert all(row["_cdc_is_current"] == (row["_cdc_valid_to"] is None) for row in rows)
    found = [
        Version(
            (row["id"], row["note"]),
            _ms(row["_cdc_valid_from"]) or 0,
            _ms(row["_cdc_valid_to"]),
            row["_cdc_end_op"],
            PackedSequence(row["_cdc_hi"], row["_cdc_lo"]).unpack(),
            _seq(row["_cdc_end_hi"], row["_cdc_end_lo"]),
        )
        for row in rows
    ]
    joined: list[Version] = []
    for version in sorted(found, key=lambda version: (version.row[0], version.seq)):
        last = joined[-1] if joined else None
        # While truncates can be missing, a copied row begins a version with the same values.
        if last and (last.row, last.end_op, last.end_seq) == (version.row, "r", version.seq):
            joined[-1] = version._replace(seq=last.seq, valid_from=last.valid_from)
        else:
            joined.append(version)
    return sorted(joined, key=lambda version: version.seq)


def _row_counts_of(rows: Found) -> object:
    return Counter((row["id"], row["note"]) for row in rows)


class ModeModel(NamedTuple):
    """A mode of tables with or without a key."""

    name: str
    has_key: bool
    # Returns what a mirror must hold after changes.
    wanted: Callable[[Many[Change]], object]
    # Returns the rows of a mirror in the form of `wanted`.
    found: Callable[[Found], object]

    def __str__(self) -> str:
        return self.name if self.has_key else f"{self.name}, without a key"


MODES: Final = (
    ModeModel("current", True, current, _current_of),
    ModeModel("soft_delete", True, soft_deleted, _soft_deleted_of),
    ModeModel("history", True, history, _history_of),
    ModeModel("journal", True, journal, _journal_of),
    ModeModel("journal", False, journal, _journal_of),
    ModeModel("rows", False, row_counts, _row_counts_of),
)
