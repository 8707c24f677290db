"""Journals: the last change of each key is compared with the row at the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.harness import wait_until_settled
from tests.integration.verification.load import changing
from tests.integration.verification.pair import pair_of
from tests.length import full_only

if TYPE_CHECKING:
    import random

    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Row

pytestmark = pytest.mark.kafka

CHOICES: list[dict[str, Any]] = [{"match": ["*.*"], "mode": "journal"}]


def damage(rows: list[Row]) -> list[Row]:
    """Break the keys 1 to 4, each in its own way."""
    left = [row for row in rows if row["id"] != 1]  # all its changes
    newest = max((row for row in left if row["id"] == 2), key=sequence)
    deletes = [row for row in left if row["id"] == 3 and row["_cdc_op"] == "d"]
    old = min((row for row in left if row["id"] == 4), key=sequence)
    left = [row for row in left if not any(row is each for each in [newest, *deletes])]
    # An older change does not count.
    return [row | {"v": "damaged"} if row is old else row for row in left]


def sequence(row: Row) -> tuple[int, int]:
    return row["_cdc_hi"], row["_cdc_lo"]


def test_the_last_change_of_a_key_is_compared_with_its_row(stream: Stream) -> None:
    names = ("t", "texts")
    for name, kind in zip(names, ("INT", "CHAR(3)"), strict=True):
        stream.execute(
            f"CREATE TABLE {name} (id {kind} PRIMARY KEY, v VARCHAR(9))",
            f"INSERT INTO {name} VALUES (9, 'gone')",
            f"TRUNCATE {name}",
            f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, NULL), (5, 'e')",
            f"UPDATE {name} SET v = '' WHERE id IN (2, 4)",
            f"DELETE FROM {name} WHERE id = 3",
            f"DELETE FROM {name} WHERE id = 5",
            f"INSERT INTO {name} VALUES (5, 'again')",
        )
    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(24)
        code, report = pair.report()
        whole = [(table["verdict"], table["rows"]) for table in report["tables"]]
        assert (code, whole) == (0, [("equal", 4)] * 2)
        pair.damage("t", damage)
        differences = pair.differences(f"{stream.database}.t")
        with pair.applying():
            repaired = pair.verify("--repair", f"{stream.database}.t")
        again = pair.verify()
    found = [(each["kind"], each["key"], each["source"], each["mirror"]) for each in differences]
    assert found == [
        ("missing", {"id": 1}, {"id": 1, "v": "a"}, None),
        ("different", {"id": 2}, {"v": ""}, {"v": "b"}),
        ("surplus", {"id": 3}, None, {"id": 3, "v": "c"}),
    ]
    assert repaired.returncode == 0, repaired.stdout + repaired.stderr
    assert again.returncode == 0, again.stdout + again.stderr


def test_what_a_journal_cannot_have_is_no_difference(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9))",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "DELETE FROM t WHERE id = 3",
        "INSERT INTO t VALUES (3, 'd')",
        "ALTER TABLE t ADD COLUMN later INT DEFAULT 5",
        "INSERT INTO t VALUES (4, 'e', 6)",
    )
    table = f"{stream.database}.t"

    def lose(rows: list[Row]) -> list[Row]:
        # Nobody knows that the journal had changes of the key 1.
        newest = max((row for row in rows if row["id"] == 3), key=sequence)
        return [row for row in rows if row["id"] != 1 and row is not newest]

    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(6)
        whole = pair.verify()
        pair.damage("t", lose)
        part = pair.verify()
        copied = pair.run("snapshot", str(pair.connector.config), table)
        # Which columns count is asked when a comparison begins: the copy has to be there by then.
        wait_until_settled(stream.broker, stream.prefix)
        pair.apply()
        equal = pair.verify()
        pair.damage("t", lambda rows: [row for row in rows if row["id"] != 1])
        missing = pair.differences()
    late = "  columns that are newer than changes in the journal, not compared: later"
    assert whole.returncode == 0
    assert whole.stdout.splitlines()[1:] == [late]
    assert part.returncode == 4
    assert part.stdout.splitlines()[1:] == [
        '  missing {"id": 3}',
        '    source: {"id": 3, "v": "d"}',
        late,
        "  rows without a change since the journal began: 1",
    ]
    assert copied.returncode == 0, copied.stdout + copied.stderr
    assert equal.returncode == 0
    assert len(equal.stdout.splitlines()) == 1, equal.stdout
    found = [(each["kind"], each["source"]) for each in missing]
    assert found == [("missing", {"id": 1, "v": "a", "later": 5})]


def changes(random_: random.Random) -> list[str]:
    """Change rows, of which some are deleted and inserted again."""
    place = random_.choice([random_.randrange(500), random_.randrange(5)])
    return [
        f"DELETE FROM t WHERE id = {place}",
        f"INSERT INTO t VALUES ({place}, {random_.randrange(100)})",
        f"UPDATE t SET v = v + 1 WHERE id = {random_.randrange(500)}",
    ]


@full_only
def test_under_load_no_difference_is_invented_and_none_is_overlooked(stream: Stream) -> None:
    values = ",".join(f"({n}, 0)" for n in range(1000))
    stream.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 0)",
        "TRUNCATE t",
        f"INSERT INTO t VALUES {values}",
    )
    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(1002)
        pair.damage("t", lambda rows: [row for row in rows if row["id"] not in (700, 800)])
        with changing(pair, changes):
            found = [pair.differences("--patience", "120") for _ in range(10)]
    kinds = {(each["key"]["id"], each["kind"]) for some in found for each in some}
    assert kinds == {(700, "missing"), (800, "missing")}
