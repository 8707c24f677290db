"""A table that cannot go on is set aside with its reason, the others go on, and it is resumed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from kafka.structs import TopicPartition

from connector.foundation.contract import OP_CREATE
from connector.foundation.errors import ConfigError
from stream_jobs.delta.storages import LocalStorage
from stream_jobs.delta.table import DeltaTable, TableCommit
from stream_jobs.errors import job_errors, record_errors
from stream_jobs.run import batch
from stream_jobs.run.quarantine import Quarantine
from stream_jobs.tables.mirror_metadata import DOMAIN, Progress
from stream_jobs.tables.quarantine_files import QuarantineFiles, ResumedTable
from tests.foundation.errors.texts import text_of
from tests.stream_jobs.topics import PARTITIONS, SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job, RunningJob, SparkJob
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))


class Died(Exception):
    """Stands for the end of the process."""


def row(number: int) -> dict[str, Any]:
    return {"id": number, "name": f"item {number}"}


def rows(*numbers: int) -> list[tuple[int, str]]:
    return [(number, f"item {number}") for number in numbers]


def two_tables(kafka: Kafka) -> tuple[SourceTable, SourceTable]:
    return (
        SourceTable(kafka, "good", COLUMNS).create(),
        SourceTable(kafka, "poisoned", COLUMNS).create(),
    )


def poison(table: SourceTable, partition: int = 0) -> None:
    """Write a record that is none of the connector's."""
    with table.kafka.transaction():
        table.send("c", None, row(0), value=b"\xff\x00 not ours", partition=partition)


def end(kafka: Kafka, table: SourceTable, partition: int = 0) -> int:
    return kafka.end_offsets(table.topic)[str(partition)]


def record_of(job: Job, table: SourceTable) -> dict[str, Any]:
    """The file that says why a table is set aside."""
    path = job.folder / "mirror" / "_cdc" / "quarantine" / f"{table.topic}.json"
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def test_bytes_that_are_not_ours_stop_their_table_alone_until_the_record_is_left_out(
    kafka: Kafka, job: Job
) -> None:
    good, poisoned = two_tables(kafka)
    good.insert(row(1))
    poisoned.insert(row(1))
    job.apply()
    offset = end(kafka, poisoned)
    poison(poisoned)
    poisoned.insert(row(2))
    good.insert(row(2))
    lines = job.run()
    assert [line["event"] for line in lines] == ["table_quarantined", "batch_applied"]
    told = lines[0]
    assert (told["table"], told["topic"]) == ("shop.poisoned", poisoned.topic)
    assert (told["code"], told["partition"], told["offset"]) == (
        record_errors.NOT_JSON.code,
        0,
        offset,
    )
    assert told["error"].startswith(f"{poisoned.topic}, partition 0, offset {offset}, cdc.seq ")
    assert told["error"].endswith(f"--skip-record 0:{offset}`")
    assert lines[1]["set_aside"] == 1
    assert list(lines[1]["tables"]) == ["shop.good"]
    # The others go on, also after a restart, and nobody tries the table again.
    poisoned.insert(row(3))
    good.insert(row(3))
    (line,) = job.run()
    assert (line["set_aside"], list(line["tables"])) == (1, ["shop.good"])
    assert (job.rows("good"), job.rows("poisoned")) == (rows(1, 2, 3), rows(1))

    assert job.resume("shop.poisoned", skipped=[(0, offset)]) == [
        ResumedTable("shop.poisoned", False)
    ]
    lines = job.run()
    assert [line["event"] for line in lines] == ["retried", "record_skipped", "table_resumed"]
    assert lines[1] == {
        "event": "record_skipped",
        "topic": poisoned.topic,
        "partition": 0,
        "offset": offset,
    }
    assert job.rows("poisoned") == rows(1, 2, 3)
    poisoned.insert(row(4))
    assert job.apply()["set_aside"] == 0
    assert job.rows("poisoned") == rows(1, 2, 3, 4)
    assert [
        path for path in job.folder.glob("mirror/_cdc/*/*") if path.parent.name != "owner"
    ] == []


@pytest.mark.parametrize("is_there", [True, False], ids=["a mirror", "no mirror"])
def test_a_record_that_was_left_out_alone_stays_so_after_a_restart(
    kafka: Kafka, job: Job, is_there: bool
) -> None:
    _, poisoned = two_tables(kafka)
    if is_there:
        poisoned.insert(row(1))
        job.apply()
    offset = end(kafka, poisoned)
    poison(poisoned)
    job.quarantined()
    job.resume("shop.poisoned", skipped=[(0, offset)])
    lines = job.run()
    assert [line["event"] for line in lines] == ["retried", "record_skipped", "table_resumed"]
    poisoned.insert(row(2))
    assert job.apply()["set_aside"] == 0
    assert job.rows("poisoned") == rows(1, 2)[not is_there :]


def test_records_in_kafka_that_are_gone_stop_their_table_alone(kafka: Kafka, job: Job) -> None:
    """All tables are read together, so the others are read again."""
    good, poisoned = two_tables(kafka)
    other = SourceTable(kafka, "zebra", COLUMNS).create()
    for table in (good, poisoned, other):
        table.insert(row(1))
    job.apply()
    for table in (good, poisoned, other):
        table.insert(row(2), row(3), row(4))
    offsets = {int(n): offset for n, offset in kafka.end_offsets(poisoned.topic).items()}
    kafka._admin.delete_records(
        {TopicPartition(poisoned.topic, number): offset for number, offset in offsets.items()}
    )
    line = job.quarantined()
    assert (line["table"], line["code"]) == ("shop.poisoned", record_errors.RECORDS_GONE.code)
    assert job.rows("good") == job.rows("zebra") == rows(1, 2, 3, 4)
    # Resumed as it is, it lacks the same records.
    job.resume("shop.poisoned")
    lines = job.run()
    assert [line["event"] for line in lines] == ["retried", "table_quarantined"]
    assert lines[1]["code"] == record_errors.RECORDS_GONE.code
    # The connector copies the table.
    poisoned.truncate()
    with kafka.transaction():
        for number in (2, 3, 4):
            poisoned.send("r", None, row(number))
    assert job.resume("shop.poisoned", rebuild=True) == [ResumedTable("shop.poisoned", True)]
    job.run()
    assert job.rows("poisoned") == rows(2, 3, 4)


def test_a_table_without_a_mirror_begins_where_it_was_set_aside(kafka: Kafka, job: Job) -> None:
    good, poisoned = two_tables(kafka)
    poisoned.insert(row(1))
    offset = end(kafka, poisoned)
    poison(poisoned)
    good.insert(row(1))
    assert job.quarantined()["offset"] == offset
    assert record_of(job, poisoned)["begun"] == {"0": 0, "1": 0}
    poisoned.insert(row(2))
    assert job.apply()["set_aside"] == 1
    poisoned.insert(row(3))
    job.delete_checkpoint()
    assert job.apply()["set_aside"] == 1
    job.resume("shop.poisoned", skipped=[(0, offset)])
    job.run()
    assert job.rows("poisoned") == rows(1, 2, 3)


def test_a_table_without_a_mirror_is_not_built_without_records_that_kafka_has_deleted(
    kafka: Kafka, job: Job
) -> None:
    poisoned = SourceTable(kafka, "poisoned", COLUMNS).create()
    poisoned.insert(*(row(number) for number in range(1, 9)))
    poison(poisoned)
    job.quarantined()
    kafka._admin.delete_records({TopicPartition(poisoned.topic, 0): end(kafka, poisoned)})
    job.resume("shop.poisoned")
    assert job.quarantined()["code"] == record_errors.RECORDS_GONE.code


def test_a_topic_that_was_made_again_stops_its_table_alone(kafka: Kafka, job: Job) -> None:
    good, other = two_tables(kafka)
    for table in (good, other):
        table.insert(*(row(number) for number in range(1, 9)))
    job.apply()
    kafka.make_again(other.topic)
    good.insert(row(9))
    line = job.quarantined()
    assert (line["table"], line["code"]) == ("shop.poisoned", record_errors.TOPIC_SHORTER.code)
    assert job.rows("good") == rows(*range(1, 10))
    job.resume("shop.poisoned")
    assert job.quarantined()["code"] == record_errors.TOPIC_SHORTER.code
    other.insert(row(10))
    job.resume("shop.poisoned", rebuild=True)
    job.run()
    assert job.rows("poisoned") == rows(10)


@pytest.mark.parametrize("is_running", [False, True], ids=["down", "running"])
def test_a_topic_that_was_made_again_and_is_longer_now_stops_its_table_alone(
    kafka: Kafka, job: Job, running_job: RunningJob, is_running: bool
) -> None:
    good, other = two_tables(kafka)
    for table in (good, other):
        table.insert(row(1), row(2))

    def run() -> list[tuple[str, str]]:
        if is_running:
            return [(own.table, own.code) for own in running_job.apply(good, other).quarantined]
        lines = job.run()
        return [(each["table"], each["code"]) for each in lines if "quarantined" in each["event"]]

    assert run() == []
    kafka.make_again(other.topic)
    other.truncate()
    other.insert(*(row(number) for number in range(3, 30)))
    good.insert(row(3))
    assert run() == [("shop.poisoned", record_errors.TOPIC_MADE_AGAIN.code)]
    assert (job.rows("good"), job.rows("poisoned")) == (rows(1, 2, 3), rows(1, 2))
    assert record_of(job, other)["reason"] == text_of(
        record_errors.TOPIC_MADE_AGAIN, topic=other.topic
    )
    job.resume("shop.poisoned", rebuild=True)
    job.run()
    assert job.rows("poisoned") == rows(*range(3, 30))


@pytest.mark.parametrize("is_repeated", [False, True])
def test_a_mirror_that_does_not_know_its_topic_learns_it(
    kafka: Kafka, job: Job, is_repeated: bool
) -> None:
    _, table = two_tables(kafka)
    sequence = kafka.next_sequence()
    with kafka.transaction():
        table.send(OP_CREATE, None, row(1), sequence)
    job.apply()
    delta = DeltaTable.open(LocalStorage(str(job.folder / "mirror")), "shop/poisoned")
    assert delta is not None
    progress = Progress.read(delta.snapshot.domains[DOMAIN])
    assert progress.topic_id
    earlier = replace(progress, topic_id="").write()
    assert "topic" not in earlier
    delta.commit(TableCommit(domains={DOMAIN: earlier}), "WRITE")
    with kafka.transaction():
        # A record that comes twice changes nothing.
        table.send(OP_CREATE, None, row(1), sequence if is_repeated else None)
    job.apply()
    assert Progress.read(delta.refresh().domains[DOMAIN]).topic_id == progress.topic_id


def test_a_topic_that_is_gone_does_not_seem_to_have_caught_up(kafka: Kafka, job: Job) -> None:
    good, poisoned = two_tables(kafka)
    poisoned.insert(row(1))
    offset = end(kafka, poisoned)
    poison(poisoned)
    job.quarantined()
    kafka.delete_topic(poisoned.topic)
    job.resume("shop.poisoned", skipped=[(0, offset)])
    line = job.quarantined()
    assert line["code"] == record_errors.PARTITIONS_MISSING.code
    assert line["error"].startswith(f"{poisoned.topic}: Kafka does not show partition ")
    # The command says that the topic is not needed any more.
    job.resume("shop.poisoned", rebuild=True)
    said = [line["event"] for line in job.run()]
    assert said == ["retried", "record_skipped", "table_resumed"]
    good.insert(row(1))
    assert job.apply()["set_aside"] == 0


def test_records_are_left_out_one_after_the_other(kafka: Kafka, job: Job) -> None:
    _, poisoned = two_tables(kafka)
    poisoned.insert(row(1))
    places = []
    for number in (2, 3):
        places.append((1, end(kafka, poisoned, 1)))
        poison(poisoned, 1)
        poisoned.insert(row(number))
    since = job.quarantined() and record_of(job, poisoned)["since"]
    job.resume("shop.poisoned", skipped=places[:1])
    lines = job.run()
    assert [line["event"] for line in lines] == ["retried", "table_quarantined", "record_skipped"]
    assert (lines[1]["partition"], lines[1]["offset"]) == places[1]
    record = record_of(job, poisoned)
    assert (record["since"], record["skipped"]) == (since, [list(places[0])])
    job.resume("shop.poisoned", skipped=places[1:])
    lines = job.run()
    assert [line["event"] for line in lines] == [
        "retried",
        "record_skipped",
        "record_skipped",
        "table_resumed",
    ]
    assert job.rows("poisoned") == rows(1, 2, 3)


def test_a_record_with_broken_headers_is_left_out_too(kafka: Kafka, job: Job) -> None:
    _, poisoned = two_tables(kafka)
    poisoned.insert(row(1))
    offset = end(kafka, poisoned)
    with kafka.transaction():
        kafka.send(poisoned.topic, b"k", b"v", {"cdc.seq": "x", "cdc.op": "t"}, 0)
    job.quarantined()
    job.resume("shop.poisoned", skipped=[(0, offset)])
    job.run()
    assert job.rows("poisoned") == rows(1)


def test_a_cause_that_is_gone_is_no_reason_any_more(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    table.insert(row(1))
    write_deltalake(job.path("items"), pa.table({"id": [1, 2, 3]}))
    assert job.quarantined()["code"] == job_errors.ANOTHER_TABLE.code
    # What is not ours is not thrown away.
    job.resume("shop.items", rebuild=True)
    assert job.quarantined()["code"] == job_errors.ANOTHER_TABLE.code
    shutil.rmtree(job.path("items"))
    job.resume(every=True)
    assert [line["event"] for line in job.run()] == ["retried", "table_resumed"]
    assert job.rows("items") == rows(1)


def test_a_mirror_that_was_damaged_is_made_again_from_the_topic(kafka: Kafka, job: Job) -> None:
    good, damaged = two_tables(kafka)
    for table in (good, damaged):
        table.insert(row(1), row(2))
        table.delete(row(1))
    job.apply()
    for file in job.folder.glob("mirror/shop/poisoned/_delta_log/*00.json"):
        file.write_bytes(b"{")
    for table in (good, damaged):
        table.insert(row(3))
    line = job.quarantined()
    assert line["error"].startswith("shop/poisoned/_delta_log/00000000000000000000.json cannot")
    assert job.resume("shop.poisoned", rebuild=True) == [ResumedTable("shop.poisoned", False)]
    job.run()
    assert job.rows("poisoned") == job.rows("good") == rows(2, 3)


HOSTILE = ["..", "../../etc/passwd", "_cdc", "a\0b", 'x" | rm -rf', "é" * 64, "z" * 200]


def test_an_entry_of_a_log_that_cannot_be_read_stops_its_table_alone(
    kafka: Kafka, job: Job
) -> None:
    good, poisoned = two_tables(kafka)
    for table in (good, poisoned):
        table.insert(row(1))
    job.apply()
    for table in (good, poisoned):
        table.insert(row(2))
    log = job.folder / "mirror" / "shop" / "poisoned" / "_delta_log"
    (entry,) = log.glob("*0.json")
    content = entry.read_bytes()
    # Root may read every file, but no folder.
    entry.unlink()
    entry.mkdir()
    line = job.quarantined()
    assert (line["table"], line["code"]) == ("shop.poisoned", "M517")
    assert line["error"].startswith(f"{entry} cannot be read: Is a directory; let the account of ")
    assert job.rows("good") == rows(1, 2)

    entry.rmdir()
    entry.write_bytes(content)
    job.resume("shop.poisoned")
    job.run()
    assert job.rows("poisoned") == rows(1, 2)


def test_a_hostile_name_stays_below_the_folder_of_the_job(kafka: Kafka, job: Job) -> None:
    tables = [
        SourceTable(kafka, name, COLUMNS, database=f"d{number}").create()
        for number, name in enumerate(HOSTILE)
    ]
    for table in tables:
        poison(table)
    lines = job.run()
    told = [line["table"] for line in lines if line["event"] == "table_quarantined"]
    assert told == [f"{table.database}.{table.name}" for table in tables]
    files = {path.relative_to(job.folder).parts for path in job.folder.rglob("*") if path.is_file()}
    assert {parts[:3] for parts in files} <= {
        ("mirror", "_cdc", "quarantine"),
        ("mirror", "_cdc", "owner"),
    }
    for table, asked in zip(tables, job.resume(every=True), strict=True):
        assert asked == ResumedTable(f"{table.database}.{table.name}", needs_copy=False)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_around_the_record_repeats_the_batch(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    good, poisoned = two_tables(kafka)
    poisoned.insert(row(1))
    poison(poisoned)
    good.insert(row(1))
    put = Quarantine.set_aside

    def die(*arguments: Any) -> None:
        if moment == "after":
            put(*arguments)
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(Quarantine, "set_aside", die)
        with pytest.raises(Died):
            job.run()
    lines = job.run()
    assert [line["event"] for line in lines] == [
        *(["table_quarantined"] if moment == "before" else []),
        "batch_applied",
    ]
    assert lines[-1]["set_aside"] == 1
    assert job.rows("good") == rows(1)


def test_a_crash_while_a_mirror_is_thrown_away_repeats_that(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, table = two_tables(kafka)
    table.insert(row(1))
    job.apply()
    table.insert(row(2))
    offset = end(kafka, table)
    poison(table)
    job.quarantined()
    job.resume("shop.poisoned", rebuild=True, skipped=[(0, offset)])

    def die(*_: Any, **__: Any) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(QuarantineFiles, "ask", die)
        with pytest.raises(Died):
            job.run()
    job.run()
    assert job.rows("poisoned") == rows(1, 2)


def test_a_large_table_is_resumed_in_steps(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, table = two_tables(kafka)
    offset = end(kafka, table)
    poison(table)
    job.quarantined()
    numbers = range(1, 21)
    table.insert(*(row(number) for number in numbers))
    job.apply()
    monkeypatch.setattr(batch, "_RETRIED_RECORDS", 10)
    job.resume("shop.poisoned", skipped=[(0, offset)])
    events = [line["event"] for line in job.run()]
    assert events.count("retried") > 2
    assert events[-1] == "table_resumed"
    assert job.rows("poisoned") == rows(*numbers)


def test_an_old_request_does_not_resume_a_table_that_is_set_aside_later(
    kafka: Kafka, job: Job
) -> None:
    _, table = two_tables(kafka)
    poison(table)
    job.quarantined()
    asked = job.folder / "mirror" / "_cdc" / "resume" / f"{table.topic}.json"
    job.resume("shop.poisoned", skipped=[(0, 0)])
    old = asked.read_bytes()
    job.run()
    poison(table, 1)
    job.quarantined()
    asked.write_bytes(old)
    assert job.run() == []


def test_only_a_table_that_is_set_aside_can_be_resumed(kafka: Kafka, job: Job) -> None:
    two_tables(kafka)[0].insert(row(1))
    job.apply()
    with pytest.raises(ConfigError) as caught:
        job.resume("shop.good")
    assert caught.value.text == text_of(
        job_errors.NOT_SET_ASIDE, table="shop.good", config=job.folder / "job.toml"
    )


def test_a_file_of_somebody_else_among_the_records_is_named(kafka: Kafka, job: Job) -> None:
    two_tables(kafka)[0].insert(row(1))
    path = job.folder / "mirror" / "_cdc" / "quarantine" / "notes.json"
    path.parent.mkdir(parents=True)
    path.write_text("[]", encoding="utf-8")
    assert job.error() == text_of(job_errors.OWN_FILE, path=path)


@pytest.mark.spark
def test_a_running_job_resumes_a_table_without_new_records(
    kafka: Kafka, spark_job: SparkJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, poisoned = two_tables(kafka)
    places: list[tuple[int, int]] = []

    def change(number: int) -> None:
        poisoned.insert(row(number))
        places.append((0, end(kafka, poisoned)))
        poison(poisoned)
        good.insert(row(number))

    put, go_on = Quarantine.set_aside, Quarantine.go_on

    def ask(*arguments: Any) -> Any:
        record = put(*arguments)
        spark_job.resume("shop.poisoned", skipped=places)
        return record

    def stop(*arguments: Any) -> str:
        assert spark_job.running is not None
        spark_job.running.stop()
        return go_on(*arguments)

    monkeypatch.setattr(Quarantine, "set_aside", ask)
    said = {"started", "table_quarantined", "batch_applied", "retried", "table_resumed", "stopped"}
    # They come or not, by how fast the machine is.
    passing = {"idle", "record_skipped", "no_cuts", "working"}
    with monkeypatch.context() as patched:
        patched.setattr(Quarantine, "go_on", stop)
        change(1)
        lines = spark_job.run(trigger={"kind": "processingTime", "interval_seconds": 0.1})
    assert {line["event"] for line in lines} - passing == said
    assert (spark_job.rows("good"), spark_job.rows("poisoned")) == (rows(1), rows(1))
    # A job that applies what is there resumes tables at its end.
    change(2)
    lines = spark_job.run()
    assert {line["event"] for line in lines} - passing == said
    assert (spark_job.rows("good"), spark_job.rows("poisoned")) == (rows(1, 2), rows(1, 2))
    told = [line["end_offsets"] for line in lines if poisoned.topic in line.get("end_offsets", {})]
    assert set(told[-1][poisoned.topic]) == {str(n) for n in range(PARTITIONS)}
