"""After ALTER TABLE, consumers have the rows that the server has, or the table is copied again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.schema.alter_clauses import COLUMNS, FULL, PROVEN, UNPROVEN
from tests.integration.schema.altered_tables import HEAD, STRICT, AlteredTable, altered_table
from tests.length import length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Server

pytestmark = pytest.mark.server


# In the short form, MySQL 8.0 has the random statements of test_random_alters.py.
@pytest.fixture(
    scope="module",
    params=["mysql_9", "mariadb_server", "mysql_server"][: length(short=2, full=3)],
    ids=["mysql-9", "mariadb", "mysql-8.0"][: length(short=2, full=3)],
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


def test_a_column_that_comes_back_after_rows_without_it_has_the_table_copied(
    table: AlteredTable,
) -> None:
    assert table.run("ALTER TABLE t DROP COLUMN i") == []
    # Consumers learn the list without the column, and still have earlier rows with it.
    table.run("UPDATE t SET da = '2020-01-02'")
    assert table.run("ALTER TABLE t ADD COLUMN I INT DEFAULT 3") == ["ALTER TABLE … ADD COLUMN I"]


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
