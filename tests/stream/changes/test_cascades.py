"""Statements on foreign keys: when the keys are read again, and what counts as changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.statement import classify
from connector.binlog.table_filter import TableFilter
from connector.stream.changes.cascades import (
    CascadedRows,
    Cascades,
    ForeignKeySnapshot,
    ForeignKeySource,
)
from connector.stream.changes.foreign_keys import CASCADE, ForeignKey, ForeignKeys

if TYPE_CHECKING:
    from connector.binlog.sql_text import TableName

ORDERS, ITEMS, NOTES = (("shop", name) for name in ("orders", "items", "notes"))
LEARNED_AT = 3, 500
BEFORE, AFTER = (3, 499), (3, 500)


class Server(ForeignKeySource):
    """notes refers to items, and that to orders."""

    def __init__(self, *, logged: bool = False) -> None:
        self.logged = logged
        self.asked: list[list[TableName]] = []

    def learn(self, altered: list[TableName]) -> ForeignKeySnapshot:
        self.asked.append(altered)
        keys = [
            ForeignKey(child, parent, [("p", "id")], CASCADE, CASCADE, identifies=False)
            for child, parent in ((ITEMS, ORDERS), (NOTES, ITEMS))
        ]
        return ForeignKeySnapshot(ForeignKeys(keys), *LEARNED_AT, logged=self.logged)


def after(query: str, position: tuple[int, int], *followed: str) -> tuple[Cascades, Server]:
    """Return what a statement leaves, at a position of the log."""
    server = Server()
    cascades = Cascades(TableFilter(followed or ["*.*"]), server, CascadedRows())
    statement = classify(query)
    statement.resolve("shop", lower_case=False)
    cascades.statement(statement, query, *position)
    return cascades, server


@pytest.mark.parametrize(
    "query",
    [
        "ALTER TABLE items DROP FOREIGN KEY f",
        "ALTER TABLE items ADD CONSTRAINT f FOREIGN KEY (p) REFERENCES orders (id)",
        "CREATE TABLE more (p INT REFERENCES orders (id))",
        "RENAME TABLE orders TO sales",
        "ALTER TABLE items RENAME COLUMN p TO q",
        "DROP TABLE items",
        "CREATE OR REPLACE TABLE items (id INT)",
        "DROP DATABASE shop",
    ],
)
def test_keys_are_read_again_after_a_statement_that_may_change_them(query: str) -> None:
    cascades, server = after(query, AFTER)
    assert cascades.rows.tables == []
    before = cascades.outdated
    cascades.learn()
    assert (before, cascades.outdated) == (True, False)
    assert len(server.asked) == 2
    assert ("shop", "") not in server.asked[1]


@pytest.mark.parametrize(
    "query",
    [
        "CREATE TABLE more (id INT)",
        "CREATE INDEX i ON items (p)",
        "ALTER TABLE items ADD COLUMN v INT, DROP COLUMN w",
        "TRUNCATE TABLE notes",
        "DELETE FROM items WHERE note = 'DROP FOREIGN KEY'",
        "GRANT DROP ON *.* TO u",
    ],
)
def test_other_statements_leave_the_keys(query: str) -> None:
    for position in (BEFORE, AFTER):
        cascades, _ = after(query, position)
        assert not cascades.outdated
        assert cascades.rows.tables == []


@pytest.mark.parametrize(
    ("query", "changed"),
    [
        # The key that is dropped here may have been one that cascades.
        ("ALTER TABLE items DROP FOREIGN KEY f", [ITEMS, NOTES]),
        ("ALTER TABLE notes DROP FOREIGN KEY f", [NOTES]),
        # Before it had this name, its changes were not seen as those of a parent.
        ("RENAME TABLE sales TO orders", [ITEMS, NOTES]),
        ("ALTER TABLE sales RENAME orders", [ITEMS, NOTES]),
        ("DROP TABLE items", [NOTES]),
        ("DROP DATABASE shop", [ITEMS, NOTES]),
        ("CREATE TABLE more (p INT REFERENCES orders (id))", []),
        ("ALTER TABLE items ADD FOREIGN KEY (p) REFERENCES orders (id)", []),
        ("ALTER TABLE orders CHANGE id nr INT", []),
    ],
)
def test_a_key_may_be_gone_when_the_keys_are_read(query: str, changed: list[TableName]) -> None:
    cascades, _ = after(query, BEFORE)
    assert sorted(cascades.rows.tables) == changed
    assert all(cascades.rows.take(table) == "" for table in changed)
    assert cascades.outdated


def test_parents_are_read_for_followed_children_alone() -> None:
    tables = TableFilter(["shop.notes"])
    cascades = Cascades(tables, Server(), CascadedRows())
    assert tables.parents == {ORDERS, ITEMS}
    assert not tables.follows(*ORDERS)
    assert tables.reads(*ORDERS)
    assert tables.reads(*NOTES)
    assert cascades.hidden_children == [NOTES]
    nothing = TableFilter(["shop.orders"])
    assert Cascades(nothing, Server(), CascadedRows()).hidden_children == []
    assert nothing.parents == frozenset()


def test_a_server_that_logs_cascades_hides_nothing() -> None:
    server = Server(logged=True)
    assert Cascades(TableFilter(["*.*"]), server, CascadedRows()).hidden_children == []
