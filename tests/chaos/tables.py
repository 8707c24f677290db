"""The tables of the load, and what each of their rows says about itself.

Each row counts its own changes in `n`, and takes up counting where it was after it was deleted and
inserted again. So a gap, a repeat or a wrong order of any row's changes shows in the numbers.

=========  ==================  ========================================================
table      key                 rows
=========  ==================  ========================================================
book       writer              one for each writer: `n` counts its committed transactions
account    id                  of one writer each: inserted, updated, deleted
hot        id                  of nobody: every writer counts them up
bulk       id                  of one writer each: updated all together, in large transactions
keyless    none                of one writer each: inserted, `n` counts them
scratch    id                  of the first writer: truncated now and then
marker     id                  one: written when a fault is over
=========  ==================  ========================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

TABLES = {
    "book": "writer INT PRIMARY KEY, n INT NOT NULL",
    "account": "id INT PRIMARY KEY, n INT NOT NULL, note VARCHAR(400) NOT NULL",
    "hot": "id INT PRIMARY KEY, n INT NOT NULL",
    "bulk": "id INT PRIMARY KEY, n INT NOT NULL, note VARCHAR(600) NOT NULL",
    "keyless": "writer INT NOT NULL, n INT NOT NULL",
    "scratch": "id INT PRIMARY KEY, n INT NOT NULL",
    "marker": "id INT PRIMARY KEY, n INT NOT NULL",
}
HOT_ROWS = 5
BULK_ROWS = 200
ACCOUNTS = 40


class RowId(NamedTuple):
    """A row; the table without a key has one for each writer, so to say, inserted ever again."""

    table: str
    key: int


def id_of(table: str, row: dict[str, Any]) -> RowId:
    """Return which row this is."""
    return RowId(table, row["writer"] if table in {"book", "keyless"} else row["id"])


def first_account(writer: int) -> int:
    return writer * 1000


def first_bulk(writer: int) -> int:
    return writer * 100_000
