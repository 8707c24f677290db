"""The Kafka Connect schemas of a table's records.

They depend on the column list alone::

    {"type":"struct","fields":[…],"optional":false,"name":"shop.shop.orders.Envelope","version":2}
"""

import json
from dataclasses import replace
from typing import Final

from connector.foundation.record_formats import OF_ENVELOPE
from connector.stream.envelope.debezium.profile import DebeziumProfile, field_names, schema_name
from connector.stream.envelope.debezium.registry_schemas import ConnectSchema, field
from connector.stream.envelope.debezium.string_cells import with_escapes
from connector.stream.envelope.flat_fields import added_name
from connector.stream.envelope.options import EnvelopeOptions
from connector.stream.envelope.schemas.connect_types import column_field
from connector.stream.envelope.schemas.table_schema import TableSchema, record_key_indexes

_SNAPSHOT: Final = (
    "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
)
_TRANSACTION: Final = {
    "type": "struct",
    "fields": [
        field("id", "string", optional=False),
        field("total_order", "int64", optional=False),
        field("data_collection_order", "int64", optional=False),
    ],
    "optional": True,
    "name": "event.block",
    "version": 1,
    "field": "transaction",
}


def payload_head(schema: ConnectSchema) -> bytes:
    """Return what comes before a key or value, as Connect's JsonConverter writes it."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f'{{"schema":{with_escapes(text)},"payload":'.encode()


def key_schema(
    schema: TableSchema, options: EnvelopeOptions, form: DebeziumProfile
) -> ConnectSchema:
    """Return the schema of keys; raises as `record_key_indexes` does."""
    # Debezium tells of the source's types in values alone.
    fields = _column_fields(schema, replace(form, source_types=(), source_types_by_type=()))
    keyed = [fields[n] for n in record_key_indexes(schema, form)]
    route = options.topics.route(schema.database, schema.table)
    if route is not None and route.key_field:
        keyed.append(field(route.key_field, "string", optional=False))
    return _struct(keyed, _name(schema, options, form, "Key"))


def envelope_schema(
    schema: TableSchema, options: EnvelopeOptions, form: DebeziumProfile
) -> ConnectSchema:
    """Return the schema of envelopes."""
    row = row_schema(schema, options, form)
    struct = _struct(
        [
            {**row, "field": "before"},
            {**row, "field": "after"},
            _source(options.connector),
            _TRANSACTION,
            field("op", "string", optional=False),
            *(field(name, "int64", optional=True) for name in ("ts_ms", "ts_us", "ts_ns")),
        ],
        _name(schema, options, form, "Envelope"),
    )
    return {**struct, "version": 2}


def flat_schema(
    schema: TableSchema, options: EnvelopeOptions, form: DebeziumProfile
) -> ConnectSchema:
    """Return the schema of rows without an envelope."""
    fields = _column_fields(schema, form)
    if form.tells_deletes:
        fields.append(field("__deleted", "string", optional=True))
    known = {
        source_field["field"]: source_field for source_field in _source(options.connector)["fields"]
    }
    for name in form.flat_fields:
        if name in OF_ENVELOPE:
            kind = "string" if name == "op" else "int64"
            fields.append(field(added_name(name), kind, optional=True))
        else:
            described = {**known[name.removeprefix("source.")], "optional": True}
            described.pop("default", None)
            fields.append({**described, "field": added_name(name)})
    return _struct(fields, _name(schema, options, form, "Value"))


def row_schema(
    schema: TableSchema, options: EnvelopeOptions, form: DebeziumProfile
) -> ConnectSchema:
    """Return the schema of a row in an envelope."""
    struct = _struct(_column_fields(schema, form), _name(schema, options, form, "Value"))
    return {**struct, "optional": True}


def _column_fields(schema: TableSchema, form: DebeziumProfile) -> list[ConnectSchema]:
    names = field_names(schema.columns, form)
    return [
        column_field(name, column, schema, form)
        for name, column in zip(names, schema.columns, strict=True)
    ]


def _source(connector: str) -> ConnectSchema:
    required, text, number = {"optional": False}, "string", "int64"
    snapshot = {
        "type": text,
        "optional": True,
        "name": "io.debezium.data.Enum",
        "version": 1,
        "parameters": {"allowed": _SNAPSHOT},
        "default": "false",
        "field": "snapshot",
    }
    struct = _struct(
        [
            *(field(name, text, **required) for name in ("version", "connector", "name")),
            field("ts_ms", number, **required),
            snapshot,
            field("db", text, **required),
            field("sequence", text, optional=True),
            field("ts_us", number, optional=True),
            field("ts_ns", number, optional=True),
            field("table", text, optional=True),
            field("server_id", number, **required),
            field("gtid", text, optional=True),
            field("file", text, **required),
            field("pos", number, **required),
            field("row", "int32", **required),
            field("thread", number, optional=True),
            field("query", text, optional=True),
        ],
        f"io.debezium.connector.{connector}.Source",
    )
    return {**struct, "version": 1, "field": "source"}


def _struct(fields: list[ConnectSchema], name: str) -> ConnectSchema:
    return {"type": "struct", "fields": fields, "optional": False, "name": name}


def _name(schema: TableSchema, options: EnvelopeOptions, form: DebeziumProfile, kind: str) -> str:
    topic = options.topics.of(schema.database, schema.table)
    return schema_name(f"{topic}.{kind}", form)
