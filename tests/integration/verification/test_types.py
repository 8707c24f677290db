"""Every column type: equal if it is, and each value that is one step off is found, and no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.verification.pair import near, pair_of
from tests.length import FULL
from verification.report import EXIT_EQUAL

if TYPE_CHECKING:
    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Pair, Row

pytestmark = pytest.mark.kafka

TYPES = {
    "TINYINT": "-128",
    "TINYINT UNSIGNED": "254",
    "SMALLINT": "-1",
    "MEDIUMINT UNSIGNED": "16777214",
    "INT UNSIGNED": "4294967294",
    "BIGINT": "9223372036854775806",
    "BIGINT UNSIGNED": "18446744073709551614",
    "DECIMAL(30,4)": "-12345678901234567890.1234",
    "DECIMAL(65,30)": "12345678901234567890.5",
    "FLOAT": "0.1",
    "DOUBLE": "-0e0",
    "BIT(1)": "b'1'",
    "BIT(64)": "18446744073709551614",
    "CHAR(5)": "'a b'",
    "VARCHAR(20) CHARACTER SET latin1": "'Grüße €'",
    "VARCHAR(20) CHARACTER SET utf16": "'日本'",
    "TEXT CHARACTER SET utf8mb4": "'🐬 \\\\ \" \\n'",
    "ENUM('small','large')": "'large'",
    "SET('a','b','c')": "'a,c'",
    "BINARY(4)": "X'00FF00'",
    "VARBINARY(9)": "X'00FF0A'",
    "BLOB": "X'7B0A00'",
    "DATE": "'1000-01-01'",
    "DATETIME(6)": "'9999-12-31 23:59:59.999998'",
    "DATETIME": "'1582-10-10 00:00:00'",
    "TIMESTAMP(3)": "'2038-01-19 03:14:06.999'",
    "TIME(6)": "'-838:59:58.999999'",
    "YEAR": "2154",
    "JSON": """'{"b": [1.0, null], "a": "é"}'""",
    "GEOMETRY": "ST_GeomFromText('POINT(1 2)')",
}
COLUMNS = {f"c{number}": literal for number, literal in enumerate(TYPES.values())}
EMPTY = [f"c{number}" for number, kind in enumerate(TYPES) if kind.startswith(("VARCH", "VARB"))]


def fill_every(stream: Stream) -> int:
    """Make a table with each type: rows to break, one of NULLs, and some with an empty value.

    Return how many rows it has.
    """
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(TYPES))
    values = ", ".join(COLUMNS.values())
    nothing = ", ".join(["NULL"] * len(COLUMNS))
    count = len(COLUMNS)
    rows = [f"({place}, {values})" for place in range(2 * count)]
    stream.execute(
        f"CREATE TABLE every (id INT PRIMARY KEY, {columns})",
        "SET NAMES utf8mb4",
        f"INSERT INTO every VALUES {', '.join(rows)}, (900, {nothing})",
        *(
            f"INSERT INTO every (id, {name}) VALUES ({800 + place}, '')"
            for place, name in enumerate(EMPTY)
        ),
    )
    return 2 * count + 1 + len(EMPTY)


def see_every_equal(pair: Pair, total: int) -> None:
    """Bring the table to the other side, and compare it."""
    pair.catch_up(total)
    name = f"{pair.stream.database}.every"
    done = pair.verify(name)
    assert (done.returncode, done.stderr) == (EXIT_EQUAL, ""), done.stdout
    assert done.stdout.startswith(f"{name}: equal: {total} rows at ")


def changed_columns() -> dict[int, list[str]]:
    """Which columns differ by key: one step off, then NULL, then NULL for an empty value."""
    count = len(COLUMNS)
    steps = {place: [f"c{place}"] for place in range(count)}
    nulls = {count + place: [f"c{place}"] for place in range(count)}
    return steps | nulls | {800 + place: [name] for place, name in enumerate(EMPTY)}


def test_each_value_that_is_one_step_off_is_found_and_no_other(either_stream: Stream) -> None:
    stream, count = either_stream, len(COLUMNS)
    total = fill_every(stream)
    with pair_of(stream) as pair:
        see_every_equal(pair, total)

        def damage(rows: list[Row]) -> list[Row]:
            for row in rows:
                place = row["id"]
                if place < count:
                    name = f"c{place}"
                    row[name] = near(row[name], kinds[name])
                elif place < 2 * count:
                    row[f"c{place - count}"] = None
                elif place < 900:
                    row[EMPTY[place - 800]] = None
            return rows

        kinds = pair.kinds("every")
        pair.damage("every", damage)
        found = pair.differences()
    changed = {each["key"]["id"]: list(each["source"]) for each in found}
    assert changed == changed_columns()
    assert {each["kind"] for each in found} == {"different"}


KEYS = {
    "BIGINT UNSIGNED": "18446744073709551614",
    "DECIMAL(10,3)": "-1.250",
    "BIT(20)": "77",
    "DATETIME(3)": "'2026-01-31 08:15:00.250'",
    "TIMESTAMP(2)": "'2026-01-31 08:15:00.25'",
    "DATE": "'2026-01-31'",
    "TIME(1)": "'-01:02:03.5'",
    "YEAR": "2026",
    "DOUBLE": "0.1",
    "FLOAT": "0.1",
    "ENUM('z','y')": "'y'",
    "SET('d','c')": "'d,c'",
    "CHAR(9) CHARACTER SET latin1": "'é''\\\\'",
    "VARCHAR(9) CHARACTER SET utf8mb4": "'日🐬'",
    "BINARY(4)": "X'0102'",
    "VARBINARY(9)": "X'00FF27'",
}


def test_a_row_is_found_by_a_key_of_each_type(either_stream: Stream) -> None:
    stream = either_stream
    stream.execute("SET NAMES utf8mb4")
    for number, (kind, literal) in enumerate(KEYS.items()):
        stream.execute(
            f"CREATE TABLE k{number:02} (k {kind} NOT NULL PRIMARY KEY, v INT)",
            f"INSERT INTO k{number:02} VALUES ({literal}, 1)",
        )
    with pair_of(stream) as pair:
        pair.catch_up(len(KEYS))
        for number in range(len(KEYS)):
            pair.damage(f"k{number:02}", lambda rows: [row | {"v": 2} for row in rows])
        code, report = pair.report()
        if FULL:
            with pair.applying():
                done = pair.verify("--repair")
            assert done.returncode == 0, done.stdout
    found = [[each["kind"] for each in table["differences"]] for table in report["tables"]]
    assert (code, found) == (4, [["different"]] * len(KEYS))
