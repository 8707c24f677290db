"""Batches end where a transaction of the source ends in all tables, and a cut says so."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from deltalake import DeltaTable

from connector.lake.demo.stack import query_mirror
from stream_jobs.cuts import read_cuts
from stream_jobs.cuts.cut_target import CutTargetFinder
from stream_jobs.delta.housekeeping import vacuum
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable as DeltaLog
from stream_jobs.run.assembly import batch_applier
from stream_jobs.source.client import KafkaClient
from stream_jobs.source.topic_filter import NO_SKIPPED_TABLES
from stream_jobs.source.topics import BrokerConfig, OffsetRange
from tests.integration.mirror.conftest import run_in_process
from tests.stream_jobs.topics import PARTITIONS, Kafka, SourceTable, column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from connector.foundation.contract import Sequence
    from stream_jobs.cuts import Cut
    from stream_jobs.run.batch import BatchApplier
    from stream_jobs.source.requests import Partition
    from tests.integration.mirror.conftest import Job

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("amount", "int"))


def storage_of(job: Job) -> LocalStorage:
    return LocalStorage(str(job.folder / "mirror"))


def cuts(job: Job) -> list[Cut]:
    return read_cuts(storage_of(job))


def rows_at(job: Job, cut: Cut, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table at a cut, read by an implementation that did not write them."""
    path, version, _ = cut.tables[f"shop.{table}"]
    delta = DeltaTable(job.folder / "mirror" / path, version=version)
    data = query_mirror(delta, "SELECT id, amount FROM mirror")
    return sorted((row["id"], row["amount"]) for row in data.to_pylist())


@pytest.fixture
def savings(kafka: Kafka) -> SourceTable:
    return SourceTable(kafka, "savings", COLUMNS).create()


@pytest.fixture
def wallet(kafka: Kafka) -> SourceTable:
    return SourceTable(kafka, "wallet", COLUMNS).create()


def go_on(kafka: Kafka) -> Sequence:
    """Publish that the topics have everything up to here."""
    with kafka.transaction():
        bound = kafka.progress()
    settle(kafka)
    return bound


def settle(kafka: Kafka) -> None:
    """Wait until the markers of all transactions are there."""
    client = KafkaClient(BrokerConfig((kafka.bootstrap,), 20.0, ()))
    topics = client.partition_counts().items()
    own = [(t, n) for t, count in topics if t.startswith(kafka.prefix) for n in range(count)]
    while client.have_open_transactions(own):
        time.sleep(0.01)
    client.close()


def transfer(kafka: Kafka, savings: SourceTable, wallet: SourceTable, amount: int) -> Sequence:
    """Move money in one transaction: what is not in the savings is in the wallet."""
    with kafka.transaction():
        savings.send("u", {"id": 1, "amount": 0}, {"id": 1, "amount": 100 - amount})
        wallet.send("u", {"id": 1, "amount": 0}, {"id": 1, "amount": amount})
        bound = kafka.progress()
    settle(kafka)
    return bound


@pytest.fixture
def first_cut(kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable) -> None:
    """The mirror after a first transfer."""
    transfer(kafka, savings, wallet, 10)
    job.apply()


def test_a_batch_ends_at_a_cut_with_the_versions_of_all_tables(
    kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable
) -> None:
    transfer(kafka, savings, wallet, 10)
    line = job.apply()
    bound = transfer(kafka, savings, wallet, 30)

    assert line["cut"] == 1
    assert job.apply()["cut"] == 2

    first, second = cuts(job)
    assert rows_at(job, first, "savings") + rows_at(job, first, "wallet") == [(1, 90), (1, 10)]
    assert rows_at(job, second, "savings") + rows_at(job, second, "wallet") == [(1, 70), (1, 30)]
    assert second.seq == str(bound)
    assert second.gtid == f"3e11fa47-71ca-11e1-9e33-c80aa9429562:1-{bound.position + 1}"
    assert second.position == f"binlog.000007:{bound.position + 1}"
    assert second.source_time_ms == 1_700_000_000_000
    assert second.left_out == {}


def test_the_truncates_of_all_histories_of_a_batch_are_asked_for_together(
    kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable
) -> None:
    with applier(job, tables=[{"match": ["shop.*"], "mode": "history"}]) as batches:
        for amount in (10, 30):
            transfer(kafka, savings, wallet, amount)
            client = batches.services.client
            assert isinstance(client, AskingClient)
            client.written.clear()
            ranges = [
                OffsetRange(table.topic, number, 0, end)
                for table in (savings, wallet)
                for number, end in ends(kafka, table)
            ]
            report = batches.apply(ranges)
            assert sorted(report.tables) == ["shop.savings", "shop.wallet"]
            places = {(savings.topic, 0), (wallet.topic, 0)}
            assert [asked for asked in client.written if asked <= places] == [places]


@pytest.mark.usefixtures("first_cut")
def test_an_idle_table_is_in_each_cut_with_its_version(
    kafka: Kafka, job: Job, savings: SourceTable
) -> None:
    savings.insert({"id": 2, "amount": 5})
    go_on(kafka)
    job.apply()

    first, second = cuts(job)
    assert second.tables["shop.wallet"] == first.tables["shop.wallet"]
    assert second.tables["shop.savings"].version == first.tables["shop.savings"].version + 1


def test_only_topics_that_have_moved_are_asked_how_far_they_can_be_read(
    kafka: Kafka, savings: SourceTable, wallet: SourceTable
) -> None:
    client = AskingClient(BrokerConfig((kafka.bootstrap,), 20.0, ()))
    finder = CutTargetFinder.of(client, kafka.prefix, NO_SKIPPED_TABLES)
    topics = savings.topic, wallet.topic
    transfer(kafka, savings, wallet, 10)
    assert finder.newest(topics) is not None
    savings.insert({"id": 2, "amount": 5})
    go_on(kafka)
    client.asked.clear()
    target = finder.newest(topics)
    client.close()

    assert savings.topic in client.asked
    assert wallet.topic not in client.asked
    assert target is not None
    for table in savings, wallet:
        assert sorted(target.ends[table.topic].items()) == sorted(ends(kafka, table))


@pytest.mark.usefixtures("first_cut")
def test_a_transaction_whose_end_has_come_to_one_topic_alone_waits_for_the_other(
    kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable
) -> None:
    # Spark finds the half that is there; the rest comes while the batch runs.
    savings.insert({"id": 2, "amount": -7})
    with later(lambda: wallet.insert({"id": 2, "amount": 7}), lambda: go_on(kafka)):
        lines = job.run()

    assert [line["event"] for line in lines] == ["batch_applied"]
    job.run()
    newest = cuts(job)[-1]
    assert rows_at(job, newest, "savings") == [(1, 90), (2, -7)]
    assert rows_at(job, newest, "wallet") == [(1, 10), (2, 7)]


def test_what_empties_a_table_is_applied_with_the_row_that_made_it_necessary(
    kafka: Kafka, job: Job, savings: SourceTable
) -> None:
    # Two rows in each partition.
    savings.insert(*({"id": number, "amount": 100} for number in (1, 2, 3, 4)))
    go_on(kafka)
    job.apply()

    # The values of the new column in old rows are unknown, so the connector empties the table. As
    # if the marker of the other partition were late.
    wider = savings.alter(
        *COLUMNS, column("note", "int", nullable=False, added_default_unknown=True)
    )
    changed = next(n for n in (1, 2, 3, 4) if crc32(savings.key({"id": n}) or b"") % PARTITIONS)
    row = {"id": changed, "amount": 7, "note": 1}
    wider.insert(row)
    with later(lambda: wider.truncate(partition=0), lambda: go_on(kafka)):
        lines = job.run()

    assert [line["event"] for line in lines] == ["batch_applied"]
    assert job.rows("savings") == []


def test_what_empties_a_table_may_come_after_the_batch(
    kafka: Kafka, job: Job, savings: SourceTable
) -> None:
    savings.insert(*({"id": number, "amount": 100} for number in (1, 2, 3, 4)))
    before = ends(kafka, savings)
    with applier(job) as own:
        own.apply([OffsetRange(savings.topic, number, 0, end) for number, end in before])
        note = column("note", "int", nullable=False, added_default_unknown=True)
        wider = savings.alter(*COLUMNS, note)
        changed = next(n for n in (1, 2, 3, 4) if crc32(savings.key({"id": n}) or b"") % PARTITIONS)
        wider.insert({"id": changed, "amount": 7, "note": 1})
        after = dict(ends(kafka, savings))
        wider.truncate(partition=0)
        settle(kafka)
        report = own.apply([OffsetRange(savings.topic, 1, dict(before)[1], after[1])])

    assert report.quarantined == []
    assert job.rows("savings") == []


@pytest.mark.usefixtures("first_cut")
def test_a_transaction_that_has_not_ended_everywhere_is_waited_for(
    kafka: Kafka, job: Job, savings: SourceTable, slow: Kafka
) -> None:
    # As if the marker of one partition were late.
    with slow.transaction():
        other = SourceTable(slow, "wallet", COLUMNS)
        other.send("c", None, {"id": 2, "amount": 7}, kafka.next_sequence())
        slow.flush()
        savings.insert({"id": 2, "amount": -7})
        with kafka.transaction():
            kafka.progress()
        running = threading.Thread(target=job.run)
        running.start()
        time.sleep(1)
        assert len(cuts(job)) == 1
    running.join()

    newest = cuts(job)[-1]
    assert rows_at(job, newest, "savings") == [(1, 90), (2, -7)]
    assert rows_at(job, newest, "wallet") == [(1, 10), (2, 7)]


def test_the_next_transaction_does_not_hold_a_cut_up(
    kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable, slow: Kafka
) -> None:
    transfer(kafka, savings, wallet, 10)
    with slow.transaction(commit=False):
        other = SourceTable(slow, "wallet", COLUMNS)
        other.send("c", None, {"id": 2, "amount": 7}, kafka.next_sequence())
        slow.flush()

        assert job.apply()["cut"] == 1

    (cut,) = cuts(job)
    assert rows_at(job, cut, "wallet") == [(1, 10)]


def test_a_transaction_larger_than_a_batch_is_a_cut_when_it_is_whole(
    kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable
) -> None:
    with kafka.transaction():
        for number in range(1, 31):
            savings.send("c", None, {"id": number, "amount": -number})
            wallet.send("c", None, {"id": number, "amount": number})
        kafka.progress()
    settle(kafka)

    lines = job.run(kafka={"max_offsets_per_trigger": 7})

    batches = [line.get("cut") for line in lines if line["event"] == "batch_applied"]
    assert len(batches) > 3
    found = cuts(job)
    assert 1 <= len(found) < len(batches)
    for cut in found:
        assert len(rows_at(job, cut, "savings")) == len(rows_at(job, cut, "wallet")) == 30


@pytest.mark.usefixtures("first_cut")
def test_a_table_that_is_set_aside_is_left_out_and_comes_back(
    kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable
) -> None:
    with kafka.transaction():
        wallet.send("c", None, {"id": 2, "amount": 7}, value=b"no JSON", partition=0)
        savings.send("c", None, {"id": 2, "amount": -7})
        kafka.progress()
    settle(kafka)
    (aside, _) = job.run()
    transfer(kafka, savings, wallet, 20)
    job.run()

    _, second, third = cuts(job)
    for cut in (second, third):
        assert cut.tables.keys() == {"shop.savings"}
        assert cut.left_out == {"shop.wallet": f"[{aside['code']}] {aside['error']}"}

    job.resume("shop.wallet", skipped=[(0, aside["offset"])])
    assert job.run()[-1]["event"] == "table_resumed"
    transfer(kafka, savings, wallet, 30)
    job.apply()

    newest = cuts(job)[-1]
    assert newest.left_out == {}
    assert rows_at(job, newest, "savings") == [(1, 70), (2, -7)]
    assert rows_at(job, newest, "wallet") == [(1, 30)]


@pytest.mark.usefixtures("first_cut")
def test_the_cuts_of_a_mirror_go_before_it_is_made_again(
    kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable
) -> None:
    transfer(kafka, savings, wallet, 20)
    job.apply()
    log = job.folder / "mirror" / "shop" / "wallet" / "_delta_log" / f"{0:020d}.json"
    log.write_bytes(b"damaged")
    transfer(kafka, savings, wallet, 30)
    job.run()
    assert cuts(job)[-1].left_out.keys() == {"shop.wallet"}

    job.resume("shop.wallet", rebuild=True)
    assert job.run()[-1]["event"] == "table_resumed"

    (cut,) = cuts(job)
    assert cut.tables.keys() == {"shop.savings"}
    transfer(kafka, savings, wallet, 40)
    job.apply()
    newest = cuts(job)[-1]
    assert rows_at(job, newest, "savings") + rows_at(job, newest, "wallet") == [(1, 60), (1, 40)]


def test_a_new_table_is_in_the_first_cut_that_has_a_row_of_it(
    kafka: Kafka, job: Job, savings: SourceTable
) -> None:
    savings.insert({"id": 1, "amount": 100})
    go_on(kafka)
    job.apply()
    late = SourceTable(kafka, "late", COLUMNS)
    kafka.add_topic(late.topic)
    with kafka.transaction():
        late.send_schema()
        savings.send("u", {"id": 1, "amount": 100}, {"id": 1, "amount": 60})
        late.send("c", None, {"id": 1, "amount": 40})
        kafka.progress()
    settle(kafka)

    job.apply()

    first, second = cuts(job)
    assert first.tables.keys() == {"shop.savings"}
    assert rows_at(job, second, "savings") + rows_at(job, second, "late") == [(1, 60), (1, 40)]


def test_a_table_without_a_key_is_left_out(kafka: Kafka, job: Job, savings: SourceTable) -> None:
    SourceTable(kafka, "log", (column("line", "int"),)).create().insert({"line": 1})
    savings.insert({"id": 1, "amount": 100})
    go_on(kafka)

    job.run()

    (cut,) = cuts(job)
    assert cut.tables.keys() == {"shop.savings"}
    assert cut.left_out == {"shop.log": "it has no primary key, and so no mirror"}


def copy_state(kafka: Kafka, table: str, phase: str) -> None:
    """Publish the state of a copy, inside of `transaction`."""
    kafka.add_topic(f"{kafka.prefix}.snapshot", 1)
    value = {"database": "shop", "table": table, "phase": phase}
    key = f"shop/shop.{table}".encode()
    kafka.send(f"{kafka.prefix}.snapshot", key, json.dumps(value).encode(), {}, partition=0)


def test_a_table_that_is_copied_is_left_out_until_it_has_all_rows(
    kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable
) -> None:
    said: list[Mapping[str, str]] = []
    for phase in ("waiting", "copying", "failed", "complete"):
        with kafka.transaction():
            savings.send("c", None, {"id": len(said), "amount": 100})
            wallet.send("r", None, {"id": len(said), "amount": 100})
            copy_state(kafka, "wallet", phase)
            kafka.progress()
        settle(kafka)
        job.apply()
        said.append(cuts(job)[-1].left_out)

    copying = {"shop.wallet": "the connector is copying it"}
    assert said == [copying, copying, {"shop.wallet": "its copy has failed"}, {}]
    assert rows_at(job, cuts(job)[-1], "wallet") == [(number, 100) for number in range(4)]


def test_the_end_of_a_copy_that_is_not_read_yet_is_of_a_later_cut(
    kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable, slow: Kafka
) -> None:
    with kafka.transaction():
        wallet.send("r", None, {"id": 1, "amount": 100})
        copy_state(kafka, "wallet", "copying")
        kafka.progress()
    settle(kafka)
    with applier(job) as own:
        own.apply(())
        savings.insert({"id": 1, "amount": 100})
        go_on(kafka)
        # The next transaction: its end has come to the topic of copies alone.
        with slow.transaction():
            other = SourceTable(slow, "wallet", COLUMNS)
            other.send("r", None, {"id": 2, "amount": 100}, kafka.next_sequence())
            slow.flush()
            with kafka.transaction():
                copy_state(kafka, "wallet", "complete")
            while own.apply(()).cut is None:
                time.sleep(0.01)
        assert cuts(job)[-1].left_out == {"shop.wallet": "the connector is copying it"}
        go_on(kafka)
        own.apply(())

    assert cuts(job)[-1].left_out == {}
    assert rows_at(job, cuts(job)[-1], "wallet") == [(1, 100), (2, 100)]


@pytest.mark.usefixtures("first_cut")
def test_a_table_whose_rows_a_foreign_key_has_changed_is_left_out(
    kafka: Kafka, job: Job, savings: SourceTable
) -> None:
    savings.insert({"id": 2, "amount": 5})
    with kafka.transaction():
        kafka.progress(cascaded_rows={"shop": {"wallet": [""]}})
    settle(kafka)

    job.apply()

    assert cuts(job)[-1].left_out == {"shop.wallet": "the connector is copying it"}


def test_changed_columns_are_as_they_were_at_each_cut(
    kafka: Kafka, job: Job, savings: SourceTable
) -> None:
    savings.insert({"id": 1, "amount": 100})
    go_on(kafka)
    job.apply()
    wider = savings.alter(*COLUMNS, column("note", "int"))
    wider.insert({"id": 2, "amount": 5, "note": 1})
    go_on(kafka)
    job.apply()
    wider.truncate()
    go_on(kafka)
    job.apply()

    found = cuts(job)
    assert [rows_at(job, cut, "savings") for cut in found] == [
        [(1, 100)],
        [(1, 100), (2, 5)],
        [],
    ]


def test_an_idle_source_moves_the_cut_on_without_a_commit(
    kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable
) -> None:
    transfer(kafka, savings, wallet, 10)
    with applier(job) as own:
        own.apply(())
        assert own.move_on() is None
        kafka.next_sequence()
        bound = go_on(kafka)
        assert own.move_on() is not None
        assert own.move_on() is None
        savings.insert({"id": 2, "amount": 5})
        go_on(kafka)
        # Changes wait for a batch, which says what it has done.
        assert own.move_on() is None
        assert own.apply(()).cut == 3

    first, second, _ = cuts(job)
    assert second.tables == first.tables
    assert second.seq == str(bound)


def test_without_progress_there_are_no_cuts_and_the_job_says_so(
    kafka: Kafka, job: Job, savings: SourceTable
) -> None:
    savings.insert({"id": 1, "amount": 100})

    with applier(job) as own:
        own.apply([OffsetRange(savings.topic, n, 0, end) for n, end in ends(kafka, savings)])
        problem = own.no_cuts

    assert job.rows("savings") == [(1, 100)]
    assert cuts(job) == []
    assert problem is not None
    assert str(problem) == (
        f"[M802] there are no cuts: the topic {kafka.prefix}.progress has no record that says up "
        "to where the topics have everything; look whether the job may read the topic; the "
        "connector writes it in each of its transactions"
    )


def test_several_pipelines_have_no_common_cut(kafka: Kafka, job: Job, savings: SourceTable) -> None:
    savings.insert({"id": 1, "amount": 100})
    for name in ("one", "two", "one"):
        with kafka.transaction():
            kafka.progress(name)
    settle(kafka)

    with applier(job) as own:
        own.apply([OffsetRange(savings.topic, n, 0, end) for n, end in ends(kafka, savings)])
        problem = own.no_cuts

    assert job.rows("savings") == [(1, 100)]
    assert cuts(job) == []
    assert problem is not None
    assert str(problem) == (
        f"[M803] there are no cuts: several pipelines write to {kafka.prefix}.progress in turn; "
        "give each pipeline a kafka.topic_prefix of its own, and each prefix its own mirror"
    )


def test_changes_of_another_pipeline_are_applied_and_end_the_cuts_until_progress_comes(
    kafka: Kafka, job: Job, savings: SourceTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_jobs.run.cut_coordinator._PATIENCE_SECONDS", 0.2)
    with kafka.transaction():
        kafka.progress("another", epoch=2)
    go_on(kafka)
    savings.insert({"id": 1, "amount": 100})

    with applier(job) as own:
        own.apply([OffsetRange(savings.topic, n, 0, end) for n, end in ends(kafka, savings)])
        problem = own.no_cuts
        assert job.rows("savings") == [(1, 100)]
        assert cuts(job) == []
        go_on(kafka)
        own.move_on()
        assert own.no_cuts is None

    (cut,) = cuts(job)
    assert rows_at(job, cut, "savings") == [(1, 100)]
    assert problem is not None
    assert str(problem) == (
        "[M805] there is no cut: there are changes that no progress record covers; look for other "
        "programs that write to the topics; the next cut comes with the next record of the "
        "connector"
    )


def test_cuts_begin_again_below_the_last_one_when_all_of_its_tables_were_made_again(
    kafka: Kafka, job: Job, savings: SourceTable, wallet: SourceTable
) -> None:
    for amount in range(5):
        transfer(kafka, savings, wallet, amount)
    assert job.apply()["cut"] == 1
    for topic in (f"{kafka.prefix}.progress", f"{kafka.prefix}.schema"):
        kafka.delete_topic(topic)
    for table in (savings, wallet):
        kafka.make_again(table.topic)
    # As after a failover: what comes now is in a lower epoch than before.
    kafka._position = 0
    for table in (savings, wallet):
        table.create()
    bound = transfer(kafka, savings, wallet, 30)

    waiting = [problem_after(job)]
    job.resume("shop.savings", rebuild=True)
    waiting.append(problem_after(job))
    job.resume("shop.wallet", rebuild=True)
    assert problem_after(job) is None

    *_, cut = cuts(job)
    assert cut.seq == str(bound)
    assert rows_at(job, cut, "savings") + rows_at(job, cut, "wallet") == [(1, 70), (1, 30)]
    assert cut.left_out == {}
    assert waiting == [
        f"[M830] there is no cut: the sequence of the topics has begun again, below that of cut "
        f"{number}, and these tables of it were not made again: {tables}; let each of them be made "
        "again: `binlog-connector-mirror resume CONFIG TABLE --rebuild`; if it is not set aside, "
        "stop the job, remove the folder of its mirror, and start the job: it makes the mirror "
        "again, or sets the table aside first (M403)"
        for number, tables in ((1, "shop.savings, shop.wallet"), (2, "shop.wallet"))
    ]


def problem_after(job: Job) -> str | None:
    """Apply what is there now, and return why there are no cuts then."""
    job.run()
    with applier(job) as own:
        own.move_on()
        return None if own.no_cuts is None else str(own.no_cuts)


def test_a_transaction_that_never_ends_holds_the_cut_up_and_not_the_tables(
    kafka: Kafka,
    job: Job,
    savings: SourceTable,
    wallet: SourceTable,
    slow: Kafka,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stream_jobs.cuts.cut_target._PATIENCE_SECONDS", 0.2)
    with slow.transaction(commit=False):
        other = SourceTable(slow, "wallet", COLUMNS)
        other.send("c", None, {"id": 2, "amount": 7}, kafka.next_sequence())
        slow.flush()
        savings.insert({"id": 1, "amount": 100})
        with kafka.transaction():
            kafka.progress()
        with applier(job) as own:
            own.apply([OffsetRange(savings.topic, n, 0, end) for n, end in ends(kafka, savings)])
            problem = own.no_cuts

    assert job.rows("savings") == [(1, 100)]
    assert cuts(job) == []
    assert problem is not None
    assert str(problem) == (
        f"[M804] there is no cut: a transaction in {wallet.topic} does not end; look at the "
        "brokers, and for other programs that write to the topic; the next cut comes when the "
        "transaction has ended"
    )


def test_a_cut_goes_before_the_files_of_its_versions(
    kafka: Kafka,
    job: Job,
    savings: SourceTable,
    wallet: SourceTable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began = at = time.time_ns() // 1_000_000
    with applier(job, mirror={"retention_hours": 2}) as own:
        for minutes in (0, 60, 90, 125, 150, 185):
            at = began + minutes * 60_000
            for module in ("run.cut_history", "run.batch", "delta.table"):
                monkeypatch.setattr(f"stream_jobs.{module}.now", lambda at=at: at)
            transfer(kafka, savings, wallet, minutes // 10)
            own.apply(())
    removed = 0
    for name in ("savings", "wallet"):
        table = DeltaLog.open(storage_of(job), f"shop/{name}")
        assert table is not None
        removed += vacuum(table, 1000, at).files

    assert removed > 0
    found = cuts(job)
    assert [cut.number for cut in found] == [3, 4, 5, 6]
    for cut in found:
        (saved,), (spent,) = rows_at(job, cut, "savings"), rows_at(job, cut, "wallet")
        assert saved[1] + spent[1] == 100


@pytest.fixture
def slow(kafka: Kafka) -> Iterator[Kafka]:
    """Another producer of the same topics."""
    producer = Kafka(kafka.bootstrap, kafka.prefix, "-slow")
    yield producer
    producer.close()


@contextmanager
def later(*steps: Callable[[], object]) -> Iterator[None]:
    """Take steps while the caller waits for them."""

    def run() -> None:
        for step in steps:
            time.sleep(0.3)
            step()

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()


class AskingClient(KafkaClient):
    """Notes the topics whose ends it asks for, and the partitions of each request for both."""

    def __init__(self, facts: BrokerConfig) -> None:
        super().__init__(facts)
        self.asked: set[str] = set()
        self.written: list[set[Partition]] = []

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        wanted = list(partitions)
        self.asked.update(topic for topic, _ in wanted)
        return super().end_offsets(wanted)

    def written_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        wanted = set(partitions)
        self.written.append(wanted)
        return super().written_offsets(wanted)


@contextmanager
def applier(job: Job, **sections: Any) -> Iterator[BatchApplier]:
    """The part of the job that applies batches."""
    settings = job.settings(**sections)
    client = AskingClient(settings.kafka.facts())
    yield batch_applier(settings, client, run_in_process, lambda: 2)
    client.close()


def ends(kafka: Kafka, table: SourceTable) -> list[tuple[int, int]]:
    return [(int(number), end) for number, end in kafka.end_offsets(table.topic).items()]
