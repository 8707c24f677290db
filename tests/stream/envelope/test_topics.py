"""Routes: which topic the rows of a table have, and what its keys have in addition."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog.events.rows_header import RowsKind
from connector.foundation.errors import UnsupportedChange
from connector.stream.envelope import record_errors
from connector.stream.envelope.copied_deletes import put_deletes
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.options import EnvelopeOptions, Route, TopicClaims, Topics
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.schema_records import SchemaState
from connector.stream.envelope.selected_rows import SelectRowWriter
from connector.stream.progress.sequences import TransactionOrder
from tests.foundation.errors.texts import text_of
from tests.stream.envelope.collected import Collected
from tests.stream.envelope.test_record_encoder import changed, inserted, table
from tests.stream.envelope.test_selected_rows import KEYED, NOW_US, READ_AT, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connector.foundation.kafka_records import Record

FIELD = "__dbz__physicalTableIdentifier"
SHARDS = Route("sh*", "t_*", "all.t", FIELD)
SCHEMAS: dict[str, Any] = {"key_format": "json_with_schema", "value_format": "json_with_schema"}


def encoder_of(*routes: Route, **form: Any) -> tuple[RecordEncoder, Collected]:
    target = Collected()
    return RecordEncoder(options(*routes, **form), TransactionOrder(), target), target


def options(*routes: Route, **form: Any) -> EnvelopeOptions:
    return EnvelopeOptions("p", "mysql", "1", debezium=DebeziumProfile(**form), routes=routes)


def rows(target: Collected) -> list[Record]:
    return [record for record in target.release() if record.topic != "p.schema"]


def places(records: Sequence[Record]) -> list[tuple[str, bytes | None]]:
    return [(record.topic, record.key) for record in records]


def test_the_first_route_of_a_table_counts() -> None:
    topics = Topics("p", (SHARDS, Route("sh*", "*", "{database}.all-{table}", "")))
    assert topics.of("shop", "t_1") == "all.t"
    assert topics.of("sh 1", "a b") == "sh_1.all-a_b"
    assert topics.of("erp", "t_1") == "p.erp.t_1"
    assert topics.route("erp", "t_1") is None


def test_rows_of_two_tables_in_one_topic_have_different_keys() -> None:
    encoder, target = encoder_of(SHARDS)
    for name in ("t_1", "t_2", "other"):
        encoder.rows(inserted(table(name), 7), NOW_US)
    assert places(rows(target)) == [
        ("all.t", b'{"id":7,"__dbz__physicalTableIdentifier":"p.shop.t_1"}'),
        ("all.t", b'{"id":7,"__dbz__physicalTableIdentifier":"p.shop.t_2"}'),
        ("p.shop.other", b'{"id":7}'),
    ]
    # What is counted by topic has the name of the topic.
    assert encoder.tables.names == {"all.t": "all.t", "p.shop.other": "shop.other"}


def test_the_field_of_the_table_can_be_left_out() -> None:
    encoder, target = encoder_of(replace(SHARDS, key_field=""))
    encoder.rows(inserted(table("t_1"), 7), NOW_US)
    assert places(rows(target)) == [("all.t", b'{"id":7}')]


def test_deletes_and_key_changes_have_the_field_and_plain_headers() -> None:
    encoder, target = encoder_of(SHARDS)
    encoder.rows(changed(RowsKind.UPDATE, 7, 8, of=table("t_1")), NOW_US)
    records = rows(target)
    old, new = (b'{"id":%d,"%b":"p.shop.t_1"}' % (n, FIELD.encode()) for n in (7, 8))
    assert places(records) == [("all.t", old), ("all.t", old), ("all.t", new)]
    assert dict(records[0].headers)["__debezium.newkey"] == b'{"id":8}'


def test_the_schemas_have_the_name_of_the_topic() -> None:
    encoder, target = encoder_of(replace(SHARDS, topic="all-t"), **SCHEMAS)
    encoder.rows(inserted(table("t_1"), 7), NOW_US)
    (record,) = rows(target)
    assert record.key is not None
    assert record.value is not None
    assert json.loads(record.key) == {
        "schema": {
            "type": "struct",
            "fields": [
                {"type": "int32", "optional": False, "field": "id"},
                {"type": "string", "optional": False, "field": FIELD},
            ],
            "optional": False,
            "name": "all-t.Key",
        },
        "payload": {"id": 7, FIELD: "p.shop.t_1"},
    }
    schema = json.loads(record.value)["schema"]
    assert (schema["name"], schema["fields"][1]["name"]) == ("all-t.Envelope", "all-t.Value")


def test_copied_rows_and_those_taken_back_go_the_same_way() -> None:
    chosen = options(Route("shop", "orders", "all.orders", FIELD))
    writer = SelectRowWriter(KEYED, chosen.debezium)
    data = row(b"7", b"x")
    writer.put_row(data, 0, len(data))
    target = Collected()
    writer.take_chunk().publish(target, chosen, READ_AT, set(), NOW_US)
    put_deletes(target, chosen, KEYED, [b'{"id":7}'], READ_AT, NOW_US)
    key = b'{"id":7,"__dbz__physicalTableIdentifier":"p.shop.orders"}'
    assert places(target.records) == [("all.orders", key)] * 3


@pytest.mark.parametrize("first", ["t_1", "t"])
def test_a_route_cannot_lead_to_the_topic_of_another_table(first: str) -> None:
    encoder, _ = encoder_of(replace(SHARDS, topic="p.shop.t"))
    second = "t" if first == "t_1" else "t_1"
    encoder.rows(inserted(table(first), 7), NOW_US)
    with pytest.raises(UnsupportedChange) as caught:
        encoder.rows(inserted(table(second), 7), NOW_US)
    assert caught.value.code is record_errors.TOPIC_TAKEN
    assert caught.value.text == (
        f"table shop.{second} would have topic p.shop.t, which a table has alone, and others by a "
        "route; send both by envelope.routes, or choose another topic there"
    )


@pytest.mark.parametrize(
    ("older", "younger"),
    [
        (("shop", "eu_orders"), ("shop_eu", "orders")),
        (("a", "b.c"), ("a_b", "c")),
        (("shop_eu", "orders"), ("shop", "eu_orders")),
    ],
)
def test_a_topic_that_kafka_takes_for_another_one_is_refused(
    older: tuple[str, str], younger: tuple[str, str]
) -> None:
    claims = TopicClaims(Topics("p"))
    like = claims.of(*older)
    for _ in range(2):
        with pytest.raises(UnsupportedChange) as caught:
            claims.of(*younger)
        one, other = ".".join(older), ".".join(younger)
        topic = Topics("p").of(*younger)
        facts = {"one": one, "other": other, "topic": topic, "like": like}
        assert caught.value.text == text_of(record_errors.TOPIC_ALIKE, **facts)
    assert claims.of(*older) == like
    assert claims.names == {like: ".".join(older)}


def test_a_table_keeps_its_topic_after_a_restart() -> None:
    first, target = encoder_of()
    first.rows(inserted(table("t_1"), 7), NOW_US)
    written = {(each.key or b"").decode(): each.value or b"" for each in target.release()}
    schemas = {key: value for key, value in written.items() if key.startswith("shop.t_1/")}
    again = RecordEncoder(options(), TransactionOrder(), Collected(), SchemaState(schemas))
    with pytest.raises(UnsupportedChange) as caught:
        again.rows(inserted(table("t$1"), 7), NOW_US)
    assert caught.value.code is record_errors.TOPIC_SHARED
    again.rows(inserted(table("t_1"), 8), NOW_US)
