"""By which rule a text is in the log, if only the text is known."""

from __future__ import annotations

import pytest

from connector.rules.sql_parser import reasons_in_text
from connector.rules.unsafe_statements import UnsafeReason

ROWS = ", ".join(f"({n}, 'abc')" for n in range(2000))


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("UPDATE t SET v = UUID()", {UnsafeReason.SYSTEM_FUNCTION}),
        ("DELETE FROM t ORDER BY v LIMIT 1", {UnsafeReason.LIMIT}),
        ("INSERT INTO t VALUES (@@server_id)", {UnsafeReason.SYSTEM_VARIABLE}),
        ("REPLACE INTO t SELECT * FROM q", {UnsafeReason.REPLACE_SELECT}),
        ("UPDATE IGNORE t SET v = 1", {UnsafeReason.UPDATE_IGNORE}),
        ("INSERT INTO user (id) VALUES (1)", set()),
        ("UPDATE t SET v = 'UUID()'", set()),
        # These are not understood.
        ("LOAD DATA INFILE 'x' INTO TABLE t", set()),
        ("SET STATEMENT sql_mode = '' FOR UPDATE t SET v = UUID()", set()),
        (f"INSERT INTO t VALUES ({'(' * 3000}UUID(){')' * 3000})", set()),
        # This is too long to be parsed.
        (f"INSERT INTO t VALUES {ROWS}, (UUID(), '')", set()),
    ],
)
def test_the_words_of_a_statement_tell_whether_it_is_unsafe(
    text: str, reasons: set[UnsafeReason]
) -> None:
    assert reasons_in_text(text, mysql=True) == reasons


@pytest.mark.parametrize(
    ("text", "is_safe_on_mariadb"),
    [
        ("UPDATE t SET v = RAND()", False),
        ("DELETE FROM t WHERE v < RAND()", False),
        ("REPLACE INTO t VALUES (RAND())", False),
        ("INSERT INTO t VALUES (RAND())", True),
        ("INSERT INTO t SELECT RAND()", True),
        ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE v = RAND()", True),
    ],
)
def test_only_mariadb_logs_what_rand_needs_and_only_for_inserts(
    text: str, is_safe_on_mariadb: bool
) -> None:
    unsafe = frozenset({UnsafeReason.SYSTEM_FUNCTION})
    assert reasons_in_text(text, mysql=True) == unsafe
    assert reasons_in_text(text, mysql=False) == (frozenset() if is_safe_on_mariadb else unsafe)
