"""Every server that is carried is the oracle for every type: its log holds what SELECT returns."""

from __future__ import annotations

import json
import re
from random import Random
from struct import pack
from typing import TYPE_CHECKING, cast

import pytest

from connector.binlog.character_sets import charset_of
from connector.binlog.columns.column import ABSENT, EnumIndex, Geometry
from connector.binlog.events.rows import RowsEvent
from connector.binlog.log_errors import EventError
from local_stack import connect
from tests.binlog.source_log import SourceLog
from tests.integration.decoding.character_sweep import (
    ASIAN,
    SINGLE_BYTE,
    charsets_of,
    fill_sequences,
    misread,
    texts_of,
)
from tests.integration.decoding.test_values import BYTES, FLOATS, GEOMETRIES, INTEGERS, TEXTS
from tests.length import FULL
from tests.rules.server_versions import server_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.columns.column import Column, Value
    from local_stack import Server

pytestmark = pytest.mark.server

OLD_COLUMNS = {"a": "TIME", "b": "DATETIME", "c": "TIMESTAMP NULL", "d": "TIME", "e": "DATETIME"}

# Fixtures, one for each version.
MARIADB = ["mariadb_10_5", "mariadb_10_11", "mariadb_server"]
MYSQL = ["mysql_5_7", "mysql_8_0_15", "mysql_server", "mysql_9"]
SERVERS = [*MYSQL, *MARIADB]

# Types whose values are numbers and bytes where the log tells neither character set nor labels.
UNTOLD = ("enum", "set", "binary", "varbinary", "blob")


@pytest.fixture(params=SERVERS)
def log(request: pytest.FixtureRequest) -> Iterator[SourceLog]:
    server: Server = request.getfixturevalue(request.param)
    with connect(server.endpoint) as connection:
        log = SourceLog(connection)
        log.execute("CREATE DATABASE every_version CHARACTER SET utf8mb4")
        log.execute("USE every_version")
        yield log
        log.execute("DROP DATABASE every_version")


def logged(log: SourceLog) -> tuple[list[Column], list[list[Value]]]:
    """Return the columns and the rows that were inserted since the last call."""
    events = [e.body for e in log.events() if isinstance(e.body, RowsEvent)]
    rows = [row.after for event in events for row in event.rows()]
    return events[0].table_map.columns, [row for row in rows if row is not None]


def written(
    log: SourceLog, cases: dict[str, tuple[str, ...]]
) -> list[tuple[str, Column, list[Value]]]:
    """Insert every literal into a column of its type; return definition, column and values."""
    columns = ", ".join(f"v{n} {definition}" for n, definition in enumerate(cases))
    log.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    rows = []
    for n in range(max(map(len, cases.values())) + 1):
        cells = [literals[n] if n < len(literals) else "NULL" for literals in cases.values()]
        rows.append(f"({n}, {', '.join(cells)})")
    log.execute(f"INSERT INTO t VALUES {', '.join(rows)}")
    table, images = logged(log)
    return [
        (definition, table[place], [image[place] for image in images])
        for place, definition in enumerate(cases, 1)
    ]


def selected(log: SourceLog, expression: str) -> list[object]:
    return [row[0] for row in log.execute(f"SELECT {expression} FROM t ORDER BY id")]


def tells_characters(log: SourceLog) -> bool:
    """Return whether the log has signs, character sets and labels, which 5.7's has not."""
    return not str(log.execute("SELECT VERSION()")[0][0]).startswith("5.7")


def test_integers(log: SourceLog) -> None:
    bits = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}
    for place, (definition, column, values) in enumerate(written(log, INTEGERS)):
        expected = selected(log, f"v{place} + 0")
        if "UNSIGNED" in definition and not tells_characters(log):
            assert not column.unsigned
            size = 1 << bits[definition.split()[0]]
            values = [None if v is None else cast("int", v) % size for v in values]  # noqa: PLW2901
        assert values == expected, definition


def test_texts_decimals_and_times(log: SourceLog) -> None:
    telling = tells_characters(log)
    for place, (definition, column, values) in enumerate(written(log, TEXTS)):
        printed = selected(log, f"CONVERT(CAST(v{place} AS CHAR) USING utf8mb4)")
        if telling or not {"char", "text", "enum", "set", "binary", "blob"} & {
            column.type_name[-6:],
            column.type_name[-4:],
            column.type_name,
        }:
            assert values == printed, definition
        elif column.type_name in ("enum", "set"):
            numbers = [v.index if isinstance(v, EnumIndex) else v or None for v in values]
            assert numbers == [n or None for n in selected(log, f"v{place} + 0")], definition
        else:
            stored = [None if v is None else cast("bytes", v).hex().upper() for v in values]
            assert stored == selected(log, f"HEX(v{place})"), definition


def test_bytes(log: SourceLog) -> None:
    telling = tells_characters(log)
    for place, (definition, _, values) in enumerate(written(log, BYTES)):
        expected = selected(log, f"HEX(v{place})")
        stored = [None if v is None else cast("bytes", v).hex().upper() for v in values]
        if definition.startswith("BINARY") and not telling:
            # A BINARY looks like a CHAR, whose stripped end is not known.
            assert [bytes.fromhex(v or "").rstrip(b"\0") for v in stored] == [
                bytes.fromhex(str(v or "")).rstrip(b"\0") for v in expected
            ]
        else:
            assert stored == expected, definition


def test_floats(log: SourceLog) -> None:
    for place, (definition, _, values) in enumerate(written(log, FLOATS)):
        assert values == selected(log, f"v{place} + 0e0"), definition


def test_geometries(log: SourceLog) -> None:
    kinds = {
        kind: (f"ST_GeomFromText('{text}')",)
        for kind, text in {
            "POINT": "POINT(1 -2.5)",
            "LINESTRING": "LINESTRING(0 0, 1 1)",
            "POLYGON": "POLYGON((0 0, 0 3, 3 3, 0 0), (1 1, 1 2, 2 2, 1 1))",
            "MULTIPOINT": "MULTIPOINT(1 1, 2 2)",
            "MULTILINESTRING": "MULTILINESTRING((0 0, 1 1), (2 2, 3 3))",
            "MULTIPOLYGON": "MULTIPOLYGON(((0 0, 0 1, 1 1, 0 0)))",
            "GEOMETRYCOLLECTION": "GEOMETRYCOLLECTION(POINT(1 1), LINESTRING(0 0, 1 1))",
        }.items()
    }
    types = []
    for place, (definition, column, values) in enumerate(written(log, {**kinds, **GEOMETRIES_ANY})):
        stored = [
            v.srid.to_bytes(4, "little") + v.wkb if isinstance(v, Geometry) else None
            for v in values
        ]
        expected = [v and bytes.fromhex(str(v)) for v in selected(log, f"HEX(v{place})")]
        assert stored == expected, definition
        types.append(column.geometry_type)
    assert types == ([1, 2, 3, 4, 5, 6, 7, 0] if tells_characters(log) else [None] * 8)


GEOMETRIES_ANY = {"GEOMETRY": GEOMETRIES["GEOMETRY"]}


def test_every_shape_of_decimal(log: SourceLog) -> None:
    random = Random(20261121)
    scale_max = 38 if "MariaDB" in str(log.execute("SELECT VERSION()")) else 30
    shapes = [(p, s) for p in range(1, 66) for s in range(min(p, scale_max) + 1)]
    for start in range(0, len(shapes), 200):
        chunk = shapes[start : start + 200]
        columns = ", ".join(f"v{n} DECIMAL({p},{s})" for n, (p, s) in enumerate(chunk))
        log.execute(f"CREATE TABLE t ({columns})")
        rows = [[f"-{'9' * (p - s)}.{'9' * s}" for p, s in chunk]]
        rows += [
            [
                f"{random.choice(('', '-'))}{random.randrange(10**p):0{p}d}E-{s}"
                if random.randrange(4)
                else f"{random.randrange(10)}E-{s}"
                for p, s in chunk
            ]
            for _ in range(3)
        ]
        values = ", ".join("('" + "', '".join(row) + "')" for row in rows)
        log.execute(f"INSERT INTO t VALUES {values}")
        _, images = logged(log)
        texts = ", ".join(f"CAST(v{n} AS CHAR)" for n in range(len(chunk)))
        assert images == [list(row) for row in log.execute(f"SELECT {texts} FROM t")]
        log.execute("DROP TABLE t")


def test_times_of_every_precision(log: SourceLog) -> None:
    random = Random(20261121)
    columns = ", ".join(
        f"a{n} TIME({n}), b{n} DATETIME({n}), c{n} TIMESTAMP({n}) NULL" for n in range(7)
    )
    log.execute(f"CREATE TABLE t (id INT PRIMARY KEY, d DATE, y YEAR, {columns})")

    def clock() -> str:
        return f"{random.randrange(60):02}:{random.randrange(60):02}.{random.randrange(10**6):06}"

    rows = []
    for n in range(200):
        date = f"{random.choice((0, 1, 1999, 9999)):04}-{random.randrange(13):02}"
        date += f"-{random.randrange(29):02}"
        cells = [str(n), f"'{date}'", str(random.choice((0, 1901, 2000, 2155)))]
        for _ in range(7):
            sign = random.choice(("", "-"))
            cells.append(f"'{sign}{random.choice((0, 1, 99, 837))}:{clock()}'")
            cells.append(f"'{date} {random.randrange(24):02}:{clock()}'")
            cells.append(
                f"'{random.randrange(1970, 2038)}-02-03 {random.randrange(24):02}:{clock()}'"
            )
        rows.append(f"({', '.join(cells)})")
    log.execute(f"INSERT INTO t VALUES {', '.join(rows)}")
    _, images = logged(log)
    names = [f"{kind}{n}" for n in range(7) for kind in "abc"]
    texts = ", ".join(f"CAST({name} AS CHAR)" for name in ["d", *names])
    expected = log.execute(f"SELECT id, y, {texts} FROM t ORDER BY id")
    assert [[image[0], image[2], image[1], *image[3:]] for image in images] == list(
        map(list, expected)
    )


def test_bits_of_every_width(log: SourceLog) -> None:
    columns = ", ".join(f"v{n} BIT({n})" for n in range(1, 65))
    log.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    random = Random(20261121)
    rows = [[2**n - 1 for n in range(1, 65)], [random.randrange(2**n) for n in range(1, 65)]]
    values = ", ".join(f"({n}, {', '.join(map(str, row))})" for n, row in enumerate(rows))
    log.execute(f"INSERT INTO t VALUES {values}")
    _, images = logged(log)
    assert images == [[n, *row] for n, row in enumerate(rows)]


def test_a_set_of_64_members_and_an_enum_of_300(log: SourceLog) -> None:
    members = ", ".join(f"'m{n}'" for n in range(64))
    labels = ", ".join(f"'l{n}'" for n in range(1, 301))
    sets = {f"SET({members})": ("'m63,m0'", "18446744073709551615", "''", "'m31,m32'")}
    enums = {f"ENUM({labels})": ("'l1'", "'l255'", "'l256'", "'l300'", "'nonsense'")}
    (_, _, masks), (_, _, names) = written(log, {**sets, **enums})
    if tells_characters(log):
        assert masks == selected(log, "CAST(v0 AS CHAR)")
        assert names == selected(log, "CAST(v1 AS CHAR)")
    else:
        assert masks == selected(log, "v0 | 0")
        assert names == [EnumIndex(1), EnumIndex(255), EnumIndex(256), EnumIndex(300), "", None]


def as_printed(log: SourceLog, images: list[list[Value]]) -> list[str]:
    texts = [str(image[1]) for image in images]
    if not tells_characters(log):
        # 5.7 prints a double without decimals like an integer, and base64 with bare line breaks.
        texts = [re.sub(r"(\d)\.0(?!\d)", r"\1", text).replace("\\n", "\n") for text in texts]
    return texts


def test_json_documents(log: SourceLog) -> None:
    log.execute("CREATE TABLE t (id INT PRIMARY KEY, v JSON)")
    documents: tuple[object, ...] = (
        {},
        [],
        None,
        {"b": 1, "aa": [True, None, -1.5], "é": "ü\x01😀"},
        {str(n): [n, -n, n * 2**40, n / 7] for n in range(2000)},
        ["x" * 70000, 70000, [[]] * 30],
    )
    with log.connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO t VALUES (%s, %s)", list(enumerate(map(json.dumps, documents)))
        )
    _, images = logged(log)
    if "MariaDB" in str(log.execute("SELECT VERSION()")):
        assert [json.loads(str(image[1])) for image in images] == list(documents)
    else:
        assert as_printed(log, images) == selected(log, "CAST(v AS CHAR)")


def test_every_collation_of_the_server_is_known(log: SourceLog) -> None:
    mariadb = "MariaDB" in str(log.execute("SELECT VERSION()"))
    # MariaDB gives the numbers of the UCA 14.0 collations in the other table only.
    newer = bool(log.execute("SHOW COLLATION LIKE '%uca1400%'"))
    table = "COLLATION_CHARACTER_SET_APPLICABILITY" if newer else "COLLATIONS"
    rows = log.execute(f"SELECT ID, CHARACTER_SET_NAME FROM information_schema.{table}")
    assert len(rows) > 200
    # Older servers call utf8mb3 so.
    known = [(n, {"utf8": "utf8mb3"}.get(str(charset), charset)) for n, charset in rows]
    assert [(n, charset_of(cast("int", n), mariadb=mariadb)) for n, _ in rows] == known


@pytest.mark.parametrize("log", [*MYSQL[1:], *MARIADB], indirect=True)
def test_labels_of_every_kind_of_character_set(log: SourceLog) -> None:
    log.execute(
        "CREATE TABLE t (a ENUM('ab', 'c') CHARACTER SET binary, b SET('x', 'y') CHARACTER SET "
        "binary, c ENUM('ü', 'é') CHARACTER SET utf16, d SET('中', '文') CHARACTER SET gbk, "
        "e ENUM('ü') CHARACTER SET ucs2)"
    )
    log.execute("INSERT INTO t VALUES ('c', 'x,y', 'é', '中,文', 'ü')")
    columns, images = logged(log)
    assert [c.labels for c in columns] == [["ab", "c"], ["x", "y"], ["ü", "é"], ["中", "文"], ["ü"]]
    assert images == [["c", "x,y", "é", "中,文", "ü"]]


# Columns that some servers alone have.


@pytest.mark.parametrize("log", MARIADB, indirect=True)
def test_compressed_columns_of_mariadb(log: SourceLog) -> None:
    log.execute("SET column_compression_threshold = 10")
    log.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, a TEXT COMPRESSED CHARACTER SET utf8mb4, "
        "b VARCHAR(255) COMPRESSED CHARACTER SET latin1, c LONGTEXT COMPRESSED, "
        "d TINYTEXT COMPRESSED, e VARCHAR(254) COMPRESSED CHARACTER SET latin1, "
        "f BLOB COMPRESSED, g VARBINARY(3000) COMPRESSED)"
    )
    texts = "REPEAT('é', 300), REPEAT('ü', 255), REPEAT('q', 70000), REPEAT('x', 90), 'é'"
    for n, wrap in enumerate(("OFF", "ON")):
        log.execute(f"SET column_compression_zlib_wrap = {wrap}")
        log.execute(f"INSERT INTO t VALUES ({n}, {texts}, REPEAT('y', 900), REPEAT('z', 2999))")
    log.execute("INSERT INTO t VALUES (2, 'é', 'short', '', NULL, '', 'a', '')")
    columns, images = logged(log)
    assert [(c.type_name, c.charset, c.length) for c in columns[1:]] == [
        ("text", "utf8mb4", None),
        ("varchar", "latin1", 255),
        ("text", "utf8mb4", None),
        ("text", "utf8mb4", None),
        ("varchar", "latin1", 254),
        ("blob", "binary", None),
        ("varbinary", "binary", 3000),
    ]
    rows = log.execute("SELECT id, a, b, c, d, e, f, g FROM t ORDER BY id")
    assert images == [list(row) for row in rows]


@pytest.mark.parametrize("log", ["mariadb_10_11", "mariadb_server"], indirect=True)
def test_a_uuid_and_addresses_of_mariadb_are_bytes_in_their_written_order(log: SourceLog) -> None:
    log.execute("CREATE TABLE t (u UUID, a INET6, b INET4)")
    log.execute(
        # Versions 1, 7 and 4: the first is stored in another order, for its time to sort.
        "INSERT INTO t VALUES "
        "('123e4567-e89b-12d3-a456-426655440000', '::ffff:1.2.3.4', '1.2.3.4'), "
        "('0190b6a5-1b1c-7def-8123-456789abcdef', '2001:db8::1', '255.0.0.1'), "
        "('ffffffff-ffff-4fff-bfff-fffffffffffe', '::', '0.0.0.0')"
    )
    columns, images = logged(log)
    assert [(c.type_name, c.length) for c in columns] == [
        ("binary", 16),
        ("binary", 16),
        ("binary", 4),
    ]
    assert [[cast("bytes", v).hex().upper() for v in image] for image in images] == [
        list(row) for row in log.execute("SELECT HEX(u), HEX(a), HEX(b) FROM t")
    ]
    assert images[0][0] == bytes.fromhex("123e4567e89b12d3a456426655440000")


@pytest.mark.parametrize("log", ["mariadb_server"], indirect=True)
def test_timestamps_of_mariadb_reach_to_2106(log: SourceLog) -> None:
    log.execute("CREATE TABLE t (a TIMESTAMP NULL, b TIMESTAMP(6) NULL)")
    log.execute(
        "INSERT INTO t VALUES ('2106-02-07 06:28:15', '2106-02-07 06:28:15.999999'), "
        "('2038-01-19 03:14:08', '2038-01-19 03:14:07.999999')"
    )
    _, images = logged(log)
    rows = log.execute("SELECT CAST(a AS CHAR), CAST(b AS CHAR) FROM t")
    assert images == [list(row) for row in rows]
    assert images[0] == ["2106-02-07 06:28:15", "2106-02-07 06:28:15.999999"]


@pytest.mark.parametrize("log", MARIADB, indirect=True)
@pytest.mark.parametrize(
    ("columns", "values", "names"),
    [
        ("a DATETIME(3), n INT", "'2019-07-09 12:28:57.123', 7", "column a (DATETIME)"),
        ("n INT, a TIMESTAMP(1) NULL", "7, '2019-07-09 12:28:57.1'", "column a (TIMESTAMP)"),
        ("a DATETIME(6)", "'2019-07-09 12:28:57.123'", "column a (DATETIME)"),
        # Two rows of this kind have the length of three rows without digits.
        ("a TIME(3)", "'12:34:56.789'", "column a (TIME)"),
        ("a TIME(6), b TIME", "'12:34:56.789', '1:00'", "column a (TIME), column b (TIME)"),
    ],
)
def test_digits_of_a_second_in_the_older_format_are_an_error(
    log: SourceLog, columns: str, values: str, names: str
) -> None:
    log.execute("SET GLOBAL mysql56_temporal_format = OFF")
    log.execute(f"CREATE TABLE t ({columns})")
    log.execute("SET GLOBAL mysql56_temporal_format = ON")
    log.execute(f"INSERT INTO t VALUES ({values}), ({values})")
    with pytest.raises(EventError) as caught:
        logged(log)
    assert caught.value.reason.text == (
        f"table every_version.t, {names}: digits after the second in MariaDB's old format "
        "(mysql56_temporal_format=OFF), and the log does not tell how many; rebuild the table "
        "(SET GLOBAL mysql56_temporal_format = ON; ALTER TABLE ... FORCE) and read from there on, "
        "or exclude the table"
    )
    # What the text advises.
    log.execute("ALTER TABLE t FORCE")
    log.execute(f"INSERT INTO t VALUES ({values})")
    _, images = logged(log)
    place = 1 if columns.startswith("n") else 0
    ((expected,),) = log.execute("SELECT CAST(a AS CHAR) FROM t LIMIT 1")
    assert [image[place] for image in images] == [expected]


@pytest.mark.parametrize("log", MARIADB, indirect=True)
def test_the_older_format_without_digits_of_a_second_is_read(log: SourceLog) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in OLD_COLUMNS.items())
    log.execute("SET GLOBAL mysql56_temporal_format = OFF")
    log.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    log.execute("SET GLOBAL mysql56_temporal_format = ON")
    rows = []
    for n in range(40):
        moment = f"'{2000 + n}-0{n % 9 + 1}-1{n % 10} 0{n % 10}:5{n % 10}:07'"
        cells = [moment if n >> bit & 1 else "NULL" for bit in range(len(OLD_COLUMNS))]
        rows.append(f"({n}, {', '.join(cells)})")
    log.execute(f"INSERT INTO t VALUES {', '.join(rows)}")
    _, images = logged(log)
    names = ", ".join(f"CAST({name} AS CHAR)" for name in OLD_COLUMNS)
    assert sorted(images, key=lambda image: cast("int", image[0])) == [
        list(row) for row in log.execute(f"SELECT id, {names} FROM t ORDER BY id")
    ]


@pytest.mark.parametrize("log", MARIADB, indirect=True)
def test_the_first_second_of_1970_is_not_the_zero_value(log: SourceLog) -> None:
    log.execute("CREATE TABLE t (a TIMESTAMP(6) NULL)")
    log.execute("INSERT INTO t VALUES ('1970-01-01 00:00:00.5'), ('0000-00-00 00:00:00')")
    _, images = logged(log)
    assert images == [list(row) for row in log.execute("SELECT CAST(a AS CHAR) FROM t")]
    assert images == [["1970-01-01 00:00:00.500000"], ["0000-00-00 00:00:00.000000"]]


@pytest.mark.parametrize("log", ["mysql_9", "mariadb_server"], indirect=True)
def test_vectors(log: SourceLog) -> None:
    mariadb = "MariaDB" in str(log.execute("SELECT VERSION()"))
    vector = "VEC_FromText" if mariadb else "STRING_TO_VECTOR"
    log.execute("CREATE TABLE t (id INT PRIMARY KEY, v VECTOR(3), n INT)")
    log.execute(
        f"INSERT INTO t VALUES (1, {vector}('[1, -2.5, 3.4028235e38]'), 5), "
        f"(2, {vector}('[1.2e-38, 0, 0.1]'), 6), (3, NULL, 7)"
    )
    columns, images = logged(log)
    expected = [row[0] for row in log.execute("SELECT HEX(v) FROM t ORDER BY id")]
    if mariadb:
        assert columns[1].type_name == "varbinary"
        assert [v and cast("bytes", v).hex().upper() for _, v, _ in images] == expected
    else:
        assert (columns[1].type_name, columns[1].dimension) == ("vector", 3)
        stored = [v and pack("<3f", *cast("list[float]", v)).hex().upper() for _, v, _ in images]
        assert stored == expected


@pytest.mark.parametrize("log", ["mysql_8_0_15", "mysql_server", "mysql_9"], indirect=True)
def test_columns_of_a_functional_index_are_left_out_of_the_rows(log: SourceLog) -> None:
    log.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10), n INT, INDEX f ((n * 2)), "
        "INDEX g ((UPPER(v))), virtual_one INT AS (n + 1), stored_one INT AS (n * 3) STORED)"
    )
    log.execute("INSERT INTO t (id, v, n) VALUES (1, 'abc', 5)")
    columns, images = logged(log)
    assert [c.name for c in columns[:5]] == ["id", "v", "n", "virtual_one", "stored_one"]
    # The first servers with functional indexes list the hidden columns in the table map.
    assert all(c.name is not None and len(c.name) == 32 for c in columns[5:])
    assert images == [[1, "abc", 5, 6, 15, *[ABSENT] * (len(columns) - 5)]]


@pytest.mark.parametrize("log", MARIADB, indirect=True)
def test_generated_and_invisible_columns_of_mariadb(log: SourceLog) -> None:
    log.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT, v INT AS (n + 1) VIRTUAL, "
        "s INT AS (n * 2) PERSISTENT, i INT INVISIBLE DEFAULT 7)"
    )
    log.execute("INSERT INTO t (id, n) VALUES (1, 5)")
    log.execute("SET binlog_row_image = MINIMAL")
    log.execute("UPDATE t SET n = 6")
    events = [e.body for e in log.events() if isinstance(e.body, RowsEvent)]
    (insert,), (update,) = (event.rows() for event in events)
    assert insert.after == [1, 5, 6, 10, 7]
    ((version,),) = log.execute("SELECT VERSION()")
    assert (update.before, update.after) == (
        [1, ABSENT, ABSENT, ABSENT, ABSENT],
        [ABSENT, 6, ABSENT, ABSENT if server_version(version).leaves_out_generated else 12, ABSENT],
    )


@pytest.mark.parametrize("log", MYSQL, indirect=True)
def test_values_of_every_sql_type_in_a_json_document(log: SourceLog) -> None:
    columns = {
        "BIT(9)": "b'101'",
        "BINARY(4)": "'a'",
        "VARBINARY(200)": "REPEAT('x', 150)",
        "TINYBLOB": "'a'",
        "MEDIUMBLOB": "REPEAT('y', 60)",
        "ENUM('a', 'b')": "'b'",
        "SET('a', 'b')": "'a,b'",
        "YEAR": "1999",
        "DATE": "'2010-00-00'",
        "TIME(2)": "'-838:59:58.99'",
        "DATETIME(6)": "'9999-12-31 23:59:59.999999'",
        "TIMESTAMP(3) NULL": "'2018-06-20 13:37:03.123'",
        "DECIMAL(65,30)": "-1.5",
        "DECIMAL(10,0)": "7",
        "FLOAT": "0.1",
        "DOUBLE": "1e300",
        "BIGINT UNSIGNED": "18446744073709551615",
        "CHAR(5) CHARACTER SET latin1": "'é'",
        "TEXT CHARACTER SET gbk": "'中文'",
        "POINT": "ST_GeomFromText('POINT(1 2)')",
        "TINYINT": "NULL",
    }
    names = ", ".join(f"v{n}" for n in range(len(columns)))
    definitions = ", ".join(f"v{n} {definition}" for n, definition in enumerate(columns))
    log.execute(f"CREATE TABLE s ({definitions})")
    log.execute(f"INSERT INTO s VALUES ({', '.join(columns.values())})")
    log.execute("CREATE TABLE t (id INT PRIMARY KEY, v JSON)")
    log.events()
    log.execute(f"INSERT INTO t SELECT 1, JSON_ARRAY({names}) FROM s")
    log.execute(f"INSERT INTO t VALUES (2, CONCAT('{'[' * 100}', '{']' * 100}'))")
    # More digits than a column can have.
    log.execute(f"INSERT INTO t VALUES (3, CAST({'9' * 35}.{'9' * 30} AS JSON))")
    log.execute(f"INSERT INTO t VALUES (4, JSON_ARRAY(-{'1' * 65}, {'9' * 81}, 0.{'1' * 72}))")
    _, images = logged(log)
    assert as_printed(log, images) == selected(log, "CAST(v AS CHAR)")


# The character sets of a product have changed once, between 5.7 and 8.0.
@pytest.mark.parametrize(
    "log", SERVERS if FULL else ["mysql_5_7", "mysql_9", "mariadb_server"], indirect=True
)
def test_every_code_of_every_character_set_is_what_select_gives(log: SourceLog) -> None:
    fill_sequences(log)
    for charset in charsets_of(log, [*SINGLE_BYTE, *ASIAN]):
        texts = texts_of(log, charset)
        assert len(texts) >= (128 if charset in SINGLE_BYTE else 8000), charset
        assert misread(charset, texts) == {}, charset
        # What one text holds is what each of its codes is.
        codes = Random(charset).sample(sorted(texts), 128)
        expected = b"".join(texts[code] for code in codes).decode()
        assert misread(charset, {b"".join(codes): expected.encode()}) == {}, charset
