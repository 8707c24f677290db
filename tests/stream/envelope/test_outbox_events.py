"""Rows of an outbox become events with the bytes of Debezium's EventRouter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from connector.binlog.events.rows_header import RowsKind
from connector.binlog.statement import StatementKind
from connector.foundation.errors import RecordTooLarge, UnsupportedChange
from connector.stream.changes.receiver import StreamListener
from connector.stream.envelope import record_errors
from connector.stream.envelope.copied_chunk import publish_events
from connector.stream.envelope.debezium.profile import DebeziumProfile
from connector.stream.envelope.options import EnvelopeOptions, OutboxOptions
from connector.stream.envelope.outbox_events import OutboxEvents
from connector.stream.envelope.record_encoder import RecordEncoder
from connector.stream.envelope.schemas.table_schema import TableSchema
from connector.stream.envelope.selected_rows import SelectRowWriter
from connector.stream.progress.sequences import TransactionOrder
from connector.stream.sink import kafka_errors
from tests.stream.envelope.collected import Collected
from tests.stream.envelope.test_record_encoder import NOW_US, changed, inserted, statement, table
from tests.stream.envelope.test_selected_rows import READ_AT, column, row

if TYPE_CHECKING:
    from connector.foundation.contract import SchemaColumn
    from connector.foundation.kafka_records import Record


def text(name: str, kind: str = "varchar") -> SchemaColumn:
    return {"name": name, "type": kind, "nullable": name != "id", "key": int(name == "id"),
            "charset": "utf8mb4", "collation": 255}  # fmt: skip


COLUMNS = (
    text("id"),
    text("aggregatetype"),
    text("aggregateid"),
    text("type"),
    text("payload", "json"),
    column("n"),
    column("b", "varbinary"),
    column("weight", "double"),
)
SCHEMA = TableSchema.of_columns("shop", "outbox", COLUMNS)


def options(**form: Any) -> EnvelopeOptions:
    chosen = OutboxOptions(("shop.outbox", "shop.t"), **form)
    return EnvelopeOptions("p", "mysql", "1", debezium=DebeziumProfile(), outbox=chosen)


def events(**form: Any) -> OutboxEvents:
    return OutboxEvents(options(**form), SCHEMA, {})


ORDER = (
    '{"id":"1","aggregatetype":"order","aggregateid":"é\\"/😀","type":"Created",'
    '"payload":"{\\"id\\": 1, \\"x\\": [1.50, null]}","n":7,"b":"AP8=","weight":1.5}'
).encode()
NOTHING = (
    b'{"id":"2","aggregatetype":"order","aggregateid":null,"type":null,"payload":null,"n":null,'
    b'"b":null,"weight":null}'
)


def test_an_event_has_its_topic_key_value_and_id() -> None:
    event = events().event(ORDER)
    assert event.topic == "outbox.event.order"
    assert event.key == '"é\\"/\\uD83D\\uDE00"'.encode()
    assert event.value == b'"{\\"id\\": 1, \\"x\\": [1.50, null]}"'
    assert event.headers == [(b"id", b"1")]


def test_each_part_can_come_from_another_column() -> None:
    event = events(
        id="B",
        key="n",
        payload="b",
        route_by="type",
        topic="of-{value}.events",
        headers=(("type", "eventType"), ("n", "n"), ("b", "b")),
    ).event(ORDER)
    assert (event.topic, event.key, event.value) == ("of-Created.events", b"7", b'"AP8="')
    assert event.headers == [
        (b"id", b"AP8="), (b"eventType", b"Created"), (b"n", b"7"), (b"b", b"AP8="),
    ]  # fmt: skip


def test_plain_parts_have_no_quotes() -> None:
    plain = {"key_format": "plain", "value_format": "plain"}
    event = events(**plain).event(ORDER)
    assert (event.key, event.value) == ('é"/😀'.encode(), b'{"id": 1, "x": [1.50, null]}')
    event = events(key="n", payload="b", **plain).event(ORDER)
    assert (event.key, event.value) == (b"7", b"\x00\xff")


def test_null_is_json_or_no_value() -> None:
    event = events(headers=(("type", "eventType"),)).event(NOTHING)
    assert (event.key, event.value) == (b"null", b"null")
    assert event.headers == [(b"id", b"2"), (b"eventType", None)]
    event = events(key_format="plain", value_format="plain", payload="b").event(NOTHING)
    assert (event.key, event.value) == (None, None)


def test_schemas_are_those_of_the_columns() -> None:
    schemas = {"key_format": "json_with_schema", "value_format": "json_with_schema"}
    event = events(**schemas).event(ORDER.replace("😀".encode(), b""))
    assert event.key == ('{"schema":{"type":"string","optional":true},"payload":"é\\"/"}'.encode())
    assert event.value == (
        b'{"schema":{"type":"string","optional":true,"name":"io.debezium.data.Json","version":1},'
        b'"payload":"{\\"id\\": 1, \\"x\\": [1.50, null]}"}'
    )
    event = events(**schemas).event(NOTHING)
    assert event.key == b'{"schema":{"type":"string","optional":true},"payload":null}'


@pytest.mark.parametrize(
    ("form", "code", "why"),
    [
        (
            {"payload": "body"},
            record_errors.NO_COLUMN,
            (
                "the outbox shop.outbox has no column body in its records; name its columns in "
                "[envelope.outbox], and start again"
            ),
        ),
        (
            {"payload": "weight"},
            record_errors.TYPE,
            (
                "column shop.outbox.weight of type DOUBLE cannot be a part of an event; take a "
                "text, a JSON document, bytes or an integer"
            ),
        ),
    ],
)
def test_columns_that_no_event_can_have_are_refused(
    form: dict[str, Any], code: object, why: str
) -> None:
    with pytest.raises(UnsupportedChange) as caught:
        events(**form)
    assert (caught.value.code, caught.value.text) == (code, why)


@pytest.mark.parametrize(
    ("value", "topic"),
    [(None, "{value}"), ("a/b", "{value}"), ("schema", "p.{value}"), ("p", "{value}"),
     ("t", "p.shop.{value}")],
)  # fmt: skip
def test_an_event_without_a_topic_of_its_own_is_refused(value: str | None, topic: str) -> None:
    # A table has the last of these topics.
    made = OutboxEvents(options(topic=topic), SCHEMA, {"p.shop.t": "shop.t"})
    given = b"null" if value is None else b'"%b"' % value.encode()
    with pytest.raises(UnsupportedChange) as caught:
        made.event(ORDER.replace(b'"order"', given))
    assert caught.value.code is record_errors.NO_TOPIC


class Heard(StreamListener):
    def __init__(self) -> None:
        self.updated: list[str] = []

    def event_updated(self, database: str, table: str) -> None:
        self.updated.append(f"{database}.{table}")


def encoder_of(**form: Any) -> tuple[RecordEncoder, Collected, Heard]:
    target, heard = Collected(), Heard()
    chosen = options(id="id", key="id", payload="id", route_by="id", topic="t-{value}", **form)
    encoder = RecordEncoder(chosen, TransactionOrder(), target, listener=heard)
    return encoder, target, heard


def rows(target: Collected) -> list[Record]:
    return [record for record in target.release() if record.topic != "p.schema"]


def test_inserts_are_events_and_other_changes_have_no_records() -> None:
    encoder, target, heard = encoder_of()
    watched = encoder.watch.table("shop.t")
    window = watched.open_window()
    encoder.rows(inserted(table(), 7, 8), NOW_US)
    first, second = rows(target)
    assert (first.topic, first.key, first.value) == ("t-7", b"7", b"7")
    assert [name for name, _ in first.headers] == [
        "cdc.seq", "cdc.op", "cdc.schema", "cdc.txn", "id",
    ]  # fmt: skip
    assert dict(second.headers)["cdc.seq"].endswith(b"00000002")
    encoder.rows(changed(RowsKind.UPDATE, 9, 10, 9, 9), NOW_US)
    encoder.rows(changed(RowsKind.DELETE, 11), NOW_US)
    encoder.statement(statement(StatementKind.TRUNCATE, "t"), NOW_US)
    assert rows(target) == []
    assert heard.updated == ["shop.t"]
    assert watched.touched_since(window) == {b'{"id":%d}' % n for n in (7, 8, 9, 10, 11)}
    # Other tables are as they were.
    encoder.rows(inserted(table("other"), 7), NOW_US)
    assert [record.topic for record in rows(target)] == ["p.shop.other"]
    assert set(encoder.tables.names) == {"t-7", "t-8", "p.shop.t", "p.shop.other"}


def test_an_update_can_stop_the_stream() -> None:
    encoder, _, _ = encoder_of(stops_at_updates=True)
    with pytest.raises(UnsupportedChange) as caught:
        encoder.rows(changed(RowsKind.UPDATE, 7, 7), NOW_US)
    assert caught.value.code is record_errors.UPDATED


class Small(Collected):
    """A target that takes no large records."""

    def take(
        self, topic: str, key: bytes | None, value: bytes | None, headers: bytes, timestamp_ms: int
    ) -> None:
        if value is not None and len(value) > 20:
            raise RecordTooLarge(kafka_errors.RECORD_SIZE, servers="a:9092", doing="write")
        super().take(topic, key, value, headers, timestamp_ms)


def test_copied_rows_are_events_too() -> None:
    writer = SelectRowWriter(SCHEMA, DebeziumProfile())
    for number, (route, payload) in enumerate(
        [(b"order", b"{}"), (b"a/b", b"{}"), (b"order", b"[]"), (b"order", b"x" * 30), (b"x", b"1")]
    ):
        data = row(b"%d" % number, route, b"1", None, payload, b"7", b"\0", b"0")
        writer.put_row(data, 0, len(data))
    chunk = writer.take_chunk()
    target = Small()
    assert publish_events(chunk, events(), target, options(), READ_AT, {b'{"id":"2"}'}) == 2
    assert [(record.topic, record.value) for record in target.records] == [
        ("outbox.event.order", b'"{}"'), ("outbox.event.x", b'"1"'),
    ]  # fmt: skip
    assert [dict(record.headers)["cdc.seq"][-8:] for record in target.records] == [
        b"00000000", b"00000001",
    ]  # fmt: skip
    assert [refused.key for refused in chunk.refused] == [b'{"id":"1"}', b'{"id":"3"}']


def test_which_topics_may_have_events() -> None:
    form = OutboxOptions(("a.b",))
    assert form.may_have("outbox.event.order")
    assert not form.may_have("outbox.event.")
    assert not form.may_have("outbox.events")
    assert OutboxOptions(("a.b",), topic="one").may_have("one")
    assert not form.takes("a", "c")
