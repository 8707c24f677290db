"""The text of a payload becomes a value; `tests/debezium` compares it with Debezium's."""

from __future__ import annotations

import json

import pytest

from connector.stream.envelope.outbox_events import expand_payload


def text_of(payload: str) -> str | None:
    found = expand_payload(payload, "payload")
    return None if found is None else found.text


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ('{"b": 1.10, "a": 1e5, "c": -0}', '{"b":1.1,"a":100000.0,"c":0}'),
        ('{"a": 1, "a": 2} and more', '{"a":2}'),
        ('{"a": [{"x": 1}, {"y": "s"}]}', '{"a":[{"x":1,"y":null},{"x":null,"y":"s"}]}'),
        ('{"a": [[], []], "b": [1]}', None),
        ('{"a": [[1], ["b"]]}', None),
        ('{"a": [1, 9999999999]}', None),
        ('{"a": [{"x": 1}, {"x": "s"}]}', None),
        ('{"a": [{"x": 1}, {"y": 2}, null]}', None),
        ('{"a": [{"x": 1}, 2]}', None),
        ('{"a": 18446744073709551615}', None),
        ('{"a": 1e999}', None),
        ('{"a": NaN}', None),
        ('{"a": 01}', None),
        ("{'a': 1}", None),
        ("[1]", None),
        (' {"a": 1}', None),
        ("", None),
        ('{"a":' * 100_000, None),
    ],
)
def test_an_object_with_a_schema_is_expanded(payload: str, text: str | None) -> None:
    assert text_of(payload) == text


def test_objects_of_an_array_have_the_fields_of_all() -> None:
    found = expand_payload('{"a": [{"x": 1}, {"y": "s", "z": []}]}', "p")
    assert found is not None
    x = {"type": "int32", "optional": True, "field": "x"}
    y = {"type": "string", "optional": True, "field": "y"}
    items = {"type": "struct", "fields": [x, y], "optional": False, "name": "p.a"}
    field = {"type": "array", "items": items, "optional": True, "field": "a"}
    assert found.schema == {"type": "struct", "fields": [field], "optional": True, "name": "p"}
    assert list(json.loads(found.text)) == ["a"]


def test_objects_in_an_array_of_arrays_have_no_name() -> None:
    found = expand_payload('{"a": [[{"x": {"y": 1}}]]}', "p")
    assert found is not None
    (array,) = found.schema["fields"]
    struct = array["items"]["items"]
    assert "name" not in struct
    assert struct["fields"][0]["name"] == "x"
