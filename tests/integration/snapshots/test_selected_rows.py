"""A row that a SELECT reads gives the bytes that the same row of the log gives, for every type."""

from __future__ import annotations

import json
import math
import struct
import uuid
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest
from librt.strings import BytesWriter

from connector.binlog.events.rows import RowsEvent
from connector.foundation.errors import SourceRefused, UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.copied_chunk import CopyPosition
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.key_windows import TableWindows
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.envelope.table_registry import PublishedTable
from connector.stream.source import table_errors
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from local_stack import MysqlServer
from tests.binlog.source_log import SourceLog
from tests.foundation.errors.texts import text_of
from tests.integration.decoding.test_values import CASES, JSON_DOCUMENTS, double_literal
from tests.integration.snapshots.chunks import whole_chunk
from tests.integration.snapshots.own_database import own_database
from tests.integration.source_server import Source, source_of
from tests.stream.envelope.collected import Collected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from connector.stream.envelope.copied_chunk import Chunk

pytestmark = pytest.mark.server

OPTIONS = EnvelopeOptions("p", "mysql", "1")
READ_AT = CopyPosition(1, "binlog.000001", 1, 4, 0, 0, 0)
START = b'{"before":null,"after":'
END = b',"source":{"version":"1",'

Rows = list[tuple[bytes | None, bytes]]


class Place(NamedTuple):
    """A database of this test on a server: its log, and a session that selects."""

    database: str
    log: SourceLog
    session: SelectSession

    def run(self, statement: str) -> None:
        self.log.execute(statement)

    def describe(self) -> SelectedTable:
        return SelectedTable.describe(self.session, self.database, "t")

    def select(self, table: SelectedTable, rest: str = "") -> Chunk:
        sql = f"SELECT {table.select_list} FROM {table.quoted_name} {rest}"
        return whole_chunk(self.session, sql, table.writer())

    def logged(self, unlogged: frozenset[str] = frozenset()) -> tuple[TableSchema, Rows]:
        """Return what the stream makes of the inserts since the last call.

        Its records leave out the columns `unlogged`.
        """
        events = [e.body for e in self.log.events() if isinstance(e.body, RowsEvent)]
        schema = TableSchema.from_table_map(events[0].table_map, "here", unlogged)
        rows: Rows = []
        for event in events:
            images = PublishedTable(event.table_map, schema, "t", TableWindows(), OPTIONS).images(
                event
            )
            while images.next_row():
                out = BytesWriter()
                images.put(out)
                rows.append((images.key(out), out.getvalue()))
        return schema, rows


def rows_of(chunk: Chunk) -> Rows:
    """Return the keys and the `after` of a chunk's records."""
    target = Collected()
    chunk.publish(target, OPTIONS, READ_AT, set(), 0)
    rows: Rows = []
    for record in target.records:
        assert record.value is not None
        assert record.value.startswith(START)
        rows.append((record.key, record.value[len(START) : record.value.rindex(END)]))
    return rows


def place_on(source: Source) -> Iterator[Place]:
    with own_database(source, SelectSession) as own:
        yield Place(own.name, SourceLog(own.connection), own.session)


@pytest.fixture
def mysql_place(mysql_9: MysqlServer) -> Iterator[Place]:
    yield from place_on(source_of(mysql_9))


@pytest.fixture(params=["mysql_8_0_15", "mariadb_10_5"])
def older_place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """The oldest versions whose log has the metadata."""
    yield from place_on(source_of(request.getfixturevalue(request.param)))


@pytest.fixture
def mysql_80_place(mysql: Source) -> Iterator[Place]:
    yield from place_on(mysql)


@pytest.fixture
def mariadb_place(mariadb: Source) -> Iterator[Place]:
    yield from place_on(mariadb)


@pytest.fixture(params=["mysql_place", "mysql_80_place", "mariadb_place"])
def place(request: pytest.FixtureRequest) -> Place:
    """Each server in turn."""
    given: Place = request.getfixturevalue(request.param)
    return given


def compare(place: Place, definition: str, literals: tuple[str, ...], null: str = "NULL") -> None:
    """Write the literals into a new table, and compare what the two ways make of them."""
    place.run("DROP TABLE IF EXISTS t")
    place.run(f"CREATE TABLE t (id INT PRIMARY KEY, v {definition})")
    rows = [f"({n}, {literal})" for n, literal in enumerate([*literals, null])]
    place.run(f"INSERT INTO t (id, v) VALUES {', '.join(rows)}")
    table = place.describe()
    schema, expected = place.logged(
        frozenset(each["column"]["name"] for each in table.schema.unlogged)
    )
    assert table.schema == schema
    assert rows_of(place.select(table, "ORDER BY id")) == expected


COMMON = {
    **CASES,
    "INT ZEROFILL": ("7", "0"),
    "TINYINT(1)": ("0", "1", "-1"),
    "DECIMAL(6,2) ZEROFILL": ("1.5", "0", "0.5"),
    "BIGINT UNSIGNED ZEROFILL": ("5", "0"),
    "FLOAT ZEROFILL": ("1.5", "0"),
    "DOUBLE ZEROFILL": ("1.5", "0"),
    "DOUBLE(12,4)": ("1.5", "12345678.1234"),
    "DOUBLE(30,10)": ("1234567890123456789.5", "0.0000000001"),
    "FLOAT(12,4)": ("1.5", "0.0001"),
    r"ENUM('it''s', 'a\\b', '', 'é', 'why?', 'tab	', 'a\nb', '(1,2)')": (
        *("1", "2", "3", "4", "5", "6", "7", "8"),
    ),
    r"SET('x''y', 'a\\nb', 'c?')": ("0", "3", "4", "7"),
    f"SET({', '.join(repr(f'l{n}') for n in range(64))})": (
        *("18446744073709551615", "9223372036854775808", "1"),
    ),
    "INT GENERATED ALWAYS AS (id + 1) VIRTUAL": ("DEFAULT",),
    "INT GENERATED ALWAYS AS (id + 1) STORED": ("DEFAULT",),
    "VARCHAR(9) GENERATED ALWAYS AS (CONCAT('n', id)) VIRTUAL": ("DEFAULT",),
}
OF_MYSQL = {"JSON": JSON_DOCUMENTS, "INT /*!80023 INVISIBLE */": ("1",)}
OF_MYSQL_9 = {"VECTOR(3)": ("STRING_TO_VECTOR('[1,-2.5,1e-7]')",)}
OF_MARIADB = {
    "JSON": ("""'{"b":  1}'""",),
    "INT INVISIBLE": ("1",),
    "UUID": (
        "'123e4567-e89b-12d3-a456-426655440000'",
        "'123e4567-e89b-72d3-a456-426655440000'",
        "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
        "'00000000-0000-0000-0000-000000000000'",
    ),
    "INET6": ("'::1'", "'::ffff:1.2.3.4'"),
    "INET4": ("'1.2.3.4'", "'255.255.255.255'"),
    "VARCHAR(100) COMPRESSED": ("'abc'", "REPEAT('é', 100)", "''"),
    "VARBINARY(100) COMPRESSED": ("'abc'", "REPEAT(UNHEX('00'), 100)", "''"),
    "TEXT COMPRESSED": ("REPEAT('abc', 1000)", "''"),
    "BLOB COMPRESSED": ("REPEAT('abc', 1000)", "''"),
    "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_uca1400_ai_ci": ("'é'",),
    "VARCHAR(20) CHARACTER SET utf8mb3 COLLATE utf8mb3_uca1400_as_cs": ("'é'",),
    "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin": ("'é '",),
    "VECTOR(2)": ("VEC_FromText('[1,-2.5]')",),
}


def compare_all(place: Place, cases: dict[str, tuple[str, ...]]) -> None:
    for definition, literals in cases.items():
        compare(place, definition, literals, "DEFAULT" if "GENERATED" in definition else "NULL")


def test_each_type_has_the_bytes_of_the_log(place: Place) -> None:
    compare_all(place, COMMON)


def test_each_type_of_mysql_has_the_bytes_of_the_log(mysql_place: Place) -> None:
    compare_all(mysql_place, {**OF_MYSQL, **OF_MYSQL_9})


def test_each_type_of_mysql_80_has_the_bytes_of_the_log(mysql_80_place: Place) -> None:
    compare_all(mysql_80_place, OF_MYSQL)


def test_each_type_of_mariadb_has_the_bytes_of_the_log(mariadb_place: Place) -> None:
    compare_all(mariadb_place, OF_MARIADB)


def test_each_type_of_older_servers_has_the_bytes_of_the_log(older_place: Place) -> None:
    compare_all(older_place, COMMON)
    older_place.run("DROP TABLE t")
    compare_shapes(older_place, SHAPES)


def finite(random: Random, form: str, size: int) -> float:
    """Return a number of any bits."""
    while True:
        (value,) = struct.unpack(form, random.randbytes(size))
        if math.isfinite(value):
            return float(value)


def decimal_text(random: Random, digits: int, scale: int) -> str:
    text = f"{random.randrange(10 ** random.randint(1, digits)):0{scale + 1}d}"
    return f"{random.choice(('', '-'))}{text[:-scale]}.{text[-scale:]}"


def clock(random: Random, hours: int, digits: int) -> str:
    fraction = f".{random.randrange(10**digits):0{digits}d}" if digits else ""
    return (
        f"{random.randint(0, hours):02d}:{random.randint(0, 59):02d}:{random.randint(0, 59):02d}"
        f"{fraction}"
    )


def day(random: Random, first: int, last: int) -> str:
    return (
        f"{random.randint(first, last):04d}-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}"
    )


def characters(random: Random, length: int) -> str:
    """Return text of all planes, with what JSON escapes."""
    kinds = ((0x20, 0x7E), (0, 0x1F), (0xA0, 0x7FF), (0x800, 0xD7FF), (0x1F300, 0x1F6FF))
    return "".join(
        chr(random.randint(*random.choice(kinds))) for _ in range(random.randint(0, length))
    )


def text_literal(text: str) -> str:
    return f"_utf8mb4 X'{text.encode().hex()}'"


def document(random: Random, depth: int = 0) -> object:
    """Return a JSON value."""
    scalar: list[Callable[[], object]] = [
        lambda: None,
        lambda: random.choice((True, False)),
        lambda: random.randint(-(2**63), 2**64 - 1),
        lambda: random.randint(-100, 100),
        lambda: random.uniform(-1, 1) * 10.0 ** random.randint(-30, 30),
        lambda: round(random.uniform(-1e6, 1e6), random.randint(0, 4)),
        lambda: characters(random, 20).replace("\0", ""),
    ]
    if depth < 3 and random.random() < 0.4:
        if random.random() < 0.5:
            return [document(random, depth + 1) for _ in range(random.randint(0, 5))]
        return {
            characters(random, 8): document(random, depth + 1) for _ in range(random.randint(0, 5))
        }
    return random.choice(scalar)()


GENERATORS: dict[str, Callable[[Random], str]] = {
    "BIGINT": lambda r: str(r.randint(-(2**63), 2**63 - 1) >> r.randint(0, 62)),
    "BIGINT UNSIGNED": lambda r: str(r.getrandbits(64) >> r.randint(0, 63)),
    "MEDIUMINT": lambda r: str(r.randint(-(2**23), 2**23 - 1)),
    "DOUBLE": lambda r: double_literal(finite(r, "<d", 8)),
    "DOUBLE ": lambda r: double_literal(round(r.uniform(-1e6, 1e6), r.randint(0, 8))),
    "DOUBLE  ": lambda r: double_literal(r.uniform(-1, 1) * 10.0 ** r.randint(-20, 20)),
    "FLOAT": lambda r: double_literal(finite(r, "<f", 4)),
    "FLOAT ": lambda r: double_literal(round(r.uniform(-1e6, 1e6), r.randint(0, 6))),
    "DECIMAL(65,30)": lambda r: decimal_text(r, 65, 30),
    "DECIMAL(12,2)": lambda r: decimal_text(r, 12, 2),
    "BIT(33)": lambda r: str(r.getrandbits(33)),
    "DATE": lambda r: f"'{day(r, 1000, 9999)}'",
    "DATETIME(6)": lambda r: f"'{day(r, 1000, 9999)} {clock(r, 23, 6)}'",
    "DATETIME(3)": lambda r: f"'{day(r, 1000, 9999)} {clock(r, 23, 3)}'",
    "TIMESTAMP(4) NULL": lambda r: f"'{day(r, 1971, 2037)} {clock(r, 23, 4)}'",
    "TIME(5)": lambda r: f"'{r.choice(('', '-'))}{clock(r, 837, 5)}'",
    "VARCHAR(100) CHARACTER SET utf8mb4": lambda r: text_literal(characters(r, 100)),
    "TEXT CHARACTER SET utf8mb4": lambda r: text_literal(characters(r, 400)),
    "VARCHAR(100) CHARACTER SET utf16": lambda r: text_literal(characters(r, 100)),
    "VARCHAR(100) CHARACTER SET latin1": lambda r: f"_latin1 X'{r.randbytes(50).hex()}'",
    "VARBINARY(100)": lambda r: f"X'{r.randbytes(r.randint(0, 100)).hex()}'",
    "BINARY(16)": lambda r: f"X'{(r.randbytes(8) + bytes(r.randint(0, 8))).hex()}'",
    "ENUM('a', 'b', 'c')": lambda r: str(r.randint(1, 3)),
    "SET('a', 'b', 'c', 'd')": lambda r: str(r.randint(0, 15)),
    "JSON": lambda r: text_literal(json.dumps(document(r))),
    "POINT": lambda r: f"POINT({finite(r, '<d', 8)!r}, {finite(r, '<d', 8)!r})",
}


@pytest.mark.parametrize("seed", range(3))
def test_random_values_have_the_bytes_of_the_log(place: Place, seed: int) -> None:
    random = Random(seed)
    names = [f"c{n}" for n in range(len(GENERATORS))]
    columns = ", ".join(
        f"{name} {definition}" for name, definition in zip(names, GENERATORS, strict=True)
    )
    place.run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    rows = [
        ", ".join(
            generate(random) if random.random() > 0.1 else "NULL"
            for generate in GENERATORS.values()
        )
        for _ in range(200)
    ]
    values = ", ".join(f"({n}, {row})" for n, row in enumerate(rows))
    place.run(f"INSERT INTO t VALUES {values}")
    schema, expected = place.logged()
    table = place.describe()
    assert table.schema == schema
    assert rows_of(place.select(table, "ORDER BY id")) == expected


SHAPES = (
    "(b INT NOT NULL, c INT NOT NULL, PRIMARY KEY (c, b))",
    "(b INT NOT NULL, c INT NOT NULL, PRIMARY KEY (c DESC, b))",
    "(b VARCHAR(10) NOT NULL, c INT NOT NULL, PRIMARY KEY (b(3), c))",
    # Which of several keys the server takes for the primary one.
    "(b INT NOT NULL, c INT NOT NULL, UNIQUE z (c), UNIQUE y (b, c), UNIQUE w (b))",
    "(b INT NOT NULL, c INT NOT NULL, UNIQUE z (c, b), UNIQUE y (b, c))",
    "(b INT NOT NULL, c INT NOT NULL, UNIQUE a (c, b), UNIQUE y (b, c))",
    "(b INT, c INT NOT NULL, UNIQUE z (c, b))",
    "(b VARCHAR(10) NOT NULL, c INT NOT NULL, UNIQUE z (b(3)))",
    "(b VARCHAR(10) NOT NULL, c INT NOT NULL, UNIQUE z (b(3)), UNIQUE y (c))",
    "(b INT NOT NULL, c INT NOT NULL, UNIQUE (c)) ENGINE=MyISAM",
    "(b INT NOT NULL, c INT NOT NULL, UNIQUE (c) USING HASH) ENGINE=MEMORY",
    "(b INT NOT NULL, c INT NOT NULL, KEY (b))",
    "(`a``b` INT NOT NULL PRIMARY KEY, `c d'\"é` INT)",
)
SHAPES_OF_MYSQL = (
    "(b INT NOT NULL, c INT NOT NULL, UNIQUE z ((b + 1)))",
    "(b INT NOT NULL PRIMARY KEY, c INT NOT NULL, KEY z ((b + 1)))",
    "(b INT NOT NULL PRIMARY KEY, c JSON, KEY z ((CAST(c AS UNSIGNED ARRAY))))",
)
SHAPES_OF_MARIADB = (
    "(b INT NOT NULL PRIMARY KEY, c INT) WITH SYSTEM VERSIONING",
    "(b INT NOT NULL, c INT) WITH SYSTEM VERSIONING",
    "(b INT NOT NULL PRIMARY KEY, c INT WITH SYSTEM VERSIONING)",
    (
        "(b INT NOT NULL PRIMARY KEY, c INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START,"
        " e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e))"
        " WITH SYSTEM VERSIONING"
    ),
)


def compare_shapes(place: Place, shapes: tuple[str, ...]) -> None:
    for shape in shapes:
        place.run("DROP TABLE IF EXISTS t")
        place.run(f"CREATE TABLE t {shape}")
        values = "3, '[4]'" if "JSON" in shape else "3, 4"
        values += ", DEFAULT" * shape.count("ROW ")
        place.run(f"INSERT INTO t VALUES ({values})")
        schema, expected = place.logged()
        table = place.describe()
        assert table.schema == schema, shape
        assert [key.name for key in table.key_columns] == [
            schema.columns[n]["name"] for n in schema.key_indexes
        ]
        assert rows_of(place.select(table)) == expected, shape


def test_each_shape_of_a_table_has_the_columns_and_the_key_of_the_log(place: Place) -> None:
    compare_shapes(place, SHAPES)


def test_each_shape_that_mysql_has_alone(mysql_place: Place) -> None:
    compare_shapes(mysql_place, SHAPES_OF_MYSQL)
    mysql_place.run("SET SESSION sql_generate_invisible_primary_key = ON")
    compare_shapes(mysql_place, ("(b INT, c INT)",))


def test_a_key_that_the_server_has_made_is_read_also_where_it_is_not_shown(
    mysql_9: MysqlServer,
) -> None:
    source = source_of(mysql_9)
    shown = "SET GLOBAL show_gipk_in_create_table_and_information_schema ="
    source.execute(f"{shown} OFF")
    try:
        for place in place_on(source):
            place.run("SET SESSION sql_generate_invisible_primary_key = ON")
            compare_shapes(place, ("(b INT, c INT)",))
    finally:
        source.execute(f"{shown} ON")


def test_each_shape_that_mariadb_has_alone(mariadb_place: Place) -> None:
    compare_shapes(mariadb_place, SHAPES_OF_MARIADB)


KEYS = (
    *("TINYINT", "BIGINT UNSIGNED", "DECIMAL(10,3)", "YEAR", "BIT(20)", "DATE", "DATETIME(3)"),
    *("TIMESTAMP(2)", "TIME(1)", "DOUBLE", "FLOAT", "ENUM('z','y','x','w')", "SET('d','c','b')"),
    *("CHAR(5)", "VARCHAR(9) CHARACTER SET utf8mb4", "VARCHAR(9) CHARACTER SET latin1"),
    *("BINARY(4)", "VARBINARY(9)", "VARCHAR(9) CHARACTER SET utf16"),
)
KEYS_OF_MARIADB = ("UUID", "INET6", "INET4")


def key_values(definition: str, random: Random) -> set[str]:
    """Return literals that are different values."""
    kind = definition.split("(", maxsplit=1)[0].split(maxsplit=1)[0]
    if kind in ("TINYINT", "BIGINT"):
        return {str(random.randint(0 if "UNSIGNED" in definition else -128, 127)) for _ in "x" * 40}
    if kind in ("ENUM", "SET"):
        return {"1", "2", "3", "4"}
    made: dict[str, Callable[[], str]] = {
        "DECIMAL": lambda: decimal_text(random, 9, 3),
        "YEAR": lambda: str(random.randint(1901, 2155)),
        "BIT": lambda: str(random.getrandbits(20)),
        "DATE": lambda: f"'{day(random, 1000, 9999)}'",
        "DATETIME": lambda: f"'{day(random, 1000, 9999)} {clock(random, 23, 3)}'",
        "TIMESTAMP": lambda: f"'{day(random, 1971, 2037)} {clock(random, 23, 2)}'",
        "TIME": lambda: f"'{random.choice(('', '-'))}{clock(random, 99, 1)}'",
        "DOUBLE": lambda: double_literal(random.uniform(-1, 1) * 10.0 ** random.randint(-9, 9)),
        "FLOAT": lambda: double_literal(random.uniform(-1, 1) * 10.0 ** random.randint(-9, 9)),
        "UUID": lambda: f"'{uuid.UUID(int=random.getrandbits(128))}'",
        "INET6": lambda: f"'::{random.getrandbits(16):x}:{random.getrandbits(16):x}'",
        "INET4": lambda: f"'{random.randint(0, 255)}.2.3.{random.randint(0, 255)}'",
        "BINARY": lambda: f"X'{random.randbytes(4).hex()}'",
        "VARBINARY": lambda: f"X'{random.randbytes(random.randint(0, 9)).hex()}'",
    }
    text = "'{}'".format
    words: Callable[[], str] = lambda: text(  # noqa: E731
        "".join(random.choice("aBcé ") for _ in range(random.randint(0, 5)))
    )
    return {made.get(kind, words)() for _ in range(40)}


def read_in_pieces(place: Place, table: SelectedTable) -> Rows:
    """Read a table by its one key column, three rows at a time."""
    (key,) = table.key_columns
    assert key.ordered
    rows: Rows = []
    after = ""
    while (chunk := place.select(table, f"{after} ORDER BY {key.expression} LIMIT 3")).count:
        rows += rows_of(chunk)
        (cell,) = chunk.last_key
        after = f"WHERE {key.expression} > {key.literal(cell)}"
    return rows


def compare_pieces(place: Place, keys: tuple[str, ...]) -> None:
    random = Random(7)
    for definition in keys:
        place.run("DROP TABLE IF EXISTS t")
        place.run(f"CREATE TABLE t (k {definition} NOT NULL PRIMARY KEY)")
        values = ", ".join(f"({value})" for value in sorted(key_values(definition, random)))
        place.run(f"INSERT IGNORE INTO t VALUES {values}")
        table = place.describe()
        whole = rows_of(place.select(table, "ORDER BY k"))
        assert len(whole) > 3
        assert read_in_pieces(place, table) == whole, definition


def test_a_table_is_read_in_pieces_by_a_key_of_each_type(place: Place) -> None:
    compare_pieces(place, KEYS)


def test_a_table_is_read_in_pieces_by_the_keys_of_mariadb(mariadb_place: Place) -> None:
    compare_pieces(mariadb_place, KEYS_OF_MARIADB)


def test_the_beginning_of_a_value_does_not_order_a_table(place: Place) -> None:
    place.run("CREATE TABLE t (b VARCHAR(10) NOT NULL, c INT, PRIMARY KEY (b(3), c))")
    assert [key.ordered for key in place.describe().key_columns] == [False, True]


def test_labels_that_the_server_does_not_show_are_read_as_text(place: Place) -> None:
    """The schema cannot have them; the rows have."""
    place.run(
        "CREATE TABLE t (k ENUM('?', '😀') CHARACTER SET utf8mb4 PRIMARY KEY,"
        " s SET('😀', 'b') CHARACTER SET utf8mb4)"
    )
    place.run("INSERT INTO t VALUES ('?', 'b'), ('😀', '😀,b')")
    _, expected = place.logged()
    table = place.describe()
    assert rows_of(place.select(table, "ORDER BY k")) == expected
    assert not table.key_columns[0].ordered


def test_a_column_that_mariadb_hides_is_in_no_row(mariadb_place: Place) -> None:
    mariadb_place.run("CREATE TABLE t (id INT PRIMARY KEY, b BLOB NOT NULL, UNIQUE (b))")
    mariadb_place.run("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    schema, expected = mariadb_place.logged(frozenset({"DB_ROW_HASH_1"}))
    table = mariadb_place.describe()
    assert table.schema.schema_id == schema.schema_id
    assert rows_of(mariadb_place.select(table, "ORDER BY id")) == expected


def test_a_table_that_is_not_there_and_a_view_are_refused(place: Place) -> None:
    start = f"{place.session.name}: "
    with pytest.raises(SourceRefused) as missing:
        place.describe()
    assert missing.value.text == (
        f"{start}table {place.database}.t does not exist, or the account may not read it; "
        f"GRANT SELECT ON {place.database}.* TO the account of source.user"
    )
    place.run("CREATE VIEW t AS SELECT 1 AS a")
    with pytest.raises(SourceRefused) as view:
        place.describe()
    assert view.value.text == text_of(
        table_errors.VIEW, server=place.session.name, table=f"{place.database}.t"
    )


# The type of a key, the numbers of values that have a record, and those whose text is another's.
ONE_TEXT = [
    ("ENUM('', 'a')", (1, 2), (0,)),
    ("ENUM('a', 'b')", (0, 1, 2), ()),
    ("ENUM('a', 'b', 'a')", (0, 1, 2), (3,)),
    ("SET('', 'a')", (0, 2), (1, 3)),
    ("SET('a', 'b', 'a')", (0, 1, 2, 3), (4, 5, 7)),
]


@pytest.mark.parametrize("profile", ["exact", "debezium"])
def test_no_two_rows_have_one_key_because_their_labels_have_one_text(
    place: Place, profile: str
) -> None:
    form = DebeziumProfile() if profile == "debezium" else None
    options = replace(OPTIONS, debezium=form)
    for definition, fine, wrong in ONE_TEXT:
        place.run("DROP TABLE IF EXISTS t")
        place.run(f"CREATE TABLE t (v {definition} NOT NULL PRIMARY KEY) CHARACTER SET utf8mb4")
        place.log.events()
        for number in (*fine, *wrong):
            place.run(f"INSERT INTO t VALUES ({number})")
        table = place.describe()
        sql = f"SELECT {table.select_list} FROM {table.quoted_name} ORDER BY v + 0"
        chunk = whole_chunk(place.session, sql, table.writer(form))
        refused = [text_of(record_errors.SAME_KEY, column="v", number=number) for number in wrong]
        said = [each.error.text.partition(".t: ")[2] for each in chunk.refused]
        assert said == refused, definition
        keys = [key for key, _ in chunk.rows()]
        assert len(set(keys)) == len(keys) == len(fine), definition
        logged, said = [], []
        for event in [e.body for e in place.log.events() if isinstance(e.body, RowsEvent)]:
            images = PublishedTable(
                event.table_map, table.schema, "t", TableWindows(), options
            ).images(event)
            images.next_row()
            out = BytesWriter()
            try:
                images.put(out)
            except UnsupportedChange as error:
                said.append(error.text.partition(".t: ")[2] or error.text)
            else:
                logged.append(images.key(out))
        assert said == refused, definition
        assert sorted(logged, key=str) == sorted(keys, key=str), definition


def test_a_sequence_is_refused(mariadb_place: Place) -> None:
    mariadb_place.run("CREATE SEQUENCE t")
    with pytest.raises(SourceRefused) as sequence:
        mariadb_place.describe()
    assert sequence.value.text == text_of(
        table_errors.SEQUENCE,
        server=mariadb_place.session.name,
        table=f"{mariadb_place.database}.t",
    )
