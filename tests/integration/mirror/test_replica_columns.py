"""Changes of columns reach the target before the cut that needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import SourceUnavailable
from stream_jobs.replica.target import TargetSession
from tests.integration.mirror.replica_target import ReplicaTarget, replica_target
from tests.integration.mirror.test_cuts import go_on
from tests.length import FULL
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.contract import SchemaColumn
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.server]

ID = column("id", "int", key=1)


@pytest.fixture(params=["mysql_server", *(["mariadb_server"] if FULL else [])])
def target(request: pytest.FixtureRequest, job: Job) -> Iterator[ReplicaTarget]:
    yield from replica_target(job, request.getfixturevalue(request.param).endpoint)


def types(target: ReplicaTarget) -> dict[str, str]:
    """The columns at the target, in their order."""
    return dict(
        target.sql(
            "SELECT COLUMN_NAME, REPLACE(COLUMN_TYPE, 'int(11)', 'int') "
            f"FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '{target.database}' "
            "ORDER BY ORDINAL_POSITION"
        )
    )


def text(name: str, length: int = 40) -> SchemaColumn:
    return column(name, "varchar", length=length, charset="utf8mb4", collation=46)


def test_columns_are_added_dropped_and_widened(kafka: Kafka, target: ReplicaTarget) -> None:
    v, state = column("v", "int"), column("s", "enum", labels=["a", "b"], charset="latin1")
    orders = SourceTable(kafka, "orders", (ID, v, text("gone"), state)).create()
    orders.insert({"id": 1, "v": 1, "gone": "x", "s": "a"})
    target.follow(kafka)
    assert types(target) == {
        "id": "int",
        "v": "int",
        "gone": "varchar(10)",
        "s": "enum('a','b')",
    }
    default = column("with_default", "int", added_default=7)
    labels = column("s", "enum", labels=["a", "b", "c"], charset="latin1")
    wider = column("v", "bigint")
    orders = orders.alter(ID, text("new", 80), wider, labels, default)
    orders.insert({"id": 2, "new": "é", "v": 2**40, "s": "c", "with_default": 9})
    step = target.follow(kafka)
    assert types(target) == {
        "id": "int",
        "new": "varchar(20)",
        "v": "bigint" if not target.is_mariadb else "bigint(20)",
        "s": "enum('a','b','c')",
        "with_default": "int",
    }
    assert target.rows("orders") == [(1, None, 1, "a", 7), (2, "é", 2**40, "c", 9)]
    assert step is not None
    # The mirror has written all rows anew, and so does the replica.
    assert step.loaded == ["shop.orders"]
    orders = orders.alter(ID, text("new", 160), wider, labels, default, column("late", "int"))
    orders.insert({"id": 3, "new": "", "v": 0, "s": "a", "with_default": 0, "late": 1})
    step = target.follow(kafka)
    assert step is not None
    assert (step.loaded, step.inserted) == ([], 1)
    assert types(target)["new"] == "varchar(40)"
    assert target.rows("orders", "id, late") == [(1, None), (2, None), (3, 1)]


def test_a_column_that_comes_back_with_another_type_is_another_column(
    kafka: Kafka, target: ReplicaTarget
) -> None:
    orders = SourceTable(kafka, "orders", (ID, text("v"), column("w", "int"))).create()
    orders.insert({"id": 1, "v": "x", "w": 1})
    target.follow(kafka)
    # As the connector publishes it: all rows are gone, and are copied again.
    orders.truncate()
    orders.truncate(partition=1)
    orders = orders.alter(ID, column("v", "date"), column("w", "int"))
    orders.insert({"id": 1, "v": "2026-01-31", "w": 1})
    target.follow(kafka)
    assert types(target) == {"id": "int", "v": "date", "w": "int"}
    assert [(each[0], str(each[1]), each[2]) for each in target.rows("orders")] == [
        (1, "2026-01-31", 1)
    ]


def test_a_process_that_died_after_the_alter_table_goes_on(
    kafka: Kafka, job: Job, target: ReplicaTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = SourceTable(kafka, "orders", (ID, text("old"))).create()
    orders.insert({"id": 1, "old": "x"})
    target.follow(kafka)
    orders = orders.alter(ID, column("new", "int"))
    orders.insert({"id": 2, "new": 1})
    go_on(kafka)
    job.apply()
    query = TargetSession.query

    def dying(own: TargetSession, sql: str, table: object = "") -> Any:
        found = query(own, sql, table)
        if sql.startswith("ALTER TABLE"):
            own.close()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(TargetSession, "query", dying)
        with pytest.raises(SourceUnavailable):
            target.replica.apply_newest()
    assert types(target) == {"id": "int", "new": "int"}
    other = target.new()
    other.apply_newest()
    other.close()
    assert target.rows("orders") == [(1, None), (2, 1)]


def test_a_process_that_died_after_it_made_a_dropped_table_again_loads_all_rows(
    kafka: Kafka, job: Job, target: ReplicaTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = SourceTable(kafka, "orders", (ID, column("v", "int"))).create()
    orders.insert({"id": 1, "v": 1}, {"id": 2, "v": 2})
    target.follow(kafka)
    target.sql(f"DROP TABLE {target.database}.orders")
    orders.insert({"id": 3, "v": 3})
    go_on(kafka)
    job.apply()
    query = TargetSession.query

    def dying(own: TargetSession, sql: str, table: object = "") -> Any:
        found = query(own, sql, table)
        if sql.startswith(f"CREATE TABLE IF NOT EXISTS `{target.database}`"):
            own.close()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(TargetSession, "query", dying)
        with pytest.raises(SourceUnavailable):
            target.new().apply_newest()
    assert target.rows("orders") == []
    other = target.new()
    step = other.apply_newest()
    other.close()
    assert step is not None
    assert step.loaded == ["shop.orders"]
    assert target.rows("orders") == [(1, 1), (2, 2), (3, 3)]


def test_columns_that_the_target_computes_are_left_to_it(
    kafka: Kafka, target: ReplicaTarget
) -> None:
    orders = SourceTable(kafka, "orders", (ID, column("v", "int"), column("w", "int"))).create()
    target.sql(
        f"CREATE DATABASE {target.database}",
        f"CREATE TABLE {target.database}.orders (id INT AUTO_INCREMENT PRIMARY KEY, w INT AS "
        "(v + 1) STORED, v INT, mine INT DEFAULT 5)",
    )
    orders.insert({"id": 0, "v": 1, "w": 2}, {"id": -1, "v": 2, "w": 3})
    target.follow(kafka)
    assert target.rows("orders") == [(-1, 3, 2, 5), (0, 2, 1, 5)]


def test_hidden_columns_are_as_the_mirror_has_them(
    kafka: Kafka, job: Job, target: ReplicaTarget
) -> None:
    orders = SourceTable(kafka, "orders", (ID, text("a"), text("b"), text("c"))).create()
    orders.insert({"id": 1, "a": "x", "b": "y", "c": "z"})
    go_on(kafka)
    choice = {"exclude_columns": ["a"], "mask_columns": ["b"], "hash_columns": ["c"]}
    salt = {"hash_salt": "a salt of sixteen"}
    job.apply(tables=[{"match": ["*.*"], **choice}], mirror=salt)
    target.replica.apply_newest()
    ((number, masked, hashed),) = target.rows("orders")
    assert (number, masked, len(hashed)) == (1, "***", 64)
