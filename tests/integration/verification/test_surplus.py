"""Rows that only the mirror has are taken back by their keys, and no other row is copied."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.verification.load import changing
from tests.integration.verification.pair import pair_of
from tests.length import full_only, length

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from tests.integration.database_stream import Stream
    from tests.integration.harness import Seen
    from tests.integration.verification.pair import Pair, Row

pytestmark = pytest.mark.kafka

# Types of keys, with values of rows: the first one is deleted, the others stay.
KEYS: dict[str, tuple[str, ...]] = {
    "TINYINT": ("-128", "0", "7"),
    "SMALLINT UNSIGNED ZEROFILL": ("65535", "7", "0"),
    "INT UNSIGNED": ("4294967295", "7", "0"),
    "BIGINT": ("-9223372036854775808", "7", "0"),
    "BIGINT UNSIGNED": ("18446744073709551615", "7", "0"),
    "DECIMAL(30,4)": ("-12345678901234567890.1234", "0", "0.5"),
    "DECIMAL(65,30)": ("12345678901234567890.5", "0", "-1"),
    "DECIMAL(4,4)": ("-0.1234", "0", "0.5"),
    "BIT(1)": ("b'1'", "b'0'"),
    "BIT(20)": ("b'11111111000000000001'", "5", "6"),
    "CHAR(5)": ("'a b'", "'c'", "'d'"),
    "VARCHAR(20) CHARACTER SET utf8mb4": ("'\"q\\\\ é😀\\n'", "'x'", "'y'"),
    "VARCHAR(20) CHARACTER SET latin1": ("'Grüße €'", "'x'", "'y'"),
    "BINARY(4)": ("X'00FF0000'", "X'01'", "X'02'"),
    "VARBINARY(9)": ("X'00FF0A'", "X''", "X'02'"),
    "DATE": ("'1000-01-01'", "'2000-01-01'", "'9999-12-31'"),
    "DATETIME": ("'1582-10-10 00:00:00'", "'2000-01-01'", "'2000-01-02'"),
    "DATETIME(3)": ("'9999-12-31 23:59:59.998'", "'2000-01-01'", "'2000-01-02'"),
    "TIMESTAMP(6)": ("'2038-01-19 03:14:06.999999'", "'2000-01-01'", "'2000-01-02'"),
    "TIME(6)": ("'-838:59:58.999999'", "'0:0:0'", "'1:0:0'"),
    "TIME": ("'-00:00:01'", "'100:0:0'", "'1:0:0'"),
    "YEAR": ("2154", "1901", "2000"),
    "ENUM('a', 'it''s', 'C')": ("'it''s'", "'a'", "'C'"),
}
# Rows with such keys are taken back by a copy of the whole table.
WHOLE: dict[str, tuple[str, ...]] = {
    "DOUBLE": ("0.1", "7", "0"),
    "VARCHAR(20) CHARACTER SET utf16": ("'日本'", "'x'", "'y'"),
    "SET('a', 'b')": ("'a,b'", "'a'", "'b'"),
}


def taken_back(stream: Stream, since: int) -> list[Seen]:
    """Return the deletes after so many changes; nothing but rows may have been copied."""
    changes = stream.changes()[since:]
    assert "t" not in {each.op for each in changes}
    deletes = [each for each in changes if each.op == "d"]
    assert {each.value["source"]["snapshot"] for each in deletes} <= {"true"}
    assert all(each.value["before"] == each.key for each in deletes)
    return deletes


def repair(pair: Pair, *tables: str) -> list[str]:
    """Repair; return what was printed of rows, without their values."""
    with pair.applying():
        done = pair.verify("--repair", *tables)
    assert done.returncode == 0, done.stdout + done.stderr
    equal = pair.verify(*tables)
    assert equal.returncode == 0, equal.stdout + equal.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("  ") and line[2] != " "]


def resurrected(mode: str, rows: list[Row]) -> list[Row]:
    """Let the row that the source has deleted be there again."""
    if mode == "journal":
        return [row for row in rows if row["_cdc_op"] != "d"]
    if mode == "soft_delete":
        return [row | {"_cdc_deleted": False} for row in rows]
    if mode == "history":
        ends = ("_cdc_valid_to", "_cdc_end_op", "_cdc_end_hi", "_cdc_end_lo")
        return [row | dict.fromkeys(ends) | {"_cdc_is_current": True} for row in rows]
    return [*rows, next(iter(rows)) | {"id": 1, "part": "it's", "v": 1}]


def found_again(before: list[Row], rows: list[Row]) -> list[Row]:
    """Let the row be there again that there was before."""
    return [*rows, *(row for row in before if row["v"] == 0)]


def test_a_mirror_of_each_mode_loses_a_row_that_the_source_does_not_have(
    either_stream: Stream,
) -> None:
    stream = either_stream
    modes = ("current", "soft_delete", "history", "journal")
    choices: list[dict[str, Any]] = [{"match": [f"*.{mode}"], "mode": mode} for mode in modes]
    for mode in modes:
        stream.execute(
            f"CREATE TABLE {mode} (id INT, part VARCHAR(9), v INT NOT NULL, "
            "PRIMARY KEY (part, id))",
            f"INSERT INTO {mode} VALUES (1,'it''s',1),(2,'b',2),(3,'c',3)",
            f"DELETE FROM {mode} WHERE id = 1",
        )
    with pair_of(stream, choices) as pair:
        pair.catch_up(16)
        for mode in modes:
            pair.damage(mode, partial(resurrected, mode))
        lines = repair(pair)
        rows = pair.rows("soft_delete")
        versions = pair.rows("history")
    assert lines == ['  surplus {"part": "it\'s", "id": 1}, copied again and equal now'] * 4
    deletes = taken_back(stream, 16)
    assert [each.key for each in deletes] == [{"part": "it's", "id": 1}] * 4
    # Its values are those that the mirror had.
    assert {(row["id"], row["v"], row["_cdc_deleted"]) for row in rows} == {
        (1, 1, True),
        (2, 2, False),
        (3, 3, False),
    }
    assert {(row["id"], row["v"], row["_cdc_end_op"]) for row in versions} == {
        (1, 1, "d"),
        (2, 2, None),
        (3, 3, None),
    }


def rows_of(types: Mapping[str, Sequence[str]]) -> range:
    return range(max(map(len, types.values())))


def keyed_table(name: str, types: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the statements for a table whose key has columns of some types."""
    columns = [f"id{place or ''}" for place in range(len(types))]
    definitions = [f"{column} {kind}" for column, kind in zip(columns, types, strict=True)]
    rows = [[values[row % len(values)] for values in types.values()] for row in rows_of(types)]
    inserted = ", ".join(f"({', '.join(row)}, {place})" for place, row in enumerate(rows))
    definitions += ["v INT NOT NULL", f"PRIMARY KEY ({', '.join(columns)})"]
    return [
        f"CREATE TABLE {name} ({', '.join(definitions)})",
        f"INSERT INTO {name} VALUES {inserted}",
    ]


@full_only
def test_keys_of_each_type_are_taken_back(either_stream: Stream) -> None:
    stream = either_stream
    kinds = list(KEYS.items())
    width = length(short=6, full=1)
    by_key: list[dict[str, tuple[str, ...]]] = [
        dict(kinds[start : start + width]) for start in range(0, len(kinds), width)
    ]
    whole: list[dict[str, tuple[str, ...]]] = [{kind: values} for kind, values in WHOLE.items()]
    names = [f"t{number:02d}" for number in range(len(by_key) + len(whole))]
    total = 0
    for name, types in zip(names, [*by_key, *whole], strict=True):
        stream.execute("SET NAMES utf8mb4", *keyed_table(name, types))
        total += len(rows_of(types))
    with pair_of(stream) as pair:
        pair.catch_up(total)
        all_before = {name: pair.rows(name) for name in names}
        for name in names:
            stream.execute(f"DELETE FROM {name} WHERE v = 0")
        pair.catch_up(total + len(names))
        for name, before in all_before.items():
            pair.damage(name, partial(found_again, before))
        lines = repair(pair, *(f"{stream.database}.{name}" for name in names[: len(by_key)]))
        deletes = taken_back(stream, total + len(names))
        repair(pair)
        truncated = [each.topic for each in stream.changes() if each.op == "t"]
    assert len(lines) == len(by_key)
    assert len(deletes) == len(by_key), [each.key for each in deletes]
    prefix = f"{stream.prefix}.{stream.database}"
    assert sorted(truncated) == [f"{prefix}.{name}" for name in names[len(by_key) :]]


def test_names_of_columns_may_have_quotes(stream: Stream) -> None:
    odd = "a`b\"c'd\\"
    stream.execute(
        "CREATE TABLE t (v INT NOT NULL, id INT, `a``b\"c'd\\` INT, "
        "PRIMARY KEY (`a``b\"c'd\\`, id))",
        "INSERT INTO t VALUES (1, 1, 1), (2, 2, 2)",
    )
    with pair_of(stream) as pair:
        pair.catch_up(2)
        pair.damage("t", lambda rows: [*rows, rows[0] | {"id": 5}, rows[0] | {"id": 6}])
        lines = repair(pair)
    assert len(lines) == 2
    deletes = taken_back(stream, 2)
    assert sorted(each.key["id"] for each in deletes) == [5, 6]
    assert list(deletes[0].key) == [odd, "id"]


def test_a_text_in_another_spelling_is_taken_back_and_the_right_one_stays(
    stream: Stream,
) -> None:
    stream.execute(
        "CREATE TABLE t (id VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY, v INT NOT NULL)",
        "INSERT INTO t VALUES ('a', 1), ('b', 2), ('c\\\\', 3)",
    )
    with pair_of(stream) as pair:
        pair.catch_up(3)

        def respell(rows: list[Row]) -> list[Row]:
            upper = [row | {"id": row["id"].upper()} for row in rows]
            # The source has `a` alone, and `B` beside the mirror's `b`.
            kept = [row for row in rows if row["id"] != "a"]
            return [*kept, *(row for row in upper)]

        pair.damage("t", respell)
        lines = repair(pair)
    assert sorted(lines) == [
        '  missing {"id": "a"}, copied again and equal now',
        '  surplus {"id": "A"}, copied again and equal now',
        '  surplus {"id": "B"}, copied again and equal now',
        '  surplus {"id": "C\\\\"}, copied again and equal now',
    ]
    deletes = taken_back(stream, 3)
    assert sorted(each.key["id"] for each in deletes) == ["A", "B", "C\\"]
    assert [each.value["after"]["id"] for each in stream.changes()[3:] if each.op == "r"] == ["a"]


def changes(random_: random.Random) -> list[str]:
    """Delete rows that the mirror has too much, and insert them again."""
    place = random_.choice([random_.randrange(500), 9000 + random_.randrange(5)])
    return [
        f"DELETE FROM t WHERE id = {place}",
        *[f"INSERT INTO t VALUES ({place}, {random_.randrange(100)})"][: random_.randrange(2)],
        f"UPDATE t SET v = v + 1 WHERE id = {random_.randrange(500)}",
    ]


@full_only
def test_keys_that_come_and_go_meanwhile_end_right(stream: Stream) -> None:
    values = ",".join(f"({n}, 0)" for n in range(1000))
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)", f"INSERT INTO t VALUES {values}"
    )
    with pair_of(stream) as pair:
        pair.catch_up(1000)

        def add(rows: list[Row]) -> list[Row]:
            surplus = [rows[0] | {"id": number} for number in range(9000, 9200)]
            return [*rows, *surplus]

        pair.damage("t", add)
        with changing(pair, changes):
            repaired = pair.verify("--repair", "--patience", "120")
        assert repaired.returncode == 0, repaired.stdout + repaired.stderr
        lines = repair(pair)
    assert lines == []
    changed = stream.changes()[1000:]
    assert "t" not in {each.op for each in changed}
    copied = [each for each in changed if each.value["source"]["snapshot"] == "true"]
    # Those of which the load has not written a newer state.
    assert {each.op for each in copied} == {"d"}
    assert {each.key["id"] for each in copied} >= set(range(9005, 9200))
