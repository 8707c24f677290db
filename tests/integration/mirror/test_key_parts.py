"""The parts of tables with every kind of key hold each row once, and some hold many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.replication.server.addresses import source_settings
from connector.stream.source.select_session import SelectSession
from connector.stream.source.selected_table import SelectedTable
from local_stack import connect
from stream_jobs.load.key_parts import PARTS_MAX, key_parts

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream

pytestmark = pytest.mark.server

ROWS = 2000
# By kind: the columns of the key, and an expression of n, from 1 on, for the first of them.
KEYS = {
    "an integer": ("k INT, PRIMARY KEY (k)", "n"),
    "few large integers": ("k BIGINT UNSIGNED, PRIMARY KEY (k)", "n + IF(n > 50, 1 << 62, 0)"),
    "a decimal": ("k DECIMAL(12,3), PRIMARY KEY (k)", "n / 7"),
    "a day and a number": ("k DATE, m INT, PRIMARY KEY (k, m)", "'2020-01-01' + INTERVAL n DAY"),
    "a time": ("k DATETIME(3), PRIMARY KEY (k)", "'2020-01-01' + INTERVAL n * 7 SECOND"),
    "random bytes": ("k BINARY(16), PRIMARY KEY (k)", "UNHEX(MD5(n))"),
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
    "a text in UTF-16": (
        "k VARCHAR(40) CHARACTER SET utf16, PRIMARY KEY (k)",
        "CONCAT('user', LPAD(n, 8, '0'))",
    ),
    "a label": ("k ENUM('a','b'), m INT, PRIMARY KEY (k, m)", "1 + n % 2"),
}


def url(stream: Stream) -> str:
    source = stream.source
    return f"mysql://{source.user}:{source.password}@{source.host}:{source.port}/"


@pytest.mark.parametrize("kind", KEYS)
def test_each_row_is_in_one_part(either_stream: Stream, kind: str) -> None:
    stream = either_stream
    key, expression = KEYS[kind]
    digits = " UNION ".join(f"SELECT {n} AS d" for n in range(10))
    names = "k, m" if " m " in key else "k"
    values = f"{expression}, n" if " m " in key else expression
    stream.execute(
        f"CREATE TABLE t ({key})",
        f"INSERT INTO t ({names}) SELECT {values} FROM (SELECT 1 + a.d + 10 * b.d + 100 * c.d + "
        f"1000 * e.d AS n FROM ({digits}) a, ({digits}) b, ({digits}) c, "
        "(SELECT 0 AS d UNION SELECT 1) e) AS every",
        "ANALYZE TABLE t",
    )
    with SelectSession(source_settings(url(stream))) as session:
        table = SelectedTable.describe(session, stream.database, "t")
        parts = key_parts(session, table, 100)
    assert (parts[0].low, parts[-1].high) == ("", "")
    counts = []
    with connect(stream.source, stream.database) as connection, connection.cursor() as cursor:
        for part in parts:
            conditions = [f"k >= {part.low}"] if part.low else []
            conditions += [f"k < {part.high}"] if part.high else []
            cursor.execute(f"SELECT COUNT(*) FROM t WHERE {' AND '.join(conditions) or 'TRUE'}")
            counts.append((cursor.fetchone() or (0,))[0])
    assert sum(counts) == ROWS
    assert 1 < len(parts) <= PARTS_MAX
    assert max(counts) <= ROWS / 2
