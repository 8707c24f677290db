"""Single values in Avro; `tests/debezium` has every type of a column."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as some

from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.debezium.avro_values import AvroRecord
from connector.stream.envelope.debezium.registry_schemas import avro_schema, field

PREFIX = b"\x00\x00\x00\x00\x09"


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": [*fields], "optional": False, "name": "a.B"}


def read(schema: dict[str, Any], text: str) -> Any:
    """Return the record of a JSON text as fastavro reads it."""
    written = AvroRecord(schema, PREFIX).encoded(text.encode())
    assert written.startswith(PREFIX)
    data = io.BytesIO(written[len(PREFIX) :])
    parsed = fastavro.parse_schema(json.loads(avro_schema(schema)))
    found = fastavro.schemaless_reader(data, parsed, None)
    assert not data.read()
    return found


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(some.integers(-(2**63), 2**63 - 1) | some.none())
def test_each_number_of_64_bits_arrives(number: int | None) -> None:
    schema = struct(field("n", "int64", optional=True))
    assert read(schema, compact({"n": number})) == {"n": number}


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**40])
def test_a_larger_number_is_refused(number: int) -> None:
    schema = struct(field("n", "int64", optional=False))
    with pytest.raises(UnsupportedChange) as caught:
        read(schema, compact({"n": number}))
    assert caught.value.code is record_errors.NO_LONG


@given(some.lists(some.text() | some.none(), min_size=3, max_size=3))
def test_each_text_arrives_with_its_escapes(texts: list[str | None]) -> None:
    schema = struct(*(field(f"t{n}", "string", optional=True) for n in range(3)))
    values = {f"t{n}": text for n, text in enumerate(texts)}
    assert read(schema, compact(values)) == values


@pytest.mark.parametrize("text", ['"', "\\", '\\"', 'a\\"b,"c":', "}", ',"t1":null}', "\\u0041"])
def test_a_text_that_looks_like_json_is_a_text(text: str) -> None:
    schema = struct(*(field(f"t{n}", "string", optional=False) for n in range(2)))
    values = {"t0": text, "t1": "end"}
    assert read(schema, compact(values)) == values


@given(some.floats(allow_nan=False, allow_infinity=False))
def test_each_double_arrives(number: float) -> None:
    schema = struct(field("d", "double", optional=False), field("n", "int32", optional=False))
    assert read(schema, compact({"d": number, "n": 1})) == {"d": number, "n": 1}


@pytest.mark.parametrize("values", [[], [0.5], [1.0, -2.5, 2.0**40]])
def test_a_vector_is_one_block(values: list[float]) -> None:
    items = {"type": "float", "optional": False}
    vector = {"type": "array", "items": items, "optional": True, "field": "v"}
    assert read(struct(vector), compact({"v": values})) == {"v": values}


def test_null_in_a_required_column_is_refused() -> None:
    schema = struct(field("at", "int64", optional=False))
    with pytest.raises(UnsupportedChange) as caught:
        read(schema, '{"at":null}')
    assert caught.value.code is record_errors.NO_NULL


@pytest.mark.parametrize("name", ["größe", "1a", "a b", ""])
def test_a_name_that_avro_does_not_allow_is_refused(name: str) -> None:
    for schema in (struct(field(name, "int32", optional=False)), {**struct(), "name": f"a.{name}"}):
        with pytest.raises(UnsupportedChange) as caught:
            avro_schema(schema)
        assert caught.value.code is record_errors.NO_AVRO_NAME
