"""What a guard publishes, what it keeps back, and what comes out again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog.gtid import GtidSet
from connector.binlog.table_filter import TableFilter
from connector.foundation.errors import ConnectorError, TopicRefused, UnsupportedChange
from connector.foundation.errors.catalogue import codes, example
from connector.foundation.errors.code import End, Scope
from connector.foundation.operating_system import CLOCK
from connector.replication.start_point import StartPoint
from connector.stream.changes import changes_errors
from connector.stream.changes.column_defaults import AddedColumn, DefaultKind
from connector.stream.envelope import record_errors
from connector.stream.envelope.schemas.column_rules import (
    TRUNCATE,
    ColumnPattern,
    ColumnRule,
    ColumnRules,
)
from connector.stream.quarantine import quarantine_errors
from connector.stream.quarantine.attendant import QuarantineAttendant
from connector.stream.quarantine.database_fences import DatabaseFences
from connector.stream.quarantine.records import explain_record
from connector.stream.sink.kafka_errors import CONTROL_PARTITIONS, TOPIC_NAME
from tests.foundation.errors.texts import shown, text_of
from tests.stream.quarantine.bench import (
    BAD,
    FILE,
    LARGE,
    NOW_US,
    Kafka,
    Log,
    Records,
    Row,
    Run,
    folded,
    kept_rows,
    quarantined,
    sequences,
    written_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.control_records import QuarantineRecord

ROOMY = 1 << 20
# Those of a server with lower_case_table_names = 1.
TABLES = TableFilter(("shop.*",), ignores_case=True, lower_case_names=True)


def ids(kafka: Kafka, table: str = "t") -> list[int]:
    return [int(record.key.split(b":")[1][:-1]) for record in kafka.rows(table) if record.key]


@pytest.fixture
def kafka() -> Kafka:
    return Kafka()


@pytest.fixture
def log() -> Log:
    return Log()


def test_stop_is_an_error(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, BAD)]))
    with pytest.raises(UnsupportedChange) as caught:
        Run(kafka, log, "stop").deliver()
    assert caught.value.code is record_errors.NOT_TEXT
    said = text_of(record_errors.NOT_TEXT, column="text")
    assert caught.value.text.endswith(f": table shop.t: {said}")


def test_a_table_with_a_masked_value_is_fenced_without_its_rows(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, BAD)]), ("u", [Row("c", 2)]))
    chosen = ColumnRules((), (), [ColumnRule((ColumnPattern.parse("shop.t.*x*"),), TRUNCATE, 3)])
    run = Run(kafka, log, "fence-table", columns=chosen)
    run.deliver()
    ((record, data),) = quarantined(kafka)
    assert (record["kind"], record["table_map"], data) == ("withheld", "", b"")
    assert (
        list(explain_record(record, data))[-1]
        == "  rows         are not kept: copy the table again"
    )
    assert list(folded(kafka, "u")) == [2]
    run.replay()
    (fence,) = run.fences
    assert fence.reason == (
        "[R427] the quarantine does not hold the rows of shop.t; `binlog-connector snapshot CONFIG "
        "shop.t` copies the table again and lifts the fence"
    )


@pytest.mark.parametrize("policy", ["fence-table", "fence-key"])
def test_a_table_whose_topic_kafka_refuses_is_fenced(kafka: Kafka, log: Log, policy: str) -> None:
    refused = TopicRefused(TOPIC_NAME, servers="a:9092", doing="create topic p.shop.t")
    kafka.refusals["p.shop.t"] = refused
    log.transaction(("t", [Row("c", 1), Row("c", 2)]), ("u", [Row("c", 3)]))
    run = Run(kafka, log, policy)
    run.deliver()
    (fence,) = run.fences
    assert (fence.name, fence.key, fence.reason) == ("shop.t", None, str(refused))
    assert list(folded(kafka, "u")) == [3]
    # Nobody reads of a table without a topic.
    told = [record.key for record in kafka.committed["p.schema"]]
    assert not [key for key in told if key is not None and key.startswith(b"shop.t/")]
    kafka.refusals.clear()
    run.replay()
    assert list(folded(kafka, "t")) == [1, 2]


def test_what_was_not_delivered_of_an_event_is_guarded(kafka: Kafka, log: Log) -> None:
    log.transaction(
        ("t", [Row("c", 1)]),
        ("t", [Row("c", 2, BAD), Row("c", 3), Row("c", 4, BAD), Row("c", 5)]),
        ("u", [Row("c", 6)]),
    )
    log.transaction(("t", [Row("c", 7)]))
    begun = StartPoint("mysql", GtidSet(), FILE, 4, begun_events=1, begun_rows=1)
    Run(kafka, log, "fence-key", point=begun).deliver()
    assert (ids(kafka), ids(kafka, "u")) == ([3, 5, 7], [6])
    # The third row of the event.
    assert [(event, row) for _, event, row in kept_rows(kafka)] == [(1, 2)]


def test_a_key_is_fenced_and_others_go_on(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1), Row("c", 2, BAD), Row("c", 3)]))
    log.transaction(("t", [Row("u", 1), Row("u", 2)]), ("u", [Row("c", 2)]))
    run = Run(kafka, log, "fence-key")
    run.deliver()
    assert ids(kafka) == [1, 3, 1]
    assert ids(kafka, "u") == [2]
    (fence,) = run.fences
    assert (fence.key, fence.rows, fence.since) == ('{"id":2}', 2, "binlog.000001:315")
    assert fence.reason == shown(record_errors.NOT_TEXT, column="text")
    records = [record for record, _ in quarantined(kafka)]
    assert [record["rows"] for record in records] == [
        [{"row": 1, "keys": ['{"id":2}'], "error": fence.reason}],
        [{"row": 1, "keys": ['{"id":2}'], "error": None}],
    ]


def test_a_table_is_fenced_and_others_go_on(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1), Row("c", 2, BAD), Row("c", 3)]))
    log.transaction(("t", [Row("u", 1)]), ("u", [Row("c", 2)]))
    run = Run(kafka, log, "fence-table")
    run.deliver()
    assert ids(kafka) == [1]
    assert ids(kafka, "u") == [2]
    (fence,) = run.fences
    assert (fence.key, fence.rows) == (None, 2)
    assert [record["rest"] for record, _ in quarantined(kafka)] == [1, 0]


def test_a_key_change_that_touches_a_fenced_key_fences_both(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, BAD), Row("c", 2)]))
    log.transaction(("t", [Row("u", 2, new_id=3)]))
    log.transaction(("t", [Row("d", 1)]))
    log.transaction(("t", [Row("u", 3, new_id=1)]))
    log.transaction(("t", [Row("c", 3)]))
    run = Run(kafka, log, "fence-key")
    run.deliver()
    assert [op for *_, op in written_rows(kafka, "t")] == ["c", "d", "c"]
    assert sorted(fence.key or "" for fence in run.fences) == ['{"id":1}', '{"id":3}']
    assert len(kept_rows(kafka)) == 4


def test_a_key_change_is_published_whole_or_not_at_all(kafka: Kafka, log: Log) -> None:
    # The delete is small, the row with the new key is not.
    log.transaction(("t", [Row("c", 1)]))
    log.transaction(("t", [Row("u", 1, LARGE, new_id=2)]))
    Run(kafka, log, "fence-key").deliver()
    assert [op for *_, op in written_rows(kafka, "t")] == ["c"]
    assert len(kept_rows(kafka)) == 1


def test_the_end_of_a_transaction_counts_what_was_published(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1), Row("c", 2, LARGE)]), ("t", [Row("u", 1, LARGE, new_id=3)]))
    Run(kafka, log, "fence-key", transaction_records=True).deliver()
    assert [op for *_, op in written_rows(kafka, "t")] == ["c"]
    values = [json.loads(record.value or b"") for record in kafka.committed["p.transaction"]]
    assert [(value["status"], value["event_count"]) for value in values] == [
        ("BEGIN", None),
        ("END", 1),
    ]


def test_a_record_of_the_quarantine_has_as_many_parts_as_it_needs(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, LARGE)]))
    Run(kafka, log, "fence-key").deliver()
    assert len(kafka.committed["p.quarantine"]) > 2
    ((_, data),) = quarantined(kafka)
    assert LARGE in data


def test_fences_outlive_a_restart_and_a_change_of_policy(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, BAD)]))
    run = Run(kafka, log, "fence-key")
    run.deliver()
    log.transaction(("t", [Row("u", 1), Row("u", 2)]))
    run.next_run("stop").deliver()
    assert ids(kafka) == [2]
    assert len(kept_rows(kafka)) == 2


def test_a_truncate_waits_after_what_is_kept_back(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1), Row("c", 2, LARGE)]))
    log.statement("TRUNCATE TABLE t")
    log.transaction(("t", [Row("c", 3)]))
    run = Run(kafka, log, "fence-key")
    run.deliver()
    assert ids(kafka) == [1]
    whole = next(fence for fence in run.fences if fence.key is None)
    assert whole.reason == shown(quarantine_errors.FOLLOWS)
    again = run.next_run("fence-key", ROOMY)
    again.replay()
    assert folded(kafka, "t") == {3: "text"}
    assert [op for *_, op in written_rows(kafka, "t")] == ["c", "c", "t", "c"]
    assert list(again.fences) == []


def test_drop_database_waits_for_the_tables_that_are_fenced(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, LARGE)]), ("u", [Row("c", 1)]))
    log.statement("DROP DATABASE shop")
    run = Run(kafka, log, "fence-table")
    run.deliver()
    assert [op for *_, op in written_rows(kafka, "u")] == ["c", "t"]
    assert written_rows(kafka, "t") == []
    again = run.next_run("stop", ROOMY)
    again.replay()
    assert [op for *_, op in written_rows(kafka, "t")] == ["c", "t"]


def test_a_replay_gives_what_the_source_has(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, LARGE), Row("c", 2)]))
    log.transaction(("t", [Row("u", 1, b"later")]))
    run = Run(kafka, log, "fence-key")
    run.deliver()
    again = run.next_run("fence-key", ROOMY)
    log.transaction(("t", [Row("u", 1, b"last")]))
    again.deliver()
    again.replay()
    log.transaction(("t", [Row("u", 2, b"free")]), ("t", [Row("u", 1, b"free")]))
    again.deliver()
    assert folded(kafka, "t") == {1: "free", 2: "free"}
    assert sequences(kafka, "t") == sorted(set(sequences(kafka, "t")))
    assert len(set(written_rows(kafka, "t"))) == len(written_rows(kafka, "t")) == 6
    assert list(again.fences) == []


def test_what_still_cannot_be_written_stays(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, BAD), Row("c", 2, LARGE)]))
    log.transaction(("t", [Row("u", 1), Row("u", 2)]))
    run = Run(kafka, log, "fence-key")
    run.deliver()
    again = run.next_run("fence-key", ROOMY)
    again.replay()
    assert ids(kafka) == [2, 2]
    (fence,) = again.fences
    assert (fence.key, fence.rows, fence.replay, fence.answered) == ('{"id":1}', 2, None, "1")


def attendant_of(run: Run) -> QuarantineAttendant:
    """Return an attendant that only takes requests."""
    unused: Any = None
    databases = DatabaseFences(run.fences, unused, TABLES, unused, CLOCK.monotonic)
    return QuarantineAttendant(unused, "p", databases, unused, unused, unused, CLOCK)


def test_a_key_of_a_table_that_is_fenced_is_not_replayed_alone(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, BAD)]))
    first = Run(kafka, log, "fence-key")
    first.deliver()
    log.transaction(("t", [Row("c", 2, BAD)]))
    run = first.next_run("fence-table")
    run.deliver()
    keeper = attendant_of(run)
    keeper.request(7, {"database": "shop", "table": "t", "key": '{"id":1}'})
    assert not keeper.wants_turn
    one = next(fence for fence in run.fences if fence.key == '{"id":1}')
    assert one.answered == "7"
    assert one.reason == shown(quarantine_errors.REPLAY_WHOLE)


def test_a_key_is_replayed_with_its_table(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, BAD)]))
    first = Run(kafka, log, "fence-key")
    first.deliver()
    log.transaction(("t", [Row("c", 2, BAD)]))
    run = first.next_run("fence-table")
    run.deliver()
    keeper = attendant_of(run)
    table = {"database": "Shop", "table": "T"}
    keeper.request(7, table)
    keeper.request(8, {**table, "key": '{"id":1}'})
    assert [(fence.key, fence.replay, fence.answered) for fence in run.fences] == [
        ('{"id":1}', "8", None),
        (None, "7", None),
    ]


def test_the_replay_of_a_table_that_always_changes_ends(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, LARGE)]))
    first = Run(kafka, log, "fence-table")
    first.deliver()
    run = first.next_run("fence-table", ROOMY)
    replay = run.open_replay(Records(kafka))
    for _ in range(10):
        # As a pipeline: the stream goes on for a transaction, and what was written is committed.
        if not replay.holds_stream:
            log.transaction(("t", [Row("u", 1)]))
            run.take()
        replay.step(NOW_US)
        run.commit()
    assert replay.done
    assert not replay.holds_stream
    assert list(run.fences) == []
    log.transaction(("t", [Row("u", 1, b"last")]))
    run.deliver()
    assert folded(kafka, "t") == {1: "last"}
    assert sequences(kafka, "t") == sorted(set(sequences(kafka, "t")))


@pytest.mark.parametrize("policy", ["fence-table", "fence-key"])
def test_a_replay_into_a_topic_that_kafka_refuses_says_why(
    kafka: Kafka, log: Log, policy: str
) -> None:
    refused = TopicRefused(TOPIC_NAME, servers="a:9092", doing="create topic p.shop.t")
    kafka.refusals["p.shop.t"] = refused
    log.transaction(("t", [Row("c", 1), Row("c", 2)]))
    run = Run(kafka, log, policy)
    run.deliver()
    (fence,) = run.fences
    fence.reason = ""
    run.replay()
    assert (fence.rows, fence.replay, fence.answered) == (1, None, "1")
    assert fence.reason == str(refused)
    kafka.refusals.clear()
    run.replay()
    assert ids(kafka) == [1, 2]


def test_an_error_of_the_whole_process_ends_a_replay(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, LARGE)]))
    first = Run(kafka, log, "fence-table")
    first.deliver()
    run = first.next_run("fence-table", ROOMY)
    kafka.refusals["p.shop.t"] = TopicRefused(
        CONTROL_PARTITIONS, servers="a:9092", topic="p.shop.t", partitions=2
    )
    with pytest.raises(TopicRefused):
        run.replay()
    (fence,) = run.fences
    assert (fence.rows, fence.replay, fence.answered) == (1, "1", None)


class SharedRecords(Records):
    """The quarantine while another pipeline keeps putting changes there."""

    def read(self) -> Iterator[tuple[int, bytes, QuarantineRecord, bytes]]:
        for offset, key, record, data in super().read():
            yield offset, key, record, data
            yield offset, b"other/shop.t", record, data
        (record, data), *_ = quarantined(self._kafka)
        yield 0, b"other/shop.t", record, data


def test_a_replay_does_not_hold_the_stream_for_what_the_topic_does_not_have(
    kafka: Kafka, log: Log
) -> None:
    log.transaction(("t", [Row("c", 1, LARGE)]))
    first = Run(kafka, log, "fence-table")
    first.deliver()
    run = first.next_run("fence-table", ROOMY)
    (fence,) = run.fences
    fence.rows += 1
    replay = run.open_replay(SharedRecords(kafka))
    turns = 0
    while not replay.done:
        turns += 1
        assert turns < 10
        if not replay.holds_stream:
            log.transaction(("t", [Row("u", 1)]))
            run.take()
        replay.step(NOW_US)
        run.commit()
    assert run.fences.of("shop", "t") is not None
    assert (fence.rows, fence.replay, fence.answered) == (1, None, "1")
    assert fence.reason == shown(quarantine_errors.REPLAY_MISSING, table="shop.t", rows=1)


def test_what_is_not_in_the_quarantine_any_more_is_told() -> None:
    assert text_of(quarantine_errors.REPLAY_MISSING, table="shop.t", rows=3) == (
        "3 of the changes that it keeps back are not in the quarantine; `binlog-connector snapshot "
        "CONFIG shop.t` copies the table again and lifts the fence"
    )


def test_a_key_is_not_replayed_past_another_one(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, LARGE), Row("c", 2, LARGE)]))
    log.transaction(("t", [Row("d", 2, LARGE)]))
    log.transaction(("t", [Row("u", 1, new_id=2)]))
    run = Run(kafka, log, "fence-key")
    run.deliver()
    again = run.next_run("fence-key", ROOMY)
    again.replay(key='{"id":1}')
    assert ids(kafka) == [1]
    one = next(fence for fence in again.fences if fence.key == '{"id":1}')
    assert one.reason == shown(quarantine_errors.REPLAY_OTHER_KEY)
    again.replay()
    assert folded(kafka, "t") == {2: "text"}
    assert list(again.fences) == []


def test_a_table_whose_fence_was_lifted_goes_on(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, BAD)]))
    run = Run(kafka, log, "fence-table")
    run.deliver()
    assert run.fences.lift("shop", "t", 0)
    log.transaction(("t", [Row("c", 2)]))
    run.deliver()
    assert ids(kafka) == [2]
    assert kafka.last_values("p.fences", "shop/") == {}


def test_rows_of_another_key_than_that_of_the_fence_are_kept_back(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 2, BAD)]))
    log.transaction(("t", [Row("c", 3)]), key_columns=b"\x00\x01")
    run = Run(kafka, log, "fence-key")
    run.deliver()
    assert ids(kafka) == []
    of_key, whole = sorted(run.fences, key=lambda fence: fence.key is None)
    assert of_key.key == '{"id":2}'
    assert whole.key is None
    assert whole.reason == shown(quarantine_errors.KEY_CHANGED, table="shop.t")


REWRITTEN = "ALTER TABLE … MODIFY text"


def rewrite(kafka: Kafka, log: Log, on_rewrite: str) -> Run:
    """Deliver a row, a statement that may change its values, and another row."""
    log.transaction(("t", [Row("c", 1)]))
    log.statement("ALTER TABLE t MODIFY text CHAR(3)")
    log.transaction(("t", [Row("c", 2)]))
    return Run(kafka, log, "stop", on_rewrite=on_rewrite)


REWRITTEN_TEXT = text_of(
    changes_errors.REWRITTEN,
    log_position="binlog.000001:469",
    database="shop",
    table="t",
    reason=REWRITTEN,
    transaction="3e11fa47-71ca-11e1-9e33-c80aa9429562:2",
)


def test_a_table_whose_values_a_statement_may_change_is_copied(kafka: Kafka, log: Log) -> None:
    run = rewrite(kafka, log, "copy")
    run.deliver()
    assert run.heard.resyncs == [("shop", "t", REWRITTEN)]
    assert [change.resync for change in run.heard.statements] == [REWRITTEN]
    assert ids(kafka) == [1, 2]


def test_a_statement_that_may_change_values_ends_the_run(kafka: Kafka, log: Log) -> None:
    with pytest.raises(UnsupportedChange) as caught:
        rewrite(kafka, log, "stop").deliver()
    assert caught.value.text == REWRITTEN_TEXT


def test_a_table_whose_values_a_statement_may_change_is_fenced(kafka: Kafka, log: Log) -> None:
    run = rewrite(kafka, log, "fence")
    run.deliver()
    assert run.heard.resyncs == []
    assert ids(kafka) == [1]
    (fence,) = run.fences
    assert (fence.key, fence.rows) == (None, 2)
    assert [record["kind"] for record, _ in quarantined(kafka)] == ["statement", "rows"]
    said, _, fix = fence.reason.partition("; ")
    assert said == f"[T161] {REWRITTEN_TEXT.partition('; ')[0]}"
    assert fix.endswith(
        "`binlog-connector snapshot CONFIG shop.t` copies the table again and lifts the fence"
    )
    run.replay()
    assert ids(kafka) == [1]


def test_a_table_of_which_no_row_was_published_is_copied_too(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1, BAD)]))
    Run(kafka, log, "fence-table").deliver()
    log.statement("ALTER TABLE t MODIFY text CHAR(3)")
    run = Run(kafka, log, "fence-table")
    run.deliver()
    assert run.heard.resyncs == [("shop", "t", REWRITTEN)]


def test_an_added_column_of_unknown_value_has_the_table_copied(kafka: Kafka, log: Log) -> None:
    log.transaction(("t", [Row("c", 1)]))
    run = Run(kafka, log, "stop")
    run.deliver()
    run.encoder.schemas.added_columns["shop.t"] = [AddedColumn("text", DefaultKind.COMPUTED)]
    log.transaction(("t", [Row("c", 2)]))
    run.deliver()
    reason = "the value of the added column text in its rows is not in the log"
    assert run.heard.resyncs == [("shop", "t", reason)]


# They have the letter of tables, but it is unknown which tables they are about, or the order of all
# changes is at its end.
OF_THE_STREAM = {"T101", "T112", "T121", "T131", "T132", "T233", "T234", "T236"}


def test_it_was_decided_for_each_code_of_tables_whether_the_others_go_on() -> None:
    ends = {
        number
        for number, code in codes().items()
        if number.startswith("T") and code.end is End.DEFINITE and not code.frame
        if code.scope is Scope.PROCESS
    }
    assert ends == OF_THE_STREAM


def test_no_table_stops_the_others_whatever_its_error() -> None:
    for code in codes().values():
        if code.frame or code.end is End.LOGGED:
            continue
        refusals: dict[str, ConnectorError] = {"p.shop.t": TopicRefused(code, **example(code))}
        kafka = Kafka(refusals=refusals)
        run = Run(kafka, log_of_both(), "fence-table")
        if code.scope is Scope.PROCESS:
            with pytest.raises(ConnectorError) as caught:
                run.deliver()
            assert caught.value.code is code
        else:
            run.deliver()
            (fence,) = run.fences
            assert fence.name == "shop.t"
            assert str(code) in fence.reason
            assert list(folded(kafka, "u")) == [2], code
        with pytest.raises(ConnectorError):
            Run(Kafka(refusals=refusals), log_of_both(), "stop").deliver()


def log_of_both() -> Log:
    log = Log()
    log.transaction(("t", [Row("c", 1)]), ("u", [Row("c", 2)]))
    return log
