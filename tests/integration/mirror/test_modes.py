"""Mirrors with a mode keep what the source loses, or say why they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)
PLAIN_ID = column("id", "int")
NAME = column("name", "varchar", length=80)
STOCK = column("stock", "int", nullable=False, added_default=5)
REPAIR = (
    "look at the record with a Kafka consumer, and repair what wrote it; then resume the table "
    "without the record: `binlog-connector-mirror resume CONFIG TABLE --skip-record"
)


def mode(name: str) -> dict[str, Any]:
    return {"tables": [{"match": ["shop.items"], "mode": name}]}


def items(kafka: Kafka, key: int = 1) -> SourceTable:
    return SourceTable(kafka, "items", (column("id", "int", key=key), NAME)).create()


def test_a_journal_keeps_columns_that_are_dropped_retyped_and_added_again(
    kafka: Kafka, job: Job
) -> None:
    table = SourceTable(kafka, "items", (ID, NAME, column("note", "text"))).create()
    table.insert({"id": 1, "name": "old", "note": "x"})
    job.apply(**mode("journal"))
    dropped = table.alter(ID, NAME)
    dropped.insert({"id": 2, "name": "without"})
    retyped = table.alter(ID, column("name", "int"), STOCK)
    retyped.truncate()
    retyped.insert({"id": 2, "name": 7, "stock": 5})
    # Both steps in one batch, and then the column comes back.
    job.apply(**mode("journal"))
    again = table.alter(ID, column("name", "int"), STOCK, column("note", "text"))
    again.insert({"id": 3, "name": 8, "stock": 0, "note": "new"})
    job.apply(**mode("journal"))
    names = ["id", "name", "stock", "note", "note__2", "name__2"]
    own = ["_cdc_op", "_cdc_ts", "_cdc_hi", "_cdc_lo"]
    data = job.data("items")
    assert data.column_names == [*names, *own]
    rows = sorted(data.to_pylist(), key=lambda row: row["_cdc_hi"])
    assert [tuple(row[name] for name in (*names, "_cdc_op")) for row in rows] == [
        (1, None, None, None, "x", "old", "c"),
        (2, None, None, None, None, "without", "c"),
        (None, None, None, None, None, None, "t"),
        (2, 7, 5, None, None, None, "c"),
        (3, 8, 0, "new", None, None, "c"),
    ]


def test_a_late_row_of_an_older_list_keeps_its_values_in_a_journal(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    with kafka.transaction():
        table.send("c", None, {"id": 1, "name": "old"}, partition=0)
    job.apply(**mode("journal"))
    late, later = kafka.next_sequence(), kafka.next_sequence()
    between = table.alter(ID, column("code", "binary", length=2))
    newest = table.alter(ID, column("name", "int"), column("code", "int"))
    with kafka.transaction():
        newest.send("c", None, {"id": 2, "name": 7, "code": 1}, partition=0)
    job.apply(**mode("journal"))
    with kafka.transaction():
        table.send("c", None, {"id": 3, "name": "late"}, late, partition=1)
        between.send("c", None, {"id": 4, "code": "AAA="}, later, partition=1)
    job.apply(**mode("journal"))
    names = ("id", "name", "code", "name__2", "code__2")
    assert sorted(job.rows("items", *names), key=str) == [
        (1, None, None, "old", None),
        (2, 7, 1, None, None),
        (3, None, None, "late", None),
        (4, None, None, None, b"\0\0"),
    ]


def test_versions_from_before_a_column_was_retyped_keep_their_values(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"})
    job.apply(**mode("history"))
    # ALTER TABLE items MODIFY name INT, which the connector answers with a copy.
    table.truncate()
    retyped = table.alter(ID, column("name", "int"))
    with kafka.transaction():
        retyped.send("r", None, {"id": 1, "name": 7})
    job.apply(**mode("history"))
    retyped.delete({"id": 1, "name": 7})
    job.apply(**mode("history"))
    names = ("_cdc_end_op", "id", "name", "name__2", "_cdc_is_current")
    assert job.rows("items", *names) == [("d", 1, 7, None, False), ("t", 1, None, "old", False)]


@pytest.mark.parametrize(
    ("name", "own"), [("soft_delete", ("_cdc_deleted",)), ("history", ("_cdc_is_current",))]
)
def test_existing_rows_get_the_value_that_the_server_gave_them_in_an_added_column(
    kafka: Kafka, job: Job, name: str, own: tuple[str]
) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"}, {"id": 2, "name": "gone"})
    table.delete({"id": 2, "name": "gone"})
    job.apply(**mode(name))
    table.alter(ID, NAME, STOCK).insert({"id": 3, "name": "new", "stock": 9})
    job.apply(**mode(name))
    is_deleted = name == "soft_delete"
    assert job.rows("items", "id", "name", "stock", *own) == [
        (1, "old", 5, not is_deleted),
        (2, "gone", 5, is_deleted),
        (3, "new", 9, not is_deleted),
    ]


def test_a_soft_deleted_row_keeps_a_dropped_column_and_lives_under_another_key(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "a"}, {"id": 2, "name": "b"})
    job.apply(**mode("soft_delete"))
    table.truncate()
    other = table.alter(column("code", "varchar", length=9, key=1), PLAIN_ID)
    with kafka.transaction():
        other.send("r", None, {"code": "x", "id": 1})
    job.apply(**mode("soft_delete"))
    other.update({"code": "x", "id": 1}, {"code": "x", "id": 5})
    job.apply(**mode("soft_delete"))
    rows = job.data("items").select(["code", "id", "name", "_cdc_deleted"]).to_pylist()
    assert sorted((tuple(row.values()) for row in rows), key=str) == [
        ("x", 5, None, False),
        (None, 1, "a", True),
        (None, 2, "b", True),
    ]


def test_versions_stay_in_the_partitions_of_their_values(kafka: Kafka, job: Job) -> None:
    columns = (ID, column("area", "int"))
    table = SourceTable(kafka, "items", columns).create()
    tables = [{"match": ["shop.items"], "mode": "history", "partition_by": ["area"]}]
    table.insert({"id": 1, "area": 7}, {"id": 2, "area": 7}, {"id": 3, "area": None})
    job.apply(tables=tables)
    table.update({"id": 1, "area": 7}, {"id": 1, "area": 8})
    table.delete({"id": 2, "area": 7})
    job.apply(tables=tables)
    table.truncate()
    job.apply(tables=tables)
    rows = job.rows("items", "id", "_cdc_end_op", "area")
    assert rows == [(1, "t", 8), (1, "u", 7), (2, "d", 7), (3, "t", None)]


@pytest.mark.parametrize("is_mirrored", [True, False], ids=["mirrored", "in one batch"])
@pytest.mark.parametrize("is_dropped", [True, False], ids=["dropped", "retyped"])
def test_a_history_has_the_default_of_a_column_only_until_another_one_has_its_name(
    kafka: Kafka, job: Job, is_mirrored: bool, is_dropped: bool
) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"})
    if is_mirrored:
        job.apply(**mode("history"))
    at = column("at", "time", nullable=False, fraction=2, added_default="23:59:59.99")
    table.alter(ID, NAME, at).insert({"id": 2, "name": "with", "at": "00:00:01.00"})
    if is_dropped:
        table.alter(ID, column("name", "text")).insert({"id": 3, "name": "without"})
    # The connector answers both with a copy: MODIFY at BIGINT, and ADD COLUMN of an earlier name.
    table.truncate()
    copied = table.alter(ID, NAME, column("at", "bigint", nullable=False))
    with kafka.transaction():
        copied.send("r", None, {"id": 1, "name": "old", "at": 235960})
        copied.send("r", None, {"id": 2, "name": "with", "at": 1})
    job.apply(**mode("history"))
    rows = job.data("items").select(["id", "at", "at__2", "_cdc_is_current"]).to_pylist()
    current = sorted((row["id"], row["at"], row["at__2"]) for row in rows if row["_cdc_is_current"])
    assert current == [(1, 235960, None), (2, 1, None)]
    assert {row["at"] for row in rows if not row["_cdc_is_current"]} == {None}


def test_another_mode_than_that_of_the_mirror_is_refused(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"})
    job.apply()
    table.insert({"id": 2, "name": "new"})
    assert job.reason(**mode("history")) == (
        f"shop.items: the mirror at {job.path('items')} was made with mode 'current', but the "
        "configuration says 'history'; set mode = 'current' for it in [[tables]] and resume it "
        "(`binlog-connector-mirror resume`), or let it be made again from its topic: "
        "`resume CONFIG TABLE --rebuild`"
    )
    assert job.rows("items") == [(1, "old")]
    job.resume("shop.items", rebuild=True)
    job.run(**mode("history"))
    columns = ("id", "name", "_cdc_is_current")
    assert job.rows("items", *columns) == [(1, "old", True), (2, "new", True)]


def test_rows_are_counted_for_tables_without_a_key_alone(kafka: Kafka, job: Job) -> None:
    items(kafka).insert({"id": 1, "name": "old"})
    assert job.reason(**mode("rows")) == (
        'shop.items: mode "rows" is for tables without a primary key, and this table has one; '
        'set mode = "current" for it in [[tables]], which has the same rows; if there is a mirror '
        f"at {job.path('items')}, let it be made again "
        "(`binlog-connector-mirror resume CONFIG TABLE --rebuild`)"
    )


def test_a_row_that_was_never_counted_cannot_be_taken_away(kafka: Kafka, job: Job) -> None:
    table = items(kafka, key=0)
    table.insert({"id": 1, "name": "a"}, {"id": 1, "name": "a"})
    job.apply(**mode("rows"))
    with kafka.transaction():
        table.send("d", {"id": 1, "name": "a"}, None)
        seq = kafka.next_sequence()
        table.send("d", {"id": 2, "name": "a"}, None, seq)
    assert job.reason(**mode("rows")) == (
        f"{table.topic}, partition 0, offset 4, cdc.seq {seq}: the mirror does not have the row "
        "that it takes away; let the connector copy the table again (`binlog-connector snapshot`), "
        "and resume it without the record: `binlog-connector-mirror resume CONFIG TABLE "
        "--skip-record PARTITION:OFFSET`"
    )
    assert job.rows("items") == [(1, "a"), (1, "a")]


def test_rows_that_a_truncate_has_taken_may_change_until_the_copy_brings_them(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka, key=0)
    table.insert({"id": 1, "name": "a"}, {"id": 1, "name": "a"}, {"id": 2, "name": "b"})
    job.apply(**mode("rows"))
    # An ALTER that may change values; the copy follows later.
    table.truncate()
    table.update({"id": 1, "name": "a"}, {"id": 1, "name": "c"})
    table.delete({"id": 2, "name": "b"})
    assert job.apply(**mode("rows"))["tables"]["shop.items"]["missing"] == 2
    assert job.rows("items") == [(1, "c")]
    table.truncate()
    with kafka.transaction():
        for name in ("a", "c"):
            table.send("r", None, {"id": 1, "name": name})
    table.delete({"id": 1, "name": "c"})
    assert job.apply(**mode("rows"))["tables"]["shop.items"]["missing"] == 0
    assert job.rows("items") == [(1, "a")]


def test_a_history_refuses_an_older_change_of_a_key_from_another_partition(
    kafka: Kafka, job: Job
) -> None:
    table = items(kafka)
    early = kafka.next_sequence()
    with kafka.transaction():
        table.send("c", None, {"id": 1, "name": "new"}, partition=0)
    job.apply(**mode("history"))
    with kafka.transaction():
        table.send("c", None, {"id": 1, "name": "old"}, early, partition=1)
    assert job.reason(**mode("history")) == (
        f"{table.topic}, partition 1, offset 0, cdc.seq {early}: the mirror has a later version of "
        f"its row; {REPAIR} 1:0`"
    )


def test_a_history_needs_a_key_for_ever(kafka: Kafka, job: Job) -> None:
    table = items(kafka)
    table.insert({"id": 1, "name": "old"})
    job.apply(**mode("history"))
    table.truncate()
    table.alter(PLAIN_ID, NAME).insert({"id": 1, "name": "old"})
    assert job.reason(**mode("history")) == (
        "shop.items: the table has no primary key any more, and the mode of its mirror at "
        f'{job.path("items")} needs one; set mode = "journal" for it in [[tables]], and let it be '
        "made again from its topic (`binlog-connector-mirror resume CONFIG TABLE --rebuild`)"
    )
