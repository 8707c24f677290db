"""Added columns reach the mirror with the values that rows had in them; other changes stop."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from stream_jobs.tables.mirror_table import MirrorTable
from stream_jobs.tables.schema_registry import SchemaRegistry
from tests.stream_jobs.topics import Kafka, SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)
STOCK = column("stock", "int", nullable=False, added_default=5)
NOTE = column("note", "text")


def items(kafka: Kafka) -> SourceTable:
    return SourceTable(kafka, "items", (ID, NAME)).create()


def test_added_columns_stand_where_they_do_at_the_source_and_old_rows_get_the_default(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"}, {"id": 2, "name": "old"}, {"id": 3, "name": "old"})
    job.apply()
    table.update({"id": 2, "name": "old"}, {"id": 2, "name": "before the change"})
    altered = table.alter(ID, STOCK, NAME, NOTE)
    altered.insert({"id": 4, "stock": 0, "name": "new", "note": "x"})
    altered.update(
        {"id": 3, "stock": 5, "name": "old", "note": None},
        {"id": 3, "stock": 6, "name": "old", "note": None},
    )
    job.apply()
    assert job.data("items").column_names == ["id", "stock", "name", "note", "_cdc_hi", "_cdc_lo"]
    assert job.rows("items", "id", "stock", "name", "note") == [
        (1, 5, "old", None),
        (2, 5, "before the change", None),
        (3, 6, "old", None),
        (4, 0, "new", "x"),
    ]


def test_a_row_of_the_older_schema_that_comes_in_a_later_batch_is_completed(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    with kafka.transaction():
        table.send("c", None, {"id": 1, "name": "old"}, partition=0)
    job.apply()
    late = kafka.next_sequence()
    altered = table.alter(ID, NAME, STOCK)
    with kafka.transaction():
        altered.send("c", None, {"id": 2, "name": "new", "stock": 9}, partition=0)
    job.apply()
    with kafka.transaction():
        # Another partition, which was behind.
        table.send("c", None, {"id": 3, "name": "late"}, late, partition=1)
    job.apply()
    assert job.rows("items") == [(1, "old", 5), (2, "new", 9), (3, "late", 5)]


def test_a_step_that_died_before_its_commit_is_finished_by_the_next_run(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"})
    job.apply()
    altered = table.alter(ID, NAME, STOCK)
    altered.insert({"id": 2, "name": "new", "stock": 9})
    with monkeypatch.context() as patched:
        # The rows are written anew when the commit of the new column dies.
        patched.setattr(MirrorTable, "commit_schema", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            job.run()
    assert job.rows("items") == [(1, "old")]
    job.apply()
    assert job.rows("items") == [(1, "old", 5), (2, "new", 9)]


def test_a_default_that_the_log_does_not_hold_stops_the_table_or_is_null_by_setting(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"})
    job.apply()
    table.alter(ID, NAME, column("code", "int", added_default_unknown=True)).insert(
        {"id": 2, "name": "new", "code": 8}
    )
    assert job.reason() == (
        "shop.items: the values of existing rows in the added column code were computed by the "
        'server and are not in the binlog; set mirror.unknown_defaults = "null" to leave NULL '
        "there, then make the source log them, for example by updating each row"
    )
    job.resume("shop.items")
    job.apply(mirror={"unknown_defaults": "null"})
    assert job.rows("items") == [(1, "old", None), (2, "new", 8)]


def test_a_zero_date_as_the_default_of_an_added_column_stops_the_table(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"})
    job.apply()
    day = column("day", "date", added_default="0000-00-00")
    table.alter(ID, NAME, day).insert({"id": 2, "name": "new", "day": "2024-02-29"})
    assert job.reason() == (
        "shop.items: existing rows have a zero date in the added column day, and Spark's types "
        'cannot hold it; set mirror.zero_dates = "null" to store NULL for such values'
    )


def test_a_record_that_is_no_schema_stops_the_job(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    with kafka.transaction():
        kafka.send(f"{kafka.prefix}.schema", b"k", b'{"database": "shop"}', {}, 0)
    table.insert({"id": 1, "name": "old"})
    assert job.error() == (
        f"{kafka.prefix}.schema: a record is not a schema record: KeyError; use a job and a "
        "connector of the same version"
    )


def test_a_retyped_column_stops_the_table_and_leaves_the_mirror_as_it_was(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"})
    job.apply()
    table.alter(ID, column("name", "int")).insert({"id": 2, "name": 7})
    assert job.reason() == (
        "shop.items: column name changed its type from varchar(80) to int; the mirror at "
        f"{job.path('items')} cannot follow this and was left as it was before the change; let "
        "the connector copy the table again (`binlog-connector snapshot`), and then resume it "
        "(`binlog-connector-mirror resume`)"
    )
    assert job.rows("items") == [(1, "old")]


def test_a_dropped_column_is_gone_also_when_the_list_of_columns_is_an_old_one(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"})
    table.alter(ID, NAME, STOCK).insert({"id": 2, "name": "new", "stock": 9})
    job.apply()
    assert job.rows("items") == [(1, "old", 5), (2, "new", 9)]
    # ALTER TABLE items DROP COLUMN stock: the schema is known, so no record announces it.
    table.insert({"id": 3, "name": "again"})
    job.apply()
    assert job.rows("items") == [(1, "old"), (2, "new"), (3, "again")]
    table.alter(ID, NAME, NOTE).insert({"id": 4, "name": "later", "note": "x"})
    job.apply()
    assert job.rows("items")[1:] == [(2, "new", None), (3, "again", None), (4, "later", "x")]


def test_a_column_that_moves_stands_where_it_does_at_the_source(kafka: Kafka, job: Job) -> None:
    table = SourceTable(kafka, "items", (ID, NAME, NOTE)).create()
    table.insert({"id": 1, "name": "a", "note": "b"})
    job.apply()
    table.alter(ID, NOTE, NAME).insert({"id": 2, "name": "c", "note": "d"})
    job.apply()
    assert job.data("items").column_names == ["id", "note", "name", "_cdc_hi", "_cdc_lo"]
    assert job.rows("items") == [(1, "b", "a"), (2, "d", "c")]


def test_wider_types_keep_the_rows(kafka: Kafka, job: Job) -> None:
    price = column("price", "decimal", precision=5, scale=2)
    table = SourceTable(kafka, "items", (ID, price)).create()
    table.insert(
        {"id": 1, "price": "1.50"}, {"id": 2, "price": "-999.99"}, {"id": 3, "price": "0.00"}
    )
    table.delete({"id": 3, "price": "0.00"})
    job.apply()
    wider = table.alter(
        column("id", "bigint", key=1), column("price", "decimal", precision=12, scale=3)
    )
    wider.update({"id": 1, "price": "1.500"}, {"id": 1, "price": "123456789.125"})
    wider.insert({"id": 2**40, "price": "2.000"})
    job.apply()
    assert job.rows("items") == [
        (1, Decimal("123456789.125")),
        (2, Decimal("-999.990")),
        (2**40, Decimal("2.000")),
    ]


def test_a_table_that_is_copied_with_other_columns_gets_them(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"}, {"id": 2, "name": "old"})
    job.apply()
    # ALTER TABLE items MODIFY name INT, which the connector answers with a copy.
    table.truncate()
    copied = table.alter(ID, column("name", "int"))
    with kafka.transaction():
        copied.send("r", None, {"id": 1, "name": 7})
        copied.send("r", None, {"id": 2, "name": None})
    job.apply()
    assert job.rows("items") == [(1, 7), (2, None)]


def test_a_table_that_gets_its_primary_key_later_has_rows_that_no_mirror_could_have(
    kafka: Kafka, job: Job
) -> None:
    table = SourceTable(kafka, "items", (column("id", "int"), NAME)).create()
    table.insert({"id": 1, "name": "old"})
    job.apply()
    table.alter(ID, NAME).insert({"id": 2, "name": "new"})
    assert job.reason().startswith(
        "shop.items: the primary key changed from () to (id); the mirror at "
    )


def test_a_table_that_is_copied_after_the_first_row_with_a_key_has_a_mirror(
    kafka: Kafka, job: Job
) -> None:
    table = SourceTable(kafka, "items", (column("id", "int"), NAME)).create()
    table.insert({"id": 1, "name": "old"})
    job.apply()
    # ALTER TABLE items ADD UNIQUE (id): the row shows the connector that there is a key.
    keyed = table.alter(ID, NAME)
    keyed.insert({"id": 2, "name": "new"})
    keyed.truncate()
    with kafka.transaction():
        keyed.send("r", None, {"id": 1, "name": "old"})
        keyed.send("r", None, {"id": 2, "name": "new"})
    job.apply()
    assert job.rows("items") == [(1, "old"), (2, "new")]


def test_a_table_that_was_dropped_and_created_with_other_columns_is_followed(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"})
    job.apply()
    table.truncate()
    table.alter(column("code", "bigint", key=1)).insert({"code": 2**40})
    job.apply()
    assert job.rows("items") == [(2**40,)]


def test_rows_of_an_unknown_schema_stop_the_table_when_it_does_not_appear(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = items(kafka)
    with kafka.transaction():
        table.send("c", None, {"id": 1, "name": "x"}, headers={"cdc.schema": "missing"})
    monkeypatch.setattr(SchemaRegistry.__init__, "__defaults__", (0.5,))
    assert job.reason() == (
        f"{table.topic}: its rows use the schema missing, but {kafka.prefix}.schema had no such "
        f"record for 0.5 seconds; check that {kafka.prefix}.schema is compacted, not deleted, and "
        "that this job may read it"
    )


def test_a_schema_behind_an_open_transaction_stops_the_job_and_no_table_is_set_aside(
    kafka: Kafka, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = items(kafka)
    # A killed broker has ended the connector's transaction in the topic of the table only.
    other = Kafka(kafka.bootstrap, f"{kafka.prefix}-other")
    with other.transaction(commit=False):
        other.send(f"{kafka.prefix}.schema", b"k", b"not ended", {}, partition=0)
        other.flush()
        altered = table.alter(ID, NAME, NOTE)
        altered.insert({"id": 1, "name": "x", "note": "y"})
        monkeypatch.setattr(SchemaRegistry.__init__, "__defaults__", (0.5,))
        assert job.error() == (
            f"{table.topic}: its rows use the schema {altered.schema_id}, but a transaction is "
            f"open in {kafka.prefix}.schema, and what follows cannot be read; start the job "
            "again; if the transaction stays open for longer than the connector's "
            "kafka.transaction_timeout_seconds, abort it with kafka-transactions.sh"
        )
    other.close()
    job.apply()
    assert job.rows("items") == [(1, "x", "y")]


def test_a_delta_table_of_someone_else_is_not_touched(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"})
    write_deltalake(job.path("items"), pa.table({"id": [1, 2, 3]}))
    assert job.reason() == (
        f"{job.path('items')} holds a Delta table that is not the mirror of shop.items; "
        "move it away, or set mirror.path to another folder"
    )
