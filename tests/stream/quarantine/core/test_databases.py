"""The fence of a database: what it keeps back, which tables are exempt, and how it ends."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import pytest

from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import SourceRefused
from connector.replication.server.identity import other_server_error
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.quarantine import quarantine_errors
from connector.stream.quarantine.copy_guard import TableFenced
from connector.stream.quarantine.database_fences import DatabaseFences
from connector.stream.source import setup_errors
from tests.foundation.errors.texts import shown
from tests.stream.quarantine.bench import (
    BAD,
    LARGE,
    Kafka,
    Log,
    Records,
    Row,
    Run,
    folded,
    quarantined,
    written_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from connector.foundation.errors import ConnectorError

ROOMY = 1 << 20
UPDATE = "UPDATE t SET text = UUID()"
SCHEMA = TableSchema.of_columns(
    "shop", "t", ({"name": "id", "type": "int", "nullable": False, "key": 1},)
)


@pytest.fixture
def kafka() -> Kafka:
    return Kafka()


@pytest.fixture
def log() -> Log:
    return Log()


def fences_of(run: Run) -> list[tuple[str, str | None, int, list[str]]]:
    return [(fence.table, fence.key, fence.rows, fence.exempt) for fence in run.fences]


class Source:
    """A server with tables in its database, and how often it was asked for them."""

    def __init__(self, *tables: str) -> None:
        self.tables = list(tables)
        self.asked = 0
        self.seconds = 0.0
        self.refusal: ConnectorError | None = None

    def tables_of(self, database: str) -> Iterable[str]:
        assert database == "shop"
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal
        return self.tables

    def lift(self, run: Run, *, exclude: tuple[str, ...] = ()) -> None:
        """Let the fences of a run be lifted where no table needs them."""
        self.fences_of(run, exclude).lift(0)

    def fences_of(self, run: Run, exclude: tuple[str, ...] = ()) -> DatabaseFences:
        tables = TableFilter(("shop.*",), exclude)
        return DatabaseFences(
            run.fences, run.encoder.schemas, tables, self.tables_of, lambda: self.seconds
        )


def test_one_more_statement_fences_the_tables_that_were_copied_since(
    kafka: Kafka, log: Log
) -> None:
    log.logged_statement(UPDATE)
    run = Run(kafka, log, "fence-table")
    run.deliver()
    (fence,) = run.fences
    first = fence.reason
    run.fences.lift("shop", "t", 0)
    log.transaction(("t", [Row("c", 1)]))
    log.logged_statement(UPDATE)
    run.deliver()
    # A copy of the table that is under way has rows of before the statement.
    with pytest.raises(TableFenced):
        run.copied_rows.fenced_keys(SCHEMA)
    log.transaction(("t", [Row("c", 2)]), ("u", [Row("c", 3)]))
    run.deliver()
    assert list(folded(kafka, "t")) == [1]
    assert fences_of(run) == [("*", None, 2, []), ("t", None, 1, []), ("u", None, 1, [])]
    assert fence.reason != first
    assert fence.reason == next(of.reason for of in run.fences if of.table == "t")
    # The next run knows it, too.
    assert sorted(fences_of(run.next_run("fence-table"))) == fences_of(run)


def test_a_statement_after_which_nothing_was_copied_changes_no_reason(
    kafka: Kafka, log: Log
) -> None:
    log.logged_statement(UPDATE)
    run = Run(kafka, log, "fence-table")
    run.deliver()
    (fence,) = run.fences
    first = fence.reason
    log.logged_statement(UPDATE)
    run.deliver()
    assert (fence.rows, fence.reason) == (2, first)


def test_a_table_with_fenced_keys_is_kept_back_with_its_database(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1), Row("c", 2, BAD)]))
    log.logged_statement(UPDATE)
    log.transaction(("t", [Row("u", 1), Row("u", 2)]))
    run = Run(kafka, log, "fence-key")
    run.deliver()
    assert [op for *_, op in written_rows(kafka, "t")] == ["c"]
    assert fences_of(run) == [
        ("t", '{"id":2}', 1, []),
        ("t", None, 1, []),
        ("*", None, 1, []),
    ]


def test_a_table_with_fenced_keys_is_not_copied_while_its_database_is_fenced(
    kafka: Kafka, log: Log
) -> None:
    log.transaction(("t", [Row("c", 2, BAD)]))
    log.logged_statement(UPDATE)
    run = Run(kafka, log, "fence-key")
    run.deliver()
    database = next(fence for fence in run.fences if fence.table == "*")
    with pytest.raises(TableFenced) as caught:
        run.copied_rows.fenced_keys(SCHEMA)
    assert database.reason in caught.value.text


def test_changes_after_a_statement_are_not_replayed(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1)]))
    log.logged_statement(UPDATE)
    log.transaction(("t", [Row("u", 1)]))
    run = Run(kafka, log, "fence-table")
    run.deliver()
    run.replay()
    assert [op for *_, op in written_rows(kafka, "t")] == ["c"]
    (whole,) = (fence for fence in run.fences if fence.table == "t")
    assert (whole.rows, whole.answered) == (1, "1")
    assert whole.reason == shown(quarantine_errors.REPLAY_STATEMENT, table="shop.t")


def test_a_replay_ends_at_a_statement_that_comes_meanwhile(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, LARGE)]))
    first = Run(kafka, log, "fence-table")
    first.deliver()
    run = first.next_run("fence-table", ROOMY)
    replay = run.open_replay(Records(kafka))
    log.logged_statement(UPDATE)
    log.transaction(("t", [Row("u", 1)]))
    run.deliver()
    replay.step(0)
    run.commit()
    assert replay.done
    assert [fence.table for fence in run.fences] == ["t", "*"]
    assert written_rows(kafka, "t") == []


def test_a_database_that_is_dropped_is_not_fenced_any_more(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1)]), ("u", [Row("c", 1)]))
    log.logged_statement(UPDATE)
    log.transaction(("t", [Row("u", 1)]))
    log.statement("DROP DATABASE shop")
    log.statement("CREATE DATABASE shop")
    log.transaction(("t", [Row("c", 2)]), ("u", [Row("c", 2)]))
    run = Run(kafka, log, "fence-table")
    run.deliver()
    assert [op for *_, op in written_rows(kafka, "u")] == ["c", "t", "c"]
    # Nothing overtakes the changes of the other table that are kept back.
    assert [op for *_, op in written_rows(kafka, "t")] == ["c"]
    assert fences_of(run) == [("t", None, 3, [])]
    kinds = [record["kind"] for record, _ in quarantined(kafka)]
    assert kinds == ["statement", "rows", "gone", "rows"]
    run.replay()
    assert folded(kafka, "t") == {2: "text"}
    assert list(run.fences) == []


def test_the_fence_of_a_database_is_lifted_when_all_its_tables_are_copied(
    kafka: Kafka, log: Log
) -> None:
    log.transaction(("t", [Row("c", 1)]))
    log.logged_statement(UPDATE)
    run = Run(kafka, log, "fence-table")
    run.deliver()
    source = Source("t", "u", "left_out")
    fences = source.fences_of(run, ("shop.left_out",))
    fences.lift(0)
    assert source.asked == 0
    run.fences.lift("shop", "t", 0)
    fences.lift(0)
    log.statement("CREATE TABLE other (id INT)")
    run.take()
    fences.lift(0)
    # Table u is missing, so there is no need to ask again.
    assert (source.asked, fences_of(run)) == (1, [("*", None, 1, ["t", "other"])])
    run.fences.lift("shop", "u", 0)
    fences.lift(0)
    run.commit()
    assert (source.asked, list(run.fences)) == (2, [])
    assert kafka.last_values("p.fences", "shop/") == {}


def test_a_table_of_consumers_counts_until_the_log_ends_it(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1)]))
    log.logged_statement(UPDATE)
    run = Run(kafka, log, "fence-table")
    run.deliver()
    source = Source("u")
    run.fences.lift("shop", "u", 0)
    # The server has dropped table t, and the stream has not come there.
    source.lift(run)
    assert [fence.table for fence in run.fences] == ["*"]
    log.statement("DROP TABLE t")
    run.deliver()
    source.lift(run)
    assert list(run.fences) == []


def test_a_fence_that_an_earlier_run_has_left_is_lifted(kafka: Kafka, log: Log) -> None:
    log.logged_statement(UPDATE)
    run = Run(kafka, log, "fence-table")
    run.deliver()
    run.fences.lift("shop", "t", 0)
    run.commit()
    again = run.next_run("fence-table")
    Source("t").lift(again)
    assert list(again.fences) == []


@pytest.mark.parametrize(
    "refusal",
    [
        other_server_error("server"),
        SourceRefused(setup_errors.PREPARED_GONE, server="server", xids=[], why="it is full"),
    ],
)
def test_a_fence_waits_for_a_server_that_does_not_list_its_tables(
    kafka: Kafka, log: Log, refusal: ConnectorError
) -> None:
    log.logged_statement(UPDATE)
    run = Run(kafka, log, "fence-table")
    run.deliver()
    source = Source("t")
    fences = source.fences_of(run)
    assert fences.seconds_left == inf
    run.fences.lift("shop", "t", 0)
    assert fences.seconds_left <= 0
    source.refusal = refusal
    fences.lift(0)
    fences.lift(0)
    assert (source.asked, fences.seconds_left) == (1, 60)
    source.refusal = None
    source.seconds = 61
    fences.lift(0)
    assert (source.asked, fences.seconds_left, list(run.fences)) == (2, inf, [])


def test_a_source_that_has_failed_is_not_asked(kafka: Kafka, log: Log) -> None:
    log.logged_statement(UPDATE)
    run = Run(kafka, log, "fence-table")
    run.deliver()
    source = Source("t")
    fences = source.fences_of(run)
    run.fences.lift("shop", "t", 0)
    fences.spare_source()
    fences.lift(0)
    assert source.asked == 0


def test_a_database_that_comes_again_waits_for_none_of_its_earlier_tables(
    kafka: Kafka, log: Log
) -> None:
    log.logged_statement(UPDATE)
    run = Run(kafka, log, "fence-table")
    run.deliver()
    source = Source("t", "gone")
    fences = source.fences_of(run)
    run.fences.lift("shop", "t", 0)
    fences.lift(0)
    log.statement("DROP DATABASE shop")
    log.statement("CREATE DATABASE shop")
    log.logged_statement(UPDATE)
    run.deliver()
    source.tables = ["t"]
    run.fences.lift("shop", "t", 0)
    fences.lift(0)
    assert list(run.fences) == []
