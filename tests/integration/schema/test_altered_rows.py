"""After ALTER TABLE, consumers have the rows that the server has, or the table is copied again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.schema.altered_tables import HEAD, STRICT, AlteredTable, altered_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Server

pytestmark = pytest.mark.server

COLUMNS = """
    i INT, u INT UNSIGNED NOT NULL DEFAULT 1, big BIGINT UNSIGNED, price DECIMAL(8,2),
    f FLOAT, d DOUBLE, bits BIT(5), y YEAR, da DATE, dt DATETIME(6), tm TIME(6),
    ts TIMESTAMP NULL, v VARCHAR(20), c CHAR(6), x TEXT, vb VARBINARY(6), bi BINARY(3),
    e ENUM('x', 'y'), s SET('p', 'q')
"""
NAMES = "id, i, u, big, price, f, d, bits, y, da, dt, tm, ts, v, c, x, vb, bi, e, s"
VALUES = (
    "1, -7, 4294967295, 18446744073709551615, '-123456.70', 1.25, -2.5, b'10101', 1999, "
    "'2020-02-29', '2020-01-02 03:04:05.678901', '-12:34:56.789012', '2021-01-01 00:00:00', "
    "'Ж text', 'ab', '{\"k\":1}', X'0102', X'41', 'y', 'p,q'"
)
NULLS = f"2, NULL, 0{', NULL' * 17}"
FULL = f"INSERT INTO t ({NAMES}) VALUES ({VALUES}), ({NULLS})"


@pytest.fixture(
    scope="module",
    params=["mysql_server", "mysql_9", "mariadb_server"],
    ids=["mysql-8.0", "mysql-9", "mariadb"],
)
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def table(server: Server) -> Iterator[AlteredTable]:
    """A table with a column of each type and two rows."""
    with altered_table(server) as table:
        table.mode(STRICT)
        table.run(f"CREATE TABLE t ({HEAD}, {COLUMNS}, KEY k (i), CONSTRAINT ck CHECK (id > 0))")
        table.run(FULL)
        yield table


PROVEN = [
    "ADD INDEX i1 (i), ADD UNIQUE u1 (big), ADD FULLTEXT x1 (x)",
    "RENAME INDEX k TO k2",
    "DROP INDEX k",
    "ADD CONSTRAINT c2 CHECK (id < 9), DROP CONSTRAINT ck",
    "ALTER COLUMN i SET DEFAULT 8, ALTER v SET DEFAULT 'w', ALTER u DROP DEFAULT",
    "FORCE",
    "ORDER BY i DESC, v",
    "ENABLE KEYS",
    "COMMENT = 'c' ROW_FORMAT = DYNAMIC, STATS_PERSISTENT = 1",
    "ENGINE = InnoDB",
    "DEFAULT CHARACTER SET latin1 COLLATE latin1_bin",
    "AUTO_INCREMENT = 70",
    "PARTITION BY HASH (id) PARTITIONS 3",
    "ALGORITHM = COPY, FORCE",
    "DROP COLUMN i",
    "DROP i, DROP COLUMN v, ADD n2 INT NOT NULL DEFAULT 4 FIRST",
    "ADD n1 INT, ADD COLUMN n2 BIGINT UNSIGNED NOT NULL AFTER id",
    "ADD (n1 DECIMAL(5,2) NOT NULL DEFAULT -1.50, n2 VARCHAR(9) DEFAULT 'it''s', INDEX (n1))",
    "ADD n1 DATETIME(3) DEFAULT '2020-01-01 01:02:03.4', ADD n2 DATE DEFAULT '2020-01-01'",
    "ADD n1 DATETIME NOT NULL DEFAULT '2020-01-01', ADD n2 TIME(2) DEFAULT '-12:00:00.5'",
    "ADD n1 ENUM('a', 'b') NOT NULL, ADD n2 SET('a', 'b') DEFAULT 'b,a', ADD n3 YEAR DEFAULT 1999",
    "ADD n1 FLOAT DEFAULT 0.1, ADD n2 DOUBLE DEFAULT 1e3, ADD n3 BIT(4) DEFAULT b'101'",
    "ADD n1 VARBINARY(5) DEFAULT 'ab', ADD n2 BINARY(4) NOT NULL DEFAULT 'ab', ADD n3 BOOL",
    "ADD n1 CHAR(5) DEFAULT 'Ж', ADD n2 TEXT, ADD n3 CHAR(9) NOT NULL, ADD n4 BIT(1) DEFAULT 1",
    r"ADD n1 VARCHAR(20) DEFAULT 'a\nb\'c\%\_d\\'",
    "ADD n1 TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP",
    "ADD n1 DECIMAL(3,1) DEFAULT -0.01, ADD n2 VARCHAR(5) DEFAULT -7",
    "ADD n1 ENUM('a', 'A') COLLATE utf8mb4_bin NOT NULL DEFAULT 'a'",
    "MODIFY i BIGINT",
    "MODIFY COLUMN u INT UNSIGNED NOT NULL DEFAULT 5 COMMENT 'AS' AFTER id",
    "MODIFY big BIGINT UNSIGNED DEFAULT 1",
    "MODIFY price DECIMAL(12,2) DEFAULT 1",
    "MODIFY e ENUM('x', 'y', 'z'), MODIFY s SET('p', 'q', 'r')",
    "MODIFY vb VARBINARY(9), MODIFY bi BINARY(3) COMMENT 'c'",
    "MODIFY f FLOAT DEFAULT 1, MODIFY d DOUBLE PRECISION, MODIFY bits BIT(5), MODIFY y YEAR",
    "MODIFY da DATE, MODIFY dt DATETIME(6), MODIFY tm TIME(6), MODIFY ts TIMESTAMP NULL",
    "CHANGE i i BIGINT FIRST",
]
UNPROVEN = [
    "DROP COLUMN i, ADD COLUMN i INT DEFAULT 3",
    "CHANGE i u INT, CHANGE u i INT UNSIGNED NOT NULL DEFAULT 1",
    "CHANGE i I INT",
    "MODIFY dt DATETIME",
    "MODIFY tm TIME",
    "MODIFY vb BINARY(6)",
    "MODIFY x LONGTEXT",
    "MODIFY v VARCHAR(30)",
    "MODIFY i VARCHAR(30)",
    "MODIFY u BIGINT UNSIGNED NOT NULL",
    "MODIFY price DECIMAL(12,3)",
    "MODIFY e ENUM('y', 'x')",
    "MODIFY s SET('q', 'p')",
    "MODIFY bits BIT(8)",
    "MODIFY y INT",
    "MODIFY f DOUBLE",
    "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "ENGINE = MyISAM",
    "ADD g INT AS (i + 1) STORED",
    "ADD g INT AS (i + 1) VIRTUAL",
    "ADD n1 DATETIME DEFAULT CURRENT_TIMESTAMP",
    "ADD n1 ENUM('2', '1') DEFAULT '1', ADD n2 INT AUTO_INCREMENT UNIQUE",
    "ADD n1 VARCHAR(5) DEFAULT 007",
    "DROP PRIMARY KEY",
]


@pytest.mark.parametrize("clauses", PROVEN)
def test_rows_stay_after_a_clause_that_is_proven(table: AlteredTable, clauses: str) -> None:
    assert table.run(f"ALTER TABLE t {clauses}") == []
    assert table.differences() == ([], [])


@pytest.mark.parametrize("clauses", UNPROVEN)
def test_the_table_is_copied_after_another_clause(table: AlteredTable, clauses: str) -> None:
    (reason,) = table.run(f"ALTER TABLE t {clauses}")
    assert reason.startswith("ALTER TABLE … ")


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        # The server has other values after each of these, and wrote no row event about them.
        (["DROP COLUMN i", "ADD COLUMN i INT DEFAULT 3"], "ADD COLUMN i"),
        (["ADD n1 INT DEFAULT 1", "DROP n1", "ADD n1 INT DEFAULT 2"], "ADD n1"),
        (["MODIFY dt DATETIME"], "MODIFY dt"),
        (["MODIFY tm TIME"], "MODIFY tm"),
        (["MODIFY vb BINARY(6)"], "MODIFY vb"),
    ],
)
def test_a_mistake_of_a_rule_by_names_is_none_of_this_one(
    table: AlteredTable, statements: list[str], why: str
) -> None:
    found = [reason for each in statements for reason in table.run(f"ALTER TABLE t {each}")]
    assert found == [f"ALTER TABLE … {why}"]
    _, differences = table.differences()
    assert differences != []


@pytest.mark.parametrize(
    ("clause", "why"),
    [("MODIFY v VARCHAR(2)", "MODIFY v"), ("MODIFY i INT NOT NULL", "MODIFY i")],
)
def test_outside_strict_mode_a_value_that_does_not_fit_is_changed(
    table: AlteredTable, clause: str, why: str
) -> None:
    table.mode("")
    assert table.run(f"ALTER TABLE t {clause}") == [f"ALTER TABLE … {why}"]
    _, differences = table.differences()
    assert differences != []


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("ALTER TABLE t ALGORITHM = COPY, FORCE", "ALTER TABLE … ALGORITHM"),
        ("CREATE INDEX i2 ON t (i) ALGORITHM = COPY", "CREATE INDEX"),
    ],
)
def test_outside_strict_mode_a_rebuild_can_zero_partial_dates(
    table: AlteredTable, statement: str, why: str
) -> None:
    table.mode("")
    table.run("UPDATE t SET da = '2020-00-01'")
    table.mode("NO_ZERO_IN_DATE")
    found = table.run(statement)
    assert found == [f"{why} outside strict mode"]
    _, differences = table.differences()
    assert differences != []


def test_labels_of_a_table_in_binary_stay_with_others_appended(server: Server) -> None:
    with altered_table(server) as table:
        table.mode(STRICT)
        table.run(f"CREATE TABLE t ({HEAD}, e ENUM('x', 'y'), s SET('p', 'q')) CHARSET binary")
        table.run("INSERT INTO t VALUES (1, 0, 'y', 'p,q'), (2, 0, NULL, '')")
        assert table.run("ALTER TABLE t MODIFY e ENUM('x', 'y', 'z'), CHARSET utf8mb4") == []
        assert table.run("ALTER TABLE t MODIFY s SET('p', 'q', 'z') NOT NULL") == []
        assert table.differences() == ([], [])


def test_partitions_come_and_go_without_a_copy(server: Server) -> None:
    with altered_table(server) as table:
        table.run(
            f"CREATE TABLE t ({HEAD}, v INT) PARTITION BY RANGE (id) "
            "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))"
        )
        table.run("INSERT INTO t VALUES (1, 0, 5), (11, 0, 6)")
        for clauses in (
            "ADD PARTITION (PARTITION p2 VALUES LESS THAN (30))",
            "REORGANIZE PARTITION p0, p1 INTO (PARTITION q VALUES LESS THAN (20))",
            "REBUILD PARTITION q, p2",
            "OPTIMIZE PARTITION q",
            "ANALYZE PARTITION ALL",
            "CHECK PARTITION q, p2",
            "PARTITION BY HASH (id) PARTITIONS 4",
            "COALESCE PARTITION 2",
            "COMMENT = 'x' REMOVE PARTITIONING",
        ):
            assert table.run(f"ALTER TABLE t {clauses}") == [], clauses
        assert table.differences() == ([], [])
        # Rows between the statements make no difference.
        assert table.run("ALTER TABLE t ADD w INT DEFAULT 9 PARTITION BY KEY (id)") == []
        assert table.differences() == ([], [])


def test_a_table_that_returns_to_an_older_column_list_is_known_by_it(table: AlteredTable) -> None:
    table.run("UPDATE t SET u = 7")
    assert table.run("ALTER TABLE t MODIFY u INT", "INSERT INTO t (id, u) VALUES (3, 4)") != []
    table.copy()
    assert table.run("ALTER TABLE t MODIFY u INT UNSIGNED NOT NULL DEFAULT 1") != []
    table.copy()
    # Of the signed column, which has the newest schema record, this would keep the form.
    table.mode(STRICT)
    (reason,) = table.run("ALTER TABLE t MODIFY u BIGINT")
    assert reason == "ALTER TABLE … MODIFY u"


def test_a_key_that_another_index_brings_is_seen_with_the_next_row(server: Server) -> None:
    with altered_table(server) as table:
        table.run("CREATE TABLE t (id INT NOT NULL, tick INT NOT NULL, v INT NOT NULL)")
        table.run("INSERT INTO t VALUES (1, 0, 10), (2, 0, 20)")
        assert table.run("CREATE UNIQUE INDEX u ON t (v)") == []
        resyncs = table.run("INSERT INTO t VALUES (3, 0, 30)")
        keyed = any("v" in key for key in table.consumer.rows)
        assert resyncs == (["its key was changed"] if keyed else [])
