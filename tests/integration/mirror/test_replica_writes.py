"""What the replica does not write: rows that are there already. And what it writes at once."""

from __future__ import annotations

import multiprocessing
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.errors import MirrorError
from stream_jobs.replica.replica import Replica
from stream_jobs.replica.target import TargetSession
from tests.integration.mirror.replica_target import ReplicaTarget, replica_target
from tests.integration.mirror.test_cuts import cuts, go_on
from tests.length import FULL
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.server]

ID = column("id", "int", key=1)
COLUMNS = (ID, column("amount", "int"))
# More rows than are deleted by their keys.
MANY = 1200
TABLES = [f"t{number}" for number in range(6)]


@pytest.fixture(params=["mysql_server", *(["mariadb_server"] if FULL else [])])
def target(request: pytest.FixtureRequest, job: Job) -> Iterator[ReplicaTarget]:
    yield from replica_target(job, request.getfixturevalue(request.param).endpoint)


def row(number: int, amount: int) -> dict[str, int]:
    return {"id": number, "amount": amount}


def watched(target: ReplicaTarget, more: str = "") -> None:
    """Make a table whose rows say whether they were written again."""
    target.sql(
        f"CREATE DATABASE {target.database}",
        f"CREATE TABLE {target.database}.orders (id INT PRIMARY KEY, amount INT, written "
        f"TIMESTAMP(6) NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(6), mine INT DEFAULT 5{more})",
    )


def written(target: ReplicaTarget) -> list[int]:
    """The rows that were written again since they were inserted."""
    return [number for number, at in target.rows("orders", "id, written") if at is not None]


def test_rows_that_a_copy_brings_again_are_written_only_if_they_differ(
    kafka: Kafka, target: ReplicaTarget
) -> None:
    watched(target)
    orders = SourceTable(kafka, "orders", COLUMNS).create()
    orders.insert(row(1, 10), row(2, 20), row(3, 30), row(4, 40))
    target.follow(kafka)
    target.sql(
        f"UPDATE {target.database}.orders SET mine = 6, written = NULL WHERE id = 2",
        # Behind the back of the replica: the copy repairs them.
        f"UPDATE {target.database}.orders SET amount = 31, written = NULL WHERE id = 3",
        f"DELETE FROM {target.database}.orders WHERE id = 4",
    )
    with kafka.transaction():
        for number in (1, 2, 3, 4):
            orders.send("r", None, row(number, 10 * number))
    step = target.follow(kafka)
    assert step is not None
    assert (step.loaded, step.deleted, step.inserted) == ([], 0, 4)
    assert written(target) == [3]
    assert target.rows("orders", "id, amount, mine") == [
        (1, 10, 5), (2, 20, 6), (3, 30, 5), (4, 40, 5)
    ]  # fmt: skip
    orders.update(row(1, 10), row(1, 11))
    step = target.follow(kafka)
    assert step is not None
    assert (step.deleted, step.inserted) == (0, 1)
    assert written(target) == [1, 3]


def test_a_copy_of_a_whole_table_writes_what_differs(kafka: Kafka, target: ReplicaTarget) -> None:
    watched(target)
    orders = SourceTable(kafka, "orders", COLUMNS).create()
    orders.insert(*(row(number, 0) for number in range(MANY)))
    target.follow(kafka)
    copy(orders, {7: 1})
    step = target.follow(kafka)
    assert step is not None
    assert step.loaded == ["shop.orders"]
    assert written(target) == [7]
    # A row that the source does not have: the table is written again.
    target.sql(
        f"DELETE FROM {target.database}.orders WHERE id = 3",
        f"INSERT INTO {target.database}.orders (id, amount) VALUES (-1, 0), (-2, 0)",
    )
    copy(orders, {})
    target.follow(kafka)
    assert target.rows("orders", "id, amount") == [(number, 0) for number in range(MANY)]
    target.sql(
        f"DELETE FROM {target.database}.orders WHERE id = 3",
        f"INSERT INTO {target.database}.orders (id, amount) VALUES (-1, 0)",
    )
    # As many rows as the source has, and not the same.
    copy(orders, {})
    target.follow(kafka)
    assert target.rows("orders", "id, amount") == [(number, 0) for number in range(MANY)]


def copy(orders: SourceTable, other: dict[int, int]) -> None:
    """Publish all rows again, as after `snapshot`, some with other amounts."""
    orders.truncate()
    orders.truncate(partition=1)
    with orders.kafka.transaction():
        for number in range(MANY):
            orders.send("r", None, row(number, other.get(number, 0)))


def test_with_another_unique_key_rows_that_come_again_are_deleted_first(
    kafka: Kafka, target: ReplicaTarget
) -> None:
    watched(target, ", UNIQUE (amount)")
    orders = SourceTable(kafka, "orders", COLUMNS).create()
    orders.insert(row(1, 10), row(2, 20))
    target.follow(kafka)
    with kafka.transaction():
        orders.send("u", row(1, 10), row(1, 0))
        orders.send("u", row(2, 20), row(2, 10))
        orders.send("u", row(1, 0), row(1, 20))
    step = target.follow(kafka)
    assert step is not None
    assert (step.deleted, step.inserted) == (2, 2)
    assert target.rows("orders", "id, amount") == [(1, 20), (2, 10)]


def test_values_of_enum_without_a_label_come_again(kafka: Kafka, target: ReplicaTarget) -> None:
    label = column("e", "enum", labels=["a"], charset="latin1", nullable=False)
    orders = SourceTable(kafka, "orders", (ID, label)).create()
    orders.insert({"id": 1, "e": "a"}, {"id": 2, "e": ""})
    target.follow(kafka)
    with kafka.transaction():
        for number, text in ((1, ""), (2, "")):
            orders.send("r", None, {"id": number, "e": text})
    target.follow(kafka)
    assert target.rows("orders", "id, e + 0") == [(1, 0), (2, 0)]


def test_another_primary_key_is_followed(kafka: Kafka, target: ReplicaTarget) -> None:
    orders = SourceTable(kafka, "orders", (ID, column("part", "int"))).create()
    orders.insert({"id": 1, "part": 7}, {"id": 2, "part": 7})
    target.follow(kafka)
    orders = with_key(orders, ID, column("part", "int", key=2))
    orders.insert({"id": 1, "part": 7}, {"id": 1, "part": 8})
    target.follow(kafka)
    assert key_of(target) == ["id", "part"]
    assert target.rows("orders") == [(1, 7), (1, 8)]
    # The old rows have no such key: id 1 is there twice.
    orders = with_key(orders, ID, column("more", "int"))
    orders.insert({"id": 3, "more": 9})
    step = target.follow(kafka)
    assert key_of(target) == ["id"]
    assert target.rows("orders") == [(3, 9)]
    assert step is not None
    assert step.loaded == ["shop.orders"]


def test_a_process_that_died_after_it_changed_the_primary_key_goes_on(
    kafka: Kafka, job: Job, target: ReplicaTarget
) -> None:
    orders = SourceTable(kafka, "orders", (ID, column("part", "int"))).create()
    orders.insert({"id": 1, "part": 7}, {"id": 2, "part": 7})
    target.follow(kafka)
    target.replica.close()
    orders = with_key(orders, column("id", "int"), column("part", "int", key=1))
    orders.insert({"id": 5, "part": 1})
    go_on(kafka)
    job.apply()
    # ALTER TABLE, which fails, DELETE, ALTER TABLE, and the INSERT.
    for statement in ("DELETE", "ALTER", "INSERT INTO `t"):
        run_and_die(target.settings(), statement, after=1)
    other = target.new()
    other.apply_newest()
    other.close()
    assert key_of(target) == ["part"]
    assert target.rows("orders") == [(5, 1)]


def test_a_process_that_was_replaced_deletes_no_rows_of_an_old_key(
    kafka: Kafka, job: Job, target: ReplicaTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = SourceTable(kafka, "orders", (ID, column("part", "int"))).create()
    orders.insert({"id": 1, "part": 7}, {"id": 2, "part": 7})
    target.follow(kafka)
    orders = with_key(orders, column("id", "int"), column("part", "int", key=1))
    orders.insert({"id": 5, "part": 1})
    go_on(kafka)
    job.apply()
    query, newer = TargetSession.query, target.new()

    def replaced(own: TargetSession, sql: str, table: object = "") -> Any:
        try:
            return query(own, sql, table)
        except MirrorError:
            # The old rows do not fit the new key.
            monkeypatch.undo()
            newer.apply_newest()
            raise

    monkeypatch.setattr(TargetSession, "query", replaced)
    with pytest.raises(MirrorError, match="M905"):
        target.replica.apply_newest()
    newer.close()
    assert target.rows("orders") == [(5, 1)]


def with_key(orders: SourceTable, *columns: Any) -> SourceTable:
    """Change the columns, as a connector publishes it: all rows are gone, and are copied again."""
    orders.truncate()
    orders.truncate(partition=1)
    return orders.alter(*columns)


def key_of(target: ReplicaTarget) -> list[str]:
    found = target.sql(
        "SELECT COLUMN_NAME FROM information_schema.STATISTICS WHERE INDEX_NAME = 'PRIMARY' "
        f"AND TABLE_SCHEMA = '{target.database}' ORDER BY SEQ_IN_INDEX"
    )
    return [name for (name,) in found]


def fill(kafka: Kafka, job: Job) -> None:
    """Make tables, each with as many rows as its number says."""
    for number, name in enumerate(TABLES):
        table = SourceTable(kafka, name, COLUMNS).create()
        table.insert(*(row(place, 0) for place in range(number + 1)))
    go_on(kafka)
    job.apply()


def test_the_first_load_writes_several_tables_at_once(
    kafka: Kafka, job: Job, target: ReplicaTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(kafka, job)
    # Three transactions are open at a time, or nobody passes.
    together = threading.Barrier(3, timeout=60)
    query = TargetSession.query

    def meeting(own: TargetSession, sql: str, table: object = "") -> Any:
        if sql.startswith("INSERT INTO `t"):
            together.wait()
        return query(own, sql, table)

    with monkeypatch.context() as patched:
        patched.setattr(TargetSession, "query", meeting)
        step = target.new(connections=3).apply_newest()
    assert step is not None
    assert (sorted(step.loaded), step.inserted) == ([f"shop.{name}" for name in TABLES], 21)
    assert [len(target.rows(name)) for name in TABLES] == [1, 2, 3, 4, 5, 6]
    newest = cuts(job)[-1]
    assert target.marker == (newest.number, newest.seq)


def test_a_first_load_that_is_killed_anywhere_goes_on_with_the_tables_that_are_left(
    kafka: Kafka, job: Job, target: ReplicaTarget
) -> None:
    fill(kafka, job)
    found = 0
    # The first COMMIT is that of the claim, the second one that of a table.
    for number in (1, 2, 2, 2):
        run_and_die(target.settings(connections=3), "COMMIT", after=number)
        marked = target.sql(
            f"SELECT name FROM _cdc.replica_tables WHERE replica = '{target.prefix}' "
            "AND version IS NOT NULL"
        )
        whole = {name for name in TABLES if rows_of(target, name)}
        # Rows and their mark, or neither; and no cut before all tables are there.
        assert {f"shop.{name}" for name in whole} == {name for (name,) in marked}
        assert all(rows_of(target, name) == TABLES.index(name) + 1 for name in whole)
        assert target.marker == (None, None)
        assert len(whole) >= found + number - 1
        found = len(whole)
        if found == len(TABLES):
            break
    step = target.replica.apply_newest()
    assert step is not None
    assert len(step.loaded) == len(TABLES) - found
    assert [rows_of(target, name) for name in TABLES] == [1, 2, 3, 4, 5, 6]
    newest = cuts(job)[-1]
    assert target.marker == (newest.number, newest.seq)


def test_a_first_load_of_a_process_that_was_replaced_writes_nothing(
    kafka: Kafka, job: Job, target: ReplicaTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(kafka, job)
    query, newer = TargetSession.query, target.new()

    def replaced(own: TargetSession, sql: str, table: object = "") -> Any:
        if sql.endswith("LOCK IN SHARE MODE"):
            # Before the first table is loaded, and once.
            monkeypatch.undo()
            newer.apply_newest()
        return query(own, sql, table)

    monkeypatch.setattr(TargetSession, "query", replaced)
    older = target.new(connections=1)
    with pytest.raises(MirrorError, match="M905"):
        older.apply_newest()
    newer.close()
    assert [rows_of(target, name) for name in TABLES] == [1, 2, 3, 4, 5, 6]


def rows_of(target: ReplicaTarget, table: str) -> int:
    """How many rows a table has; none if it is not there."""
    found = target.sql(
        "SELECT 1 FROM information_schema.TABLES "
        f"WHERE TABLE_SCHEMA = '{target.database}' AND TABLE_NAME = '{table}'"
    )
    return len(target.rows(table)) if found else 0


def run_and_die(settings: Any, statement: str, after: int) -> None:
    """Apply the newest cut in a process that dies at the end of its nth such statement."""
    process = multiprocessing.get_context("fork").Process(
        target=_die, args=(settings, statement, after)
    )
    process.start()
    process.join()
    assert process.exitcode == 9


def _die(settings: Any, statement: str, after: int) -> None:
    query, count, one = TargetSession.query, 0, threading.Lock()

    def dying(own: TargetSession, sql: str, table: object = "") -> Any:
        nonlocal count
        found = query(own, sql, table)
        if sql.startswith(statement):
            with one:
                count += 1
                if count == after:
                    os._exit(9)
        return found

    TargetSession.query = dying  # type: ignore[assignment, method-assign]
    Replica(settings).apply_newest()
