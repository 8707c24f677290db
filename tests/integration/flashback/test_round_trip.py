"""The proof: random changes of every type, undone on the server, leave the table as it was."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.logs.flashback.undone import sql_of

if TYPE_CHECKING:
    from connector.binlog.event import Event
    from tests.binlog.source_log import SourceLog

pytestmark = pytest.mark.server

# Definitions of both servers, each with values that are hard to write down.
TYPES: dict[str, tuple[str, ...]] = {
    "TINYINT": ("-128", "127"),
    "BIGINT UNSIGNED": ("0", "18446744073709551615"),
    "MEDIUMINT": ("-8388608", "8388607"),
    "YEAR": ("0", "1901", "2155"),
    "BIT(9)": ("0", "511"),
    "BIT(64)": ("0", "~0", "5"),
    "DECIMAL(65,30)": (f"-{'9' * 35}.{'9' * 30}", "0.5", "1"),
    "DECIMAL(4,4)": ("-0.5", "0.0001"),
    "FLOAT": ("0.1", "-3.4028235e38", "1e-45", "16777217", "0"),
    "FLOAT(7,3)": ("1234.567", "-0.001"),
    "DOUBLE": ("0.1", "-1.7976931348623157e308", "5e-324", "123456789.123456789", "1e22"),
    "DATE": ("'0000-00-00'", "'2010-00-00'", "'2010-02-31'", "'9999-12-31'"),
    "DATETIME": ("'0000-00-00 00:00:00'", "'2010-00-00 01:02:03'"),
    "DATETIME(6)": ("'2019-07-09 02:28:57.123456'", "'1000-01-01 00:00:00.000001'"),
    "TIMESTAMP NULL": ("'0000-00-00 00:00:00'", "'2038-01-19 03:14:07'"),
    "TIMESTAMP(3) NULL ON UPDATE CURRENT_TIMESTAMP(3)": ("'2018-06-20 13:37:03.123'",),
    "TIME": ("'-838:59:59'", "'00:00:00'"),
    "TIME(6)": ("'-00:00:00.000001'", "'838:59:58.999999'"),
    "CHAR(10)": ("''", "'a'", "'A'", "'a b '"),
    "CHAR(5) CHARACTER SET utf8mb4": ("'é€😀'", "'it''s'"),
    "VARCHAR(300)": (r"'\\ \n \r \0 \Z \' \" `'", "'trailing '", "'trailing'"),
    "VARCHAR(50) CHARACTER SET latin1": ("'café €'", "UNHEX('818D8F909DFF80')", "'plain'"),
    "VARCHAR(20) CHARACTER SET utf16": ("'é€😀'",),
    "VARCHAR(20) CHARACTER SET sjis": ("'ソ日本'", r"_sjis X'815C5C'"),
    "VARCHAR(20) CHARACTER SET gbk": ("'中文'",),
    "VARCHAR(20) CHARACTER SET swe7": ("'åÄ'",),
    "BINARY(4)": ("''", "X'6100FF00'"),
    "VARBINARY(20)": ("''", "X'00'", "X'610000'"),
    "TEXT": ("''", "'it''s \\\\'", "REPEAT('x', 3000)"),
    "TEXT CHARACTER SET koi8r": ("'Привет'",),
    "BLOB": ("''", "X'00FF27'"),
    "ENUM('a', 'b,c', 'é')": ("'a'", "3", "'nonsense'"),
    "SET('a', 'b', 'é')": ("''", "'a,é'", "7"),
    "GEOMETRY": (
        "ST_GeomFromText('POINT(10 20)')",
        "ST_GeomFromText('LINESTRING(0 0, 1 1)', 4326)",
    ),
    "JSON": ('\'{"b": [1, 1.5, "it\'\'s", null, true], "a": {}}\'', "'[]'", "'\"\\\\n\"'"),
}


def zoo(log: SourceLog, name: str, key: str) -> list[tuple[str, ...]]:
    """Create a table with a column of each type and return the literals of each column."""
    columns = ", ".join(f"`c``{n}` {definition}" for n, definition in enumerate(TYPES))
    log.execute(f"CREATE TABLE {name} ({key}{columns})")
    return [("NULL", *literals) for literals in TYPES.values()]


def random_changes(log: SourceLog, name: str, literals: list[tuple[str, ...]], seed: int) -> None:
    """Insert, update and delete rows, in transactions of some statements."""
    random = Random(seed)

    def row() -> str:
        return ", ".join(random.choice(choices) for choices in literals)

    for _ in range(12):
        log.execute("BEGIN")
        for _ in range(random.randint(1, 4)):
            kind = random.randrange(3)
            columns = ", ".join(f"`c``{n}`" for n in range(len(literals)))
            if kind == 0:
                log.execute(f"INSERT INTO {name} ({columns}) VALUES ({row()}), ({row()})")
            elif kind == 1:
                chosen = random.sample(range(len(literals)), 5)
                changes = ", ".join(f"`c``{n}` = {random.choice(literals[n])}" for n in chosen)
                log.execute(f"UPDATE {name} SET {changes} ORDER BY RAND({seed}) LIMIT 3")
            else:
                log.execute(f"DELETE FROM {name} ORDER BY RAND({seed}) LIMIT 1")
        log.execute(random.choice(["COMMIT", "COMMIT", "ROLLBACK"]))


def content(log: SourceLog, name: str) -> tuple[object, list[tuple[object, ...]]]:
    """Return the table's checksum and its rows, by their bytes."""
    hexed = ", ".join(f"HEX(`c``{n}`)" for n in range(len(TYPES)))
    rows = log.execute(f"SELECT {hexed}, t.* FROM {name} t")
    checksum = log.execute(f"CHECKSUM TABLE {name}")
    return checksum[0][1], sorted(rows, key=repr)


def undone(events: list[Event]) -> list[str]:
    return sql_of(events).split("\n")


def apply(log: SourceLog, statements: list[str]) -> None:
    for statement in statements:
        for part in statement.split("\n"):
            if part and not part.startswith("--"):
                log.execute(part)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("k VARCHAR(20) CHARACTER SET utf8mb4 PRIMARY KEY", ("'a'", "'É'", "'it''s'")),
        ("k VARCHAR(20) CHARACTER SET latin1 PRIMARY KEY", ("'a'", "'é'", "'it''s'")),
        ("k VARBINARY(20) PRIMARY KEY", ("X'00'", "X'FF00'", "''")),
        ("k TEXT, PRIMARY KEY (k(5))", ("'long text 1'", "'other'", "''")),
        ("k DATETIME(3) PRIMARY KEY", ("'0000-00-00'", "'2020-01-01 01:02:03.004'")),
        ("k DECIMAL(20,10) PRIMARY KEY", ("0.1", "-9999999999.9999999999")),
        ("k DOUBLE PRIMARY KEY", ("0.1", "1e300", "-5e-324")),
        ("k BIT(20) PRIMARY KEY", ("0", "1048575")),
        ("k ENUM('x', 'y') PRIMARY KEY", ("'x'", "2")),
        ("k YEAR PRIMARY KEY", ("0", "2000", "1999")),
        ("k INT, l CHAR(3), PRIMARY KEY (l, k)", ("1, 'a'", "1, 'b'", "2, 'a'")),
    ],
)
def test_rows_are_found_by_keys_of_any_type(
    source_log: SourceLog, key: str, values: tuple[str, ...]
) -> None:
    log = source_log
    log.execute(f"CREATE TABLE t ({key}, v INT DEFAULT 0)")
    names = "k, l" if ", l" in key else "k"
    log.execute(f"INSERT INTO t ({names}) VALUES {', '.join(f'({value})' for value in values)}")
    log.events()
    before = sorted(log.execute("SELECT HEX(k), t.* FROM t"), key=repr)
    log.execute("UPDATE t SET v = 1")
    log.execute("DELETE FROM t")
    apply(log, undone(log.events()))
    assert sorted(log.execute("SELECT HEX(k), t.* FROM t"), key=repr) == before


@pytest.mark.parametrize(
    ("definition", "values"),
    [
        ("UUID", ("'123e4567-e89b-12d3-a456-426655440000'", "UUID()")),
        ("INET6", ("'::1'", "'2001:db8::ff00:42:8329'")),
        ("INET4", ("'192.0.2.33'",)),
        ("VARCHAR(1000) COMPRESSED", ("REPEAT('ab', 300)", "''")),
        ("BLOB COMPRESSED", ("REPEAT(X'00FF', 300)", "''")),
        ("VECTOR(2) NOT NULL", ("VEC_FromText('[1.5,-2]')",)),
    ],
)
@pytest.mark.parametrize("key", ["id INT AUTO_INCREMENT PRIMARY KEY, ", ""])
def test_types_of_mariadb_come_back(
    mariadb_log: SourceLog, key: str, definition: str, values: tuple[str, ...]
) -> None:
    log = mariadb_log
    log.execute(f"CREATE TABLE t ({key}v {definition}, n INT DEFAULT 0)")
    log.execute(f"INSERT INTO t (v) VALUES {', '.join(f'({value})' for value in values)}")
    log.events()
    before = sorted(log.execute("SELECT HEX(v), t.* FROM t"), key=repr)
    log.execute("UPDATE t SET n = 1")
    log.execute("DELETE FROM t")
    apply(log, undone(log.events()))
    assert sorted(log.execute("SELECT HEX(v), t.* FROM t"), key=repr) == before


@pytest.mark.parametrize("key", ["id INT AUTO_INCREMENT PRIMARY KEY, ", ""])
@pytest.mark.parametrize("seed", [1, 2])
def test_undone_changes_leave_the_table_as_it_was(
    source_log: SourceLog, key: str, seed: int
) -> None:
    log = source_log
    literals = zoo(log, "t", key)
    random_changes(log, "t", literals, seed)
    log.events()
    before = content(log, "t")
    random_changes(log, "t", literals, seed + 100)
    assert content(log, "t") != before
    statements = undone(log.events())
    apply(log, statements)
    assert content(log, "t") == before


@pytest.mark.parametrize("key", ["id INT AUTO_INCREMENT PRIMARY KEY, ", ""])
def test_what_is_new_in_mysql_9_comes_back(mysql_9_log: SourceLog, key: str) -> None:
    log = mysql_9_log
    # Without a key of its own the table gets an invisible one.
    log.execute("SET sql_generate_invisible_primary_key = ON")
    log.execute(f"CREATE TABLE t ({key}v VECTOR(3), j JSON, n INT DEFAULT 0)")
    log.execute("INSERT INTO t (v, j) VALUES (TO_VECTOR('[1.1,-2,3e10]'), '[1]'), (NULL, NULL)")
    log.events()
    before = sorted(log.execute("SELECT HEX(v), j, n FROM t"), key=repr)
    log.execute("SET binlog_row_value_options = PARTIAL_JSON, binlog_transaction_compression = ON")
    log.execute("UPDATE t SET n = 1, j = JSON_ARRAY_APPEND(j, '$', 2)")
    log.execute("DELETE FROM t")
    apply(log, undone(log.events()))
    assert sorted(log.execute("SELECT HEX(v), j, n FROM t"), key=repr) == before


def test_vectors_are_told_apart_without_a_key(mysql_9_log: SourceLog) -> None:
    log = mysql_9_log
    log.execute("SET sql_generate_invisible_primary_key = OFF")
    log.execute("CREATE TABLE t (v VECTOR(2))")
    log.execute("INSERT INTO t VALUES (TO_VECTOR('[1,2]')), (TO_VECTOR('[1,3]'))")
    log.events()
    log.execute("UPDATE t SET v = TO_VECTOR('[5,6]') WHERE v = TO_VECTOR('[1,3]')")
    apply(log, undone(log.events()))
    rows = log.execute("SELECT VECTOR_TO_STRING(v) FROM t")
    assert sorted(rows) == [("[1.00000e+00,2.00000e+00]",), ("[1.00000e+00,3.00000e+00]",)]
