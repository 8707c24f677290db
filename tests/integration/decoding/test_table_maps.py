"""The server is the oracle: a table map tells of a table what information_schema tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.columns.column import ABSENT
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.table_map import TableMapEvent

if TYPE_CHECKING:
    from connector.binlog.columns.column import Column
    from tests.binlog.source_log import SourceLog

pytestmark = pytest.mark.server

COMMON = """
    b BIGINT UNSIGNED NOT NULL, i INT, t TINYINT UNSIGNED, y YEAR, e DECIMAL(12,3) UNSIGNED,
    g DOUBLE UNSIGNED, h FLOAT, k BIT(9), d DATE, dt DATETIME(3) NOT NULL, ts TIMESTAMP(6) NULL,
    tm TIME(1), c CHAR(7) CHARACTER SET latin1, c4 CHAR(200) CHARACTER SET utf8mb4,
    v VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, x VARCHAR(300) CHARACTER SET
    ucs2, tt TEXT CHARACTER SET gbk, lt LONGTEXT, bi BINARY(5), vb VARBINARY(260), bl MEDIUMBLOB,
    en ENUM('a', 'b''c', 'ü') CHARACTER SET latin1, se SET('p', 'q r') CHARACTER SET utf8mb4,
    se2 SET('ü', 'é') CHARACTER SET utf8mb4, po POINT, ge GEOMETRY, js JSON,
    PRIMARY KEY (v(10), b)
"""

# data_type of information_schema to the names of the contract.
FAMILIES = {
    "tinytext": "text",
    "mediumtext": "text",
    "longtext": "text",
    "tinyblob": "blob",
    "mediumblob": "blob",
    "longblob": "blob",
    "point": "geometry",
}


def table_map(log: SourceLog, definition: str, insert: str) -> TableMapEvent:
    log.execute(f"CREATE TABLE t ({definition})")
    log.execute(insert)
    return next(e.body for e in log.events() if isinstance(e.body, TableMapEvent))


def described(log: SourceLog) -> list[tuple[object, ...]]:
    return list(
        log.execute(
            "SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE = 'YES', LOCATE('unsigned', COLUMN_TYPE) "
            "> 0, CHARACTER_SET_NAME, COLLATION_NAME, CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, "
            "NUMERIC_SCALE, DATETIME_PRECISION FROM information_schema.COLUMNS WHERE TABLE_SCHEMA "
            "= DATABASE() AND TABLE_NAME = 't' ORDER BY ORDINAL_POSITION"
        )
    )


def collations(log: SourceLog) -> dict[object, object]:
    query = "SELECT ID, COLLATION_NAME FROM information_schema.COLLATIONS"
    if "MariaDB" in str(log.execute("SELECT VERSION()")):
        table = "information_schema.COLLATION_CHARACTER_SET_APPLICABILITY"
        query = f"SELECT ID, FULL_COLLATION_NAME FROM {table}"
    rows = log.execute(query)
    return {row[0]: row[1] for row in rows}


def test_a_column_has_the_facts_of_information_schema(source_log: SourceLog) -> None:
    event = table_map(source_log, COMMON, "INSERT INTO t (b, v, dt) VALUES (1, '', '2020-01-01')")
    names = collations(source_log)
    for column, facts in zip(event.columns, described(source_log), strict=True):
        (
            name,
            data_type,
            nullable,
            unsigned,
            charset,
            collation,
            octets,
            precision,
            scale,
            digits,
        ) = facts
        assert column.name == name
        assert column.nullable == bool(nullable), name
        assert column.unsigned == (bool(unsigned) or data_type == "year"), name
        family = FAMILIES.get(str(data_type), str(data_type))
        assert column.type_name == family
        if charset is not None and family != "json":
            assert (column.charset, names[column.collation]) == (charset, collation), name
        if family in ("char", "varchar", "binary", "varbinary"):
            assert column.length == octets, name
        if family == "decimal":
            assert (column.precision, column.scale) == (precision, scale)
        if family == "bit":
            assert column.length == precision
        assert column.fraction == digits, name


def test_labels_keys_and_geometry_types_are_told(source_log: SourceLog) -> None:
    event = table_map(source_log, COMMON, "INSERT INTO t (b, v, dt) VALUES (1, '', '2020-01-01')")
    columns: dict[str | None, Column] = {column.name: column for column in event.columns}
    assert columns["en"].labels == ["a", "b'c", "ü"]
    assert columns["se"].labels == ["p", "q r"]
    assert columns["se2"].labels == ["ü", "é"]
    assert (columns["po"].geometry_type, columns["ge"].geometry_type) == (1, 0)
    key = {c.name: (c.primary_key, c.primary_key_prefix) for c in event.columns if c.primary_key}
    assert key == {"v": (1, 10), "b": (2, 0)}


def test_an_invisible_column_is_told(mysql_log: SourceLog) -> None:
    event = table_map(mysql_log, "a INT, b INT INVISIBLE", "INSERT INTO t (a, b) VALUES (1, 2)")
    assert [column.visible for column in event.columns] == [True, False]


def test_a_primary_key_has_its_own_order(source_log: SourceLog) -> None:
    event = table_map(
        source_log, "a INT, b INT, c INT, PRIMARY KEY (c, a)", "INSERT INTO t VALUES (1, 2, 3)"
    )
    assert [column.primary_key for column in event.columns] == [2, 0, 1]


def test_a_table_of_many_columns_is_read(source_log: SourceLog) -> None:
    numbers = range(300)
    event = table_map(
        source_log,
        ", ".join(f"c{n} INT" for n in numbers),
        f"INSERT INTO t VALUES ({', '.join(map(str, numbers))})",
    )
    assert [column.name for column in event.columns] == [f"c{n}" for n in numbers]


@pytest.mark.parametrize(
    ("image", "before", "after"),
    [
        ("FULL", [1, 2, "x"], [1, 3, "x"]),
        ("MINIMAL", [1, ABSENT, ABSENT], [ABSENT, 3, ABSENT]),
        ("NOBLOB", [1, 2, ABSENT], [1, 3, ABSENT]),
    ],
)
def test_a_row_image_holds_the_columns_that_the_server_writes(
    source_log: SourceLog, image: str, before: list[object], after: list[object]
) -> None:
    source_log.execute(f"SET SESSION binlog_row_image = {image}")
    source_log.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT, v TEXT)")
    source_log.execute("INSERT INTO t VALUES (1, 2, 'x')")
    source_log.execute("UPDATE t SET n = 3")
    source_log.execute("DELETE FROM t")
    insert, update, delete = (
        next(e.body.rows()) for e in source_log.events() if isinstance(e.body, RowsEvent)
    )
    assert (insert.before, insert.after) == (None, [1, 2, "x"])
    assert (update.before, update.after) == (before, after)
    assert (delete.before, delete.after) == ([before[0], *after[1:2], before[2]], None) or (
        image == "MINIMAL" and delete.before == before
    )


def test_an_insert_of_nothing_but_defaults_is_one_row(mysql_log: SourceLog) -> None:
    mysql_log.execute("SET SESSION binlog_row_image = MINIMAL")
    mysql_log.execute("CREATE TABLE t (a INT DEFAULT 5, b INT)")
    mysql_log.execute("INSERT INTO t VALUES ()")
    (event,) = (e.body for e in mysql_log.events() if isinstance(e.body, RowsEvent))
    assert [(row.before, row.after) for row in event.rows()] == [(None, [ABSENT, ABSENT])]


def test_the_rows_of_two_tables_of_one_statement_keep_their_tables(source_log: SourceLog) -> None:
    source_log.execute("CREATE TABLE a (id INT PRIMARY KEY, n INT)")
    source_log.execute("CREATE TABLE b (id INT PRIMARY KEY, n INT)")
    source_log.execute("INSERT INTO a VALUES (1, 1)")
    source_log.execute("INSERT INTO b VALUES (1, 1)")
    source_log.events()
    source_log.execute("UPDATE a, b SET a.n = 2, b.n = 3 WHERE a.id = b.id")
    rows = {
        e.body.table_map.table: next(e.body.rows()).after
        for e in source_log.events()
        if isinstance(e.body, RowsEvent)
    }
    assert rows == {"a": [1, 2], "b": [1, 3]}
