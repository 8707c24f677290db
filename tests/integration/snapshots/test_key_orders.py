"""Chunks of a table have each row once, whatever the collation and the type of its key.

A chunk has the rows after the last key of the one before. So WHERE must compare keys in the order
in which an index has them; a table whose key does not is read by one SELECT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.binlog.sql_text import quoted_identifier
from connector.stream.snapshot.keyset import can_be_paged, select_chunk, select_rows
from connector.stream.snapshot.table_state import KeyBounds
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from tests.integration.snapshots.chunks import whole_chunk
from tests.integration.snapshots.collations import collations
from tests.integration.snapshots.own_database import own_database
from tests.integration.source_server import source_of
from tests.length import FULL, full_only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pymysql.cursors import Cursor

pytestmark = pytest.mark.server

# Expansions, contractions, ignorable and combining characters, and some that sort before a space.
TEXTS = [
    *("", "\t", "\x01", "\0", "a", "a\t", "a\n", "a\x01", "a!", "a b", "A", "b", "a\0", "z\0\0"),
    *("Strasse", "Stra\u00dfe", "fi", "\ufb01", "a\u200b", "a\u00ad", "e", "e\u0301", "\u00e9"),
    *("\u0301", "z\u0301\u0301", "ae", "\u00e6", "1", "\u00bd", "a\u3000", "a\u00a0", "ij"),
    *("\u0133", "\u1100\u1161", "\uac00", "ch", "c", "cz", "lj", "dz", "\u5b57", "\u3042"),
]
# In the short form, these and each hundredth collation.
CHOSEN = {
    *("utf8mb4_unicode_nopad_ci", "utf8mb4_uca1400_nopad_as_ci", "latin1_nopad_bin"),
    *("utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "utf8mb4_uca1400_ai_ci", "utf8mb4_0900_as_cs"),
    *("ucs2_unicode_nopad_ci", "sjis_japanese_ci", "utf8mb4_nopad_bin"),
}
STEP = 100
VALUES = {
    "YEAR": ["0", "1901", "1970", "2000", "2155"],
    "FLOAT": ["-1e-40", "0", "1e-45", "0.1", "0.333333343", "1.5", "16777217", "3.4e38"],
    "DOUBLE": ["-1/3", "0", "5e-324", "0.1", "1/3", "9007199254740993", "1e22", "1e23", "1e308"],
    "DECIMAL(20,10)": ["-0.0000000001", "0", "1.5", "9999999999"],
    "TIME(6)": ["'-838:59:59'", "'-00:00:00.000001'", "0", "'00:00:00.000001'", "'838:59:59'"],
    "DATE": ["'0000-00-00'", "'2020-00-00'", "'2020-01-00'", "'9999-12-31'"],
    "DATETIME(3)": ["'0000-00-00'", "'2020-00-00'", "'9999-12-31 23:59:59.999'"],
    "TIMESTAMP(6)": ["0", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07.999999'"],
    "BIT(64)": ["0", "1", "9223372036854775808", "18446744073709551615"],
    "BIGINT UNSIGNED": ["0", "9223372036854775808", "18446744073709551615"],
    "ENUM('b', '', 'a')": ["0", "1", "2", "3"],
    "SET('b', 'a')": ["0", "1", "2", "3"],
    "BINARY(3)": ["X''", "X'61'", "X'6100'", "X'6120'", "X'FF'"],
    "VARBINARY(3)": ["X''", "X'61'", "X'6100'", "X'6120'", "X'FF'"],
    "UUID": [
        "'00000000-0000-0000-0000-000000000000'",
        "'123e4567-e89b-12d3-a456-426614174000'",
        "'123e4567-e89b-72d3-a456-426614174000'",
        "'ffffffff-ffff-1fff-bfff-ffffffffffff'",
    ],
    "INET6": ["'::'", "'::1'", "'ffff::'"],
    "INET4": ["'0.0.0.0'", "'255.0.0.1'"],
}
MARIADB_TYPES = {"UUID", "INET6", "INET4"}
OLDER = ["mysql_5_7", "mysql_8_0_15", "mysql_9", "mariadb_10_5", "mariadb_10_11"]


class Tables:
    """A database of this test on a server: its tables, and how copies read them."""

    def __init__(self, cursor: Cursor, session: SelectSession, schema: str) -> None:
        self.cursor = cursor
        self._session = session
        self._schema = schema

    def create(self, definition: str, engine: str = "InnoDB") -> None:
        self.cursor.execute("DROP TABLE IF EXISTS t")
        self.cursor.execute(f"CREATE TABLE t (k {definition} NOT NULL PRIMARY KEY) ENGINE={engine}")

    def insert(self, values: list[str]) -> None:
        rows = ", ".join(f"({value})" for value in values)
        self.cursor.execute(f"INSERT IGNORE INTO t VALUES {rows}")

    def paged(self) -> bool | None:
        """Return whether chunks of one row have each row once; None without chunks."""
        table = SelectedTable.describe(self._session, self._schema, "t")
        if not can_be_paged(table):
            return None
        writer = table.writer()
        rows = whole_chunk(self._session, select_rows(table, (), ""), writer).rows()
        found: list[tuple[bytes | None, bytes]] = []
        after: list[bytes] = []
        while len(found) <= len(rows):
            sql = select_chunk(table, KeyBounds(), after, "", 1)
            chunk = whole_chunk(self._session, sql, writer)
            if not chunk.count:
                break
            found += chunk.rows()
            after = chunk.last_key
        return sorted(found, key=str) == sorted(rows, key=str)

    def collations(self) -> list[tuple[str, str]]:
        """Return the character set and the name of collations."""
        return [
            each
            for number, each in enumerate(collations(self.cursor))
            if FULL or each[1] in CHOSEN or number % STEP == 0
        ]


@pytest.fixture(
    params=[
        "mysql_server",
        "mariadb_server",
        *(pytest.param(name, marks=full_only) for name in OLDER),
    ]
)
def tables(request: pytest.FixtureRequest) -> Iterator[Tables]:
    """A new database on each server."""
    server = request.getfixturevalue(request.param)
    with own_database(source_of(server), SelectSession) as own:
        yield Tables(own.cursor, own.session, own.name)


def test_chunks_lose_no_row_by_the_collation_of_the_key(tables: Tables) -> None:
    wrong = []
    at_once = set()
    for charset, collation in tables.collations():
        texts = [f"CONVERT(_utf8mb4 X'{text.encode().hex()}' USING {charset})" for text in TEXTS]
        for kind in ("CHAR(10)", "VARCHAR(10)"):
            named = quoted_identifier(collation)
            tables.create(f"{kind} CHARACTER SET {charset} COLLATE {named}")
            tables.insert(texts)
            is_whole = tables.paged()
            if is_whole is None:
                at_once.add(kind)
            elif not is_whole:
                wrong.append((kind, collation))
    assert wrong == []
    tables.cursor.execute("SELECT VERSION()")
    (version,) = tables.cursor.fetchone() or ("",)
    # Where only the index pads, rows are read by one SELECT.
    assert at_once == ({"CHAR(10)"} if "MariaDB" in version else set())


@pytest.mark.parametrize("engine", ["InnoDB", "MyISAM"])
def test_chunks_lose_no_row_by_the_type_of_the_key(tables: Tables, engine: str) -> None:
    tables.cursor.execute("SELECT VERSION()")
    (version,) = tables.cursor.fetchone() or ("",)
    is_current_mariadb = "MariaDB" in version and not version.startswith("10.5")
    for definition, values in VALUES.items():
        if definition in MARIADB_TYPES and not is_current_mariadb:
            continue
        tables.create(definition, engine)
        tables.insert(values)
        assert tables.paged(), definition
