"""Statements have as many rows as fit, counted in bytes."""

from __future__ import annotations

import pyarrow as pa

from stream_jobs.replica.statements import TableName, deletes, inserts
from tests.stream_jobs.topics import column

NAME = TableName("shop", "texts")
KEY = column("k", "varchar", key=1)
PART = column("part", "int", key=2)
# Of one byte, of three and of four.
TEXTS = ["a", "語", "it's", "🐬" * 8, "b"]


def test_rows_are_inserted_with_others_or_alone() -> None:
    rows = pa.table({"k": TEXTS})
    whole = [each.sql for each in inserts(NAME, [KEY], rows, 200, may_exist=False)]
    assert whole == [
        "INSERT INTO `shop`.`texts` (`k`) VALUES ('a'),('語'),('it''s'),('🐬🐬🐬🐬🐬🐬🐬🐬'),('b')"
    ]
    size = len(whole[0].encode())
    assert [each.rows for each in inserts(NAME, [KEY], rows, size, may_exist=False)] == [5]
    assert [each.rows for each in inserts(NAME, [KEY], rows, size - 1, may_exist=False)] == [4, 1]
    # The dolphins have more bytes than a statement may have.
    assert [each.rows for each in inserts(NAME, [KEY], rows, 64, may_exist=False)] == [3, 1, 1]
    assert [each.rows for each in inserts(NAME, [KEY], rows, 1, may_exist=True)] == [1] * 5


def test_keys_are_deleted_with_others_or_alone() -> None:
    one = pa.table({"k": TEXTS[:2]})
    both = "DELETE FROM `shop`.`texts` WHERE `k` IN ('a','語')"
    size = len(both.encode())
    assert list(deletes(NAME, [KEY], one, size)) == [both]
    assert list(deletes(NAME, [KEY], one, size - 1)) == [
        "DELETE FROM `shop`.`texts` WHERE `k` IN ('a')",
        "DELETE FROM `shop`.`texts` WHERE `k` IN ('語')",
    ]
    two = pa.table({"k": TEXTS[:2], "part": [1, 2]})
    assert list(deletes(NAME, [KEY, PART], two, 100)) == [
        "DELETE FROM `shop`.`texts` WHERE (`k`='a' AND `part`=1) OR (`k`='語' AND `part`=2)"
    ]
    assert list(deletes(NAME, [KEY, PART], two, 60)) == [
        "DELETE FROM `shop`.`texts` WHERE (`k`='a' AND `part`=1)",
        "DELETE FROM `shop`.`texts` WHERE (`k`='語' AND `part`=2)",
    ]
