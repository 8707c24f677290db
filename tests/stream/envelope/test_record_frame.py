"""Keys and values with schemas, and rows without an envelope; `tests/debezium` has the oracle."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog.columns.column import Column, ColumnType
from connector.binlog.events.rows_header import RowsKind
from connector.binlog.statement import StatementKind
from connector.foundation.kafka_records import NO_HEADERS, Record
from connector.stream.envelope.copied_deletes import put_deletes
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.record_frame import RecordFrame
from connector.stream.envelope.schemas.column_rules import (
    MASK,
    ColumnPattern,
    ColumnRule,
    ColumnRules,
)
from connector.stream.envelope.schemas.schema_records import SchemaState
from connector.stream.envelope.selected_rows import SelectRowWriter
from connector.stream.progress.sequences import GapSequence, TransactionOrder
from tests.stream.envelope.collected import Collected
from tests.stream.envelope.test_record_encoder import changed, inserted, statement, table
from tests.stream.envelope.test_selected_rows import KEYED, NOW_US, READ_AT, row
from verification.topics.record_difference import RegistryValues, difference

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMAS: Mapping[str, Any] = {"key_format": "json_with_schema", "value_format": "json_with_schema"}
FLAT: Mapping[str, Any] = {
    "shape": "flat",
    "flat_fields": ("op", "row", "snapshot", "table", "source.ts_ms"),
}
KEY = b'{"id":7}'


def options(form: Mapping[str, Any], **others: Any) -> EnvelopeOptions:
    return EnvelopeOptions("p", "mysql", "1", debezium=DebeziumProfile(**form), **others)


def encoder_of(chosen: EnvelopeOptions, schemas: Mapping[str, bytes] | None = None) -> Any:
    target = Collected()
    return RecordEncoder(chosen, TransactionOrder(), target, SchemaState(schemas)), target


def payload(value: bytes | None) -> Any:
    """Return a value without its schema, and check that it has one."""
    assert value is not None
    record = json.loads(value)
    assert list(record) == ["schema", "payload"]
    return record["payload"]


def taken_back(form: Mapping[str, Any]) -> list[tuple[bytes | None, bytes | None]]:
    target = Collected()
    put_deletes(target, options(form), KEYED, [KEY], READ_AT, NOW_US)
    return [(record.key, record.value) for record in target.records]


def test_the_profile_exact_has_neither_schemas_nor_another_shape() -> None:
    form = RecordFrame(EnvelopeOptions("p", "mysql", "1"), KEYED)
    assert (form.before, form.no_before) == (b'{"before":', b'{"before":null,"after":')
    assert form.key(KEY) is KEY


def test_a_key_and_a_value_have_schemas_of_their_own() -> None:
    plain = RecordFrame(options({}), KEYED)
    of_key = RecordFrame(options({"key_format": "json_with_schema"}), KEYED)
    assert of_key.no_before == plain.no_before
    assert of_key.key(KEY) == (
        b'{"schema":{"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"}],'
        b'"optional":false,"name":"p.shop.orders.Key"},"payload":{"id":7}}'
    )
    assert of_key.key(None) is None
    of_value = RecordFrame(options({"value_format": "json_with_schema"}), KEYED)
    assert of_value.key(KEY) == KEY
    assert of_value.no_before.endswith(b'},"payload":{"before":null,"after":')


@pytest.mark.parametrize("schemas", [{}, SCHEMAS], ids=["plain", "schemas"])
@pytest.mark.parametrize("shape", [{}, FLAT], ids=["envelope", "flat"])
def test_a_copied_row_has_the_form(schemas: Mapping[str, Any], shape: Mapping[str, Any]) -> None:
    chosen = options({**schemas, **shape})
    writer = SelectRowWriter(KEYED, chosen.debezium)
    for data in (row(b"7", b"x"), row(b"8", None)):
        writer.put_row(data, 0, len(data))
    chunk = writer.take_chunk()
    # Windows and restarts know rows by their plain keys.
    assert chunk.keys() == {KEY, b'{"id":8}'}
    target = Collected()
    assert chunk.publish(target, chosen, READ_AT, {b'{"id":8}'}, NOW_US) == 1
    (record,) = target.records
    assert record.key is not None
    assert record.value is not None
    key, value = record.key, json.loads(record.value)
    if schemas:
        value = payload(record.value)
        key = json.dumps(payload(record.key), separators=(",", ":")).encode()
    assert key == KEY
    if shape:
        added = {
            "__op": "r", "__row": 0, "__snapshot": "true", "__table": "orders",
            "__source_ts_ms": 7000,
        }  # fmt: skip
        assert value == {"id": 7, "text": "x", **added}
    else:
        assert (value["before"], value["after"]) == (None, {"id": 7, "text": "x"})
        assert (value["op"], value["source"]["snapshot"]) == ("r", "true")


def test_a_row_that_is_taken_back_has_no_image_with_a_schema() -> None:
    (_, plain), (_, tombstone) = taken_back({})
    assert plain is not None
    assert json.loads(plain)["before"] == {"id": 7}
    assert tombstone is None
    (key, value), (_, tombstone) = taken_back(SCHEMAS)
    assert payload(key) == {"id": 7}
    assert (payload(value)["before"], payload(value)["op"]) == (None, "d")
    assert tombstone is None


@pytest.mark.parametrize(
    ("deletes", "values"),
    [
        ("tombstone", [b"null"]),
        ("drop", []),
        ("delete-to-tombstone", [None]),
        ("rewrite", [b'{"id":7,"__deleted":"true"}']),
        ("rewrite-with-tombstone", [b'{"id":7,"__deleted":"true"}', None]),
    ],
)
def test_a_row_that_is_taken_back_is_a_flat_delete(deletes: str, values: list[bytes]) -> None:
    form = {"shape": "flat", "flat_deletes": deletes}
    assert [value for _, value in taken_back(form)] == values
    rewritten = [value for _, value in taken_back({**form, **SCHEMAS})]
    if deletes == "tombstone":
        assert [payload(value) for value in rewritten] == [None]
    else:
        # A row with a schema needs its other values.
        assert rewritten == [None] * (deletes != "drop")


@pytest.mark.parametrize("form", [SCHEMAS, {**FLAT, **SCHEMAS}], ids=["envelope", "flat"])
def test_a_replayed_row_has_the_form(form: Mapping[str, Any]) -> None:
    encoder, target = encoder_of(options(form))
    change = inserted(table(), 7)
    encoder.rows(change, NOW_US)
    _, first = target.release()
    encoder.repeat(change, change.rows, 0, GapSequence(1, 1, 500, 0), NOW_US)
    (again,) = target.release()
    assert (again.key, again.value) == (first.key, first.value)
    assert payload(first.key) == {"id": 7}
    assert again.headers != first.headers


def test_a_flat_row_that_gets_another_key_is_two_records_and_tells_it() -> None:
    fields = {"flat_fields": ("op", "row"), "flat_deletes": "rewrite"}
    encoder, target = encoder_of(options({**FLAT, **fields}))
    encoder.rows(changed(RowsKind.UPDATE, 1, 2), NOW_US)
    _, deleted, created = target.release()
    assert (deleted.key, created.key) == (b'{"id":1}', b'{"id":2}')
    assert deleted.value == b'{"id":1,"__deleted":"true","__op":"d","__row":0}'
    assert created.value == b'{"id":2,"__deleted":"false","__op":"c","__row":0}'
    assert dict(deleted.headers)["__debezium.newkey"] == b'{"id":2}'


def test_a_truncate_has_the_schema_of_the_table_after_a_restart() -> None:
    point = Column(ColumnType.GEOMETRY, 4, nullable=True, name="place", geometry_type=1)
    text = Column(ColumnType.VARCHAR, 40, nullable=True, name="text", collation=255)
    rule = ColumnRule((ColumnPattern.parse("shop.t.text"),), MASK, 3)
    form = {**SCHEMAS, "skipped_operations": (), "source_types": ("*.*.*",)}
    chosen = options(form, columns=ColumnRules((), (), (rule,)))
    encoder, target = encoder_of(chosen)
    encoder.rows(inserted(table("t", point, text), 7), NOW_US)
    schema, inserted_row = target.release()
    encoder, target = encoder_of(chosen, {schema.key.decode(): schema.value})
    encoder.statement(statement(StatementKind.TRUNCATE, "t"), NOW_US)
    (truncated,) = target.release()
    assert truncated.key is None
    assert json.loads(truncated.value)["schema"] == json.loads(inserted_row.value)["schema"]
    assert payload(truncated.value)["op"] == "t"


def test_a_flat_row_cannot_tell_of_a_truncate() -> None:
    encoder, target = encoder_of(options({**FLAT, "skipped_operations": ()}))
    encoder.rows(inserted(table(), 7), NOW_US)
    target.release()
    encoder.statement(statement(StatementKind.TRUNCATE, "t"), NOW_US)
    assert target.release() == []


@pytest.mark.parametrize("form", [{}, SCHEMAS, FLAT, {**FLAT, **SCHEMAS}])
def test_a_proof_leaves_out_the_time_of_encoding_alone(form: Mapping[str, Any]) -> None:
    fields = {"flat_fields": ("op", "ts_ms", "version")} if form.get("shape") else {}
    chosen = options({**form, **fields})

    def encoded(version: str, now_us: int, row_id: int) -> Record:
        encoder, target = encoder_of(
            EnvelopeOptions("p", "mysql", version, debezium=chosen.debezium)
        )
        encoder.rows(inserted(table(), row_id), now_us)
        _, found = target.release()
        return found  # type: ignore[no-any-return]

    wanted, later, other = encoded("1", NOW_US, 7), encoded("2", NOW_US + 5, 7), encoded("1", 9, 8)
    for record, what in ((wanted, ""), (later, ""), (other, "its value")):
        seen = Record("t", wanted.key, record.value, [], 0)
        assert difference(seen, wanted.key, wanted.value, NO_HEADERS, RegistryValues(None)) == what
