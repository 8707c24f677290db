"""A column list that comes from the text of ALTER TABLE is the one that the next row has."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest
from pymysql.err import MySQLError

from tests.integration.schema.altered_tables import HEAD, STRICT, AlteredTable, altered_table
from tests.integration.schema.random_alters import RandomAlters
from tests.length import length

if TYPE_CHECKING:
    from local_stack import Server

pytestmark = [pytest.mark.server, pytest.mark.timeout(1_200)]

SEEDS: Final = length(short=12, full=500)
ALTERS: Final = 8
# Facts of a text column that depend on the default character set of its table.
_OF_CHARSET: Final = {"charset", "collation", "length"}
_TEXTS: Final = ("char", "varchar", "text")
_HISTORY: Final = ("added_default", "added_default_unknown")

STATED: Final = (
    "ADD w INT",
    "ADD COLUMN w INT(5) UNSIGNED NOT NULL DEFAULT 5 FIRST",
    "ADD w TINYINT ZEROFILL AFTER id",
    "ADD w BOOL DEFAULT TRUE",
    "ADD w INT8 NULL DEFAULT NULL",
    "ADD (w SMALLINT, x MEDIUMINT UNSIGNED NOT NULL)",
    "ADD w INT AFTER id, ADD x INT AFTER w, ADD y INT FIRST, ADD z INT",
    "ADD w DECIMAL",
    "ADD w DECIMAL(8)",
    "ADD w NUMERIC(0)",
    "ADD w DEC(10,3) UNSIGNED NOT NULL DEFAULT 1.5",
    "ADD w FLOAT UNSIGNED",
    "ADD w FLOAT(7,3)",
    "ADD w DOUBLE PRECISION",
    "ADD w BIT",
    "ADD w BIT(9) NOT NULL DEFAULT b'1'",
    "ADD w YEAR NOT NULL",
    "ADD w DATE DEFAULT '2020-01-02'",
    "ADD w TIME(3)",
    "ADD w DATETIME DEFAULT '2020-01-02 03:04:05'",
    "ADD w TIMESTAMP(2) NULL",
    "ADD w TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP",
    "ADD w BINARY",
    "ADD w BINARY(4) NOT NULL",
    "ADD w VARBINARY(300) DEFAULT 'ab'",
    "ADD w LONGBLOB",
    "ADD w ENUM('a','b') NOT NULL DEFAULT 'b'",
    "ADD w SET('a','b') DEFAULT 'b,a'",
    "ADD w GEOMETRY",
    "ADD w POINT",
    "ADD w VARCHAR(40) NOT NULL DEFAULT 'x'",
    "ADD w CHAR(7) AFTER v",
    "ADD w MEDIUMTEXT",
    "ADD w NVARCHAR(9)",
    "ADD w VARCHAR(40) CHARACTER SET latin1 COLLATE latin1_bin",
    "ADD w INT COMMENT 'first' INVISIBLE",
    "ADD `w w` INT CHECK (`w w` > 0)",
    "ADD W INT AFTER ID",
    "ADD w INT, ALGORITHM = INPLACE, LOCK = NONE",
    "ADD w INT, COMMENT 'x', ADD INDEX i1 (n), ADD KEY (w)",
    "DROP n",
    "DROP COLUMN V",
    "DROP n, DROP COLUMN v",
    "DROP n, ADD w INT AFTER v, DROP v2",
)
UNSTATED: Final = (
    "ADD w TIMESTAMP DEFAULT '2020-01-01 00:00:00'",
    "ADD w FLOAT(30)",
    "ADD w INT UNIQUE",
    "ADD w INT, ADD UNIQUE (w)",
    "ADD w CHAR(3) BYTE",
    "ADD w VARCHAR(9) CHARACTER SET binary",
    "ADD w REAL",
    "ADD w ENUM('a ')",
    "ADD w INT DEFAULT (1 + 2)",
    "ADD w INT AS (n + 1)",
    "ADD ö INT",
    "ADD w INT, MODIFY n BIGINT",
    "ADD w INT /*!50000 UNSIGNED */",
    "MODIFY n BIGINT",
    "RENAME COLUMN n TO w",
    "DROP COLUMN n, ADD n INT",
    "DROP CHECK ck",
    "DROP CONSTRAINT ck",
    "ADD PARTITION PARTITIONS 1",
    "ADD INDEX (n)",
)


@pytest.fixture(params=["mysql_9", "mariadb_server", "mysql_server"][: length(short=2, full=3)])
def server_of_each_kind(request: pytest.FixtureRequest) -> Server:
    server: Server = request.getfixturevalue(request.param)
    return server


def _begin(table: AlteredTable, more: str = "") -> None:
    table.mode(STRICT)
    table.run("DROP TABLE IF EXISTS t")
    table.run(
        f"CREATE TABLE t ({HEAD}, n INT, v VARCHAR(20), v2 VARCHAR(9), CONSTRAINT ck CHECK (id < 9)"
        f") {more}"
    )
    table.run("INSERT INTO t (id, n, v) VALUES (1, 7, 'x'), (2, NULL, NULL)")


def _compare(stated: list[dict[str, Any]], table: AlteredTable) -> None:
    """Compare a stated list with the next row's, and the rows with the server's."""
    resyncs, differences = table.differences()
    assert (resyncs, differences) == ([], [])
    _compare_columns(stated, table.consumer.columns)


def _compare_columns(stated: list[dict[str, Any]], shown: list[dict[str, Any]]) -> None:
    assert [column["name"] for column in stated] == [column["name"] for column in shown]
    for one, other in zip(stated, shown, strict=True):
        left_out = _OF_CHARSET - one.keys() if one["type"] in _TEXTS else set()
        assert one == {name: fact for name, fact in other.items() if name not in left_out}


def test_a_stated_list_is_that_of_the_next_row(server_of_each_kind: Server) -> None:
    for clauses in STATED:
        # A name that a column had before, also before DROP TABLE, has the table copied.
        with altered_table(server_of_each_kind) as table:
            _begin(table)
            assert table.run(f"ALTER TABLE t {clauses}") == [], clauses
            stated = table.stated
            assert stated is not None, clauses
            _compare(stated, table)


def test_what_the_text_does_not_determine_is_not_stated(server_of_each_kind: Server) -> None:
    refused = 0
    with altered_table(server_of_each_kind) as table:
        for clauses in UNSTATED:
            _begin(table, "PARTITION BY HASH (id)" if "PARTITION" in clauses else "")
            try:
                table.run(f"ALTER TABLE t {clauses}")
            except MySQLError:
                refused += 1
            assert table.stated is None, clauses
    assert refused <= len(UNSTATED) // 4


def test_several_statements_without_a_row_between_them_state_the_last_list(
    server_of_each_kind: Server,
) -> None:
    with altered_table(server_of_each_kind) as table:
        _begin(table)
        table.run(
            "ALTER TABLE t ADD a INT DEFAULT 5 AFTER id",
            "ALTER TABLE t DROP v",
            "ALTER TABLE t ADD INDEX (a)",
            "ALTER TABLE t ADD b VARCHAR(9) DEFAULT 'x', DROP n",
        )
        stated = table.stated
        assert stated is not None
        assert [column["name"] for column in stated] == ["id", "a", "tick", "v2", "b"]
        assert [column.get("added_default") for column in stated] == [None, 5, None, None, "x"]
        _compare(stated, table)


def test_columns_that_come_and_go_without_a_row_state_the_older_list_again(
    server_of_each_kind: Server,
) -> None:
    with altered_table(server_of_each_kind) as table:
        _begin(table)
        table.run("ALTER TABLE t ADD a INT DEFAULT 5")
        before = table.consumer.columns
        table.run("ALTER TABLE t DROP a")
        assert table.stated == before
        # Consumers may know the name.
        assert table.run("ALTER TABLE t ADD a INT DEFAULT 6") == ["ALTER TABLE … ADD a"]
        assert table.stated is None


def test_after_a_statement_that_says_too_little_nothing_is_stated_until_the_next_row(
    server_of_each_kind: Server,
) -> None:
    for unclear in ("ALTER TABLE t MODIFY n BIGINT", "CREATE UNIQUE INDEX u ON t (n)"):
        with altered_table(server_of_each_kind) as table:
            _begin(table)
            table.run(unclear, "ALTER TABLE t ADD a INT")
            before = table.stated
            assert before is None
            assert table.differences() == ([], [])
            table.run("ALTER TABLE t ADD b INT")
            stated = table.stated
            assert stated is not None
            _compare(stated, table)


@pytest.mark.parametrize(
    ("server_name", "definition", "clause"),
    [
        ("mysql_server", "UNIQUE (id, n))", "DROP n"),
        ("mariadb_server", "PRIMARY KEY (id), v TEXT, UNIQUE (v))", "ADD w INT"),
        ("mariadb_server", "PRIMARY KEY (id)) WITH SYSTEM VERSIONING", "ADD w INT"),
    ],
    ids=["no key", "long index", "versions"],
)
def test_a_table_with_hidden_columns_or_without_a_key_has_no_stated_list(
    server_name: str, definition: str, clause: str, request: pytest.FixtureRequest
) -> None:
    with altered_table(request.getfixturevalue(server_name)) as table:
        table.run(f"CREATE TABLE t (id INT NOT NULL, n INT, {definition}")
        table.run("INSERT INTO t (id, n) VALUES (1, 2)")
        if "VERSIONING" in definition:
            table.log.execute("SET system_versioning_alter_history = KEEP")
        assert table.run(f"ALTER TABLE t {clause}") == []
        assert table.stated is None


def test_random_lists_that_are_stated_are_those_of_the_next_row(
    server_of_each_kind: Server,
) -> None:
    compared = 0
    for seed in range(SEEDS):
        with altered_table(server_of_each_kind) as table:
            compared += _play(table, Random(seed), seed)
    assert compared > SEEDS


def _play(table: AlteredTable, random: Random, seed: int) -> int:
    alters = RandomAlters(random)
    told = [alters.table()]
    table.run(*told)
    table.run("INSERT INTO t (id) VALUES (1)")
    count = 0
    for _ in range(ALTERS):
        mode = alters.mode()
        table.mode(mode)
        statement, columns = alters.addition() if random.random() < 0.7 else alters.alter()
        try:
            resyncs = table.run(statement)
        except MySQLError:
            continue
        told.append(f"[{mode}] {statement}")
        alters.altered(columns)
        stated = table.stated
        if random.random() < 0.5:
            continue
        table.mode("")
        resyncs += table.differences()[0]
        # The default character set `binary` makes bytes of text.
        if stated is not None and not resyncs and not any("binary" in each for each in told):
            try:
                _compare_columns(stated, table.consumer.columns)
            except AssertionError as error:
                raise AssertionError((seed, told)) from error
            count += 1
        table.copy()
    return count
