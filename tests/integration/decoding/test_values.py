"""The server is the oracle: a value read from its log is the value that SELECT returns."""

from __future__ import annotations

from math import isfinite
from random import Random
from struct import unpack
from typing import TYPE_CHECKING, cast

import pytest

from connector.binlog.events.rows import RowsEvent

if TYPE_CHECKING:
    from connector.binlog.columns.column import Column, Geometry, Value
    from tests.binlog.source_log import SourceLog

pytestmark = pytest.mark.server

INTEGERS = {
    "TINYINT": ("-128", "0", "127"),
    "TINYINT UNSIGNED": ("0", "255"),
    "SMALLINT": ("-32768", "32767"),
    "SMALLINT UNSIGNED": ("65535",),
    "MEDIUMINT": ("-8388608", "-1", "8388607"),
    "MEDIUMINT UNSIGNED": ("16777215",),
    "INT": ("-2147483648", "2147483647"),
    "INT UNSIGNED": ("4294967295",),
    "BIGINT": ("-9223372036854775808", "9223372036854775807"),
    "BIGINT UNSIGNED": ("18446744073709551615",),
    "YEAR": ("0", "1901", "1970", "2155"),
    "BIT(1)": ("0", "1"),
    "BIT(9)": ("0", "256", "511"),
    "BIT(64)": ("0", "1", "0xFFFFFFFFFFFFFFFF"),
}

TEXTS = {
    "DECIMAL(1,0)": ("-9", "0", "9"),
    "DECIMAL(4,4)": ("-0.5", "0", "0.0001", "0.9999"),
    "DECIMAL(10,2)": ("-0.50", "0.01", "-12345678.91", "99999999.99"),
    "DECIMAL(14,4)": ("1234567890.1234", "-1234567890.1234", "1", "-0.0001"),
    "DECIMAL(65,30)": (f"-{'9' * 35}.{'9' * 30}", f"0.{'0' * 29}1", f"1{'0' * 34}"),
    "DECIMAL(65,0)": ("9" * 65, "-" + "1" * 65),
    "DECIMAL(18,9) UNSIGNED": ("123456789.987654321", "0"),
    "DATE": ("'0000-00-00'", "'2010-00-00'", "'1000-01-01'", "'9999-12-31'", "'2017-09-15'"),
    "DATETIME": ("'0000-00-00 00:00:00'", "'9999-12-31 23:59:59'", "'2010-00-00 01:02:03'"),
    "DATETIME(1)": ("'2019-07-09 02:28:57.1'", "'0000-00-00 00:00:00'"),
    "DATETIME(2)": ("'2019-07-09 02:28:57.09'",),
    "DATETIME(3)": ("'2019-07-09 02:28:57.123'", "'2019-07-09 02:28:57.009'"),
    "DATETIME(5)": ("'2019-07-09 02:28:57.12345'", "'2019-07-09 02:28:57.00001'"),
    "DATETIME(6)": ("'2019-07-09 02:28:57.123456'", "'1000-01-01 00:00:00.000001'"),
    "TIMESTAMP NULL": ("'0000-00-00 00:00:00'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"),
    "TIMESTAMP(3) NULL": ("'2018-06-20 13:37:03.123'", "'0000-00-00 00:00:00'"),
    "TIMESTAMP(6) NULL": ("'2018-06-20 13:37:03.000001'", "'2038-01-19 03:14:07.499999'"),
    "TIME": ("'-838:59:59'", "'838:59:59'", "'00:00:00'", "'-00:00:01'", "'23:59:59'"),
    "TIME(1)": ("'-00:00:00.1'", "'12:34:56.7'", "'-12:34:56.7'"),
    "TIME(2)": ("'-00:00:00.01'", "'-00:00:01.99'", "'-00:00:01'", "'838:59:59'"),
    "TIME(3)": ("'-00:00:00.001'", "'-10:59:59.999'"),
    "TIME(4)": ("'-00:00:00.0001'", "'-838:59:58.9999'", "'00:00:00.0001'"),
    "TIME(6)": ("'-838:59:58.999999'", "'-00:00:00.000001'", "'-00:00:59.000000'"),
    "CHAR(10)": ("''", "'a'", "'a b '", "'0123456789'"),
    "CHAR(255) CHARACTER SET utf8mb4": ("'é€😀'", "''", "REPEAT('😀', 255)"),
    "CHAR(100) CHARACTER SET utf8mb3": ("'é€'", "REPEAT('€', 100)"),
    "VARCHAR(10)": ("''", "'trailing '", "'0123456789'"),
    "VARCHAR(255) CHARACTER SET latin1": ("'café €'", "UNHEX('818D8F909DFF80')"),
    "VARCHAR(256) CHARACTER SET latin1": ("''", "REPEAT('ü', 256)"),
    "VARCHAR(2000) CHARACTER SET utf8mb4": ("REPEAT('😀', 2000)", "'x'"),
    "VARCHAR(20) CHARACTER SET utf16": ("'é€😀'",),
    "VARCHAR(20) CHARACTER SET utf32": ("'é€😀'",),
    "VARCHAR(20) CHARACTER SET ucs2": ("'é€'",),
    "VARCHAR(20) CHARACTER SET utf16le": ("'é€😀'",),
    "VARCHAR(20) CHARACTER SET gbk": ("'中文'",),
    "VARCHAR(20) CHARACTER SET big5": ("'中文裏'",),
    "VARCHAR(20) CHARACTER SET sjis": ("'ソ日本'",),
    "VARCHAR(20) CHARACTER SET ujis": ("'日本'",),
    "VARCHAR(20) CHARACTER SET euckr": ("'한국갂'",),
    "VARCHAR(20) CHARACTER SET koi8r": ("'Привет'",),
    "VARCHAR(20) CHARACTER SET cp1251 COLLATE cp1251_bin": ("'Привет'",),
    "TINYTEXT": ("''", "'x'", "REPEAT('x', 255)"),
    "TEXT CHARACTER SET utf8mb4": ("'é€😀'", "REPEAT('x', 65535)"),
    "MEDIUMTEXT": ("REPEAT('x', 70000)",),
    "LONGTEXT": ("REPEAT('y', 70000)",),
    "ENUM('a', 'b,c', 'é')": ("'a'", "3", "'nonsense'"),
    "ENUM('x', 'ü') CHARACTER SET latin1": ("'ü'",),
    "SET('a', 'b', 'é')": ("''", "'a,é'", "7"),
}

BYTES = {
    "BINARY(4)": ("''", "'a'", "UNHEX('00000000')", "UNHEX('6100FF00')"),
    "BINARY(255)": ("'a'", "UNHEX('00')"),
    "VARBINARY(300)": ("''", "UNHEX('00')", "UNHEX('610000')", "REPEAT(UNHEX('FF'), 300)"),
    "TINYBLOB": ("''", "UNHEX('00FF')"),
    "BLOB": ("UNHEX('00FF00')",),
    "MEDIUMBLOB": ("REPEAT(UNHEX('FE'), 70000)",),
    "LONGBLOB": ("REPEAT(UNHEX('FE'), 70000)",),
    "VARCHAR(20) CHARACTER SET binary": ("UNHEX('00FF')",),
}

FLOATS = {
    "FLOAT": ("0", "-0.1", "3.4028235e38", "1.17549435e-38", "1e-45", "16777216", "0.3333333"),
    "FLOAT(7,3)": ("1234.567", "-0.001"),
    "DOUBLE": ("0", "0.1", "-1.7976931348623157e308", "5e-324", "123456789.123456789", "1e22"),
    "DOUBLE UNSIGNED": ("0.5",),
}

GEOMETRIES = {
    "POINT": ("POINT(1, 2)",),
    "GEOMETRY": (
        "ST_GeomFromText('LINESTRING(0 0, 1 1, 2 2)')",
        "ST_GeomFromText('POLYGON((0 0, 0 1, 1 1, 0 0))')",
        "ST_GeomFromText('POINT(10 20)', 4326)",
        "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1), LINESTRING(0 0, 1 1))')",
    ),
}

CASES = {**INTEGERS, **TEXTS, **BYTES, **FLOATS, **GEOMETRIES}


def written(
    log: SourceLog, definition: str, literals: tuple[str, ...]
) -> tuple[Column, list[Value]]:
    """Insert the literals and NULL into a new table and return what the log holds of them."""
    log.execute(f"CREATE TABLE t (id INT PRIMARY KEY, v {definition})")
    log.execute(
        "INSERT INTO t VALUES "
        + ", ".join(f"({n}, {literal})" for n, literal in enumerate([*literals, "NULL"]))
    )
    events = [e.body for e in log.events() if isinstance(e.body, RowsEvent)]
    rows = [row.after for event in events for row in event.rows()]
    assert [row[0] for row in rows if row is not None] == list(range(len(literals) + 1))
    return events[0].table_map.columns[1], [row[1] for row in rows if row is not None]


def selected(log: SourceLog, expression: str) -> list[object]:
    return [row[0] for row in log.execute(f"SELECT {expression} FROM t ORDER BY id")]


@pytest.mark.parametrize("definition", INTEGERS)
def test_an_integer_is_the_one_that_select_returns(source_log: SourceLog, definition: str) -> None:
    _, values = written(source_log, definition, INTEGERS[definition])
    assert values == selected(source_log, "CAST(v + 0 AS UNSIGNED)" if "BIT" in definition else "v")


@pytest.mark.parametrize("definition", TEXTS)
def test_a_text_a_decimal_or_a_time_is_what_select_prints(
    source_log: SourceLog, definition: str
) -> None:
    _, values = written(source_log, definition, TEXTS[definition])
    assert values == selected(source_log, "CONVERT(CAST(v AS CHAR) USING utf8mb4)")


@pytest.mark.parametrize("definition", BYTES)
def test_bytes_are_those_that_select_returns(source_log: SourceLog, definition: str) -> None:
    _, values = written(source_log, definition, BYTES[definition])
    expected = selected(source_log, "HEX(v)")
    assert values[-1] is None
    assert [cast("bytes", v).hex().upper() for v in values[:-1]] == expected[:-1]


@pytest.mark.parametrize("definition", FLOATS)
def test_a_float_is_the_one_that_select_returns_in_full(
    source_log: SourceLog, definition: str
) -> None:
    _, values = written(source_log, definition, FLOATS[definition])
    # Arithmetic in DOUBLE shows all digits of a FLOAT.
    assert values == selected(source_log, "v + 0e0")


@pytest.mark.parametrize("definition", GEOMETRIES)
def test_a_geometry_holds_the_bytes_that_select_returns(
    source_log: SourceLog, definition: str
) -> None:
    _, values = written(source_log, definition, GEOMETRIES[definition])
    geometries = [cast("Geometry", v) for v in values[:-1]]
    stored = [(g.srid.to_bytes(4, "little") + g.wkb).hex().upper() for g in geometries]
    assert stored == selected(source_log, "HEX(v)")[:-1]


JSON_DOCUMENTS = (
    "'{}'",
    "'[]'",
    "'null'",
    "'\"\"'",
    "'true'",
    """'{"b": 1, "aa": [true, false, null], "c": {"d": {}}}'""",
    "'[0, -1, 32767, 32768, -32768, -32769, 65535, 65536, 2147483648, -2147483649]'",
    "'[9223372036854775807, -9223372036854775808, 18446744073709551615]'",
    "'[1.0, -0.0, 1e15, 1e16, 123456789012345680.0, 1e100, 1.5e-10, 1e-14, 1e-15, 0.1]'",
    """'["\\\\u0000\\\\u0001\\\\u001f\\\\u007f", "\\\\b\\\\f\\\\n\\\\r\\\\t"]'""",
    """'["\\\\"\\\\\\\\/", "é€😀"]'""",
    """JSON_OBJECT('é', 'ü', '', 1, 'with "quote"', 2)""",
    "JSON_ARRAY(CAST(1.50 AS DECIMAL(10, 3)), CAST(-0.001 AS DECIMAL(65, 30)))",
    # A computed number has up to nine groups of nine digits; a column has 65 digits.
    f"CAST({'9' * 35}.{'9' * 30} AS JSON)",
    f"JSON_ARRAY({'9' * 65}, -{'1' * 65}, {'9' * 81}, 0.{'1' * 72}, {'1' * 9}.{'3' * 72})",
    f"JSON_OBJECT('d', -{'9' * 36}.{'9' * 45}, 'e', -0.{'0' * 71}1, 'f', {'1' * 75}.{'2' * 20})",
    "JSON_ARRAY(CAST('2015-01-15' AS DATE), CAST('0000-00-00' AS DATE))",
    "JSON_ARRAY(CAST('2015-01-15 23:24:25.12' AS DATETIME(2)), TIMESTAMP'2015-01-15 23:24:25')",
    "JSON_ARRAY(CAST('-838:59:59' AS TIME), CAST('23:24:25.5' AS TIME(1)), TIME'-00:00:00.000001')",
    "JSON_ARRAY(CAST('x' AS BINARY), CAST(REPEAT('x', 100) AS BINARY))",
    "JSON_ARRAY(UNHEX(REPEAT('00FF', 57)), UNHEX(REPEAT('00FF', 28)), b'101')",
    "JSON_ARRAY(ST_GeomFromText('POINT(1 2)'))",
    "JSON_ARRAY(REPEAT('x', 127), REPEAT('x', 128), REPEAT('y', 70000), 1, 70000, true)",
    # The length of a string takes one byte more, and a container becomes a large one.
    *(f"JSON_ARRAY(REPEAT('x', {length}), 1)" for length in (16383, 16384, 65521, 65522, 65540)),
    "JSON_OBJECT(REPEAT('k', 65535), JSON_OBJECT(REPEAT('k', 256), REPEAT('v', 3000000)))",
    "JSON_OBJECT('large', REPEAT('y', 70000), 'i', 40000, 'u', 3000000000, 'n', null, 'o', '{}')",
    "CAST(CONCAT('[', REPEAT('[', 98), REPEAT(']', 98), ']') AS JSON)",
    "CAST(CONCAT('[', REPEAT('70000, ', 20000), '1]') AS JSON)",
)


def test_a_json_document_is_the_text_that_select_prints(mysql_log: SourceLog) -> None:
    _, values = written(mysql_log, "JSON", JSON_DOCUMENTS)
    assert values == selected(mysql_log, "CAST(v AS CHAR)")


def double_literal(value: float) -> str:
    """Without an exponent SQL reads a DECIMAL."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def test_numbers_of_every_size_print_in_a_json_document_as_select_does(
    mysql_log: SourceLog,
) -> None:
    random = Random(20260101)
    doubles = [unpack("<d", random.randbytes(8))[0] for _ in range(2010)]
    doubles = [double for double in doubles if isfinite(double)][:2000]
    doubles += [random.uniform(-1, 1) * 10.0 ** random.randint(-20, 20) for _ in range(2000)]
    doubles += [round(random.uniform(-1e6, 1e6), random.randint(0, 6)) for _ in range(1000)]
    literals = tuple(
        f"JSON_ARRAY({', '.join(map(double_literal, doubles[n : n + 50]))})"
        for n in range(0, 5000, 50)
    )
    _, values = written(mysql_log, "JSON", literals)
    assert values == selected(mysql_log, "CAST(v AS CHAR)")


def test_mariadb_keeps_json_as_text(mariadb_log: SourceLog) -> None:
    column, values = written(mariadb_log, "JSON", ("""'{"b":  1}'""",))
    assert column.type_name == "text"
    assert values == ['{"b":  1}', None]


def test_mariadb_keeps_a_vector_a_uuid_and_an_address_as_bytes(mariadb_log: SourceLog) -> None:
    mariadb_log.execute("CREATE TABLE t (v VECTOR(2), u UUID, a INET6, b INET4, c INT)")
    mariadb_log.execute(
        "INSERT INTO t VALUES (VEC_FromText('[1, -2.5]'), "
        "'123e4567-e89b-12d3-a456-426655440000', '::ffff:1.2.3.4', '1.2.3.4', 5)"
    )
    (event,) = (e.body for e in mariadb_log.events() if isinstance(e.body, RowsEvent))
    (row,) = event.rows()
    assert row.after == [
        bytes.fromhex("0000803f000020c0"),
        bytes.fromhex("123e4567e89b12d3a456426655440000"),
        bytes.fromhex("00000000000000000000ffff01020304"),
        bytes.fromhex("01020304"),
        5,
    ]
    assert [c.type_name for c in event.table_map.columns] == [
        "varbinary",
        "binary",
        "binary",
        "binary",
        "int",
    ]


@pytest.mark.parametrize("format_", ["ON", "OFF"])
def test_mariadb_prints_times_in_both_of_its_formats_as_select_does(
    mariadb_log: SourceLog, format_: str
) -> None:
    mariadb_log.execute(f"SET GLOBAL mysql56_temporal_format = {format_}")
    try:
        mariadb_log.execute("CREATE TABLE t (d DATETIME, s TIMESTAMP NULL, t TIME)")
        mariadb_log.execute(
            "INSERT INTO t VALUES ('2019-07-09 02:28:57', '2038-01-19 03:14:07', '-838:59:59'), "
            "('0000-00-00 00:00:00', '0000-00-00 00:00:00', '00:00:01'), (NULL, NULL, NULL)"
        )
    finally:
        mariadb_log.execute("SET GLOBAL mysql56_temporal_format = ON")
    (event,) = (e.body for e in mariadb_log.events() if isinstance(e.body, RowsEvent))
    rows = mariadb_log.execute("SELECT CAST(d AS CHAR), CAST(s AS CHAR), CAST(t AS CHAR) FROM t")
    assert [row.after for row in event.rows()] == [list(row) for row in rows]
