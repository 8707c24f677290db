"""A condition that is printed anew chooses the rows that its text chooses, on real servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pymysql
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from connector.foundation.errors import ConfigError
from connector.stream.source.condition_parser import Condition
from connector.stream.source.select_session import SelectSession
from tests.integration.snapshots.own_database import own_database
from tests.length import length

if TYPE_CHECKING:
    from pymysql.cursors import Cursor

    from tests.integration.source_server import Source

pytestmark = pytest.mark.server

COLUMNS = ("id", "n", "s", "été", "d")
ROWS = (
    (1, 0, "", "a", "2026-01-01"),
    (2, 1, "A", "é", "2026-01-31"),
    (3, -1, "it's", "%", None),
    (4, None, None, None, "1999-12-31"),
    (5, 7, "a%b", "\\", "2026-02-01"),
    (6, 255, "7", "_", "2026-01-01"),
)
# What changes the meaning of a text that is not printed with care.
MODES = (
    "",
    "ANSI_QUOTES",
    "NO_BACKSLASH_ESCAPES",
    "PIPES_AS_CONCAT",
    "HIGH_NOT_PRECEDENCE",
    "IGNORE_SPACE",
    "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE,IGNORE_SPACE",
)

NAMES = ["id", "n", "s", "t.id", "`été`", "d", "NULL", "TRUE", "FALSE"]
NUMBERS = ["0", "1", "7", "2.5", ".5", "1e1"]
TEXTS = ["'a'", "'é'", "'it''s'", '"A"', "'%'", "'2026-01-01'", "X'41'", "''"]
ATOMS = st.sampled_from([*NAMES, *NUMBERS, *TEXTS])
COMPARISONS = ["=", "<=>", "<>", "!=", "<", "<=", ">", ">="]
SUMS = ["+", "-", "*", "/", "%", "DIV", "MOD", "|", "&", "^"]
OPERATORS = st.sampled_from([*COMPARISONS, *SUMS, "AND", "&&", "OR", "XOR", "and", "or"])
TESTS = ["{} IS NULL", "{} IS NOT NULL", "{} IS TRUE", "{} IS NOT FALSE", "{} LIKE 'a%'"]
PREFIXES = ["NOT {}", "- {}", "-{}", "+{}", "({})", "({})", "{} NOT LIKE '|%' ESCAPE '|'"]
CALLS = ["COALESCE({}, 1)", "LOWER({})", "ABS( {} )", "HEX({})", "YEAR({})"]
FORMS = st.sampled_from([*TESTS, *PREFIXES, *CALLS])


def larger(smaller: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return texts of texts; most without the parentheses that would group them."""
    return st.one_of(
        st.builds("{} {} {}".format, smaller, OPERATORS, smaller),
        st.builds(lambda form, one: form.format(one), FORMS, smaller),
        st.builds("{} IN ({}, {})".format, smaller, smaller, smaller),
        st.builds("{} NOT IN ({})".format, smaller, smaller),
        st.builds("{} BETWEEN {} AND {}".format, smaller, smaller, smaller),
        st.builds("{} NOT BETWEEN {} AND {}".format, smaller, smaller, smaller),
        st.builds("CONCAT({}, {})".format, smaller, smaller),
    )


CONDITIONS = st.recursive(ATOMS, larger, max_leaves=8)


def fill(cursor: Cursor) -> None:
    cursor.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR(10), `été` VARCHAR(10), d DATE) "
        "CHARACTER SET utf8mb4"
    )
    cursor.executemany("INSERT INTO t VALUES (%s, %s, %s, %s, %s)", ROWS)


def rows(cursor: Cursor, where: str) -> object:
    cursor.execute(f"SELECT id FROM t WHERE ({where}) ORDER BY id".replace("%", "%%"), ())
    return cursor.fetchall()


def test_a_server_chooses_the_same_rows(source: Source) -> None:
    with own_database(source, SelectSession) as own:
        database, cursor = own.name, own.cursor
        fill(cursor)

        @settings(max_examples=length(short=200, full=600), suppress_health_check=list(HealthCheck))
        @given(CONDITIONS, st.sampled_from(MODES))
        def chooses_the_same(where: str, mode: str) -> None:
            try:
                printed = Condition.parse(where).sql(database, "t", COLUMNS)
            except ConfigError:
                event("refused")
                return
            cursor.execute("SET SESSION sql_mode = ''")
            try:
                expected = rows(cursor, where)
            except pymysql.Error:
                event("the server refuses it")
                return
            event("compared")
            cursor.execute("SET SESSION sql_mode = %s", (mode,))
            assert rows(cursor, printed) == expected, printed

        chooses_the_same()
