"""Tables without a key: each row is as often in the mirror as at the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.foundation.errors.texts import shown
from tests.integration.verification.load import changing
from tests.integration.verification.pair import pair_of
from tests.length import FULL, full_only
from verification import verify_errors

if TYPE_CHECKING:
    import random

    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Row

pytestmark = pytest.mark.kafka

CHOICES: list[dict[str, Any]] = [
    {"match": ["*.*"], "mode": "rows", "hash_columns": ["mail"], "mask_columns": ["note"]}
]
COLUMNS = "a INT, b VARCHAR(9), f FLOAT, j JSON, g GEOMETRY, mail VARCHAR(9), note VARCHAR(9)"
POINT = "ST_GeomFromText('POINT(1 2)')"


def test_rows_that_one_side_has_more_often_are_named_and_repaired(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute(f"CREATE TABLE t ({COLUMNS})", "CREATE TABLE nothing (a INT)")
    twice = f"(1, 'x', 0.1, '[1.0]', {POINT}, NULL, 'secret')"
    stream.transaction(
        f"INSERT INTO t VALUES {twice}, {twice}",
        "INSERT INTO t (a, b) VALUES (2, ''), (2, ''), (NULL, NULL), (NULL, NULL), (3, 'c')",
        "UPDATE t SET b = NULL WHERE a = 2 LIMIT 1",
        "DELETE FROM t WHERE a IS NULL LIMIT 1",
    )
    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(9)
        code, report = pair.report()
        found = [(table["verdict"], table["rows"]) for table in report["tables"]]
        assert (code, found) == (0, [("equal", 0), ("equal", 6)])

        def damage(rows: list[Row]) -> list[Row]:
            first = next(row for row in rows if row["a"] == 1)
            left = [row for row in rows if row["a"] != 3]
            changed = [row | {"b": None} if row["b"] == "" else row for row in left]
            return [*changed, dict(first)]

        pair.damage("t", damage)
        table = f"{stream.database}.t"
        differences = {
            (each["kind"], values["a"], values["b"], *each["counts"].values())
            for each in pair.differences(table)
            for values in (each["source"] or each["mirror"],)
        }
        hidden = pair.verify("--no-values", "--max-differences", "2", table)
        with pair.applying():
            repaired = pair.verify("--repair", table)
    assert differences == {
        ("missing", 3, "c", 1, 0),
        ("missing", 2, "", 1, 0),
        ("surplus", 2, None, 1, 2),
        ("surplus", 1, "x", 2, 3),
    }
    assert hidden.returncode == 4
    assert hidden.stdout.startswith(f"{table}: different: 2 or more of 6 rows at ")
    assert "secret" not in hidden.stdout
    assert '"a": 1,' not in hidden.stdout
    assert repaired.returncode == 0, repaired.stdout + repaired.stderr
    lines = repaired.stdout.splitlines()
    assert lines[0].startswith(f"{table}: equal: 6 rows at ")
    ended = ", copied again and equal now"
    assert f"  surplus row: 2 at the source, 3 in the mirror{ended}" in lines
    assert f"  missing row: 1 at the source, 0 in the mirror{ended}" in lines


def test_without_a_moment_or_without_a_mirror_a_table_is_not_compared(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE myisam (a INT) ENGINE = MyISAM",
        "CREATE TABLE plain (a INT)",
        "CREATE TABLE late (a INT)",
        "CREATE TABLE keyed (a INT)",
        *(f"INSERT INTO {name} VALUES (1)" for name in ("myisam", "plain", "keyed")),
    )
    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(3)
        stream.execute("INSERT INTO late VALUES (1)", "ALTER TABLE keyed ADD PRIMARY KEY (a)")
        _, report = pair.report()
        sample = pair.report("--sample", "10", f"{stream.database}.plain")[1]["tables"][0]
    found = {table["table"].split(".")[1]: table for table in report["tables"]}
    said = {name: (table["verdict"], table["error"]) for name, table in found.items()}
    names = {name: f"{stream.database}.{name}" for name in found}
    path = str(stream.directory / "mirror")
    assert said == {
        "myisam": ("not compared", shown(verify_errors.NO_MOMENT, table=names["myisam"])),
        "plain": ("equal", None),
        "late": ("not finished", shown(verify_errors.NO_MIRROR, table=names["late"], path=path)),
        "keyed": ("not compared", shown(verify_errors.MODE, table=names["keyed"], mode="rows")),
    }
    no_ranges = shown(verify_errors.NO_RANGES, table=names["plain"])
    assert (sample["verdict"], sample["error"]) == ("not compared", no_ranges)


def changes(random_: random.Random) -> list[str]:
    """Change rows, of which few are different."""
    value, other = random_.randrange(20), random_.randrange(20)
    return [
        f"INSERT INTO t VALUES ({value}, NULL), ({value}, NULL)",
        f"DELETE FROM t WHERE a = {other} LIMIT 1",
        f"UPDATE t SET a = {value} WHERE a < 20 LIMIT 1",
    ]


@full_only
@pytest.mark.parametrize("rounds", [10 if FULL else 2])
def test_under_load_no_count_is_invented_and_none_is_overlooked(
    either_stream: Stream, rounds: int
) -> None:
    stream = either_stream
    values = ",".join(f"({n % 40}, NULL)" for n in range(2000))
    stream.execute("CREATE TABLE t (a INT, b INT)", f"INSERT INTO t VALUES {values}")
    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(2000)
        with changing(pair, changes):
            for _ in range(rounds):
                done = pair.verify("--patience", "120")
                assert done.returncode == 0, done.stdout + done.stderr
        while pair.verify("--patience", "0").returncode:
            pair.apply()
        # Rows that change all the time, and one that does not; a row that is nowhere else.
        pair.damage("t", lose_one_and_add_two)
        with changing(pair, changes):
            found = pair.differences("--patience", "120")
    more = {
        (values["a"], values["b"]): each["counts"]["mirror"] - each["counts"]["source"]
        for each in found
        for values in (each["source"] or each["mirror"],)
    }
    assert more == {(3, None): -1, (5, None): 1, (30, None): -1, (31, 1): 1}


def lose_one_and_add_two(rows: list[Row]) -> list[Row]:
    by_value = {row["a"]: row for row in rows}
    lost = [by_value[3], by_value[30]]
    left = [row for row in rows if not any(row is each for each in lost)]
    return [*left, dict(by_value[5]), by_value[31] | {"b": 1}]


@pytest.mark.skipif(not FULL, reason="takes half a minute")
def test_a_table_that_is_emptied_all_the_time_is_not_finished(stream: Stream) -> None:
    stream.execute("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(1)
        with changing(pair, lambda _: ["TRUNCATE t", "INSERT INTO t VALUES (1)"]):
            code, report = pair.report("--patience", "60")
    (table,) = report["tables"]
    assert (code, table["verdict"], table["unsettled"]) == (1, "not finished", 1)
