"""Changes of JSON documents byte by byte.

`tests/integration/decoding/test_partial_json.py` compares them with a server.
"""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.binlog.columns.column import (
    ABSENT,
    Column,
    ColumnType,
    JsonDiff,
    JsonDiffs,
    JsonOperation,
    Value,
)
from connector.binlog.columns.json import apply_json_diffs
from connector.binlog.columns.row_images import RowPlan
from connector.binlog.events.rows import RowsEvent
from connector.binlog.events.rows_header import ExtraRowInfo, RowsKind
from connector.binlog.events.table_map import TableMapEvent
from connector.binlog.log_errors import EventError
from connector.binlog.payload_reader import PayloadReader
from connector.foundation.errors import DecodeError

REPLACE, INSERT, REMOVE = JsonOperation.REPLACE, JsonOperation.INSERT, JsonOperation.REMOVE

JSON = Column(ColumnType.JSON, 4, nullable=True, name="j")
INT = Column(ColumnType.LONG, 0, nullable=True, name="n")

REPLACE_A = "00" + "03" + "242e61" + "03" + "050200"  # $.a becomes 2
REMOVE_0 = "02" + "04" + "245b305d"  # $[0]


def partial_image(data: str, *columns: Column, places: list[int] | None = None) -> list[Value]:
    image = PayloadReader(bytes.fromhex(data))
    plan = RowPlan(list(columns))
    read = plan.read_image(
        image, list(range(len(columns))) if places is None else places, partial=True
    )
    assert image.remaining == 0
    return read


def diffs(*changes: tuple[JsonOperation, str, str | None]) -> JsonDiffs:
    return JsonDiffs(tuple(JsonDiff(*change) for change in changes))


def test_a_column_has_several_changes_until_its_length_is_used_up() -> None:
    assert partial_image("01" + "01" + "00" + "0f000000" + REPLACE_A + REMOVE_0, JSON) == [
        diffs((REPLACE, "$.a", "2"), (REMOVE, "$[0]", None))
    ]


def test_a_column_without_changes_is_as_before() -> None:
    assert partial_image("01" + "01" + "00" + "00000000", JSON) == [diffs()]


def test_only_the_columns_with_a_bit_are_changes() -> None:
    assert partial_image(
        "01" + "02" + "00" + "020000000401" + "06000000" + REMOVE_0, JSON, JSON
    ) == [
        "true",
        diffs((REMOVE, "$[0]", None)),
    ]


def test_columns_that_the_image_leaves_out_have_a_bit_too() -> None:
    nine = [JSON] * 9
    assert partial_image("01" + "0001" + "00" + "06000000" + REMOVE_0, *nine, places=[8]) == [
        *[ABSENT] * 8,
        diffs((REMOVE, "$[0]", None)),
    ]


def test_an_image_without_value_options_has_no_changes() -> None:
    assert partial_image("00" + "00" + "020000000401" + "07000000", JSON, INT) == ["true", 7]


def test_a_changed_column_may_be_null() -> None:
    assert partial_image("01" + "01" + "01", JSON) == [None]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("02" + "00", "value options 0x2 are not known; upgrade the connector"),
        ("01", "need 1 bytes at offset 1, but the payload ends at 1"),
        (
            "01" + "01" + "00" + "01000000" + "03",
            "column j (JSON): operation 3 on a JSON document is not known",
        ),
        (
            "01" + "01" + "00" + "03000000" + "0201ff",
            "column j (JSON): a path into a JSON document is not UTF-8",
        ),
        (
            "01" + "01" + "00" + "06000000" + "00" + "03" + "242e61" + "01",
            "column j (JSON): need 1 bytes at offset 6, but the payload ends at 6",
        ),
        (
            "01" + "01" + "00" + "07000000" + REMOVE_0,
            "column j (JSON): need 7 bytes at offset 7, but the payload ends at 13",
        ),
    ],
)
def test_bytes_that_are_no_changes_are_an_error(data: str, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        partial_image(data, JSON)
    assert caught.value.text == reason


@pytest.mark.parametrize(
    ("document", "change", "result"),
    [
        ('{"a": 1}', (REPLACE, "$.a", "[1, {}]"), '{"a": [1, {}]}'),
        ('{"b": 1, "aa": 2}', (INSERT, "$.c", "null"), '{"b": 1, "c": null, "aa": 2}'),
        ('{"é": 1, "zzz": 2}', (INSERT, "$.aa", "true"), '{"aa": true, "é": 1, "zzz": 2}'),
        ('{"a": 1, "b": 2}', (REMOVE, "$.a", None), '{"b": 2}'),
        ('{"a": 1}', (REMOVE, "$.a", None), "{}"),
        ("[1]", (REMOVE, "$[0]", None), "[]"),
        ("[1, 2]", (INSERT, "$[1]", '"x"'), '[1, "x", 2]'),
        ("[1, 2]", (INSERT, "$[9]", '"x"'), '[1, 2, "x"]'),
        ("[1, 2]", (INSERT, "$[last]", '"x"'), '[1, "x", 2]'),
        ("[1, 2]", (INSERT, "$[last-9]", '"x"'), '["x", 1, 2]'),
        ("[1, 2]", (REPLACE, "$[last]", '"x"'), '[1, "x"]'),
        ("[1, 2]", (REPLACE, "$[last-1]", '"x"'), '["x", 2]'),
        ("[[1, [2]]]", (REPLACE, "$[0][1][0]", "3"), "[[1, [3]]]"),
        ('{"a b": [1.0]}', (REPLACE, '$."a b"[0]', "1e100"), '{"a b": [1e100]}'),
        ('{"a.b[0]\\"": 1}', (REPLACE, '$."a.b[0]\\""', "2"), '{"a.b[0]\\"": 2}'),
        ('{"\\u0001": 1.00}', (INSERT, "$.é", "2.50"), '{"\\u0001": 1.00, "é": 2.50}'),
        ('{"": 1}', (REPLACE, '$.""', "18446744073709551615"), '{"": 18446744073709551615}'),
    ],
)
def test_a_change_is_applied(
    document: str, change: tuple[JsonOperation, str, str | None], result: str
) -> None:
    assert apply_json_diffs(document, diffs(change)) == result


@pytest.mark.parametrize(
    "change",
    [
        (REPLACE, "$.c", "1"),
        (REMOVE, "$.c", None),
        (INSERT, "$.a", "1"),
        (REPLACE, "$.b[2]", "1"),
        (REPLACE, "$.b[last-2]", "1"),
        (REMOVE, "$.b[2]", None),
        (INSERT, "$.b.c", "1"),
        (INSERT, "$[0]", "1"),
        (INSERT, "$.s[0]", "1"),
        (INSERT, "$.b[2][0]", "1"),
        (INSERT, "$.b.c.d", "1"),
        (INSERT, "$[0].a", "1"),
        (INSERT, "$.a.b", "1"),
    ],
)
def test_a_path_that_leads_nowhere_is_an_error(
    change: tuple[JsonOperation, str, str | None],
) -> None:
    with pytest.raises(DecodeError) as caught:
        apply_json_diffs('{"a": 1, "b": [1, 2], "s": "text"}', diffs(change))
    assert caught.value.text == f"the JSON document has no place to {change[0].value} {change[1]}"


@pytest.mark.parametrize(
    "path",
    ["$", "", "a", "$a", "$.", "$.a.", "$[", "$[x]", "$[0", "$[-1]", "$[last-]", '$."a', "$**.a",
     '$."\\ud800"'],
)  # fmt: skip
def test_a_path_that_is_none_is_an_error(path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        apply_json_diffs("{}", diffs((INSERT, path, "1")))
    assert caught.value.text == f"{path!r} is not the path of a change of a JSON document"


def test_a_quoted_member_with_a_raw_control_character_is_an_error() -> None:
    with pytest.raises(DecodeError) as caught:
        apply_json_diffs("{}", diffs((INSERT, '$."\x01"', "1")))
    assert caught.value.text == (
        "a JSON document cannot be read: Invalid control character at: line 1 column 2 (char 1)"
    )


@given(st.binary(max_size=60))
def test_any_bytes_are_changes_or_an_error(data: bytes) -> None:
    image = PayloadReader(b"\x01\x01\x00" + len(data).to_bytes(4, "little") + data)
    with suppress(DecodeError):
        (changes,) = RowPlan([JSON]).read_image(image, [0], partial=True)
        assert isinstance(changes, JsonDiffs)
        apply_json_diffs('{"a": [1, {"b": 2}]}', changes)


def test_rows_name_the_column_whose_changes_cannot_be_applied() -> None:
    table_map = TableMapEvent(1, 0, "shop", "t", [JSON])
    data = bytes.fromhex("00" + "020000000401" + "01" + "01" + "00" + "06000000" + REMOVE_0)
    event = RowsEvent(
        RowsKind.UPDATE, table_map, 1, ExtraRowInfo(), b"\x01", b"\x01",
        "binlog.000001", 300, "PARTIAL_UPDATE_ROWS_EVENT", data, 0, len(data), partial=True,
    )  # fmt: skip
    (row,) = event.rows()
    assert (row.before, row.after) == (["true"], [diffs((REMOVE, "$[0]", None))])
    with pytest.raises(EventError) as caught:
        list(event.rows(apply_diffs=True))
    assert caught.value.reason.text == (
        "table shop.t, column j (JSON): the JSON document has no place to remove $[0]"
    )


def test_changes_cannot_nest_a_document_deeper_than_the_server_allows() -> None:
    deep = "[" * 90 + "]" * 90
    changes = [(INSERT, "$" + "[0]" * 90 * n, deep) for n in range(1, 20)]
    with pytest.raises(DecodeError) as caught:
        apply_json_diffs(deep, diffs(*changes))
    assert caught.value.text == "a JSON document is nested deeper than 100 levels"


TEXT = st.text(st.characters(codec="utf-8"), max_size=5)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | TEXT,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
        max_leaves=20,
    )
)
def test_a_document_without_changes_stays_the_same(value: object) -> None:
    text = apply_json_diffs(json.dumps(value), diffs())
    assert json.loads(text) == value
    assert apply_json_diffs(text, diffs()) == text
