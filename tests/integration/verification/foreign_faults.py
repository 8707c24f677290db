"""Faults of tables that other programs make, and the proof that all of them are found.

    python -m tests.integration.verification.foreign_faults --faults 1000 --changes 1000

It makes a table, a program that copies it again and again with these faults, and a load of so many
changes a second on all other rows. It fails if the command misses a fault, or names another row.
"""

from __future__ import annotations

import argparse
import threading
import time
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.process import beside
from local_stack import MysqlServer, connect
from tests.integration.verification import foreign_tables
from tests.integration.verification.foreign_tables import ForeignTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.verification.foreign_tables import Row


def _changed(**values: Any) -> Callable[[Row], Row]:
    return lambda row: {**row, **values}


_OTHER = {"small": "large", "large": "small"}
# By the key of a row: the kind of the difference, its columns, and what is done to the row.
FAULTS: dict[int, tuple[str, list[str], Callable[[Row], Row]]] = {
    10: ("different", ["price"], lambda row: {**row, "price": row["price"] + Decimal("0.01")}),
    11: ("different", ["price"], lambda row: {**row, "price": -row["price"]}),
    12: ("different", ["note"], _changed(note=None)),
    13: ("different", ["note"], lambda row: {**row, "note": row["note"] + " "}),
    14: ("different", ["note"], lambda row: {**row, "note": row["note"].upper()}),
    15: ("different", ["kind"], lambda row: {**row, "kind": _OTHER[row["kind"]]}),
    16: ("different", ["tags"], _changed(tags="a,b,c")),
    17: ("different", ["picture"], lambda row: {**row, "picture": row["picture"][:-1]}),
    18: ("different", ["paid"], lambda row: {**row, "paid": bytes([1 - row["paid"][0]])}),
    19: ("different", ["born"], lambda row: {**row, "born": row["born"] - timedelta(days=1)}),
    20: ("different", ["made"], lambda row: {**row, "made": row["made"] + timedelta(hours=2)}),
    21: ("different", ["made"], lambda row: {**row, "made": row["made"].replace(microsecond=0)}),
    22: ("different", ["seen"], lambda row: {**row, "seen": row["seen"].replace(microsecond=0)}),
    23: ("different", ["facts"], _changed(facts='{"i": 23, "b": [1, 2.5]}')),
    24: ("different", ["big"], lambda row: {**row, "big": row["big"] + 1}),
    25: ("different", ["weight"], lambda row: {**row, "weight": float(f"{row['weight']:.6}")}),
    26: ("different", ["made_in", "is_new"], lambda row: {**row, "made_in": 1999, "is_new": None}),
    27: ("different", ["took"], lambda row: {**row, "took": row["took"] + timedelta(seconds=1)}),
}  # fmt: skip


# Beside the faults of single rows: what happens to rows as a whole.
_WHOLE: Final = ("missing", "surplus", "doubled", "stale")
_SURPLUS: Final = 10_000_000
# Each is one transaction, and this script has little of the machine.
_ROWS_OF_A_CHANGE: Final = 10


def damaged(rows: list[Row], faults: int, old: dict[int, Row]) -> tuple[list[Row], dict[int, str]]:
    """Return rows with so many faults, and the kind of each by its key; `old` has stale rows."""
    kinds = [*FAULTS.values()]
    expected: dict[int, str] = {}
    made: list[Row] = []
    for row in rows:
        number = row["id"]
        if number > faults:
            made.append(row)
            continue
        place = number % (len(kinds) + len(_WHOLE))
        if place < len(kinds):
            kind, _, change = kinds[place]
            made.append(change(row))
            if made[-1] == row:
                continue  # the value was as the fault makes it
        else:
            kind = _WHOLE[place - len(kinds)]
            made += _whole(kind, row, old)
        expected[number + _SURPLUS if kind == "surplus" else number] = kind
    return made, expected


def _whole(kind: str, row: Row, old: dict[int, Row]) -> list[Row]:
    if kind == "missing":
        return []
    if kind == "stale":
        return [old[row["id"]]]
    return [row, dict(row) if kind == "doubled" else {**row, "id": row["id"] + _SURPLUS}]


class _Load:
    """Changes all rows without a fault at a rate, and copies the table again and again."""

    def __init__(self, table: ForeignTable, maker: Any, faults: int, rows: int) -> None:
        self._table = table
        self._maker = maker
        self._faults = faults
        self._rows = rows
        self._old = {row["id"]: row for row in table.rows()[:faults]}
        self.changes = 0
        self.copies = 0
        self.expected: dict[int, str] = {}

    def copy(self) -> None:
        """Copy the table once, with its faults."""
        rows, self.expected = damaged(self._table.rows(), self._faults, self._old)
        foreign_tables.write(self._table.path, self._maker(rows))
        self.copies += 1

    def run(self, rate: int, during: Callable[[], None]) -> None:
        """Change and copy until `during` has ended."""
        with beside(lambda ended: self._change(ended, rate)), beside(self._copy_always):
            during()

    def _copy_always(self, ended: threading.Event) -> None:
        while not ended.is_set():
            self.copy()

    def _change(self, ended: threading.Event, rate: int) -> None:
        began = time.monotonic()
        span = self._rows - self._faults
        table = self._table
        with connect(table.endpoint, table.database) as connection, connection.cursor() as cursor:
            while not ended.is_set():
                places = range(self.changes, self.changes + _ROWS_OF_A_CHANGE)
                numbers = [self._faults + 1 + place * 7919 % span for place in places]
                if self.changes % (10 * _ROWS_OF_A_CHANGE) == 0:
                    keys = ", ".join(map(str, numbers))
                    cursor.execute(f"DELETE FROM orders WHERE id IN ({keys})")
                else:
                    values = ", ".join(f"({number}, UUID())" for number in numbers)
                    cursor.execute(
                        f"INSERT INTO orders (id, note) VALUES {values} "
                        "ON DUPLICATE KEY UPDATE price = price + 1, note = UUID()"
                    )
                self.changes += _ROWS_OF_A_CHANGE
                time.sleep(max(0.0, began + self.changes / rate - time.monotonic()))


def main() -> None:
    """Inject faults, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--changes", type=int, default=1000, help="a second")
    parser.add_argument("--lag", type=float, default=30.0)
    parser.add_argument("--form", choices=("typed", "debezium"), default="debezium")
    given = parser.parse_args()
    maker = getattr(foreign_tables, given.form)
    with TemporaryDirectory() as folder, MysqlServer(Path(folder) / "server") as server:
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("SET GLOBAL cte_max_recursion_depth = 10000000")
        table = ForeignTable(server.endpoint, "shop", Path(folder) / "orders")
        table.execute(foreign_tables.DEFINITION)
        table.fill(1, given.rows)
        load = _Load(table, maker, given.faults, given.rows)
        table.execute(f"UPDATE orders SET note = 'newer' WHERE id <= {given.faults}")
        load.copy()

        def compare() -> None:
            time.sleep(given.lag)
            began, before = time.monotonic(), load.changes
            report = table.report("--lag", str(given.lag), "--max-differences", "5000")
            seconds = time.monotonic() - began
            rate = (load.changes - before) / seconds
            found = {each["key"]["id"]: each["kind"] for each in report["differences"]}
            wrong = {k: v for k, v in found.items() if load.expected.get(k) != v}
            missed = {k: v for k, v in load.expected.items() if k not in found}
            print(
                f"{len(found)} found of {len(load.expected)} faults of "
                f"{len(FAULTS) + len(_WHOLE)} kinds in {seconds:.1f} s, at {rate:.0f} changes/s; "
                f"rows that lagged: {report['lagging_rows']}, the longest for "
                f"{report['oldest_lag_seconds']} s; copies: {load.copies}"
            )
            assert report["error"] is None, report["error"]
            assert not report["unsettled"], report["unsettled"]
            assert not wrong, wrong
            assert not missed, missed

        load.run(given.changes, compare)


if __name__ == "__main__":
    main()
