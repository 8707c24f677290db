"""The SQL that Debezium and we both read: every type, with extremes and NULL, and every change."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DATABASE = "story"
SERVERS = ("mysql-9", "mysql-8.0", "mariadb")
# Its row is the last of the copy, and its change the last of the stream.
LAST_TABLE = "zz_last"

# For each table its columns, and for each column values of it; a row without one has NULL.
FAMILIES: dict[str, dict[str, tuple[str, ...]]] = {
    "integers": {
        "TINYINT": ("-128", "0", "127"),
        "TINYINT UNSIGNED": ("0", "255"),
        "TINYINT(1)": ("0", "1", "-7"),
        "BOOLEAN": ("0", "1", "7"),
        "SMALLINT": ("-32768", "32767"),
        "SMALLINT UNSIGNED": ("65535",),
        "MEDIUMINT": ("-8388608", "-1", "8388607"),
        "MEDIUMINT UNSIGNED": ("16777215",),
        "INT": ("-2147483648", "2147483647"),
        "INT UNSIGNED": ("4294967295", "0"),
        "INT(8) ZEROFILL": ("42", "0"),
        "BIGINT": ("-9223372036854775808", "9223372036854775807"),
        "BIGINT UNSIGNED": ("18446744073709551615", "9223372036854775808", "7", "0"),
        "YEAR": ("0", "1901", "1970", "2155"),
    },
    "bits": {
        "BIT(1)": ("0", "1"),
        "BIT(2)": ("0", "1", "3"),
        "BIT(8)": ("0", "200", "255"),
        "BIT(9)": ("0", "256", "511"),
        "BIT(64)": ("0", "1", "0xFFFFFFFFFFFFFFFF", "23989979", "0x0102030405060708"),
    },
    "decimals": {
        "DECIMAL(1,0)": ("-9", "0", "9"),
        "DECIMAL(4,4)": ("-0.5", "0", "0.0001", "0.9999"),
        "DECIMAL(10,2)": ("-0.50", "0.01", "-12345678.91", "99999999.99", "1.27", "1.28", "-1.28"),
        "DECIMAL(10,2) UNSIGNED": ("0", "59.99"),
        "DECIMAL(14,4)": ("1234567890.1234", "-1234567890.1234", "1", "-0.0001"),
        "DECIMAL(19,1)": ("7.5", "922337203685477580.7", "922337203685477580.8"),
        "DECIMAL(65,30)": (f"-{'9' * 35}.{'9' * 30}", f"0.{'0' * 29}1", f"1{'0' * 34}", "-1"),
        "DECIMAL(65,0)": ("9" * 65, "-" + "1" * 65, "0"),
    },
    "floats": {
        "FLOAT": ("0", "-0.1", "3.4028235e38", "1.17549435e-38", "1e-45", "16777216", "0.3333333"),
        "FLOAT(7,3)": ("1234.567", "-0.001", "1e3"),
        "FLOAT(10)": ("1e7", "1e-3", "9999999", "12345.678", "100"),
        "FLOAT(53)": ("1e7", "1e-3", "0.1"),
        "DOUBLE": (
            "0", "0.1", "-1.7976931348623157e308", "5e-324", "123456789.123456789", "1e22", "1e7",
            "9999999", "1e-3", "0.00099", "1e16", "100", "-2.5e-5", "2e-3", "4.9e15", "1e21",
        ),
        "DOUBLE(10,3)": ("1234567.891", "-0.001"),
        "DOUBLE UNSIGNED": ("0.5",),
        "REAL": ("0.25", "1e300"),
    },
    "texts": {
        "CHAR(10)": ("''", "'a'", "'a b '", "'0123456789'"),
        "CHAR(25) CHARACTER SET utf8mb4": ("'é€😀'", "''"),
        "VARCHAR(10)": ("''", "'trailing '", "'0123456789'"),
        "VARCHAR(255) CHARACTER SET latin1": ("'café €'", "''"),
        "VARCHAR(100)": (
            r"'quote \" backslash \\ slash / tab \t line \n return \r bell '",
            "UNHEX('00010B0C081F7F')", "'é€😀 <&>'", "UNHEX('E280A8E280A9C285')",
        ),
        "VARCHAR(20) CHARACTER SET utf16": ("'é€😀'",),
        "VARCHAR(20) CHARACTER SET sjis": ("'日本'",),
        "VARCHAR(20) CHARACTER SET gbk": ("'中文'",),
        "TINYTEXT": ("''", "'x'", "REPEAT('x', 255)"),
        "TEXT CHARACTER SET utf8mb4": ("'é€😀'",),
        "MEDIUMTEXT": ("REPEAT('x', 700)",),
        "LONGTEXT": ("REPEAT('y', 700)",),
        "ENUM('a', 'b,c', 'é')": ("'a'", "3", "'nonsense'", "'b,c'"),
        "SET('a', 'b', 'é')": ("''", "'a,é'", "7"),
    },
    "bytes": {
        "BINARY(4)": ("''", "'a'", "UNHEX('00000000')", "UNHEX('6100FF00')"),
        "VARBINARY(300)": ("''", "UNHEX('00')", "UNHEX('610000')", "REPEAT(UNHEX('FF'), 300)"),
        "TINYBLOB": ("''", "UNHEX('00FF')"),
        "BLOB": ("UNHEX('00FF00')",),
        "MEDIUMBLOB": ("REPEAT(UNHEX('FE'), 700)",),
        "LONGBLOB": ("REPEAT(UNHEX('FE'), 700)",),
        "CHAR(3) CHARACTER SET binary": ("UNHEX('00FF')",),
    },
    "times": {
        "DATE": (
            "'0000-00-00'", "'2010-00-00'", "'1000-01-01'", "'9999-12-31'", "'2017-09-15'",
            "'2010-10-00'", "'1969-12-31'", "'1582-10-10'", "'2000-02-29'", "'0000-01-01'",
            "'0001-01-01'", "'0070-03-01'", "'0100-01-01'", "'1582-10-04'", "'1900-02-28'",
        ),
        "DATETIME": (
            "'0000-00-00 00:00:00'", "'9999-12-31 23:59:59'", "'2010-00-00 01:02:03'",
            "'1969-12-31 23:59:59'", "'1500-02-28 12:00:00'", "'1000-01-01 00:00:00'",
            "'2010-10-00 01:02:03'", "'0000-00-00 01:02:03'", "'0000-01-01 00:00:00'",
            "'0069-02-28 01:02:03'", "'0099-12-31 00:00:00'", "'0100-01-01 00:00:00'",
        ),
        "DATETIME(1)": ("'2019-07-09 02:28:57.1'", "'0000-00-00 00:00:00'"),
        "DATETIME(2)": ("'2019-07-09 02:28:57.09'",),
        "DATETIME(3)": ("'2019-07-09 02:28:57.123'", "'1969-07-09 02:28:57.009'"),
        "DATETIME(4)": ("'2019-07-09 02:28:57.1234'",),
        "DATETIME(5)": ("'2019-07-09 02:28:57.12345'", "'2019-07-09 02:28:57.00001'"),
        "DATETIME(6)": (
            "'2019-07-09 02:28:57.123456'", "'1000-01-01 00:00:00.000001'",
            "'0000-00-00 00:00:00'", "'9999-12-31 23:59:59.999999'",
        ),
        "TIMESTAMP NULL": (
            "'0000-00-00 00:00:00'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'",
            "'2018-06-20 13:37:00'",
        ),
        "TIMESTAMP(1) NULL": ("'2018-06-20 13:37:03.1'", "'2018-06-20 13:37:03'"),
        "TIMESTAMP(3) NULL": (
            "'2018-06-20 13:37:03.123'", "'0000-00-00 00:00:00'", "'2018-06-20 13:37:03.100'",
        ),
        "TIMESTAMP(6) NULL": (
            "'2018-06-20 13:37:03.000001'", "'2038-01-19 03:14:07.499999'",
            "'2018-06-20 13:37:00'", "'2018-06-20 13:37:03.120000'",
        ),
        "TIME": (
            "'-838:59:59'", "'838:59:59'", "'00:00:00'", "'-00:00:01'", "'23:59:59'", "'24:00:00'",
        ),
        "TIME(1)": ("'-00:00:00.1'", "'12:34:56.7'", "'-12:34:56.7'"),
        "TIME(2)": ("'-00:00:00.01'", "'-00:00:01.99'", "'-00:00:01'", "'838:59:59'"),
        "TIME(3)": ("'-00:00:00.001'", "'-10:59:59.999'"),
        "TIME(4)": ("'-00:00:00.0001'", "'-838:59:58.9999'", "'00:00:00.0001'"),
        "TIME(6)": ("'-838:59:58.999999'", "'-00:00:00.000001'", "'-00:00:59.000000'"),
    },
    "required": {
        "DATE NOT NULL": ("'0000-00-00'", "'2010-00-00'", "'2010-10-00'"),
        "DATETIME NOT NULL": ("'0000-00-00 00:00:00'", "'2010-00-00 01:02:03'", "'0000-00-01'"),
        "DATETIME(3) NOT NULL": ("'0000-00-00 00:00:00'",) * 3,
        "DATETIME(6) NOT NULL": ("'0000-00-00 00:00:00'", "'2010-00-00 01:02:03'", "'0000-00-01'"),
        "TIMESTAMP NOT NULL": ("'0000-00-00 00:00:00'", "'2018-06-20 13:37:03'", "0"),
        "TIMESTAMP(6) NOT NULL": ("'0000-00-00 00:00:00'", "'2018-06-20 13:37:03'", "0"),
        "TIME NOT NULL": ("'00:00:00'",) * 3,
        "YEAR NOT NULL": ("0", "2155", "1"),
        "ENUM('a', 'b') NOT NULL": ("''", "'b'", "'x'"),
    },
    "shapes": {
        "POINT": ("POINT(1, 2)", "ST_GeomFromText('POINT(-1.5 1e22)')"),
        "GEOMETRY": (
            "ST_GeomFromText('LINESTRING(0 0, 1 1, 2 2)')",
            "ST_GeomFromText('POLYGON((0 0, 0 1, 1 1, 0 0))')",
            "ST_GeomFromText('POINT(10 20)', 4326)",
            "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1), LINESTRING(0 0, 1 1))')",
        ),
        "LINESTRING": ("ST_GeomFromText('LINESTRING(0 0, 1 1, 2 2)')",),
        "POLYGON": ("ST_GeomFromText('POLYGON((0 0, 0 1, 1 1, 0 0))')",),
        "MULTIPOINT": ("ST_GeomFromText('MULTIPOINT(0 0, 1 1)')",),
        "POINT SRID 4326": ("ST_GeomFromText('POINT(10 20)', 4326)",),
    },
    "documents": {
        "JSON": (
            "'{}'", "'[]'", "'null'", "'true'", "'1'", "'-1.5'", "'\"text\"'",
            """'{"b": 1, "a": [1, 2.50, {"c": null}], "é€😀": "x\\\\"y\\\\n/\\\\u0001"}'""",
            "'18446744073709551615'", "'1e300'", "'[]'", "'{\"a\":1.0}'",
            "CAST(CAST('2015-01-15 23:24:25.000012' AS DATETIME(6)) AS JSON)",
            "CAST(CAST('-12:34:56' AS TIME) AS JSON)", "CAST(CAST('2015-01-15' AS DATE) AS JSON)",
            "CAST(CAST(12.50 AS DECIMAL(10,2)) AS JSON)", "CAST(UNHEX('00FF') AS JSON)",
            "'0.1'", "'1e7'", "'123456789.123456789'", "'1e-7'", "'0.0001'",
        ),
    },
}  # fmt: skip
# The same on MariaDB, where a document is text. Its driver cannot read the year 0 in a SELECT.
MARIADB_FAMILIES: dict[str, dict[str, tuple[str, ...]]] = {
    **FAMILIES,
    "integers": {**FAMILIES["integers"], "YEAR": ("1901", "1970", "2155")},
    "required": {**FAMILIES["required"], "YEAR NOT NULL": ("1901", "2155", "1")},
    "shapes": {
        definition: literals
        for definition, literals in FAMILIES["shapes"].items()
        if "SRID" not in definition
    },
    "documents": {"JSON": ("'{}'", "'[1, 2.50]'", """'{"b": 1, "a": "é€😀"}'""", "'1e7'")},
}
VECTORS: dict[str, tuple[str, ...]] = {
    "VECTOR(3)": ("TO_VECTOR('[1,2.5,-0.1]')", "TO_VECTOR('[1e38,1e-7,0]')")
}

# Tables with keys of other types, and what each row has.
_KEYED = {
    "composite": (
        "b INT, a VARCHAR(20), v INT, PRIMARY KEY (a, b)",
        ("1, 'x', 1", "2, 'é\"', 2"),
        ("b = b + 10", "v = 5", "a = 'moved'"),
    ),
    "times_key": (
        "d DATE, t DATETIME(3), s TIMESTAMP(2), m TIME, v INT, PRIMARY KEY (d, t, s, m)",
        ("'2020-01-02', '2020-01-02 03:04:05.006', '2020-01-02 03:04:05.67', '11:00:00', 1",),
        ("v = 2", "d = '2021-01-01'"),
    ),
    "exact_key": (
        "n DECIMAL(10,2), u BIGINT UNSIGNED, b BINARY(3), v INT, PRIMARY KEY (n, u, b)",
        ("-1.50, 18446744073709551615, 'a', 1",),
        ("v = 2", "n = 7"),
    ),
    "unique_key": ("a INT NOT NULL UNIQUE, b INT", ("1, 1", "2, 2"), ("b = 3",)),
    "defaults": (
        "id INT PRIMARY KEY, a INT DEFAULT 5, d DATE NOT NULL DEFAULT '2020-01-01'",
        ("1, NULL, '0000-00-00'",),
        ("a = 6",),
    ),
    "without_key": ("a INT, b VARCHAR(5)", ("1, 'x'", "1, 'x'"), ("a = 2",)),
}


def tables(server: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the tables of types for a server, one of `SERVERS`."""
    if server == "mariadb":
        return MARIADB_FAMILIES
    return {**FAMILIES, **({"vectors": VECTORS} if server == "mysql-9" else {})}


def beginning(server: str) -> Iterator[str]:
    """Yield the statements before the copy."""
    yield "SET sql_mode = '', time_zone = '+00:00'"
    for table, columns in tables(server).items():
        names = ", ".join(f"c{n} {definition}" for n, definition in enumerate(columns))
        yield f"CREATE TABLE {table} (id INT PRIMARY KEY, note INT, {names})"
        yield from _rows(table, columns, 0)
    for table, (definition, rows, _) in _KEYED.items():
        yield f"CREATE TABLE {table} ({definition})"
        yield f"INSERT INTO {table} VALUES {', '.join(f'({row})' for row in rows)}"
    yield "CREATE TABLE altered (id INT PRIMARY KEY, a VARCHAR(5))"
    yield "CREATE TABLE emptied (id INT PRIMARY KEY)"
    yield "INSERT INTO emptied VALUES (1), (2)"
    yield f"CREATE TABLE {LAST_TABLE} (id INT PRIMARY KEY)"
    yield f"INSERT INTO {LAST_TABLE} VALUES (1)"


def changes(server: str) -> Iterator[str]:
    """Yield the statements after the copy."""
    yield "SET sql_mode = '', time_zone = '+00:00'"
    for table, columns in tables(server).items():
        yield from _rows(table, columns, 100)
        yield f"UPDATE {table} SET note = 1 WHERE id > 100"
        yield f"UPDATE {table} SET id = id + 900 WHERE id = 101"
        yield f"DELETE FROM {table} WHERE id >= 102"
    for table, (_, rows, assignments) in _KEYED.items():
        for assignment in assignments:
            yield f"UPDATE {table} SET {assignment}"
        yield f"DELETE FROM {table}"
        yield f"INSERT INTO {table} VALUES {', '.join(f'({row})' for row in rows)}"
    yield "INSERT INTO altered VALUES (1, 'one')"
    yield "ALTER TABLE altered ADD COLUMN b DATETIME(6) FIRST, ADD COLUMN `c d` DECIMAL(5,1)"
    yield "INSERT INTO altered VALUES ('2020-01-02 03:04:05.6', 2, 'two', 12.5)"
    yield "ALTER TABLE altered ADD COLUMN `1é-_€` INT DEFAULT NULL"
    yield "INSERT INTO altered VALUES (NULL, 3, NULL, NULL, 1)"
    yield "ALTER TABLE altered DROP COLUMN a"
    yield "UPDATE altered SET `c d` = -1"
    yield "TRUNCATE TABLE emptied"
    yield "INSERT INTO emptied VALUES (3)"
    yield "BEGIN"
    yield "INSERT INTO emptied VALUES (4), (5)"
    yield "INSERT INTO altered (id) VALUES (7)"
    yield "DELETE FROM emptied WHERE id IN (3, 5)"
    yield "COMMIT"
    yield "BEGIN"
    yield "INSERT INTO emptied VALUES (6)"
    yield "ROLLBACK"
    yield "CREATE TABLE later (id BIGINT AUTO_INCREMENT PRIMARY KEY, at TIMESTAMP(3) NULL)"
    yield "INSERT INTO later (at) VALUES ('2020-01-02 03:04:05.6'), (NULL)"
    yield "DROP TABLE later"
    yield f"INSERT INTO {LAST_TABLE} VALUES (2)"


def _rows(table: str, columns: dict[str, tuple[str, ...]], shift: int) -> Iterator[str]:
    """Yield an INSERT for each row, and at last one of NULLs if all columns can be NULL."""
    longest = max(map(len, columns.values()))
    required = any("NOT NULL" in definition for definition in columns)
    for number in range(longest + (not required)):
        cells = [
            literals[number] if number < len(literals) else "NULL" for literals in columns.values()
        ]
        yield f"INSERT INTO {table} VALUES ({number + 1 + shift}, NULL, {', '.join(cells)})"
