"""Many small tables: compared together, and as strictly as each of them alone."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from local_stack import connect
from tests.integration.verification.load import changing
from tests.integration.verification.pair import pair_of
from tests.length import full_only

if TYPE_CHECKING:
    import random

    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Pair, Row

pytestmark = pytest.mark.kafka

TABLES = 22
ROWS = 3
COLUMNS = "(id INT PRIMARY KEY, name VARCHAR(9), price DECIMAL(6,2))"
# Tables of other kinds, and whether a checksum proves them.
KINDS = {
    "unique_name": ("(id INT PRIMARY KEY, name VARCHAR(9), price INT, UNIQUE (name))", True),
    "text_key": ("(id VARCHAR(9) PRIMARY KEY, name VARCHAR(9), price INT)", True),
    "long_key": ("(id INT, name VARCHAR(9), price INT, PRIMARY KEY (name, id))", True),
    "doubles": ("(id INT PRIMARY KEY, name VARCHAR(9), price DOUBLE)", False),
    "no_key": ("(id INT, name VARCHAR(9), price INT)", False),
}


def fill(stream: Stream, names: list[str]) -> int:
    """Create tables; return how many changes they have."""
    count = 0
    for name in names:
        columns = KINDS.get(name, (COLUMNS, True))[0]
        stream.execute(
            f"CREATE TABLE {name} {columns}",
            f"INSERT INTO {name} VALUES (1, 'a', 1), (2, '', 2), (3, NULL, 3)"
            if name not in {"long_key", "unique_name"}
            else f"INSERT INTO {name} VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)",
        )
        count += ROWS
    return count


NAMES = [f"t{number:02d}" for number in range(TABLES)]


def selects(stream: Stream) -> int:
    """Return how many SELECTs the source has run."""
    with closing(connect(stream.source)) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Com_select'")
        return int((cursor.fetchone() or ("", 0))[1])


def by_name(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {table["table"].partition(".")[2]: table for table in report["tables"]}


def test_few_statements_prove_all_tables_of_every_kind(stream: Stream) -> None:
    choices = [{"match": ["*.no_key"], "mode": "rows"}]
    with pair_of(stream, choices) as pair:
        pair.catch_up(fill(stream, [*NAMES, *KINDS]))
        before = selects(stream)
        code, report = pair.report(f"{stream.database}.t[0-9]*")
        asked = selects(stream) - before
        code_of_all, every = pair.report()
        shown = pair.verify()
    assert (code, len(report["tables"])) == (0, TABLES)
    # One table after the other needed more than ten for each.
    assert asked < TABLES
    assert code_of_all == 0, every
    found = by_name(every)
    assert {name: table["rows"] for name, table in found.items()} == dict.fromkeys(found, ROWS)
    by_checksum = {name: table["rows_by_checksum"] for name, table in found.items()}
    assert by_checksum == {name: ROWS if KINDS.get(name, ("", True))[1] else 0 for name in found}
    names = [table["table"] for table in every["tables"]]
    assert names == sorted(names)
    equal = f"{len(found)} tables: {len(found)} equal; {len(found) * ROWS} rows"
    moment = every["summary"]["equal_through"]
    assert {table["equal_through"]["transactions"] for table in found.values()} >= {
        moment["transactions"]
    }
    summary, _, proven = shown.stdout.partition("; all equal through ")
    assert proven.partition(" ")[0] > moment["time"][:19]
    assert [summary, *proven.splitlines()[1:]] == [
        equal,
        f"{len(found)} tables are not listed: --all lists them",
    ]


def damage(rows: list[Row]) -> list[Row]:
    rows[0]["price"] += 1
    return [*rows[:2], rows[2] | {"id": 9}]


def test_what_is_wrong_in_a_few_of_many_is_found_and_repaired(stream: Stream) -> None:
    wrong = ["t03", "t17", "doubles"]
    with pair_of(stream) as pair:
        pair.catch_up(fill(stream, [*NAMES, "doubles"]))
        for name in wrong:
            pair.damage(name, damage)
        code, report = pair.report()
        found = {
            name: sorted((each["kind"], each["key"]["id"]) for each in table["differences"])
            for name, table in by_name(report).items()
            if table["verdict"] != "equal"
        }
        lines = pair.verify("--no-values").stdout.splitlines()
        with pair.applying():
            repaired = pair.verify("--repair", "--json", *(f"*.{name}" for name in wrong))
        healed = pair.report()
    assert code == 4
    expected = [("different", 1), ("missing", 3), ("surplus", 9)]
    assert found == dict.fromkeys(wrong, expected)
    heads = [line for line in lines if not line.startswith(" ")]
    assert [line.partition(":")[0].partition(".")[2] for line in heads[:3]] == sorted(wrong)
    assert (
        heads[3]
        == f"{TABLES + 1} tables: 3 different, {TABLES - 2} equal; {ROWS * (TABLES + 1)} rows"
    )
    assert [len(table["repaired"]) for table in json.loads(repaired.stdout)["tables"]] == [3] * 3
    assert (healed[0], healed[1]["summary"]["equal"]) == (0, TABLES + 1)


@full_only
def test_tables_that_change_all_the_time_are_equal_and_damage_among_them_is_found(
    stream: Stream,
) -> None:
    def change(random_: random.Random) -> list[str]:
        # A change of the row that is lost would bring it back.
        name, key = random_.choice(NAMES), random_.choice((1, 3))
        return [f"UPDATE {name} SET price = {random_.randrange(1000)} WHERE id = {key}"]

    with pair_of(stream) as pair:
        pair.catch_up(fill(stream, NAMES))
        with changing(pair, change):
            code, report = pair.report()
        assert (code, report["summary"]["equal"]) == (0, TABLES), report
        pair.apply()
        lose_a_row(pair, "t11")
        with changing(pair, change):
            differences = pair.report()[1]
    wrong = [table for table in differences["tables"] if table["verdict"] != "equal"]
    assert [(table["table"].partition(".")[2], table["verdict"]) for table in wrong] == [
        ("t11", "different")
    ]


def lose_a_row(pair: Pair, table: str) -> None:
    def without(rows: list[Row]) -> list[Row]:
        return [row for row in rows if row["id"] != 2]

    pair.damage(table, without)
