"""What the settings choose for tables: none, hidden columns, other names."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

SALT = "a salt of 16 letters"
ID = column("id", "int", key=1)
NAME = column("name", "varchar", length=80)
PHONE = column("Phone", "varchar", length=80)
MAIL = column("mail", "varchar", length=80)
ONLY_CUSTOMERS = "shop.customers"


def sha(text: str) -> str:
    return hashlib.sha256((SALT + text).encode()).hexdigest()


def chosen(match: str = ONLY_CUSTOMERS, **choices: Any) -> dict[str, Any]:
    """Settings with choices for the tables `match`."""
    return {"tables": [{"match": [match], **choices}], "mirror": {"hash_salt": SALT}}


def customers(kafka: Kafka, *columns: Any) -> SourceTable:
    return SourceTable(kafka, "customers", (ID, NAME, *columns)).create()


def every_byte(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_topics_of_skipped_tables_are_not_read(kafka: Kafka, job: Job) -> None:
    names = ["orders", "orders_old", "logs", "my_logs"]
    tables = {name: SourceTable(kafka, name, (ID, NAME)).create() for name in names}
    # Its topic has the name of another one, but for the character that Kafka forbids.
    tables["my logs 2"] = SourceTable(kafka, "my logs 2", (ID, NAME)).create()
    for table in tables.values():
        table.insert({"id": 1, "name": table.name})
    skip = {"match": ["*.*logs", "*.my logs*", "*.orders?old"], "skip": True}
    line = job.apply(tables=[skip])
    assert list(line["tables"]) == ["shop.orders"]
    assert [topic.rpartition(".")[2] for topic in line["end_offsets"]] == ["orders"]
    assert [each.name for each in (job.folder / "mirror" / "shop").iterdir()] == ["orders"]
    # Without the setting, the tables are there from their first row on.
    assert sorted(job.apply()["tables"]) == sorted(
        f"shop.{name}" for name in tables if name != "orders"
    )
    made = {each.name for each in (job.folder / "mirror" / "shop").iterdir()}
    assert made == {"orders", "orders_old", "logs", "my_logs", "my!20logs!202"}


def test_only_some_tables_have_a_mirror_if_the_last_pattern_skips_all(
    kafka: Kafka, job: Job
) -> None:
    for name in ("orders", "items", "logs"):
        SourceTable(kafka, name, (ID, NAME)).create().insert({"id": 1, "name": "x"})
    only = [{"match": ["shop.orders", "shop.it*"]}, {"match": ["*.*"], "skip": True}]
    assert sorted(job.apply(tables=only)["tables"]) == ["shop.items", "shop.orders"]


def test_hidden_values_are_in_no_file_and_in_no_line(
    kafka: Kafka, job: Job, capfd: pytest.CaptureFixture[str]
) -> None:
    table = customers(kafka, PHONE, MAIL, column("note", "text"))
    row = {"id": 1, "name": "topsecret-name", "Phone": "topsecret-1", "mail": "topsecret-2"}
    table.insert(row | {"note": "topsecret-3"}, {"id": 2, "name": "b", "note": None})
    settings = chosen(exclude_columns=["phone"], hash_columns=["ma*"], mask_columns=["n*"])
    line = job.apply(**settings)
    assert job.data("customers").column_names == [
        "id",
        "name",
        "mail",
        "note",
        "_cdc_hi",
        "_cdc_lo",
    ]
    assert job.rows("customers") == [(1, "***", sha("topsecret-2"), "***"), (2, "***", None, None)]
    table.update(row | {"note": "topsecret-3"}, row | {"mail": "topsecret-4", "note": "x"})
    line |= job.apply(**settings)
    assert job.rows("customers", "id", "mail") == [(1, sha("topsecret-4")), (2, None)]
    table.delete({"id": 2, "name": "b", "note": "topsecret-5"})
    job.apply(**settings)
    assert job.rows("customers", "id") == [(1,)]
    seen = every_byte(job.folder) + json.dumps(line).encode() + "".join(capfd.readouterr()).encode()
    assert b"topsecret" not in seen
    assert SALT.encode() not in seen


def test_a_wrong_value_in_a_hidden_column_is_not_shown(kafka: Kafka, job: Job) -> None:
    table = customers(kafka, column("born", "date"))
    table.insert({"id": 1, "name": "x", "born": "topsecret"})
    error = job.reason(**chosen(hash_columns=["born"]))
    assert "topsecret" not in error
    assert "the value of column born does not look like date; " in error


@pytest.mark.parametrize("kind", ["exclude_columns", "mask_columns"])
def test_a_value_that_the_mirror_cannot_hold_does_not_matter_if_it_is_not_there(
    kafka: Kafka, job: Job, kind: str
) -> None:
    customers(kafka, column("born", "date")).insert({"id": 1, "name": "x", "born": "0000-00-00"})
    choices: dict[str, Any] = {kind: ["born"]}
    job.apply(**chosen(**choices))
    assert job.rows("customers", "id", "name") == [(1, "x")]


def test_a_hashed_key_finds_its_rows(kafka: Kafka, job: Job) -> None:
    key = column("ssn", "bigint", key=1)
    table = SourceTable(kafka, "customers", (key, NAME)).create()
    table.insert({"ssn": 123456789, "name": "a"}, {"ssn": 5, "name": "b"}, {"ssn": 6, "name": "c"})
    settings = chosen(hash_columns=["ssn"])
    job.apply(**settings)
    table.update({"ssn": 5, "name": "b"}, {"ssn": 5, "name": "new"})
    table.update({"ssn": 6, "name": "c"}, {"ssn": 7, "name": "c"})
    table.delete({"ssn": 123456789, "name": "a"})
    job.apply(**settings)
    assert job.rows("customers") == sorted([(sha("5"), "new"), (sha("7"), "c")])


def test_hidden_columns_follow_the_source(kafka: Kafka, job: Job) -> None:
    table = customers(kafka, column("age", "int"))
    table.insert({"id": 1, "name": "a", "age": 7})
    settings = chosen("*.*", hash_columns=["age", "mail"], exclude_columns=["pin*"])
    job.apply(**settings)
    # Wider, and a hidden one with a default, and excluded ones of an unknown default.
    wide = column("age", "bigint")
    mail = column("mail", "varchar", length=9, nullable=False, added_default="x@y")
    pin = column("pin", "char", added_default_unknown=True)
    altered = table.alter(ID, NAME, wide, mail, pin)
    altered.insert({"id": 2, "name": "b", "age": 7, "mail": "x@y", "pin": "0"})
    job.apply(**settings)
    assert job.rows("customers") == [(1, "a", sha("7"), sha("x@y")), (2, "b", sha("7"), sha("x@y"))]
    dropped = altered.alter(ID, NAME, mail)
    dropped.insert({"id": 3, "name": "c", "mail": "z"})
    job.apply(**settings)
    assert job.rows("customers") == [
        (1, "a", sha("x@y")),
        (2, "b", sha("x@y")),
        (3, "c", sha("z")),
    ]


def test_a_hidden_column_that_got_another_name_stops_the_table(kafka: Kafka, job: Job) -> None:
    table = customers(kafka, PHONE)
    table.insert({"id": 1, "name": "a", "Phone": "topsecret"})
    job.apply(**chosen(exclude_columns=["phone"]))
    renamed = table.alter(ID, NAME, column("mobile", "varchar", length=80))
    renamed.insert({"id": 2, "name": "a", "mobile": "topsecret"})
    wanted = (
        "shop.customers: the hidden column Phone is gone, and mobile is new: it may be the same "
        "column under another name; add mobile to exclude_columns, hash_columns or mask_columns, "
        "and resume the table; if its values may be shown, take Phone out of the settings, and let "
        "the mirror be made again: `binlog-connector-mirror resume CONFIG shop.customers --rebuild`"
    )
    assert job.reason(**chosen(exclude_columns=["phone"])) == wanted
    later = renamed.alter(*renamed.columns, MAIL)
    later.insert({"id": 3, "name": "a", "mobile": "topsecret", "mail": "m"})
    job.resume("shop.customers")
    assert job.reason(**chosen(exclude_columns=["phone"])) == wanted
    job.resume("shop.customers")
    job.run(**chosen(exclude_columns=["phone", "mobile"]))
    assert job.rows("customers", "id", "mail") == [(1, None), (2, None), (3, "m")]
    assert b"topsecret" not in every_byte(job.folder)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (
            {"exclude_columns": ["phnoe"]},
            (
                "shop.customers: exclude_columns names the column phnoe, which the table does not "
                "have (did you mean Phone?); correct the name, or take it out of the settings"
            ),
        ),
        (
            {"hash_columns": ["password"]},
            (
                "shop.customers: hash_columns names the column password, which the table does not "
                "have; correct the name, or take it out of the settings; the columns are id, name, "
                "Phone"
            ),
        ),
        (
            {"mask_columns": ["ID"]},
            (
                "shop.customers: mask_columns names the column id, which is part of the primary "
                "key; take it out of the setting; hash_columns can hide a key, because equal keys "
                "stay equal"
            ),
        ),
        (
            {"exclude_columns": ["*"]},
            (
                "shop.customers: exclude_columns names the column id, which is part of the primary "
                "key; take it out of the setting; hash_columns can hide a key, because equal keys "
                "stay equal"
            ),
        ),
    ],
)
def test_settings_that_do_not_fit_the_columns_are_refused(
    kafka: Kafka, job: Job, choices: dict[str, Any], message: str
) -> None:
    customers(kafka, PHONE).insert({"id": 1, "name": "a", "Phone": "topsecret"})
    assert job.reason(**chosen(**choices)) == message
    assert not (job.folder / "mirror" / "shop").exists()


@pytest.mark.parametrize(
    "later",
    [
        {},
        {"exclude_columns": ["phone"]},
        {"hash_columns": ["phone", "name"]},
        {"hash_columns": ["phone"], "salt": "another salt of letters"},
    ],
)
def test_other_settings_for_the_columns_of_a_mirror_are_refused(
    kafka: Kafka, job: Job, later: dict[str, Any]
) -> None:
    table = customers(kafka, PHONE)
    table.insert({"id": 1, "name": "a", "Phone": "1"})
    job.apply(**chosen(hash_columns=["phone"]))
    table.insert({"id": 2, "name": "a", "Phone": "1"})
    salt = later.pop("salt", SALT)
    settings = chosen(**later) | {"mirror": {"hash_salt": salt}}
    columns = "name" if "name" in later.get("hash_columns", ()) else "Phone"
    assert job.reason(**settings) == (
        f"shop.customers: the mirror at {job.path('customers')} was made with other settings for "
        f"the columns {columns}; put the earlier settings back, or let the mirror be made again "
        "(`binlog-connector-mirror resume CONFIG TABLE --rebuild`; if Kafka has deleted records of "
        "the table, after `binlog-connector snapshot`)"
    )
    job.resume("shop.customers")
    job.run(**chosen(hash_columns=["phone"]))
    assert job.rows("customers", "id", "Phone") == [(1, sha("1")), (2, sha("1"))]


def test_a_mirror_that_is_made_again_takes_other_settings(kafka: Kafka, job: Job) -> None:
    table = customers(kafka, PHONE)
    table.insert({"id": 1, "name": "a", "Phone": "topsecret"})
    job.apply()
    table.insert({"id": 2, "name": "a", "Phone": "topsecret"})
    job.reason(**chosen(exclude_columns=["phone"]))
    job.resume("shop.customers", rebuild=True)
    job.run(**chosen(exclude_columns=["phone"]))
    assert job.rows("customers") == [(1, "a"), (2, "a")]
    assert b"topsecret" not in every_byte(job.folder)


def test_a_mirror_has_the_chosen_name(kafka: Kafka, job: Job) -> None:
    SourceTable(kafka, "orders", (ID, NAME)).create().insert({"id": 1, "name": "a"})
    hostile = SourceTable(kafka, "../{table}", (ID, NAME), database="..").create()
    hostile.insert({"id": 2, "name": "b"})
    tables = [
        {"match": ["shop.orders"], "name": "sales.all_orders"},
        {"match": ["*.*"], "name": "x_{database}.{table} of {database}"},
    ]
    assert sorted(job.apply(tables=tables)["tables"]) == ["...../{table}", "shop.orders"]
    assert job.rows("all_orders", database="sales") == [(1, "a")]
    made = [str(each.relative_to(job.folder)) for each in job.folder.glob("mirror/x*/*")]
    assert made == ["mirror/x_../!2E.!2F!7Btable!7D!20of!20.."]


def test_two_tables_with_the_same_name_are_refused(kafka: Kafka, job: Job) -> None:
    tables = [{"match": ["*.*"], "name": "all.{table}"}]
    shop = SourceTable(kafka, "orders", (ID, NAME)).create()
    shop.insert({"id": 1, "name": "a"})
    job.apply(tables=tables)
    crm = SourceTable(kafka, "orders", (ID, NAME), database="crm").create()
    crm.insert({"id": 2, "name": "b"})
    shop.insert({"id": 3, "name": "c"})
    assert job.reason(tables=tables) == (
        "crm.orders and shop.orders would have the same mirror all.orders; give one of them "
        "another name in [[tables]], set skip = true for it, or make all of them shards of the "
        "mirror (shard)"
    )
    assert job.rows("orders", database="all") == [(1, "a"), (3, "c")]
    job.resume("crm.orders")
    job.run(tables=[{"match": ["crm.*"], "name": "crm.orders"}, *tables])
    assert job.rows("orders", database="crm") == [(2, "b")]


def test_dates_and_numbers_have_hashes_of_their_text(kafka: Kafka, job: Job) -> None:
    table = customers(
        kafka,
        column("price", "decimal", precision=10, scale=2),
        column("at", "datetime", fraction=0),
        column("raw", "blob"),
        column("flag", "bit", length=1),
        column("ratio", "float"),
    )
    table.insert(
        {
            "id": 1,
            "name": "a",
            "price": "-7.50",
            "at": "2020-01-02 03:04:05",
            "raw": "/+8=",
            "flag": True,
            "ratio": 0.5,
        }
    )
    names = ["price", "at", "raw", "flag", "ratio"]
    job.apply(**chosen(hash_columns=names))
    at = f"{dt.datetime(2020, 1, 2, 3, 4, 5):%Y-%m-%d %H:%M:%S}.000000"  # noqa: DTZ001
    raw = hashlib.sha256(SALT.encode() + b"\xff\xef").hexdigest()
    assert job.rows("customers", *names) == [(sha("-7.5"), sha(at), raw, sha("1"), sha("0.5"))]
