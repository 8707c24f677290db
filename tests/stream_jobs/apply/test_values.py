"""JSON values become stored values, or an error that names the column and no value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from stream_jobs.apply.column_values import stored_columns
from stream_jobs.apply.row_images import FEW, read_images
from stream_jobs.apply.table_failures import InvalidRecordError
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn

ID = column("id", "int", key=1)

WRONG: list[tuple[SchemaColumn, Any, str]] = [
    (column("c", "tinyint"), 128, "the value of column c is no tinyint"),
    (column("c", "int"), 2147483648, "the value is not JSON with the types of schema id1"),
    (column("c", "int"), "12", "the value is not JSON with the types of schema id1"),
    (column("c", "int"), 1.5, "the value is not JSON with the types of schema id1"),
    (column("c", "int"), True, "the value is not JSON with the types of schema id1"),
    (column("c", "varchar", length=3), 5, "the value is not JSON with the types of schema id1"),
    (column("c", "text"), "\ud800", "the value is not JSON with the types of schema id1"),
    (
        column("c", "bigint", unsigned=True),
        "-1",
        "the value of column c does not look like bigint unsigned",
    ),
    (
        column("c", "decimal", precision=4, scale=2),
        "123.45",
        "the value of column c is no decimal(4,2)",
    ),
    (
        column("c", "decimal", precision=4, scale=2),
        "1.5",
        "the value of column c does not look like decimal(4,2)",
    ),
    (column("c", "date"), "2024-1-5", "the value of column c does not look like date"),
    (column("c", "blob"), "not base64!", "the value of column c does not look like blob"),
    (column("c", "geometry"), {"wkb": "?"}, "the value of column c does not look like geometry"),
    (column("c", "int", nullable=False), None, "column c has no value"),
]


def envelope(row: dict[str, Any]) -> bytes:
    return json.dumps({"after": row, "source": {"ts_ms": 5}}).encode()


def reason(values: list[bytes], columns: list[SchemaColumn]) -> tuple[int, str]:
    with pytest.raises(InvalidRecordError) as caught:
        stored_columns(read_images(values, "after", columns, "id1"), columns, "error")
    return caught.value.place, caught.value.why.text


@pytest.mark.parametrize(("made", "value", "text"), WRONG)
def test_a_value_that_does_not_fit_is_a_problem_that_names_the_column_and_not_the_value(
    made: SchemaColumn, value: Any, text: str
) -> None:
    right = envelope({"id": 1, "c": None if made["nullable"] else 1})
    wrong = envelope({"id": 1, "c": value})
    assert reason([wrong], [ID, made]) == (0, text)
    assert reason([right, right, wrong, wrong], [ID, made]) == (2, text)
    # Arrow's reader reads many records.
    assert reason([*[right] * 2 * FEW, wrong, wrong], [ID, made]) == (2 * FEW, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"", "the value has no row image for its cdc.op"),
        (b"{}", "the value has no row image for its cdc.op"),
        (b'{"after":null}', "the value has no row image for its cdc.op"),
        (b"[]", "the value is not JSON with the types of schema id1"),
        (b'"after"', "the value is not JSON with the types of schema id1"),
        (b'{"after":{"id":1}', "the value is not JSON with the types of schema id1"),
        (
            b'{"after":{"id":1}}{"after":{"id":1}}',
            "the value is not JSON with the types of schema id1",
        ),
        (b'{"after":{"id":1}} x', "the value is not JSON with the types of schema id1"),
        (
            b'{"after":{"id":1}}\n{"after":{"id":1}}',
            "the value is not JSON with the types of schema id1",
        ),
        (b'{"after":{"id":1},"x":"\xff"}', "the value is not JSON with the types of schema id1"),
        (b"\x00\xff", "the value is not JSON with the types of schema id1"),
        (b"[" * 100_000, "the value is not JSON with the types of schema id1"),
    ],
)
def test_bytes_that_are_no_envelope_are_a_problem(value: bytes, text: str) -> None:
    right = envelope({"id": 1})
    assert reason([right, value, right], [ID]) == (1, text)
    assert reason([*[right] * 2 * FEW, value, right], [ID]) == (2 * FEW, text)


def test_the_image_of_each_record_stays_at_its_place_when_one_needs_a_closer_look() -> None:
    label = column("c", "enum", labels=["a"])
    values = [envelope({"id": n, "c": {"index": 7} if n == 3 else "a"}) for n in range(6)]
    values[4] = values[4].replace(b'"id"', b'\n "id"')
    images = read_images(values, "after", [ID, label], "id1")
    ids, labels = stored_columns(images, [ID, label], "error")
    assert ids.to_pylist() == [0, 1, 2, 3, 4, 5]
    assert labels.to_pylist() == ["a", "a", "a", '{"index":7}', "a", "a"]
    assert images.source[5].as_py()["ts_ms"] == 5


def test_dates_that_do_not_exist_become_null_by_setting() -> None:
    day = column("d", "date")
    texts = ["2024-02-29", "2024-02-31", "0000-00-00", "0000-05-05", "2024-05-00", "0001-01-01"]
    values = [envelope({"d": text}) for text in texts]
    for chosen in (values, values[:1] + values[3:4]):
        images = read_images(chosen, "after", [day], "id1")
        (days,) = stored_columns(images, [day], "null")
        assert [each is None for each in days.to_pylist()] == [
            each not in (values[0], values[5]) for each in chosen
        ]
    place, text = reason(values, [day])
    assert place == 1
    assert text == (
        "column d holds a zero, partial or impossible date, which Spark's types cannot; set "
        'mirror.zero_dates = "null" to store NULL for such values, start the job again, and resume '
        "the table: `binlog-connector-mirror resume CONFIG TABLE`"
    )
