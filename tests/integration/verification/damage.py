"""Faults that are made by SQL in a table that a real pipeline keeps, and the proof with them.

The pipelines are in `debezium_sink` and `spark_recipe`. Each fault is real: the statement changes
the value of the row. Rows that have faults are at rest at the source; a load changes the others.
"""

from __future__ import annotations

import argparse
import contextlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pymysql

from benchmarks.process import beside
from local_stack import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.integration.verification.foreign_tables import ForeignTable

_SURPLUS: Final = 10_000_000
_PATIENCE_SECONDS: Final = 900.0
_LOOK_SECONDS: Final = 2.0


class Fault(NamedTuple):
    """A kind of fault: the kind of the difference, a column, and SQL for its new value.

    Without a column, it is one of whole rows.
    """

    kind: str
    column: str = ""
    value: str = ""


# What any dialect can do with the text `note`, which begins with 'newer ' after a change.
OF_TEXTS: Final = (
    Fault("different", "note", "NULL"),
    Fault("different", "note", "note || ' '"),
    Fault("different", "note", "upper(note)"),
    Fault("different", "note", "replace(note, 'é', '?')"),
    Fault("different", "kind", "CASE kind WHEN 'small' THEN 'large' ELSE 'small' END"),
    Fault("different", "tags", "'a,c,b'"),
    Fault("stale", "note", "substring(note, 7)"),
)
# Beside those of values; a table with a key cannot have a row twice.
OF_ROWS: Final = (Fault("missing"), Fault("surplus"))


def reserved(faults: int) -> int:
    """Return how many rows, from the first one on, no load may change: some keep their values."""
    return faults + faults // 4


@dataclass(frozen=True)
class Copy:
    """The table that a pipeline keeps, as SQL of its own program sees it."""

    table: ForeignTable  # at the source
    target: str  # as the command takes it
    name: str  # in SQL
    execute: Callable[[str], Sequence[Sequence[Any]]]  # a statement, and its rows
    check: Callable[[], None]  # raises RuntimeError if the pipeline has failed
    faults: Sequence[Fault]
    text: str  # the type of texts in SQL

    def wait(self, condition: str) -> None:
        """Wait until the copy has what an aggregate in SQL says."""

        def look() -> bool:
            ((found,),) = self.execute(f"SELECT {condition} FROM {self.name}")
            return bool(found)

        wait_until(look, self.check, condition)

    def inject(self, count: int) -> dict[int, str]:
        """Make so many faults, all kinds alike; return the kind of each by the key that has it."""
        keys = self._keys(count)
        of_values = {fault: some for fault, some in keys.items() if fault.column}
        self.execute(self._update(of_values))
        expected = {key: fault.kind for fault, some in of_values.items() for key in some}
        for fault in keys.keys() - of_values.keys():
            self.execute(self._statement(fault.kind, _list(keys[fault])))
            is_surplus = fault.kind == "surplus"
            expected |= {key + _SURPLUS * is_surplus: fault.kind for key in keys[fault]}
        return expected

    def _keys(self, count: int) -> dict[Fault, list[int]]:
        """Return the rows of each kind, which it would change; no two kinds have the same ones."""
        kinds = len(self.faults)
        is_real = " ".join(
            f"WHEN {place} THEN {self._is_real(fault)}" for place, fault in enumerate(self.faults)
        )
        found = self.execute(
            f"SELECT id FROM {self.name} WHERE id <= {reserved(count)} "
            f"AND CASE id % {kinds} {is_real} END ORDER BY id"
        )
        keys = {}
        for place, fault in enumerate(self.faults):
            wanted = count // kinds + (place < count % kinds)
            keys[fault] = [int(key) for (key,) in found if key % kinds == place][:wanted]
            assert len(keys[fault]) == wanted, f"{fault}: only {len(keys[fault])} rows can have it"
        return keys

    def _is_real(self, fault: Fault) -> str:
        if not fault.column:
            return "TRUE"
        old, new = (f"CAST({each} AS {self.text})" for each in (fault.column, fault.value))
        return f"{old} IS DISTINCT FROM {new}"

    def _update(self, keys: dict[Fault, list[int]]) -> str:
        values: dict[str, str] = {}
        for fault, some in keys.items():
            case = f"WHEN id IN ({_list(some)}) THEN {fault.value}"
            values[fault.column] = f"{values.get(fault.column, 'CASE')} {case}"
        columns = ", ".join(f"{name} = {case} ELSE {name} END" for name, case in values.items())
        every = _list([key for some in keys.values() for key in some])
        return f"UPDATE {self.name} SET {columns} WHERE id IN ({every})"

    def _statement(self, kind: str, keys: str) -> str:
        rows = f"FROM {self.name} WHERE id IN ({keys})"
        return {
            "missing": f"DELETE {rows}",
            "surplus": f"INSERT INTO {self.name} (id) SELECT id + {_SURPLUS} {rows}",
            "doubled": f"INSERT INTO {self.name} SELECT * {rows}",
        }[kind]


def _list(keys: Sequence[int]) -> str:
    return ", ".join(map(str, keys))


def wait_until(look: Callable[[], bool], check: Callable[[], None], what: str) -> None:
    """Wait until `look` returns true; `check` raises if it never will."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not look():
        check()
        assert time.monotonic() < deadline, f"the copy does not come to: {what}"
        time.sleep(_LOOK_SECONDS)


class Load:
    """Changes rows at a rate, so many of them with a statement."""

    def __init__(self, table: ForeignTable, span: range, rate: int, rows: int = 1) -> None:
        self._table = table
        self._span = span
        self._rate = rate
        self._rows = rows
        self.changes = 0

    def run(self, ended: threading.Event) -> None:
        """Change rows until it is told to end."""
        while not ended.is_set():
            # A source that is killed answers again soon.
            with contextlib.suppress(pymysql.err.OperationalError):
                self._change(ended)

    def _change(self, ended: threading.Event) -> None:
        table, span, before, began = self._table, self._span, self.changes, time.monotonic()
        with connect(table.endpoint, table.database) as connection, connection.cursor() as cursor:
            while not ended.is_set():
                places = range(self.changes, self.changes + self._rows)
                numbers = [span[place * 7919 % len(span)] for place in places]
                if self.changes // self._rows % 10 == 0:
                    keys = ", ".join(map(str, numbers))
                    cursor.execute(f"DELETE FROM orders WHERE id IN ({keys})")
                else:
                    values = ", ".join(f"({number}, UUID())" for number in numbers)
                    cursor.execute(
                        f"INSERT INTO orders (id, note) VALUES {values} "
                        "ON DUPLICATE KEY UPDATE price = price + 1, note = UUID()"
                    )
                self.changes += self._rows
                due = began + (self.changes - before) / self._rate
                time.sleep(max(0.0, due - time.monotonic()))


def compare(table: ForeignTable, lag: float, expected: dict[int, str], target: str = "") -> None:
    """Compare, and print; fails if a fault is missed, or anything else is named."""
    began = time.monotonic()
    report = table.report("--lag", str(lag), "--max-differences", "5000", target=target)
    seconds = time.monotonic() - began
    assert report["error"] is None, report["error"]
    found = {each["key"]["id"]: each["kind"] for each in report["differences"]}
    wrong = {each["key"]["id"]: each for each in report["differences"]
             if expected.get(each["key"]["id"]) != each["kind"]}  # fmt: skip
    missed = {number: kind for number, kind in expected.items() if number not in found}
    forms = {each["source"]: each["form"] for each in report["columns"]}
    print(
        f"{len(found)} found of {len(expected)} faults in {seconds:.1f} s; {report['rows']} rows; "
        f"rows that lagged: {report['lagging_rows']}, the longest for "
        f"{report['oldest_lag_seconds']} s; unsettled: {report['unsettled']}",
        flush=True,
    )
    print(f"forms: {forms}", flush=True)
    assert not wrong, list(wrong.values())[:5]
    assert not missed, missed
    assert not report["unsettled"], report["unsettled"]


def arguments(what: str | None, lag: float) -> argparse.ArgumentParser:
    """Return the arguments that all proofs have; `lag` is the default in seconds."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=what, formatter_class=formatter)
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--changes", type=int, default=1000, help="a second")
    parser.add_argument("--lag", type=float, default=lag)
    return parser


def prove(copy: Copy, given: argparse.Namespace) -> None:
    """Make the faults in a copy that is equal, and compare while a load changes other rows."""
    table, kept = copy.table, reserved(given.faults)
    copy.wait(f"count(*) = {given.rows}")
    table.execute(f"UPDATE orders SET note = CONCAT('newer ', note) WHERE id <= {kept}")
    copy.wait(f"count(CASE WHEN note LIKE 'newer%' THEN 1 END) = {kept}")
    compare(table, given.lag, {}, copy.target)
    expected = copy.inject(given.faults)
    assert len(expected) == given.faults, len(expected)
    load = Load(table, range(kept + 1, given.rows + 1), given.changes)
    with beside(load.run):
        # The old values are older than the lag then.
        time.sleep(given.lag + 1)
        before, began = load.changes, time.monotonic()
        compare(table, given.lag, expected, copy.target)
        rate = (load.changes - before) / (time.monotonic() - began)
        print(f"{rate:.0f} changes/s; kinds of faults: {len(copy.faults)}", flush=True)
    copy.check()
