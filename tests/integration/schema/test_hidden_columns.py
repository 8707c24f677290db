"""Columns that only the log has, or that it lacks: records have what a SELECT shows."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import UnsupportedChange
from local_stack import connect
from tests.integration.schema.anchored_stream import AnchoredStream, rows_of
from tests.rules.server_versions import server_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local_stack import Endpoint, Server

pytestmark = pytest.mark.server

LONG_KEYS = {
    "one": "id INT PRIMARY KEY, n INT, t TEXT, UNIQUE (t)",
    "several": "id INT PRIMARY KEY, n INT, t TEXT, u BLOB NOT NULL, UNIQUE (t), UNIQUE (u, n)",
    "no key": "id INT, n INT, t TEXT NOT NULL, UNIQUE (t)",
    "by USING HASH": "id INT PRIMARY KEY, n INT, t VARCHAR(9), UNIQUE (t) USING HASH",
    "beside generated columns": (
        "id INT PRIMARY KEY, n INT, t TEXT, g INT AS (id + 1) STORED, v INT AS (id + 2), UNIQUE (t)"
    ),
    "a name like theirs": "id INT PRIMARY KEY, n INT, t TEXT, DB_ROW_HASH_1 INT, UNIQUE (t)",
    "a column like theirs": "id INT PRIMARY KEY, n INT, t INT, DB_ROW_HASH_1 BIGINT UNSIGNED",
    "WITHOUT OVERLAPS": (
        "id INT, n INT, t TEXT, s DATE DEFAULT '2020-01-01', e DATE DEFAULT '2021-01-01', "
        "PERIOD FOR p (s, e), UNIQUE (t), PRIMARY KEY (id, p WITHOUT OVERLAPS)"
    ),
    "invisible": "id INT PRIMARY KEY, n INT, t TEXT, i INT INVISIBLE DEFAULT 3, UNIQUE (t)",
}
FUNCTIONAL_KEYS = {
    "functional": "id INT PRIMARY KEY, n INT, t VARCHAR(9), INDEX ((n + 1)), UNIQUE ((UPPER(t)))"
}
# The server, the columns, and whether the log names these. No server says what the hidden columns
# of MySQL are.
CASES = [
    *(("mariadb_server", name, True) for name in LONG_KEYS),
    *(("mariadb_server", name, False) for name in ("several", "beside generated columns")),
    ("mariadb_10_11", "several", True),
    ("mariadb_10_11", "several", False),
    ("mariadb_10_5", "several", True),
    ("mysql_server", "functional", True),
    ("mysql_8_0_15", "functional", True),
]


class Place:
    """A database of a test on a server."""

    def __init__(self, endpoint: Endpoint, database: str) -> None:
        self.endpoint = endpoint
        self.database = database

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        with connect(self.endpoint, self.database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    @property
    def leaves_out_generated(self) -> bool:
        ((version,),) = self.execute("SELECT VERSION()")
        return server_version(version).leaves_out_generated


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    server: Server = request.getfixturevalue(request.param)
    name = f"hidden_{uuid.uuid4().hex[:8]}"
    with connect(server.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        yield Place(server.endpoint, name)
        cursor.execute(f"DROP DATABASE {name}")


def folded(stream: AnchoredStream) -> dict[int, dict[str, Any]]:
    rows: dict[int, dict[str, Any]] = {}
    for _, before, after in rows_of(stream.records, "h"):
        if before is not None:
            del rows[before["id"]]
        if after is not None:
            rows[after["id"]] = after
    return rows


@pytest.mark.parametrize(("place", "key", "named"), CASES, indirect=["place"])
def test_records_have_the_columns_of_a_select(place: Place, key: str, named: bool) -> None:
    if not named:
        place.execute("SET GLOBAL binlog_row_metadata = NO_LOG")
    try:
        place.execute(f"CREATE TABLE h ({(LONG_KEYS | FUNCTIONAL_KEYS)[key]})")
        stream = AnchoredStream(place.endpoint, f"{place.database}.*")
        values = "(1, 1, '1'), (2, 2, '2'), (3, 3, '3')"
        others = {"several": ", u"}.get(key, "")
        if others:
            values = values.replace("')", "', 'u')")
        place.execute(
            f"INSERT INTO h (id, n, t{others}) VALUES {values}",
            "UPDATE h SET n = 7 WHERE id = 1",
            "DELETE FROM h WHERE id = 2",
        )
        stream.run()
    finally:
        place.execute("SET GLOBAL binlog_row_metadata = FULL")
    columns = [
        name
        for name, generated in place.execute(
            "SELECT column_name, generation_expression FROM information_schema.columns "
            f"WHERE table_schema = '{place.database}' AND table_name = 'h' "
            "ORDER BY ordinal_position"
        )
        if not (generated and place.leaves_out_generated)
    ]
    shown = place.execute(f"SELECT {', '.join(columns)} FROM h")
    found = folded(stream)
    assert {key: list(row) for key, row in found.items()} == {row[0]: columns for row in shown}
    assert {key: row["n"] for key, row in found.items()} == {1: 7, 3: 3}
    assert stream.resyncs == []


LATER = {
    "a plain column now": ("ALTER TABLE h MODIFY g INT",),
    "dropped": ("ALTER TABLE h DROP COLUMN g",),
    "another table": ("DROP TABLE h", "CREATE TABLE h (id INT PRIMARY KEY)"),
    "no table": ("DROP TABLE h",),
}


@pytest.mark.parametrize("place", ["mariadb_server"], indirect=True)
@pytest.mark.parametrize("later", LATER)
def test_a_table_is_copied_if_the_log_lacks_generated_columns_that_it_has_no_more(
    place: Place, later: str
) -> None:
    assert place.leaves_out_generated
    place.execute("CREATE TABLE h (id INT PRIMARY KEY, a INT, g INT AS (a * 2) STORED)")
    stream = AnchoredStream(place.endpoint, f"{place.database}.*")
    place.execute("INSERT INTO h (id, a) VALUES (1, 1), (2, 2)")
    stream.run()
    place.execute(
        "ALTER TABLE h ADD x INT",
        "UPDATE h SET a = 5 WHERE id = 1",
        "INSERT INTO h (id, a) VALUES (3, 3)",
        "DELETE FROM h WHERE id = 3",
        *LATER[later],
    )
    before = len(stream.records)
    stream.run()
    new = rows_of(stream.records[before:], "h")
    if later == "no table":
        assert stream.gone == [f"{place.database}.h"]
        assert [op for op, _, _ in new] == ["t"]
        return
    assert new == ([("t", None, None)] if later == "another table" else [])
    database, table, reason = stream.resyncs[0]
    assert (database, table) == (place.database, "h")
    assert reason.startswith("the log lacks columns of its rows, and from binlog.")
    # Afterwards, the server says which columns these are.
    stream.resyncs.clear()
    place.execute("INSERT INTO h (id) VALUES (9)", "UPDATE h SET id = 10 WHERE id = 9")
    assert [op for op, _, _ in rows_of(stream.run(), "h")] == ["c", "d", "c"]
    assert stream.resyncs == []


@pytest.mark.parametrize("place", ["mariadb_server"], indirect=True)
def test_a_session_that_logs_less_of_rows_is_still_named(place: Place) -> None:
    place.execute("CREATE TABLE h (id INT PRIMARY KEY, a INT, b INT)")
    stream = AnchoredStream(place.endpoint, f"{place.database}.*")
    place.execute(
        "INSERT INTO h VALUES (1, 1, 1)",
        "SET SESSION binlog_row_image = MINIMAL",
        "UPDATE h SET a = 2",
    )
    with pytest.raises(UnsupportedChange, match="a session ran with binlog_row_image=MINIMAL"):
        stream.run()
