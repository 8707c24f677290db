from __future__ import annotations

import json

import orjson
import pyarrow as pa
import pytest

from stream_jobs.delta.actions import Metadata
from stream_jobs.delta.columns import (
    highest_id,
    new_columns,
    physical_schema,
    read_schema,
    write_schema,
)
from stream_jobs.errors import MirrorError
from tests.stream_jobs.delta.sample import GEOMETRY, HOSTILE, all_columns


def test_columns_of_every_type_survive_the_schema_string() -> None:
    columns = all_columns()
    found = read_schema("t", write_schema(columns))
    assert found == columns
    pairs = zip(found, columns, strict=True)
    assert all(one.type.equals(other.type, check_metadata=True) for one, other in pairs)
    assert physical_schema(found).equals(physical_schema(columns), check_metadata=True)


def test_a_schema_string_has_ids_physical_names_and_comments() -> None:
    nested = pa.map_(pa.string(), pa.list_(GEOMETRY))
    columns = new_columns([("a", pa.int64(), {"comment": "é"}), (HOSTILE, nested, {})], 6)
    assert highest_id(columns) == 13
    first, second = json.loads(write_schema(columns))["fields"]
    assert first == {
        "name": "a",
        "type": "long",
        "nullable": True,
        "metadata": {
            "comment": "é",
            "delta.columnMapping.id": 7,
            "delta.columnMapping.physicalName": "c7",
        },
    }
    fields = second["type"]["valueType"]["elementType"]["fields"]
    assert [(f["name"], f["metadata"]) for f in fields] == [
        ("wkb", {"delta.columnMapping.id": 12, "delta.columnMapping.physicalName": "c12"}),
        ("srid", {"delta.columnMapping.id": 13, "delta.columnMapping.physicalName": "c13"}),
    ]
    assert second["metadata"]["delta.columnMapping.nested.ids"] == {
        "c8.key": 9,
        "c8.value": 10,
        "c8.value.element": 11,
    }
    found = read_schema("t", write_schema(columns))
    assert found == columns
    assert found[1].type.equals(columns[1].type, check_metadata=True)


def test_columns_that_differ_in_the_ids_of_their_fields_alone_keep_them() -> None:
    kind = pa.struct([("x", pa.int64())])
    (column,) = new_columns([("a", kind, {})])
    (other,) = new_columns([("a", kind, {})], 1)
    other = other._replace(field_id=column.field_id, physical_name=column.physical_name)
    assert other.type == column.type
    ids = [
        each.physical_field.type.field(0).metadata[b"PARQUET:field_id"] for each in (column, other)
    ]
    assert ids == [b"2", b"3"]


def test_a_list_in_a_struct_has_the_id_of_its_elements_in_the_field_of_the_struct() -> None:
    kind = pa.struct([("list", pa.list_(pa.float32()))])
    (column,) = new_columns([("a", kind, {})])
    ((field,),) = [f["type"]["fields"] for f in json.loads(write_schema([column]))["fields"]]
    assert field["metadata"]["delta.columnMapping.nested.ids"] == {"c2.element": 3}
    (found,) = read_schema("t", write_schema([column]))
    assert found.type.equals(column.type, check_metadata=True)


def test_a_list_of_an_earlier_version_has_no_id_of_its_elements_and_stays_as_it_is() -> None:
    metadata = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1"}
    kind = {"type": "array", "elementType": "float", "containsNull": True}
    field = {"name": "v", "type": kind, "nullable": True, "metadata": metadata}
    text = orjson.dumps({"type": "struct", "fields": [field]}).decode()
    columns = read_schema("t", text)
    assert write_schema(columns) == text
    assert highest_id(columns) == 1
    assert physical_schema(columns).field("c1").type.value_field.metadata is None


def test_the_id_of_a_dropped_column_is_never_used_again() -> None:
    metadata = Metadata(new_columns([("a", pa.int64(), {}), ("b", GEOMETRY, {})]))
    assert metadata.last_id == 4
    dropped = metadata.with_columns(metadata.columns[:1])
    assert dropped.last_id == 4
    action = dropped.action()["metaData"]
    assert Metadata.of_json("t", action).last_id == 4
    assert action["configuration"]["delta.columnMapping.maxColumnId"] == "4"
    (added,) = new_columns([("b", GEOMETRY, {})], dropped.last_id)
    assert (added.field_id, added.physical_name) == (5, "c5")


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"name": "v", "type": "variant", "metadata": {}}, "'delta.columnMapping.id'"),
        (
            {
                "name": "v",
                "type": "variant",
                "metadata": {
                    "delta.columnMapping.id": 1,
                    "delta.columnMapping.physicalName": "c1",
                },
            },
            "'variant'",
        ),
    ],
)
def test_a_column_that_a_mirror_cannot_have_is_named(field: dict[str, object], said: str) -> None:
    with pytest.raises(MirrorError) as error:
        read_schema("shop/t", json.dumps({"type": "struct", "fields": [field]}))
    assert str(error.value) == (f"[M508] shop/t: column v cannot be read: {said}; drop the column")
