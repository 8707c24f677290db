"""A record that is not what the contract says stops its table, with its offset and no value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.foundation.contract import Sequence
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

COLUMNS = (column("id", "int", key=1), column("name", "varchar", length=80))
ROW = {"id": 1, "name": "secret"}
SEQ = Sequence(1, 9, 9, 9, 9)

CASES: list[tuple[dict[str, Any], str]] = [
    ({"headers": {"cdc.seq": None}}, ": there is no header cdc.seq"),
    ({"headers": {"cdc.seq": "12"}}, ": the header cdc.seq is not a sequence"),
    ({"headers": {"cdc.seq": "9999" + "0" * 34}}, ": the header cdc.seq is not a sequence"),
    ({"headers": {"cdc.op": None}}, f", cdc.seq {SEQ}: there is no header cdc.op"),
    ({"headers": {"cdc.op": "x"}}, f", cdc.seq {SEQ}: the header cdc.op is not c, u, d, r or t"),
    ({"headers": {"cdc.schema": None}}, f", cdc.seq {SEQ}: there is no header cdc.schema"),
    (
        {"value": b'{"after": {"id": 1, "name'},
        f", cdc.seq {SEQ}: the value is not JSON with the types of schema ",
    ),
    ({"value": b""}, f", cdc.seq {SEQ}: the value has no row image for its cdc.op"),
    (
        {"value": b'{"before": {"id": 1}, "after": null}'},
        f", cdc.seq {SEQ}: the value has no row image for its cdc.op",
    ),
    ({"value": b'{"after": {"name": "secret"}}'}, f", cdc.seq {SEQ}: column id has no value"),
]


@pytest.mark.parametrize(("wrong", "reason"), CASES)
def test_it_is_named_by_topic_partition_offset_and_sequence(
    kafka: Kafka, job: Job, wrong: dict[str, Any], reason: str
) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    with kafka.transaction():
        table.send("c", None, ROW, SEQ, partition=1, **wrong)
    error = job.reason()
    assert error.startswith(f"{table.topic}, partition 1, offset 0{reason}")
    assert error.endswith(
        "; look at the record with a Kafka consumer, and repair what wrote it; then resume the "
        "table without the record: `binlog-connector-mirror resume CONFIG TABLE --skip-record 1:0`"
    )
    assert "secret" not in error


def test_a_record_without_a_value_is_refused_unless_it_is_a_tombstone(
    kafka: Kafka, job: Job
) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    headers = {"cdc.seq": str(SEQ), "cdc.op": "u", "cdc.schema": table.schema_id}
    with kafka.transaction():
        kafka.send(table.topic, table.key(ROW), None, headers)
    assert f"cdc.seq {SEQ}: there is no value, and cdc.op is not d; " in job.reason()


def test_a_record_without_a_key_is_refused_where_the_schema_has_one(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", COLUMNS).create()
    with kafka.transaction():
        table.send("u", ROW, {"id": 1, "name": "x"}, SEQ)
        kafka.send(
            table.topic,
            None,
            b"{}",
            {"cdc.seq": str(SEQ), "cdc.op": "c", "cdc.schema": table.schema_id},
            partition=0,
        )
    assert ": the record has no key, but its schema has a primary key; " in job.reason()
