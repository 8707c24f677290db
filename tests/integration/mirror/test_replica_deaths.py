"""A replica that dies at any statement goes on, and applies each cut exactly once."""

from __future__ import annotations

import multiprocessing
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.errors import SourceUnavailable
from local_stack import connect
from stream_jobs.errors import MirrorError
from stream_jobs.replica.replica import Replica
from stream_jobs.replica.target import TargetSession
from tests.integration.harness import wait_until_settled
from tests.integration.mirror.replica_target import ReplicaTarget, replica_target
from tests.integration.mirror.test_cuts import go_on
from tests.integration.mirror.test_money import PAUSE_SECONDS, TOTAL, Bank, begin
from tests.length import full_only, length
from tests.stream_jobs.topics import Kafka, SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream_jobs.replica.table_writer import WriteCounts
    from tests.integration.database_stream import Stream
    from tests.integration.mirror.conftest import Job

pytestmark = [pytest.mark.kafka, pytest.mark.server]

COLUMNS = (column("id", "int", key=1), column("amount", "int"))
ROUNDS = length(short=6, full=200)


@pytest.fixture
def target(job: Job, mysql_server: Any) -> Iterator[ReplicaTarget]:
    yield from replica_target(job, mysql_server.endpoint)


def audited(target: ReplicaTarget) -> None:
    """Make a table that counts what was written to it."""
    target.sql(
        f"CREATE DATABASE {target.database}",
        f"USE {target.database}",
        "CREATE TABLE orders (id INT PRIMARY KEY, amount INT)",
        "CREATE TABLE audit (n INT AUTO_INCREMENT PRIMARY KEY, op CHAR(1), id INT)",
        "CREATE TRIGGER i AFTER INSERT ON orders FOR EACH ROW "
        "INSERT INTO audit (op, id) VALUES ('i', NEW.id)",
        "CREATE TRIGGER u AFTER UPDATE ON orders FOR EACH ROW "
        "INSERT INTO audit (op, id) VALUES ('u', NEW.id)",
        "CREATE TRIGGER d AFTER DELETE ON orders FOR EACH ROW "
        "INSERT INTO audit (op, id) VALUES ('d', OLD.id)",
    )


def audit(target: ReplicaTarget) -> list[tuple[str, int]]:
    return target.sql(f"SELECT op, id FROM {target.database}.audit ORDER BY op, id")


class Killer:
    """Ends the session at the server before a statement, or after it and before its answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, target: ReplicaTarget) -> None:
        self.left = -1
        self.is_after = False
        self.kills = 0
        query = TargetSession.query

        def killing(own: TargetSession, sql: str, table: object = "") -> Any:
            self.left -= 1
            if self.left != 0:
                return query(own, sql, table)
            self.kills += 1
            (row,) = query(own, "SELECT CONNECTION_ID() AS id")
            found = query(own, sql, table) if self.is_after else []
            target.sql(f"KILL {row['id']}")
            return found if self.is_after and sql != "COMMIT" else query(own, sql, table)

        monkeypatch.setattr(TargetSession, "query", killing)


@pytest.mark.parametrize("is_after", [True, False][: length(short=1, full=2)])
def test_a_session_that_is_killed_at_each_statement_applies_each_cut_once(
    kafka: Kafka, job: Job, target: ReplicaTarget, monkeypatch: pytest.MonkeyPatch, is_after: bool
) -> None:
    orders = SourceTable(kafka, "orders", COLUMNS).create()
    audited(target)
    orders.insert(*({"id": number, "amount": 0} for number in range(3)))
    target.follow(kafka)
    killer = Killer(monkeypatch, target)
    killer.is_after = is_after
    amount, statement, expected = 0, 0, [("i", number) for number in range(3)]
    names = set()
    while True:
        statement += 1
        orders.update({"id": 1, "amount": amount}, {"id": 1, "amount": amount + 1})
        amount += 1
        expected.append(("u", 1))
        go_on(kafka)
        job.apply()
        killer.left = statement
        kills = killer.kills
        # A new session, as that of another process.
        target.replica.close()
        for _ in range(2):
            try:
                target.replica.apply_newest()
            except SourceUnavailable as error:
                names.add(str(error).split(" ")[1])
        target.replica.apply_newest()
        assert target.rows("orders") == [(0, 0), (1, amount), (2, 0)]
        assert audit(target) == sorted(expected)
        if killer.kills == kills:
            break
    assert statement > ROUNDS
    assert names == {"target"}


@full_only
def test_a_process_that_dies_at_any_statement_is_followed_by_one_that_goes_on(
    kafka: Kafka, job: Job, target: ReplicaTarget
) -> None:
    orders = SourceTable(kafka, "orders", COLUMNS).create()
    audited(target)
    expected: list[tuple[str, int]] = []
    codes = set()
    for number in range(ROUNDS):
        orders.insert({"id": number, "amount": 0})
        expected.append(("i", number))
        go_on(kafka)
        job.apply()
        process = multiprocessing.get_context("fork").Process(
            target=die_at, args=(target.settings(), 18 + number)
        )
        process.start()
        process.join()
        codes.add(process.exitcode)
        target.replica.close()
        with_it = target.new()
        with_it.apply_newest()
        with_it.close()
        assert target.rows("orders") == [(each, 0) for each in range(number + 1)]
        assert audit(target) == expected
    assert 9 in codes


def die_at(settings: Any, statement: int) -> None:
    """Apply the newest cut, and die before a statement."""
    query, count = TargetSession.query, 0

    def dying(own: TargetSession, sql: str, table: object = "") -> Any:
        nonlocal count
        count += 1
        if count == statement:
            os._exit(9)
        return query(own, sql, table)

    TargetSession.query = dying  # type: ignore[assignment, method-assign]
    Replica(settings).apply_newest()


def test_a_process_that_was_replaced_writes_nothing_and_says_so(
    kafka: Kafka, target: ReplicaTarget
) -> None:
    orders = SourceTable(kafka, "orders", COLUMNS).create()
    orders.insert({"id": 1, "amount": 1})
    target.follow(kafka)
    newer = target.new()
    newer.apply_newest()
    orders.insert({"id": 2, "amount": 2})
    with pytest.raises(MirrorError) as caught:
        target.follow(kafka)
    name = f"target 127.0.0.1:{target.endpoint.port}"
    assert str(caught.value) == (
        f"[M905] {name}: another process has taken over the replica '{target.prefix}'; stop one of "
        "the two; nothing was applied twice"
    )
    assert target.rows("orders") == [(1, 1)]
    with pytest.raises(MirrorError, match="M905"):
        # It does not take the replica back.
        target.replica.apply_newest()
    newer.apply_newest()
    newer.close()
    assert target.rows("orders") == [(1, 1), (2, 2)]


class Auditor(threading.Thread):
    """Reads both tables at the target again and again, each time in one view."""

    def __init__(self, target: ReplicaTarget, database: str) -> None:
        super().__init__()
        self._target = target
        self._database = database
        self._stopped = threading.Event()
        self.sums: list[int] = []

    def run(self) -> None:
        tables = " UNION ALL ".join(f"SELECT amount FROM {name}" for name in ("savings", "wallet"))
        with connect(self._target.endpoint, self._database) as connection:
            while not self._stopped.wait(PAUSE_SECONDS):
                with connection.cursor() as cursor:
                    cursor.execute(f"SELECT CAST(SUM(amount) AS SIGNED) FROM ({tables}) AS both_")
                    (found,) = cursor.fetchone() or (0,)
                    self.sums.append(found)

    def stop(self) -> None:
        self._stopped.set()
        self.join()


@pytest.mark.parametrize("is_by_table", [False, True][: length(short=1, full=2)])
@full_only
def test_no_reader_of_the_target_sees_a_transfer_half_done_unless_tables_are_written_alone(
    stream: Stream, own_job: Job, monkeypatch: pytest.MonkeyPatch, is_by_table: bool
) -> None:
    begin(stream)
    target = ReplicaTarget(own_job, stream.source)
    database = f"{target.prefix}_{stream.database}"
    with stream.connector() as connector:
        stream.wait_for_changes(40, connector)
        wait_until_settled(stream.broker, stream.prefix)
        own_job.run()
        target.replica.apply_newest()
        if is_by_table:
            each_table_alone(monkeypatch)
        bank, auditor = Bank(stream), Auditor(target, database)
        bank.start()
        auditor.start()
        try:
            steps = 0
            while steps < ROUNDS:
                own_job.run()
                steps += target.replica.apply_newest() is not None
        finally:
            bank.stop()
            auditor.stop()
    target.close()
    assert len(auditor.sums) > ROUNDS
    assert (set(auditor.sums) == {TOTAL}) is not is_by_table


def each_table_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write each table in a transaction of its own: the test must notice."""
    whole = Replica._transaction

    def alone(own: Replica, target: Any, steps: Any, report: Any, cut: Any) -> WriteCounts:
        for step in steps:
            whole(own, target, [step], report, None)
            threading.Event().wait(0.02)
        return whole(own, target, [], report, cut)

    monkeypatch.setattr(Replica, "_transaction", alone)
