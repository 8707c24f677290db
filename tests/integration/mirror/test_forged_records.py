"""A record that no pipeline wrote does not win over later ones: its table is set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.contract import Sequence
from stream_jobs.errors import record_errors
from stream_jobs.run.cut_coordinator import CutCoordinator
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))
FOR_EVER = Sequence(6, 0, 0, 0, 0)


@pytest.fixture(autouse=True)
def _short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stream_jobs.run.cut_coordinator._PATIENCE_SECONDS", 0.2)


def row(number: int, name: str) -> dict[str, Any]:
    return {"id": number, "name": name}


def write(kafka: Kafka, table: SourceTable, op: str, before: Any, after: Any) -> None:
    """Write a change as the connector does: with its progress."""
    with kafka.transaction():
        table.send(op, before, after, partition=0)
        kafka.progress()


def forge(kafka: Kafka, table: SourceTable, op: str, after: Any, sequence: Sequence) -> int:
    """Write a record as one who may write to the topic; return its offset."""
    offset = kafka.end_offsets(table.topic)["0"]
    with kafka.transaction():
        table.send(op, None, after, sequence, partition=0)
    kafka.settle()
    return offset


@pytest.mark.parametrize("op", ["u", "t"])
def test_a_sequence_beyond_all_progress_sets_the_table_aside_and_the_others_go_on(
    kafka: Kafka, job: Job, op: str
) -> None:
    good = SourceTable(kafka, "good", COLUMNS).create()
    table = SourceTable(kafka, "items", COLUMNS).create()
    for each in (good, table):
        write(kafka, each, "c", None, row(1, "first"))
    job.apply()

    offset = forge(kafka, table, op, row(1, "forged") if op == "u" else None, FOR_EVER)
    write(kafka, table, "u", row(1, "first"), row(1, "second"))
    write(kafka, good, "u", row(1, "first"), row(1, "second"))
    told = job.quarantined()
    assert (told["table"], told["code"]) == ("shop.items", record_errors.BEYOND_PROGRESS.code)
    assert (told["partition"], told["offset"]) == (0, offset)
    assert told["error"].startswith(
        f"{table.topic}, partition 0, offset {offset}: the sequence of the record is beyond what "
        f"{kafka.prefix}.progress says of any pipeline; "
    )
    assert job.rows("items") == [(1, "first")]
    assert job.rows("good") == [(1, "second")]

    # Resumed as it is, the table meets the same record.
    job.resume("shop.items")
    lines = job.run()
    assert [line["event"] for line in lines] == ["retried", "table_quarantined"]
    assert lines[1]["offset"] == offset

    job.resume("shop.items", skipped=[(0, offset)])
    lines = job.run()
    assert [line["event"] for line in lines] == ["retried", "record_skipped", "table_resumed"]
    assert job.rows("items") == [(1, "second")]
    # A copy, as `verify --repair` asks for, wins.
    write(kafka, table, "r", None, row(1, "copied"))
    job.apply()
    assert job.rows("items") == [(1, "copied")]


def test_it_is_refused_while_the_stream_goes_on(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    write(kafka, table, "c", None, row(1, "first"))
    forge(kafka, table, "u", row(1, "forged"), FOR_EVER)
    original, beats = kafka.settle, iter(range(1000))

    later = CutCoordinator.later

    def while_it_streams(self: CutCoordinator, bound: Any) -> Any:
        number = next(beats)
        assert number < 10, "the batch never ends"
        write(kafka, table, "c", None, row(2 + number, "more"))
        original()
        return later(self, bound)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CutCoordinator, "later", while_it_streams)
        told = job.quarantined()
    assert told["code"] == record_errors.BEYOND_PROGRESS.code
    assert job.rows("items") == [(1, "first")]


def test_a_record_of_another_pipeline_is_covered_by_its_progress(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    other = SourceTable(kafka, "others", COLUMNS).create()
    with kafka.transaction():
        kafka.progress("another", epoch=7)
    write(kafka, table, "c", None, row(1, "ours"))
    with kafka.transaction():
        other.send("c", None, row(1, "theirs"), FOR_EVER, partition=0)
    job.apply()
    assert (job.rows("items"), job.rows("others")) == ([(1, "ours")], [(1, "theirs")])
