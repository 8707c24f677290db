"""Faults of tables that other programs make, and the proof that all of them are found.

    python -m tests.integration.verification.foreign_faults --faults 1000 --changes 1000

It makes a table, a program that copies it again and again with these faults, and a load of so many
changes a second on all other rows. It fails if the command misses a fault, or names another row.
"""

from __future__ import annotations

import time
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.process import beside
from local_stack import MysqlServer, connect
from tests.integration.verification import foreign_tables
from tests.integration.verification.damage import Load, arguments, compare, reserved
from tests.integration.verification.foreign_tables import ForeignTable

if TYPE_CHECKING:
    import threading
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
    """Return rows with so many faults, and the kind of each by its key; `old` has stale rows.

    The faults are in the first rows. One that would change nothing waits for the next row.
    """
    kinds = [*FAULTS.values()]
    expected: dict[int, str] = {}
    made: list[Row] = []
    for row in rows:
        number, place = row["id"], len(expected) % (len(kinds) + len(_WHOLE))
        if len(expected) == faults:
            made.append(row)
        elif place < len(kinds):
            kind, _, change = kinds[place]
            made.append(change(row))
            if made[-1] != row:
                expected[number] = kind
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


class _Copies:
    """Copies the table again and again, with faults in its first rows."""

    def __init__(self, table: ForeignTable, maker: Any, faults: int) -> None:
        self._table = table
        self._maker = maker
        self._faults = faults
        self._old = {row["id"]: row for row in table.rows()[: reserved(faults)]}
        self.count = 0
        self.expected: dict[int, str] = {}

    def copy(self) -> None:
        """Copy the table once."""
        rows, self.expected = damaged(self._table.rows(), self._faults, self._old)
        foreign_tables.write(self._table.path, self._maker(rows))
        self.count += 1

    def run(self, ended: threading.Event) -> None:
        """Copy until it is told to end."""
        while not ended.is_set():
            self.copy()


def main() -> None:
    """Inject faults, and compare."""
    parser = arguments(__doc__, lag=30.0)
    parser.set_defaults(rows=20_000)
    parser.add_argument("--form", choices=("typed", "debezium"), default="debezium")
    given = parser.parse_args()
    maker, kept = getattr(foreign_tables, given.form), reserved(given.faults)
    with TemporaryDirectory() as folder, MysqlServer(Path(folder) / "server") as server:
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("SET GLOBAL cte_max_recursion_depth = 10000000")
        table = ForeignTable(server.endpoint, "shop", Path(folder) / "orders")
        table.execute(foreign_tables.DEFINITION)
        table.fill(1, given.rows)
        copies = _Copies(table, maker, given.faults)
        table.execute(f"UPDATE orders SET note = 'newer' WHERE id <= {kept}")
        copies.copy()
        assert len(copies.expected) == given.faults, len(copies.expected)
        load = Load(table, range(kept + 1, given.rows + 1), given.changes, _ROWS_OF_A_CHANGE)
        with beside(load.run), beside(copies.run):
            time.sleep(given.lag + 1)
            before, began = load.changes, time.monotonic()
            compare(table, given.lag, copies.expected)
            rate = (load.changes - before) / (time.monotonic() - began)
        print(f"{rate:.0f} changes/s; kinds of faults: {len(FAULTS) + len(_WHOLE)}", end="; ")
        print(f"copies: {copies.count}")


if __name__ == "__main__":
    main()
