"""The rows of an outbox table become events, as Debezium's EventRouter makes them.

::

    topic    outbox.event.order         by the column `aggregatetype`
    key      "42"                       the column `aggregateid`
    headers  cdc.…, id                  the column `id`
    value    "the text of an order"     the column `payload`

*Expanded payloads* (`table.expand.json.payload`). The JSON text of a payload becomes a value with
a schema of its own::

    text    {"id": 1, "tags": ["a"], "note": null}
    value   {"id":1,"tags":["a"]}
    schema  {"type":"struct","fields":[{"type":"int32","optional":true,"field":"id"},…],…}

The rules are Debezium's: the elements of an array have one type; the objects of an array have the
fields of all of them; a field that is NULL, or an empty array, is left out. A text that does not
fit stays a text.

https://debezium.io/documentation/reference/stable/transformations/outbox-event-router.html
"""

import json
from base64 import b64decode
from math import isfinite
from typing import Any, Final, NoReturn, final

from connector.binlog.columns.column import BINARIES, INTEGERS
from connector.binlog.text_writer import quoted
from connector.foundation.contract import SchemaColumn, is_topic_name, own_topics
from connector.foundation.errors import UnsupportedChange
from connector.stream.changes.receiver import StreamListener
from connector.stream.envelope import record_errors
from connector.stream.envelope.connect_schemas import payload_head
from connector.stream.envelope.debezium.column_cells import STRINGS
from connector.stream.envelope.debezium.number_cells import java_text
from connector.stream.envelope.debezium.profile import DebeziumProfile, field_names
from connector.stream.envelope.debezium.registry_schemas import ConnectSchema
from connector.stream.envelope.debezium.string_cells import with_escapes
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.schemas.connect_types import column_field
from connector.stream.envelope.schemas.table_schema import TableSchema

_INT32: Final = 2**31
_INT64: Final = 2**63


class _NoSchema(Exception):
    """The text is no JSON, or has no schema."""


@final
class ExpandedPayload:
    """The schema of a payload, and its JSON."""

    def __init__(self, schema: ConnectSchema, text: str) -> None:
        self.schema = schema
        self.text = text


def expand_payload(text: str, name: str) -> ExpandedPayload | None:
    """Return the value that a JSON object is; None for any other text.

    `name` is that of the column, which names the schemas.
    """
    if not text.startswith("{"):
        # Debezium ends at an array, and leaves everything else.
        return None
    try:
        # As with Debezium, what follows the object has no effect.
        document, _ = _DECODER.raw_decode(text)
        schema = _schema(name, document)
        assert schema is not None
        return ExpandedPayload(schema, _payload_json(schema, document))
    except (ValueError, RecursionError, _NoSchema):
        return None


def _refuse(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which are no JSON."""
    raise _NoSchema(constant)


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def _schema(name: str, value: Any) -> ConnectSchema | None:
    """Return the schema of a value; None for NULL and an empty array."""
    if value is None:
        return None
    if isinstance(value, dict):
        fields = []
        for key, item in value.items():
            field = _schema(f"{name}.{key}" if name else key, item)
            if field is not None:
                fields.append({**field, "field": key})
        return _struct(fields, name)
    if isinstance(value, list):
        if not value:
            return None
        return {"type": "array", "items": _items(name, value), "optional": True}
    return {"type": _primitive(value), "optional": True}


def _struct(fields: list[ConnectSchema], name: str) -> ConnectSchema:
    found: ConnectSchema = {"type": "struct", "fields": fields, "optional": True}
    return {**found, "name": name} if name else found


def _primitive(value: object) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        if -_INT32 <= value < _INT32:
            return "int32"
        if -_INT64 <= value < _INT64:
            return "int64"
    elif isinstance(value, float) and isfinite(value):
        return "double"
    raise _NoSchema(str(value))


def _items(name: str, values: list[Any]) -> ConnectSchema:
    """Return the schema of the elements of an array."""
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, dict) for value in known):
        return _merged(name, known)
    # Only the first element of an array of arrays counts; the others have to fit.
    schema = _schema("", known[0]) if known else None
    if schema is None:
        raise _NoSchema(name)
    return schema


def _merged(name: str, values: list[dict[str, Any]]) -> ConnectSchema:
    """Return the schema of objects that may have different fields."""
    fields: dict[str, ConnectSchema] = {}
    schemas = []
    for value in values:
        item_schema = _schema(name, value)
        assert item_schema is not None
        schemas.append(item_schema)
        for field in item_schema["fields"]:
            fields.setdefault(field["field"], field)
    struct = _struct(list(fields.values()), name)
    # Of several schemas, Debezium makes one that is not optional.
    return {**struct, "optional": all(item_schema == schemas[0] for item_schema in schemas)}


def _payload_json(schema: ConnectSchema, value: Any) -> str:
    """Return the JSON of a value; raises _Unfit if it is not what the schema says."""
    kind = schema["type"]
    if value is None:
        if not schema["optional"]:
            raise _NoSchema(kind)
        return "null"
    if kind == "struct" and isinstance(value, dict):
        members = (
            f"{_string_json(field['field'])}:{_payload_json(field, value.get(field['field']))}"
            for field in schema["fields"]
        )
        return f"{{{','.join(members)}}}"
    if kind == "array" and isinstance(value, list):
        return f"[{','.join(_payload_json(schema['items'], each) for each in value)}]"
    if isinstance(value, dict | list) or _primitive(value) != kind:
        raise _NoSchema(kind)
    if isinstance(value, str):
        return _string_json(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return java_text(repr(value)) if isinstance(value, float) else str(value)


def _string_json(value: str) -> str:
    return with_escapes(quoted(value).decode())


_PLAIN: Final = "plain"
_WITH_SCHEMA: Final = "json_with_schema"


@final
class OutboxEvent:
    """The parts of a record that its row decides."""

    __slots__ = ("headers", "key", "topic", "value")

    def __init__(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[bytes, bytes | None]],
    ) -> None:
        """Hold the parts; `headers` come after those of every record."""
        self.topic = topic
        self.key = key
        self.value = value
        self.headers = headers


@final
class OutboxEvents:
    """Makes the events of one column list."""

    def __init__(
        self,
        options: EnvelopeOptions,
        schema: TableSchema,
        names: dict[str, str],
        listener: StreamListener | None = None,
    ) -> None:
        """Add each topic to `names`, under its own name; `listener` hears of updates.

        Raises UnsupportedChange for a column that records do not have, or that no event can have.
        """
        form, values = options.outbox, options.debezium
        assert form is not None
        assert values is not None
        self._form = form
        self._table = schema.name
        self._place = schema.database, schema.table
        self._names = names
        self._listener = listener or StreamListener()
        self._has_reported_update = False
        self._own = own_topics(options.prefix)
        columns = _Columns(schema, values)
        self._route = columns.of(form.route_by)
        self._key = columns.of(form.key)
        self._payload = columns.of(form.payload)
        self._headers = [
            (name.encode(), columns.of(column)) for column, name in ((form.id, "id"), *form.headers)
        ]
        self._key_head = columns.head(form.key, form.key_format)
        self._value_head = columns.head(form.payload, form.value_format)

    def event(self, row: bytes) -> OutboxEvent:
        """Return the event of a row, which is a JSON object.

        Raises UnsupportedChange if it names no topic.
        """
        cells: dict[str, Any] = json.loads(row)
        return OutboxEvent(
            self._topic(cells[self._route.name]),
            _written(cells, self._key, self._form.key_format, self._key_head),
            self._value(cells),
            [(name, _text(cells[cell.name])) for name, cell in self._headers],
        )

    def _value(self, cells: dict[str, Any]) -> bytes | None:
        form, payload = self._form, cells[self._payload.name]
        if form.expands_payload and isinstance(payload, str) and not self._payload.is_bytes:
            expanded = expand_payload(payload, form.payload)
            if expanded is not None:
                if form.value_format != _WITH_SCHEMA:
                    return expanded.text.encode()
                return payload_head(expanded.schema) + expanded.text.encode() + b"}"
        return _written(cells, self._payload, form.value_format, self._value_head)

    def updated(self) -> None:
        """Note an update, which has no event; raises UnsupportedChange if that stops the stream."""
        if self._form.stops_at_updates:
            raise UnsupportedChange(record_errors.UPDATED, table=self._table)
        if not self._has_reported_update:
            self._has_reported_update = True
            self._listener.event_updated(*self._place)

    def _topic(self, value: object) -> str:
        topic = "" if value is None else self._form.topic.replace("{value}", str(value))
        if (
            not is_topic_name(topic)
            or topic in self._own
            or self._names.setdefault(topic, topic) != topic
        ):
            raise UnsupportedChange(
                record_errors.NO_TOPIC, table=self._table, column=self._form.route_by
            )
        return topic


@final
class _Cell:
    """A column of events."""

    def __init__(self, name: str, *, is_bytes: bool) -> None:
        self.name = name  # in records
        self.is_bytes = is_bytes  # whether JSON has base64 of its values


@final
class _Columns:
    """The columns of a column list by their names, which have no case."""

    def __init__(self, schema: TableSchema, form: DebeziumProfile) -> None:
        self._schema = schema
        self._form = form
        self._names = field_names(schema.columns, form)
        self._places = {column["name"].lower(): n for n, column in enumerate(schema.columns)}

    def of(self, name: str) -> _Cell:
        """Return a column; raises UnsupportedChange if there is none, or if its type does not fit.

        Connect has bytes for a BLOB; the other forms of bytes are texts.
        """
        place = self._places.get(name.lower())
        if place is None:
            raise UnsupportedChange(record_errors.NO_COLUMN, table=self._schema.name, column=name)
        column = self._schema.columns[place]
        kind = column["type"]
        if not (kind in STRINGS or kind in BINARIES or _is_integer(column)):
            raise UnsupportedChange(
                record_errors.TYPE,
                column=f"{self._schema.name}.{column['name']}",
                type=kind.upper(),
            )
        return _Cell(self._names[place], is_bytes=kind in BINARIES and self._form.binary == "bytes")

    def head(self, name: str, chosen: str) -> bytes:
        """Return what comes before the JSON of a column in a format."""
        if chosen != _WITH_SCHEMA:
            return b""
        place = self._places[name.lower()]
        field = column_field("", self._schema.columns[place], self._schema, self._form)
        del field["field"]
        return payload_head(field)


def _is_integer(column: SchemaColumn) -> bool:
    # An unsigned BIGINT is a wrapped number, or bytes.
    is_wide = column["type"] == "bigint" and column.get("unsigned", False)
    return column["type"] in INTEGERS and not is_wide


def _written(cells: dict[str, Any], cell: _Cell, chosen: str, head: bytes) -> bytes | None:
    """Return a column as the key or the value of a record."""
    value = cells[cell.name]
    if chosen == _PLAIN:
        return b64decode(value) if cell.is_bytes and value is not None else _text(value)
    if value is None:
        text = b"null"
    elif isinstance(value, str):
        text = with_escapes(quoted(value).decode()).encode()
    else:
        text = str(value).encode()
    return head + text + b"}" if head else text


def _text(value: object) -> bytes | None:
    """Return a value without quotes; bytes are base64."""
    return None if value is None else str(value).encode()
