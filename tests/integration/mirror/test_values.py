"""Each column type's JSON form becomes its exact value, or an error that names the column."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.errors import record_errors
from tests.stream_jobs.topics import SourceTable, column

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn
    from tests.integration.mirror.conftest import Job
    from tests.stream_jobs.topics import Kafka

pytestmark = pytest.mark.kafka

ID = column("id", "int", key=1)
UTC = dt.UTC

# column, JSON value, value in the table
VALUES: list[tuple[SchemaColumn, Any, Any]] = [
    (column("tiny", "tinyint"), -128, -128),
    (column("tiny_u", "tinyint", unsigned=True), 255, 255),
    (column("small", "smallint"), -32768, -32768),
    (column("small_u", "smallint", unsigned=True), 65535, 65535),
    (column("medium", "mediumint"), -8388608, -8388608),
    (column("medium_u", "mediumint", unsigned=True), 16777215, 16777215),
    (column("int", "int"), -2147483648, -2147483648),
    (column("int_u", "int", unsigned=True), 4294967295, 4294967295),
    (column("big", "bigint"), -9223372036854775808, -9223372036854775808),
    (
        column("big_u", "bigint", unsigned=True),
        "18446744073709551615",
        Decimal(18446744073709551615),
    ),
    (column("dec", "decimal", precision=10, scale=2), "-0.50", Decimal("-0.50")),
    (column("dec_0", "decimal", precision=5, scale=0), "99999", Decimal(99999)),
    (
        column("dec_38", "decimal", precision=38, scale=30),
        "-12345678.123456789012345678901234567890",
        Decimal("-12345678.123456789012345678901234567890"),
    ),
    (
        column("dec_65", "decimal", precision=65, scale=30),
        "12345678901234567890123456789012345.000000000000000000000000000001",
        "12345678901234567890123456789012345.000000000000000000000000000001",
    ),
    (column("float", "float"), 0.1, 0.10000000149011612),
    (column("double", "double"), 1.7976931348623157e308, 1.7976931348623157e308),
    (column("double_tiny", "double"), 5e-324, 5e-324),
    (column("bit_1", "bit", length=1), True, True),
    (column("bit_64", "bit", length=64), "18446744073709551615", Decimal(2**64 - 1)),
    (column("char", "char", length=40), "", ""),
    (
        column("varchar", "varchar", length=400),
        'tab\t"quote" \u0000 ✓ 🐬',
        'tab\t"quote" \u0000 ✓ 🐬',
    ),
    (column("text", "text"), "x" * 70_000, "x" * 70_000),
    (column("enum", "enum", labels=["a", "b"]), "b", "b"),
    (column("enum_index", "enum"), {"index": 7}, '{"index":7}'),
    (column("set", "set", labels=["a", "b"]), "a,b", "a,b"),
    (column("set_empty", "set", labels=["a", "b"]), "", ""),
    (column("binary", "binary", length=4), "AQAAAA==", b"\x01\x00\x00\x00"),
    (column("varbinary", "varbinary", length=8), "", b""),
    (column("blob", "blob"), "/+8=", b"\xff\xef"),
    (column("date", "date"), "2017-09-15", dt.date(2017, 9, 15)),
    (column("date_early", "date"), "0001-01-01", dt.date(1, 1, 1)),
    (column("date_last", "date"), "9999-12-31", dt.date(9999, 12, 31)),
    (
        column("datetime", "datetime", fraction=6),
        "2019-07-09 02:28:57.123456",
        dt.datetime(2019, 7, 9, 2, 28, 57, 123456),  # noqa: DTZ001 - DATETIME has no zone
    ),
    (
        column("datetime_0", "datetime", fraction=0),
        "1000-01-01 00:00:00",
        dt.datetime(1000, 1, 1),  # noqa: DTZ001 - DATETIME has no zone
    ),
    (
        column("timestamp", "timestamp", fraction=3),
        "2018-06-20T13:37:03.123Z",
        dt.datetime(2018, 6, 20, 13, 37, 3, 123000, tzinfo=UTC),
    ),
    (
        column("timestamp_first", "timestamp", fraction=0),
        "1970-01-01T00:00:01Z",
        dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
    ),
    (column("time", "time", fraction=6), "-838:59:59.000000", "-838:59:59.000000"),
    (column("year", "year"), 0, 0),
    (column("json", "json"), '{"a": [1, "ä", null]}', '{"a": [1, "ä", null]}'),
    (
        column("point", "geometry"),
        {"wkb": "AQEAAAAAAAAAAADwPwAAAAAAAABA", "srid": 4326},
        {"wkb": bytes.fromhex("0101000000000000000000f03f0000000000000040"), "srid": 4326},
    ),
    (column("vector", "vector"), [0.5, -1.25], [0.5, -1.25]),
    (column("odd.name`s", "int"), 5, 5),
]


def test_every_type_has_its_exact_value_and_null_stays_null(kafka: Kafka, job: Job) -> None:
    columns = [made for made, _, _ in VALUES]
    table = SourceTable(kafka, "types", (ID, *columns)).create()
    table.insert({"id": 1, **{made["name"]: value for made, value, _ in VALUES}})
    table.insert({"id": 2, **{made["name"]: None for made, _, _ in VALUES}})
    job.apply()
    rows = job.data("types").to_pylist()
    values, nulls = sorted(rows, key=lambda row: row["id"])
    for made, _, expected in VALUES:
        name = made["name"]
        assert (name, values[name], nulls[name]) == (name, expected, None)


@pytest.mark.parametrize("policy", ["error", "null"])
def test_dates_that_spark_cannot_hold_stop_the_table_or_become_null_by_setting(
    kafka: Kafka, job: Job, policy: str
) -> None:
    table = SourceTable(
        kafka,
        "dates",
        (ID, column("d", "date", nullable=False), column("t", "datetime", fraction=3)),
    ).create()
    table.insert({"id": 1, "d": "2024-02-29", "t": "2024-05-00 00:00:00.000"})
    table.insert({"id": 2, "d": "0000-00-00", "t": None})
    if policy == "null":
        job.apply(mirror={"zero_dates": policy})
        assert job.rows("dates") == [(1, dt.date(2024, 2, 29), None), (2, None, None)]
        return
    line = job.quarantined()
    assert line["code"] == record_errors.ZERO_DATE.code
    # One piece of advice, not that of other records, too.
    assert line["error"].endswith(
        " holds a zero, partial or impossible date, which Spark's types cannot; set "
        'mirror.zero_dates = "null" to store NULL for such values, start the job again, and resume '
        "the table: `binlog-connector-mirror resume CONFIG TABLE`"
    )
    key = SourceTable(kafka, "days", (column("day", "date", key=1),)).create()
    key.insert({"day": "0000-00-00"})
    errors = {job.quarantined(mirror={"zero_dates": "null"})["code"]}
    assert errors == {record_errors.ZERO_KEY.code}
