"""The modes of the tables: their settings, and what their mirrors must hold in the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from connector.lake.demo.stack import read_mirror
from connector.lake.demo.verdict import compare_table
from tests.integration.mirror.matrix.equality import differences_of
from tests.stream_jobs.history_oracle import problems_of_history, problems_of_journal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from local_stack import Endpoint
    from tests.chaos.mirror.source_log import RowChange, SourceLog

_SEQUENCE: Final = ("_cdc_hi", "_cdc_lo")
_INTERVAL: Final = (
    "_cdc_valid_from",
    "_cdc_valid_to",
    "_cdc_is_current",
    "_cdc_end_op",
    "_cdc_end_hi",
    "_cdc_end_lo",
)
# Of many rows that are wrong in the same way, the first ones.
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Mode:
    """A mode of `[[tables]]`."""

    name: str
    # Returns how the mirrors in a folder differ from a database of the source, which is idle.
    differences: Callable[[Endpoint, SourceLog, str, Path], list[str]]
    has_key: bool = True

    def settings(self, databases: list[str]) -> str:
        """Return the entry of these databases in the configuration of the job."""
        patterns = ", ".join(f'"{database}.*"' for database in databases)
        return f'[[tables]]\nmatch = [{patterns}]\nmode = "{self.name}"\n'


def _current(source: Endpoint, log: SourceLog, database: str, mirrors: Path) -> list[str]:
    """The columns and the rows that SELECT shows."""
    del log
    return differences_of(source, database, mirrors)


def _soft_delete(source: Endpoint, log: SourceLog, database: str, mirrors: Path) -> list[str]:
    """The rows that SELECT shows, and each other key that the log has, once, as deleted."""
    found = _now(source, database, mirrors, "NOT _cdc_deleted")
    if found:
        return found
    ids = Counter(row["id"] for row in read_mirror(mirrors / "t").select(["id"]).to_pylist())
    wanted = Counter({each.after: 1 for each in log.changes(database) if each.after is not None})
    return _uncounted("keys", wanted, ids)


def _history(source: Endpoint, log: SourceLog, database: str, mirrors: Path) -> list[str]:
    """Versions that follow each other as in the log; the current ones are what SELECT shows.

    Each is valid from and to the times at which the log has its changes, and no two at one moment.
    """
    found = _now(source, database, mirrors, "_cdc_is_current")
    if found:
        return found
    rows = read_mirror(mirrors / "t").select(["id", "tick", *_SEQUENCE, *_INTERVAL]).to_pylist()
    wrong = _first(problems_of_history(rows, ["id"], log.times()))
    if wrong:
        return wrong
    rows.sort(key=lambda row: tuple(row[name] for name in _SEQUENCE))
    versions = _distinct((row["id"], row["tick"]) for row in rows)
    changes = log.changes(database)
    wanted = _distinct((each.after, each.tick) for each in changes if each.after is not None)
    return [
        f"t: id {key} had the ticks {wanted.get(key)}, and the mirror has {versions.get(key)}"
        for key in sorted(wanted.keys() | versions.keys())
        if wanted.get(key) != versions.get(key)
    ]


def _journal(source: Endpoint, log: SourceLog, database: str, mirrors: Path) -> list[str]:
    """Each change of the log once, with its time, besides copied rows and truncates."""
    del source
    names = ["id", "tick", "_cdc_op", "_cdc_ts", *_SEQUENCE]
    rows = read_mirror(mirrors / "t").select(names).to_pylist()
    wrong = _first(problems_of_journal(rows, ["id"], log.times()))
    new = Counter((row["id"], row["tick"]) for row in rows if row["_cdc_op"] in {"c", "u"})
    gone = Counter(row["id"] for row in rows if row["_cdc_op"] == "d")
    changes = log.changes(database)
    wanted = Counter((each.after, each.tick) for each in changes if each.after is not None)
    lost = Counter(each.before for each in changes if _is_delete(each))
    return _uncounted("rows", wanted, new) + _uncounted("deletes", lost, gone) + wrong


def _first(wrong: list[str]) -> list[str]:
    return [f"t: {len(wrong)} times are wrong", *wrong[:_SHOWN]] if wrong else []


def _is_delete(change: RowChange) -> bool:
    """Return whether a key ends; a row that gets another key is deleted and created."""
    return change.before is not None and change.before != change.after


def _now(source: Endpoint, database: str, mirrors: Path, where: str) -> list[str]:
    result = compare_table(source, database, "t", mirrors / "t", where=where, may_have_more=True)
    return [f"t: {each}" for each in (*result.column_problems, *result.differences)]


def _distinct(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Return the ticks of each key: a copy of a row that did not change is no other version."""
    found: dict[int, list[int]] = {}
    for key, tick in pairs:
        ticks = found.setdefault(key, [])
        if ticks[-1:] != [tick]:
            ticks.append(tick)
    return found


def _uncounted(what: str, wanted: Counter[Any], found: Counter[Any]) -> list[str]:
    missing, surplus = wanted - found, found - wanted
    return [
        f"t: {count} {what} are {word}, such as {next(iter(rows))}"
        for word, rows in (("missing", missing), ("too many", surplus))
        if (count := rows.total())
    ]


MODES: Final = {
    mode.name: mode
    for mode in (
        Mode("current", _current),
        Mode("soft_delete", _soft_delete),
        Mode("history", _history),
        Mode("journal", _journal),
        Mode("rows", _current, has_key=False),
    )
}
