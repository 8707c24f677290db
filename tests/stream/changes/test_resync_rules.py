"""Which clauses of ALTER TABLE keep the rows that consumers have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.events.status_variables import (
    EMPTY_STRING_IS_NULL,
    NO_AUTO_VALUE_ON_ZERO,
    NO_BACKSLASH_ESCAPES,
    NO_ZERO_DATE,
    STRICT_TRANS_TABLES,
)
from connector.binlog.sql_text import tokenize
from connector.stream.changes.column_lists import KnownColumns
from connector.stream.changes.resync_rules import unsafe_clause

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn

COLUMNS: list[SchemaColumn] = [
    {"name": "id", "type": "int", "nullable": False, "key": 1, "unsigned": False},
    {"name": "a", "type": "int", "nullable": True, "key": 0, "unsigned": False},
    {"name": "n", "type": "int", "nullable": False, "key": 0, "unsigned": True},
    {"name": "big", "type": "bigint", "nullable": True, "key": 0, "unsigned": True},
    {
        "name": "price",
        "type": "decimal",
        "nullable": True,
        "key": 0,
        "unsigned": False,
        "precision": 10,
        "scale": 2,
    },
    {"name": "e", "type": "enum", "nullable": True, "key": 0, "labels": ["x", "y"]},
    {"name": "b", "type": "varbinary", "nullable": True, "key": 0, "length": 9},
    {"name": "w", "type": "year", "nullable": True, "key": 0},
    {"name": "c", "type": "varchar", "nullable": True, "key": 0, "length": 40, "charset": "utf8"},
    {"name": "old", "type": "int", "nullable": True, "key": 0, "unsigned": False},
]
TIMES: list[SchemaColumn] = [
    {"name": "at", "type": "datetime", "nullable": True, "key": 0, "fraction": 6},
    {"name": "ts", "type": "timestamp", "nullable": True, "key": 0, "fraction": 0},
]
STRICT = STRICT_TRANS_TABLES


def unproven(clauses: str, mode: int = STRICT, *, by_tool: bool = False) -> str:
    columns = KnownColumns([*COLUMNS, *TIMES], ["fresh"])
    return unsafe_clause(
        list(tokenize(f"ALTER TABLE `shop`.t {clauses}")), columns, mode, by_tool=by_tool
    )


@pytest.mark.parametrize(
    "clauses",
    [
        "",
        "ADD INDEX (a)",
        "ADD KEY i (a), ADD UNIQUE u (a), ADD FULLTEXT (c), ADD SPATIAL INDEX (g)",
        "ADD VECTOR INDEX (v)",
        "ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES o (id) ON DELETE CASCADE",
        "ADD CONSTRAINT CHECK (a > 0), ADD CHECK (a > 0)",
        "DROP INDEX i, DROP KEY j, DROP FOREIGN KEY f, DROP CONSTRAINT c, DROP CHECK d",
        "RENAME INDEX i TO j, RENAME KEY k TO l",
        "ALTER INDEX i INVISIBLE, ALTER CHECK c NOT ENFORCED, ALTER CONSTRAINT c ENFORCED",
        "ALTER a SET DEFAULT 7, ALTER COLUMN a DROP DEFAULT, ALTER a SET INVISIBLE",
        "ADD PARTITION (PARTITION p VALUES LESS THAN (9))",
        "COALESCE PARTITION 2",
        "REORGANIZE PARTITION p, q INTO (PARTITION r VALUES LESS THAN (9))",
        "REBUILD PARTITION p, q",
        "PARTITION BY HASH (id) PARTITIONS 4",
        "ADD x INT PARTITION BY KEY (id)",
        "REMOVE PARTITIONING",
        "ENGINE=InnoDB REMOVE PARTITIONING",
        "FORCE",
        "ORDER BY a DESC, n, FORCE",
        "ENABLE KEYS",
        "DISABLE KEYS",
        "ADD x INT, ALGORITHM=INSTANT, LOCK = NONE",
        "WAIT 5 ADD x INT",
        "NOWAIT ADD x INT",
        "COMMENT='a, b' AUTO_INCREMENT 7 ROW_FORMAT=DYNAMIC, STATS_PERSISTENT=1",
        "DEFAULT CHARACTER SET = utf8mb4 COLLATE utf8mb4_bin, CHARSET latin1",
        "ENGINE = innodb",
        "WITH VALIDATION",
        "ADD x INT, ADD COLUMN y VARCHAR(9) NOT NULL DEFAULT 'z' AFTER a",
        "ADD (x INT NOT NULL, y DECIMAL(5,2) DEFAULT 1.5, INDEX (x))",
        "ADD x ENUM('a','b') NOT NULL DEFAULT 'b' COMMENT 'AS'",
        "ADD x DATETIME(3) DEFAULT '2020-01-01 00:00:00.5'",
        "ADD x TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP",
        "DROP a, DROP COLUMN n",
        "DROP COLUMN IF EXISTS nothing",
        "DROP fresh",
        "MODIFY a BIGINT NOT NULL DEFAULT 3 COMMENT 'x' FIRST",
        "MODIFY COLUMN a INTEGER(11)",
        "CHANGE a a INT NOT NULL",
        "MODIFY n INT UNSIGNED",
        "MODIFY big BIGINT UNSIGNED NOT NULL",
        "MODIFY price DECIMAL(12,2)",
        "MODIFY e ENUM('x','y','z')",
        "MODIFY b VARBINARY(10)",
        "MODIFY w YEAR",
        "MODIFY at DATETIME(6)",
        "MODIFY ts TIMESTAMP NULL",
    ],
)
def test_a_clause_that_is_proven_keeps_the_rows(clauses: str) -> None:
    assert unproven(clauses) == ""


@pytest.mark.parametrize(
    ("clauses", "named"),
    [
        ("ADD PRIMARY KEY (a)", "ADD PRIMARY KEY"),
        ("ADD CONSTRAINT p PRIMARY KEY (a)", "ADD CONSTRAINT p"),
        ("DROP INDEX `PRIMARY`", "DROP INDEX PRIMARY"),
        ("DROP CONSTRAINT `primary`", "DROP CONSTRAINT primary"),
        ("CONVERT TO CHARACTER SET utf8mb4", "CONVERT TO CHARACTER SET"),
        ("ENGINE=MyISAM", "ENGINE"),
        ("ENGINE=InnoDB UNION=(x)", "ENGINE"),
        ("REPAIR PARTITION p", "REPAIR PARTITION"),
        ("ADD SYSTEM VERSIONING", "ADD SYSTEM VERSIONING"),
        ("NEW CLAUSE", "NEW"),
        ("ADD x INT, MODIFY price INT", "MODIFY price"),
        # Names.
        ("DROP a, ADD a INT", "ADD a"),
        ("ADD A INT", "ADD A"),
        ("ADD fresh INT", "ADD fresh"),
        ("RENAME COLUMN a TO old_a, ADD a INT", "RENAME COLUMN a"),
        ("RENAME COLUMN a TO b, RENAME COLUMN b TO a", "RENAME COLUMN a"),
        ("CHANGE a A INT", "CHANGE a"),
        ("CHANGE COLUMN a b INT", "CHANGE COLUMN a"),
        ("MODIFY A INT", "MODIFY A"),
        ("DROP COLUMN ID", "DROP COLUMN ID"),
        # Defaults that the log does not hold.
        ("ADD x INT AS (a + 1)", "ADD x"),
        ("ADD x INT GENERATED ALWAYS AS (a) STORED", "ADD x"),
        ("ADD x INT AUTO_INCREMENT UNIQUE", "ADD x"),
        ("ADD x SERIAL", "ADD x"),
        ("ADD x INT PRIMARY KEY", "ADD x"),
        ("ADD x INT KEY", "ADD x"),
        ("ADD x CHAR(36) DEFAULT (UUID())", "ADD x"),
        ("ADD x UUID DEFAULT '00000000-0000-0000-0000-000000000001'", "ADD x"),
        ("ADD x DATETIME DEFAULT CURRENT_TIMESTAMP", "ADD x"),
        ("ADD x TIMESTAMP", "ADD x"),
        ("ADD x TIMESTAMP NOT NULL", "ADD x"),
        ("ADD x DATE DEFAULT '2020-1-1'", "ADD x"),
        ("ADD x ENUM('2','1') DEFAULT 1", "ADD x"),
        ("ADD x BIT(8) DEFAULT '1'", "ADD x"),
        ("ADD x YEAR DEFAULT '0'", "ADD x"),
        ("ADD x FLOAT DEFAULT 1.2345678", "ADD x"),
        ("ADD x DOUBLE(5,2) DEFAULT 1.234", "ADD x"),
        ("ADD x INT DEFAULT 1.5", "ADD x"),
        ("ADD x VARCHAR(9) DEFAULT 'a' 'b'", "ADD x"),
        ("ADD x CHAR(9) DEFAULT 'a '", "ADD x"),
        ("ADD x POINT NOT NULL", "ADD x"),
        # Types.
        ("MODIFY a TINYINT", "MODIFY a"),
        ("MODIFY a INT UNSIGNED", "MODIFY a"),
        ("MODIFY a VARCHAR(20)", "MODIFY a"),
        ("MODIFY n BIGINT UNSIGNED", "MODIFY n"),
        ("MODIFY price DECIMAL(12,3)", "MODIFY price"),
        ("MODIFY price DECIMAL(9,2)", "MODIFY price"),
        ("MODIFY e ENUM('y','x')", "MODIFY e"),
        ("MODIFY e ENUM('x')", "MODIFY e"),
        ("MODIFY b BINARY(9)", "MODIFY b"),
        ("MODIFY c VARCHAR(80)", "MODIFY c"),
        ("MODIFY c JSON", "MODIFY c"),
        ("MODIFY at DATETIME", "MODIFY at"),
        ("MODIFY at DATETIME(3)", "MODIFY at"),
        ("MODIFY ts TIMESTAMP", "MODIFY ts"),
        ("MODIFY a INT AUTO_INCREMENT", "MODIFY a"),
        ("MODIFY a INT AS (n + 2)", "MODIFY a"),
        ("MODIFY fresh INT", "MODIFY fresh"),
    ],
)
def test_after_any_other_clause_the_table_is_copied(clauses: str, named: str) -> None:
    assert unproven(clauses) == named


@pytest.mark.parametrize(
    ("clauses", "mode", "named"),
    [
        ("MODIFY n BIGINT UNSIGNED", 0, "MODIFY n"),
        ("MODIFY a BIGINT", 0, "MODIFY a"),
        ("FORCE", 0, ""),
        ("FORCE", NO_ZERO_DATE, "FORCE outside strict mode"),
        ("FORCE", NO_ZERO_DATE | STRICT, ""),
        ("MODIFY n INT UNSIGNED AUTO_INCREMENT", STRICT, "MODIFY n"),
        ("MODIFY n INT UNSIGNED AUTO_INCREMENT", STRICT | NO_AUTO_VALUE_ON_ZERO, ""),
        (r"ADD x CHAR(3) DEFAULT '\'", STRICT | NO_BACKSLASH_ESCAPES, "ADD x"),
        ("ADD x CHAR(3) DEFAULT ''", STRICT | EMPTY_STRING_IS_NULL, "ADD x"),
        ("ADD x CHAR(3) DEFAULT 'é'", STRICT, ""),
        ("ADD x CHAR(3) DEFAULT 'é'", 0, "ADD x"),
    ],
)
def test_the_mode_of_the_session_decides_too(clauses: str, mode: int, named: str) -> None:
    assert unproven(clauses, mode) == named


def test_a_rebuild_outside_strict_mode_keeps_a_table_without_dates() -> None:
    tokens = list(tokenize("ALTER TABLE t FORCE"))
    assert unsafe_clause(tokens, KnownColumns(COLUMNS), NO_ZERO_DATE) == ""


def test_nothing_is_proven_about_columns_that_are_not_known() -> None:
    for clause in ("ADD x INT", "DROP COLUMN a", "MODIFY a BIGINT"):
        assert unsafe_clause(list(tokenize(f"ALTER TABLE t {clause}")), None, STRICT) != ""
    assert unsafe_clause(list(tokenize("ALTER TABLE t ADD INDEX (a)")), None, STRICT) == ""


def test_a_table_without_published_rows_has_nothing_to_copy() -> None:
    assert unsafe_clause(list(tokenize("ALTER TABLE t MODIFY a CHAR(3)")), KnownColumns(), 0) == ""


@pytest.mark.parametrize(
    "query",
    [
        "ALTER TABLE t ADD (a INT, b CHAR(3) DEFAULT _utf8mb4'x') PARTITION BY HASH (a), FORCE",
        "ALTER TABLE t MODIFY COLUMN IF EXISTS a DECIMAL(5,2) UNSIGNED ON UPDATE NOW() CHECK (a)",
        "ALTER TABLE t DEFAULT CHARACTER SET = x, CHANGE a a ENUM('x'), DROP CONSTRAINT c",
        "ALTER TABLE t ADD (,), ADD (), ADD, DROP, MODIFY, CHANGE, ALTER, RENAME, ENGINE =",
    ],
)
def test_a_statement_that_no_server_runs_is_no_reason_to_fail(query: str) -> None:
    tokens = list(tokenize(query))
    for end in range(len(tokens) + 1):
        for by_tool in (False, True):
            unsafe_clause(tokens[:end], KnownColumns(COLUMNS), STRICT, by_tool=by_tool)
