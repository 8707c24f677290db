"""Texts of keys: only those that the connector would write, and that consumers can read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import SourceRefused
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.snapshot import copy_errors
from connector.stream.snapshot.keyset import listed_keys
from connector.stream.source.selected_table import KeyColumn, SelectedTable
from tests.foundation.errors.texts import shown
from tests.stream_jobs.topics import column

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn


def table_of(*columns: SchemaColumn, ordered: bool = True) -> SelectedTable:
    schema = TableSchema.of_columns("shop", "t", columns)
    keys = [schema.columns[index] for index in schema.key_indexes]
    key = tuple(
        KeyColumn(
            each["name"],
            f"`{each['name']}`",
            ordered,
            each["type"],
            each.get("charset", ""),
            "",
            each["name"],
        )
        for each in keys
    )
    return SelectedTable(schema, "*", "`shop`.`t`", key, key)


COLUMNS = {
    "tinyint": column("id", "tinyint", key=1),
    "unsigned": column("id", "bigint", key=1, unsigned=True),
    "decimal": column("id", "decimal", key=1, precision=4, scale=2),
    "whole": column("id", "decimal", key=1, precision=4, scale=0, unsigned=True),
    "fraction": column("id", "decimal", key=1, precision=2, scale=2),
    "year": column("id", "year", key=1),
    "utf8": column("id", "varchar", key=1, length=9, charset="utf8mb4"),
    "bmp": column("id", "varchar", key=1, length=9, charset="utf8mb3"),
    "latin1": column("id", "char", key=1, length=9, charset="latin1"),
    "binary": column("id", "varbinary", key=1, length=9),
    "date": column("id", "date", key=1),
    "datetime": column("id", "datetime", key=1, fraction=3),
    "seconds": column("id", "datetime", key=1),
    "timestamp": column("id", "timestamp", key=1, fraction=0),
    "time": column("id", "time", key=1, fraction=1),
    "enum": column("id", "enum", key=1, labels=["a", "b"]),
    "flag": column("id", "bit", key=1, length=1),
    "bits": column("id", "bit", key=1, length=9),
}
RIGHT = {
    "tinyint": ("-128", "0", "127"),
    "unsigned": ('"0"', '"18446744073709551615"'),
    "decimal": ('"-0.01"', '"0.00"', '"99.99"'),
    "whole": ('"0"', '"9999"'),
    "fraction": ('"0.12"', '"-0.12"'),
    "year": ("1901", "2155"),
    "utf8": ('""', '"a\\"\\\\\\n\\u0001 é😀"'),
    "bmp": ('"é"',),
    "latin1": ('"€"',),
    "binary": ('""', '"AP8="'),
    "date": ('"0001-01-01"', '"9999-12-31"'),
    "datetime": ('"2026-02-28 23:59:59.001"',),
    "seconds": ('"2026-02-28 23:59:59"',),
    "timestamp": ('"2026-02-28T23:59:59Z"',),
    "time": ('"-838:59:59.0"', '"00:00:00.0"', '"-00:00:00.1"', '"100:00:00.0"'),
    "enum": ('"a"', '"b"'),
    "flag": ("true", "false"),
    "bits": ('"0"', '"511"'),
}
WRONG = {
    "tinyint": ("128", "-129", "1.0", "1e0", "-0", "01", "true", '"1"', "null", "[1]", "NaN"),
    "unsigned": ("1", '"-1"', '"18446744073709551616"', '"01"', '"1.0"', '"٣"'),
    "decimal": ('"1"', '"1.0"', '"01.00"', '"-0.00"', '"100.00"', '"1.0٣"', "1.00", '"+1.00"'),
    "whole": ('"-1"', '"1."', '"10000"'),
    "fraction": ('"1.00"', '".12"'),
    "year": ("0", "1900", "2156", '"2000"'),
    "utf8": ('"\\u00e9"', '"\\/"', '"\\ud800"', "7"),
    "bmp": ('"😀"',),
    "latin1": ('"日"',),
    "binary": ('"AP8"', '"AP9="', '"A P8="', '"é"'),
    "date": ('"2026-02-29"', '"0000-00-00"', '"20260228"', '"2026-W01-1"'),
    "datetime": ('"2026-02-28 23:59:59"', '"2026-02-28 24:00:00.000"', '"2026-02-28T23:59:59.000"'),
    "seconds": ('"2026-02-28 23:59:59.0"', '"2026-02-28 23:59:60"', '"2026-02-28"'),
    "timestamp": ('"2026-02-28 23:59:59"', '"2026-02-28T23:59:59"'),
    "time": ('"839:00:00.0"', '"012:00:00.0"', '"1:00:00.0"', '"00:60:00.0"', '"-00:00:00.0"'),
    "enum": ('"c"', '""', '"A"', "1"),
    "flag": ("1", '"1"'),
    "bits": ('"512"', '"-1"', "1", "true"),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_key_is_what_the_connector_would_write(kind: str) -> None:
    table = table_of(COLUMNS[kind])
    texts = [f'{{"id":{value}}}' for value in RIGHT[kind]]
    assert [key.record_key.decode() for key in listed_keys(table, texts)] == texts


@pytest.mark.parametrize(("kind", "value"), [(k, value) for k in WRONG for value in WRONG[k]])
def test_another_text_is_no_key(kind: str, value: str) -> None:
    right = f'{{"id":{RIGHT[kind][0]}}}'
    with pytest.raises(SourceRefused) as caught:
        listed_keys(table_of(COLUMNS[kind]), [right, f'{{"id":{value}}}'])
    assert str(caught.value) == shown(copy_errors.NOT_A_KEY, table="shop.t", place=1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "[]",
        "{}",
        "[" * 50_000,
        '{"a":1}',
        '{"a":1,"b":2}',
        '{"b":2, "a":1}',
        ' {"b":2,"a":1}',
        '{"b":2,"a":1}\n',
        '{"b":2,"a":1,"c":3}',
        '{"b":2,"a":1,"a":1}',
        '{"\\u0062":2,"a":1}',
        '{"b":2,"a":null}',
    ],
)
def test_a_key_has_its_columns_in_their_order(text: str) -> None:
    table = table_of(column("a", "int", key=2), column("v", "int"), column("b", "int", key=1))
    (key,) = listed_keys(table, ['{"b":2,"a":1}'])
    assert key.condition == "(`b` = 2 AND `a` = 1)"
    with pytest.raises(SourceRefused):
        listed_keys(table, [text])


@pytest.mark.parametrize(
    ("kind", "value", "condition"),
    [
        ("utf8", '"a\'\\\\"', "(`id` = _utf8mb4 X'61275c')"),
        ("latin1", '"€"', "(`id` = _latin1 X'80')"),
        ("timestamp", '"2026-02-28T23:59:59Z"', "(`id` = '2026-02-28 23:59:59')"),
        ("enum", '"b"', "(`id` = 2)"),
        ("bits", '"257"', "(`id` = 257)"),
        ("binary", '"AP8="', "(`id` = X'00ff')"),
    ],
)
def test_a_condition_finds_the_row(kind: str, value: str, condition: str) -> None:
    (key,) = listed_keys(table_of(COLUMNS[kind]), [f'{{"id":{value}}}'])
    assert key.condition == condition


@pytest.mark.parametrize(
    "wrong",
    [
        table_of(column("id", "double", key=1)),
        table_of(column("id", "varchar", key=1, length=9, charset="gbk")),
        table_of(column("id", "varchar", key=1, length=9, charset="utf8mb4"), ordered=False),
    ],
)
def test_some_keys_cannot_be_listed(wrong: SelectedTable) -> None:
    with pytest.raises(SourceRefused) as caught:
        listed_keys(wrong, [])
    assert str(caught.value) == shown(copy_errors.KEY_TYPE, table="shop.t", column="id")
    with pytest.raises(SourceRefused) as caught:
        listed_keys(table_of(column("id", "int")), [])
    assert str(caught.value) == shown(copy_errors.NO_KEY, table="shop.t")


def test_rows_with_other_keys_in_records_cannot_be_listed() -> None:
    table = table_of(column("id", "int", key=1), column("n", "int"))
    with pytest.raises(SourceRefused) as caught:
        listed_keys(table, ['{"id":1}'], DebeziumProfile(message_keys=("shop.*:n",)))
    assert str(caught.value) == shown(copy_errors.MESSAGE_KEY, table="shop.t")


def test_records_of_the_profile_debezium_have_their_form() -> None:
    table = table_of(column("id", "date", key=1), column("n", "int", key=2))
    form = DebeziumProfile()
    (key,) = listed_keys(table, ['{"id":"1970-01-03","n":7}'], form)
    assert json.loads(key.record_key) == {"id": 2, "n": 7}
