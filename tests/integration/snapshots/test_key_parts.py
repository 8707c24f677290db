"""The parts of tables with every kind of key hold each row once, and no question scans a table."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.settings.sections import SnapshotSettings
from connector.stream.snapshot.key_parts import PARTS_MAX, key_parts
from connector.stream.snapshot.keyset import can_be_paged, select_chunk, select_rows
from connector.stream.snapshot.time_limits import time_limits
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from tests.integration.snapshots.chunks import whole_chunk
from tests.integration.snapshots.collations import collations
from tests.integration.snapshots.own_database import own_database
from tests.integration.source_server import source_of
from tests.length import length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pymysql.cursors import Cursor

    from connector.replication.protocol.result_set import RowReceiver
    from connector.stream.snapshot.table_state import KeyBounds

pytestmark = pytest.mark.server

ROWS = 2000
ROWS_OF_A_PART = 100
SETTINGS = SnapshotSettings()
# Not a divisor: parts end within chunks.
CHUNK_ROWS = 37
TABLES = int(os.environ.get("STORIES", length(short=12, full=200)))
# By kind: the columns of the key, and expressions of n, from 1 on, for each of them.
KEYS = {
    "an integer": ("k INT, PRIMARY KEY (k)", "n"),
    "few large integers": ("k BIGINT UNSIGNED, PRIMARY KEY (k)", "n + IF(n > 50, 1 << 62, 0)"),
    "a decimal": ("k DECIMAL(12,3), PRIMARY KEY (k)", "n / 7"),
    "a float": ("k FLOAT, PRIMARY KEY (k)", "n / 7"),
    "doubles of every size": ("k DOUBLE, PRIMARY KEY (k)", "POW(10, n * 0.3 - 300)"),
    "bits": ("k BIT(40), PRIMARY KEY (k)", "n * 1000000"),
    "a day and a number": ("k DATE, m INT, PRIMARY KEY (k, m)", "'2020-01-01' + INTERVAL n DAY, n"),
    "a day that no calendar has": (
        "k DATE, PRIMARY KEY (k)",
        "IF(n = 1, '0000-00-00', '2020-01-01' + INTERVAL n DAY)",
    ),
    "a time": ("k DATETIME(3), PRIMARY KEY (k)", "'2020-01-01' + INTERVAL n * 7 SECOND"),
    "times of one second": (
        "k DATETIME(6), PRIMARY KEY (k)",
        "'2020-01-01' + INTERVAL n MICROSECOND",
    ),
    "a time of the day": ("k TIME, PRIMARY KEY (k)", "SEC_TO_TIME(n * 900 - 900000)"),
    "random bytes": ("k BINARY(16), PRIMARY KEY (k)", "UNHEX(MD5(n))"),
    "bytes that begin alike": (
        "k BINARY(40), PRIMARY KEY (k)",
        "CONCAT(REPEAT('x', 30), UNHEX(LPAD(HEX(n), 20, '0')))",
    ),
    "a text of digits": ("k VARCHAR(40), PRIMARY KEY (k)", "CONCAT('user', LPAD(n, 8, '0'))"),
    "a text of one case": ("k VARCHAR(40), PRIMARY KEY (k)", "CONCAT(CHAR(97 + n % 26), MD5(n))"),
    "a text with umlauts": (
        "k VARCHAR(40), PRIMARY KEY (k)",
        "CONCAT(ELT(1 + n % 3, 'ä', 'Z', 'a'), n)",
    ),
    "a text of both cases": (
        "k VARCHAR(40), PRIMARY KEY (k)",
        "CONCAT(CHAR(65 + n % 26 + 32 * (n DIV 26 % 2)), MD5(n))",
    ),
    "a text in Cyrillic": (
        "k VARCHAR(40) CHARACTER SET utf8mb4, PRIMARY KEY (k)",
        "CONCAT(CHAR(0xD090 + n % 32 USING utf8mb4), n)",
    ),
    "a text in kana": (
        "k VARCHAR(40) CHARACTER SET utf8mb4, PRIMARY KEY (k)",
        "CONCAT(CHAR(0xE38182 + n % 60 USING utf8mb4), n)",
    ),
    "kana in Shift JIS": (
        "k VARCHAR(40) CHARACTER SET sjis, PRIMARY KEY (k)",
        "CONCAT(CHAR(0xE38182 + n % 60 USING utf8mb4), n)",
    ),
    "signs of Windows": (
        "k VARCHAR(40) CHARACTER SET latin1, PRIMARY KEY (k)",
        "CONCAT(ELT(1 + n % 3, 'a', '€', 'Ÿ'), MD5(n))",
    ),
    "a text without the other planes": (
        "k VARCHAR(40) CHARACTER SET utf8mb3, PRIMARY KEY (k)",
        "CONCAT(ELT(1 + n % 2, 'a', CHAR(0xEFBFAE USING utf8mb4)), MD5(n))",
    ),
    "a text in UTF-16": (
        "k VARCHAR(40) CHARACTER SET utf16, PRIMARY KEY (k)",
        "CONCAT('user', LPAD(n, 8, '0'))",
    ),
    "a label and a number": (
        "k ENUM('a','b','c','d','e','f','g','h'), m INT, PRIMARY KEY (k, m)",
        "1 + n % 8, n",
    ),
    "a set and a number": (
        "k SET('a','b','c','d'), m INT, PRIMARY KEY (k, m)",
        "n % 16, n",
    ),
    "one tenant": ("k INT, m BIGINT, PRIMARY KEY (k, m)", "7, n"),
    "a large tenant among small ones": (
        "k INT, m BIGINT, PRIMARY KEY (k, m)",
        "IF(n % 20, 1000, n), n",
    ),
    "two tenants and random bytes": (
        "k INT, m BINARY(16), PRIMARY KEY (k, m)",
        "n % 2, UNHEX(MD5(n))",
    ),
    "one tenant in two spellings": (
        "k VARCHAR(9) CHARACTER SET latin1, m INT, PRIMARY KEY (k, m)",
        "ELT(1 + n % 2, 'acme', 'ACME'), n",
    ),
    "one tenant, one day and a number": (
        "k INT, m DATE, o BIGINT, PRIMARY KEY (k, m, o)",
        "7, '2020-01-01', n",
    ),
    "one tenant and a time": (
        "k VARCHAR(9), m DATETIME(6), PRIMARY KEY (k, m)",
        "'acme', '2020-01-01' + INTERVAL n MINUTE",
    ),
    "a unique key beside others": (
        "k INT NOT NULL, m INT NOT NULL, o CHAR(99), p INT, UNIQUE (k, m), KEY (p), KEY (o, p)",
        "7, n, MD5(n), n % 10",
    ),
}
OF_MARIADB = {
    "a UUID": ("k UUID, PRIMARY KEY (k)", "CONCAT(LEFT(MD5(n), 12), '4', RIGHT(MD5(n), 19))"),
    "a UUID of a time": (
        "k UUID, PRIMARY KEY (k)",
        "CONCAT(LPAD(HEX(n * 7), 8, '0'), '-0000-1000-8000-001122334455')",
    ),
    "an address": ("k INET6, PRIMARY KEY (k)", "CONCAT('fe80::', HEX(n))"),
}


class WatchedSession(SelectSession):
    """Notes the SELECTs of rows."""

    def watch(self) -> None:
        """Begin to note."""
        self.asked: list[str] = []

    def read_rows(self, sql: str, receiver: RowReceiver) -> None:
        """Run a SELECT."""
        self.asked.append(sql)
        super().read_rows(sql, receiver)


class Tables:
    """A database of this test on a server: its tables, and how a copy reads them."""

    def __init__(self, cursor: Cursor, session: WatchedSession, schema: str) -> None:
        self.cursor = cursor
        self.session = session
        self._schema = schema

    @property
    def is_mariadb(self) -> bool:
        """Whether the server is MariaDB."""
        return self.session.identity.flavour == "mariadb"

    def create(self, columns: str) -> None:
        """Create the table again."""
        self.cursor.execute("DROP TABLE IF EXISTS t")
        self.cursor.execute(f"CREATE TABLE t ({columns})")

    def fill(self, expressions: str) -> None:
        """Insert a row for each n."""
        digits = " UNION ".join(f"SELECT {n} AS d" for n in range(10))
        self.cursor.execute(
            f"INSERT INTO t SELECT {expressions} FROM (SELECT 1 + a.d + 10 * b.d + 100 * c.d + "
            f"1000 * e.d AS n FROM ({digits}) a, ({digits}) b, ({digits}) c, "
            "(SELECT 0 AS d UNION SELECT 1) e) AS every"
        )

    def describe(self) -> SelectedTable:
        """Describe the table."""
        self.cursor.execute("ANALYZE TABLE t")
        return SelectedTable.describe(self.session, self._schema, "t")

    def parts(self, table: SelectedTable) -> list[KeyBounds]:
        """Return the parts, after no question has read more than one row, or a few."""
        self.session.watch()
        before = self._rows_stepped_over()
        parts = key_parts(self.session, table, SETTINGS, ROWS_OF_A_PART)
        steps = self._rows_stepped_over() - before
        asked = self.session.asked
        limit, hint = time_limits(self.session, SETTINGS)
        for sql in asked:
            assert sql.startswith(f"{limit}SELECT {hint}")
            self.check_access(sql.removeprefix(limit))
        assert steps <= 2 * len(asked), (steps, len(asked))
        assert parts[0].low == parts[-1].high == ()
        assert [part.high for part in parts[:-1]] == [part.low for part in parts[1:]]
        return parts

    def check_access(self, sql: str) -> None:
        """Check that a SELECT goes to its rows by an index."""
        (row,) = self.session.query(f"EXPLAIN FORMAT=TRADITIONAL {sql}")
        extra = row["Extra"] or ""
        # "index" is the first or the last entry of the index alone, and None that there is no row.
        allowed = {"range", "const", "ref", "eq_ref", None}
        if " WHERE " not in sql:
            allowed.add("index")
        assert row["type"] in allowed, (row, sql)
        assert "filesort" not in extra, (row, sql)
        assert "temporary" not in extra, (row, sql)

    def _rows_stepped_over(self) -> int:
        rows = self.session.query(
            "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_next', 'Handler_read_prev')"
        )
        return sum(int(row["Value"] or 0) for row in rows)

    def read(self, table: SelectedTable, parts: Sequence[KeyBounds]) -> list[int]:
        """Read each part as a task does; return how many rows each of them has.

        Together they have each row of the table once.
        """
        writer = table.writer()
        counts = []
        found: Counter[Any] = Counter()
        for part in parts:
            count = 0
            after: list[bytes] = []
            while True:
                sql = select_chunk(table, part, after, "", CHUNK_ROWS)
                if count <= CHUNK_ROWS:
                    self.check_access(sql)
                before = self._rows_stepped_over()
                chunk = whole_chunk(self.session, sql, writer)
                steps = self._rows_stepped_over() - before
                assert steps <= chunk.count + len(table.order_columns), (steps, sql)
                found.update(chunk.rows())
                count += chunk.count
                if chunk.count < CHUNK_ROWS:
                    break
                after = chunk.last_key
            counts.append(count)
        every = whole_chunk(self.session, select_rows(table, (), ""), writer)
        assert found == Counter(every.rows())
        return counts


@pytest.fixture(params=["mysql_server", "mariadb_server"])
def tables(request: pytest.FixtureRequest) -> Iterator[Tables]:
    """A new database on each server."""
    server = request.getfixturevalue(request.param)
    with own_database(source_of(server), WatchedSession) as own:
        yield Tables(own.cursor, own.session, own.name)


def test_a_table_with_any_key_has_many_parts(tables: Tables) -> None:
    kinds = KEYS | (OF_MARIADB if tables.is_mariadb else {})
    found = {}
    for kind, (columns, expressions) in kinds.items():
        tables.create(columns)
        tables.fill(expressions)
        table = tables.describe()
        counts = tables.read(table, tables.parts(table))
        assert sum(counts) == ROWS, kind
        found[kind] = len(counts), max(counts)
    print(found)
    few = {kind: own for kind, own in found.items() if not 8 <= own[0] <= PARTS_MAX}
    large = {kind: own for kind, own in found.items() if own[1] > ROWS / 4}
    assert (few, large) == ({}, {})


def test_no_question_reads_other_columns_than_those_of_the_key(tables: Tables) -> None:
    """A row may have megabytes, and there are hundreds of questions."""
    tables.create("payload LONGBLOB, m BIGINT, k INT, PRIMARY KEY (k, m)")
    tables.fill("REPEAT('x', 1000), n, 7")
    table = tables.describe()
    parts = tables.parts(table)
    assert len(parts) > 8
    assert not [sql for sql in tables.session.asked if "payload" in sql]
    assert sum(tables.read(table, parts)) == ROWS


# By type: the SQL of the n-th value, of some hundreds.
VALUES: dict[str, Callable[[int], str]] = {
    "INT": lambda n: str(n - 9),
    "BIGINT UNSIGNED": lambda n: str(n << 54),
    "DECIMAL(40,20)": lambda n: f"{n}.{'7' * (n % 20)}",
    "FLOAT": lambda n: f"{n * 1.37 - 9}",
    "DOUBLE": lambda n: f"{n}e{n % 500 - 250}",
    "BIT(33)": lambda n: str(n * 9999999),
    "YEAR": lambda n: str(1901 + n % 255) if n else "0",
    "DATE": lambda n: f"'2020-01-01' + INTERVAL {n} DAY" if n else "'0000-00-00'",
    "DATETIME(6)": lambda n: f"'2020-01-01' + INTERVAL {n * n} MICROSECOND",
    "TIMESTAMP": lambda n: f"'2020-01-01 00:00:00' + INTERVAL {n} HOUR" if n else "0",
    "TIME(3)": lambda n: f"SEC_TO_TIME({n - 90}.{n:03})",
    "ENUM('e','d','c','b','a','')": lambda n: str(n % 7),
    "SET('c','b','a')": lambda n: str(n % 8),
    "BINARY(9)": lambda n: f"UNHEX(MD5({n}))",
    "VARBINARY(20)": lambda n: f"X'{b'prefix'.hex()}{n:04x}{'00' * (n % 3)}'",
}
OF_MARIADB_VALUES: dict[str, Callable[[int], str]] = {
    "UUID": lambda n: f"CONCAT(LEFT(MD5({n}), 12), '{1 + n % 7}', RIGHT(MD5({n}), 19))",
    "INET6": lambda n: f"'fe80::{n:x}'",
    "INET4": lambda n: f"'10.{n % 7}.{n // 250}.{n % 250}'",
}
LETTERS = "aAbBzZeE9_ äÄßéÿ€дЖあん字"


def text_of(n: int) -> str:
    """Return the n-th text, some of which a collation may take for the same."""
    return "".join(LETTERS[(n >> shift) % len(LETTERS)] for shift in range(0, 8, 2))


class RandomKey:
    """A key of two to four columns, of types and collations that chance chooses, and its values."""

    def __init__(self, tables: Tables, random: Random, collations: list[tuple[str, str]]) -> None:
        self._random = random
        values = VALUES | (OF_MARIADB_VALUES if tables.is_mariadb else {})
        columns, self._values = [], []
        for number in range(random.randint(2, 4)):
            kind = random.choice([*values, *["text"] * (len(values) // 2)])
            value = values.get(kind)
            if value is None:
                charset, collation = random.choice(collations)
                kind = f"VARCHAR(9) CHARACTER SET {charset} COLLATE {collation}"
                value = partial(self._text, charset)
            # One value, a few, or as many as fit.
            count = random.choice((1, 2, 5, 30, 400))
            numbers = random.sample(range(400), count)
            self._values.append([value(n) for n in numbers])
            columns.append((f"c{number}", kind))
        random.shuffle(columns_of_key := [name for name, _ in columns])
        key = random.choice(("PRIMARY KEY", "UNIQUE KEY"))
        self.definition = ", ".join(
            [
                *(f"{name} {kind} NOT NULL" for name, kind in columns),
                "more CHAR(100) NOT NULL DEFAULT ''",
                f"{key} ({', '.join(columns_of_key)})",
            ]
        )

    def _text(self, charset: str, n: int) -> str:
        return f"CONVERT(_utf8mb4 X'{text_of(n).encode().hex()}' USING {charset})"

    def rows(self, count: int) -> str:
        """Return the values of rows, some of which may be the same."""
        chosen = ([self._random.choice(values) for values in self._values] for _ in range(count))
        return ", ".join(f"({', '.join(row)}, '')" for row in chosen)


def test_random_keys_of_several_columns_part_a_table(tables: Tables) -> None:
    known = collations(tables.cursor)
    parted = 0
    for seed in range(TABLES):
        random = Random(seed)
        key = RandomKey(tables, random, known)
        tables.create(key.definition)
        tables.cursor.execute(f"INSERT IGNORE INTO t VALUES {key.rows(random.randint(1, 1500))}")
        table = tables.describe()
        if not can_be_paged(table):
            continue
        parts = tables.parts(table)
        counts = tables.read(table, parts)
        rows = sum(counts)
        print(seed, key.definition, rows, len(counts), max(counts))
        if rows > 4 * ROWS_OF_A_PART:
            assert len(parts) > 2, (seed, key.definition)
            assert max(counts) < 0.7 * rows, (seed, key.definition)
            parted += 1
    assert parted > TABLES / 4
