"""What DDL does to the tables that are followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.event import Event
from connector.binlog.events.status_variables import STRICT_ALL_TABLES
from connector.binlog.header import EventHeader, EventType
from connector.binlog.statement import THREAD_SPECIFIC, classify, may_be_temporary
from connector.binlog.table_filter import TableFilter, named_after
from connector.stream.changes.column_lists import KnownColumns, PublishedColumns
from connector.stream.changes.ddl_effects import statement_changes
from connector.stream.changes.online_schema_change import OnlineSchemaChanges
from connector.stream.changes.transaction import LoggedStatement, SourceTransaction
from tests.stream.changes.heard import Heard

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn

EVENT = Event("b.000001", 4, 99, EventHeader(7, EventType.QUERY_EVENT, 1, 95, 99, 0), None, b"")

# Kind, table, names of added columns, why the table is to be copied anew.
Told = tuple[str, str, list[str], str]


class Columns(PublishedColumns):
    """Consumers know the same columns of every table."""

    def known(self, database: str, table: str) -> KnownColumns:
        del database, table
        key: SchemaColumn = {"name": "id", "type": "int", "nullable": False, "key": 1}
        code: SchemaColumn = {"name": "code", "type": "int", "nullable": True, "key": 0}
        return KnownColumns([key, code])


class Source:
    """A stream of statements of a session in the database `shop`."""

    def __init__(
        self, *tables: str, keeps_rows: bool = False, mariadb: bool = False, flags: int = 0
    ) -> None:
        self.mariadb = mariadb
        self.flags = flags  # of the events
        self.tables = TableFilter(tables or ("shop.*",), ["shop.secret"])
        self.keeps_rows = keeps_rows
        self.online = OnlineSchemaChanges(keeps_rows=keeps_rows)
        self.columns = Columns()

    def run(self, *queries: str) -> list[Told]:
        """Return what the last statement does, after a restart in front of each."""
        told: list[Told] = []
        for query in queries:
            self.online = OnlineSchemaChanges.of_record(
                self.online.to_record(), keeps_rows=self.keeps_rows
            )
            statement = classify(query)
            statement.resolve("shop", lower_case=False)
            transaction = SourceTransaction("b.000001", 4, None, 0, 1)
            told = [
                (
                    change.kind.value,
                    f"{change.database}.{change.table}",
                    [f"{c.name} {c.default.value} {c.text}".strip() for c in change.added_columns],
                    change.resync,
                )
                for change in statement_changes(
                    statement,
                    LoggedStatement(transaction, 0, EVENT, query),
                    self.tables,
                    self.online,
                    self.columns,
                    STRICT_ALL_TABLES,
                    in_doubt=may_be_temporary(statement, self.flags, is_mariadb=self.mariadb),
                )
            ]
        return told


def gone(table: str, kind: str = "RENAME TABLE") -> Told:
    return kind, f"shop.{table}", [], ""


def copied(table: str, reason: str, kind: str = "RENAME TABLE") -> Told:
    return kind, f"shop.{table}", [], reason


def renamed(table: str, origin: str) -> Told:
    return copied(table, f"a rename of {origin} to it")


def altered(table: str, *added: str) -> Told:
    return "ALTER TABLE", f"shop.{table}", list(added), ""


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("RENAME TABLE a TO b", [gone("a"), renamed("b", "shop.a")]),
        ("RENAME TABLE a TO crm.b", [gone("a")]),
        ("RENAME TABLE crm.b TO a", [renamed("a", "crm.b")]),
        ("RENAME TABLE crm.b TO crm.c", []),
        # A swap, and a ring of three.
        ("RENAME TABLE a TO x, b TO a, x TO b", [renamed("a", "shop.b"), renamed("b", "shop.a")]),
        (
            "RENAME TABLE a TO x, b TO a, c TO b",
            [gone("c"), renamed("x", "shop.a"), renamed("a", "shop.b"), renamed("b", "shop.c")],
        ),
        ("RENAME TABLE a TO x, x TO a", []),
        ("RENAME TABLE a TO x, x TO y", [gone("a"), renamed("y", "shop.a")]),
        ("ALTER TABLE a RENAME TO b", [gone("a"), renamed("b", "shop.a")]),
        ("ALTER TABLE a ADD v INT, RENAME TO b", [gone("a"), renamed("b", "shop.a")]),
        ("ALTER TABLE crm.a RENAME shop.b", [renamed("b", "crm.a")]),
    ],
)
def test_a_rename_takes_rows_away_and_brings_others(query: str, told: list[Told]) -> None:
    assert Source().run(query) == told


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("ALTER TABLE a DROP PARTITION p", [("a", "DROP PARTITION")]),
        ("ALTER TABLE a TRUNCATE PARTITION ALL", [("a", "TRUNCATE PARTITION")]),
        (
            "ALTER TABLE a EXCHANGE PARTITION p WITH TABLE b",
            [("a", "EXCHANGE PARTITION"), ("b", "EXCHANGE PARTITION")],
        ),
        ("ALTER TABLE crm.t EXCHANGE PARTITION p WITH TABLE a", [("a", "EXCHANGE PARTITION")]),
        ("ALTER TABLE secret EXCHANGE PARTITION p WITH TABLE crm.b", []),
        (
            "ALTER TABLE a CONVERT PARTITION p TO TABLE b",
            [("a", "CONVERT PARTITION"), ("b", "CONVERT PARTITION")],
        ),
        (
            "ALTER TABLE a CONVERT TABLE b TO PARTITION p DEFAULT",
            [("a", "CONVERT TABLE"), ("b", "CONVERT TABLE")],
        ),
        ("ALTER TABLE a IMPORT TABLESPACE", [("a", "IMPORT TABLESPACE")]),
        ("ALTER TABLE a IMPORT PARTITION p TABLESPACE", [("a", "IMPORT PARTITION")]),
        ("ALTER IGNORE TABLE a ADD UNIQUE (v)", [("a", "IGNORE")]),
        ("ALTER TABLE a DROP SYSTEM VERSIONING", [("a", "DROP SYSTEM VERSIONING")]),
    ],
)
def test_a_table_whose_rows_are_replaced_without_events_is_copied_anew(
    query: str, told: list[tuple[str, str]]
) -> None:
    assert Source().run(query) == [
        copied(table, f"ALTER TABLE … {clause}", "ALTER TABLE") for table, clause in told
    ]


def test_a_table_that_a_logged_statement_fills_is_copied() -> None:
    reason = "CREATE TABLE … SELECT, logged as a statement"
    assert Source().run("CREATE TABLE a SELECT 1 AS v") == [copied("a", reason, "CREATE TABLE")]
    assert Source().run("CREATE TABLE crm.a SELECT 1 AS v") == []


def test_a_discarded_tablespace_has_no_rows() -> None:
    discarded = Source().run("ALTER TABLE a DISCARD TABLESPACE")
    assert discarded == [gone("a", "TRUNCATE TABLE")]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("CREATE TABLE a (v INT)", [gone("a", "CREATE TABLE")]),
        ("CREATE OR REPLACE TABLE a (v INT)", [gone("a", "DROP TABLE")]),
        ("DROP TABLE a, secret, crm.b, b", [gone("a", "DROP TABLE"), gone("b", "DROP TABLE")]),
        ("CREATE INDEX i ON a (v)", [gone("a", "INDEX")]),
        ("CREATE INDEX i ON secret (v)", []),
        ("CREATE DATABASE shop", [gone("", "CREATE DATABASE")]),
        ("CREATE DATABASE crm", []),
        ("DROP DATABASE shop", [gone("", "DROP DATABASE")]),
        ("CREATE SEQUENCE a", []),
        ("CREATE OR REPLACE SEQUENCE IF NOT EXISTS a", [gone("a", "DROP TABLE")]),
        ("CREATE TEMPORARY SEQUENCE a", []),
        ("DROP SEQUENCE `a` /* generated by server */", []),
        ("ALTER TABLE a ADD v INT DEFAULT 7", [altered("a", "v literal 7")]),
        ("ALTER TABLE a DISCARD PARTITION p TABLESPACE", [altered("a")]),
    ],
)
def test_other_ddl_is_told_by_its_kind(query: str, told: list[Told]) -> None:
    assert Source().run(query) == told


def doubted(table: str, statement: str, kind: str) -> Told:
    return copied(table, f"{statement}, maybe of a temporary table", kind)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "RENAME TABLE a TO b",
            [doubted("a", "RENAME TABLE", "DROP TABLE"), renamed("b", "shop.a")],
        ),
        # Each of the names can be that of a table which has stayed.
        (
            "RENAME TABLE a TO x, x TO crm.a",
            [
                doubted("a", "RENAME TABLE", "DROP TABLE"),
                doubted("x", "RENAME TABLE", "DROP TABLE"),
            ],
        ),
        ("ALTER TABLE a RENAME TO b", [gone("a"), renamed("b", "shop.a")]),
        ("TRUNCATE a", [gone("a", "TRUNCATE TABLE")]),
    ],
)
def test_a_rename_of_mariadb_may_be_that_of_a_temporary_table(query: str, told: list[Told]) -> None:
    assert Source(mariadb=True).run(query) == told


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("TRUNCATE a", [doubted("a", "TRUNCATE TABLE", "TRUNCATE TABLE")]),
        ("ALTER TABLE a ADD v INT", [doubted("a", "ALTER TABLE", "ALTER TABLE")]),
        (
            "ALTER TABLE a RENAME TO b",
            [
                doubted("a", "ALTER TABLE", "ALTER TABLE"),
                doubted("b", "ALTER TABLE", "ALTER TABLE"),
            ],
        ),
        ("CREATE INDEX i ON a (v)", [doubted("a", "CREATE INDEX", "INDEX")]),
        # The server names temporary tables in a statement of their own.
        ("DROP TABLE a", [gone("a", "DROP TABLE")]),
        ("DROP TEMPORARY TABLE a", []),
        ("CREATE TEMPORARY TABLE a (v INT)", []),
        ("CREATE TABLE a (v INT)", [gone("a", "CREATE TABLE")]),
    ],
)
def test_a_statement_that_depends_on_its_session_may_be_about_a_temporary_table(
    query: str, told: list[Told]
) -> None:
    assert Source(flags=THREAD_SPECIFIC).run(query) == told


@pytest.mark.parametrize(
    ("table", "originals"),
    [
        ("_t_gho", ["t"]),
        ("_t_ghc", ["t"]),
        ("_t_del", ["t"]),
        ("~t_gho", ["t"]),
        ("_t_20261121235959_del", ["t"]),
        ("_t_new", ["t"]),
        ("__t_old", ["t", "_t"]),
        ("t_new", []),
        ("_new", []),
        ("t", []),
    ],
)
def test_tables_of_online_schema_changes_are_known_by_their_names(
    table: str, originals: list[str]
) -> None:
    assert named_after(table) == originals


def test_tables_of_online_schema_changes_are_followed_only_by_their_own_names() -> None:
    heard = Heard()
    tables = TableFilter(["shop.*", "crm._t_new", "*.only_*"], listener=heard)
    assert not tables.follows("shop", "_t_new")
    assert not tables.follows("shop", "_t_gho")
    assert tables.follows("crm", "_t_new")
    assert not tables.follows("crm", "_only_t_gho")
    # Nothing that is followed has a name that this one could be made of.
    assert TableFilter(["shop._*"]).follows("shop", "_t_old")
    assert heard.left_out == ["shop._t_new", "shop._t_gho"]


GHOST = (
    "create /* gh-ost */ table `shop`.`_t_ghc` (id bigint)",
    "create /* gh-ost */ table `shop`.`_t_gho` like `shop`.`t`",
    (
        "alter /* gh-ost */ table `shop`.`_t_gho` ADD v INT NOT NULL DEFAULT 7, "
        "ADD w VARCHAR(9) DEFAULT 'new', MODIFY id BIGINT NOT NULL, DROP COLUMN code"
    ),
)
SENTRY = (
    "create /* gh-ost */ table `shop`.`_t_del` (id int auto_increment primary key)",
    "drop /* gh-ost */ table if exists `shop`.`_t_del`",
)
GHOST_CUT_OVER = (
    "rename /* gh-ost */ table `shop`.`t` to `shop`.`_t_del`, `shop`.`_t_gho` to `shop`.`t`"
)
GHOST_AWAY = "alter /* gh-ost */ table `shop`.`t` rename `_t_del`"
GHOST_BACK = "alter /* gh-ost */ table `shop`.`_t_gho` rename `t`"
PERCONA = (
    "CREATE TABLE `shop`.`_t_new` (`id` int NOT NULL, PRIMARY KEY (`id`))",
    "ALTER TABLE `shop`.`_t_new` ADD COLUMN v INT NOT NULL DEFAULT 7",
    (
        "CREATE DEFINER=`root`@`%` TRIGGER `pt_osc_shop_t_del` AFTER DELETE ON `shop`.`t` FOR "
        "EACH ROW DELETE IGNORE FROM `shop`.`_t_new` WHERE `shop`.`_t_new`.`id` <=> OLD.`id`"
    ),
    (
        "CREATE DEFINER=`root`@`%` TRIGGER `pt_osc_shop_t_ins` AFTER INSERT ON `shop`.`t` FOR "
        "EACH ROW REPLACE INTO `shop`.`_t_new` (`id`) VALUES (NEW.`id`)"
    ),
)
PERCONA_CUT_OVER = "RENAME TABLE `shop`.`t` TO `shop`.`_t_old`, `shop`.`_t_new` TO `shop`.`t`"


@pytest.mark.parametrize(
    "queries", [(*GHOST, *SENTRY, GHOST_CUT_OVER), (*PERCONA, PERCONA_CUT_OVER)]
)
def test_a_cut_over_copies_the_table(queries: tuple[str, ...]) -> None:
    # The log does not show that the copy has the rows of the table.
    source = Source()
    for query in queries[:-1]:
        assert source.run(query) == []
    origin = "shop._t_gho" if queries[0] == GHOST[0] else "shop._t_new"
    assert source.run(queries[-1]) == [renamed("t", origin)]
    assert source.run("drop table if exists `shop`.`_t_ghc`, `shop`.`_t_del`, `_t_old`") == []
    assert source.online.to_record() == {}


def test_a_cut_over_in_two_steps_copies_the_table() -> None:
    source = Source()
    assert source.run(*GHOST, GHOST_AWAY) == [gone("t")]
    assert source.run(GHOST_BACK) == [renamed("t", "shop._t_gho")]
    assert source.online.to_record() == {}


def test_the_cut_over_of_gh_ost_keeps_the_rows_and_adds_columns() -> None:
    source = Source(keeps_rows=True)
    for query in (*GHOST, *SENTRY):
        assert source.run(query) == []
    assert source.run(GHOST_CUT_OVER) == [altered("t", "v literal 7", "w literal new")]
    assert source.run("drop table if exists `shop`.`_t_ghc`, `shop`.`_t_del`") == []
    assert source.online.to_record() == {}


def test_a_cut_over_of_gh_ost_in_two_steps_keeps_the_rows() -> None:
    source = Source(keeps_rows=True)
    assert source.run(*GHOST, GHOST_AWAY) == []
    assert source.run(GHOST_BACK) == [altered("t", "v literal 7", "w literal new")]
    assert source.online.to_record() == {}


def test_the_cut_over_of_pt_online_schema_change_keeps_the_rows_and_adds_columns() -> None:
    source = Source(keeps_rows=True)
    for query in PERCONA:
        assert source.run(query) == []
    assert source.run(PERCONA_CUT_OVER) == [altered("t", "v literal 7")]
    assert source.run("DROP TABLE IF EXISTS `shop`.`_t_old`") == []
    assert source.online.to_record() == {}


@pytest.mark.parametrize(
    "queries",
    [
        # By hand, with the names of the tool.
        PERCONA[:2],
        # The copying was given up.
        (*PERCONA, "DROP TABLE `shop`.`_t_new`"),
        (
            *PERCONA,
            "DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_t_del`",
            "DROP TRIGGER IF EXISTS `shop`.`pt_osc_shop_t_ins`",
        ),
        # Neither fires triggers.
        (*PERCONA, "TRUNCATE t"),
        (*PERCONA, "ALTER TABLE t DROP PARTITION p"),
        (*PERCONA, "TRUNCATE _t_new"),
        # Rows that are alike in the new key are left out.
        (PERCONA[0], "ALTER TABLE _t_new ADD UNIQUE (v)", *PERCONA[2:]),
        (*PERCONA, "CREATE UNIQUE INDEX u ON _t_new (v)"),
    ],
)
def test_a_swap_of_a_table_that_is_no_copy_copies_the_table(queries: tuple[str, ...]) -> None:
    assert Source(keeps_rows=True).run(*queries, PERCONA_CUT_OVER) == [renamed("t", "shop._t_new")]


@pytest.mark.parametrize(
    ("clause", "named"),
    [
        ("MODIFY code VARCHAR(9)", "MODIFY code"),
        # INSERT IGNORE makes NULL a zero, and leaves out what a condition refuses.
        ("MODIFY COLUMN code INT NOT NULL", "MODIFY COLUMN code"),
        ("ADD CHECK (code > 0)", "ADD CHECK"),
        ("PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9))", "PARTITION BY"),
        # The tool copies each row at another time.
        ("ADD w TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP", "ADD w"),
        ("DROP COLUMN code, ADD code INT", "ADD code"),
        ("RENAME COLUMN code TO number", "RENAME COLUMN code"),
    ],
)
def test_a_table_is_copied_after_a_tool_has_changed_its_values(clause: str, named: str) -> None:
    source = Source(keeps_rows=True)
    for query in (*GHOST[:2], f"alter table `shop`.`_t_gho` {clause}"):
        assert source.run(query) == []
    reason = f"ALTER TABLE … {named} of shop._t_gho, which took its place"
    assert source.run(GHOST_CUT_OVER) == [copied("t", reason, "ALTER TABLE")]
    assert source.run("drop table if exists `shop`.`_t_ghc`, `shop`.`_t_del`") == []
    assert source.online.to_record() == {}


def test_a_table_that_is_altered_and_gets_its_own_name_is_altered() -> None:
    assert Source().run("ALTER TABLE a ADD v INT, RENAME TO a") == [altered("a", "v null")]


def test_a_table_that_gh_ost_put_aside_is_gone_when_something_else_happens() -> None:
    away = (*GHOST, GHOST_AWAY)
    assert Source(keeps_rows=True).run(*away, "DROP TABLE _t_del") == [gone("t", "DROP TABLE")]
    assert Source(keeps_rows=True).run(*away, "RENAME TABLE _t_del TO crm.x") == [
        gone("t", "DROP TABLE")
    ]
    assert Source(keeps_rows=True).run(*away, "CREATE TABLE t (id INT)") == [
        gone("t", "DROP TABLE"),
        gone("t", "CREATE TABLE"),
    ]
    # It may have been changed under its other name.
    assert Source(keeps_rows=True).run(*away, "ALTER TABLE _t_del RENAME t") == [
        renamed("t", "shop._t_del")
    ]
    assert Source(keeps_rows=True).run(*away, "RENAME TABLE crm.x TO t") == [renamed("t", "crm.x")]
    # Without a copy, nothing is to come back.
    assert Source(keeps_rows=True).run(GHOST_AWAY) == [gone("t")]


def test_nothing_is_kept_of_a_database_that_is_gone() -> None:
    source = Source(keeps_rows=True)
    source.run(*GHOST, *PERCONA, GHOST_AWAY, "DROP DATABASE shop")
    assert source.online.to_record() == {}
