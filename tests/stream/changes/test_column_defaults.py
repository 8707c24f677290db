"""What ALTER TABLE says of the values that existing rows get."""

from __future__ import annotations

import pytest

from connector.binlog.statement import classify
from connector.stream.changes.column_defaults import AddedColumn, DefaultKind, added_columns

NULL, LITERAL, IMPLICIT = DefaultKind.NULL, DefaultKind.LITERAL, DefaultKind.IMPLICIT
COMPUTED, NOW, BITS = DefaultKind.COMPUTED, DefaultKind.NOW, DefaultKind.BITS


@pytest.mark.parametrize(
    ("definition", "kind", "text"),
    [
        ("INT", NULL, ""),
        ("INT NULL DEFAULT NULL", NULL, ""),
        ("INT NOT NULL", IMPLICIT, ""),
        ("INT NOT NULL DEFAULT 7", LITERAL, "7"),
        ("INT DEFAULT 7 NOT NULL", LITERAL, "7"),
        ("INT DEFAULT -7", LITERAL, "-7"),
        ("DECIMAL(10,2) NOT NULL DEFAULT 1.50", LITERAL, "1.50"),
        ("DOUBLE DEFAULT 1e3", LITERAL, "1e3"),
        ("BOOLEAN DEFAULT TRUE", LITERAL, "1"),
        ("BIT(4) DEFAULT b'101'", BITS, "5"),
        ("VARCHAR(9) DEFAULT B'1000001'", BITS, "65"),
        # A byte of ASCII is half a character here.
        ("VARCHAR(9) DEFAULT _utf16'ab'", COMPUTED, ""),
        ("VARCHAR(9) DEFAULT _binary'ab'", COMPUTED, ""),
        ("VARCHAR(9) DEFAULT _latin1 X'E9'", COMPUTED, ""),
        ("VARCHAR(9) DEFAULT N'ab'", COMPUTED, ""),
        ("VARCHAR(9) DEFAULT 0x4142", COMPUTED, ""),
        ("VARCHAR(9) DEFAULT 0b1000001", COMPUTED, ""),
        ("VARCHAR(9) DEFAULT 'it''s'", LITERAL, "it's"),
        (r"VARCHAR(9) DEFAULT 'a\nb\'c'", LITERAL, "a\nb'c"),
        ("VARCHAR(9) CHARACTER SET utf8mb4 DEFAULT _utf8mb4'x' COMMENT 'DEFAULT y'", LITERAL, "x"),
        ("ENUM('a','b') NOT NULL DEFAULT 'b' AFTER id", LITERAL, "b"),
        ("ENUM('a','b') NOT NULL FIRST", IMPLICIT, ""),
        ("TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP", NOW, "1700000000"),
        ("TIMESTAMP NOT NULL DEFAULT NOW()", NOW, "1700000000"),
        ("CHAR(36) DEFAULT (uuid())", COMPUTED, ""),
        ("CHAR(36) DEFAULT uuid()", COMPUTED, ""),
        ("BINARY(2) DEFAULT x'4142'", COMPUTED, ""),
        ("INT AS (id + 1) STORED", COMPUTED, ""),
        ("INT GENERATED ALWAYS AS (id + 1) VIRTUAL NOT NULL", COMPUTED, ""),
        ("BIGINT NOT NULL AUTO_INCREMENT UNIQUE", COMPUTED, ""),
    ],
)
def test_the_default_of_an_added_column_is_read(
    definition: str, kind: DefaultKind, text: str
) -> None:
    statement = classify(f"ALTER TABLE `shop`.`t` ADD COLUMN `x` {definition}")
    assert added_columns(statement, 1_700_000_000) == [AddedColumn("x", kind, text)]


def test_every_clause_that_adds_a_column_counts_and_no_other() -> None:
    statement = classify(
        "ALTER TABLE t ADD a INT, ADD INDEX (a), ADD COLUMN IF NOT EXISTS b INT DEFAULT 1, "
        "DROP COLUMN c, ADD (d DECIMAL(5,2) NOT NULL, e TEXT), ADD CONSTRAINT f CHECK (a > 0), "
        "ADD UNIQUE KEY g (a, b), ALGORITHM=INSTANT"
    )
    assert added_columns(statement, 0) == [
        AddedColumn("a", NULL),
        AddedColumn("b", LITERAL, "1"),
        AddedColumn("d", IMPLICIT),
        AddedColumn("e", NULL),
    ]


def test_alter_table_that_adds_nothing_adds_no_column() -> None:
    assert added_columns(classify("ALTER TABLE t ENGINE=InnoDB"), 0) == []
    assert added_columns(classify("ALTER TABLE t ADD"), 0) == []


@pytest.mark.parametrize(
    "query",
    [
        "ALTER TABLE IF EXISTS `a`.`t` ADD COLUMN IF NOT EXISTS x INT NOT NULL DEFAULT -1",
        "ALTER TABLE t ADD (y CHAR(3) DEFAULT _utf8mb4'z', z BIT(2) DEFAULT b'10')",
        "ALTER TABLES t ADD x INT DEFAULT b'2'",
        "ALTER TABLE t ADD (,), ADD (), ADD",
    ],
)
def test_a_statement_that_no_server_runs_is_no_reason_to_fail(query: str) -> None:
    for end in range(len(query) + 1):
        added_columns(classify(query[:end]), 7)
