"""The server is the oracle: a document with its logged changes applied is what SELECT returns."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

from connector.binlog.columns.column import ABSENT, JsonDiff, JsonDiffs, JsonOperation
from connector.binlog.events.rows import RowsEvent
from local_stack import connect
from tests.binlog.source_log import SourceLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.binlog.events.row_reader import Row

pytestmark = pytest.mark.server

PAD = "x" * 300  # a change is logged as one only where that is shorter than the document

REPLACE, INSERT, REMOVE = JsonOperation.REPLACE, JsonOperation.INSERT, JsonOperation.REMOVE


@pytest.fixture(params=["mysql_server", "mysql_9"])
def log(request: pytest.FixtureRequest) -> Iterator[SourceLog]:
    server = request.getfixturevalue(request.param)
    with connect(server.endpoint) as connection:
        log = SourceLog(connection)
        log.execute("CREATE DATABASE partial_json")
        log.execute("USE partial_json")
        log.execute("SET binlog_row_value_options = PARTIAL_JSON")
        yield log
        log.execute("DROP DATABASE partial_json")


def rows_events(log: SourceLog) -> list[RowsEvent]:
    return [event.body for event in log.events() if isinstance(event.body, RowsEvent)]


def updated(log: SourceLog, document: str, change: str) -> tuple[Row, Row]:
    """Change a document; return the row as logged, and with the changes applied."""
    log.execute("DROP TABLE IF EXISTS t")
    log.execute("CREATE TABLE t (id INT PRIMARY KEY, j JSON)")
    with log.connection.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (1, %s)", (document,))
    log.events()
    log.execute(f"UPDATE t SET j = {change}")
    (event,) = rows_events(log)
    assert event.partial
    (row,), (applied,) = event.rows(), event.rows(apply_diffs=True)
    assert applied.before == row.before
    return row, applied


DOCUMENT = json.dumps(
    {
        "a": {"b": {"c": 1, "a longer key": [1, 2, {"x": None}]}},
        "list": [0, [1, 2], {"k": "v"}, "text", 1.50, 1e100, 18446744073709551615],
        "é": "ü😀",
        'quo"ted \\ key\n': True,
        "7up": [],
        "": "empty key",
        "pad": PAD,
        "$": {"a.b": 1, "c[0]": 2},
    }
)


@pytest.mark.parametrize(
    ("change", "diffs"),
    [
        ("JSON_SET(j, '$.a.b.c', 2)", [(REPLACE, "$.a.b.c", "2")]),
        ("JSON_SET(j, '$.a.b.new', '2')", [(INSERT, "$.a.b.new", '"2"')]),
        ("JSON_SET(j, '$.a.b.\"new key\"', 2)", [(INSERT, '$.a.b."new key"', "2")]),
        ("JSON_REPLACE(j, '$.list[1][0]', 'x')", [(REPLACE, "$.list[1][0]", '"x"')]),
        ("JSON_REMOVE(j, '$.list[1]')", [(REMOVE, "$.list[1]", None)]),
        ("JSON_REMOVE(j, '$.\"quo\\\\\"ted \\\\\\\\ key\\\\n\"')",
         [(REMOVE, '$."quo\\"ted \\\\ key\\n"', None)]),
        ("JSON_SET(j, '$.list[last]', 'x')", [(REPLACE, "$.list[last]", '"x"')]),
        ("JSON_SET(j, '$.list[last-5][last]', 'x')", [(REPLACE, "$.list[last-5][last]", '"x"')]),
        ("JSON_SET(j, '$.list[last-7]', 'x')", [(INSERT, "$.list[last-7]", '"x"')]),
        ("JSON_REMOVE(j, '$.list[last-6]')", [(REMOVE, "$.list[last-6]", None)]),
        ("JSON_SET(j, '$.list[99]', 'x')", [(INSERT, "$.list[99]", '"x"')]),
        ("JSON_SET(j, '$.\"7up\"[0]', 1)", [(INSERT, '$."7up"[0]', "1")]),
        ("JSON_SET(j, '$.\"\"', JSON_OBJECT('z', 1, 'a', JSON_ARRAY()))",
         [(REPLACE, '$.""', '{"a": [], "z": 1}')]),
        ("JSON_SET(j, '$.é', CAST(1.50 AS DECIMAL(5, 2)))", [(REPLACE, "$.é", "1.50")]),
        ("JSON_SET(j, '$.\"$\".\"a.b\"', CAST('12:34:56' AS TIME))",
         [(REPLACE, '$.$."a.b"', '"12:34:56.000000"')]),
        ("JSON_SET(j, '$.\"$\".\"c[0]\"', b'101')",
         [(REPLACE, '$.$."c[0]"', '"base64:type15:BQ=="')]),
        ("JSON_SET(j, '$.a', 1, '$.bb', 2, '$.list[0]', 3)",
         [(REPLACE, "$.a", "1"), (INSERT, "$.bb", "2"), (REPLACE, "$.list[0]", "3")]),
        ("JSON_REMOVE(JSON_SET(j, '$.list[7]', JSON_ARRAY(1)), '$.list[0]', '$.list[0]')",
         [(INSERT, "$.list[7]", "[1]"), (REMOVE, "$.list[0]", None),
          (REMOVE, "$.list[0]", None)]),
        ("JSON_SET(j, '$.list[3][0]', 'wrapped')", [(REPLACE, "$.list[3]", '"wrapped"')]),
        ("JSON_SET(j, '$.list[3][1]', 'second')", [(REPLACE, "$.list[3]", '["text", "second"]')]),
        ("JSON_SET(j, '$.a.b.c', 1)", []),
    ],
)  # fmt: skip
def test_changes_give_the_document_that_select_returns(
    log: SourceLog, change: str, diffs: list[tuple[JsonOperation, str, str | None]]
) -> None:
    # A second column changes, so that a row is logged where the document stays as it is.
    log.execute("DROP TABLE IF EXISTS t")
    log.execute("CREATE TABLE t (n INT, j JSON)")
    with log.connection.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (1, %s)", (DOCUMENT,))
    log.events()
    log.execute(f"UPDATE t SET n = n + 1, j = {change}")
    (event,) = rows_events(log)
    assert event.partial
    (row,), (applied,) = event.rows(), event.rows(apply_diffs=True)
    assert row.after == [2, JsonDiffs(tuple(JsonDiff(*diff) for diff in diffs))]
    assert applied.before == row.before
    assert applied.after == list(log.execute("SELECT n, CAST(j AS CHAR) FROM t")[0])


def test_changes_of_a_large_document_are_applied(log: SourceLog) -> None:
    large = json.dumps({"n": list(range(20000)), "s": "y" * 70000, "o": {"k": 1}})
    row, applied = updated(log, large, "JSON_SET(j, '$.n[19999]', -1, '$.s', 'z', '$.o.l', 2)")
    assert isinstance((row.after or [])[1], JsonDiffs)
    assert applied.after == list(log.execute("SELECT id, CAST(j AS CHAR) FROM t")[0])


class RandomChanges:
    """Documents of few keys, and calls that change them, mostly where something is."""

    names = ("a", "b", "aa", "é", "ab", "a b", '"', "€", "zzz")

    def __init__(self, random: Random) -> None:
        self.random = random

    def value(self, depth: int) -> object:
        choice = self.random.randrange(8 if depth else 6)
        if choice == 6:
            count = self.random.randrange(5)
            return {self.random.choice(self.names): self.value(depth - 1) for _ in range(count)}
        if choice == 7:
            return [self.value(depth - 1) for _ in range(self.random.randrange(5))]
        integer = self.random.randrange(-(2**40), 2**40)
        return (None, True, integer, self.random.random(), "é\x01\"'", "")[choice]

    def document(self) -> str:
        return json.dumps({name: self.value(4) for name in self.names} | {"pad": PAD * 4})

    def path(self) -> str:
        legs = ["$"]
        for _ in range(self.random.randint(1, 4)):
            name = json.dumps(self.random.choice(self.names), ensure_ascii=False)
            index = self.random.choice(("0", "1", "2", "7", "last", "last-1", "last-7"))
            legs.append(self.random.choice((f".{name}", f"[{index}]")))
        return "".join(legs)

    def calls(self) -> tuple[str, list[str]]:
        """Return an expression with its arguments."""
        calls = "j"
        arguments = []
        for _ in range(self.random.randint(1, 4)):
            function = self.random.choice(("SET", "REPLACE", "REMOVE"))
            arguments.append(self.path())
            if function == "REMOVE":
                calls = f"JSON_REMOVE({calls}, %s)"
            else:
                calls = f"JSON_{function}({calls}, %s, CAST(%s AS JSON))"
                arguments.append(json.dumps(self.value(2)))
        return calls, arguments


def test_random_changes_give_the_document_that_select_returns(log: SourceLog) -> None:
    changes = RandomChanges(Random(20261121))
    log.execute("CREATE TABLE t (id INT PRIMARY KEY, j JSON)")
    partial = 0
    with log.connection.cursor() as cursor:
        for n in range(60):
            cursor.execute("INSERT INTO t VALUES (%s, %s)", (n, changes.document()))
        for _ in range(6):
            log.events()
            for n in range(60):
                calls, arguments = changes.calls()
                cursor.execute(f"UPDATE t SET j = {calls} WHERE id = {n}", arguments)
            expected = {n: j for n, j in log.execute("SELECT id, CAST(j AS CHAR) FROM t")}  # noqa: C416
            for event in rows_events(log):
                partial += event.partial
                rows = [row.after or [] for row in event.rows(apply_diffs=True)]
                assert [row[1] for row in rows] == [expected[row[0]] for row in rows]
    assert partial > 100


def test_a_change_holds_a_decimal_of_more_digits_than_a_column(log: SourceLog) -> None:
    number = f"{'9' * 35}.{'9' * 30}"
    row, applied = updated(log, DOCUMENT, f"JSON_SET(j, '$.list[4]', {number})")
    assert (row.after or [])[1] == JsonDiffs((JsonDiff(REPLACE, "$.list[4]", number),))
    ((document,),) = log.execute("SELECT CAST(j AS CHAR) FROM t")
    assert applied.after == [1, document]
    # The decimal is now part of the document before.
    log.execute("UPDATE t SET j = JSON_SET(j, '$.list[0]', 1)")
    (event,) = rows_events(log)
    (applied,) = event.rows(apply_diffs=True)
    ((changed,),) = log.execute("SELECT CAST(j AS CHAR) FROM t")
    assert (applied.before, applied.after) == ([1, document], [1, changed])


def test_a_document_that_the_before_image_leaves_out_stays_changes(log: SourceLog) -> None:
    log.execute("SET binlog_row_image = MINIMAL")
    document = json.dumps({"a": 1, "pad": PAD})
    _, applied = updated(log, document, "JSON_SET(j, '$.a', 2)")
    assert applied.before == [1, ABSENT]
    assert applied.after == [ABSENT, JsonDiffs((JsonDiff(REPLACE, "$.a", "2"),))]


def test_json_columns_that_an_image_leaves_out_have_their_bit(log: SourceLog) -> None:
    # Ten columns: the bitmap of JSON columns takes two bytes.
    log.execute("SET binlog_row_image = MINIMAL")
    columns = ", ".join(f"j{n} JSON, n{n} INT" for n in range(10))
    log.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    document = json.dumps({"a": 1, "pad": PAD})
    values = ", ".join(f"'{document}', {n}" for n in range(10))
    log.execute(f"INSERT INTO t VALUES (1, {values})")
    log.events()
    log.execute(
        "UPDATE t SET j1 = JSON_SET(j1, '$.a', 2), j4 = '[]', j8 = NULL, "
        "j9 = JSON_REMOVE(j9, '$.a'), n3 = 4"
    )
    (event,) = rows_events(log)
    ((row),) = event.rows()
    assert row.after is not None
    named = dict(zip((c.name for c in event.table_map.columns), row.after, strict=True))
    assert {name: value for name, value in named.items() if value is not ABSENT} == {
        "j1": JsonDiffs((JsonDiff(REPLACE, "$.a", "2"),)),
        "j4": "[]",
        "j8": None,
        "j9": JsonDiffs((JsonDiff(REMOVE, "$.a", None),)),
        "n3": 4,
    }


def test_rows_of_a_partitioned_table_name_their_partitions(log: SourceLog) -> None:
    log.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, j JSON) PARTITION BY RANGE (id) "
        "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))"
    )
    document = json.dumps({"a": 1, "pad": PAD})
    log.execute(f"INSERT INTO t VALUES (15, '{document}')")
    log.execute("UPDATE t SET j = JSON_SET(j, '$.a', 2)")
    log.execute("UPDATE t SET id = 5, j = NULL")
    log.execute("DELETE FROM t")
    facts = [
        (
            e.kind.value,
            e.partial,
            e.extra_row_info.partition_id,
            e.extra_row_info.source_partition_id,
        )
        for e in rows_events(log)
    ]
    assert facts == [
        ("insert", False, 1, None),
        ("update", True, 1, 1),
        ("update", True, 0, 1),
        ("delete", False, 0, None),
    ]
