"""Logs that do not name the columns give the same records as logs that do, or none."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import UnsupportedChange
from connector.replication import answer_errors
from connector.stream.source import table_errors
from local_stack import MariadbServer, MysqlServer, connect
from tests.foundation.errors.patterns import fits
from tests.integration.schema.anchored_stream import AnchoredStream, rows_of, schema_ids_of
from tests.length import length

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Endpoint, Server

pytestmark = pytest.mark.server

TYPES = """
    id BIGINT UNSIGNED NOT NULL, part INT NOT NULL, t1 TINYINT UNSIGNED, t2 SMALLINT,
    t3 MEDIUMINT UNSIGNED ZEROFILL, f1 FLOAT UNSIGNED, d1 DOUBLE, n1 DECIMAL(20, 5) UNSIGNED,
    b1 BIT(11), b2 BIT(1), c1 CHAR(7), c2 CHAR(100) CHARACTER SET latin1, c3 BINARY(16),
    v1 VARCHAR(300) COLLATE utf8mb4_bin, v2 VARCHAR(20) CHARACTER SET ucs2, v3 VARBINARY(9),
    x1 TINYTEXT, x2 TEXT CHARACTER SET cp1251, x3 LONGTEXT, x4 BLOB, x5 LONGBLOB,
    e1 ENUM('a', 'it''s', 'b,c', 'd\\\\e', 'ж') CHARACTER SET utf8mb4,
    e2 ENUM('ä', 'ö') CHARACTER SET latin1, s1 SET('x', 'y', 'z'), j1 JSON, y1 YEAR, da DATE,
    tm TIME(3), dt DATETIME(6), ts TIMESTAMP(2) NULL, g1 GEOMETRY, g2 POINT,
    gv INT AS (part + 1) VIRTUAL, gs INT AS (part + 2) {stored},
    PRIMARY KEY (part, id), KEY (t1)
"""
COLUMNS = """
    id, part, t1, t2, t3, f1, d1, n1, b1, b2, c1, c2, c3, v1, v2, v3, x1, x2, x3, x4, x5, e1, e2,
    s1, j1, y1, da, tm, dt, ts, g1, g2
"""
VALUES = """
    18446744073709551615, 7, 255, -32768, 16777215, 1.5, -2.25, '123456789012345.54321',
    b'10101010101', b'1', 'плюс', 'ÿ', X'00FF', 'Ж€𝄞', 'ucs', X'FE', 'x1', 'текст', 'long', X'01FF',
    X'02', 'd\\\\e', 'ö', 'x,z', '{{"k": [1, 2.5, "v"]}}', 2026, '2026-11-22', '-12:34:56.789',
    '2026-11-22 01:02:03.456789', '2026-11-22 01:02:03.45', ST_GeomFromText('POINT(1 2)'),
    ST_GeomFromText('POINT(3 4)')
"""
OTHER_TABLES = (
    "CREATE TABLE no_key (a INT UNSIGNED, b VARCHAR(5))",
    "CREATE TABLE unique_key (a INT, b INT NOT NULL, c INT NOT NULL, UNIQUE (c, b), UNIQUE (a))",
    "CREATE TABLE prefixed (a VARCHAR(300) NOT NULL, b INT, PRIMARY KEY (a(20)))",
)
# Of each round of `fill_all`, with tombstones.
RECORDS = 12


@dataclass
class Source:
    """A server, and a database on it."""

    endpoint: Endpoint
    mariadb: bool = False
    can_log_names: bool = True

    def execute(self, *statements: str) -> None:
        with connect(self.endpoint, "shop") as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def metadata(self, wanted: str) -> None:
        if not self.can_log_names:
            return
        less = "NO_LOG" if self.mariadb else "MINIMAL"
        self.execute(f"SET GLOBAL binlog_row_metadata = {'FULL' if wanted == 'full' else less}")

    def stream(self, **settings: Any) -> AnchoredStream:
        return AnchoredStream(self.endpoint, "shop.*", **settings)


@pytest.fixture
def naming_source(source: Source) -> Source:
    """A server that logs names when it is told to."""
    if not source.can_log_names:
        pytest.skip("this server logs no names at all")
    return source


# MySQL 8.0 logs the same metadata as MySQL 9.
@pytest.fixture(
    params=["mysql_5_7", "mariadb_server", "mysql_9", "mysql_server"][: length(short=3, full=4)]
)
def source(request: pytest.FixtureRequest) -> Iterator[Source]:
    """A server that does not log names, with an empty database."""
    server: Server = request.getfixturevalue(request.param)
    source = Source(
        server.endpoint, isinstance(server, MariadbServer), request.param != "mysql_5_7"
    )
    with connect(server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
        source.metadata("less")
        yield source
        source.metadata("full")
        cursor.execute("DROP DATABASE shop")


def create_all(source: Source) -> None:
    stored = "PERSISTENT" if source.mariadb else "STORED"
    source.execute(f"CREATE TABLE types ({TYPES.format(stored=stored)})", *OTHER_TABLES)


def fill_all(source: Source) -> None:
    """Write the same rows, whatever was there."""
    source.execute(
        f"INSERT INTO types ({COLUMNS}) VALUES ({VALUES.replace('{{', '{').replace('}}', '}')})",
        "UPDATE types SET t1 = NULL, x3 = 'other'",
        "DELETE FROM types",
        "INSERT INTO no_key VALUES (4294967295, 'b')",
        "INSERT INTO unique_key VALUES (1, 2, 3)",
        "INSERT INTO prefixed VALUES ('a', 2)",
        "DELETE FROM no_key",
        "DELETE FROM unique_key",
        "DELETE FROM prefixed",
    )


def everything(records: list[Any]) -> list[Any]:
    """Return what does not depend on the position and the time of records."""
    shown = []
    for record in records:
        if record.topic.count(".") == 2:
            value = json.loads(record.value) if record.value else None
            images = (value["op"], value["before"], value["after"]) if value else None
            schema_id = dict(record.headers)["cdc.schema"]
            shown.append((record.topic, record.key, images, schema_id))
    return shown


def test_values_are_those_of_a_log_that_names_them(naming_source: Source) -> None:
    source = naming_source
    create_all(source)
    stream = source.stream()
    fill_all(source)
    without_names = stream.run()
    source.metadata("full")
    fill_all(source)
    with_names = stream.run()
    assert len(everything(with_names)) == RECORDS
    assert everything(without_names) == everything(with_names)
    assert not stream.resyncs


def test_an_old_server_gives_what_a_new_one_does(
    mysql_5_7: MysqlServer, mysql_server: MysqlServer
) -> None:
    found = []
    for server in (mysql_5_7, mysql_server):
        source = Source(server.endpoint)
        with connect(source.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
            create_all(source)
            stream = source.stream()
            fill_all(source)
            found.append(everything(stream.run()))
            cursor.execute("DROP DATABASE shop")
    assert len(found[0]) == RECORDS
    assert found[0] == found[1]


SWAP = "ALTER TABLE t CHANGE a b INT, CHANGE b a INT"
# Consumers know columns by their names.
SWAPPED = ("shop", "t", "ALTER TABLE … CHANGE a")


def row(**columns: object) -> tuple[str, None, dict[str, object]]:
    return "c", None, columns


@pytest.fixture
def stream(source: Source) -> AnchoredStream:
    """A stream that has read a row of `t (id, a, b)` and one of `other (id)`."""
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)",
        "CREATE TABLE other (id INT PRIMARY KEY)",
    )
    stream = source.stream()
    source.execute("INSERT INTO t VALUES (1, 10, 20)", "INSERT INTO other VALUES (1)")
    assert rows_of(stream.run(), "t") == [row(id=1, a=10, b=20)]
    return stream


def why_of(stream: AnchoredStream) -> list[tuple[str, str]]:
    """Return the tables that are to be copied, because rows could not be named."""
    assert SWAPPED in stream.resyncs
    unnamed = [told for told in stream.resyncs if told != SWAPPED]
    assert all("the log does not name its columns" in why for _, _, why in unnamed)
    return [(database, table) for database, table, _ in unnamed]


def test_names_that_are_swapped_while_nobody_reads_are_those_of_each_row(
    source: Source, stream: AnchoredStream
) -> None:
    source.execute(
        "INSERT INTO t VALUES (2, 10, 20)",
        SWAP,
        "INSERT INTO t VALUES (3, 20, 10)",
        "INSERT INTO other VALUES (2)",
    )
    records = stream.run()
    assert rows_of(records, "t") == [row(id=2, a=10, b=20), row(id=3, b=20, a=10)]
    assert len(set(schema_ids_of(records, "t"))) == 2
    assert rows_of(records, "other") == [row(id=2)]
    assert stream.resyncs == [SWAPPED]


def test_rows_that_cannot_be_named_are_left_to_a_copy_and_other_tables_go_on(
    source: Source, stream: AnchoredStream
) -> None:
    source.execute(
        SWAP,
        "INSERT INTO t VALUES (2, 20, 10)",
        "INSERT INTO other VALUES (2)",
        SWAP,
        "INSERT INTO t VALUES (3, 10, 20)",
        "UPDATE t SET a = 11 WHERE id = 2",
    )
    records = stream.run()
    # What was written between the two: whose columns nobody knows.
    assert [(op, after["id"]) for op, _, after in rows_of(records, "t")] == [("c", 3), ("u", 2)]
    assert rows_of(records, "t")[0] == row(id=3, a=10, b=20)
    assert rows_of(records, "other") == [row(id=2)]
    assert why_of(stream) == [("shop", "t")]


@pytest.mark.parametrize("events", range(2, 12))
def test_a_change_that_was_met_before_a_restart_is_not_forgotten(
    source: Source, stream: AnchoredStream, events: int
) -> None:
    source.execute(SWAP)
    stream.run(events)
    source.execute("INSERT INTO t VALUES (2, 20, 10)", SWAP, "INSERT INTO t VALUES (3, 10, 20)")
    stream.run()
    assert rows_of(stream.records, "t") == [row(id=1, a=10, b=20), row(id=3, a=10, b=20)]
    assert why_of(stream) == [("shop", "t")]


def test_a_table_that_is_made_anew_with_other_columns_is_read_as_it_was(
    source: Source, stream: AnchoredStream
) -> None:
    source.execute(
        "INSERT INTO t VALUES (2, 10, 20)",
        "DROP TABLE t",
        "CREATE TABLE t (x VARCHAR(9), id BIGINT PRIMARY KEY)",
        "INSERT INTO t VALUES ('x', 3)",
    )
    records = stream.run()
    assert rows_of(records, "t") == [
        row(id=2, a=10, b=20),
        ("t", None, None),
        row(x="x", id=3),
    ]
    assert not stream.resyncs


def test_rows_of_a_table_that_is_gone_are_taken_back_by_the_statement(
    source: Source, stream: AnchoredStream
) -> None:
    source.execute(
        SWAP, "INSERT INTO t VALUES (2, 20, 10)", "DROP TABLE t", "INSERT INTO other VALUES (2)"
    )
    records = stream.run()
    assert rows_of(records, "t") == [("t", None, None)]
    assert rows_of(records, "other") == [row(id=2)]
    assert stream.gone == ["shop.t"]
    assert stream.resyncs == [SWAPPED]


def test_what_another_pipeline_knows_is_of_another_time(
    source: Source, stream: AnchoredStream
) -> None:
    earlier = stream.progress
    source.execute("INSERT INTO t VALUES (2, 10, 20)", SWAP, "INSERT INTO t VALUES (3, 20, 10)")
    stream.run()
    stream.progress = earlier
    assert rows_of(stream.run(name="q"), "t") == [row(id=3, b=20, a=10)]
    assert why_of(stream) == [("shop", "t")]


def test_what_the_log_names_again_needs_no_server(
    naming_source: Source, stream: AnchoredStream
) -> None:
    source = naming_source
    source.metadata("full")
    source.execute("INSERT INTO t VALUES (2, 10, 20)")
    source.metadata("less")
    source.execute("INSERT INTO t VALUES (3, 10, 20)")
    records = stream.run()
    assert rows_of(records, "t") == [row(id=2, a=10, b=20), row(id=3, a=10, b=20)]
    assert len(set(schema_ids_of(stream.records, "t"))) == 1


@pytest.fixture
def reader(source: Source) -> Iterator[dict[str, str]]:
    """An account that may read the log, and no table yet."""
    source.execute(
        "DROP USER IF EXISTS reader",
        "CREATE USER reader IDENTIFIED BY 'pw'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader",
    )
    yield {"user": "reader", "password": "pw"}
    source.execute("DROP USER reader")


def test_a_table_that_the_account_may_not_read_is_set_aside_alone(
    source: Source, reader: dict[str, str]
) -> None:
    for name in ("t", "other"):
        source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY)")
    source.execute("GRANT SELECT ON shop.other TO reader")
    stream = source.stream(**reader)
    guarded = source.stream(is_guarded=True, **reader)
    source.execute(
        "INSERT INTO other VALUES (1)", "INSERT INTO t VALUES (1)", "INSERT INTO other VALUES (2)"
    )
    with pytest.raises(UnsupportedChange) as caught:
        stream.run()
    (message,) = [caught.value.message]
    assert message.code is table_errors.NOT_SHOWN
    why = str(message.facts["why"])
    assert fits(why.partition("] ")[2], answer_errors.NO_SELECT, number=1142), why
    assert rows_of(guarded.run(), "other") == [row(id=1), row(id=2)]
    assert guarded.fences == {"shop.t": str(caught.value)}
    source.execute("GRANT SELECT ON shop.* TO reader")
    assert rows_of(stream.run(), "t") == [row(id=1)]


def test_a_table_that_is_set_aside_is_not_asked_for_at_each_of_its_rows(
    source: Source, reader: dict[str, str]
) -> None:
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    guarded = source.stream(is_guarded=True, **reader)
    source.execute(*(f"INSERT INTO t VALUES ({number})" for number in range(60)))
    before = connections(source)
    guarded.run()
    assert guarded.fences
    assert connections(source) - before < 20


def connections(source: Source) -> int:
    """Return how many connections the server has had."""
    with connect(source.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Connections'")
        ((_, count),) = cursor.fetchall()
    return int(count)


def test_a_table_whose_right_is_revoked_before_the_log_leaves_out_columns_is_set_aside_alone(
    source: Source, reader: dict[str, str]
) -> None:
    if not source.mariadb:
        pytest.skip("this server logs generated columns")
    source.execute(
        "GRANT SELECT ON shop.* TO reader",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, g INT AS (a + 1) VIRTUAL)",
        "CREATE TABLE other (id INT PRIMARY KEY)",
    )
    guarded = source.stream(is_guarded=True, **reader)
    source.execute("INSERT INTO t (id, a) VALUES (1, 1)")
    assert len(rows_of(guarded.run(), "t")) == 1
    source.execute(
        "SET SESSION binlog_row_image = MINIMAL",
        "UPDATE t SET a = 2",
        "ALTER TABLE t ADD COLUMN b INT",
        "REVOKE SELECT ON shop.* FROM reader",
        "GRANT SELECT ON shop.other TO reader",
        "INSERT INTO other VALUES (1)",
    )
    assert rows_of(guarded.run(), "other") == [row(id=1)]
    assert list(guarded.fences) == ["shop.t"]


@pytest.mark.parametrize("view", ["of a table that is gone", "of an account that is gone"])
def test_a_view_in_place_of_the_table_that_nobody_can_read_stands_for_no_table(
    source: Source, view: str
) -> None:
    source.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "CREATE TABLE other (id INT PRIMARY KEY)",
        "CREATE TABLE base (id INT PRIMARY KEY)",
        "DROP USER IF EXISTS gone",
        "CREATE USER gone IDENTIFIED BY 'pw'",
    )
    stream = source.stream()
    source.execute("INSERT INTO t VALUES (1)", "DROP TABLE t")
    source.execute("CREATE DEFINER = gone SQL SECURITY DEFINER VIEW t AS SELECT id FROM base")
    if view == "of a table that is gone":
        source.execute("DROP TABLE base", "DROP USER gone")
    else:
        source.execute("DROP USER gone")
    source.execute("INSERT INTO other VALUES (1)")
    assert rows_of(stream.run(), "other") == [row(id=1)]
    assert stream.gone == ["shop.t"]
    assert rows_of(stream.records, "t") == []


def test_a_table_that_went_without_a_word_in_the_log_is_refused(source: Source) -> None:
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    stream = source.stream()
    source.execute("INSERT INTO t VALUES (1)", "SET SESSION sql_log_bin = 0", "DROP TABLE t")
    with pytest.raises(UnsupportedChange) as caught:
        stream.run()
    assert fits(caught.value.text, table_errors.ROWS_WITHOUT_TABLE, name="shop.t"), caught.value
