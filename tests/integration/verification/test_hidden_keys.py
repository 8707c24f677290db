"""Tables whose keys are hashed in the mirror."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.foundation.errors.texts import shown
from tests.integration.harness import wait_until_settled
from tests.integration.verification.load import changing
from tests.integration.verification.pair import pair_of
from tests.integration.verification.replica_pair import replica_pair_of
from tests.length import FULL, full_only
from verification import verify_errors

if TYPE_CHECKING:
    import random

    from local_stack import Server
    from tests.integration.database_stream import Stream
    from tests.integration.verification.pair import Row

pytestmark = pytest.mark.kafka

CHOICES: list[dict[str, Any]] = [{"match": ["*.*"], "hash_columns": ["mail"]}]


def hashed(value: str) -> str:
    return hashlib.sha256(f"a salt of sixteen{value}".encode()).hexdigest()


def test_a_row_is_named_by_the_key_of_the_source_or_by_its_hash(stream: Stream) -> None:
    stream.execute(
        "CREATE TABLE t (mail VARCHAR(20), id INT, v INT, PRIMARY KEY (mail, id))",
        "INSERT INTO t VALUES ('a@b', 1, 1), ('c''d', 2, 2), ('e', 3, 3)",
    )
    table = f"{stream.database}.t"

    def damage(rows: list[Row]) -> list[Row]:
        left = [row for row in rows if row["id"] != 1]
        changed = [row | {"v": 7} if row["id"] == 2 else row for row in left]
        return [*changed, changed[-1] | {"mail": hashed("x"), "id": 9}]

    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(3)
        equal = pair.verify()
        pair.damage("t", damage)
        differences = pair.differences()
        hidden = pair.verify("--no-values")
        pair.damage("t", lambda rows: [row for row in rows if row["id"] != 9])
        with pair.applying():
            by_key = pair.verify("--repair")
        pair.damage("t", damage)
        with pair.applying():
            repaired = pair.verify("--repair")
        copied = [each.value["after"]["id"] for each in stream.changes()[3:] if each.value["after"]]
    assert equal.stdout.startswith(f"{table}: equal: 3 rows at "), equal.stdout + equal.stderr
    named = {each["kind"]: (each["key"], each["source"], each["mirror"]) for each in differences}
    assert named == {
        "missing": ({"mail": "a@b", "id": 1}, {"mail": hashed("a@b"), "id": 1, "v": 1}, None),
        "different": ({"mail": "c'd", "id": 2}, {"v": 2}, {"v": 7}),
        "surplus": (
            {"mail": hashed("x"), "id": 9},
            None,
            {"mail": hashed("x"), "id": 9, "v": named["surplus"][2]["v"]},
        ),
    }
    assert f'  missing {{"mail": "{hashed("a@b")}", "id": 1}}' in hidden.stdout.splitlines()
    assert "a@b" not in hidden.stdout
    assert by_key.returncode == 0, by_key.stdout + by_key.stderr
    assert sorted(copied[:2]) == [1, 2]
    assert repaired.returncode == 0, repaired.stdout + repaired.stderr
    assert sorted(copied[2:]) == [1, 2, 3]


def test_a_replica_with_hashed_keys_is_not_compared(stream: Stream, mysql_server: Server) -> None:
    stream.execute("CREATE TABLE t (mail VARCHAR(9) PRIMARY KEY)", "INSERT INTO t VALUES ('a')")
    with replica_pair_of(stream, mysql_server.endpoint, CHOICES) as pair:
        stream.wait_for_changes(1, pair.connector)
        wait_until_settled(stream.broker, stream.prefix)
        pair.mirror()
        done = pair.verify()
    table = f"{stream.database}.t"
    hidden = shown(verify_errors.HIDDEN_KEY, table=table, columns=["mail"])
    assert (done.returncode, done.stdout) == (2, f"{table}: not compared: {hidden}\n")


def changes(random_: random.Random) -> list[str]:
    """Change rows, of which some are deleted and inserted again."""
    place = random_.choice([random_.randrange(500), random_.randrange(5)])
    return [
        f"DELETE FROM t WHERE mail = '{place}'",
        *[f"INSERT INTO t VALUES ('{place}', 7)"][: random_.randrange(10)],
        f"UPDATE t SET v = v + 1 WHERE mail = '{random_.randrange(500)}'",
    ]


@full_only
@pytest.mark.parametrize("rounds", [10 if FULL else 1])
def test_under_load_no_difference_is_invented_and_none_is_overlooked(
    stream: Stream, rounds: int
) -> None:
    values = ",".join(f"('{n}', 0)" for n in range(1000))
    stream.execute(
        "CREATE TABLE t (mail VARCHAR(9) PRIMARY KEY, v INT)", f"INSERT INTO t VALUES {values}"
    )

    def damage(rows: list[Row]) -> list[Row]:
        by_hash = {row["mail"]: row for row in rows}
        del by_hash[hashed("700")]
        return [*by_hash.values(), by_hash[hashed("800")] | {"mail": hashed("new")}]

    with pair_of(stream, CHOICES) as pair:
        pair.catch_up(1000)
        pair.damage("t", damage)
        with changing(pair, changes):
            found = [pair.differences("--patience", "120") for _ in range(rounds)]
    kinds = {(each["key"]["mail"], each["kind"]) for some in found for each in some}
    assert kinds == {("700", "missing"), (hashed("new"), "surplus")}
