"""Statements that make servers write every kind of event that a session can make them write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Refused(NamedTuple):
    """A statement that the server refuses, after it has logged a part of it."""

    sql: str


Statement = str | bytes | Refused

TABLES = (
    "CREATE DATABASE d",
    "CREATE DATABASE `we``ird é`",
    "USE d",
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(100), b BLOB)",
    "CREATE TABLE my (id INT PRIMARY KEY, v VARCHAR(100)) ENGINE=MyISAM",
    "/* a\tcomment\\ */ CREATE TABLE `we``ird é`.`t é` (id INT)\r\n -- end",
    "CREATE TRIGGER tr BEFORE INSERT ON my FOR EACH ROW SET NEW.v = NEW.v",
    "CREATE USER u@localhost IDENTIFIED BY 'Secret-1'",
)
CHANGED_ROWS = (
    "INSERT INTO t (v) VALUES ('a'), ('b')",
    "UPDATE t SET v = 'c'",
    "DELETE FROM t WHERE id = 1",
    "INSERT INTO `we``ird é`.`t é` VALUES (1)",
    "INSERT INTO my VALUES (1, 'x')",
    # More than binlog_row_event_max_size: several events for one statement.
    "INSERT INTO t (b) VALUES (REPEAT('x', 6000)), (REPEAT('y', 6000)), (REPEAT('z', 6000))",
    "SET foreign_key_checks = 0, unique_checks = 0",
    "INSERT INTO t (v) VALUES ('unchecked')",
    "SET foreign_key_checks = 1, unique_checks = 1",
    "BEGIN",
    "INSERT INTO t (v) VALUES ('a')",
    "SAVEPOINT `s``p`",
    "INSERT INTO t (v) VALUES ('undone')",
    "ROLLBACK TO `s``p`",
    "COMMIT",
)
ODD_TEXTS = (
    "INSERT INTO t (v) VALUES ('tab\there\nnewline \r \\\\ \0 zero')",
    b"SET NAMES latin1",
    b"INSERT INTO t (v) VALUES ('caf\xe9')",
    "SET NAMES utf8mb4",
)
CONTEXT = (
    b"SET NAMES latin1",
    b"CREATE TABLE `caf\xe9` (id INT)",
    "SET NAMES utf8mb4",
    "INSERT INTO t (v) VALUES (RAND())",
    "INSERT INTO t (v) VALUES (LAST_INSERT_ID())",
    "SET @i = -5, @u = 18446744073709551615, @s = 'it''s', @n = NULL, @e = '', @m = '😀'",
    "SET @l = _latin1 'x' COLLATE latin1_german1_ci, @x = x'00ff', @g = POINT(1, 2)",
    "SET @k = _utf8mb3 'x' COLLATE utf8mb3_bin, @`we``ird é` = _utf16 x'0041'",
    "SET @c = _utf8mb4 'x' COLLATE utf8mb4_croatian_ci",
    "INSERT INTO t (v) VALUES (CONCAT_WS('', @i, @u, @s, @n, @e, @m, @l, @undefined, @k, @c))",
    "INSERT INTO t (b) VALUES (@x), (@g), (@`we``ird é`)",
    "SET @d = -1.50, @z = CAST(0.5 AS DECIMAL(5,5)), @o = CAST(0 AS DECIMAL(3,2))",
    "SET @w = CAST(12345678901234567890.123456 AS DECIMAL(38,18))",
    "INSERT INTO t (v) VALUES (CONCAT(@d, @z, @o, @w))",
    "USE `we``ird é`",
    "INSERT INTO `t é` VALUES (3)",
    "USE d",
    "SET foreign_key_checks = 0, unique_checks = 0, sql_auto_is_null = 1",
    "INSERT INTO t (v) VALUES ('options')",
    "SET foreign_key_checks = 1, unique_checks = 1, sql_auto_is_null = 0",
    "CREATE TEMPORARY TABLE tmp (id INT)",
    "DROP TEMPORARY TABLE tmp",
)
REALS = (
    "1e0 0e0 0.1e0 -2.5e0 1e5 1e14 1e15 1e16 1e22 1e100 1.5e300 123456789.123e0 "
    "12345678901234567e0 1234567890123456e0 1234567890123456.7e0 0.3333333333333333e0 "
    "1e-5 2.5e-10 1e-14 1e-15 "
    "1e-16 5e-324 -1.7976931348623157e308"
)
XA = (
    "XA START 'a', 'b', 7",
    "INSERT INTO t (v) VALUES ('xa')",
    "XA END 'a', 'b', 7",
    "XA PREPARE 'a', 'b', 7",
    "XA COMMIT 'a', 'b', 7",
    "XA START x'00ff27'",
    "INSERT INTO t (v) VALUES ('xa')",
    "XA END x'00ff27'",
    "XA COMMIT x'00ff27' ONE PHASE",
    "XA START 'r'",
    "INSERT INTO t (v) VALUES ('xa')",
    "XA END 'r'",
    "XA PREPARE 'r'",
    "XA ROLLBACK 'r'",
)
LOGS = (
    "SET GLOBAL binlog_checksum = NONE",
    "INSERT INTO t (v) VALUES ('no checksum')",
    "SET GLOBAL binlog_checksum = CRC32",
    "FLUSH BINARY LOGS",
)
PARTIAL_JSON = (
    "CREATE TABLE j (id INT PRIMARY KEY, doc JSON)",
    """INSERT INTO j VALUES (1, '{"a": "0123456789012345678901234567890123456789", "b": 2}')""",
    "SET binlog_row_value_options = PARTIAL_JSON",
    "UPDATE j SET doc = JSON_SET(doc, '$.b', 3)",
    "SET binlog_row_value_options = ''",
)
COMPRESSED_MYSQL = (
    "SET binlog_transaction_compression = ON",
    "BEGIN",
    "INSERT INTO t (v) VALUES ('compressed')",
    "UPDATE t SET v = 'compressed'",
    "COMMIT",
    "SET binlog_transaction_compression = OFF",
)
TAGGED = (
    "SET gtid_next = 'AUTOMATIC:nightly'",
    "INSERT INTO t (v) VALUES ('tagged')",
    "CREATE TABLE tagged (id INT)",
    "SET gtid_next = AUTOMATIC",
    "FLUSH BINARY LOGS",
)
ANONYMOUS = (
    "SET GLOBAL gtid_mode = ON_PERMISSIVE",
    "SET GLOBAL gtid_mode = OFF_PERMISSIVE",
    "INSERT INTO t (v) VALUES ('anonymous')",
    "CREATE TABLE anonymous (id INT)",
    "SET GLOBAL gtid_mode = ON_PERMISSIVE",
    "SET GLOBAL gtid_mode = ON",
)
MARIADB = (
    "INSERT INTO t (v) VALUES ('a')",
    "CREATE SEQUENCE sq",
    "SELECT NEXT VALUE FOR sq",
    "SET gtid_domain_id = 5",
    "INSERT INTO t (v) VALUES ('domain')",
    "SET server_id = 77",
    "INSERT INTO t (v) VALUES ('server')",
    "SET server_id = 1, gtid_domain_id = 0",
    "FLUSH BINARY LOGS",
    "SET GLOBAL log_bin_compress = ON",
    "SET GLOBAL log_bin_compress_min_len = 10",
    "INSERT INTO t (v) VALUES (REPEAT('x', 90))",
    "UPDATE t SET v = REPEAT('y', 90)",
    "DELETE FROM t WHERE id > 1",
    "SET binlog_format = STATEMENT",
    f"INSERT INTO t (v) VALUES ('{'compressed' * 9}')",
    "SET GLOBAL log_bin_compress = OFF",
    "SET check_constraint_checks = 0, sql_if_exists = 1",
    "INSERT INTO t (v) VALUES ('options')",
    "SET check_constraint_checks = 1, sql_if_exists = 0, binlog_format = ROW",
)
MARIADB_SINCE_10_11 = (
    "SET binlog_alter_two_phase = ON",
    "ALTER TABLE t ADD COLUMN e INT, ALGORITHM = COPY",
    "SET binlog_alter_two_phase = OFF",
    "SET system_versioning_insert_history = 1, binlog_format = STATEMENT",
    "INSERT INTO t (v) VALUES ('options')",
    "SET system_versioning_insert_history = 0, binlog_format = ROW",
)


def statements(product: str, version: tuple[int, int, int], folder: Path) -> Iterator[Statement]:
    """Yield what a server of `version` runs; `folder` is one that it may read files of."""
    mariadb = product == "mariadb"
    row_statements = "binlog_annotate_row_events" if mariadb else "binlog_rows_query_log_events"
    yield from TABLES
    yield from CHANGED_ROWS
    yield f"SET {row_statements} = ON"
    yield from ODD_TEXTS
    yield f"SET {row_statements} = OFF"
    yield "SET binlog_format = STATEMENT"
    yield from ODD_TEXTS
    yield from (_old_names(sql, mariadb, version) for sql in CONTEXT)
    for real in REALS.split():
        yield f"SET @r = {real}"
        yield "INSERT INTO t (v) VALUES (@r)"
    yield from _load_data(folder)
    yield "SET binlog_format = MIXED"
    yield "INSERT INTO t (v) VALUES (UUID())"
    yield "SET binlog_format = ROW"
    yield "TRUNCATE TABLE t"
    yield from XA
    yield from LOGS
    if mariadb:
        yield from MARIADB
        if version >= (10, 11):
            yield from MARIADB_SINCE_10_11
        return
    if version >= (8,):
        yield from PARTIAL_JSON
    if version >= (8, 0, 20):
        yield f"SET {row_statements} = ON"
        yield from COMPRESSED_MYSQL
    if version >= (9,):
        yield from TAGGED
    yield from ANONYMOUS


def _old_names(sql: str | bytes, mariadb: bool, version: tuple[int, int, int]) -> str | bytes:
    """Return a statement with the name that utf8mb3's collations had before they were renamed."""
    if isinstance(sql, str) and version < ((10, 6, 0) if mariadb else (8, 0, 30)):
        return sql.replace("utf8mb3_bin", "utf8_bin")
    return sql


def _load_data(folder: Path) -> Iterator[Statement]:
    lines = folder / "lines.txt"
    lines.write_text("".join(f"{number}\tline of the file\n" for number in range(15_000)))
    one_line = folder / "one line.txt"
    one_line.write_text("1\ta\n")
    for file in (lines, one_line):
        file.chmod(0o644)
    yield "USE `we``ird é`"
    yield f"LOAD DATA INFILE '{one_line}' INTO TABLE d.t (@a, v) SET b = @a"
    yield "USE d"
    # Longer than one block.
    yield (
        f"LOAD DATA CONCURRENT INFILE '{lines}' REPLACE INTO TABLE t CHARACTER SET latin1 "
        "FIELDS TERMINATED BY '\\t' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '\\\\' "
        "LINES TERMINATED BY '\\n' IGNORE 3 LINES (@a, v) SET b = @a"
    )
    yield f"LOAD DATA LOCAL INFILE '{one_line}' IGNORE INTO TABLE t (@a, v)"
    # Its key is there already.
    yield Refused(f"LOAD DATA INFILE '{one_line}' INTO TABLE my")
